"""The HUD: dark plates with icons and large pale digits. Made once, read by any thread.

The digits stand inside their layout's boxes, `MARGIN` px (at scale 1) from the side they begin at,
and the plates are opaque, so that they look the same over any scenery.
"""

from __future__ import annotations

import math

import cv2
import numpy as np

from config import GameProfile
from greatwall.contracts import FrameArray
from greatwall.game.art.canvas import Color, Sheet, Sprite, blit
from greatwall.game.art.glyphs import DIGIT_SHAPES, write
from greatwall.game.art.graded import graded_sprite
from greatwall.game.grades import SAME, Grade
from greatwall.game.hud_styles import DISTANCE_PX, FONTS, ICON_PX, LAYOUTS, PLATE_PX, HudFont, HudLayout
from greatwall.game.view import View

MARGIN = 10  # px between a box's side and the digits
AFTER_PX = 18  # px of plate to the right of a box
ICON_LEFT = {"lives": 76, "arrows": 84, "coins": 76, "distance": 80}  # px from the box to its icon


class HudArt:
    """Everything the HUD is put together from; `grade` is what the screen does to all of it."""

    def __init__(
        self,
        profile: GameProfile,
        font: HudFont = FONTS["standard"],
        layout: HudLayout = LAYOUTS["standard"],
        grade: Grade = SAME,
    ) -> None:
        self.boxes = {name: field.box for name, field in profile.hud}
        self._font = font
        self._at_right = layout.at_right
        scale = self._scale = layout.scale
        self._digits = [graded_sprite(_digit(str(value), font, scale), grade) for value in range(10)]
        self._step = round(font.width * scale) + round(font.gap * scale)
        self._overhang = _overhang(font, scale)
        self._pieces: list[tuple[Sprite, int, int]] = []
        for group in layout.plates:
            boxes = [self.boxes[name] for name in group]
            last = DISTANCE_PX if group[-1] == "distance" else AFTER_PX
            x1 = min(box[0] for box in boxes) - round(ICON_PX * scale)
            x2 = max(box[0] + box[2] for box in boxes) + round(last * scale)
            y1 = boxes[0][1] - round(PLATE_PX * scale)
            high = boxes[0][3] + 2 * round(PLATE_PX * scale)
            self._pieces.append((graded_sprite(_plate(x2 - x1, high, font), grade), x1, y1))
        icons = {"lives": _heart(), "arrows": _arrow(), "coins": _coin(font.plate), "distance": _tower()}
        for name, icon in icons.items():
            self._add(icon, name, -round(ICON_LEFT[name] * scale), grade)
        self._add(_metre(), "distance", self.boxes["distance"][2] + round(12 * scale), grade)

    def _add(self, icon: Sprite, name: str, dx: int, grade: Grade) -> None:
        """An icon in the middle of its field's height, `dx` px from the box's left side."""
        sprite = graded_sprite(_resized(icon, self._scale), grade)
        x, y, _, h = self.boxes[name]
        self._pieces.append((sprite, x + dx, y + (h - sprite.size[1]) // 2))

    def paint(self, frame: FrameArray, view: View) -> None:
        """Lay plates, icons and the four values over `frame`."""
        for sprite, x, y in self._pieces:
            blit(frame, sprite, x, y)
        for name in ("lives", "arrows", "coins"):
            self._number(frame, name, getattr(view, name))
        self._number(frame, "distance", view.distance_m)

    def _number(self, frame: FrameArray, name: str, value: int) -> None:
        x, y, w, h = self.boxes[name]
        text = str(value)
        margin = round(MARGIN * self._scale)
        wide = len(text) * self._step - round(self._font.gap * self._scale) + self._overhang
        left = x + w - margin - wide if name in self._at_right else x + margin
        rim = math.ceil(self._font.rim_px)
        top = y + (h - self._digits[0].size[1]) // 2
        for c in text:
            blit(frame, self._digits[int(c)], left - rim, top)
            left += self._step


def _overhang(font: HudFont, scale: float) -> int:
    """How far a slanted digit leans beyond its own width, px."""
    return math.ceil(font.slant * font.height * scale)


def _digit(text: str, font: HudFont, scale: float) -> Sprite:
    """One digit. An upright one without a rim is an opaque cell of the plate's colour."""
    width, height = round(font.width * scale), round(font.height * scale)
    stroke, rim = font.stroke * scale, math.ceil(font.rim_px)
    across, down = width + font.reach * scale - stroke, height - stroke
    s = Sheet(width + _overhang(font, scale) + 2 * rim, height + 2 * rim)
    if not font.slant and not rim:
        s.rect(0, 0, width, height, font.plate)
    for path in DIGIT_SHAPES[font.shapes][text]:
        points = [(stroke / 2 + px * across, stroke / 2 + py * down) for px, py in path]
        s.line([(rim + x + font.slant * (height - y), rim + y) for x, y in points], font.ink, stroke)
    if rim:
        s.outline(font.rim, font.rim_px)
    return s.sprite()


def _plate(width: int, height: int, font: HudFont) -> Sprite:
    s = Sheet(width, height)
    for inset, color in ((0, (30, 24, 20)), (2, font.plate_rim), (5, font.plate)):
        radius = max(0, min(font.corner, height // 2) - inset)
        a, b = width - inset, height - inset
        s.rect(inset + radius, inset, a - inset - 2 * radius, b - inset, color)
        s.rect(inset, inset + radius, a - inset, b - inset - 2 * radius, color)
        if radius:
            for x in (inset + radius, a - radius):
                for y in (inset + radius, b - radius):
                    s.disc(x, y, radius, radius, color)
    return s.sprite()


def _resized(sprite: Sprite, scale: float) -> Sprite:
    if scale == 1.0:
        return sprite
    size = (round(sprite.size[0] * scale), round(sprite.size[1] * scale))
    ink, keep = (
        np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), np.uint8) for part in sprite
    )
    return Sprite(ink, keep)


def _heart() -> Sprite:
    s = Sheet(64, 60)
    for grow, color in ((1.0, (36, 30, 170)), (0.84, (62, 54, 232))):
        points = [(0, 26), (-25, 2), (-25, -14), (-13, -23), (0, -13), (13, -23), (25, -14), (25, 2)]
        s.blob([(32 + x * grow, 31 + y * grow) for x, y in points], color)
    s.disc(21, 20, 6, 4.4, (190, 186, 255), -35)
    return s.sprite()


def _arrow() -> Sprite:
    s = Sheet(72, 60)
    s.line([(12, 48), (54, 14)], (96, 150, 206), 5)
    s.poly([(68, 3), (62, 24), (47, 6)], (222, 224, 228))
    s.poly([(68, 3), (62, 24), (54, 15)], (150, 152, 158))
    for k in (0, 9):
        s.poly(
            [(10 + k, 50 - k * 0.8), (4 + k, 40 - k * 0.8), (14 + k, 32 - k * 0.8), (20 + k, 42 - k * 0.8)],
            (250, 250, 255),
        )
        s.poly(
            [(10 + k, 50 - k * 0.8), (22 + k, 55 - k * 0.8), (31 + k, 46 - k * 0.8), (20 + k, 42 - k * 0.8)],
            (84, 76, 236),
        )
    return s.sprite()


def _coin(plate: Color) -> Sprite:
    s = Sheet(60, 60)
    s.disc(30, 30, 27, 27, (22, 84, 150))
    s.disc(30, 30, 24.5, 24.5, (92, 206, 255))
    s.disc(31, 31, 21, 21, (52, 176, 242))
    s.disc(22, 19, 7, 4, (214, 246, 255), -40)
    s.rect(21.5, 21.5, 17, 17, (22, 84, 150))
    s.rect(24.5, 24.5, 11, 11, plate)
    return s.sprite()


def _tower() -> Sprite:
    s = Sheet(62, 60)
    stone, dark = (140, 168, 196), (70, 88, 108)
    s.rect(0, 40, 62, 20, stone)
    for x in (0, 12, 46, 58):
        s.rect(x, 33, 6, 8, stone)
    s.poly([(15, 60), (18, 20), (44, 20), (47, 60)], (164, 192, 218))
    for x in (14, 23, 32, 41):
        s.rect(x, 9, 7, 10, (164, 192, 218))
    s.rect(14, 17, 34, 5, (196, 220, 240))
    s.disc(31, 42, 6, 7, dark)
    s.rect(25, 42, 12, 18, dark)
    return s.sprite()


def _metre() -> Sprite:
    s = Sheet(52, 56)
    write(s, "m", 2, 0, 53, (128, 206, 240), 8.0, 0)
    return s.sprite()
