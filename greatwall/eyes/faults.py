"""Faults of perception, made on purpose: any eyes behind chances of missing, mislabelling and misreading.

`see` runs on the perceiving thread, `read_hud` on the OCR thread; each has generators of its own, one a
purpose, seeded by (`FaultConfig.seed`, the run). So equal runs have equal faults, whatever came before.
Frames that never arrive are the device's side: `greatwall/device/withheld.py`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from config import FaultConfig, GameProfile, HudField
from greatwall.contracts import Eyes, Frame, GameObject, Gap, Ground, HudRead, Sight
from greatwall.errors import ConfigError

MISS_STREAM = 41  # purpose tags of the generators
MISLABEL_STREAM = 42
JITTER_STREAM = 43
STALE_STREAM = 44
HUD_STREAM = 45
LIVE_RUN = 1 << 40  # above every seed: runs that began without one are counted from here
BLOCK = 1024  # numbers drawn at once
SIZE_MIN_PX = 1.0  # jitter leaves a box at least this wide and high
_new_object = tuple.__new__


class Draws:
    """A seeded stream of numbers, drawn in blocks: a single draw from numpy costs as much as a hundred."""

    def __init__(self, stream: int, faults_seed: int, *, normal: bool = False) -> None:
        self._key = (stream, faults_seed)
        self._normal = normal
        self.reset(0)

    def reset(self, run: int) -> None:
        """From the beginning of the stream of that run."""
        self._rng = np.random.default_rng([*self._key, run])
        self._drawn: list[float] = []

    def next(self) -> float:
        """Uniform in [0, 1), or standard normal."""
        drawn = self._drawn  # a new run may replace it meanwhile, from the Master's thread
        if not drawn:
            rng = self._rng
            block = rng.standard_normal(BLOCK) if self._normal else rng.random(BLOCK)
            drawn = self._drawn = block.tolist()
        return drawn.pop()


class FaultyEyes:
    """`eyes` with the faults of `faults`, but `drop`.

    A look: stale, or else each object and gap is missed, mislabelled (objects only), moved by its edges.
    Ids that truth brings along are taken off where such faults are made, because whoever mistakes a
    thing cannot know which one it is: the rule engine follows boxes then, as it does behind vision.
    """

    def __init__(self, eyes: Eyes, faults: FaultConfig, profile: GameProfile) -> None:
        self._eyes = eyes
        self._faults = faults
        self._fields = dict(profile.hud)
        self._others = {one: tuple(k for k in profile.classes if k != one) for one in profile.classes}
        seed = faults.seed
        self._miss = Draws(MISS_STREAM, seed)
        self._mislabel = Draws(MISLABEL_STREAM, seed)
        self._jitter = Draws(JITTER_STREAM, seed, normal=True)
        self._stale = Draws(STALE_STREAM, seed)
        self._hud = Draws(HUD_STREAM, seed)
        self._changes = faults.miss > 0 or faults.mislabel > 0 or faults.jitter > 0
        self._last: Sight | None = None
        self._live_runs = 0

    def see(self, frame: Frame) -> Sight:
        """The sight of `frame`, or once more the last one, with this run's faults."""
        if self._faults.stale > 0 and self._stale.next() < self._faults.stale and self._last is not None:
            return self._last
        sight = self._eyes.see(frame)
        if self._changes:
            sight = self._changed(sight)
        self._last = sight
        return sight

    def read_hud(self, frame: Frame) -> HudRead:
        """The read of `frame`, each readable field misread with the chance of `hud`."""
        read = self._eyes.read_hud(frame)
        share = self._faults.hud
        if share <= 0:
            return read
        values = {}
        for name, value in zip(HudRead._fields, read, strict=True):
            happens, which = self._hud.next() < share, self._hud.next()
            field = self._fields.get(name)
            if happens and value is not None and field is not None:
                values[name] = misread(value, field, which)
        return read._replace(**values) if values else read

    def begin(self, seed: int) -> None:
        """The run of that seed begins: its faults are the same whenever it is played."""
        self._begin(seed)

    def reset(self) -> None:
        """A run begins. Unless `begin` gives its seed, its faults follow from how many there were before."""
        self._eyes.reset()
        self._live_runs += 1
        self._begin(LIVE_RUN + self._live_runs)

    def close(self) -> None:
        self._eyes.close()

    def _begin(self, run: int) -> None:
        self._last = None
        for draws in (self._miss, self._mislabel, self._jitter, self._stale, self._hud):
            draws.reset(run)

    def _changed(self, sight: Sight) -> Sight:
        """Every object and gap through the three faults; a gap that is missed is ground."""
        objects = []
        for thing in sight.objects:
            if self._is_missed():
                continue
            category, x, y, w, h, score, _, dx, dy, visible = thing
            if self._faults.mislabel > 0 and self._mislabel.next() < self._faults.mislabel:
                others = self._others[category]
                category = others[int(self._mislabel.next() * len(others))]
            x, w = self._moved(x, w)
            y, h = self._moved(y, h)
            objects.append(_new_object(GameObject, (category, x, y, w, h, score, -1, dx, dy, visible)))
        ground = sight.ground
        gaps = []
        for gap in ground.gaps:
            if self._is_missed():
                continue
            x, w = self._moved(gap.x1, gap.x2 - gap.x1)
            gaps.append(Gap(max(0.0, x), min(float(ground.width), x + w)))
        seen = tuple(gap for gap in gaps if gap.x2 > gap.x1)
        return Sight(tuple(objects), Ground(seen, ground.from_x, ground.width, step_px=ground.step_px))

    def _is_missed(self) -> bool:
        return self._faults.miss > 0 and self._miss.next() < self._faults.miss

    def _moved(self, start: float, length: float) -> tuple[float, float]:
        """Both edges of an interval moved, each by its own draw; start and length."""
        if self._faults.jitter <= 0:
            return start, length
        end = start + length + self._faults.jitter * self._jitter.next()
        start += self._faults.jitter * self._jitter.next()
        return start, max(SIZE_MIN_PX, end - start)


def misread(value: int, field: HudField, which: float) -> int:
    """Another number the field may show that differs from `value` by one digit: taken for another, lost,
    or one too many, as OCR misreads. `which` in [0, 1) picks it; `value` itself when there is none."""
    text = str(value)
    texts = {text[:i] + digit + text[i + 1 :] for i in range(len(text)) for digit in "0123456789"}
    texts |= {text[:i] + digit + text[i:] for i in range(len(text) + 1) for digit in "0123456789"}
    texts |= {text[:i] + text[i + 1 :] for i in range(len(text)) if len(text) > 1}
    numbers = sorted({int(one) for one in texts} - {value})
    plausible = [number for number in numbers if field.low <= number <= field.high]
    return plausible[int(which * len(plausible))] if plausible else value


def faulty_eyes(eyes: Eyes, faults: FaultConfig, profile: GameProfile) -> Eyes:
    """`eyes` behind the faults, or `eyes` themselves where none concerns them."""
    if max(faults.miss, faults.mislabel, faults.jitter, faults.stale, faults.hud) > 0:
        return FaultyEyes(eyes, faults, profile)
    return eyes


def parse_faults(text: str) -> FaultConfig:
    """`miss=0.1,jitter=2,seed=7` as settings; "" is none. `ConfigError` for anything else."""
    names = [one.name for one in dataclasses.fields(FaultConfig)]
    example = "as in --faults miss=0.1,mislabel=0.05,jitter=2,stale=0.02,hud=0.02,drop=0.01"
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, number = (one.strip() for one in part.partition("="))
        if not equals or name not in names:
            raise ConfigError(
                f"--faults: expected NAME=NUMBER of {', '.join(names)}; found {part!r}; {example}"
            )
        if name in found:
            raise ConfigError(f"--faults: expected each name once, found {name} twice; leave one out")
        try:
            found[name] = int(number) if name == "seed" else float(number)
        except ValueError as error:
            raise ConfigError(
                f"--faults: expected a number after {name}=, found {number!r}; {example}"
            ) from error
    if found.get("seed", 0) < 0:
        raise ConfigError(f"--faults: expected seed 0 or more, found {found['seed']}; change the number")
    try:
        return FaultConfig(**found)  # type: ignore[arg-type]
    except ValueError as error:
        raise ConfigError(str(error)) from error
