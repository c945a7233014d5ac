"""What lies in the way, in three kinds, for any width and height. Drawn when first met, then kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from greatwall.game.art.canvas import Color, Point, Sheet, Sprite

EDGE: Color = (26, 30, 38)


def draw_obstacle(look: int, width: int, height: int) -> Sprite:
    """The obstacle `look` (modulo the number of kinds), filling `width` x `height` px."""
    s = Sheet(width + 8, height + 8)
    KINDS[look % len(KINDS)](_Place(s, width, height), look // len(KINDS))
    s.outline(EDGE, 1.6)
    return s.fitted(width, height)


class _Place:
    """Draws in shares of the obstacle's width and height."""

    def __init__(self, sheet: Sheet, width: int, height: int) -> None:
        self.sheet = sheet
        self.width = width
        self.height = height
        self.px = min(width, height) / 100  # a stroke's unit

    def at(self, x: float, y: float) -> Point:
        return 4 + x * self.width, 4 + y * self.height

    def poly(self, points: list[Point], color: Color) -> None:
        self.sheet.poly([self.at(x, y) for x, y in points], color)

    def blob(self, points: list[Point], color: Color) -> None:
        self.sheet.blob([self.at(x, y) for x, y in points], color)

    def line(self, points: list[Point], color: Color, width: float) -> None:
        self.sheet.line([self.at(x, y) for x, y in points], color, width * self.px)


def _rocks(p: _Place, variant: int) -> None:
    """Boulders that have come down on the walkway."""
    rng = np.random.default_rng(500 + variant % 4)
    stones = (
        (0.27, 0.7, 0.27, 0.31),
        (0.75, 0.73, 0.25, 0.28),
        (0.47, 0.36, 0.29, 0.37),
        (0.55, 0.84, 0.2, 0.17),
    )
    for x, y, rx, ry in stones:
        angles = np.linspace(0, 2 * np.pi, 9, endpoint=False) + rng.uniform(-0.2, 0.2, 9)
        radius = rng.uniform(0.86, 1.05, 9)
        ring = [
            (x + rx * r * math.cos(a), min(y + ry * r * math.sin(a), 1.0))
            for a, r in zip(angles, radius, strict=True)
        ]
        p.sheet.poly([p.at(*q) for q in ring], (96, 94, 92))
        wide = [(x + (qx - x) * 1.0, y + (qy - y) * 1.0) for qx, qy in ring]
        top = (x - rx * 0.12, y - ry * 0.25)
        for i in range(9):
            a, b = wide[i], wide[(i + 1) % 9]
            middle = math.atan2((a[1] + b[1]) / 2 - y, (a[0] + b[0]) / 2 - x)
            light = -math.sin(middle + 0.6)
            tone = int(112 + 62 * light)
            p.poly([a, b, top], (tone + 2, tone, tone - 2))
        p.line([*wide, wide[0]], (52, 52, 54), 3.0)
    p.blob([(0.3, 0.03), (0.47, 0.0), (0.62, 0.04), (0.66, 0.13), (0.5, 0.1), (0.34, 0.14)], (72, 132, 104))
    p.blob([(0.05, 0.5), (0.2, 0.42), (0.26, 0.48), (0.12, 0.56)], (72, 132, 104))
    p.poly([(0.0, 1.0), (0.04, 0.9), (0.14, 0.94), (0.22, 0.9), (0.3, 1.0)], (84, 84, 84))
    p.poly([(0.76, 1.0), (0.84, 0.9), (0.93, 0.93), (1.0, 1.0)], (84, 84, 84))


def _stakes(p: _Place, variant: int) -> None:
    """A cavalry barrier: crossed stakes, sharpened and tipped, bound to a beam."""
    dark, wood, pale = (34, 58, 92), (58, 96, 146), (104, 152, 202)

    def stake(a: Point, b: Point, thick: float) -> None:
        p.line([a, b], dark, thick + 3)
        p.line([a, b], wood, thick)
        shift = 0.016
        p.line([(a[0] - shift, a[1]), (b[0] - shift, b[1])], pale, thick * 0.28)

    def tip(x: float, y: float, lean: float) -> None:
        p.poly(
            [(x, y), (x - lean * 0.24 - 0.055, y + 0.2), (x - lean * 0.24 + 0.055, y + 0.2)], (186, 190, 194)
        )
        p.poly([(x, y), (x - lean * 0.24, y + 0.2), (x - lean * 0.24 + 0.055, y + 0.2)], (122, 126, 132))

    for x in (0.06, 0.34, 0.62):
        stake((x, 0.97), (x + 0.27, 0.16), 9)
        tip(x + 0.31, 0.0, 0.5)
    for x in (0.38, 0.66, 0.94):
        stake((x, 0.97), (x - 0.27, 0.16), 9)
        tip(x - 0.31, 0.0, -0.5)
    p.line([(0.05, 0.56), (0.95, 0.56)], dark, 17)
    p.line([(0.05, 0.56), (0.95, 0.56)], wood, 13)
    p.line([(0.05, 0.525), (0.95, 0.525)], pale, 3)
    for x in (0.2, 0.49, 0.78):
        for k in (-0.03, 0.0, 0.03):
            p.line([(x + k, 0.47), (x + k, 0.65)], (140, 190, 216), 3.4)
    if variant % 2:
        p.poly([(0.4, 0.58), (0.6, 0.58), (0.58, 0.84), (0.5, 0.78), (0.42, 0.84)], (44, 38, 178))
    for x in (0.0, 0.9):
        p.poly([(x, 1.0), (x + 0.03, 0.92), (x + 0.08, 0.94), (x + 0.1, 1.0)], (70, 78, 86))


def _brazier(p: _Place, variant: int) -> None:
    """A signal fire in an iron bowl on a stone foot."""
    p.poly([(0.06, 1.0), (0.14, 0.86), (0.86, 0.86), (0.94, 1.0)], (92, 96, 100))
    p.poly([(0.0, 1.0), (0.03, 0.93), (0.97, 0.93), (1.0, 1.0)], (118, 122, 126))
    p.poly([(0.14, 0.86), (0.86, 0.86), (0.87, 0.885), (0.13, 0.885)], (150, 154, 158))
    p.poly([(0.4, 0.66), (0.6, 0.66), (0.68, 0.87), (0.32, 0.87)], (50, 52, 58))
    p.poly([(0.42, 0.66), (0.47, 0.66), (0.43, 0.87), (0.36, 0.87)], (86, 88, 96))
    lean = 0.05 if variant % 2 else -0.04
    flame = [
        (0.08, 0.46),
        (0.06, 0.3),
        (0.15, 0.36),
        (0.2, 0.16),
        (0.31, 0.25),
        (0.48 + lean, 0.0),
        (0.6, 0.2),
        (0.7, 0.1),
        (0.78, 0.3),
        (0.93, 0.22),
        (0.92, 0.46),
    ]
    for grow, color in (
        (1.0, (30, 62, 224)),
        (0.8, (32, 128, 252)),
        (0.58, (70, 204, 255)),
        (0.32, (200, 246, 255)),
    ):
        p.blob([(0.5 + (x - 0.5) * grow, 0.48 + (y - 0.48) * grow) for x, y in flame] + [(0.5, 0.52)], color)
    p.poly([(0.0, 0.42), (1.0, 0.42), (0.9, 0.58), (0.72, 0.69), (0.28, 0.69), (0.1, 0.58)], (46, 48, 54))
    p.poly([(0.06, 0.49), (0.94, 0.49), (0.9, 0.56), (0.1, 0.56)], (70, 72, 80))
    p.poly([(0.0, 0.4), (1.0, 0.4), (1.0, 0.475), (0.0, 0.475)], (84, 86, 94))
    p.poly([(0.0, 0.4), (1.0, 0.4), (1.0, 0.418), (0.0, 0.418)], (146, 150, 160))
    for x in (0.16, 0.33, 0.5, 0.67, 0.84):
        p.line([(x, 0.54), (x, 0.541)], (40, 150, 214), 6)


KINDS: tuple[Callable[[_Place, int], None], ...] = (_rocks, _stakes, _brazier)
