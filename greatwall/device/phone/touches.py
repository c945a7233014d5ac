"""Touching a phone's screen: what every way of it has in common.

Points are fractions, 0..1, of the screen as it is captured: each way scales them to the px it needs, so any
capture goes with any touch. No call waits for the phone; what failed is told by the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from greatwall.errors import DeviceError

Size = tuple[int, int]
Point = tuple[float, float]

TOUCHES = ("scrcpy", "shell", "adb")  # the usual order, best first
TAP_S = 0.03  # finger down to finger up: a game that looks 60 times a second sees both
MOVE_S = 0.008  # between two moves of a swipe, as touch screens report them
_REFUSALS = ("INJECT_EVENTS", "SecurityException")


class HandBusy(DeviceError):  # noqa: N818 - what the hand is
    """Earlier touches are still being made: this one was not begun; a later one may be."""


class Touch(Protocol):
    """One way to touch the screen. `DeviceLost` when it broke, `HandBusy` while it cannot keep up."""

    name: str

    def tap(self, point: Point) -> None: ...

    def swipe(self, start: Point, end: Point, duration_ms: int) -> None:
        """Down, moves, up over that time; returns at once, and stops no other touch."""

    def try_out(self, timeout_s: float) -> tuple[float, float]:
        """Press the key that means nothing: what the call cost, s, and after how long the phone had done it
        (0: it does not say). `DeviceError` when it may not be touched in this way."""

    def resized(self, size: Size) -> None:
        """The screen's captured size is now this one: points are of it, and every finger is lifted."""

    def lift_all(self) -> None:
        """No finger is down, and no gesture goes on; raises nothing."""

    def health(self) -> str:
        """One line for people."""

    def close(self) -> None:
        """Lift all and stop; may be called twice."""


def in_px(point: Point, size: Size) -> tuple[int, int]:
    """A fraction as a px of a screen of that size, inside it."""
    (x, y), (width, height) = point, size
    return min(max(round(x * width), 0), width - 1), min(max(round(y * height), 0), height - 1)


def swipe_path(start: Point, end: Point, duration_ms: int) -> Iterator[tuple[float, Point]]:
    """The moves of a swipe: seconds after the finger went down, and where; the last one at its end."""
    duration_s = duration_ms / 1e3
    steps = max(1, round(duration_s / MOVE_S))
    for step in range(1, steps + 1):
        share = step / steps
        yield (
            duration_s * share,
            (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share),
        )


def touch_refusal(said: str) -> str:
    """What to do when the phone says that touches are not allowed; empty for anything else it says."""
    if any(word in said for word in _REFUSALS):
        return (
            f"touches: expected the phone to take them, found {said.strip()[:120]!r}; allow USB debugging "
            "(Security settings) in its developer options, as Xiaomi and others ask for, and restart it"
        )
    return ""
