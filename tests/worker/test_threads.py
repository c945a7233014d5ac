"""The wall-clock driver: three real threads on a simulator in real time; nothing dies unnoticed."""

import contextlib
import ctypes
import os
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from config import GREAT_WALL
from greatwall.contracts import Action, ActionOrder, HudRead
from greatwall.errors import DeviceLost, Interruption, WorkerError
from greatwall.worker import threads
from greatwall.worker.threads import Pace
from tests.rigs.workers import make_rig

WAIT, JUMP, SHOOT = Action


@pytest.fixture
def rig():
    made = make_rig("wall")
    made.worker.start()
    assert made.worker.new_game(1)
    assert made.worker.wait(made.worker.perception_ready, 3.0)
    yield made
    made.device.error = made.eyes.see_error = made.eyes.hud_error = None
    made.worker.close()


def kill(worker, name):
    """End a thread from outside, as nothing in its own code would."""
    ident = worker._driver.threads[name].ident
    assert (
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(SystemExit)) == 1
    )


def seconds_until_raised(rig, error=Interruption, wait_s=5.0):
    """How long the Master waits before it is told, and what it is told."""
    start_s = time.perf_counter()
    with pytest.raises(error) as caught:
        play_on(rig, wait_s)
    return time.perf_counter() - start_s, caught.value


def play_on(rig, seconds):
    deadline_s = time.perf_counter() + seconds
    while time.perf_counter() < deadline_s:
        rig.act(WAIT)


def play_on_through_interruptions(rig):
    for _ in range(10):
        with contextlib.suppress(Interruption):
            rig.worker.rest(0.5)


def check_freshness(actions):
    """Every result's frame was captured after its action was executed, with a short gesture."""
    quick = replace(GREAT_WALL, jump_cooldown_s=0.02, shoot_cooldown_s=0.03)
    rig = make_rig("wall", profile=quick, decision_hz=30)
    rng = np.random.default_rng(0)
    rig.worker.start()
    rig.worker.new_game(1)
    try:
        assert rig.worker.wait(rig.worker.perception_ready, 3.0)
        for i in range(actions):
            before_s = rig.worker.clock.now_s()
            result = rig.act(Action(int(rng.integers(3))), i)
            assert result is not None
            assert result.action_id == i
            assert before_s <= result.executed_at_s < result.perception.captured_at_s
            assert result.perception is rig.worker.perception or (
                result.perception.frame_id < rig.worker.perception.frame_id
            )
        assert sum(rig.worker.taken) == actions
        assert len(rig.device.touches) == sum(rig.worker.taken[1:])
    finally:
        rig.worker.close()


def test_a_result_never_comes_from_a_frame_before_the_action():
    check_freshness(40)


@pytest.mark.slow
def test_five_hundred_results_never_come_from_a_frame_before_the_action():
    check_freshness(500)


def test_a_step_lasts_its_cooldown_and_a_decision_period_to_the_nearest_frame(rig):
    half_frame_s = 0.5 / rig.worker.config.worker.grab_hz
    for i, (action, least_s) in enumerate(((WAIT, 0.1 - half_frame_s), (JUMP, 0.5), (SHOOT, 0.6))):
        result = rig.act(action, i)
        lasted_s = result.finished_at_s - result.executed_at_s
        assert least_s <= lasted_s < least_s + 0.3


def test_an_order_is_executed_at_once_and_not_with_the_next_frame(rig):
    delays = []
    for i in range(10):
        posted_s = rig.worker.clock.now_s()
        delays.append(rig.act(WAIT, i).executed_at_s - posted_s)
    assert sorted(delays)[5] < 0.015


def taken_at(frames_s, period_s, credit_s):
    """When each frame is taken: as soon as it is there and the pace allows it; the newest wins."""
    pace, look_s, taken = Pace(period_s, credit_s, 0.0), 0.0, []
    for i, frame_s in enumerate(frames_s):
        at_s = max(frame_s, look_s)
        if i + 1 < len(frames_s) and at_s >= frames_s[i + 1]:
            continue
        taken.append(at_s)
        look_s = pace.after(at_s)
    return taken


def test_a_frame_that_came_late_does_not_delay_the_next():
    frames_s = [i / 30 + (0.025 if i in (7, 20, 21) else 0.0) for i in range(60)]
    period_s = 0.95 / 30
    assert taken_at(frames_s, period_s, credit_s=period_s) == frames_s
    assert taken_at(frames_s, period_s, credit_s=0.0) != frames_s


@pytest.mark.parametrize("credit_s", [0.0, 0.95 / 30])
def test_a_faster_source_is_looked_at_once_a_period(credit_s):
    taken = taken_at([i / 120 for i in range(1200)], 0.95 / 30, credit_s)
    assert 290 <= len(taken) <= 10 * 30 / 0.95 + 2


def test_a_device_that_is_polled_is_not_looked_at_all_the_time(rig):
    looked = threading.Semaphore(0)
    frame = rig.device.frame

    def counted():
        looked.release()
        return frame()

    rig.device.frame = counted
    first = rig.worker.perception.frame_id
    rig.worker.rest(2.0)  # long enough for any credit to have gathered
    assert looked._value <= 4 * (rig.worker.perception.frame_id - first + 2)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own elsewhere")
def test_the_reading_of_the_hud_gives_way_to_frames(rig):
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    rig.worker._driver._reads = 0
    while not rig.worker._driver._reads:  # it has begun
        rig.worker.rest(0.1)
    found = {
        name: os.getpriority(os.PRIO_PROCESS, thread.native_id)
        for name, thread in rig.worker._driver.threads.items()
    }
    assert found == {"grab": own, "main loop": own, "ocr": max(own, threads.WAY_NICE)}


def test_perception_goes_on_while_nobody_acts(rig):
    first = rig.worker.perception
    rig.worker.rest(0.5)
    assert rig.worker.perception.frame_id > first.frame_id + 5
    assert rig.worker.hud.distance > 0


def test_a_full_action_queue_blocks_the_master(rig):
    worker = rig.worker
    worker.env_action_queue.put(ActionOrder(1, SHOOT), timeout=1.0)
    worker.rest(0.1)
    worker.env_action_queue.put(ActionOrder(2, JUMP), timeout=1.0)
    worker.rest(0.2)
    assert worker.env_action_queue.full()
    assert worker.pending_signal.action_id == 1


@pytest.mark.parametrize("name", ["main loop", "grab", "ocr"])
def test_a_killed_thread_is_noticed_in_a_second_and_replaced(rig, name):
    kill(rig.worker, name)
    seconds, error = seconds_until_raised(rig)
    assert seconds < 1.0
    assert error.reason == "worker_restarted"
    assert name in error.detail
    assert isinstance(error.__cause__, SystemExit)
    rig.worker.recover()
    assert rig.act(WAIT, 2).action_id == 2


@pytest.mark.parametrize(("eye", "stage"), [("see_error", "main loop"), ("hud_error", "ocr")])
def test_failing_eyes_are_reported_with_their_traceback_and_end_the_run_if_they_go_on(rig, eye, stage):
    fault = ValueError("no such layer")
    setattr(rig.eyes, eye, fault)
    seconds, error = seconds_until_raised(rig)
    assert seconds < 1.0
    assert error.reason == "worker_restarted"
    assert error.__cause__ is fault
    with pytest.raises(WorkerError, match=stage) as caught:
        play_on_through_interruptions(rig)
    assert caught.value.__cause__ is fault
    with pytest.raises(WorkerError):
        rig.worker.recover()


def test_frozen_frames_are_noticed(rig):
    rig.device.frozen = True
    seconds, error = seconds_until_raised(rig)
    assert error.reason == "frames_stopped"
    assert seconds < 2.0
    rig.device.frozen = False
    rig.worker.recover()
    assert rig.act(WAIT, 2) is not None


def test_frames_that_do_not_come_back_are_an_error(rig, monkeypatch):
    monkeypatch.setattr(threads, "RECOVER_S", 0.3)
    rig.device.frozen = True
    rig.worker.rest(0.1)
    with pytest.raises(WorkerError, match="fresh frame within"):
        rig.worker.recover()


def test_a_lost_device_is_an_interruption_and_comes_back(rig, monkeypatch):
    rig.device.error = DeviceLost("the cable is out")
    seconds, error = seconds_until_raised(rig)
    assert (error.reason, error.detail) == ("phone_lost", "the cable is out")
    assert seconds < 1.0
    monkeypatch.setattr(threads, "RECOVER_S", 0.5)
    with pytest.raises(DeviceLost, match="expected the device back"):
        rig.worker.recover()
    rig.device.error = None
    monkeypatch.undo()
    rig.worker.recover()
    assert rig.act(WAIT, 2) is not None


def test_a_main_loop_that_hangs_is_noticed(rig, monkeypatch):
    monkeypatch.setattr(threads, "STUCK_S", 0.3)
    release = threading.Event()
    see = rig.eyes.inner.see

    def hang(frame):
        release.wait(5.0)
        return see(frame)

    rig.eyes.inner.see = hang
    seconds, error = seconds_until_raised(rig)
    assert seconds < 1.0
    assert "stuck" in error.detail
    rig.eyes.inner.see = see
    release.set()
    rig.worker.recover()


def test_a_hud_reader_that_hangs_is_noticed(rig, monkeypatch):
    monkeypatch.setattr(threads, "STUCK_S", 0.3)
    rig.worker.rest(0.4)
    release = threading.Event()
    read = rig.eyes.inner.read_hud

    def hang(frame):
        release.wait(5.0)
        return read(frame)

    rig.eyes.inner.read_hud = hang
    seconds, error = seconds_until_raised(rig)
    assert seconds < 1.5
    assert "HUD reader is stuck" in error.detail
    monkeypatch.setattr(threads, "RECOVER_S", 0.5)
    with pytest.raises(WorkerError, match="fresh frame"):
        rig.worker.recover()
    rig.eyes.inner.read_hud = read
    release.set()
    rig.worker.recover()


def test_a_worker_whose_first_look_fails_can_be_started_again():
    rig = make_rig("wall")
    rig.device.error = DeviceLost("the cable is out")
    with pytest.raises(DeviceLost):
        rig.worker.start()
    rig.device.error = None
    rig.worker.start()
    assert rig.worker.wait(rig.worker.perception_ready, 5.0)
    rig.worker.close()


def test_a_distance_that_stands_still_in_a_pause_is_no_stall(rig):
    rig.worker.rest(0.4)
    rig.worker.pause()
    at_s = rig.worker.clock.now_s()
    standing = HudRead(3, 20, 0, rig.worker.hud.distance)
    for i in range(12):
        rig.worker.publish_hud(standing, at_s + 0.3 * i, rig.worker.slot.run)
    assert not rig.worker.death_triggered.is_set()
    rig.worker.resume()
    for i in range(12, 15):
        rig.worker.publish_hud(standing, at_s + 0.3 * i, rig.worker.slot.run)
    assert not rig.worker.death_triggered.is_set(), "the time before the pause does not count either"
    for i in range(15, 25):
        rig.worker.publish_hud(standing, at_s + 0.3 * i, rig.worker.slot.run)
    assert rig.worker.death_triggered.is_set()


def test_a_pause_is_neither_a_stall_nor_stopped_frames(rig, monkeypatch):
    monkeypatch.setattr(
        rig.worker._driver, "_config", replace(rig.worker.config.worker, frames_stopped_s=0.2)
    )
    assert rig.worker.pause()
    frame_id = rig.worker.perception.frame_id
    rig.worker.rest(0.5)
    assert rig.worker.perception.frame_id <= frame_id + 1
    rig.worker.resume()
    rig.worker.rest(0.1)
    assert rig.act(WAIT, 1) is not None
    assert not rig.worker.death_triggered.is_set()


def test_a_device_that_cannot_pause_says_so_and_plays_on(rig):
    rig.device.can_pause = False
    assert not rig.worker.pause()
    assert rig.act(WAIT, 1) is not None


def test_a_new_game_shows_nothing_of_the_last_one(rig):
    rig.worker.rest(1.0)
    assert rig.worker.hud.distance > 5
    for seed in range(2):
        assert rig.worker.new_game(seed)
        assert rig.worker.wait(rig.worker.perception_ready, 2.0)
        began = rig.worker.perception
        assert began.hud.distance is None or began.hud.distance < 5
        rig.worker.rest(0.4)
        assert rig.worker.hud.distance < 15


def test_a_closed_worker_stops_its_threads_and_refuses_to_wait():
    made = make_rig("wall")
    made.worker.start()
    made.worker.wait(made.worker.perception_ready, 3.0)
    threads_before = list(made.worker._driver.threads.values())
    made.worker.close()
    assert not any(thread.is_alive() for thread in threads_before)
    with pytest.raises(WorkerError, match="closed"):
        made.worker.wait(made.worker.action_done, 0.5)


def test_timing_is_kept(rig):
    rig.worker.rest(1.0)
    summary = rig.worker.timing.summary(rig.worker.clock.now_s())
    assert 15 < summary["grab_fps"] <= 31
    assert 15 < summary["loop_fps"] <= summary["grab_fps"] + 1
    assert 0 < summary["frame_age_ms"]["p50"] < 100
    assert 0.25 < summary["hud_period_s"] < 0.45


def test_a_device_that_tells_of_its_frames_is_looked_at_once_for_each():
    """After a look that found the old frame it is waited for, not asked; who lost it is told as ever."""
    rig = make_rig("wall")
    log = []
    plain = rig.device.frame

    def frame():
        found = plain()
        log.append(("looked", found.frame_id))
        return found

    def wait_newer(than_id, timeout_s):
        log.append(("waited", than_id))
        deadline_s = time.monotonic() + timeout_s
        while plain().frame_id == than_id and time.monotonic() < deadline_s:
            threading.Event().wait(0.001)

    rig.device.frame, rig.device.wait_newer = frame, wait_newer
    rig.worker.start()
    try:
        assert rig.worker.new_game(1)
        assert rig.worker.wait(rig.worker.perception_ready, 3.0)
        log.clear()
        play_on(rig, 1.5)
        noted = list(log)
        in_vain = [
            after
            for before, look, after in zip(noted, noted[1:], noted[2:], strict=False)
            if look[0] == "looked" and look[1] == before[1]
        ]
        assert len(in_vain) > 10
        assert all(what == "waited" for what, _ in in_vain)
        rig.device.error = DeviceLost("unplugged")
        assert "unplugged" in str(seconds_until_raised(rig)[1])
    finally:
        rig.device.error = None
        rig.worker.close()
