"""The restart clicks: taps with waits between them, a step at a time, so that perception goes on.

Owned by the main loop.
"""

from __future__ import annotations

from collections.abc import Callable

from config import RestartTap
from greatwall.worker.clocks import SLACK_S


class RestartClicks:
    """One run through the taps of a profile; `active` from the first tap to the end of the last wait."""

    def __init__(self, taps: tuple[RestartTap, ...], tap: Callable[[float, float], None]) -> None:
        self._taps = taps
        self._tap = tap
        self._next = 0
        self._due_s = 0.0
        self.active = False

    def begin(self, now_s: float) -> None:
        """Start at the first tap, which is due at once."""
        self.active = True
        self._next = 0
        self._due_s = now_s

    def stop(self) -> None:
        self.active = False

    def turn(self, now_s: float) -> bool:
        """Tap whatever is due; True once, when the last wait is over."""
        if not self.active or now_s < self._due_s - SLACK_S:
            return False
        if self._next == len(self._taps):
            self.active = False
            return True
        due = self._taps[self._next]
        self._next += 1
        self._tap(due.x, due.y)
        self._due_s = now_s + due.wait_s
        return False
