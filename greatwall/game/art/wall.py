"""The wall that is ridden on: its face, its far battlements and towers, and the valley in its gaps.

Made once from fixed seeds, read by any thread. The scanned row of the face shows the two colours of
the profile and nothing else; above it light and weather may do what they like.
"""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import numpy as np

from greatwall.contracts import FrameArray
from greatwall.game.art.canvas import Color, Sheet, Sprite, blit, overlay
from greatwall.game.art.scenery import PERIOD, WIDTH, Floats, Strip, cloudy, colored, strip, waves

BRICK_W, COURSE_H, JOINT = 48, 24, 2  # px
PAVING = 20  # px of walkway above the face
MERLON_W, MERLON_PITCH = 52, 80
TOWER_STEP = 7 * PERIOD // 8  # px between watchtowers
RIM, RIM_TONE = 5, 5  # px and levels: the darker edge of a gap, within the ground's tolerance


class Span(NamedTuple):
    """Columns of the frame, `x1` inclusive, `x2` exclusive."""

    x1: int
    x2: int


def make_face(ground_y: int, bottom: int, scanned: int, colors: tuple[Color, ...]) -> FrameArray:
    """The wall from its walkway to the frame's lower edge: (bottom - ground_y, PERIOD + WIDTH, 3)."""
    rng = np.random.default_rng(71)
    brick, mortar = np.array(colors[0], np.float64), np.array(colors[1], np.float64)
    height = bottom - ground_y
    first = (scanned - ground_y + COURSE_H // 2) % COURSE_H  # the scanned row is mid-brick
    image = np.empty((height, PERIOD, 3))
    y = np.arange(height)[:, None]
    course = (y - first) // COURSE_H + 2
    x = np.arange(PERIOD)[None, :] + (course % 2) * (BRICK_W // 2)
    number = (x // BRICK_W) % (PERIOD // BRICK_W)
    tones = rng.uniform(-1, 1, (height // COURSE_H + 4, PERIOD // BRICK_W))
    calm = np.clip(np.abs(y - (scanned - ground_y)) / 44, 0, 1) ** 1.5  # 0 at the scanned row
    tone = tones[course, number] * 9
    across, down = x % BRICK_W, (y - first) % COURSE_H
    tone[(across == JOINT) | ((down == JOINT) & (across >= JOINT))] += 9  # lit edges
    tone[(across == BRICK_W - 1) | ((down == COURSE_H - 1) & (across >= JOINT))] -= 7
    image[:] = brick + (tone * (0.5 + 0.5 * calm))[..., None]
    joint = (across < JOINT) | (down < JOINT)
    image[joint] = mortar

    grain = (cloudy(rng, height, 5, 4) - 0.5) * 10
    stain = (cloudy(rng, height, 96, 64) - 0.5) * 56
    light = 26 - 44 * y / height
    image += (grain * (0.45 + 0.55 * calm) + (stain + light) * calm)[..., None]
    moss = np.clip(cloudy(rng, height, 80, 24) * 2.6 - 1.75, 0, 1) * calm * 0.55
    image += moss[..., None] * (np.array((62.0, 104, 88)) - image)

    _pave(image, rng)
    _drains(image, np.array((44.0, 54, 66)))
    whole = np.rint(np.clip(image, 0, 255)).astype(np.uint8)
    return np.ascontiguousarray(np.concatenate([whole, whole[:, :WIDTH]], axis=1))


def _pave(image: Floats, rng: np.random.Generator) -> None:
    """The walkway's slabs, its kerb, and the shadow under the kerb."""
    slab = 64
    tones = rng.uniform(-12, 12, PERIOD // slab)
    columns = np.arange(PERIOD)
    base = np.array((142.0, 164, 184)) + tones[columns // slab, None]
    speck = (cloudy(rng, PAVING, 6, 4) - 0.5)[..., None] * 18
    image[:PAVING] = base + speck
    image[:3] += 26
    image[3:PAVING, columns % slab < 2] -= 44
    image[PAVING - 7 : PAVING] -= 22
    image[PAVING - 7] -= 40
    image[PAVING : PAVING + 9] *= np.linspace(0.55, 0.95, 9)[:, None, None]


def _drains(image: Floats, dark: Floats) -> None:
    """Stone spouts, and the damp below them."""
    for x in range(200, PERIOD, 640):
        image[44:60, x : x + 30] = np.array((130.0, 150, 168))
        image[56:60, x : x + 30] -= 40
        image[47:56, x + 6 : x + 24] = dark
        image[60:120, x + 8 : x + 22] *= np.linspace(0.72, 1.0, 60)[:, None, None]


def make_valley(ground_y: int, bottom: int) -> Strip:
    """What a gap shows: far ridges down in the mist, darkening to the lower edge."""
    rng = np.random.default_rng(83)
    height = bottom - ground_y
    y = np.arange(height)[:, None] / height
    color = colored(np.clip(y * 1.35, 0, 1) * np.ones((1, PERIOD)), (111, 131, 116), (62, 46, 30))
    rows = np.arange(height)[:, None]
    for level, tone in ((52, (106, 114, 98)), (92, (82, 82, 64)), (132, (60, 52, 36))):
        line = level + 14 * waves(rng, 4, 30, 0.9)
        cover = (
            np.clip(rows - line[None, :], 0, 1)[..., None]
            * np.clip(1 - (rows - level) / 110, 0, 1)[..., None]
        )
        color += cover * (np.array(tone) - color)
    depth = np.clip(1 - y * 1.3, 0, 1) * np.clip(rows / 40, 0, 1)
    mist = np.clip(cloudy(rng, height, 120, 20) * 1.5 - 0.6, 0, 1) * depth * 0.5
    color += mist[..., None] * (np.array((176.0, 184, 176)) - color)
    return strip(color, np.ones((height, PERIOD)), ground_y, 0.45)


def make_parapet(ground_y: int) -> Strip:
    """The battlements on the far side of the walkway."""
    rng = np.random.default_rng(97)
    top, sill, foot = ground_y - 96, ground_y - 58, ground_y
    height = foot - top
    y = np.arange(height)[:, None]
    columns = np.arange(PERIOD)[None, :]
    inside = columns % MERLON_PITCH < MERLON_W
    cover = np.where(inside | (y >= sill - top), 1.0, 0.0)
    course = y // 16
    x = columns + (course % 2) * 20
    tones = rng.uniform(-1, 1, (height // 16 + 1, PERIOD // 40))
    color = np.array((118.0, 138, 158)) + (tones[course, (x // 40) % (PERIOD // 40)] * 9)[..., None]
    color[((x % 40) < 2) | ((y % 16) < 2)] -= 22
    color += ((cloudy(rng, height, 6, 5) - 0.5) * 14 + 10 - 30 * y / height)[..., None]
    across = columns % MERLON_PITCH
    cap = (y < 7) & inside | (y >= sill - top) & (y < sill - top + 6) & ~inside
    color[cap] = np.array((150.0, 170, 188))
    color[(y >= 7) & (y < 10) & inside] -= 26
    color[(y > 12) & (across >= MERLON_W - 5) & (across < MERLON_W) & (y < sill - top)] -= 18
    hole = (np.abs(across - MERLON_W / 2 + 0.5) < 5) & (y > 26) & (y < 44)
    color[hole] = np.array((62.0, 74, 86))
    color[height - 10 :] *= np.linspace(0.95, 0.68, 10)[:, None, None]
    return strip(color, cover, top, 1.0)


def make_tower() -> Sprite:
    """A watchtower that stands on the far side of the walkway."""
    width, height = 330, 330
    s = Sheet(width, height, 3)
    dark, face, lit, line = (66, 78, 92), (112, 132, 152), (140, 160, 178), (86, 104, 122)
    s.poly([(34, 330), (44, 96), (286, 96), (296, 330)], face)
    for row in range(13):
        y = 100 + row * 18
        s.rect(42 - (y - 96) * 0.043, y, 246 + (y - 96) * 0.086, 2, line)
        for k in range(8):
            s.rect(50 + k * 32 + (row % 2) * 16, y, 2, 18, line)
    s.poly([(266, 98), (286, 98), (296, 330), (274, 330)], (92, 110, 128))
    s.rect(26, 82, 278, 20, lit)
    s.rect(26, 98, 278, 5, line)
    for k in range(6):
        s.rect(26 + k * 48.6, 46, 35, 38, face)
        s.rect(26 + k * 48.6, 46, 35, 6, lit)
        s.rect(55 + k * 48.6, 52, 6, 30, line)
        s.rect(40 + k * 48.6, 62, 7, 14, dark)
    for x in (78, 150, 222):
        s.disc(x + 15, 146, 15, 16, lit)
        s.rect(x, 146, 30, 40, lit)
        s.disc(x + 15, 148, 11, 12, dark)
        s.rect(x + 4, 148, 22, 38, dark)
    s.disc(165, 262, 32, 34, lit)
    s.rect(133, 262, 64, 70, lit)
    s.disc(165, 264, 26, 28, dark)
    s.rect(139, 264, 52, 70, dark)
    s.line([(282, 48), (282, 4)], (50, 62, 80), 4)
    s.poly([(282, 6), (326, 16), (312, 24), (326, 34), (282, 40)], (48, 40, 186))
    sprite = s.sprite()
    fade = np.ones((height, 1, 1))
    fade[-70:] = np.linspace(1, 0, 70)[:, None, None]  # its foot stands in the valley's mist
    ink, opacity = sprite.ink * fade, (255 - sprite.keep) * fade
    return Sprite(np.rint(ink).astype(np.uint8), 255 - np.rint(opacity).astype(np.uint8))


def make_ends(height: int) -> tuple[Sprite, Sprite]:
    """How the battlements crumble towards a gap on their right and on their left."""
    s = Sheet(46, height)
    s.poly(
        [
            (0, 20),
            (9, 26),
            (13, 44),
            (22, 46),
            (26, 62),
            (35, 66),
            (38, 82),
            (46, 88),
            (46, height),
            (0, height),
        ],
        (112, 132, 152),
    )
    s.poly(
        [
            (0, 20),
            (9, 26),
            (13, 44),
            (22, 46),
            (26, 62),
            (35, 66),
            (38, 82),
            (46, 88),
            (46, 92),
            (36, 88),
            (31, 70),
            (22, 68),
            (18, 52),
            (8, 50),
            (4, 32),
            (0, 28),
        ],
        (150, 170, 188),
    )
    for x, y in ((4, 58), (12, 70), (2, 78), (24, 80)):
        s.rect(x, y, 16, 2, (84, 102, 120))
    right = s.sprite()
    return right, Sprite(np.ascontiguousarray(right.ink[:, ::-1]), np.ascontiguousarray(right.keep[:, ::-1]))


class Wall:
    """The parts of the wall put together, gaps left out."""

    def __init__(self, ground_y: int, bottom: int, scanned: int, colors: tuple[Color, ...]) -> None:
        self.ground_y = ground_y
        self.bottom = bottom
        self.face = make_face(ground_y, bottom, scanned, colors)
        self.valley = make_valley(ground_y, bottom)
        self.parapet = make_parapet(ground_y)
        self.tower = make_tower()
        self.ends = make_ends(ground_y - self.parapet.top)

    def with_art(
        self,
        face: FrameArray,
        valley: Strip,
        parapet: Strip,
        tower: Sprite,
        ends: tuple[Sprite, Sprite],
    ) -> Wall:
        """The same wall with other pictures of the same sizes."""
        wall = copy.copy(self)
        wall.face, wall.valley, wall.parapet, wall.tower, wall.ends = face, valley, parapet, tower, ends
        return wall

    def paint(self, frame: FrameArray, world_x: float, gaps: list[Span]) -> None:
        """Draw everything of the wall at `world_x`. `gaps` are left to right and may lie outside the
        frame: their crumbled ends show before they do."""
        x = math.floor(world_x)
        height = self.tower.size[1]
        number = x // TOWER_STEP
        for k in range(number - 1, number + 2):
            blit(frame, self.tower, k * TOWER_STEP + 1200 - x, self.ground_y - height)
        if gaps:
            self.valley.paint(frame, world_x)
        shift = x % PERIOD
        for span in _between(gaps, 0):
            part = self.face[:, shift + span.x1 : shift + span.x2]
            frame[self.ground_y : self.bottom, span.x1 : span.x2] = part
        self._paint_parapet(frame, shift, gaps)
        for gap in gaps:
            self._paint_edges(frame, gap)

    def _paint_parapet(self, frame: FrameArray, shift: int, gaps: list[Span]) -> None:
        layer = self.parapet
        rows = layer.solid - layer.top
        for span in _between(gaps, self.ends[0].size[0]):
            columns = slice(shift + span.x1, shift + span.x2)
            upper = frame[layer.top : layer.solid, span.x1 : span.x2]
            overlay(upper, layer.pixels[:rows, columns], layer.keep[:, columns])
            frame[layer.solid : layer.bottom, span.x1 : span.x2] = layer.pixels[rows:, columns]

    def _paint_edges(self, frame: FrameArray, gap: Span) -> None:
        """The broken battlements, and a darker rim on the wall's side of each edge."""
        right, left = self.ends
        blit(frame, right, gap.x1 - right.size[0], self.parapet.top)
        blit(frame, left, gap.x2, self.parapet.top)
        rows = slice(self.ground_y, self.bottom)
        if gap.x1 > 0:
            rim = frame[rows, max(gap.x1 - RIM, 0) : gap.x1]
            np.subtract(rim, np.minimum(rim, RIM_TONE), out=rim)
        if gap.x2 + RIM > 0 and gap.x2 < WIDTH:
            rim = frame[rows, max(gap.x2, 0) : gap.x2 + RIM]
            np.subtract(rim, np.minimum(rim, RIM_TONE), out=rim)


def _between(gaps: list[Span], margin: int) -> list[Span]:
    """The columns of the frame that are farther than `margin` from every gap."""
    solid, x = [], 0
    for gap in gaps:
        if gap.x1 - margin > x:
            solid.append(Span(x, min(gap.x1 - margin, WIDTH)))
        x = max(x, gap.x2 + margin)
    if x < WIDTH:
        solid.append(Span(x, WIDTH))
    return [span for span in solid if span.x1 < span.x2]
