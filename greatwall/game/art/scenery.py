"""Sky, clouds, mountains and hills: strips that repeat without a seam and move at different speeds.

Made once from fixed seeds, read by any thread. A strip is `PERIOD` px long and is kept one frame
width longer, so that any part of it is one slice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from greatwall.contracts import FrameArray
from greatwall.game.art.canvas import Color, overlay
from greatwall.game.atmosphere import Sky

PERIOD = 3840  # px; a whole number of bricks, battlements and wave lengths
WIDTH = 1920
Floats = NDArray[np.float64]

MIST: Color = (208, 210, 206)


class Strip(NamedTuple):
    """One layer. Rows from `top` to `solid` are laid over what is there, rows from `solid` to
    `bottom` replace it; `speed` is its share of the world's movement."""

    pixels: FrameArray  # (bottom - top, PERIOD + WIDTH, 3); premultiplied in the upper part
    keep: FrameArray  # (solid - top, PERIOD + WIDTH, 3)
    top: int
    solid: int
    bottom: int
    speed: float

    def paint(self, frame: FrameArray, world_x: float) -> None:
        """Lay the layer over the whole width of `frame`, where it stands at `world_x`."""
        x = math.floor(world_x * self.speed) % PERIOD
        rows = self.solid - self.top
        columns = slice(x, x + WIDTH)
        if rows:
            overlay(frame[self.top : self.solid], self.pixels[:rows, columns], self.keep[:, columns])
        if self.bottom > self.solid:
            frame[self.solid : self.bottom] = self.pixels[rows:, columns]


def waves(rng: np.random.Generator, lowest: int, highest: int, fall: float) -> Floats:
    """A random periodic curve of `PERIOD` samples in about -1..1; `fall` makes fine waves weaker."""
    x = np.arange(PERIOD) * (2 * np.pi / PERIOD)
    total = np.zeros(PERIOD)
    for k in range(lowest, highest + 1):
        total += rng.normal() * np.cos(k * x + rng.uniform(0, 2 * np.pi)) / (k / lowest) ** fall
    return np.asarray(total / np.abs(total).max())


def peaks(rng: np.random.Generator, lowest: int, highest: int, fall: float) -> Floats:
    """Like `waves`, with sharp summits and rounded valleys, in about 0..1."""
    x = np.arange(PERIOD) * (np.pi / PERIOD)
    total = np.zeros(PERIOD)
    for k in range(lowest, highest + 1):
        total += (
            abs(rng.normal()) * (1 - np.abs(np.sin(k * x + rng.uniform(0, np.pi)))) / (k / lowest) ** fall
        )
    total -= total.min()
    return np.asarray(total / total.max())


def cloudy(rng: np.random.Generator, height: int, cell_x: int, cell_y: int) -> Floats:
    """Soft periodic noise (height, PERIOD) in 0..1 whose patches are about cell_x by cell_y px."""
    columns, rows = PERIOD // cell_x, height // cell_y + 3
    small = rng.random((rows, columns)).astype(np.float32)
    wide = np.concatenate([small, small, small], axis=1)
    large = cv2.resize(wide, (3 * PERIOD, rows * cell_y), interpolation=cv2.INTER_CUBIC)
    return np.clip(large[cell_y : cell_y + height, PERIOD : 2 * PERIOD], 0, 1).astype(np.float64)


def colored(share: Floats, first: Color, second: Color) -> Floats:
    """(h, w, 3): `first` where `share` is 0, `second` where it is 1."""
    start, end = np.array(first, np.float64), np.array(second, np.float64)
    return np.asarray(start + share[..., None] * (end - start))


def strip(color: Floats, cover: Floats, top: int, speed: float) -> Strip:
    """A layer from colour (h, PERIOD, 3) and opacity (h, PERIOD) in 0..1, its first row at `top`."""
    height = color.shape[0]
    full = np.flatnonzero(cover.min(axis=1) < 1.0)
    rows = int(full[-1]) + 1 if full.size else 0
    shown = color.copy()
    shown[:rows] *= cover[:rows, :, None]
    keep = np.repeat(np.rint(255 * (1 - cover[:rows]))[..., None], 3, axis=2).astype(np.uint8)
    pixels = np.rint(np.clip(shown, 0, 255)).astype(np.uint8)

    def longer(part: FrameArray) -> FrameArray:
        return np.ascontiguousarray(np.concatenate([part, part[:, :WIDTH]], axis=1))

    return Strip(longer(pixels), longer(keep), top, top + rows, top + height, speed)


def below(line: Floats, top: int, height: int) -> Floats:
    """Opacity (height, PERIOD) of everything under the curve `line` (row of each column)."""
    rows = np.arange(top, top + height)[:, None] + 0.5
    return np.clip(rows - line[None, :] + 0.5, 0, 1)


def make_sky(height: int, sky: Sky) -> FrameArray:
    """The sky that stands still: (height, WIDTH, 3), the sun in its haze included."""
    share = (np.arange(height) / height)[:, None] ** 1.25 * np.ones((1, WIDTH))
    color = colored(share, sky.top, sky.low)
    y, x = np.mgrid[0:height, 0:WIDTH].astype(np.float64)
    if sky.stars:
        _put_stars(color, sky.stars)
    if sky.curtain is not None:
        _hang_curtain(color, sky.curtain)
    far = np.hypot(x - sky.sun[0], y - sky.sun[1])
    glow = np.exp(-((far / sky.glow_px) ** 1.1))[..., None]
    color += glow * (np.array(sky.glow, np.float64) - color) * sky.glow_share
    disc = np.clip(sky.radius - far, 0, 1)[..., None]
    color += disc * (np.array(sky.disc, np.float64) - color)
    return np.rint(color).astype(np.uint8)


def _put_stars(color: Floats, count: int) -> None:
    rng = np.random.default_rng(17)
    height = color.shape[0]
    for _ in range(count):
        x, y = int(rng.uniform(2, WIDTH - 2)), int(rng.uniform(0, 0.7 * height))
        size, bright = int(rng.integers(1, 3)), rng.uniform(0.25, 0.9) * (1 - y / height)
        color[y : y + size, x : x + size] += bright * (np.array((255.0, 246, 236)) - color[y, x])


def _hang_curtain(color: Floats, light: Color) -> None:
    """Northern lights: bright lower hems that fade upwards."""
    rng = np.random.default_rng(19)
    rows = np.arange(color.shape[0])[:, None]
    for level, strength in ((250, 0.75), (340, 0.5)):
        hem = level + 60 * waves(rng, 2, 9, 1.2)[:WIDTH]
        up = hem[None, :] - rows
        rays = 0.6 + 0.4 * waves(rng, 20, 90, 0.3)[:WIDTH]
        shine = np.where(up > 0, np.exp(-up / 110), np.exp(up / 14)) * rays * strength
        color += np.clip(shine, 0, 1)[..., None] * (np.array(light, np.float64) - color)


def make_clouds(top: int, height: int) -> Strip:
    """Long thin clouds, slow."""
    rng = np.random.default_rng(11)
    cover = np.zeros((height, PERIOD))
    rows = np.arange(height)[:, None] + 0.5
    columns = np.arange(PERIOD)[None, :]
    for _ in range(16):
        x, y = rng.uniform(0, PERIOD), rng.uniform(50, height - 30)
        length = rng.uniform(160, 420)
        for _ in range(7):
            dx, dy = rng.normal() * length * 0.35, rng.normal() * 7
            rx, ry = length * rng.uniform(0.25, 0.5), rng.uniform(9, 24)
            along = (columns - x - dx + PERIOD / 2) % PERIOD - PERIOD / 2
            up = rows - y - dy
            puff = 1 - (along / rx) ** 2 - (up / np.where(up > 0, ry * 0.45, ry)) ** 2
            cover = np.maximum(cover, np.clip(puff * 1.6, 0, 1) * 0.8)
    cover *= 0.75 + 0.25 * cloudy(rng, height, 96, 12)
    edge = np.minimum(1, np.minimum(rows, height - rows) / 20)
    light = np.clip(1 - rows / height, 0, 1) * np.ones((1, PERIOD))
    return strip(colored(light, (206, 226, 246), (244, 246, 250)), np.minimum(cover * edge, 0.99), top, 0.02)


def make_range(
    seed: int,
    *,
    top: int,
    rise: int,
    bottom: int,
    lowest: int,
    dark: Color,
    lit: Color,
    haze: Color,
    speed: float,
    depth: float,
) -> Strip:
    """A mountain range: the ridge runs between rows `top` and `top + rise`, fading into `haze` after
    `depth` px, with a lit and a dark side to every summit."""
    rng = np.random.default_rng(seed)
    line = (
        top
        + 3
        + rise
        * (
            1
            - (0.8 * peaks(rng, lowest, lowest * 6, 1.1) + 0.2 * (waves(rng, lowest, lowest * 3, 1) + 1) / 2)
        )
    )
    line += 2.2 * waves(rng, 60, 200, 0.4)
    height = bottom - top
    under = np.arange(top, bottom)[:, None] - line[None, :]
    thrice = np.tile(line, 3)[None, :].astype(np.float32)
    even = cv2.GaussianBlur(thrice, (0, 0), 7)[0, PERIOD - 1 : 2 * PERIOD + 1]
    slope = (even[2:] - even[:-2]) / 2
    side = np.tanh(slope * 2.2)
    columns = np.arange(PERIOD)[None, :]
    crag = 40 * (cloudy(rng, height, 48, 32) - 0.5)
    facet = side[(columns + np.clip(under, 0, None) * 0.55 + crag).astype(np.int64) % PERIOD]
    tone = 0.5 + 0.38 * facet + 0.5 * (cloudy(rng, height, 24, 40) - 0.5)
    color = colored(np.clip(tone, 0, 1), dark, lit)
    fade = np.clip(under / depth, 0, 1) ** 1.3
    color += fade[..., None] * (np.array(haze) - color)
    return strip(color, below(line, top, height), top, speed)


def make_hills(top: int, rise: int, bottom: int, speed: float) -> Strip:
    """Wooded hills with a second Great Wall winding over them, its towers on the summits."""
    rng = np.random.default_rng(37)
    line = top + 70 + (rise - 70) * (0.5 - 0.5 * waves(rng, 3, 9, 1.4))
    height = bottom - top
    under = np.arange(top, bottom)[:, None] - line[None, :]
    tone = cloudy(rng, height, 32, 16) * 0.6 + cloudy(rng, height, 12, 8) * 0.4
    color = colored(np.clip(tone, 0, 1), (70, 84, 62), (96, 124, 100))
    fade = np.clip(under / 190, 0, 1)
    color += fade[..., None] * (np.array((170, 182, 172)) - color) * 0.9
    cover = below(line, top, height)

    columns = np.arange(PERIOD)
    crest = line - 15 - 4.5 * ((columns // 6) % 2)
    towers = [int(x) for x in (310, 940, 1500, 2210, 2790, 3420)]
    for x in towers:
        around = slice(x - 24, x + 24)
        level = line[around].min() - 46
        crest[around] = level - 6 * ((np.arange(48) // 8) % 2)
    wall = np.minimum(below(crest, top, height), 1 - below(line + 5, top, height))
    stone = colored(
        np.clip(
            0.25 + 0.5 * cloudy(rng, height, 16, 6) + 0.02 * (line - 15 - np.arange(top, bottom)[:, None]),
            0,
            1,
        ),
        (112, 130, 146),
        (150, 172, 190),
    )
    shadow = np.clip((np.arange(top, bottom)[:, None] - (line - 4)) / 8, 0, 1)[..., None]
    stone *= 1 - 0.25 * shadow
    color = np.where(wall[..., None] > 0, stone, color)
    cover = np.maximum(cover, wall)
    for x in towers:
        level = int(line[x - 24 : x + 24].min() - 46) - top
        color[level + 14 : level + 26, x - 13 : x - 6] = color[level + 14 : level + 26, x + 6 : x + 13] = (
            60,
            66,
            74,
        )
        color[level + 8 : level + 10, x - 24 : x + 24] *= 0.8
    return strip(color, cover, top, speed)


def make_woods(top: int, rise: int, bottom: int, speed: float) -> Strip:
    """The nearest hills: pines in two rows, dark against the mist."""
    rng = np.random.default_rng(53)
    line = top + 62 + (rise - 62) * (0.5 - 0.5 * waves(rng, 4, 12, 1.2))
    height = bottom - top
    factor = 2
    canvas = np.zeros((height * factor, PERIOD * factor), np.uint8)
    tones = np.zeros((height * factor, PERIOD * factor), np.uint8)
    for x in np.sort(rng.uniform(0, PERIOD, 330)):
        tall = rng.uniform(26, 64)
        wide = tall * rng.uniform(0.2, 0.3)
        foot = line[int(x) % PERIOD] - top + 6
        tone = int(rng.uniform(60, 220))
        for shift in (-PERIOD, 0, PERIOD):
            if -60 < x + shift < PERIOD + 60:
                for step in range(4):
                    y1, y2 = foot - tall + step * tall * 0.2, foot - tall * 0.62 + step * tall * 0.22
                    half = wide * (0.4 + 0.2 * step)
                    points = (
                        np.array([(x + shift, y1), (x + shift + half, y2), (x + shift - half, y2)]) * factor
                    )
                    cv2.fillPoly(canvas, [np.rint(points).astype(np.int32)], 255)
                    cv2.fillPoly(tones, [np.rint(points).astype(np.int32)], tone)
    trees = cv2.resize(canvas, (PERIOD, height), interpolation=cv2.INTER_AREA) / 255.0
    shade = cv2.resize(tones, (PERIOD, height), interpolation=cv2.INTER_AREA) / 255.0
    under = np.arange(top, bottom)[:, None] - line[None, :]
    ground = 0.25 * cloudy(rng, height, 32, 12) + 0.45 * cloudy(rng, height, 8, 6)
    share = np.where(trees > 0, shade * 0.7, ground)
    color = colored(np.clip(share, 0, 1), (44, 58, 44), (72, 104, 80))
    fade = np.clip(under / 120, 0, 1)
    color += fade[..., None] * (np.array((128, 146, 134)) - color) * 0.75
    return strip(color, np.maximum(below(line, top, height), trees), top, speed)
