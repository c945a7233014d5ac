"""The rider and his horse: a gallop in eight phases, two poses in the air, one when fallen.

Made once, read by any thread. Drawn in px of a 130 x 150 box, facing right; every pose reaches all
four sides of the box, because the box is what a detector learns to find.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from greatwall.game.art.canvas import Color, Point, Sheet, Sprite, lightened
from greatwall.game.art.graded import graded_sprite
from greatwall.game.grades import SAME, Grade

PHASES = 8
WIDTH, HEIGHT = 130, 150
FLOOR = 148.0  # where the lowest hoof stands

OUTLINE: Color = (24, 28, 40)
COAT: Color = (46, 78, 140)
COAT_LIT: Color = (74, 116, 186)
COAT_DARK: Color = (30, 52, 100)
FAR: Color = (34, 56, 98)
MANE: Color = (28, 34, 50)
HOOF: Color = (36, 40, 48)
RED: Color = (46, 42, 200)
RED_DARK: Color = (36, 30, 142)
GOLD: Color = (70, 186, 240)
STEEL: Color = (178, 170, 160)
SKIN: Color = (140, 182, 228)


class Pose(NamedTuple):
    """Where the hooves are, relative to hip or shoulder, px; fore near, fore far, hind near, hind far."""

    hooves: tuple[Point, Point, Point, Point]
    sway: float  # of tail, cape and plume, -1..1
    nod: float  # of the head, px down


class RiderArt:
    """All pictures of the rider at one size, in one look's colours."""

    def __init__(self, width: int, height: int, grade: Grade = SAME) -> None:
        self._plain = [graded_sprite(sprite, grade) for sprite in _poses(width, height)]
        self._light = [lightened(sprite, 0.5) for sprite in self._plain]

    def galloping(self, stride: float, light: bool) -> Sprite:
        """The gallop at `stride` (its whole part does not matter), lightened while invulnerable."""
        return (self._light if light else self._plain)[math.floor(stride * PHASES) % PHASES]

    def airborne(self, rising: bool, light: bool) -> Sprite:
        """The jump on its way up or down."""
        return (self._light if light else self._plain)[PHASES + (0 if rising else 1)]


@lru_cache(maxsize=2)
def _poses(width: int, height: int) -> tuple[Sprite, ...]:
    """The gallop's phases, then the jump on its way up and down."""
    gallop = [_draw(_gallop(k / PHASES)) for k in range(PHASES)]
    return tuple(sheet.fitted(width, height) for sheet in (*gallop, _draw(RISING), _draw(FALLING)))


def _gallop(phase: float) -> Pose:
    """One phase of the gallop, 0..1: each hoof runs round a flat loop, the pairs apart in time."""

    def hoof(offset: float, forward: float) -> Point:
        turn = 2 * math.pi * (phase + offset)
        x = 30 * math.cos(turn) + forward
        lift = max(0.0, -math.sin(turn)) * 26
        return x, 54 - lift

    sway = math.sin(2 * math.pi * phase)
    return Pose((hoof(0.0, 6), hoof(0.12, 8), hoof(0.5, -4), hoof(0.62, -2)), sway, 2.5 * sway)


RISING = Pose(((24, 16), (32, 26), (-22, 52), (-14, 55)), -0.8, -3)
FALLING = Pose(((26, 52), (17, 55), (-32, 34), (-26, 26)), 0.9, 2)


def _joint(top: Point, foot: Point, upper: float, lower: float, side: float) -> Point:
    """The knee of a leg from `top` to `foot`; `side` 1 bends it forwards, -1 backwards."""
    dx, dy = foot[0] - top[0], foot[1] - top[1]
    reach = min(math.hypot(dx, dy), upper + lower - 0.01)
    along = (upper**2 - lower**2 + reach**2) / (2 * reach)
    out = math.sqrt(max(upper**2 - along**2, 0.0))
    length = math.hypot(dx, dy)
    ux, uy = dx / length, dy / length
    return top[0] + ux * along + uy * out * side, top[1] + uy * along - ux * out * side


def _leg(s: Sheet, top: Point, hoof: Point, side: float, color: Color, thick: float) -> None:
    foot = (top[0] + hoof[0], top[1] + hoof[1] - 5)
    knee = _joint(top, foot, 29, 29, side)
    s.curve(
        [top, ((top[0] + knee[0]) / 2 + side, (top[1] + knee[1]) / 2), knee],
        color,
        (thick, thick * 0.74, thick * 0.5),
    )
    s.line([knee, foot], color, (thick * 0.5, thick * 0.34))
    s.disc(*knee, thick * 0.27, thick * 0.27, color)
    lean = 2.5 if hoof[1] > 46 else -1.0
    s.poly(
        [
            (foot[0] - 3, foot[1] - 3),
            (foot[0] + 3.4, foot[1] - 3),
            (foot[0] + 5.5 + lean, foot[1] + 5),
            (foot[0] - 3.5, foot[1] + 5),
        ],
        HOOF,
    )


def _draw(pose: Pose) -> Sheet:
    s = Sheet(WIDTH + 8, HEIGHT + 8)
    lowest = max(y for _, y in pose.hooves)
    drop = FLOOR - 95 - lowest  # the body sinks until a hoof stands
    hip, shoulder = (36.0, 95 + drop), (90.0, 95 + drop)
    _leg(s, (hip[0] + 5, hip[1]), pose.hooves[3], -1, FAR, 17)
    _leg(s, (shoulder[0] - 3, shoulder[1]), pose.hooves[1], 1, FAR, 15)
    wave = pose.sway * 5
    y = drop
    s.curve(
        [(28, 78 + y), (16, 74 + y + wave * 0.4), (9, 84 + y + wave), (3, 98 + y - wave * 0.6)],
        MANE,
        (7, 12, 11, 3),
    )
    _cape(s, pose, y)
    _body(s, y)
    _head(s, pose, y)
    _leg(s, hip, pose.hooves[2], -1, COAT, 21)
    _leg(s, shoulder, pose.hooves[0], 1, COAT, 17)
    _harness(s, y)
    _man(s, pose, y)
    s.outline(OUTLINE, 1.5)
    return s


def _cape(s: Sheet, pose: Pose, y: float) -> None:
    flow = pose.sway * 4
    s.blob(
        [
            (60, 40 + y),
            (46, 38 + y + flow * 0.3),
            (30, 44 + y + flow),
            (16, 46 + y - flow),
            (22, 54 + y),
            (14, 62 + y + flow),
            (30, 64 + y),
            (48, 66 + y),
            (58, 62 + y),
        ],
        RED_DARK,
    )
    s.blob(
        [
            (60, 41 + y),
            (46, 41 + y + flow * 0.3),
            (31, 47 + y + flow),
            (20, 48 + y - flow),
            (32, 54 + y),
            (50, 58 + y),
        ],
        RED,
    )


def _body(s: Sheet, y: float) -> None:
    s.blob(
        [
            (24, 84 + y),
            (32, 74 + y),
            (48, 74 + y),
            (66, 77 + y),
            (84, 72 + y),
            (98, 78 + y),
            (101, 92 + y),
            (92, 104 + y),
            (74, 106 + y),
            (56, 108 + y),
            (42, 104 + y),
            (28, 104 + y),
        ],
        COAT,
    )
    s.blob(
        [(30, 80 + y), (44, 77 + y), (66, 80 + y), (84, 76 + y), (94, 82 + y), (70, 88 + y), (44, 86 + y)],
        COAT_LIT,
    )
    s.blob(
        [(40, 101 + y), (58, 104 + y), (76, 102 + y), (90, 99 + y), (76, 106 + y), (56, 108 + y)], COAT_DARK
    )


def _head(s: Sheet, pose: Pose, y: float) -> None:
    n = pose.nod
    s.blob(
        [
            (82, 76 + y),
            (90, 62 + y),
            (99, 50 + y + n),
            (106, 46 + y + n),
            (112, 56 + y + n),
            (108, 70 + y),
            (102, 84 + y),
            (92, 90 + y),
        ],
        COAT,
    )
    s.blob([(90, 70 + y), (97, 58 + y), (104, 51 + y + n), (106, 60 + y + n), (99, 76 + y)], COAT_LIT)
    s.blob(
        [
            (101, 50 + y + n),
            (107, 44 + y + n),
            (114, 46 + y + n),
            (122, 55 + y + n),
            (129, 62 + y + n),
            (129, 68 + y + n),
            (123, 70 + y + n),
            (114, 65 + y + n),
            (106, 62 + y + n),
        ],
        COAT,
    )
    s.blob([(123, 60 + y + n), (129, 63 + y + n), (128, 68 + y + n), (122, 68 + y + n)], COAT_DARK)
    s.poly([(102, 48 + y + n), (102, 36 + y + n), (109, 45 + y + n)], COAT)
    s.poly([(107, 47 + y + n), (110, 36 + y + n), (114, 47 + y + n)], COAT_LIT)
    s.disc(113, 53 + y + n, 2.0, 2.2, (20, 22, 28))
    s.disc(113.6, 52.3 + y + n, 0.7, 0.7, (240, 240, 240))
    w = pose.sway * 2
    s.blob(
        [
            (106, 42 + y + n),
            (98, 44 + y + n + w),
            (88, 54 + y - w),
            (80, 68 + y + w),
            (76, 76 + y),
            (88, 72 + y),
            (96, 60 + y),
            (103, 51 + y + n),
        ],
        MANE,
    )


def _harness(s: Sheet, y: float) -> None:
    s.blob(
        [(46, 73 + y), (60, 71 + y), (76, 73 + y), (80, 84 + y), (77, 97 + y), (62, 100 + y), (48, 96 + y)],
        RED_DARK,
    )
    s.blob(
        [(48, 73 + y), (60, 72 + y), (75, 74 + y), (77, 84 + y), (74, 93 + y), (62, 95 + y), (51, 92 + y)],
        RED,
    )
    s.curve([(48, 94 + y), (62, 98.5 + y), (76, 95 + y)], GOLD, 2)
    s.curve([(78, 78 + y), (92, 84 + y), (101, 83 + y)], GOLD, 2)
    s.line([(116, 48 + y), (119, 64 + y)], GOLD, 1.6)
    s.curve([(120, 64 + y), (98, 68 + y), (78, 62 + y)], (36, 42, 58), 1.5)


def _man(s: Sheet, pose: Pose, y: float) -> None:
    n = pose.nod * 0.4
    s.curve([(60, 70 + y), (72, 78 + y), (70, 92 + y)], (58, 62, 76), (13, 11, 8))
    s.blob([(65, 90 + y), (76, 90 + y), (80, 96 + y), (66, 97 + y)], (34, 38, 50))
    s.blob(
        [
            (52, 44 + y + n),
            (62, 36 + y + n),
            (72, 40 + y + n),
            (74, 54 + y),
            (73, 70 + y),
            (54, 72 + y),
            (50, 58 + y),
        ],
        (84, 88, 104),
    )
    for k in range(4):
        s.curve([(53, 50 + k * 6 + y), (62, 53 + k * 6 + y), (73, 50 + k * 6 + y)], (124, 130, 148), 2)
    s.line([(52, 67 + y), (74, 66 + y)], GOLD, 3)
    s.line([(52, 46 + y + n), (70, 62 + y)], (40, 52, 84), 2.5)
    s.curve([(60, 44 + y + n), (70, 54 + y), (80, 60 + y)], (62, 66, 82), (11, 9, 7))
    s.disc(81, 60 + y, 3.6, 3.6, SKIN)
    s.line([(80, 36 + y), (87, 48 + y), (86, 60 + y), (82, 72 + y), (73, 82 + y)], (40, 66, 104), 3)
    s.line([(80, 36 + y), (73, 82 + y)], (210, 214, 220), 0.8)
    s.disc(67, 27 + y + n, 9.5, 10, SKIN)
    s.poly([(72, 26 + y + n), (78.5, 29 + y + n), (72, 31 + y + n)], SKIN)
    s.line([(71, 25.5 + y + n), (74, 26 + y + n)], (30, 34, 46), 1.8)
    s.blob([(66, 32 + y + n), (74, 33 + y + n), (72, 37 + y + n), (64, 37 + y + n)], (30, 34, 46))
    s.blob(
        [
            (55, 26 + y + n),
            (58, 15 + y + n),
            (67, 11 + y + n),
            (76, 17 + y + n),
            (78, 24 + y + n),
            (68, 22 + y + n),
            (62, 25 + y + n),
            (60, 38 + y + n),
            (54, 36 + y + n),
        ],
        STEEL,
    )
    s.curve([(57, 24 + y + n), (67, 20 + y + n), (78, 23 + y + n)], GOLD, 2.4)
    s.line([(67, 12 + y + n), (67, 4)], GOLD, 2.4)
    f = pose.sway * 3
    s.blob([(67, 2), (60, 4 + f * 0.3), (50, 5 + f), (43, 10 - f * 0.5), (52, 12 + f), (62, 10)], RED)
