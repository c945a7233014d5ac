"""The seeded course: what stands on the wall, and where. Its own random generator, nothing else's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from config import TICK_HZ, CourseConfig
from greatwall.game.view import Kind, Thing

FIRST_FEATURE_X = 1400.0  # px: a run-up before the first feature
ENEMY_KEEPS_OFF_PX = 120.0  # an enemy stops walking this far from whatever stands before it
LOOKS = 6  # pictures are chosen by `look` modulo how many a kind has
COURSE_STREAM = 1  # purpose tag: one generator per purpose


class Course:
    """Places things from left to right. Equal seeds and equal calls give equal courses."""

    def __init__(self, config: CourseConfig, seed: int) -> None:
        self._config = config
        self._rng = np.random.default_rng([COURSE_STREAM, seed])
        weights = np.asarray(config.feature_weights, float)
        self._thresholds = np.cumsum(weights / weights.sum())
        self._weights = weights
        self.next_x = FIRST_FEATURE_X
        self._next_id = 0
        self._follows: Kind | None = None  # the kind just placed, when the next one is its close follower
        self._ground_end = 0.0  # right edge of the last thing an enemy cannot walk through

    def place(self, tick: int, speed_px_s: float) -> list[Thing]:
        """Place the next feature at `next_x` and move `next_x` on. One feature may be many coins."""
        c, rng = self._config, self._rng
        kind = self._choose_kind()
        x = self.next_x
        things = self._feature(kind, x, tick)
        if kind in (Kind.OBSTACLE, Kind.GAP):
            self._ground_end = things[-1].x + things[-1].w
        follows_closely = self._follows is None and rng.random() < c.close_follow_chance
        if follows_closely:
            self._follows = kind
            self.next_x = x + rng.uniform(*c.close_follow_px)
        else:
            self._follows = None
            start_speed = c.start_speed_m_s * c.px_per_m
            growth = min(c.spacing_growth_max, max(1.0, speed_px_s / start_speed))
            self.next_x = x + rng.uniform(*c.feature_spacing_px) * growth
        return things

    def _choose_kind(self) -> Kind:
        """A kind by weight; a close follower is of another kind than what it follows."""
        others = np.count_nonzero(self._weights) - (self._follows is not None)
        while True:
            kind = Kind(int(np.searchsorted(self._thresholds, self._rng.random(), side="right")))
            if kind is not self._follows or others == 0:
                return kind

    def _feature(self, kind: Kind, x: float, tick: int) -> list[Thing]:
        c, rng = self._config, self._rng
        look = int(rng.integers(LOOKS))
        if kind is Kind.OBSTACLE:
            w, h = rng.uniform(*c.obstacle_w_px), rng.uniform(*c.obstacle_h_px)
            return [self._thing(kind, x, round(w), round(h), 0.0, look, tick)]
        if kind is Kind.GAP:
            return [self._thing(kind, x, round(rng.uniform(*c.gap_w_px)), 0.0, 0.0, look, tick)]
        if kind is Kind.SOUL:
            return [
                self._thing(kind, x, c.soul_px, c.soul_px, round(rng.uniform(*c.soul_height_px)), look, tick)
            ]
        if kind is Kind.ENEMY:
            stop_x = min(x, self._ground_end + ENEMY_KEEPS_OFF_PX)
            speed = c.enemy_speed_px_s / TICK_HZ
            return [self._thing(kind, x, c.enemy_w_px, c.enemy_h_px, 0.0, look, tick, stop_x, speed)]
        low, high = c.coins_in_row
        count = int(rng.integers(low, high + 1))
        bottom = round(rng.uniform(*c.coin_high_px)) if rng.random() < 0.5 else c.coin_low_px
        return [
            self._thing(kind, x + i * c.coin_pitch_px, c.coin_px, c.coin_px, bottom, look, tick)
            for i in range(count)
        ]

    def _thing(
        self,
        kind: Kind,
        x: float,
        w: float,
        h: float,
        bottom: float,
        look: int,
        tick: int,
        stop_x: float | None = None,
        speed: float = 0.0,
    ) -> Thing:
        self._next_id += 1
        return Thing(
            self._next_id,
            kind,
            float(x),
            float(w),
            float(h),
            float(bottom),
            look,
            tick,
            float(x if stop_x is None else stop_x),
            speed,
        )

    def get_state(self) -> dict[str, Any]:
        """Generator and counters, as JSON-able values."""
        return {
            "rng": self._rng.bit_generator.state,
            "next_x": self.next_x,
            "next_id": self._next_id,
            "follows": None if self._follows is None else int(self._follows),
            "ground_end": self._ground_end,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave."""
        self._rng.bit_generator.state = state["rng"]
        self.next_x = float(state["next_x"])
        self._next_id = int(state["next_id"])
        self._follows = None if state["follows"] is None else Kind(state["follows"])
        self._ground_end = float(state["ground_end"])
