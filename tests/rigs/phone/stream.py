"""From pictures to coded units: on change, repeated while nothing changes, never queued without bound."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

import numpy as np

from greatwall.contracts import FrameArray
from tests.rigs.phone.encoder import Encoder
from tests.rigs.phone.screen import Picture, Screen

REPEAT_AFTER_S = 0.1  # scrcpy asks Android's encoder for it
REPEATS = 10  # Android's encoder gives up after so many: a still screen sends no frames
QUEUED = 4  # units; a host that does not read makes the encoder leave pictures out


class Coded(NamedTuple):
    """What goes to the host: a unit, or the parameter sets of a new size before its first unit."""

    data: bytes
    is_config: bool
    is_key: bool
    at_s: float
    size: tuple[int, int]


class CodedScreen:
    """A screen's viewer: encodes on the screen's thread, hands units to the loop through `units`."""

    def __init__(
        self,
        screen: Screen,
        *,
        bit_rate: int,
        max_size: int = 0,
        max_fps: float = 0.0,
        repeats: int = REPEATS,
        follows_rotation: bool = True,
    ) -> None:
        self.units: asyncio.Queue[Coded] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._screen = screen
        self._bit_rate = bit_rate
        self._max_size = max_size
        self._min_gap_s = 0.95 / max_fps if max_fps else 0.0
        self._repeats = repeats
        self._follows = follows_rotation
        self._encoder: Encoder | None = None
        self._last: FrameArray | None = None
        self._last_at_s = -1.0
        self._left = 0
        self.size = self.size_for(screen.size)
        self.is_stopped = False  # the `stop_video` fault
        self.wants_key = False
        self.coded = 0
        self.cpu_s = 0.0  # of drawing for it and coding it, on the screen's thread

    def size_for(self, size: tuple[int, int]) -> tuple[int, int]:
        """scrcpy's rule: the longer side at most `max_size`, both sides multiples of 8."""
        width, height = size
        longer = max(width, height)
        if self._max_size and longer > self._max_size:
            width, height = (round(side * self._max_size / longer) for side in size)
        return width // 8 * 8, height // 8 * 8

    def show(self, picture: Picture) -> None:
        """Code a picture if it is new or due again (screen's thread)."""
        gap_s = picture.at_s - self._last_at_s
        if self.is_stopped or gap_s < self._min_gap_s or self.units.qsize() >= QUEUED:
            return
        started_s = time.thread_time()
        fresh = self._prepare(self.size_for(picture.size) if self._follows else self.size)
        i420 = picture.i420(self.size)
        changed = fresh or self._last is None or not np.array_equal(i420, self._last)
        if changed:
            self._left = self._repeats
        elif gap_s < REPEAT_AFTER_S or self._left <= 0:
            return
        else:
            self._left -= 1
        assert self._encoder is not None
        unit = self._encoder.encode(i420, picture.at_s)
        self._last, self._last_at_s = i420, picture.at_s
        self.coded += 1
        self.cpu_s += time.thread_time() - started_s
        if fresh:
            self._hand_over(Coded(self._encoder.config, True, False, picture.at_s, self.size))
        self._hand_over(Coded(unit.data, False, unit.is_key, picture.at_s, self.size))

    def _prepare(self, size: tuple[int, int]) -> bool:
        """A new encoder when the size is new or a key frame is wanted; True then."""
        if self._encoder is not None and size == self._encoder.size and not self.wants_key:
            return False
        self.wants_key = False
        self.size = size
        self._encoder = Encoder(size, self._bit_rate)
        return True

    def _hand_over(self, coded: Coded) -> None:
        try:
            self._loop.call_soon_threadsafe(self.units.put_nowait, coded)
        except RuntimeError:  # the loop has ended between two pictures
            self.is_stopped = True
