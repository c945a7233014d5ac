"""Is the rider dead? Two signs, read off the HUD: no lives left, or a distance that stands still.

Pure; owned by whoever reads the HUD (the OCR thread, or the game clock's scheduler).
"""

from __future__ import annotations

from greatwall.contracts import Hud, HudRead
from greatwall.worker.clocks import SLACK_S


class DeathWatch:
    """Fed with every HUD read in order; says when the run is over."""

    def __init__(self, stall_s: float, stall_reads: int) -> None:
        self._stall_s = stall_s
        self._stall_reads = stall_reads
        self.reset()

    def reset(self) -> None:
        """A new run: forget everything."""
        self._last_lives: int | None = None
        self.forget_stall()

    def forget_stall(self) -> None:
        """Time in which nothing moved was no stall: after a pause, count afresh."""
        self._distance: int | None = None
        self._since_s = 0.0
        self._reads = 0

    def dead(self, read: HudRead, hud: Hud) -> bool:
        """True when lives were read as 0 after a 1 or twice running, or the distance has stalled.

        `read` is the raw look, `hud` what the filter believed after it. A distance read is good
        when it was believed. An unreadable field says nothing either way.
        """
        return self._no_lives(read.lives) or self._stalled(hud)

    def _no_lives(self, lives: int | None) -> bool:
        if lives is None:
            return False
        before, self._last_lives = self._last_lives, lives
        return lives == 0 and before in (0, 1)

    def _stalled(self, hud: Hud) -> bool:
        if hud.distance is None or hud.distance_at_s != hud.captured_at_s:
            return False
        if hud.distance != self._distance:
            self._distance = hud.distance
            self._since_s = hud.distance_at_s
            self._reads = 1
            return False
        self._reads += 1
        spanned_s = hud.distance_at_s - self._since_s
        return self._reads >= self._stall_reads and spanned_s >= self._stall_s - SLACK_S
