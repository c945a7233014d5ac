"""The oracle: an upper bound. It searches ahead in a clone of the game's own state.

It is given the whole state (`attach`), the course still to come included, but not the touch delays that
will be drawn: it weighs every delay by its chance. Between two touches the game is a chain of known
heights, so the search is exact: from the far end of the look-ahead backwards it finds, for every moment
of decision and every phase of a jump, the fewest lives that will be lost on average. In that search
enemies are jumped; whether to shoot is decided at the present moment only, by comparing the best play
with and without the enemy that an arrow shot now would kill.
It runs on the Master's thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from config import TICK_HZ, Config, to_ticks
from greatwall.contracts import Action, FloatArray, Perception
from greatwall.errors import ConfigError
from greatwall.game.rules import FEET_PX, HORIZON_PX, Game
from greatwall.game.view import Kind, Page, Thing

LIFT_PX = 0.01  # the game's rider leaves the ground from this height
NEVER = 1 << 40
SURE = 0.99  # chance of a kill above which a shot that costs nothing is taken
ARROW_TICKS = 45  # an arrow has landed or left the screen by then

Array = NDArray[Any]


@dataclass(frozen=True)
class OracleSettings:
    """How much it searches."""

    lookahead_s: float = 4.0  # doubling it changes the score by less than 3 % (`benchmarks/players.py`)


class Paths(NamedTuple):
    """What one action of `ticks` ticks does to the phase, for every phase and touch delay."""

    ticks: int
    delays: Array  # NEVER where nothing is tapped
    chances: Array  # of each delay
    before: Array  # (phases, delays): the phase on the tick before the tap works
    ends: Array  # (phases, delays): the phase at the end


class Play(NamedTuple):
    """Best play from now on: lives lost on average by action now, and by (decision, phase) later."""

    wait: float
    jump: float
    later: Array


class Weighed(NamedTuple):
    """An action, and how many lives more the other two would cost on average, at most 1."""

    action: Action
    stake: float


class OraclePlayer:
    """Plays best by exact search. `attach` it to the game before the first `act`."""

    name = "oracle"

    def __init__(self, config: Config, settings: OracleSettings | None = None) -> None:
        settings = settings or OracleSettings()
        self._course, self._delays = config.course, config.delays
        self._save_game: Callable[[], Mapping[str, Any]] | None = None
        self._period = config.worker.decision_ticks
        self._heights = jump_heights(config.course.jump_speed_px_s, config.course.gravity_px_s2)
        self._safe_ticks = to_ticks(config.course.invulnerable_s)
        delays, chances = touch_delays(config)
        busy = int(delays[-1])
        jump = self._whole(max(to_ticks(config.profile.jump_cooldown_s), busy))
        shot = self._whole(max(to_ticks(config.profile.shoot_cooldown_s), busy))
        ground = len(self._heights) - 1
        untapped = np.array([NEVER]), np.ones(1)
        self._wait = paths(ground, self._period, *untapped)
        self._jump = paths(ground, jump, delays, chances)
        self._shot = paths(ground, shot, *untapped)
        self._decisions = max(1, to_ticks(settings.lookahead_s) // self._period)
        self._ticks = self._decisions * self._period + max(jump, shot)

    def attach(self, save_game: Callable[[], Mapping[str, Any]]) -> None:
        """Where the game's state comes from: `GreatWallEnv.save_game`."""
        self._save_game = save_game

    def reset(self, seed: int) -> None:
        """Nothing: all it knows is the state of the game."""

    def act(self, observation: FloatArray, perception: Perception) -> Action:
        """The action that loses the fewest lives; of what is perceived only the shot's aim is used."""
        return self.weigh(perception).action

    def advise(self, observation: FloatArray, perception: Perception) -> Action:
        """The same: it has no memory that an advice not taken could mislead."""
        return self.weigh(perception).action

    def took(self, action: Action) -> None:
        """Nothing: what was done shows in the game's state."""

    def weigh(self, perception: Perception) -> Weighed:
        """The best action now, and what is at stake in it."""
        if self._save_game is None:
            raise ConfigError(
                "oracle: expected to be attached to a game, found none; play it by "
                "python -m greatwall evaluate --policy oracle"
            )
        game = self._clone(self._save_game()["state"]["game"])
        if game.page is not Page.PLAYING:
            return Weighed(Action.WAIT, 0.0)
        now = game.tick
        x = self._positions(game.x)
        phase = self._phase(game.height, game.vy)
        safe = game.safe_until - now
        dx = perception.shoot_target[0] - perception.horse_center[0]
        dy = perception.horse_center[1] - perception.shoot_target[1]
        arrows = game.arrows
        hazards = self._ahead(game)
        need = [self._need(thing, x, now) for thing in hazards]
        harm = self._harm(need, safe)
        play = self._search(harm, phase)
        best = min(play.wait, play.jump)
        enemy = self._nearest_enemy(hazards, x, now)
        action, chance_of, shot = Action.WAIT, 0.0, math.inf
        if arrows > 0 and enemy is not None:
            chance_of, shot = self._shoot(hazards, need, enemy, play, x, now, phase, safe, (dx, dy))
        if shot < best - 1e-6 or (chance_of > SURE and shot < best + 1e-6):
            action = Action.SHOOT
        elif play.jump < play.wait - 1e-9:
            action = Action.JUMP
        if shot == math.inf:  # an arrow that hits nothing costs its time
            shot = self._shot_value(harm, play.later, phase)
        costs = (play.wait, play.jump, shot)
        others = [cost for other, cost in zip(Action, costs, strict=True) if other is not action]
        return Weighed(action, min(1.0, max(0.0, sum(others) / len(others) - costs[action])))

    # --- what lies ahead ----------------------------------------------------------------------

    def _whole(self, ticks: int) -> int:
        """Ticks rounded up to whole decision periods."""
        return -(-ticks // self._period) * self._period

    def _clone(self, state: Mapping[str, Any]) -> Game:
        """The game as it stands, without the touches still under way: their delays are not known."""
        game = Game(self._course, self._delays, 0)
        game.set_state({**state, "touches": []})
        return game

    def _ahead(self, game: Game) -> list[Thing]:
        """Every hazard of the look-ahead, found by letting the clone run on untouched and unhurt;
        enemies that an arrow already in flight will kill are left out."""
        game.safe_until = NEVER
        found = {thing.id: thing for thing in game.things}
        end = game.tick + self._ticks
        while game.tick < end:
            kills, before = game.kills, {thing.id for thing in game.things}
            game.advance(min(self._period, end - game.tick))
            found.update((thing.id, thing) for thing in game.things)
            if game.kills > kills:
                left = {thing.id for thing in game.things}
                edge = game.x + self._course.rider_x  # what is gone and was still ahead was shot
                for gone in before - left:
                    thing = found[gone]
                    if thing.kind is Kind.ENEMY and thing.x_at(game.tick) + thing.w > edge:
                        del found[gone]
        solid = (Kind.OBSTACLE, Kind.ENEMY, Kind.GAP)
        return [thing for thing in found.values() if thing.kind in solid]

    def _positions(self, x: float) -> Array:
        """The screen's left edge at each tick from now on: x' = start + gain x."""
        c = self._course
        start, gain = c.start_speed_m_s * c.px_per_m, c.speed_gain_per_m
        steps = np.arange(self._ticks + 1)
        if gain == 0.0:
            return x + start / TICK_HZ * steps
        return (x + start / gain) * (1 + gain / TICK_HZ) ** steps - start / gain

    def _left_edges(self, thing: Thing, now: int, count: int) -> Array:
        moved = thing.x - thing.speed * (now + np.arange(count) - thing.born)
        return np.asarray(np.maximum(thing.stop_x, moved))

    def _need(self, thing: Thing, x: Array, now: int) -> Array:
        """px the rider must be above at each tick so that this thing does no harm; -1 where none can."""
        c = self._course
        left = x + c.rider_x + c.inset_side_px
        right = x + c.rider_x + c.rider_w - c.inset_side_px
        x1 = self._left_edges(thing, now, len(x))
        x2 = x1 + thing.w
        if thing.kind is Kind.GAP:
            return np.where((x1 < left) & (x2 > right - FEET_PX), LIFT_PX / 2, -1.0)
        return np.where((x1 < right) & (x2 > left), thing.h - c.inset_top_px, -1.0)

    def _phase(self, height: float, vy: float) -> int:
        """Where in a jump the rider is, by the ticks left until he lands."""
        ticks, dt, gravity = 0, 1 / TICK_HZ, self._course.gravity_px_s2 / TICK_HZ
        while height > 0.0:
            height += (vy - gravity / 2) * dt
            vy -= gravity
            ticks += 1
        return max(0, len(self._heights) - 1 - ticks)

    def _nearest_enemy(self, hazards: list[Thing], x: Array, now: int) -> Thing | None:
        """The nearest enemy on the screen and ahead: the one the Worker aims at."""
        edge = x[0] + self._course.rider_x + self._course.rider_w
        enemies = [
            thing
            for thing in hazards
            if thing.kind is Kind.ENEMY and edge < thing.x_at(now) + thing.w and thing.x_at(now) < x[0] + 1920
        ]
        return min(enemies, key=lambda thing: thing.x_at(now), default=None)

    # --- search -------------------------------------------------------------------------------

    def _harm(self, need: list[Array], safe: int) -> Array:
        """bool (ticks + 1, phases): whether the rider, in that phase at that tick, loses a life."""
        most = np.max(need, axis=0) if need else np.full(self._ticks + 1, -1.0)
        harm: Array = self._heights[None, :] < most[:, None]
        harm[: max(0, safe)] = False
        return harm

    def _search(self, harm: Array, phase: int) -> Play:
        """Best play by dynamic programming backwards over decisions."""
        phases = len(self._heights)
        later = np.zeros((self._decisions + 1, phases))
        if not harm.any():
            return Play(0.0, 0.0, later)
        free = self._free_flight(harm)
        waits = self._first_hits(harm, free, self._wait)
        jumps = self._first_hits(harm, free, self._jump)
        wait = jump = np.zeros(phases)
        for decision in reversed(range(self._decisions)):
            wait = self._after(self._wait, waits[decision], decision, later)
            jump = self._after(self._jump, jumps[decision], decision, later)
            later[decision] = np.minimum(wait, jump)
        return Play(float(wait[phase]), float(jump[phase]), later)

    def _first_hits(self, harm: Array, free: Array, action: Paths) -> Array:
        """Ticks from each decision to the first hit during the action, 0 for none: (decisions, phases,
        delays)."""
        start = np.arange(self._decisions) * self._period
        found = free[start][:, :, None]
        if action.delays[0] != NEVER:
            at = start[:, None] + action.delays
            after = action.delays + np.where(harm[at, 0], 0, free[at, 0])
            off = (found >= action.delays) & (action.before == len(self._heights) - 1)
            found = np.where(off, after[:, None, :], found)
        return np.where(found <= action.ticks, found, 0)

    def _free_flight(self, harm: Array) -> Array:
        """Ticks to the first hit of an untouched rider, from every tick and phase; many for none."""
        free = np.full(harm.shape, NEVER)
        for tick in reversed(range(len(harm) - 1)):
            ahead = np.where(harm[tick + 1], 1, free[tick + 1] + 1)
            free[tick, :-1] = ahead[1:]
            free[tick, -1] = ahead[-1]
        return free

    def _after(self, action: Paths, hits: Array, decision: int, later: Array) -> Array:
        """Lives lost on average from that decision on, by phase. After a hit the rider is taken to
        stand on the ground when he can be hurt again."""
        end = min(self._decisions, decision + action.ticks // self._period)
        unhurt = later[end][action.ends]
        if not hits.any():
            return np.asarray(unhurt @ action.chances)
        ready = decision + -(-(hits + self._safe_ticks) // self._period)
        hurt = 1.0 + later[np.minimum(ready, self._decisions), -1]
        return np.asarray(np.where(hits > 0, hurt, unhurt) @ action.chances)

    def _shoot(
        self,
        hazards: list[Thing],
        need: list[Array],
        enemy: Thing,
        play: Play,
        x: Array,
        now: int,
        phase: int,
        safe: int,
        aim: tuple[float, float],
    ) -> tuple[float, float]:
        """(chance that the enemy is killed, lives lost on average) when shot at now."""
        index = hazards.index(enemy)
        contact = np.flatnonzero(need[index] >= 0)
        kill_by = int(contact[0]) if contact.size else NEVER
        enemies = [thing for thing in hazards if thing.kind is Kind.ENEMY]
        heights = self._heights[np.minimum(phase + np.arange(self._shot.ticks + 1), len(self._heights) - 1)]
        killed = np.array(
            [
                self._kill_tick(int(d), heights, enemies, enemy, x, now, aim) < kill_by
                for d in self._jump.delays
            ]
        )
        chance = float(self._jump.chances @ killed)
        if chance == 0.0:
            return 0.0, math.inf
        without = self._harm([one for i, one in enumerate(need) if i != index], safe)
        freed = self._shot_value(without, self._search(without, phase).later, phase)
        if chance == 1.0:
            return chance, freed
        missed = self._shot_value(self._harm(need, safe), play.later, phase)
        return chance, chance * freed + (1 - chance) * missed

    def _shot_value(self, harm: Array, later: Array, phase: int) -> float:
        flight = np.minimum(phase + 1 + np.arange(self._shot.ticks), len(self._heights) - 1)
        hit = harm[1 + np.arange(self._shot.ticks), flight]
        hits = np.full((len(self._heights), 1), int(hit.argmax()) + 1 if hit.any() else 0)
        return float(self._after(self._shot, hits, 0, later)[phase])

    def _kill_tick(
        self,
        effect: int,
        heights: Array,
        enemies: list[Thing],
        enemy: Thing,
        x: Array,
        now: int,
        aim: tuple[float, float],
    ) -> int:
        """The tick at which an arrow loosed at tick `effect` kills that enemy; `NEVER` if it does not."""
        c = self._course
        dx, dy = aim if aim[0] > 0 else (1.0, 0.0)
        scale = c.arrow_speed_px_s / TICK_HZ / math.hypot(dx, dy)
        step, rise = dx * scale, dy * scale
        drop = c.arrow_gravity_px_s2 / TICK_HZ**2
        at_x = float(x[effect]) + c.rider_x + c.rider_w
        at_y = float(heights[effect - 1]) + c.rider_h / 2
        for tick in range(effect, min(effect + ARROW_TICKS, self._ticks)):
            rise -= drop
            next_x, next_y = at_x + step, at_y + rise
            for thing in enemies:
                left = thing.x_at(now + tick)
                if left <= next_x and at_x <= left + thing.w and min(at_y, next_y) <= thing.h:
                    return tick if thing is enemy else NEVER
            at_x, at_y = next_x, next_y
            if at_y <= 0.0 or at_x >= x[tick] + HORIZON_PX:
                return NEVER
        return NEVER


def jump_heights(jump_speed_px_s: float, gravity_px_s2: float) -> Array:
    """px above the ground after each tick of a jump, by the game's own steps; the last one is 0."""
    height, vy, gravity = LIFT_PX, jump_speed_px_s, gravity_px_s2 / TICK_HZ
    found = []
    while height > 0.0:
        height += (vy - gravity / 2) / TICK_HZ
        vy -= gravity
        found.append(max(0.0, height))
    return np.array(found)


def touch_delays(config: Config) -> tuple[Array, Array]:
    """Every delay a touch may have, in ticks, rising, and the chance of each."""
    chances = np.ones(1)
    low = 0
    for seconds in (config.delays.decision_to_touch_s, config.delays.touch_to_effect_s):
        first, last = to_ticks(seconds[0]), to_ticks(seconds[1])
        low += first
        chances = np.convolve(chances, np.full(last - first + 1, 1 / (last - first + 1)))
    return np.maximum(1, low + np.arange(len(chances))), chances


def paths(ground: int, ticks: int, delays: Array, chances: Array) -> Paths:
    """An action of that many ticks whose tap works after each of the delays, if he is on the ground."""
    phases = np.arange(ground + 1)[:, None]
    before = np.minimum(phases + delays - 1, ground)
    ends = np.where(before == ground, ticks - delays, phases + ticks)
    if delays[0] == NEVER:
        ends = phases + ticks
    return Paths(ticks, delays, chances, before, np.minimum(ends, ground))
