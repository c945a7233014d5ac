"""Numbers beside the 207: what an agent can know from its perceptions, its own actions and its clock.

Groups, each in [0, 1], appended to the observation in the order asked for:

    touches   the last three touches: jump or shot, and how long ago each was decided
    motion    own height and its change, speed of the world, age of the frame, time until landing
    ahead     the next four hazards over the whole frame: kind, edges, height, closing speed, shot at
    recall    what the 207 numbers alone give to somebody who remembers: speed of the world, time until
              landing by his own taps, own touches

Nothing here knows the game's state: the same code serves truth, vision and a phone. Belongs to whoever
decides, the Master or a player; one thread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from config import EXTRA_GROUPS, TICK_HZ, Config, cooldown_s
from greatwall.contracts import TERRAIN_SAMPLES, Action, FloatArray, GameObject, Perception

TOUCHES = 3
HAZARDS = 4
TOUCH_FIELDS = ("jump", "shot", "ago")
MOTION_FIELDS = ("height", "climb", "speed", "frame_age", "landing")
HAZARD_FIELDS = ("obstacle", "enemy", "gap", "left", "right", "height", "closing", "shot_ago")
TOUCH_SCALE_S = 3.0  # a touch is forgotten after that; a delay and a jump together are under 1.5 s
HEIGHT_SCALE_PX = 400.0  # a jump rises about 280 px
CLIMB_SCALE_PX_S = 3000.0  # around 0.5: a jump begins and ends at 1,250 px/s
SPEED_SCALE_PX_S = 2500.0
FRAME_AGE_SCALE_S = 0.5
LANDING_SCALE_S = 2.0
ALOFT_PX = 12.0  # lower is on the ground: a detector is not sure of the last few px
FLIGHT_SLACK_S = 0.07  # two ticks: between a moment and the perceptions that can show it
SHOT_SCALE_S = 2.0
SETTLE_S = 0.2  # a speed measured over that long counts as much as all before
SPEED_RANGE_PX_S = (50.0, SPEED_SCALE_PX_S)
SPEED_JUMP = 1.5  # a speed this many times the last is another thing's; so is its inverse
REFUSED_ENOUGH = 3  # equal measurements in a row that overrule what was believed
OBJECT_RANGE_PX = 500.0  # SPEC 3
TOO_LONG_S = 1.5  # between two looks: what stands there now is not what stood there then

SIZES = {
    "touches": TOUCHES * len(TOUCH_FIELDS),
    "motion": len(MOTION_FIELDS),
    "ahead": HAZARDS * len(HAZARD_FIELDS),
    "recall": 2 + TOUCHES * len(TOUCH_FIELDS),
}
assert tuple(SIZES) == EXTRA_GROUPS


def extras_size(groups: Sequence[str]) -> int:
    """How many numbers these groups are."""
    return sum(SIZES[group] for group in groups)


def extras_layout(groups: Sequence[str], begin: int) -> dict[str, slice]:
    """Where each group lies in an observation in which the first begins at `begin`."""
    found = {}
    for group in groups:
        found[group] = slice(begin, begin + SIZES[group])
        begin += SIZES[group]
    return found


class Extras:
    """The extras of one agent: `begin` a run, then by turns `see` and `act`."""

    def __init__(self, config: Config, groups: Sequence[str]) -> None:
        self.groups = tuple(groups)
        self._touches = _Touches()
        self._motion = _Motion(config)
        self._recall = _Recall(config)
        self.begin()

    def begin(self) -> None:
        """Forget the last run."""
        self._touches.begin()
        self._motion.begin()
        self._recall.begin()
        self._now_s = 0.0

    def see(self, observation: FloatArray, perception: Perception) -> list[float]:
        """The extras for a decision on this perception, whose 207 numbers are `observation`."""
        self._now_s = perception.perceived_at_s
        groups = self.groups
        found: list[float] = []
        if "motion" in groups or "ahead" in groups:
            self._motion.see(perception)
        for group in groups:
            if group == "touches":
                found += self._touches.numbers(self._now_s)
            elif group == "motion":
                found += self._motion.numbers(perception)
            elif group == "ahead":
                found += self._motion.hazards(perception)
            else:
                found += self._recall.see(observation)
        return found

    def act(self, action: Action) -> None:
        """What was decided on the perception last seen."""
        self._touches.act(action, self._now_s)
        self._motion.act(action, self._now_s)
        self._recall.act(action)


class _Touches:
    """The last touches, newest first."""

    def begin(self) -> None:
        self._last: list[tuple[Action, float]] = []

    def act(self, action: Action, now_s: float) -> None:
        if action is not Action.WAIT:
            self._last = [(action, now_s), *self._last[: TOUCHES - 1]]

    def numbers(self, now_s: float) -> list[float]:
        found: list[float] = []
        for action, at_s in self._last:
            ago_s = now_s - at_s
            if ago_s < TOUCH_SCALE_S:
                jump = action is Action.JUMP
                found += (float(jump), float(not jump), max(0.0, ago_s) / TOUCH_SCALE_S)
        while len(found) < SIZES["touches"]:
            found += (0.0, 0.0, 1.0)
        return found


class _Motion:
    """How the rider and the world move, measured from one perception to the next."""

    def __init__(self, config: Config) -> None:
        _, y, _, h = config.profile.rider_box
        self._ground_y = y + h
        self._flight = Flight(config)
        self._usual_px_s = config.course.start_speed_m_s * config.course.px_per_m
        self._width = config.profile.frame_size[0]

    def begin(self) -> None:
        self._speed = Speed(self._usual_px_s)
        self._flight.begin()
        self._seen_s = -math.inf
        self._height = self._climb = 0.0
        self._standing: dict[int, float] = {}
        self._enemies: dict[int, tuple[float, float]] = {}  # track -> left edge, closing speed
        self._shots: dict[int, float] = {}  # enemy track -> when it was shot at
        self._target = -1

    def see(self, perception: Perception) -> None:
        """Measure against the last perception; the same one again changes nothing."""
        elapsed_s = perception.captured_at_s - self._seen_s
        if elapsed_s <= 0.0:
            return
        self._seen_s = perception.captured_at_s
        height = max(0.0, self._ground_y - perception.horse_pos[3])
        self._climb = (height - self._height) / elapsed_s
        self._height = height
        self._flight.see(height, self._seen_s)
        standing: dict[int, float] = {}
        for things in (perception.danger_list, perception.soul_list, perception.coin_list):
            for one in things:
                if one.x > 0.0:
                    standing[one.track_id] = one.x
        for gap in perception.ground.gaps:
            if gap.x1 > 0.0:
                standing[gap.track_id] = gap.x1
        standing.pop(-1, None)
        if elapsed_s < TOO_LONG_S:
            before = self._standing
            moved = sorted(before[i] - x for i, x in standing.items() if i in before)
            if moved:
                self._speed.measured(moved[len(moved) // 2] / elapsed_s, elapsed_s)
        self._standing = standing
        speed = self._speed.px_s
        enemies: dict[int, tuple[float, float]] = {}
        for one in perception.enemy_list:
            last = self._enemies.get(one.track_id)
            closing = speed
            if last is not None and one.x > 0.0:
                closing = (last[0] - one.x) / elapsed_s
                if not speed / SPEED_JUMP < closing < speed * SPEED_JUMP:
                    closing = last[1]
            enemies[one.track_id] = (one.x, closing)
        self._enemies = enemies
        x1 = perception.horse_pos[0]
        self._target = next((one.track_id for one in perception.enemy_list if one.x2 > x1), -1)

    def act(self, action: Action, now_s: float) -> None:
        if action is Action.JUMP:
            self._flight.tapped(now_s)
        if action is Action.SHOOT and self._target >= 0:
            self._shots = {i: at_s for i, at_s in self._shots.items() if now_s - at_s < SHOT_SCALE_S}
            self._shots[self._target] = now_s

    def numbers(self, perception: Perception) -> list[float]:
        return [
            min(self._height / HEIGHT_SCALE_PX, 1.0),
            _share(0.5 + self._climb / CLIMB_SCALE_PX_S),
            self._speed.px_s / SPEED_SCALE_PX_S,
            _share(perception.frame_age_s / FRAME_AGE_SCALE_S),
            _share((self._flight.lands_at_s - perception.perceived_at_s) / LANDING_SCALE_S),
        ]

    def hazards(self, perception: Perception) -> list[float]:
        """The next hazards not yet behind the rider, by their left edge; edges as shares of the frame."""
        x1, width = perception.horse_pos[0], self._width
        speed = self._speed.px_s / SPEED_SCALE_PX_S
        now_s = perception.perceived_at_s
        found: list[tuple[float, ...]] = []
        for one in perception.danger_list:
            if one.x2 > x1:
                found.append((one.x, 1.0, 0.0, 0.0, one.x2, self._tall(one), speed, 1.0))
        for one in perception.enemy_list:
            if one.x2 > x1:
                _, px_s = self._enemies.get(one.track_id, (one.x, self._speed.px_s))
                closing = _share(px_s / SPEED_SCALE_PX_S)
                ago_s = now_s - self._shots.get(one.track_id, -math.inf)
                shot = _share(ago_s / SHOT_SCALE_S)
                found.append((one.x, 0.0, 1.0, 0.0, one.x2, self._tall(one), closing, shot))
        for gap in perception.ground.gaps:
            if gap.x2 > x1:
                found.append((gap.x1, 0.0, 0.0, 1.0, gap.x2, 0.0, speed, 1.0))
        found.sort()
        numbers: list[float] = []
        for left, obstacle, enemy, gap_, right, height, closing, shot in found[:HAZARDS]:
            numbers += (obstacle, enemy, gap_, _share(left / width), _share(right / width))
            numbers += (height, closing, shot)
        while len(numbers) < SIZES["ahead"]:
            numbers += (0.0, 0.0, 0.0, 1.0, 1.0, 0.0, speed, 1.0)
        return numbers

    def _tall(self, one: GameObject) -> float:
        return _share((self._ground_y - one.y) / HEIGHT_SCALE_PX)


class Flight:
    """When the rider will be on the ground again, from own taps, the known delay and the height seen.

    The jump's shape is the configured one: height = v t - g t^2 / 2. Once a flight is seen it is known
    exactly; before that the middle of what the tap may still cause is assumed.
    """

    def __init__(self, config: Config) -> None:
        self._v, self._g = config.course.jump_speed_px_s, config.course.gravity_px_s2
        delays = config.delays
        self._early_s = delays.decision_to_touch_s[0] + delays.touch_to_effect_s[0]
        self._late_s = delays.decision_to_touch_s[1] + delays.touch_to_effect_s[1]
        self.air_s = 2 * self._v / self._g

    def begin(self) -> None:
        self.lands_at_s = -math.inf
        self._tapped_s = -math.inf
        self._known = False  # the flight under way was seen rising

    def tapped(self, now_s: float) -> None:
        """A tap before the landing that is expected comes to nothing, unless it arrives after it."""
        self._tapped_s = now_s
        takes_off_s = max(now_s + (self._early_s + self._late_s) / 2, self.lands_at_s)
        if now_s + self._late_s >= self.lands_at_s:
            self.lands_at_s = takes_off_s + self.air_s
            self._known = False

    def see(self, height: float, seen_s: float) -> None:
        earliest_s, latest_s = self._tapped_s + self._early_s, self._tapped_s + self._late_s
        if height <= ALOFT_PX:
            self._known = False
            if seen_s > latest_s + FLIGHT_SLACK_S:  # the tap came to nothing, or he has landed
                self.lands_at_s = min(self.lands_at_s, seen_s)
            elif seen_s > earliest_s:  # not off yet: only the rest of the delay is left
                self.lands_at_s = (seen_s + latest_s) / 2 + self.air_s
            return
        if self._known:
            return
        root = math.sqrt(max(0.0, self._v * self._v - 2 * self._g * height))
        rising_s = seen_s - (self._v - root) / self._g
        if earliest_s - FLIGHT_SLACK_S <= rising_s <= latest_s + FLIGHT_SLACK_S:
            self.lands_at_s = rising_s + self.air_s
            self._known = True
        elif seen_s < earliest_s or seen_s > latest_s + FLIGHT_SLACK_S:
            self.lands_at_s = seen_s + (self._v - root) / self._g  # on the way down


class Speed:
    """How fast the world comes nearer, px/s: measurements blended by how long each took."""

    def __init__(self, usual_px_s: float) -> None:
        self.px_s = usual_px_s
        self._known = False
        self._refused: list[float] = []  # since the last one that was taken in

    def measured(self, px_s: float, elapsed_s: float) -> None:
        """Take a measurement in; one far off the last is of another thing and left out, unless several in
        a row agree: then it was the last that was wrong."""
        low, high = SPEED_RANGE_PX_S
        if not low <= px_s <= high:
            return
        if not self._known:
            self.px_s, self._known = px_s, True
        elif self.px_s / SPEED_JUMP < px_s < self.px_s * SPEED_JUMP:
            self.px_s += elapsed_s / (elapsed_s + SETTLE_S) * (px_s - self.px_s)
            self._refused = []
        else:
            self._refused = [*self._refused, px_s][-REFUSED_ENOUGH:]
            if len(self._refused) == REFUSED_ENOUGH and max(self._refused) < 1.1 * min(self._refused):
                self.px_s, self._refused = px_s, []


class Seen(NamedTuple):
    """px from the rider to what the 207 numbers show of standing things; inf where there is none."""

    obstacle: float
    soul: float
    coin: float
    gap: float
    gap_end: float


class _Recall:
    """Memory over the 207 numbers and own actions, and nothing else: no perception, no clock but what
    its own actions have cost."""

    def __init__(self, config: Config) -> None:
        self._usual_px_s = config.course.start_speed_m_s * config.course.px_per_m
        self._flight = Flight(config)
        self._terrain_step_px = config.profile.terrain_step_px
        period_s = config.worker.decision_ticks / TICK_HZ
        self._costs_s = [max(cooldown_s(config.profile, action), period_s) for action in Action]

    def begin(self) -> None:
        self._touches = _Touches()
        self._touches.begin()
        self._flight.begin()
        self._speed = Speed(self._usual_px_s)
        self._now_s = 0.0
        self._seen_s = -math.inf
        self._seen = Seen(*[math.inf] * 5)

    def act(self, action: Action) -> None:
        self._touches.act(action, self._now_s)
        if action is Action.JUMP:
            self._flight.tapped(self._now_s)
        self._now_s += self._costs_s[action]

    def see(self, observation: FloatArray) -> list[float]:
        elapsed_s = self._now_s - self._seen_s
        if elapsed_s > 0.0:
            seen = self._look(observation)
            moved = sorted(
                before - now
                for before, now in zip(self._seen, seen, strict=True)
                if 0.0 < now < before < math.inf
            )
            if moved and elapsed_s < TOO_LONG_S:
                self._speed.measured(moved[len(moved) // 2] / elapsed_s, elapsed_s)
            self._seen, self._seen_s = seen, self._now_s
        landing = _share((self._flight.lands_at_s - self._now_s) / LANDING_SCALE_S)
        return [self._speed.px_s / SPEED_SCALE_PX_S, landing, *self._touches.numbers(self._now_s)]

    def _look(self, observation: FloatArray) -> Seen:
        obstacle, _, soul, coin = (
            float(share) * OBJECT_RANGE_PX if share < 1.0 else math.inf
            for share in observation[TERRAIN_SAMPLES : TERRAIN_SAMPLES + 4]
        )
        gap = gap_end = math.inf
        missing = np.flatnonzero(observation[:TERRAIN_SAMPLES] < 0.5)
        if missing.size:
            first = int(missing[0])
            gap = first * self._terrain_step_px
            after = np.flatnonzero(observation[first:TERRAIN_SAMPLES] >= 0.5)
            if after.size:
                gap_end = (first + int(after[0])) * self._terrain_step_px
        return Seen(obstacle, soul, coin, gap, gap_end)


def _share(value: float) -> float:
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value
