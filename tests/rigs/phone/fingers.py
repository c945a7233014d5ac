"""Fingers on the screen, by pointer id: from downs, moves and ups to gestures, as Android makes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MAX_FINGERS = 10  # scrcpy's own limit


@dataclass
class Finger:
    """One finger down. `is_cancelled` when the screen turned under it: it touches nothing any more."""

    x1: float
    y1: float
    x2: float
    y2: float
    down_at_s: float
    has_moved: bool = False
    is_cancelled: bool = False
    is_orphan: bool = False  # who put it down is gone without lifting it


@dataclass(frozen=True)
class Gesture:
    """A finished touch, px of the display: where the finger came down and where it left."""

    x1: float
    y1: float
    x2: float
    y2: float
    down_at_s: float


class Fingers:
    """All fingers of one phone."""

    def __init__(self) -> None:
        self.down: dict[int | str, Finger] = {}

    def press(self, pointer: int | str, x: float, y: float, at_s: float) -> None:
        """A finger comes down; one that is down already starts anew, orphans are cancelled by it."""
        self.down = {one: finger for one, finger in self.down.items() if not finger.is_orphan}
        if pointer in self.down or len(self.down) < MAX_FINGERS:
            self.down[pointer] = Finger(x, y, x, y, at_s)

    def move(self, pointer: int | str, x: float, y: float, at_s: float) -> None:
        """A finger moves. One that never came down counts as down but touches nothing (scrcpy does so)."""
        finger = self.down.get(pointer)
        if finger is None:
            self.press(pointer, x, y, at_s)
            if pointer in self.down:
                self.down[pointer].is_cancelled = True
            return
        finger.has_moved = finger.has_moved or (x, y) != (finger.x2, finger.y2)
        finger.x2, finger.y2 = x, y

    def lift(self, pointer: int | str, x: float, y: float) -> Gesture | None:
        """A finger leaves; its gesture, unless it was cancelled or never down."""
        finger = self.down.pop(pointer, None)
        if finger is None or finger.is_cancelled:
            return None
        return Gesture(finger.x1, finger.y1, x, y, finger.down_at_s)

    def cancel(self) -> None:
        """The screen turned or another window took over: what is down stays down and does nothing."""
        for finger in self.down.values():
            finger.is_cancelled = True

    def orphan(self, pointers: Iterable[int | str]) -> None:
        """Their scrcpy server has ended: those still down stay down, as on a real phone."""
        for pointer in pointers:
            if pointer in self.down:
                self.down[pointer].is_orphan = self.down[pointer].is_cancelled = True

    @property
    def is_swiping(self) -> bool:
        return any(finger.has_moved and not finger.is_cancelled for finger in self.down.values())
