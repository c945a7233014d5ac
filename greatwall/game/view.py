"""What one moment of the embedded game looks like: immutable, cheap to take, enough to draw it.

A `View` is the only thing drawing and truth read; both therefore show the same moment, and neither
can change the game. World x is px along the wall; screen x = world x - `view.x`. Heights are px
above the ground surface, up.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Page(IntEnum):
    """What is on the screen."""

    TITLE = 0
    PLAYING = 1
    FALLEN = 2  # lives are 0, the world has stopped, the HUD still shows
    DEATH = 3  # the death page with its play-again button; no HUD
    LOADING = 4  # no HUD
    PAUSED = 5  # drawn over the halted game; only a person pauses this way


class Kind(IntEnum):
    """What stands on the course; also the order of `CourseConfig.feature_weights`."""

    OBSTACLE = 0
    ENEMY = 1
    GAP = 2
    SOUL = 3
    COIN = 4


class Thing(NamedTuple):
    """One thing of the course, never changed after it was placed.

    `x` is its left edge when placed. An enemy walks left by `speed` px a tick from tick `born` on,
    until its left edge reaches `stop_x`; all others have speed 0 and stop_x = x. `look` picks one
    of its kind's pictures. `bottom` is the height of its lower edge.
    """

    id: int
    kind: Kind
    x: float
    w: float
    h: float
    bottom: float
    look: int
    born: int
    stop_x: float
    speed: float

    def x_at(self, tick: int) -> float:
        """Its left edge in world px at a tick."""
        if self.speed == 0.0:
            return self.x
        return max(self.stop_x, self.x - self.speed * (tick - self.born))


class Arrow(NamedTuple):
    """An arrow in flight: its tip, in world px and height, and its velocity in px a tick."""

    x: float
    y: float
    vx: float
    vy: float


class View(NamedTuple):
    """One moment. `things` are in order of placing and hold everything that may be on screen.

    `height` is the rider's, 0 on the ground; `vy` its rise in px/s. `invulnerable` is ticks left.
    `since` is the tick the page came up. Distance in m is int(x / px_per_m) of the run.
    """

    tick: int
    page: Page
    since: int
    x: float
    height: float
    vy: float
    lives: int
    arrows: int
    coins: int
    distance_m: int
    invulnerable: int
    death: str  # what took the last life: "obstacle", "enemy", "gap", or ""
    best_m: int
    things: tuple[Thing, ...]
    flying: tuple[Arrow, ...]
