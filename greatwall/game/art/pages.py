"""Title, fallen, death, loading and pause: what lies over the scenery or stands in its place.

Made once, read by any thread.
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from greatwall.contracts import FrameArray
from greatwall.game.art.canvas import Color, Sheet, Sprite, blit, lightened
from greatwall.game.art.glyphs import label, text_width, write
from greatwall.game.view import View

CREAM: Color = (214, 238, 250)
INK: Color = (34, 32, 44)
RED: Color = (44, 40, 190)
GOLD: Color = (84, 190, 240)
BUTTON = (960, 1000)  # px: the middle of Start and of Play again
DIMMED = 0.45
CAUSES = {"obstacle": "STOPPED BY AN OBSTACLE", "enemy": "CUT DOWN BY A RAIDER", "gap": "LOST IN THE GAP"}


class PagesArt:
    """The pages' pictures; `backdrop` is the scenery the death and loading pages stand before."""

    def __init__(self, backdrop: FrameArray) -> None:
        self._backdrop = dimmed(np.asarray(cv2.GaussianBlur(backdrop, (0, 0), 9), np.uint8))
        self._title = _title()
        self._hint = label("TAP TO JUMP - SWIPE TO SHOOT", 30, CREAM, rim=INK)
        self._start = _button("START", 380)
        self._again = _button("PLAY AGAIN", 460)
        self._panel = _panel(900, 660)
        self._fallen = _band("FALLEN", RED)
        self._paused = _band("PAUSED", (126, 96, 46))
        self._loading = label("LOADING", 74, CREAM, rim=INK)
        self._heading = label("THE RIDE IS OVER", 58, RED, weight=0.19)
        self._causes = {key: label(text, 30, (74, 86, 104)) for key, text in CAUSES.items()}
        self._distance = label("DISTANCE", 34, (74, 86, 104))
        self._best = label("BEST", 34, (74, 86, 104))
        self._record = label("NEW RECORD", 34, RED, weight=0.2)
        self._large = [label(c, 110, INK, weight=0.19) for c in "0123456789m"]
        self._small = [label(c, 52, (60, 70, 88), weight=0.19) for c in "0123456789m"]

    def title(self, frame: FrameArray, view: View) -> None:
        _centred(frame, self._title, 960, 330)
        _centred(frame, self._hint, 960, 590)
        self._press(frame, self._start, view)

    def fallen(self, frame: FrameArray) -> None:
        _centred(frame, self._fallen, 960, 470)

    def paused(self, frame: FrameArray) -> None:
        _centred(frame, self._paused, 960, 470)

    def death(self, view: View) -> FrameArray:
        """The whole death page."""
        frame = self._backdrop.copy()
        _centred(frame, self._panel, 960, 500)
        _centred(frame, self._heading, 960, 280)
        if view.death in self._causes:
            _centred(frame, self._causes[view.death], 960, 358)
        _centred(frame, self._distance, 960, 446)
        _number(frame, self._large, view.distance_m, 960, 538)
        record = view.distance_m >= view.best_m > 0
        _centred(frame, self._record if record else self._best, 960, 660)
        _number(frame, self._small, view.best_m, 960, 722)
        self._press(frame, self._again, view)
        return frame

    def loading(self, view: View, rider: Sprite) -> FrameArray:
        """The whole loading page."""
        frame = self._backdrop.copy()
        _centred(frame, self._loading, 960, 640)
        _centred(frame, rider, 960, 480)
        done = 1 - 0.5 ** ((view.tick - view.since) / 10)
        cv2.rectangle(frame, (660, 740), (1260, 764), INK, -1)
        cv2.rectangle(frame, (664, 744), (664 + round(592 * done), 760), GOLD, -1)
        return frame

    @staticmethod
    def _press(frame: FrameArray, button: tuple[Sprite, Sprite], view: View) -> None:
        """A button that lights up once a second."""
        bright = (view.tick - view.since) % 30 >= 15
        _centred(frame, button[1 if bright else 0], *BUTTON)


def dimmed(frame: FrameArray) -> FrameArray:
    """A darker copy."""
    return np.asarray(cv2.convertScaleAbs(frame, alpha=DIMMED), np.uint8)


def _centred(frame: FrameArray, sprite: Sprite, x: int, y: int) -> None:
    width, height = sprite.size
    blit(frame, sprite, x - width // 2, y - height // 2)


def _number(frame: FrameArray, glyphs: list[Sprite], value: int, x: int, y: int) -> None:
    """`value` and an m, centred at x, y."""
    row = [glyphs[int(c)] for c in str(value)] + [glyphs[10]]
    overlap = glyphs[0].size[1] // 10
    left = x - (sum(g.size[0] - overlap for g in row) + overlap) // 2
    for sprite in row:
        blit(frame, sprite, left, y - sprite.size[1] // 2)
        left += sprite.size[0] - overlap


def _rounded(s: Sheet, x: float, y: float, w: float, h: float, radius: float, color: Color) -> None:
    s.rect(x + radius, y, w - 2 * radius, h, color)
    s.rect(x, y + radius, w, h - 2 * radius, color)
    for cx in (x + radius, x + w - radius):
        for cy in (y + radius, y + h - radius):
            s.disc(cx, cy, radius, radius, color)


@lru_cache(maxsize=4)
def _button(text: str, width: int) -> tuple[Sprite, Sprite]:
    """A button, plain and lit."""
    height = 108
    s = Sheet(width, height)
    _rounded(s, 0, 0, width, height, 30, INK)
    _rounded(s, 3, 3, width - 6, height - 6, 27, GOLD)
    _rounded(s, 8, 8, width - 16, height - 16, 22, (34, 30, 150))
    _rounded(s, 8, 8, width - 16, 46, 22, (50, 46, 196))
    s.rect(8, 32, width - 16, 28, (42, 38, 178))
    tall, stroke, gap = 46.0, 8.5, 10.0
    left = (width - text_width(text, tall, stroke, gap)) / 2
    write(s, text, left + 1.5, 33, tall, (20, 18, 84), stroke, gap)
    write(s, text, left, 30, tall, CREAM, stroke, gap)
    sprite = s.sprite()
    return sprite, lightened(sprite, 0.16)


@lru_cache(maxsize=4)
def _band(text: str, color: Color) -> Sprite:
    """A banner across the middle with swallow-tailed ends."""
    width, height = 900, 190
    s = Sheet(width, height, 3)
    back = tuple(int(c * 0.55) for c in color)
    s.poly([(0, 40), (140, 40), (140, 182), (0, 182), (44, 111)], (back[0], back[1], back[2]))
    s.poly([(900, 40), (760, 40), (760, 182), (900, 182), (856, 111)], (back[0], back[1], back[2]))
    s.rect(84, 8, 732, 150, INK)
    s.rect(88, 12, 724, 142, GOLD)
    s.rect(94, 18, 712, 130, color)
    tall, stroke, gap = 84.0, 16.0, 20.0
    left = (width - text_width(text, tall, stroke, gap)) / 2
    write(s, text, left + 3, 45, tall, (back[0], back[1], back[2]), stroke, gap)
    write(s, text, left, 41, tall, CREAM, stroke, gap)
    return s.sprite()


@lru_cache(maxsize=2)
def _panel(width: int, height: int) -> Sprite:
    """A sheet of old paper on two red rods."""
    s = Sheet(width, height, 2)
    s.rect(30, 20, width - 60, height - 40, (70, 96, 122))
    s.rect(34, 20, width - 68, height - 40, (196, 224, 240))
    s.rect(50, 36, width - 100, height - 72, (150, 184, 208))
    s.rect(53, 39, width - 106, height - 78, (204, 230, 244))
    for y in (0, height - 34):
        _rounded(s, 0, y, width, 34, 16, INK)
        _rounded(s, 3, y + 3, width - 6, 28, 13, RED)
        s.rect(20, y + 8, width - 40, 5, (96, 92, 226))
        for x in (10, width - 26):
            s.rect(x, y + 3, 16, 28, GOLD)
    sprite = s.sprite()
    grain = np.random.default_rng(131).normal(0, 2.2, (height, width, 1))
    ink = np.where(sprite.keep == 0, np.clip(sprite.ink + grain, 0, 255), sprite.ink)
    return Sprite(ink.astype(np.uint8), sprite.keep)


@lru_cache(maxsize=1)
def _title() -> Sprite:
    """The game's name in two lines, with its seal."""
    width, height = 1300, 400
    s = Sheet(width, height, 3)
    big, stroke, gap = 146.0, 27.0, 26.0
    lines = (("GREAT WALL", 18.0), ("RUN", 210.0))
    for text, y in lines:
        left = (width - text_width(text, big, stroke, gap)) / 2 - (90 if text == "RUN" else 0)
        write(s, text, left, y, big, CREAM, stroke, gap)
        write(s, text, left, y, big, GOLD, stroke * 0.55, gap)
    s.outline(INK, 7)
    return _with_seal(s, width)


def _with_seal(s: Sheet, width: int) -> Sprite:
    x, y, side = width / 2 + 150, 218.0, 136.0
    _rounded(s, x, y, side, side, 18, (36, 32, 168))
    _rounded(s, x + 6, y + 6, side - 12, side - 12, 13, (46, 42, 196))
    for k, c in enumerate("长城"):
        write(s, c, x + 14 + k * 56, y + 36, 54, CREAM, 5.5, 0)
    return s.sprite()
