"""When must a jump begin so that the rider is over a hazard while it is under him? Pure geometry.

All times are seconds of the Worker's clock; a window is the span of take-off moments that clear a
hazard. The jump's shape is the course's: height = v t - g t^2 / 2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from config import CourseConfig

GAP_SLACK_PX = 40  # a gap is fallen into only when it reaches this far under the rider's hit box


class Window(NamedTuple):
    """Take-off moments, earliest to latest, that clear one hazard."""

    early_s: float
    late_s: float

    @property
    def length_s(self) -> float:
        return self.late_s - self.early_s

    @property
    def middle_s(self) -> float:
        return (self.early_s + self.late_s) / 2

    def meet(self, other: Window) -> Window:
        """Moments in both; of negative length when there are none."""
        return Window(max(self.early_s, other.early_s), min(self.late_s, other.late_s))


def air_time_s(course: CourseConfig) -> float:
    """Seconds from take-off to landing."""
    return 2 * course.jump_speed_px_s / course.gravity_px_s2


def above_s(course: CourseConfig, height_px: float) -> tuple[float, float]:
    """Seconds after take-off between which the rider is higher than that; equal when never."""
    v, g = course.jump_speed_px_s, course.gravity_px_s2
    root = math.sqrt(max(0.0, v * v - 2 * g * height_px))
    return (v - root) / g, (v + root) / g


def window_over(
    course: CourseConfig, x1: float, x2: float, height: float, seen_at_s: float, closing_px_s: float
) -> Window:
    """For an obstacle or enemy whose box spans x1..x2 px and is that high, seen at that moment."""
    hard_left = course.rider_x + course.inset_side_px
    hard_right = course.rider_x + course.rider_w - course.inset_side_px
    up, down = above_s(course, height - course.inset_top_px)
    enters = seen_at_s + (x1 - hard_right) / closing_px_s
    leaves = seen_at_s + (x2 - hard_left) / closing_px_s
    return Window(leaves - down, enters - up)


def window_across(course: CourseConfig, x1: float, x2: float, seen_at_s: float, speed_px_s: float) -> Window:
    """For a gap that spans x1..x2 px, seen at that moment."""
    hard_left = course.rider_x + course.inset_side_px
    hard_right = course.rider_x + course.rider_w - course.inset_side_px
    enters = seen_at_s + (x1 - hard_left) / speed_px_s
    leaves = seen_at_s + (x2 - hard_right + GAP_SLACK_PX) / speed_px_s
    return Window(leaves - air_time_s(course), enters)


def both_in_turn(first: Window, second: Window, air_s: float, spread_s: float) -> Window:
    """`first`, narrowed so that the second hazard can be cleared too, in the same jump or in a next one.

    `air_s` is a jump's length, `spread_s` that of the touch delay: a shared window longer than it will do.
    """
    both = first.meet(second)
    in_time = first.meet(Window(-math.inf, second.late_s - air_s))
    if both.length_s > 0 and both.length_s >= min(in_time.length_s, spread_s):
        return both
    if in_time.length_s > 0:
        return in_time
    return both if both.length_s > 0 else first
