"""How fast the Worker is: rolling percentiles of durations, and rates.

Each field of `WorkerTiming` is written by one thread alone (named beside it) and read by any.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import Any

ROLLING = 3_000  # values kept: 100 s at 30 a second


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which `share` (0..1) of them lie, by nearest rank; nan of none."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


class Durations:
    """The newest durations, in ms."""

    def __init__(self, size: int = ROLLING) -> None:
        self._values: deque[float] = deque(maxlen=size)

    def add_s(self, seconds: float) -> None:
        self._values.append(seconds * 1000.0)

    @property
    def count(self) -> int:
        return len(self._values)

    def summary(self) -> dict[str, float | None]:
        """{"p50", "p95"} in ms, to 0.01; None of no values."""
        values = tuple(self._values)
        if not values:
            return {"p50": None, "p95": None}
        return {name: round(percentile(values, share), 2) for name, share in (("p50", 0.5), ("p95", 0.95))}


class Rate:
    """Events a second: since the start, and lately."""

    def __init__(self, lately: int = 60) -> None:
        self.count = 0
        self._first_s: float | None = None
        self._recent: deque[float] = deque(maxlen=lately)

    def add(self, at_s: float) -> None:
        if self._first_s is None:
            self._first_s = at_s
        self.count += 1
        self._recent.append(at_s)

    def overall(self, now_s: float) -> float:
        """Events a second from the first one until now; 0 before the second event."""
        if self._first_s is None or self.count < 2 or now_s <= self._first_s:
            return 0.0
        return (self.count - 1) / (now_s - self._first_s)

    def lately(self) -> float:
        """Events a second over the newest ones; 0 before the second event."""
        recent = tuple(self._recent)
        if len(recent) < 2 or recent[-1] <= recent[0]:
            return 0.0
        return (len(recent) - 1) / (recent[-1] - recent[0])

    def period(self) -> float | None:
        """Mean seconds between the newest events; None before the second."""
        rate = self.lately()
        return 1.0 / rate if rate > 0 else None


class WorkerTiming:
    """What the Worker's stages took. `overruns` are steps that took longer than they should
    (the action's cooldown, at least a decision period) by more than a decision period."""

    def __init__(self) -> None:
        self.grabs = Rate()  # grab: distinct frames captured
        self.loops = Rate()  # main loop: distinct frames whose pixels went through the eyes
        self.frame_age = Durations()  # main loop: capture to publication
        self.pixels = Durations()  # main loop: until the frame's pixels are there; the simulator draws
        self.detector = Durations()  # main loop: the eyes' see()
        self.rules = Durations()  # main loop: the rule engine
        self.decision_age = Durations()  # main loop: capture of the frame a decision was made on to its order
        self.hud = Durations(500)  # OCR: the eyes' read_hud()
        self.hud_reads = Rate()  # OCR: reads begun
        self.touch = Durations()  # main loop: a touch call
        self.step = Durations()  # main loop: order taken to action done
        self.overruns = 0  # main loop

    def summary(self, now_s: float) -> dict[str, Any]:
        """JSON-able figures; fields that saw nothing are 0 or None."""
        hud_period = self.hud_reads.period()
        return {
            "grab_fps": round(self.grabs.overall(now_s), 2),
            "loop_fps": round(self.loops.overall(now_s), 2),
            "frame_age_ms": self.frame_age.summary(),
            "decision_age_ms": self.decision_age.summary(),
            "detector_ms": self.detector.summary(),
            "hud_ms": self.hud.summary(),
            "hud_period_s": None if hud_period is None else round(hud_period, 4),
            "overruns": self.overruns,
            "pixels_ms": self.pixels.summary(),
            "rules_ms": self.rules.summary(),
            "touch_ms": self.touch.summary(),
            "step_ms": self.step.summary(),
        }
