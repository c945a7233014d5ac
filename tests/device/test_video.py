"""A recording as a device: what is due when, its end, and what is no recording."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import numpy as np
import pytest

from config import Config
from greatwall.assembly import build_device
from greatwall.contracts import TickedDevice
from greatwall.device.video import VideoDevice, VideoFile, read_picture
from greatwall.errors import ConfigError, FileFormatError, GreatWallError, RecordingEnded
from greatwall.worker.clocks import WallClock
from tests.rigs.recordings import plain_video


def video(path: Path) -> VideoDevice:
    device = build_device(Config(device="video", source=str(path)))
    assert isinstance(device, VideoDevice)
    return device


def number_of(device: VideoDevice) -> int:
    """Which of `plain_video`'s frames is shown."""
    return round((float(device.frame().bgr.mean()) - 20) / 10)


def test_a_held_recording_moves_by_ticks_alone(tmp_path: Path) -> None:
    device = video(plain_video(tmp_path / "a.mp4"))
    assert isinstance(device, TickedDevice)
    device.hold()
    shown = []
    for ticks in (0, 1, 1, 3, 10):
        device.advance(ticks)
        shown.append(number_of(device))
    assert shown == [0, 1, 2, 5, 15]
    assert device.frame().captured_at_s == pytest.approx(15 / 30)
    assert device.frame().frame_id == device.frame().frame_id


def test_the_end_of_the_file_is_said_in_one_line(tmp_path: Path) -> None:
    device = video(plain_video(tmp_path / "a.mp4", frames=6))
    device.hold()
    device.advance(5)
    assert number_of(device) == 5
    device.advance(1)
    for _ in range(2):
        with pytest.raises(RecordingEnded, match=r"^a\.mp4: the recording ended after 0\.2 s$"):
            device.frame()


def test_a_recording_plays_in_real_time_and_pauses(tmp_path: Path) -> None:
    device, clock = video(plain_video(tmp_path / "a.mp4")), WallClock()
    assert number_of(device) == 0
    clock.sleep(0.3)
    first = number_of(device)
    assert 7 <= first <= 20
    device.pause()
    clock.sleep(0.2)
    assert number_of(device) - first <= 1
    device.resume()
    clock.sleep(0.1)
    assert number_of(device) > first


def test_a_picture_that_stands_is_given_again_as_a_new_frame(tmp_path: Path) -> None:
    device = video(plain_video(tmp_path / "a.mp4", frames=3, fps=0.5))
    device.hold()
    ids = []
    for _ in range(10):
        ids.append(device.frame().frame_id)
        device.advance(1)
    assert number_of(device) == 0
    assert ids[0] == ids[2] < ids[3] == ids[5] < ids[6]


def test_touches_are_ignored_counted_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    device = video(plain_video(tmp_path / "a.mp4"))
    with caplog.at_level(logging.WARNING):
        device.tap(1, 2)
        device.swipe(1, 2, 3, 4, 100)
        device.tap(1, 2)
    assert device.touches == 3
    assert caplog.text.count("touches are ignored") == 1
    assert "3 touches ignored" in device.health()
    assert not device.new_game(1)
    assert device.facts() is None


def test_many_threads_may_look_at_one_picture_at_once(tmp_path: Path) -> None:
    """The main loop and OCR do. Unguarded, PyAV's converter ends the whole process."""
    device = video(plain_video(tmp_path / "a.mp4", size=(1280, 720)))
    device.hold()
    for _ in range(20):
        frame = device.frame()
        means: list[float] = []
        threads = [
            threading.Thread(target=lambda frame=frame, means=means: means.append(frame.bgr.mean()))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len(set(means)) == 1
        assert len(means) == 4
        device.advance(1)


def test_a_state_is_a_moment_to_go_back_to(tmp_path: Path) -> None:
    device = video(plain_video(tmp_path / "a.mp4"))
    device.hold()
    device.advance(4)
    state = device.get_state()
    device.advance(30)
    with pytest.raises(RecordingEnded):
        device.frame()
    device.set_state(state)
    assert number_of(device) == 4


def test_what_is_no_video_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video at all")
    whole = plain_video(tmp_path / "whole.mp4").read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[:200])
    plain_video(tmp_path / "tiny.mp4", size=(16, 16))
    for name, kind, words in (
        ("none.mp4", ConfigError, "expected a file"),
        ("text.mp4", FileFormatError, "truncated or foreign"),
        ("cut.mp4", FileFormatError, "expected a video"),
        ("tiny.mp4", FileFormatError, "expected at least 160x90 px, found 16x16"),
    ):
        with pytest.raises(GreatWallError, match=words) as caught:
            VideoFile(tmp_path / name)
        assert isinstance(caught.value, kind)
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="--source FILE"):
        build_device(Config(device="video"))


def test_a_picture_of_three_pixels_is_refused(tmp_path: Path) -> None:
    import cv2

    path = tmp_path / "dot.png"
    cv2.imwrite(str(path), np.zeros((3, 3, 3), np.uint8))
    with pytest.raises(FileFormatError, match="at least 160x90 px, found 3x3"):
        read_picture(path)
    path.write_bytes(b"")
    with pytest.raises(FileFormatError, match="expected an image"):
        read_picture(path)
