"""The rules: a rider, a wall, a clock of 1/30 s ticks. Pure state; no drawing, no thread, no waiting.

Equal seeds and equal touches at equal ticks give the same game for ever, whether or not anybody looks
and in however many calls the ticks are asked for. A tick in which nothing can touch the rider costs a
few additions: `_contact_x` says from where on something may.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from config import TICK_HZ, CourseConfig, DelayConfig, Seconds, to_ticks
from greatwall.game.course import Course
from greatwall.game.view import Arrow, Kind, Page, Thing, View

HORIZON_PX = 2600.0  # things are placed this far ahead of the left edge of the screen
BEHIND_PX = 60.0  # and forgotten this far behind it
FEET_PX = 40.0  # a gap that does not reach under all of the feet does not swallow the rider
SWIPE_MIN_PX = 100.0  # a shorter touch is a tap
FALLEN_DEAF_S = 1.5  # the fall plays this long before a touch opens the death page
BUTTON = (760, 930, 1160, 1070)  # x1, y1, x2, y2 of start / play again
TOUCH_STREAM = 2  # purpose tag of the touch-delay generator
RUN_STREAM = 3  # purpose tag of the seeds of later runs
TRAINING_SEEDS = 1_000_000  # seeds below are for training (SPEC 7)
HAZARDS = {Kind.OBSTACLE: "obstacle", Kind.ENEMY: "enemy", Kind.GAP: "gap"}

Touch = tuple[int, float, float, float, float]  # effect tick, x1, y1, x2, y2 (px of 1920x1080)


class Game:
    """The game in full. `new_game(seed)` starts a run; a fresh object shows the title page."""

    def __init__(self, course: CourseConfig, delays: DelayConfig, seed: int = 0) -> None:
        self.config = course
        self._touch_ticks = tuple(
            _tick_range(one) for one in (delays.decision_to_touch_s, delays.touch_to_effect_s)
        )
        self.best_m = 0
        self.tick = 0
        self._base_seed = seed
        self._run = -1  # how many runs were begun by the button since the seed was set
        self._begin(seed, Page.TITLE)

    def new_game(self, seed: int) -> None:
        """Begin a run of that seed at tick 0, at once; later runs' seeds follow from it."""
        self.tick = 0
        self.best_m = 0  # it is drawn: equal seeds and touches give equal pixels
        self._base_seed = seed
        self._run = 0
        self._begin(seed, Page.PLAYING)

    def _begin(self, seed: int, page: Page) -> None:
        c = self.config
        self.seed = seed
        self.page = page
        self.since = self.tick
        self.x = 0.0
        self.height = 0.0
        self.vy = 0.0
        self.lives = c.lives
        self.arrows = c.arrows
        self.coins = 0
        self.safe_until = 0  # tick until which the rider is invulnerable
        self.death = ""
        self.shots = 0
        self.kills = 0
        self.passed = dict.fromkeys(HAZARDS.values(), 0)
        self.hits = dict.fromkeys(HAZARDS.values(), 0)
        self.things: list[Thing] = []
        self.flying: list[Arrow] = []
        self._touches: list[Touch] = []
        self._touch_rng = np.random.default_rng([TOUCH_STREAM, seed])
        self._course = Course(c, seed)
        self._contact_x = -math.inf
        self._place_ahead()

    # --- touching -----------------------------------------------------------------------------

    def tap(self, x: float, y: float) -> None:
        """A finger down and up at x, y; it works after the phone's delay."""
        self.swipe(x, y, x, y)

    def swipe(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """A finger drawn from one point to another; shorter than 100 px it is a tap."""
        delay = sum(
            low if low == high else int(self._touch_rng.integers(low, high + 1))
            for low, high in self._touch_ticks
        )
        self._touches.append((self.tick + delay, x1, y1, x2, y2))
        self._touches.sort(key=lambda touch: touch[0])  # stable: equal ticks keep their order

    def _touched(self, touch: Touch) -> None:
        _, x1, y1, x2, y2 = touch
        if self.page is Page.PLAYING:
            if math.hypot(x2 - x1, y2 - y1) >= SWIPE_MIN_PX:
                self._shoot(x2 - x1, y1 - y2)
            elif self.height <= 0.0:
                self.vy = self.config.jump_speed_px_s
                self.height = 0.01
        elif self.page is Page.FALLEN:
            if self.tick - self.since >= to_ticks(FALLEN_DEAF_S):
                self._show(Page.DEATH)
        elif self.page in (Page.TITLE, Page.DEATH):
            left, top, right, bottom = BUTTON
            if left <= x1 <= right and top <= y1 <= bottom:
                self._show(Page.LOADING)

    def _shoot(self, dx: float, dy: float) -> None:
        c = self.config
        if self.arrows <= 0:
            return
        if dx <= 0:  # a bow cannot be drawn backwards at a gallop: it goes straight ahead
            dx, dy = 1.0, 0.0
        scale = c.arrow_speed_px_s / TICK_HZ / math.hypot(dx, dy)
        self.arrows -= 1
        self.shots += 1
        x = self.x + c.rider_x + c.rider_w
        self.flying.append(Arrow(x, self.height + c.rider_h / 2, dx * scale, dy * scale))

    def _show(self, page: Page) -> None:
        self.page = page
        self.since = self.tick

    # --- time ---------------------------------------------------------------------------------

    def advance(self, ticks: int) -> None:
        """Let that many ticks pass."""
        end = self.tick + ticks
        while self.tick < end:
            if self.page is Page.PLAYING:
                self._gallop(end)
            else:
                self._idle(end)

    def _idle(self, end: int) -> None:
        """Pages on which nothing moves: on to the next touch, the end of loading, or `end`."""
        stops = [end]
        if self._touches:
            stops.append(max(self._touches[0][0], self.tick + 1))
        if self.page is Page.LOADING:
            stops.append(max(self._loaded_at, self.tick + 1))
        self.tick = min(stops)
        while self._touches and self._touches[0][0] <= self.tick:
            self._touched(self._touches.pop(0))
        if self.page is Page.LOADING and self.tick >= self._loaded_at:
            self._run += 1
            seeds = np.random.SeedSequence([RUN_STREAM, self._base_seed, self._run])
            self._begin(int(seeds.generate_state(1)[0]) % TRAINING_SEEDS, Page.PLAYING)

    @property
    def _loaded_at(self) -> int:
        """The tick at which a loading page gives way to the run."""
        return self.since + to_ticks(self.config.loading_s)

    def _gallop(self, end: int) -> None:
        """Ticks of a live run, until `end` or until the page changes."""
        c = self.config
        dt = 1.0 / TICK_HZ
        start_px_s = c.start_speed_m_s * c.px_per_m
        gain = c.speed_gain_per_m  # (m/s per m) equals (px/s per px)
        gravity = c.gravity_px_s2 * dt
        place_x = self._course.next_x - HORIZON_PX
        x, tick = self.x, self.tick
        while tick < end:
            tick += 1
            x += (start_px_s + gain * x) * dt
            if x > place_x or (self._touches and self._touches[0][0] <= tick):
                self.x, self.tick = x, tick
                self._place_ahead()
                place_x = self._course.next_x - HORIZON_PX
                while self._touches and self._touches[0][0] <= tick:
                    self._touched(self._touches.pop(0))
            if self.height > 0.0:
                self.height += (self.vy - gravity / 2) * dt  # exact for constant acceleration
                self.vy -= gravity
                if self.height <= 0.0:
                    self.height = self.vy = 0.0
            if x >= self._contact_x or self.flying:
                self.x, self.tick = x, tick
                if self.flying:
                    self._fly(dt)
                if x >= self._contact_x:
                    self._touch_things()
                    if self.page is not Page.PLAYING:
                        return
        self.x, self.tick = x, tick

    def _place_ahead(self) -> None:
        """Place what comes over the horizon; forget (and count) what lies behind."""
        c = self.config
        while self._course.next_x < self.x + HORIZON_PX:
            new = self._course.place(self.tick, self.speed_px_s)
            self.things += new
            self._contact_x = min(self._contact_x, new[0].stop_x - c.rider_x - c.rider_w)
        behind = self.x - BEHIND_PX
        kept = []
        for thing in self.things:
            if thing.x_at(self.tick) + thing.w >= behind:
                kept.append(thing)
            elif thing.kind in HAZARDS:
                self.passed[HAZARDS[thing.kind]] += 1
        self.things = kept

    def _fly(self, dt: float) -> None:
        """Move the arrows; one that meets an enemy takes it along."""
        drop = self.config.arrow_gravity_px_s2 * dt * dt
        flying = []
        for arrow in self.flying:
            vy = arrow.vy - drop
            x, y = arrow.x + arrow.vx, arrow.y + vy
            hit = None
            for thing in self.things:
                if thing.kind is Kind.ENEMY:
                    left = thing.x_at(self.tick)
                    if left <= x and arrow.x <= left + thing.w and min(y, arrow.y) <= thing.h:
                        hit = thing
                        break
            if hit is not None:
                self.things.remove(hit)
                self.kills += 1
            elif y > 0.0 and x < self.x + HORIZON_PX:
                flying.append(Arrow(x, y, arrow.vx, vy))
        self.flying = flying

    def _touch_things(self) -> None:
        """Everything within the rider's reach this tick: hits, falls, coins, souls."""
        reach = self.config.rider_x + self.config.rider_w
        x, tick = self.x, self.tick
        left, right = x + self.config.rider_x, x + reach
        gone = []
        contact_x = math.inf
        for thing in self.things:
            x1 = thing.x if thing.speed == 0.0 else thing.x_at(tick)
            if x1 >= right:
                contact_x = min(contact_x, thing.stop_x - reach)
            elif x1 + thing.w > left:
                contact_x = x
                if thing.kind in HAZARDS:
                    if tick >= self.safe_until and self._hurts(thing, x1, left, right):
                        self._lose_life(thing)
                        if thing.kind is Kind.ENEMY:
                            gone.append(thing)
                elif self._collect(thing):
                    gone.append(thing)
        self._contact_x = contact_x
        for thing in gone:
            self.things.remove(thing)
        if self.lives == 0:
            self.best_m = max(self.best_m, self.distance_m)
            self._show(Page.FALLEN)

    def _hurts(self, thing: Thing, x1: float, left: float, right: float) -> bool:
        """Whether the rider, between `left` and `right`, falls into this gap or hits this hazard."""
        c, x2 = self.config, x1 + thing.w
        left, right = left + c.inset_side_px, right - c.inset_side_px
        if thing.kind is Kind.GAP:
            return self.height <= 0.0 and x1 < left and x2 > right - FEET_PX
        return x1 < right and x2 > left and self.height < thing.h - c.inset_top_px

    def _collect(self, thing: Thing) -> bool:
        """Take a coin or soul that the rider's box overlaps; True when taken."""
        c = self.config
        if thing.bottom >= self.height + c.rider_h or thing.bottom + thing.h <= self.height:
            return False
        if thing.kind is Kind.COIN:
            self.coins += 1
        else:
            self.arrows = min(c.arrows_max, self.arrows + c.soul_arrows)
        return True

    def _lose_life(self, thing: Thing) -> None:
        self.lives -= 1
        self.death = HAZARDS[thing.kind] if self.lives == 0 else ""
        self.hits[HAZARDS[thing.kind]] += 1
        self.safe_until = self.tick + to_ticks(self.config.invulnerable_s)
        if thing.kind is Kind.GAP:
            self.height, self.vy = 0.01, self.config.rescue_speed_px_s

    # --- looking ------------------------------------------------------------------------------

    @property
    def speed_px_s(self) -> float:
        return self.config.start_speed_m_s * self.config.px_per_m + self.config.speed_gain_per_m * self.x

    @property
    def distance_m(self) -> int:
        return int(self.x / self.config.px_per_m)

    def view(self) -> View:
        """This moment, for drawing and for truth; changes nothing."""
        return View(
            self.tick,
            self.page,
            self.since,
            self.x,
            self.height,
            self.vy,
            self.lives,
            self.arrows,
            self.coins,
            int(self.x / self.config.px_per_m),
            max(0, self.safe_until - self.tick),
            self.death,
            self.best_m,
            tuple(self.things),
            tuple(self.flying),
        )

    def facts(self) -> dict[str, Any]:
        """The game's own account of the run so far, for reports only."""
        return {
            "seed": self.seed,
            "distance_m": self.distance_m,
            "coins": self.coins,
            "obstacles": self.passed["obstacle"],
            "cliffs": self.passed["gap"],
            "shots": self.shots,
            "kills": self.kills,
            "hits": dict(self.hits),
            "death": self.death,
        }

    # --- state --------------------------------------------------------------------------------

    _PLAIN = "tick best_m seed since x height vy lives arrows coins safe_until death shots kills".split()

    def get_state(self) -> dict[str, Any]:
        """Everything, as JSON-able values: save, restore, edit."""
        return {
            **{name: getattr(self, name) for name in self._PLAIN},
            "page": int(self.page),
            "base_seed": self._base_seed,
            "run": self._run,
            "passed": dict(self.passed),
            "hits": dict(self.hits),
            "things": [list(thing) for thing in self.things],
            "flying": [list(arrow) for arrow in self.flying],
            "touches": [list(touch) for touch in self._touches],
            "touch_rng": self._touch_rng.bit_generator.state,
            "course": self._course.get_state(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave, edited or not; KeyError when something is missing."""
        for name in self._PLAIN:
            setattr(self, name, state[name])
        self.page = Page(state["page"])
        self._base_seed, self._run = state["base_seed"], state["run"]
        self.passed, self.hits = dict(state["passed"]), dict(state["hits"])
        self.things = [Thing(t[0], Kind(t[1]), *t[2:]) for t in state["things"]]
        self.flying = [Arrow(*arrow) for arrow in state["flying"]]
        self._touches = [(int(t[0]), *map(float, t[1:])) for t in state["touches"]]  # type: ignore[misc]
        self._touch_rng = np.random.default_rng(0)
        self._touch_rng.bit_generator.state = state["touch_rng"]
        self._course = Course(self.config, self.seed)
        self._course.set_state(state["course"])
        self._contact_x = -math.inf


def _tick_range(seconds: Seconds) -> tuple[int, int]:
    return to_ticks(seconds[0]), to_ticks(seconds[1])
