"""Looks: how the embedded game is drawn, without any change of its rules. Pure values; any thread.

Three families that share nothing: other times of day, weathers, palettes, shakes, brightness, HUD fonts
and layouts. `train:N` is for training, `valid:N` for every choice made on the way, `unseen:N` for scores.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from config import GROUND_COLORS, GameProfile
from greatwall.errors import ConfigError
from greatwall.game.atmosphere import (
    STANDARD_TIME,
    STANDARD_WEATHER,
    TIMES,
    TRAIN_TIMES,
    TRAIN_WEATHERS,
    UNSEEN_TIMES,
    UNSEEN_WEATHERS,
    VALID_TIMES,
    VALID_WEATHERS,
    WEATHERS,
    Daylight,
    Weather,
)
from greatwall.game.grades import Color, Grade, Tint, lit, screened, tinted, veiled
from greatwall.game.hud_styles import (
    FONTS,
    LAYOUTS,
    TRAIN_FONTS,
    TRAIN_LAYOUTS,
    UNSEEN_FONTS,
    UNSEEN_LAYOUTS,
    VALID_FONTS,
    VALID_LAYOUTS,
    HudFont,
    HudLayout,
)

LOOK_STREAM = 21  # purpose tag of the generator that puts a look together
JOINT_TONE_MAX = 30  # levels between brick and mortar; the scan's tolerance covers mixtures of both
SHAKE_HZ = ((1.9, 3.1), (2.3, 4.1))  # of the two waves of each axis, as on a rough road


@dataclass(frozen=True)
class Look:
    """One way to draw the game. The default is the standard look, drawn exactly as without looks."""

    name: str = "standard"
    time: str = STANDARD_TIME
    weather: str = STANDARD_WEATHER
    scenery: Tint = field(default_factory=Tint)
    wall: Tint = field(default_factory=Tint)
    things: Tint = field(default_factory=Tint)
    shake_px: int = 0  # the camera moves up to this far from its place, in whole px
    font: str = "standard"
    layout: str = "standard"
    brightness: float = 0.0  # levels
    contrast: float = 1.0
    seed: int = 0  # of particles and shake

    @cached_property
    def daylight(self) -> Daylight:
        return TIMES[self.time]

    @cached_property
    def air(self) -> Weather:
        return WEATHERS[self.weather]

    @cached_property
    def hud_font(self) -> HudFont:
        return FONTS[self.font]

    @cached_property
    def hud_layout(self) -> HudLayout:
        return LAYOUTS[self.layout]

    @cached_property
    def screen_grade(self) -> Grade:
        """What brightness and contrast do to everything, the HUD included."""
        return screened(self.brightness, self.contrast)

    def scenery_grade(self, nearness: float) -> Grade:
        """For a layer: 0 is the sky, 1 moves with the wall."""
        air = self.air
        share = air.near_share + (air.far_share - air.near_share) * (1 - nearness) ** 1.6
        light = lit(self.daylight.far).then(lit(air.light))
        veil = veiled(lit(self.daylight.far).color(air.veil), share)
        return tinted(self.scenery).then(light).then(veil).then(self.screen_grade)

    @cached_property
    def sky_grade(self) -> Grade:
        """For the sky, which the daylight has its own colours for."""
        air = self.air
        veil = veiled(lit(self.daylight.far).color(air.veil), air.far_share * 0.92)
        return tinted(self.scenery).then(lit(air.light)).then(veil).then(self.screen_grade)

    @cached_property
    def air_grade(self) -> Grade:
        """For what falls or drifts, unless it shines by itself."""
        return lit(self.daylight.near).then(self.screen_grade)

    @cached_property
    def wall_grade(self) -> Grade:
        return self._near(self.wall)

    @cached_property
    def thing_grade(self) -> Grade:
        """For whatever the detector looks for."""
        return self._near(self.things)

    def _near(self, tint: Tint) -> Grade:
        air = self.air
        light = lit(self.daylight.near).then(lit(air.light))
        veil = veiled(lit(self.daylight.near).color(air.veil), air.near_share)
        return tinted(tint).then(light).then(veil).then(self.screen_grade)

    @cached_property
    def ground_colors(self) -> tuple[Color, ...]:
        """Brick and mortar as this look draws them at the scanned row."""
        brick, mortar = (self.wall_grade.color(color) for color in GROUND_COLORS)
        b, g, r = (
            face + max(-JOINT_TONE_MAX, min(JOINT_TONE_MAX, joint - face))
            for face, joint in zip(brick, mortar, strict=True)
        )
        return brick, (b, g, r)

    @cached_property
    def is_standard(self) -> bool:
        return dataclasses.replace(self, name="standard", seed=0) == STANDARD

    def profile(self, profile: GameProfile) -> GameProfile:
        """`profile` as this look shows it: HUD boxes moved, ground colours changed."""
        if self.is_standard:
            return profile
        boxes = self.hud_layout.boxes()
        hud = tuple((name, dataclasses.replace(one, box=boxes[name])) for name, one in profile.hud)
        return dataclasses.replace(profile, hud=hud, ground_colors=self.ground_colors)

    def shake(self, tick: int) -> tuple[int, int]:
        """How far the camera's picture is moved at a tick, px to the right and down."""
        if not self.shake_px:
            return 0, 0
        offsets = []
        for axis, (slow, fast) in enumerate(SHAKE_HZ):
            phase = 1.7 * self.seed + 2.1 * axis
            t = 2 * math.pi * tick / 30
            wave = 0.6 * math.sin(slow * t + phase) + 0.4 * math.sin(fast * t + 2.7 * phase)
            offsets.append(round(self.shake_px * wave))
        return offsets[0], offsets[1]


STANDARD = Look()

NAMED: dict[str, Look] = {
    look.name: look
    for look in (
        STANDARD,
        Look("dawn", time="dawn", font="light"),
        Look("noon", time="noon", font="slanted"),
        Look("dusk", time="dusk", font="heavy", layout="apart"),
        Look("night", time="night", font="angular", layout="small"),
        Look("rain", weather="rain", layout="stacked"),
        Look("snow", weather="snow", font="light", layout="swapped"),
        Look("fog", weather="fog"),
        Look("autumn", weather="leaves", scenery=Tint(-24.0, 1.2), font="slanted"),
        Look("shaky", shake_px=4, seed=3),
        Look("faded", brightness=14.0, contrast=0.86, wall=Tint(0.0, 0.7), things=Tint(0.0, 0.75)),
        Look("sandstorm", weather="sandstorm", font="footed", layout="middle"),
        Look("fireflies", time="aurora", weather="fireflies", font="rimmed", layout="column"),
        Look("hail", time="overcast", weather="hail", font="sporty", layout="corner"),
        Look("embers", time="eclipse", weather="embers", shake_px=7, font="footed", layout="column"),
    )
}
SEEDED = re.compile(r"(train|valid|unseen):(\d{1,9})")


@lru_cache(maxsize=512)
def look_named(name: str) -> Look:
    """A named look, `train:N`, `valid:N` or `unseen:N`; `ConfigError` with the list for any other name."""
    if name in NAMED:
        return NAMED[name]
    seeded = SEEDED.fullmatch(name)
    if seeded is None:
        raise ConfigError(
            f"look: expected one of {', '.join(NAMED)}, train:N, valid:N or unseen:N "
            f"(N a whole number), found {name!r}; choose one of these"
        )
    return FAMILIES[seeded[1]](name, int(seeded[2]))


def _train(name: str, number: int) -> Look:
    rng = np.random.default_rng([LOOK_STREAM, 0, number])
    return Look(
        name,
        time=_one_of(rng, TRAIN_TIMES),
        weather=_one_of(rng, TRAIN_WEATHERS),
        scenery=_tint(rng, 0.0, 40.0, 0.6, 1.4),
        wall=_tint(rng, 0.0, 18.0, 0.5, 1.3),
        things=_tint(rng, 0.0, 24.0, 0.65, 1.3),
        shake_px=int(rng.choice([0, 0, 2, 3, 4, 5])),
        font=_one_of(rng, TRAIN_FONTS),
        layout=_one_of(rng, TRAIN_LAYOUTS),
        brightness=round(float(rng.uniform(-16, 16)), 1),
        contrast=round(float(rng.uniform(0.86, 1.12)), 3),
        seed=number,
    )


def _unseen(name: str, number: int) -> Look:
    rng = np.random.default_rng([LOOK_STREAM, 1, number])
    far = 1.0 if rng.random() < 0.5 else -1.0
    return Look(
        name,
        time=_one_of(rng, UNSEEN_TIMES),
        weather=_one_of(rng, UNSEEN_WEATHERS),
        scenery=_tint(rng, 45.0, 110.0, 0.4, 1.5),
        wall=_tint(rng, 20.0, 40.0, 0.4, 1.4),
        things=_tint(rng, 26.0, 42.0, 0.5, 1.4),
        shake_px=int(rng.integers(6, 10)),
        font=_one_of(rng, UNSEEN_FONTS),
        layout=_one_of(rng, UNSEEN_LAYOUTS),
        brightness=round(far * float(rng.uniform(17, 30)), 1),
        contrast=round(float(rng.uniform(0.76, 0.85)), 3),
        seed=number,
    )


def _valid(name: str, number: int) -> Look:
    """Numbers in a row go round the times and weathers, so that a few looks show them all."""
    rng = np.random.default_rng([LOOK_STREAM, 2, number])
    far = 1.0 if rng.random() < 0.5 else -1.0
    return Look(
        name,
        time=list(VALID_TIMES)[number % len(VALID_TIMES)],
        weather=list(VALID_WEATHERS)[number % len(VALID_WEATHERS)],
        scenery=_tint(rng, 112.0, 170.0, 0.4, 1.5),
        wall=_tint(rng, 41.0, 50.0, 0.4, 1.4),
        things=_tint(rng, 43.0, 52.0, 0.5, 1.4),
        shake_px=int(rng.integers(10, 12)),
        font=_one_of(rng, VALID_FONTS),
        layout=_one_of(rng, VALID_LAYOUTS),
        brightness=round(far * float(rng.uniform(31, 36)), 1),
        contrast=round(float(rng.uniform(0.70, 0.75)), 3),
        seed=number,
    )


FAMILIES: dict[str, Callable[[str, int], Look]] = {"train": _train, "valid": _valid, "unseen": _unseen}


def _one_of(rng: np.random.Generator, family: Mapping[str, object]) -> str:
    return list(family)[int(rng.integers(len(family)))]


def _tint(rng: np.random.Generator, least: float, most: float, dull: float, vivid: float) -> Tint:
    """A hue at least `least` and at most `most` degrees away to either side."""
    side = 1.0 if rng.random() < 0.5 else -1.0
    return Tint(round(side * float(rng.uniform(least, most)), 1), round(float(rng.uniform(dull, vivid)), 3))
