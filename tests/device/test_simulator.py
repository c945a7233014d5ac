"""The simulator behind the Device protocol."""

import json
import threading

import numpy as np
import pytest

from config import Config
from greatwall.contracts import Device, TickedDevice
from greatwall.device.simulator import SimulatedDevice


def held(seed: int = 1) -> SimulatedDevice:
    device = SimulatedDevice(Config())
    device.hold()
    device.new_game(seed)
    return device


def test_it_is_a_device_whose_time_can_be_moved():
    device = SimulatedDevice(Config())
    assert isinstance(device, Device)
    assert isinstance(device, TickedDevice)


def test_in_real_time_its_ticks_cannot_be_moved_by_hand():
    with pytest.raises(RuntimeError, match="hold"):
        SimulatedDevice(Config()).advance(1)


def test_a_frame_keeps_its_id_until_the_game_moves():
    device = held()
    first = device.frame()
    assert device.frame() is first
    device.advance(1)
    second = device.frame()
    assert second.frame_id > first.frame_id
    assert second.captured_at_s - first.captured_at_s == pytest.approx(1 / 30)


def test_nothing_is_drawn_until_somebody_looks(monkeypatch):
    from greatwall.game import draw

    drawn = []
    monkeypatch.setattr(draw.Painter, "draw", lambda self, view: drawn.append(view) or np.zeros((2, 2, 3)))
    device = held()
    frame = device.frame()
    device.advance(30)
    assert frame.scene is not None
    assert not drawn
    _ = frame.bgr, frame.bgr
    assert len(drawn) == 1


def test_drawing_does_not_change_the_game_and_equal_moments_are_equal_to_the_pixel():
    drawn, undrawn = held(), held()
    for device in (drawn, undrawn):
        for tick in range(0, 120, 30):
            if tick == 60:
                device.tap(300, 300)
            device.advance(30)
            if device is drawn:
                _ = device.frame().bgr
    assert drawn.get_state()["game"] == undrawn.get_state()["game"]
    assert np.array_equal(drawn.frame().bgr, undrawn.frame().bgr)


def test_a_saved_device_goes_on_in_another_one():
    device, other = held(4), held(5)
    device.advance(200)
    other.set_state(json.loads(json.dumps(device.get_state())))
    device.advance(200)
    other.advance(200)
    assert other.view() == device.view()


def test_a_paused_game_stands_still_in_real_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("greatwall.device.simulator.time.perf_counter", lambda: now[0])
    device = SimulatedDevice(Config())
    device.new_game(1)
    now[0] += 1.0
    device.frame()
    assert device.tick == 30
    device.pause()
    now[0] += 5.0
    frame = device.frame()
    assert device.tick == 30
    device.resume()
    now[0] += 0.5
    assert device.frame().frame_id > frame.frame_id
    assert device.tick == 45


def test_many_threads_may_touch_and_look_at_once():
    device = SimulatedDevice(Config())
    device.new_game(1)
    failures = []

    def use() -> None:
        try:
            for _ in range(200):
                device.frame()
                device.tap(300, 300)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test must see it
            failures.append(error)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert not failures
