"""What falls, flies and drifts in front of the world: rain, snow, leaves, dust, sparks, mist.

Made once from a seed, read by any thread. Where everything is follows from the tick and the place
alone, so that equal views stay equal pixels.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from greatwall.contracts import FrameArray
from greatwall.game.art.canvas import Color, Sheet, Sprite, blit, mixed
from greatwall.game.art.graded import graded_sprite, graded_strip
from greatwall.game.art.scenery import PERIOD, WIDTH, Strip, cloudy, colored, strip
from greatwall.game.atmosphere import Swarm, Weather
from greatwall.game.grades import Grade

HEIGHT = 1080
MARGIN = 80  # px outside the frame in which particles come and go
KINDS = 12  # pictures of each swarm
TURNS = 8  # of a leaf
PULSES = 6  # of a spark
SWAY_TICKS = 70.0
BANK_TOP, BANK_BOTTOM = 420, 1000  # px: above the scanned row
BANK_SPEED, BANK_DRIFT = 1.12, 2.2  # shares of the world's movement, px a tick


class WeatherArt:
    """The swarm and the banks of one kind of weather."""

    def __init__(self, weather: Weather, seed: int, face_y: int, grade: Grade, shining: Grade) -> None:
        self._face_y = face_y  # the wall's face begins here; a swarm is thinner over it
        self._bank = graded_strip(make_bank(weather), grade) if weather.bank else None
        self._swarm = weather.swarm
        if weather.swarm is not None:
            light = shining if weather.swarm.shape == "spark" else grade
            self._scatter(weather.swarm, np.random.default_rng([31, seed]), light)

    def _scatter(self, swarm: Swarm, rng: np.random.Generator, grade: Grade) -> None:
        count = swarm.count
        near = np.sort(rng.random(count))  # 0 far, 1 near: later ones cover earlier ones
        self._x = rng.uniform(0, WIDTH + 2 * MARGIN, count)
        self._y = rng.uniform(0, HEIGHT + 2 * MARGIN, count)
        self._fast = 1 + near
        self._follows = 0.35 + 0.75 * near  # share of the world's movement
        self._phase = rng.uniform(0, 2 * np.pi, count)
        self._thinned = rng.random(count) >= swarm.on_wall
        self._kind = np.minimum((near * KINDS).astype(int), KINDS - 1)
        self._turn = rng.integers(0, 64, count)
        low, high = swarm.size
        self._sprites = [
            [
                graded_sprite(sprite, grade)
                for sprite in _pictures(
                    swarm, low + (high - low) * k / (KINDS - 1), swarm.colors[k % len(swarm.colors)]
                )
            ]
            for k in range(KINDS)
        ]

    def paint(self, frame: FrameArray, tick: int, world_x: float) -> None:
        """Lay the banks, then the swarm over `frame`."""
        if self._bank is not None:
            self._bank.paint(frame, world_x + tick * BANK_DRIFT)
        swarm = self._swarm
        if swarm is None:
            return
        vx, vy = swarm.speed
        wide, high = WIDTH + 2 * MARGIN, HEIGHT + 2 * MARGIN
        x = self._x + vx * self._fast * tick - self._follows * world_x
        y = self._y + vy * self._fast * tick
        if swarm.sway:
            x += swarm.sway * np.sin(tick * (2 * np.pi / SWAY_TICKS) + self._phase)
            y += 0.3 * swarm.sway * np.sin(tick * (4 * np.pi / SWAY_TICKS) + 1.3 * self._phase)
        left = (np.floor(x) % wide - MARGIN).astype(int).tolist()
        top = (np.floor(y) % high - MARGIN).astype(int).tolist()
        turn = (self._turn + tick // 3).tolist()
        for i, kind in enumerate(self._kind.tolist()):
            if top[i] > self._face_y - MARGIN and self._thinned[i]:
                continue
            pictures = self._sprites[kind]
            blit(frame, pictures[turn[i] % len(pictures)], left[i], top[i])


@lru_cache(maxsize=4)
def make_bank(weather: Weather) -> Strip:
    """A drifting bank of mist or dust, gone before the scanned row."""
    rng = np.random.default_rng(43)
    height = BANK_BOTTOM - BANK_TOP
    rows = np.arange(height)[:, None] / height
    edge = np.clip(np.minimum(rows / 0.3, (1 - rows) / 0.25), 0, 1) ** 1.3
    cover = np.clip(cloudy(rng, height, 320, 60) * 0.7 + cloudy(rng, height, 96, 30) * 0.4 - 0.22, 0, 1)
    color = colored(np.ones((height, PERIOD)), weather.veil, weather.veil)
    return strip(color, np.minimum(cover * edge * weather.bank, 0.99), BANK_TOP, BANK_SPEED)


def _pictures(swarm: Swarm, size: float, color: Color) -> list[Sprite]:
    """The phases of one particle."""
    if swarm.shape == "streak" or swarm.shape == "dust":
        return [_faint(_streak(swarm, size, color), swarm.opacity)]
    if swarm.shape == "leaf":
        return [_leaf(size, color, k / TURNS) for k in range(TURNS)]
    if swarm.shape == "spark":
        return [_spark(size, color, 0.45 + 0.55 * math.sin(math.pi * k / PULSES)) for k in range(PULSES)]
    rim = mixed(color, (150, 140, 130), 0.35)
    s = Sheet(math.ceil(size) + 2, math.ceil(size) + 2)
    middle = (math.ceil(size) + 2) / 2
    if swarm.shape == "pellet":
        s.disc(middle, middle, size / 2, size / 2, rim)
        s.disc(middle - size * 0.06, middle - size * 0.08, size * 0.36, size * 0.36, color)
    else:
        s.disc(middle, middle, size / 2, size / 2, color)
    return [_faint(s.sprite(), swarm.opacity)]


def _streak(swarm: Swarm, length: float, color: Color) -> Sprite:
    """A line along the way it moves."""
    vx, vy = swarm.speed
    speed = math.hypot(vx, vy)
    dx, dy = abs(vx) / speed * length, abs(vy) / speed * length
    width = 2.2 if swarm.shape == "streak" else 3.0
    s = Sheet(math.ceil(dx + width) + 2, math.ceil(dy + width) + 2)
    a, b = 1 + width / 2, 1 + width / 2 + dx
    start, end = (a, b) if vx * vy >= 0 else (b, a)
    s.line([(start, 1 + width / 2), (end, 1 + width / 2 + dy)], color, [width * 0.4, width])
    return s.sprite()


def _leaf(size: float, color: Color, turn: float) -> Sprite:
    """A leaf that turns over as it falls."""
    half = math.ceil(size / 2) + 2
    s = Sheet(2 * half, 2 * half)
    angle = 2 * math.pi * turn
    flat = 0.25 + 0.2 * abs(math.cos(angle))
    c, k = math.cos(angle), math.sin(angle)
    ring = ((-0.5, 0), (-0.25, flat * 0.8), (0.1, flat), (0.5, 0), (0.1, -flat), (-0.25, -flat * 0.8))
    points = [(half + size * 0.92 * (x * c - y * k), half + size * 0.92 * (x * k + y * c)) for x, y in ring]
    s.blob(points, color)
    s.line([points[0], points[3]], mixed(color, (20, 30, 50), 0.45), 1.2)
    return s.sprite()


def _spark(size: float, color: Color, bright: float) -> Sprite:
    """A glowing dot; rings of less and less opacity make its glow."""
    side = 2 * math.ceil(size) + 1
    y, x = np.mgrid[0:side, 0:side] - math.ceil(size)
    far = np.hypot(x, y) / size
    opacity = np.clip(1.25 * np.exp(-((far / 0.34) ** 1.3)) - 0.06, 0, 1)[..., None] * bright
    core = np.clip(1 - far / 0.4, 0, 1)[..., None]
    ink = (np.array(color, np.float64) + core * (255 - np.array(color, np.float64))) * opacity
    keep = np.repeat(255 - np.rint(255 * opacity), 3, axis=2)
    return Sprite(np.rint(ink).astype(np.uint8), keep.astype(np.uint8))


def _faint(sprite: Sprite, opacity: float) -> Sprite:
    ink = np.rint(sprite.ink * opacity).astype(np.uint8)
    keep = 255 - np.rint((255.0 - sprite.keep) * opacity)
    return Sprite(ink, keep.astype(np.uint8))
