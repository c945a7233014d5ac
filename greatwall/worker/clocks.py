"""The two clocks. Everything that waits asks one; only this module sleeps.

Both are read from any thread and own no state that changes.
"""

from __future__ import annotations

import time

from greatwall.contracts import TICK_S, TickedDevice

SLACK_S = 1e-6  # sums of ticks in s are not exact


class WallClock:
    """Real time: the performance counter, which devices that run in real time also stamp frames with."""

    def now_s(self) -> float:
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        """Do nothing for that long; nothing at all for a number below 0."""
        if seconds > 0:
            time.sleep(seconds)


class GameClock:
    """The game's own time, in seconds: whole ticks of a held device. Nobody sleeps on it."""

    def __init__(self, device: TickedDevice) -> None:
        self._device = device

    def now_s(self) -> float:
        return self._device.tick * TICK_S
