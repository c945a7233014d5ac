"""Colour changes: hue, saturation, light, mist, brightness and contrast as one affine map of BGR.

Pure values, needed by truth and drawing alike; no pixels here and no OpenCV.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Color = tuple[int, int, int]  # BGR
Rates = tuple[float, float, float]  # one for each of B, G, R
LUMA = (0.114, 0.587, 0.299)  # BGR, Rec. 601
MIDDLE = 128.0  # contrast turns about this level
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Tint:
    """A palette's change of one part of the picture."""

    hue: float = 0.0  # degrees round the colour circle
    saturation: float = 1.0


@dataclass(frozen=True)
class Grade:
    """BGR -> rows @ (b, g, r, 1), rounded and cut to 0..255. The default changes nothing."""

    rows: tuple[tuple[float, float, float, float], ...] = (
        (1.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0),
        (0.0, 0.0, 1.0, 0.0),
    )

    @property
    def changes_nothing(self) -> bool:
        return self == SAME

    def then(self, other: Grade) -> Grade:
        """This one first, `other` on what it gives."""
        if self.changes_nothing:
            return other
        if other.changes_nothing:
            return self
        product = _square(other) @ _square(self)
        return Grade(tuple(tuple(float(v) for v in row) for row in product[:3]))  # type: ignore[misc]

    def color(self, color: Color) -> Color:
        """What becomes of one colour."""
        levels = np.array(self.rows) @ np.array((*color, 1.0))
        b, g, r = (int(v) for v in np.rint(np.clip(levels, 0, 255)))
        return b, g, r


SAME = Grade()


def _square(grade: Grade) -> Matrix:
    return np.vstack([np.array(grade.rows), (0.0, 0.0, 0.0, 1.0)])


def _grade(matrix: Matrix, offset: Matrix) -> Grade:
    rows = np.hstack([matrix, offset.reshape(3, 1)])
    return Grade(tuple(tuple(float(v) for v in row) for row in rows))  # type: ignore[misc]


def tinted(tint: Tint) -> Grade:
    """Hue turned about the grey axis, then colours moved from or towards their own grey."""
    if tint == Tint():
        return SAME
    angle = math.radians(tint.hue)
    c, s = math.cos(angle), math.sin(angle)
    third = (1 - c) / 3
    side = s / math.sqrt(3)
    turn = np.array(
        [
            [c + third, third + side, third - side],
            [third - side, c + third, third + side],
            [third + side, third - side, c + third],
        ]
    )
    grey = np.tile(np.array(LUMA), (3, 1))
    mix = tint.saturation * np.eye(3) + (1 - tint.saturation) * grey
    return _grade(mix @ turn, np.zeros(3))


def lit(rates: Rates, lift: Rates = (0.0, 0.0, 0.0)) -> Grade:
    """Each channel times its rate plus its lift: the colour of the light."""
    if rates == (1.0, 1.0, 1.0) and lift == (0.0, 0.0, 0.0):
        return SAME
    return _grade(np.diag(rates), np.array(lift))


def veiled(color: Color, share: float) -> Grade:
    """`share` of the way to `color`: mist, dust."""
    if share == 0.0:
        return SAME
    return _grade((1 - share) * np.eye(3), share * np.array(color, np.float64))


def screened(brightness: float, contrast: float) -> Grade:
    """The screen's own: contrast about the middle level, then `brightness` levels more."""
    if brightness == 0.0 and contrast == 1.0:
        return SAME
    offset = MIDDLE * (1 - contrast) + brightness
    return _grade(contrast * np.eye(3), np.full(3, offset))
