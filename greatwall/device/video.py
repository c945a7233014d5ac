"""A recording as a device: any video PyAV can decode, without a touch screen.

In real time the picture that is due now is the newest frame; after `hold()` only `advance` moves on.
Touches are ignored and counted. The end of the file is `RecordingEnded`. One lock guards the decoder, so
any thread may call anything; pixels are converted by whoever looks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import av
import cv2
import numpy as np

from config import TICK_HZ, Config
from greatwall.contracts import TICK_S, Frame, FrameArray
from greatwall.errors import ConfigError, FileFormatError, RecordingEnded

LOG = logging.getLogger("greatwall.video")
SMALLEST = (160, 90)  # px; nothing can be seen in less
REPEAT_S = 0.1  # a picture that stands longer is given again as a new frame, as phones' streams do
SLACK_S = 0.001  # many files round their time stamps to ms
USUAL_HZ = 30.0  # for files that do not say how long a picture stands


class Picture(NamedTuple):
    """One decoded picture: when it is due, s from the first one, and PyAV's frame."""

    at_s: float
    image: av.VideoFrame
    turns: int = 0  # quarters of a turn, counterclockwise, as which the file wants it shown

    def bgr(self) -> FrameArray:
        """uint8 (H, W, 3), BGR, a copy, upright."""
        stored = np.asarray(self.image.to_ndarray(format="bgr24"), np.uint8)
        return np.ascontiguousarray(np.rot90(stored, self.turns)) if self.turns else stored


class VideoFile:
    """A video opened for reading in order. `FileFormatError` for what is none, `ConfigError` for no file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise ConfigError(f"video: expected a file at {path}, found none; name a recording")
        try:
            self._container = av.open(str(path))
            if not self._container.streams.video:
                raise FileFormatError(f"{path}: expected a video, found no picture stream; record it again")
            self._stream = self._container.streams.video[0]
            self._stream.thread_type = "SLICE"
            self._images = self._container.decode(self._stream)
            self._first = next(self._images, None)
        except (av.FFmpegError, OSError) as error:
            raise self._not_a_video() from error
        if self._first is None:
            raise self._not_a_video()
        self._stored_size = (self._first.width, self._first.height)
        self._turns = self._quarter_turns(self._first)
        self.size = self._stored_size[::-1] if self._turns % 2 else self._stored_size
        check_size(path, self.size)
        rate = self._stream.average_rate
        self.period_s = 1.0 / float(rate) if rate else 1.0 / USUAL_HZ

    @property
    def duration_s(self) -> float | None:
        """As the file's header has it; None where it says nothing."""
        length = self._container.duration
        return None if length is None else length / av.time_base

    def pictures(self) -> Iterator[Picture]:
        """Every picture in order, from the first; call it once.

        A file that breaks off, as one does whose recorder was killed, ends there with one warning.
        """
        first = self._first
        assert first is not None
        zero_s = _seconds(first)
        yield Picture(0.0, first, self._turns)
        last_s = 0.0
        while True:
            try:
                image = next(self._images, None)
            except (av.FFmpegError, OSError) as error:
                LOG.warning("%s breaks off after %.1f s (%s): taken as its end", self.path, last_s, error)
                return
            if image is None:
                return
            at_s = _seconds(image)
            last_s = last_s + self.period_s if at_s is None or zero_s is None else max(last_s, at_s - zero_s)
            if (image.width, image.height) != self._stored_size:  # a phone that was turned
                image = image.reformat(width=self._stored_size[0], height=self._stored_size[1])
            yield Picture(last_s, image, self._turns)

    def _quarter_turns(self, image: av.VideoFrame) -> int:
        """How phones note that they were held sideways: the pictures are stored as the sensor lies."""
        if image.rotation % 90:
            raise FileFormatError(
                f"{self.path}: expected a video turned by quarters, found {image.rotation} degrees; "
                "turn it upright with a video editor"
            )
        return int(image.rotation) // 90 % 4

    def close(self) -> None:
        self._container.close()

    def _not_a_video(self) -> FileFormatError:
        return FileFormatError(
            f"{self.path}: expected a video that can be decoded, found a truncated or foreign file; "
            "record it again as MP4"
        )


class VideoDevice:
    """`contracts.TickedDevice` on the recording `config.source`. `captured_at_s` as the simulator's."""

    def __init__(self, config: Config) -> None:
        if not config.source:
            raise ConfigError("--device video: expected a recording, found none; name it with --source FILE")
        self._file = VideoFile(Path(config.source))
        self._file_name = self._file.path.name
        self.size = self._file.size
        self._lock = threading.Lock()
        self._converting = threading.Lock()
        self._restart()

    def _restart(self) -> None:
        self._pictures = self._file.pictures()
        self._now: Picture = next(self._pictures)
        self._next: Picture | None = next(self._pictures, None)
        self._frame_id = 0
        self._newest: Frame | None = None
        self._newest_s = 0.0  # the recording's time at which `_newest` was made
        self._ticks = 0
        self._held = False
        self._paused_at: float | None = None
        self._zero_s: float | None = None  # real time of the first picture: when it is first asked for
        self._ended = False
        self.touches = 0

    # --- time ---------------------------------------------------------------------------------

    @property
    def tick(self) -> int:
        return self._ticks if self._held else int(self._elapsed_s() * TICK_HZ)

    def _elapsed_s(self) -> float:
        if self._held:
            return self._ticks * TICK_S
        if self._zero_s is None:
            return 0.0
        return (self._paused_at or time.perf_counter()) - self._zero_s

    def hold(self) -> None:
        """Stop real time for good: from now on only `advance` moves the recording."""
        with self._lock:
            self._ticks = int(self._elapsed_s() * TICK_HZ)
            self._held = True

    def advance(self, ticks: int) -> None:
        """Move a held recording on; RuntimeError on one that runs in real time."""
        if not self._held:
            raise RuntimeError("expected a held recording, found one in real time; call hold() first")
        self._ticks += ticks

    def pause(self) -> bool:
        with self._lock:
            if not self._held and self._zero_s is not None and self._paused_at is None:
                self._paused_at = time.perf_counter()
            return True

    def resume(self) -> None:
        with self._lock:
            if self._paused_at is not None and self._zero_s is not None:
                self._zero_s += time.perf_counter() - self._paused_at
            self._paused_at = None

    # --- looking ------------------------------------------------------------------------------

    def frame(self) -> Frame:
        """The picture that is due. Raises `RecordingEnded` once the last one has been shown."""
        with self._lock:
            if self._zero_s is None:
                self._zero_s = time.perf_counter()
            now_s = self._elapsed_s()
            moved = self._move_to(now_s)
            if self._ended:
                length_s = self._now.at_s + self._file.period_s
                raise RecordingEnded(f"{self._file_name}: the recording ended after {length_s:.1f} s")
            if self._newest is None or moved or now_s - self._newest_s >= REPEAT_S:
                self._frame_id += 1
                due_s = self._now.at_s if moved or self._newest is None else now_s
                at_s = self._ticks * TICK_S if self._held else self._zero_s + due_s
                self._newest = Frame(
                    self._frame_id, at_s, self.size, source=_Still(self._now, self._converting)
                )
                self._newest_s = now_s
            return self._newest

    def _move_to(self, now_s: float) -> bool:
        """Decode up to the picture due at `now_s`; True when it is another one than before."""
        moved = False
        while self._next is not None and self._next.at_s <= now_s + SLACK_S:
            self._now, self._next = self._next, next(self._pictures, None)
            moved = True
        if self._next is None and now_s >= self._now.at_s + self._file.period_s - SLACK_S:
            self._ended = True
        return moved

    # --- touching -----------------------------------------------------------------------------

    def tap(self, x: float, y: float) -> None:
        """Ignored and counted; said once."""
        self._touched()

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        """Ignored and counted; said once."""
        self._touched()

    def _touched(self) -> None:
        self.touches += 1
        if self.touches == 1:
            LOG.warning("touches are ignored: %s is a recording", self._file_name)

    # --- runs ---------------------------------------------------------------------------------

    def new_game(self, seed: int) -> bool:
        """A recording starts no game."""
        return False

    def facts(self) -> Mapping[str, Any] | None:
        return None

    def get_state(self) -> dict[str, Any]:
        """Where the recording stands."""
        return {"tick": self.tick}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to another moment, held: from the start on, when it lies behind."""
        with self._lock:
            tick = int(state["tick"])
            if tick < self._ticks or self._ended:
                touches = self.touches
                self._file.close()
                self._file = VideoFile(self._file.path)
                self._restart()
                self.touches = touches
            self._held = True
            self._ticks = tick
            self._newest = None

    def health(self) -> str:
        whole = self._file.duration_s
        of = "" if whole is None else f" of {whole:.1f}"
        ignored = f", {self.touches} touches ignored" if self.touches else ""
        return f"recording {self._file_name}, {self._elapsed_s():.1f}{of} s{ignored}"

    def close(self) -> None:
        with self._lock:
            self._file.close()


class _Still:
    """A `FrameSource`: one decoded picture. Converted under a lock: PyAV keeps one converter a picture,
    and two threads in it at once end the process."""

    __slots__ = ("_lock", "_picture")

    def __init__(self, picture: Picture, lock: threading.Lock) -> None:
        self._picture = picture
        self._lock = lock

    def draw(self) -> FrameArray:
        with self._lock:
            return self._picture.bgr()

    def scene(self) -> None:
        return None


def check_size(path: Path, size: tuple[int, int]) -> None:
    """`FileFormatError` for a picture in which nothing can be seen."""
    if size[0] < SMALLEST[0] or size[1] < SMALLEST[1]:
        raise FileFormatError(
            f"{path}: expected at least {SMALLEST[0]}x{SMALLEST[1]} px, found {size[0]}x{size[1]}; "
            "use whole screens"
        )


def read_picture(path: Path) -> FrameArray:
    """An image file as uint8 (H, W, 3), BGR. `FileFormatError` for what cannot be decoded or is tiny."""
    if not path.is_file():
        raise ConfigError(f"picture: expected an image file at {path}, found none; name another")
    data = np.fromfile(path, np.uint8)
    image = cv2.imdecode(data, cv2.IMREAD_COLOR) if len(data) else None
    if image is None:
        raise FileFormatError(
            f"{path}: expected an image, found a truncated or foreign file; take it out of the folder"
        )
    check_size(path, (image.shape[1], image.shape[0]))
    return np.asarray(image, np.uint8)


def _seconds(image: av.VideoFrame) -> float | None:
    return None if image.pts is None or image.time_base is None else float(image.pts * image.time_base)
