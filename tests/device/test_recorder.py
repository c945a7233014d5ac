"""Recording changes nothing of a run, and what goes wrong with it, or ends it, is survived."""

from __future__ import annotations

import json
import logging
import struct
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from config import Config, FaultConfig, replace_in
from greatwall.assembly import build_worker, make_config
from greatwall.commands.spectator import build_watched_env
from greatwall.contracts import Frame, FrameArray
from greatwall.data.recording import read_recording, replay
from greatwall.device.recorder import RecordedDevice, VideoWriter, events_of, record, sidecar_of
from greatwall.device.simulator import SimulatedDevice
from greatwall.device.video import VideoDevice, VideoFile
from greatwall.errors import GreatWallError
from tests.rigs.recordings import plain_video

SMALL = (640, 360)


def perceived(config: Config, record_to: Path | None) -> list[Any]:
    """What a held run perceives, the pixels looked at among it."""
    env = build_watched_env(config, record_to)
    env.reset(seed=5)
    seen = []
    for action in (0, 1, 0, 0, 2, 0, 0, 0):
        observation, *_ = env.step(action)
        frame = env.worker.latest_frame
        assert frame is not None
        seen.append((observation.tobytes(), env.worker.perception, frame.frame_id, frame.bgr.tobytes()))
    env.close()
    return seen


@pytest.mark.parametrize(
    "config",
    [
        make_config(size=SMALL, compress="h264"),
        make_config(size=SMALL, faults=FaultConfig(drop=0.4)),
    ],
)
def test_a_recorded_run_perceives_what_an_unrecorded_one_does(tmp_path: Path, config: Config) -> None:
    assert perceived(config, tmp_path / "a.mp4") == perceived(config, None)
    result = replay(read_recording(tmp_path / "a.mp4"))
    assert result.same
    video = VideoFile(tmp_path / "a.mp4")
    assert sum(1 for _ in video.pictures()) == result.ticks  # the lost frames are in the recording
    video.close()


def test_two_threads_get_the_same_pixels_of_a_coded_frame() -> None:
    device = SimulatedDevice(make_config(size=SMALL, compress="h264"))
    device.hold()
    for _ in range(8):
        device.advance(1)
        frame = device.frame()
        got: list[FrameArray] = []
        threads = [
            threading.Thread(target=lambda frame=frame, got=got: got.append(frame.bgr)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len({id(one) for one in got}) == 1
        assert not np.array_equal(frame.uncoded_bgr, frame.bgr)


def test_touches_of_a_killed_recording_are_on_the_disk(tmp_path: Path) -> None:
    config = make_config(size=SMALL)
    device = record(SimulatedDevice(config), tmp_path / "a.mp4", config)
    device.new_game(3)
    device.tap(300, 300)
    lines = [json.loads(line) for line in events_of(tmp_path / "a.mp4").read_text().splitlines()]
    assert [one.get("new_game") or one.get("tap") for one in lines[1:]] == [3, [300, 300]]
    with pytest.raises(GreatWallError, match="one that was killed"):
        read_recording(tmp_path / "a.mp4")
    device.close()
    assert not events_of(tmp_path / "a.mp4").exists()
    assert len(read_recording(tmp_path / "a.mp4").events) == 2


class Turned(SimulatedDevice):
    """Its screen is turned after it was opened, as a phone's is."""

    turned_to = (1920, 1080)

    @property
    def size(self) -> tuple[int, int]:
        return self.turned_to

    @size.setter
    def size(self, _: tuple[int, int]) -> None:
        """Told by the simulator once."""


def test_a_recorded_screen_is_touched_where_it_lies_now(tmp_path: Path) -> None:
    """Touches are scaled by the size of the device that is asked: the recorder's is the phone's."""
    inner = Turned(Config())
    device = record(inner, tmp_path / "a.mp4", Config())
    inner.turned_to = (1280, 720)
    assert device.size == (1280, 720)
    device.close()
    assert json.loads(sidecar_of(tmp_path / "a.mp4").read_text(encoding="utf-8"))["size"] == [1920, 1080]


class UndrawableDevice(SimulatedDevice):
    """Its frames cannot be drawn."""

    closed = False

    def frame(self) -> Frame:
        return Frame(super().frame().frame_id, 0.0, self.size, source=Undrawable())

    peek = frame

    def close(self) -> None:
        self.closed = True


class Undrawable:
    def draw(self) -> FrameArray:
        raise RuntimeError("no picture")

    def scene(self) -> None:
        return None


def test_a_frame_that_cannot_be_drawn_ends_the_video_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = make_config(size=SMALL)
    inner = UndrawableDevice(config)
    device = record(inner, tmp_path / "a.mp4", config)
    device.frame()
    device.tap(300, 300)
    with caplog.at_level(logging.WARNING):
        device.close()
    assert inner.closed
    assert "incomplete: RuntimeError: no picture" in caplog.text
    document = json.loads(sidecar_of(tmp_path / "a.mp4").read_text())
    assert document["incomplete"] == "RuntimeError: no picture"
    assert len(document["events"]) == 1


class FullDisk(VideoWriter):
    def add(self, picture: FrameArray, at_s: float) -> None:
        raise OSError(28, "No space left on device")


def test_a_held_game_goes_on_when_its_video_cannot_grow(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greatwall.device.recorder.VideoWriter", FullDisk)
    config = replace(make_config(size=SMALL), seed=2)
    device = record(SimulatedDevice(config), tmp_path / "a.mp4", config)
    worker = build_worker(config, device)
    worker.start()
    worker.new_game(2)
    worker.rest(0.5)
    with caplog.at_level(logging.WARNING):
        worker.close()
    assert "No space left" in caplog.text
    assert replay(read_recording(tmp_path / "a.mp4")).same


def test_the_device_is_let_go_and_touches_stay_when_the_json_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = make_config(size=SMALL)
    inner = UndrawableDevice(config)
    device = record(inner, tmp_path / "a.mp4", config)
    assert isinstance(device, RecordedDevice)
    device.tap(1, 2)
    (tmp_path / "a.json.part").mkdir()  # in the way of the JSON
    with caplog.at_level(logging.WARNING):
        device.close()
    assert inner.closed
    assert "IsADirectoryError" in caplog.text
    assert "tap" in events_of(tmp_path / "a.mp4").read_text()


def test_a_video_cut_in_its_middle_ends_there_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "noise.mp4"
    writer, noise = VideoWriter(path, (320, 180)), np.random.default_rng(1)
    for i in range(90):
        writer.add(noise.integers(0, 255, (180, 320, 3), np.uint8), i / 30)
    writer.close()
    whole = path.read_bytes()
    cut = tmp_path / "cut.mp4"
    for share in (0.5, 0.62, 0.75):
        cut.write_bytes(whole[: int(len(whole) * share)])
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="greatwall"):
            video = VideoFile(cut)
            count = sum(1 for _ in video.pictures())
            video.close()
        assert 20 < count < 90
        assert len([one for one in caplog.records if "breaks off" in one.message]) <= 1


def turned(path: Path, matrix: tuple[int, ...]) -> Path:
    """The same MP4 with a display matrix, as phones write it into the track's header."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 4 + 20 + 8 + 8
    data[at : at + 36] = struct.pack(">9i", *matrix)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("matrix", "size", "bright"),
    [
        ((0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000), (180, 320), (0, -1)),  # clockwise
        ((0, -0x10000, 0, 0x10000, 0, 0, 0, 0, 0x40000000), (180, 320), (-1, 0)),
        ((-0x10000, 0, 0, 0, -0x10000, 0, 0, 0, 0x40000000), (320, 180), (-1, -1)),
    ],
)
def test_a_video_of_a_phone_held_sideways_is_upright(
    tmp_path: Path, matrix: tuple[int, ...], size: tuple[int, int], bright: tuple[int, int]
) -> None:
    """The stored picture is bright at its top left; the display matrix says where that belongs."""
    path = tmp_path / "a.mp4"
    picture = np.full((180, 320, 3), 20, np.uint8)
    picture[:60, :60] = 230
    writer = VideoWriter(path, (320, 180))
    for i in range(4):
        writer.add(picture, i / 30)
    writer.close()
    device = VideoDevice(Config(device="video", source=str(turned(path, matrix))))
    shown = device.frame().bgr
    assert device.size == size
    assert shown.shape[:2] == size[::-1]
    corners = {(y, x): int(shown[y, x, 0]) for y in (0, -1) for x in (0, -1)}
    assert max(corners, key=lambda corner: corners[corner]) == bright
    device.close()


def test_a_video_turned_by_no_quarter_is_one_line(tmp_path: Path) -> None:
    path = plain_video(tmp_path / "a.mp4", frames=2)
    half = round(0x10000 * 0.7071)
    with pytest.raises(GreatWallError, match="turned by quarters") as caught:
        VideoFile(turned(path, (half, half, 0, -half, half, 0, 0, 0, 0x40000000)))
    assert "\n" not in str(caught.value)


def test_real_time_records_uncoded_frames(tmp_path: Path) -> None:
    config = replace_in(make_config(size=SMALL, compress="jpeg"), "worker", clock="wall")
    device = record(SimulatedDevice(config), tmp_path / "a.mp4", config)
    first = device.frame()
    device.close()
    video = VideoFile(tmp_path / "a.mp4")
    picture = next(video.pictures()).bgr().astype(int)
    video.close()
    assert np.abs(picture - first.uncoded_bgr).mean() < np.abs(picture - first.bgr).mean()
