"""Sprites, and the oversized sheet they are drawn on. Pure functions and values; any thread.

Everything is drawn without antialiasing on a sheet `SCALE` times too large and then averaged down,
which antialiases colour and opacity alike and gives the same pixels in every OpenCV version.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from greatwall.contracts import FrameArray

SCALE = 4
Color = tuple[int, int, int]  # BGR
Point = tuple[float, float]


class Sprite(NamedTuple):
    """A picture ready to be laid over a frame: `ink` (h, w, 3) is colour times opacity, `keep`
    (h, w, 3) is 255 minus opacity; both uint8."""

    ink: FrameArray
    keep: FrameArray

    @property
    def size(self) -> tuple[int, int]:
        """Width, height in px."""
        return self.ink.shape[1], self.ink.shape[0]


def blit(frame: FrameArray, sprite: Sprite, x: int, y: int) -> None:
    """Lay `sprite` over `frame` with its upper left corner at x, y; what lies outside is cut off."""
    height, width = sprite.ink.shape[:2]
    x1, y1 = max(x, 0), max(y, 0)
    x2, y2 = min(x + width, frame.shape[1]), min(y + height, frame.shape[0])
    if x1 >= x2 or y1 >= y2:
        return
    part = (slice(y1 - y, y2 - y), slice(x1 - x, x2 - x))
    overlay(frame[y1:y2, x1:x2], sprite.ink[part], sprite.keep[part])


def overlay(target: FrameArray, ink: FrameArray, keep: FrameArray) -> None:
    """Lay `ink` over `target`, a view into a frame of the same shape, in place."""
    cv2.multiply(target, keep, dst=target, scale=1 / 255)
    cv2.add(target, ink, dst=target)


def sprite_of(bgra: FrameArray) -> Sprite:
    """A sprite from premultiplied BGRA."""
    alpha = bgra[..., 3:]
    return Sprite(np.ascontiguousarray(bgra[..., :3]), np.repeat(255 - alpha, 3, axis=2))


def lightened(sprite: Sprite, share: float) -> Sprite:
    """The same sprite with its colours moved towards white; its outline stays."""
    opacity = 255.0 - sprite.keep
    ink = sprite.ink * (1 - share) + opacity * share
    return Sprite(np.rint(ink).astype(np.uint8), sprite.keep)


def mixed(first: Color, second: Color, share: float) -> Color:
    """`share` of the way from the first colour to the second."""
    b, g, r = (round(a + (z - a) * share) for a, z in zip(first, second, strict=True))
    return b, g, r


def smooth(points: Sequence[Point], *, closed: bool = True, steps: int = 10) -> list[Point]:
    """A Catmull-Rom curve through `points`."""
    count = len(points)
    if closed:
        ring = [points[-1], *points, points[0], points[1]]
        spans = count
    else:
        ring = [points[0], *points, points[-1]]
        spans = count - 1
    knots = np.array(ring, np.float64)
    t = np.linspace(0, 1, steps, endpoint=False)[:, None]
    out: list[Point] = []
    for i in range(spans):
        a, b, c, d = knots[i : i + 4]
        curve = 0.5 * (
            2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3
        )
        out.extend((float(x), float(y)) for x, y in curve)
    if not closed:
        out.append(points[-1])
    return out


class Sheet:
    """A transparent sheet of `width` x `height` px to draw on, in px of the finished sprite.

    Later strokes cover earlier ones. `scale` is how much larger it is inside.
    """

    def __init__(self, width: float, height: float, scale: int = SCALE) -> None:
        self.scale = scale
        self.pixels: NDArray[np.uint8] = np.zeros((round(height * scale), round(width * scale), 4), np.uint8)

    def _fixed(self, points: Iterable[Point]) -> NDArray[np.int32]:
        array = np.array(list(points), np.float64) * self.scale * 16
        return np.rint(array - 8).astype(np.int32)

    def poly(self, points: Iterable[Point], color: Color) -> None:
        """A filled polygon."""
        cv2.fillPoly(self.pixels, [self._fixed(points)], (*color, 255), lineType=cv2.LINE_8, shift=4)

    def blob(self, points: Sequence[Point], color: Color) -> None:
        """A filled smooth shape through `points`."""
        self.poly(smooth(points), color)

    def rect(self, x: float, y: float, w: float, h: float, color: Color) -> None:
        self.poly([(x, y), (x + w, y), (x + w, y + h), (x, y + h)], color)

    def disc(
        self, x: float, y: float, radius_x: float, radius_y: float, color: Color, turn: float = 0.0
    ) -> None:
        """A filled ellipse, turned clockwise by `turn` degrees."""
        corners = 12 if max(radius_x, radius_y) < 4 else 24 if max(radius_x, radius_y) < 14 else 64
        angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
        dx, dy = np.cos(angle) * radius_x, np.sin(angle) * radius_y
        c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
        self.poly(zip(x + dx * c - dy * s, y + dx * s + dy * c, strict=True), color)

    def line(self, points: Sequence[Point], color: Color, width: float | Sequence[float]) -> None:
        """A round-ended stroke; `width` may be one for each point, for a tapering stroke."""
        widths = [width] * len(points) if isinstance(width, int | float) else list(width)
        for (x, y), w in zip(points, widths, strict=True):
            self.disc(x, y, w / 2, w / 2, color)
        for i in range(len(points) - 1):
            (x1, y1), (x2, y2) = points[i], points[i + 1]
            length = float(np.hypot(x2 - x1, y2 - y1)) or 1.0
            nx, ny = -(y2 - y1) / length, (x2 - x1) / length
            a, b = widths[i] / 2, widths[i + 1] / 2
            self.poly(
                [
                    (x1 + nx * a, y1 + ny * a),
                    (x2 + nx * b, y2 + ny * b),
                    (x2 - nx * b, y2 - ny * b),
                    (x1 - nx * a, y1 - ny * a),
                ],
                color,
            )

    def curve(self, points: Sequence[Point], color: Color, width: float | Sequence[float]) -> None:
        """A smooth round-ended stroke through `points`."""
        steps = 8
        path = smooth(points, closed=False, steps=steps)
        if isinstance(width, int | float):
            self.line(path, color, width)
            return
        at = np.linspace(0, len(points) - 1, len(path))
        self.line(path, color, [float(w) for w in np.interp(at, np.arange(len(points)), list(width))])

    def outline(self, color: Color, width: float) -> None:
        """Put a rim of `width` px round everything drawn so far."""
        size = 2 * round(width * self.scale) + 1
        brush = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
        solid = np.ascontiguousarray(self.pixels[..., 3])
        rim = (cv2.dilate(solid, brush) > 0) & (solid == 0)
        self.pixels[rim] = (*color, 255)

    def sprite(self) -> Sprite:
        """What has been drawn, averaged down to the sheet's own size."""
        height, width = self.pixels.shape[:2]
        size = (width // self.scale, height // self.scale)
        return sprite_of(_averaged(self.pixels, size))

    def fitted(self, width: int, height: int) -> Sprite:
        """What has been drawn, cut out tightly and brought to exactly `width` x `height` px."""
        x, y, w, h = cv2.boundingRect(np.ascontiguousarray(self.pixels[..., 3]))
        part = np.ascontiguousarray(self.pixels[y : y + h, x : x + w])
        return sprite_of(_averaged(part, (width, height)))


def _averaged(pixels: FrameArray, size: tuple[int, int]) -> FrameArray:
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
