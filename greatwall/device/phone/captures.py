"""Looking at a phone's screen: what every way of it has in common.

A capture drains its stream on a thread of its own and leaves the newest frame in a `NewestFrame`; whoever
wants one takes it from there. A frame is never invented: what cannot be read is an error, and a screen that
does not change leaves the last frame there with its own time.
"""

from __future__ import annotations

import abc
import itertools
import threading
import time
from collections.abc import Callable

from greatwall.contracts import Frame, FrameSource
from greatwall.errors import DeviceError, DeviceLost

CAPTURES = ("scrcpy", "screenrecord", "raw", "png")  # the usual order, best first
STREAMS = ("scrcpy", "screenrecord")  # those that send a frame only when the screen changes
FIRST_FRAME_S = 8.0
SILENCE_S = 2.0  # a stream silent for this long makes the capture ask whether the phone still answers
JOIN_S = 3.0

Size = tuple[int, int]
# Of frames, over all captures of the process: they go on rising when one is replaced.
_IDS = itertools.count(1)


class NewestFrame:
    """Where a capture's thread leaves what it has. Any thread may read; `_changed` guards all fields."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._frame: Frame | None = None
        self._error: str | None = None
        self.frames = 0

    def put(self, source: FrameSource, captured_at_s: float, size: Size) -> bool:
        """A new frame; True when its size is not the last one's."""
        with self._changed:
            last = self._frame
            if last is not None and captured_at_s < last.captured_at_s:
                captured_at_s = last.captured_at_s  # order is sure, the estimate of a time is not
            self._frame = Frame(next(_IDS), captured_at_s, size, source=source)
            self.frames += 1
            self._changed.notify_all()
            return last is not None and last.size != size

    def fail(self, line: str) -> None:
        """It is over; the first reason counts."""
        with self._changed:
            if self._error is None:
                self._error = line
            self._changed.notify_all()

    @property
    def failed(self) -> bool:
        with self._changed:
            return self._error is not None

    def newest(self) -> Frame:
        with self._changed:
            if self._error is not None:
                raise DeviceLost(self._error)
            if self._frame is None:
                raise DeviceError(
                    "the phone's screen: expected a frame, found none yet; wait for the first one"
                )
            return self._frame

    @property
    def size(self) -> Size:
        with self._changed:
            return (0, 0) if self._frame is None else self._frame.size

    def wait_first(self, timeout_s: float, hint: str) -> None:
        """Until a frame is there; `DeviceError` when the capture fails or none comes."""
        with self._changed:
            self._changed.wait_for(lambda: self._frame is not None or self._error is not None, timeout_s)
            if self._error is not None:
                raise DeviceError(self._error)
            if self._frame is None:
                raise DeviceError(f"expected a frame within {timeout_s:g} s, found none; {hint}")

    def wait_newer(self, than_id: int, timeout_s: float) -> None:
        """Until another frame is there, or the capture has failed, or that long."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._error is not None or (self._frame is not None and self._frame.frame_id != than_id)
                ),
                timeout_s,
            )

    def age(self) -> str:
        """How old the newest frame is, in words."""
        with self._changed:
            if self._frame is None:
                return "no frame yet"
            return f"newest {(time.perf_counter() - self._frame.captured_at_s) * 1e3:.0f} ms old"


class Capture(abc.ABC):
    """One way to look at the screen. `frame_id`s rise; times are the perf counter's."""

    name: str
    hint = ""  # what to do where no first frame comes

    def __init__(self) -> None:
        self.resized: Callable[[Size], None] | None = None  # called from its thread when the size has changed
        self._newest = NewestFrame()

    def start(self, timeout_s: float = FIRST_FRAME_S) -> None:
        """Returns when the first frame is there; `DeviceError` when none comes."""
        self._begin()
        try:
            self._newest.wait_first(timeout_s, self.hint)
        except DeviceError:
            self.close()
            raise

    def newest(self) -> Frame:
        """The newest frame; `DeviceLost` from when the capture broke."""
        return self._newest.newest()

    def wait_newer(self, than_id: int, timeout_s: float) -> None:
        """Until `newest` has something else to say than that frame, or that long."""
        self._newest.wait_newer(than_id, timeout_s)

    @property
    def frames(self) -> int:
        """Distinct frames so far."""
        return self._newest.frames

    @property
    def size(self) -> Size:
        """Of the newest frame, px, width and height."""
        return self._newest.size

    @abc.abstractmethod
    def health(self) -> str:
        """One line for people."""

    @abc.abstractmethod
    def close(self) -> None:
        """Stop; may be called twice, and after a failure."""

    @abc.abstractmethod
    def _begin(self) -> None:
        """Start the thread that calls `_show`."""

    def _show(self, source: FrameSource, captured_at_s: float, size: Size) -> None:
        """A picture came."""
        if self._newest.put(source, captured_at_s, size) and self.resized is not None:
            self.resized(size)
