"""The HUD: two dark plates with icons and large pale digits. Made once, read by any thread.

The digits stand inside the boxes of the profile with at least `MARGIN` px around them, and the
plates are opaque, so that they look the same over any scenery.
"""

from __future__ import annotations

from config import GameProfile
from greatwall.contracts import FrameArray
from greatwall.game.art.canvas import Color, Sheet, Sprite, blit
from greatwall.game.art.glyphs import write
from greatwall.game.view import View

MARGIN = 10  # px between a box's side and the digits
DIGIT_W, DIGIT_H, DIGIT_STROKE, DIGIT_GAP = 30, 50, 9.0, 7
PLATE: Color = (44, 34, 28)
RIM: Color = (92, 160, 206)
DIGIT: Color = (244, 250, 252)
PLATE_Y, PLATE_HEIGHT = 22, 100


class HudArt:
    """Everything the HUD is put together from."""

    def __init__(self, profile: GameProfile) -> None:
        self.boxes = {name: field.box for name, field in profile.hud}
        self.digits = [_digit(str(value)) for value in range(10)]
        left = (self.boxes["lives"][0] - 104, _right(self.boxes["coins"]) + 18)
        right = (self.boxes["distance"][0] - 104, _right(self.boxes["distance"]) + 92)
        self._plates = [(x1, _plate(x2 - x1)) for x1, x2 in (left, right)]
        self._icons = [
            (_heart(), self.boxes["lives"][0] - 76),
            (_arrow(), self.boxes["arrows"][0] - 84),
            (_coin(), self.boxes["coins"][0] - 76),
            (_tower(), self.boxes["distance"][0] - 80),
            (_metre(), _right(self.boxes["distance"]) + 12),
        ]

    def paint(self, frame: FrameArray, view: View) -> None:
        """Lay plates, icons and the four values over `frame`."""
        for x, plate in self._plates:
            blit(frame, plate, x, PLATE_Y)
        for icon, x in self._icons:
            blit(frame, icon, x, PLATE_Y + (PLATE_HEIGHT - icon.size[1]) // 2)
        for name in ("lives", "arrows", "coins"):
            self._number(frame, name, getattr(view, name), at_right=False)
        self._number(frame, "distance", view.distance_m, at_right=True)

    def _number(self, frame: FrameArray, name: str, value: int, *, at_right: bool) -> None:
        x, y, w, h = self.boxes[name]
        text = str(value)
        wide = len(text) * (DIGIT_W + DIGIT_GAP) - DIGIT_GAP
        left = x + w - MARGIN - wide if at_right else x + MARGIN
        top = y + (h - DIGIT_H) // 2
        for c in text:
            frame[top : top + DIGIT_H, left : left + DIGIT_W] = self.digits[int(c)]
            left += DIGIT_W + DIGIT_GAP


def _right(box: tuple[int, int, int, int]) -> int:
    return box[0] + box[2]


def _digit(text: str) -> FrameArray:
    """One digit on the plate's colour, (DIGIT_H, DIGIT_W, 3)."""
    s = Sheet(DIGIT_W, DIGIT_H)
    s.rect(0, 0, DIGIT_W, DIGIT_H, PLATE)
    write(s, text, 0, 0, DIGIT_H, DIGIT, DIGIT_STROKE, 0)
    return s.sprite().ink


def _plate(width: int) -> Sprite:
    s = Sheet(width, PLATE_HEIGHT)
    for inset, color in ((0, (30, 24, 20)), (2, RIM), (5, PLATE)):
        radius = 24 - inset
        a, b = width - inset, PLATE_HEIGHT - inset
        s.rect(inset + radius, inset, a - inset - 2 * radius, b - inset, color)
        s.rect(inset, inset + radius, a - inset, b - inset - 2 * radius, color)
        for x in (inset + radius, a - radius):
            for y in (inset + radius, b - radius):
                s.disc(x, y, radius, radius, color)
    return s.sprite()


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


def _coin() -> Sprite:
    s = Sheet(60, 60)
    s.disc(30, 30, 27, 27, (22, 84, 150))
    s.disc(30, 30, 24.5, 24.5, (92, 206, 255))
    s.disc(31, 31, 21, 21, (52, 176, 242))
    s.disc(22, 19, 7, 4, (214, 246, 255), -40)
    s.rect(21.5, 21.5, 17, 17, (22, 84, 150))
    s.rect(24.5, 24.5, 11, 11, PLATE)
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
