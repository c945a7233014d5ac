"""The rule player: sees what the Worker perceives, knows the delays, and remembers its own touches.

It jumps so that the middle of the unknown touch delay falls a little past the middle of the take-off
window, which makes its lead grow with speed, and shoots an enemy as soon as no jump is due meanwhile.
It runs on the Master's thread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from config import Config
from greatwall.contracts import Action, FloatArray, GameObject, Perception
from greatwall.players.flight import Window, air_time_s, both_in_turn, window_across, window_over

ARROW_REACH_PX = 1450.0  # an arrow aimed high lands about 1,500 px ahead
ALOFT_PX = 12.0  # lower is on the ground: a detector is not sure of the last few px
REFUSED_ENOUGH = 3  # equal measurements in a row that overrule what was believed
MARGIN_S = 0.07  # two ticks: between a moment and the perceptions that can show it


@dataclass(frozen=True)
class RuleSettings:
    """What was tuned, on validation seeds only."""

    aim: float = 0.6  # where in the take-off window the middle of the delay is put: 0 early, 1 late
    speed_blend: float = 0.3  # weight of the newest speed measurement
    shot_slack_s: float = 0.05  # spare time between the end of a shot's cooldown and a due jump


class RulePlayer:
    """Plays by rule. `reset` forgets everything but what was configured."""

    name = "rule"

    def __init__(self, config: Config, settings: RuleSettings | None = None) -> None:
        self._profile = config.profile
        self._course = config.course
        self._settings = settings or RuleSettings()
        self._period_s = 1.0 / config.worker.decision_hz
        low = config.delays.decision_to_touch_s[0] + config.delays.touch_to_effect_s[0]
        high = config.delays.decision_to_touch_s[1] + config.delays.touch_to_effect_s[1]
        self._delay_s = Window(low, high)
        self._air_s = air_time_s(config.course)
        x, y, w, h = config.profile.rider_box
        self._rider_right, self._ground_y = x + w, y + h
        self.reset(0)

    def reset(self, seed: int) -> None:
        """A new run; nothing here is random, so the seed does not matter."""
        self.speed_px_s = self._course.start_speed_m_s * self._course.px_per_m
        self._seen: Perception | None = None
        self._tapped_at_s = -math.inf
        self._aloft = False
        self._watched = False  # the take-off of this flight is known
        self._took_off_s = -math.inf  # as seen; or the middle of what the last tap may have caused
        self._shots: dict[int, float] = {}  # enemy track -> when it was shot at
        self._last_x: dict[int, float] = {}
        self._refused: list[float] = []  # speeds not believed, since the last one that was
        self._last_seen_s = -math.inf

    def act(self, observation: FloatArray, perception: Perception) -> Action:
        """The next action, which it takes to be done; `observation` is not used."""
        action = self.advise(observation, perception)
        self.took(action)
        return action

    def advise(self, observation: FloatArray, perception: Perception) -> Action:
        """What it would do. It looks, but remembers no touch until `took` tells which was made."""
        now_s = perception.perceived_at_s
        self._seen = perception
        self._measure_speed(perception)
        self._watch_flight(perception)
        landing_s = self._took_off_s + self._air_s
        due_s = self._jump_due_s(perception, now_s, landing_s)
        if now_s >= due_s - self._period_s / 2:
            return Action.JUMP
        if self._may_shoot(perception, now_s, landing_s, due_s):
            return Action.SHOOT
        return Action.WAIT

    def took(self, action: Action) -> None:
        """What was really done upon the perception advised on, by whomever."""
        if self._seen is None:
            return
        now_s = self._seen.perceived_at_s
        if action is Action.JUMP and self._took_off_s + self._air_s <= now_s + self._delay_s.late_s:
            self._tapped_at_s = now_s  # a tap that finds the rider in the air for sure comes to nothing
            self._took_off_s = now_s + self._delay_s.middle_s
            self._watched = False
        elif action is Action.SHOOT and self._seen.nearest_enemy < math.inf and self._seen.hud.arrows:
            target = self._target(self._seen)
            self._shots[target.track_id] = self._verdict_s(target, now_s)

    def _measure_speed(self, perception: Perception) -> None:
        """Blend in how fast standing things came nearer since the last look."""
        standing = {
            one.track_id: one.x2
            for one in (*perception.danger_list, *perception.soul_list, *perception.coin_list)
            if one.track_id >= 0 and one.visible > 0.99
        }
        elapsed_s = perception.captured_at_s - self._last_seen_s
        if 0.0 < elapsed_s < 1.5:
            moved = sorted(self._last_x[i] - x for i, x in standing.items() if i in self._last_x)
            if moved:
                speed = moved[len(moved) // 2] / elapsed_s
                if 0.5 < speed / self.speed_px_s < 1.5:
                    blend = self._settings.speed_blend
                    self.speed_px_s += blend * (speed - self.speed_px_s)
                    self._refused = []
                else:  # a track has jumped to another thing, or the run began at another speed
                    self._refused.append(speed)
                    self._believe_refused()
        self._last_x, self._last_seen_s = standing, perception.captured_at_s

    def _believe_refused(self) -> None:
        """Refused speeds that agree with each other, several in a row, are the speed."""
        newest = self._refused[-REFUSED_ENOUGH:]
        if len(newest) == REFUSED_ENOUGH and 0.0 < max(newest) < 1.1 * min(newest):
            self.speed_px_s, self._refused = newest[-1], []

    def _watch_flight(self, perception: Perception) -> None:
        """From the height seen, work out when the rider took off; a take-off once seen is kept."""
        height = self._ground_y - perception.horse_pos[3]
        seen_s = perception.captured_at_s
        earliest_s = self._tapped_at_s + self._delay_s.early_s
        latest_s = self._tapped_at_s + self._delay_s.late_s
        self._aloft = height > ALOFT_PX
        if not self._aloft:
            self._watched = False
            if seen_s > latest_s + MARGIN_S:  # the tap came to nothing, or he has landed
                self._took_off_s = min(self._took_off_s, seen_s - self._air_s)
            elif seen_s > earliest_s:  # not off yet: only the rest of the delay is left
                self._took_off_s = (seen_s + latest_s) / 2
            return
        if self._watched:
            return
        v, g = self._course.jump_speed_px_s, self._course.gravity_px_s2
        root = math.sqrt(max(0.0, v * v - 2 * g * height))
        rising_s = seen_s - (v - root) / g
        if earliest_s - MARGIN_S <= rising_s <= latest_s + MARGIN_S:
            self._took_off_s = rising_s
            self._watched = True
        else:  # lifted out of a gap, or first seen on the way down
            self._took_off_s = seen_s - (v + root) / g

    def _windows(self, perception: Perception) -> list[Window]:
        """Take-off windows of everything ahead that must be jumped, by their latest moment."""
        seen_s, speed = perception.captured_at_s, self.speed_px_s
        course = self._course
        windows = [
            window_over(course, one.x, one.x2, self._ground_y - one.y, seen_s, speed)
            for one in perception.danger_list
        ]
        closing = speed + course.enemy_speed_px_s
        windows += [
            window_over(course, one.x, one.x2, self._ground_y - one.y, seen_s, closing)
            for one in perception.enemy_list
            if not self._will_be_killed(one, perception.perceived_at_s)
        ]
        windows += [window_across(course, gap.x1, gap.x2, seen_s, speed) for gap in perception.ground.gaps]
        return sorted(windows, key=lambda window: window.late_s)

    def _will_be_killed(self, enemy: GameObject, now_s: float) -> bool:
        return now_s < self._shots.get(enemy.track_id, -math.inf)

    def _jump_due_s(self, perception: Perception, now_s: float, landing_s: float) -> float:
        """When to tap next; inf when nothing ahead asks for it."""
        soonest_s = max(now_s + self._delay_s.early_s, landing_s)
        ahead = []
        for window in self._windows(perception):
            cleared = window.early_s - 0.02 <= self._took_off_s <= window.late_s + 0.02
            if not cleared and window.late_s > soonest_s:
                ahead.append(window)
        if not ahead:
            return math.inf
        first = ahead[0].meet(Window(landing_s, math.inf))
        if len(ahead) > 1:
            first = both_in_turn(first, ahead[1], self._air_s, self._delay_s.length_s)
        aim = first.early_s + self._settings.aim * first.length_s
        return aim - self._delay_s.middle_s

    def _target(self, perception: Perception) -> GameObject:
        """The nearest enemy still ahead: the one the Worker aims at."""
        return next(one for one in perception.enemy_list if one.x2 > perception.horse_pos[0])

    def _verdict_s(self, target: GameObject, now_s: float) -> float:
        """By when an arrow shot now must have been seen to hit, else it has missed."""
        flight_s = (target.x - self._rider_right) / self._course.arrow_speed_px_s
        return now_s + self._delay_s.late_s + flight_s + self._period_s + MARGIN_S

    def _may_shoot(self, perception: Perception, now_s: float, landing_s: float, due_s: float) -> bool:
        """An arrow, an enemy ahead not yet shot at, both feet on the ground, and time enough."""
        if perception.hud.arrows == 0 or perception.nearest_enemy == math.inf or self._aloft:
            return False  # aimed from the air, the arrow would go into the ground
        target = self._target(perception)
        if self._will_be_killed(target, now_s) or landing_s > now_s + self._delay_s.early_s:
            return False
        release_s = now_s + self._delay_s.late_s
        closing = self.speed_px_s + self._course.enemy_speed_px_s
        left = target.x - self._rider_right - closing * (release_s - perception.captured_at_s)
        free_s = now_s + self._profile.shoot_cooldown_s + self._settings.shot_slack_s
        return 0.0 < left < ARROW_REACH_PX and free_s <= due_s
