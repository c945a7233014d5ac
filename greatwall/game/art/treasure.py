"""Coins, souls and arrows in flight. Made once, read by any thread."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from greatwall.game.art.canvas import Color, Sheet, Sprite, mixed
from greatwall.game.art.graded import graded_sprite
from greatwall.game.grades import SAME, Grade

COIN_PHASES = 12
SOUL_PHASES = 12
ARROW_LENGTH = 92  # px
ARROW_TURN = 5  # degrees between the arrow's pictures


def make_coins(size: int) -> list[Sprite]:
    """A bronze coin with its square hole; a gleam that runs over it makes it seem to turn."""
    return [_coin(size, phase / COIN_PHASES) for phase in range(COIN_PHASES)]


def _coin(size: int, turn: float) -> Sprite:
    s = Sheet(size, size)
    mid = size / 2
    dark, gold, pale, shine = (22, 74, 138), (52, 178, 244), (120, 220, 255), (226, 248, 255)
    s.disc(mid, mid, mid, mid, dark)
    swing = math.cos(2 * math.pi * turn)
    for k in range(9):  # from the rim inwards, the light's side moving with the turn
        share = k / 8
        radius = (mid - 2) * (1 - 0.16 * share)
        s.disc(
            mid + swing * share * 2.2, mid - share * 1.2, radius, radius, mixed((30, 132, 206), pale, share)
        )
    s.disc(mid, mid, mid * 0.68, mid * 0.68, (34, 128, 198))
    s.disc(mid + swing * 1.2, mid + 0.6, mid * 0.62, mid * 0.62, gold)
    at = (turn * 2 % 1) * 2 - 0.5  # the gleam's place across the face
    centre = (at - 0.5) * size * 1.2
    cut = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    rim = np.stack([np.cos(cut), np.sin(cut)], 1) * (mid - 2.5)
    for half, tone in ((6.0, mixed(gold, shine, 0.45)), (3.0, shine)):
        band = [(mid + x, mid + y) for x, y in rim if abs(x + 0.5 * y - centre) < half]
        if len(band) >= 3:
            band.sort(key=lambda p: math.atan2(p[1] - mid - centre * 0.2, p[0] - mid - centre * 0.8))
            s.poly(band, tone)
    for angle in (0, 90, 180, 270):  # four signs round the hole
        c, d = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        s.line(
            [
                (mid + c * 11.5 - d * 2.6, mid + d * 11.5 + c * 2.6),
                (mid + c * 11.5 + d * 2.6, mid + d * 11.5 - c * 2.6),
            ],
            dark,
            1.7,
        )
    s.rect(mid - 6.4, mid - 6.4, 12.8, 12.8, dark)
    s.rect(mid - 4.4, mid - 4.4, 8.8, 8.8, (58, 86, 112))
    return s.fitted(size, size)


def make_souls(size: int) -> list[Sprite]:
    """A blue-white flame inside a halo; only its inside moves."""
    return [_soul(size, phase / SOUL_PHASES) for phase in range(SOUL_PHASES)]


def _soul(size: int, turn: float) -> Sprite:
    y, x = np.mgrid[0:size, 0:size] + 0.5 - size / 2
    far = np.hypot(x, y) / (size / 2)
    edge = np.clip((1 - far) * size / 2, 0, 1)
    wave = 0.5 + 0.5 * math.sin(2 * math.pi * turn)
    opacity = edge * (
        0.42
        + 0.34 * np.exp(-(((far - 0.93) / 0.07) ** 2))
        + (0.3 + 0.12 * wave) * np.exp(-((far / 0.62) ** 2))
    )
    glow = np.array((255.0, 226, 120)) + np.exp(-((far / 0.5) ** 2))[..., None] * np.array((0.0, 24, 110))
    alpha = np.clip(opacity, 0, 1)[..., None]
    ink, keep = glow * alpha, 1 - alpha

    s = Sheet(size, size)
    mid = size / 2
    sway = math.sin(2 * math.pi * turn) * 3.2
    curl = math.cos(2 * math.pi * turn) * 2.4
    for grow, color in ((1.0, (255, 196, 70)), (0.78, (255, 232, 160)), (0.5, (255, 255, 246))):
        points = [
            (0, 19),
            (-14, 11),
            (-14, -2),
            (-7 + curl, -11),
            (sway, -24),
            (5, -12),
            (13 + curl, -5),
            (14, 9),
        ]
        s.blob([(mid + px * grow, mid + 2 + py * grow + (1 - grow) * 7) for px, py in points], color)
    s.disc(mid - 4.6, mid + 7, 2.3, 3.6, (120, 66, 20))
    s.disc(mid + 4.6, mid + 7, 2.3, 3.6, (120, 66, 20))
    flame = s.sprite()
    still = flame.keep / 255.0
    ink, keep = ink * still + flame.ink, keep * still
    return Sprite(
        np.rint(np.clip(ink, 0, 255)).astype(np.uint8),
        np.repeat(np.rint(255 * keep), 3, axis=2)[..., :3].astype(np.uint8),
    )


class ArrowArt:
    """The arrow at every angle, tip in the middle of its square."""

    def __init__(self, grade: Grade = SAME) -> None:
        self.half = ARROW_LENGTH + 4
        self._sprites = [graded_sprite(sprite, grade) for sprite in _arrows(self.half)]

    def at(self, vx: float, vy: float) -> Sprite:
        """The picture for a flight of `vx` to the right and `vy` up."""
        angle = math.degrees(math.atan2(vy, vx))
        return self._sprites[round(angle / ARROW_TURN) % len(self._sprites)]


@lru_cache(maxsize=1)
def _arrows(half: int) -> tuple[Sprite, ...]:
    """The arrow at every angle."""
    return tuple(_arrow(half, math.radians(k * ARROW_TURN)) for k in range(360 // ARROW_TURN))


def _arrow(half: int, angle: float) -> Sprite:
    s = Sheet(2 * half, 2 * half, 2)
    c, d = math.cos(angle), -math.sin(angle)

    def put(*points: tuple[float, float]) -> list[tuple[float, float]]:
        return [(half + x * c - y * d, half + x * d + y * c) for x, y in points]

    wood: Color = (40, 70, 112)
    s.poly(put((-88, -2.6), (-12, -2.6), (-12, 2.6), (-88, 2.6)), wood)
    s.poly(put((-88, -2.6), (-12, -2.6), (-12, -0.6), (-88, -0.6)), (90, 138, 190))
    s.poly(put((0, 0), (-22, -8), (-16, 0), (-22, 8)), (60, 62, 66))
    s.poly(put((0, 0), (-22, -8), (-16, 0)), (206, 210, 214))
    for x in (-92, -82, -72):
        s.poly(put((x, 0), (x + 12, 0), (x + 3, -9), (x - 6, -9)), (238, 240, 250))
        s.poly(put((x, 0), (x + 12, 0), (x + 3, 9), (x - 6, 9)), (70, 56, 214))
    s.outline((28, 30, 36), 1.0)
    return s.sprite()
