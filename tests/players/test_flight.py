"""A jump that begins inside the window clears the hazard; one outside does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from config import CourseConfig
from greatwall.players.flight import Window, above_s, air_time_s, window_across, window_over

COURSE = CourseConfig()
HARD = (205.0, 285.0)  # the rider's hit box, px


def height_at(seconds: float) -> float:
    return max(0.0, COURSE.jump_speed_px_s * seconds - COURSE.gravity_px_s2 * seconds**2 / 2)


def touches(take_off_s: float, x1: float, x2: float, needed_px: float, speed: float) -> bool:
    """Whether a thing seen at time 0 is ever in the hit box while the rider is below `needed_px`."""
    for now in np.arange(0.0, 6.0, 0.002):
        under = x1 - speed * now < HARD[1] and x2 - speed * now > HARD[0]
        flying = now >= take_off_s
        if under and (height_at(now - take_off_s) if flying else 0.0) < needed_px:
            return True
    return False


@given(
    st.floats(500, 1400), st.floats(60, 110), st.floats(70, 120), st.floats(400, 700), st.floats(0.05, 0.95)
)
def test_inside_the_window_nothing_is_touched(
    x: float, w: float, h: float, speed: float, share: float
) -> None:
    window = window_over(COURSE, x, x + w, h, 0.0, speed)
    assume(window.length_s > 0.05)
    take_off = window.early_s + share * window.length_s
    assert not touches(take_off, x, x + w, h - 15 - 1.0, speed)


@pytest.mark.parametrize("beyond_s", [-0.03, 0.03])
def test_outside_the_window_the_obstacle_is_touched(beyond_s: float) -> None:
    window = window_over(COURSE, 900, 1000, 100, 0.0, 450)
    take_off = window.early_s + beyond_s if beyond_s < 0 else window.late_s + beyond_s
    assert touches(take_off, 900, 1000, 85, 450)


def test_a_jump_lasts_about_0_9_seconds() -> None:
    assert air_time_s(COURSE) == pytest.approx(0.9, abs=0.01)


def test_higher_obstacles_leave_less_time() -> None:
    low, high = above_s(COURSE, 60), above_s(COURSE, 140)
    assert low[0] < high[0] < high[1] < low[1]
    assert above_s(COURSE, 10_000)[0] == above_s(COURSE, 10_000)[1]


def test_a_wider_gap_leaves_less_time() -> None:
    narrow = window_across(COURSE, 800, 940, 0.0, 450)
    wide = window_across(COURSE, 800, 1030, 0.0, 450)
    assert wide.length_s < narrow.length_s
    assert wide.late_s == narrow.late_s


def test_windows_meet_where_both_hold() -> None:
    assert Window(1, 3).meet(Window(2, 5)) == Window(2, 3)
    assert Window(1, 2).meet(Window(3, 4)).length_s < 0
