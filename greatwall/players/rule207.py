"""The rule player of the 207 numbers: it sees what a policy sees, and its own clock, nothing else.

The clock counts what its own actions have cost, which gives it the speed (the course's is a function of
time) and the moment of its last tap. Of each kind of thing it knows the nearest one up to 500 px away,
of a gap both ends up to 600 px; widths and heights it has to assume, and it never sees its own height.
It runs on the Master's thread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from config import TICK_HZ, Config, cooldown_s
from greatwall.contracts import TERRAIN_SAMPLES, Action, FloatArray, Perception
from greatwall.players.flight import Window, air_time_s, both_in_turn, window_across, window_over

OBJECT_RANGE_PX = 500.0  # SPEC 3: what is farther reads as 1
OBSTACLE, ENEMY, ARROWS = TERRAIN_SAMPLES, TERRAIN_SAMPLES + 1, TERRAIN_SAMPLES + 4
SAME_ENEMY_PX = 60.0  # an enemy this near to where the one shot at must be by now is that one


@dataclass(frozen=True)
class Rule207Settings:
    """What was tuned, by random search on validation seeds 1,000,000 to 1,000,059 alone."""

    aim: float = 0.5  # where in the take-off window the middle of the delay is put: 0 early, 1 late
    obstacle_h_px: float = 112.0  # assumed of every obstacle
    obstacle_w_px: float = 90.0
    shot_slack_s: float = -0.2  # spare time between the end of a shot's cooldown and a due jump
    shot_min_px: float = -90.0  # room an enemy must still have when the arrow is loosed at the latest
    landing_slack_s: float = 0.0  # how much later than the earliest loosing the rider may land


class Rule207Player:
    """Plays by rule from the observation alone. `reset` sets its clock to 0."""

    name = "rule207"

    def __init__(self, config: Config, settings: Rule207Settings | None = None) -> None:
        course, delays = config.course, config.delays
        self._profile, self._course = config.profile, course
        self._settings = settings or Rule207Settings()
        self._period_s = config.worker.decision_ticks / TICK_HZ
        self._delay_s = Window(
            delays.decision_to_touch_s[0] + delays.touch_to_effect_s[0],
            delays.decision_to_touch_s[1] + delays.touch_to_effect_s[1],
        )
        self._age_s = sum(delays.capture_to_perceived_s) / 2
        self._air_s = air_time_s(course)
        x, y, w, h = config.profile.rider_box
        self._rider_right, self._ground_y = x + w, y + h
        self.reset(0)

    def reset(self, seed: int) -> None:
        """A new run; nothing here is random, so the seed does not matter."""
        self._now_s = 0.0
        self._took_off_s = -math.inf  # the middle of what the last tap may have caused
        self._killed_until_s = -math.inf
        self._enemy_x = math.inf  # px ahead of the rider, in the observation advised on
        self._shot_at_x = math.inf  # where the enemy shot at was, px ahead of the rider
        self._shot_s = -math.inf

    def begin_at(self, speed_px_s: float) -> None:
        """Right after `reset`: the run begins where the course is that fast, not at its start."""
        c = self._course
        start = c.start_speed_m_s * c.px_per_m
        if c.speed_gain_per_m > 0.0:
            self._now_s = math.log(speed_px_s / start) / c.speed_gain_per_m

    def act(self, observation: FloatArray, perception: Perception) -> Action:
        """The next action, which it takes to be done; of `perception` nothing is used."""
        action = self.advise(observation, perception)
        self.took(action)
        return action

    def advise(self, observation: FloatArray, perception: Perception) -> Action:
        """What it would do. Nothing is remembered of it until `took` tells what was done."""
        self._enemy_x = self._enemy_px(observation)
        if self._may_shoot(observation):
            return Action.SHOOT
        jump = self._now_s >= self._jump_due_s(observation) - self._period_s / 2
        return Action.JUMP if jump else Action.WAIT

    def took(self, action: Action) -> None:
        """What was really done upon the observation advised on, by whomever: its clock goes on by that."""
        if action is Action.JUMP:
            if self._took_off_s + self._air_s <= self._now_s + self._delay_s.late_s:
                self._took_off_s = self._now_s + self._delay_s.middle_s  # else the tap finds him in the air
        elif action is Action.SHOOT and 0.0 < self._enemy_x < OBJECT_RANGE_PX:
            self._shot_s, self._shot_at_x = self._now_s, self._enemy_x
            flight_s = self._shot_at_x / self._course.arrow_speed_px_s
            self._killed_until_s = self._now_s + self._delay_s.late_s + flight_s + self._period_s
        self._now_s += max(cooldown_s(self._profile, action), self._period_s)

    @property
    def speed_px_s(self) -> float:
        """The course's speed by this clock: dv/dt = gain v, so v grows as exp(gain t)."""
        c = self._course
        return c.start_speed_m_s * c.px_per_m * math.exp(c.speed_gain_per_m * self._now_s)

    def _enemy_px(self, observation: FloatArray) -> float:
        return float(observation[ENEMY]) * OBJECT_RANGE_PX

    def _is_killed(self, enemy_px: float) -> bool:
        """Whether the nearest enemy is the one an arrow is on its way to."""
        if self._now_s >= self._killed_until_s:
            return False
        closing = self.speed_px_s + self._course.enemy_speed_px_s
        expected = max(0.0, self._shot_at_x - closing * (self._now_s - self._shot_s))
        return abs(enemy_px - expected) < SAME_ENEMY_PX

    def _windows(self, observation: FloatArray, with_enemy: bool) -> list[Window]:
        """Take-off windows of what is seen ahead, by their latest moment."""
        course, settings, right = self._course, self._settings, self._rider_right
        speed, seen_s = self.speed_px_s, self._now_s - self._age_s
        windows = []
        obstacle_px = float(observation[OBSTACLE]) * OBJECT_RANGE_PX
        if 0.0 < obstacle_px < OBJECT_RANGE_PX:
            x1, width, height = right + obstacle_px, settings.obstacle_w_px, settings.obstacle_h_px
            windows.append(window_over(course, x1, x1 + width, height, seen_s, speed))
        enemy_px = self._enemy_px(observation)
        if with_enemy and 0.0 < enemy_px < OBJECT_RANGE_PX and not self._is_killed(enemy_px):
            x1, closing = right + enemy_px, speed + course.enemy_speed_px_s
            windows.append(
                window_over(course, x1, x1 + course.enemy_w_px, course.enemy_h_px, seen_s, closing)
            )
        missing = np.flatnonzero(observation[:TERRAIN_SAMPLES] < 0.5)
        if missing.size and missing[0] > 0:
            step = self._profile.terrain_step_px
            ground_after = np.flatnonzero(observation[missing[0] : TERRAIN_SAMPLES] >= 0.5)
            end = missing[0] + (ground_after[0] if ground_after.size else missing.size)
            x1, x2 = right + float(missing[0]) * step, right + float(end) * step
            if not ground_after.size:
                x2 = max(x2, x1 + course.gap_w_px[1])
            windows.append(window_across(course, x1, x2, seen_s, speed))
        return sorted(windows, key=lambda window: window.late_s)

    def _jump_due_s(self, observation: FloatArray, with_enemy: bool = True) -> float:
        """When to tap next; inf when nothing seen asks for it."""
        landing_s = self._took_off_s + self._air_s
        soonest_s = max(self._now_s + self._delay_s.early_s, landing_s)
        ahead = [
            window
            for window in self._windows(observation, with_enemy)
            if window.late_s > soonest_s and not window.early_s <= self._took_off_s <= window.late_s
        ]
        if not ahead:
            return math.inf
        first = ahead[0].meet(Window(landing_s, math.inf))
        if len(ahead) > 1:
            first = both_in_turn(first, ahead[1], self._air_s, self._delay_s.length_s)
        return first.early_s + self._settings.aim * first.length_s - self._delay_s.middle_s

    def _may_shoot(self, observation: FloatArray) -> bool:
        """An arrow, an enemy in sight not yet shot at, both feet on the ground, and time enough.

        What is in sight is so near that a shot and then a jump over the same enemy never both fit in.
        """
        enemy_px = self._enemy_px(observation)
        if observation[ARROWS] <= 0.0 or not 0.0 < enemy_px < OBJECT_RANGE_PX or self._is_killed(enemy_px):
            return False
        latest_landing_s = self._now_s + self._delay_s.early_s + self._settings.landing_slack_s
        if self._took_off_s + self._air_s > latest_landing_s:
            return False  # aimed from the air, the arrow would go into the ground
        closing = self.speed_px_s + self._course.enemy_speed_px_s
        left_px = enemy_px - closing * (self._age_s + self._delay_s.late_s)
        free_s = self._now_s + self._profile.shoot_cooldown_s + self._settings.shot_slack_s
        other_due_s = self._jump_due_s(observation, with_enemy=False)
        return left_px > self._settings.shot_min_px and free_s <= other_due_s
