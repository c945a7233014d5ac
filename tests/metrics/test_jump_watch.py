"""The moment a jump shows, out of frames that come now and then; and what is no jump."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greatwall.metrics.jump_watch import WAIT_S, JumpWatch

GROUND_Y, RIDER_H = 880.0, 150.0
SPEED_PX_S, GRAVITY_PX_S2 = 1250.0, 2780.0  # the embedded game's jump


def feet(at_s: float, jumped_s: float) -> float:
    """Where the feet are when the rider jumps at `jumped_s`."""
    t = at_s - jumped_s
    if t <= 0:
        return GROUND_Y
    return min(GROUND_Y, GROUND_Y - (SPEED_PX_S * t - GRAVITY_PX_S2 * t * t / 2))


def watched(fps: float, phase: float, touched_s: float, jumped_s: float, until_s: float = 4.0) -> JumpWatch:
    watch = JumpWatch(GROUND_Y, RIDER_H)
    touched = False
    for i in range(int(until_s * fps)):
        at_s = (i + phase) / fps
        if not touched and at_s >= touched_s:
            assert watch.ready
            watch.touched(touched_s)
            touched = True
        watch.see(at_s, feet(at_s, jumped_s))
    return watch


@given(st.sampled_from([15.0, 30.0, 60.0]), st.floats(0, 0.999), st.floats(0.02, 1.2))
def test_a_jump_is_timed_to_a_fraction_of_a_frame(fps: float, phase: float, delay_s: float) -> None:
    watch = watched(fps, phase, 1.0, 1.0 + delay_s)
    assert watch.lost == watch.spoilt == 0
    assert watch.delays_s == pytest.approx([delay_s], abs=max(0.25 / fps, 0.005))


def test_a_touch_without_effect_is_lost_and_the_next_may_come() -> None:
    watch = watched(30, 0, 1.0, 1e9)
    assert (watch.lost, watch.delays_s) == (1, [])
    assert watch.ready


def test_a_fall_spoils_the_touch() -> None:
    watch = JumpWatch(GROUND_Y, RIDER_H)
    for i in range(5):
        watch.see(i / 30, GROUND_Y)
    watch.touched(0.14)
    watch.see(0.2, GROUND_Y + 40)
    assert (watch.spoilt, watch.watching) == (1, False)
    assert not watch.ready


def test_a_box_that_leaps_for_one_frame_is_no_jump() -> None:
    watch = JumpWatch(GROUND_Y, RIDER_H)
    for i in range(5):
        watch.see(i / 30, GROUND_Y)
    watch.touched(4 / 30)
    for i, y in enumerate([GROUND_Y - 60, GROUND_Y, GROUND_Y]):
        watch.see((5 + i) / 30, y)
    assert (watch.delays_s, watch.watching) == ([], True)
    watch.see(4 / 30 + WAIT_S + 0.1, GROUND_Y)
    assert watch.lost == 1


def test_frames_from_before_the_touch_say_nothing() -> None:
    watch = JumpWatch(GROUND_Y, RIDER_H)
    for i in range(3):
        watch.see(i / 30, GROUND_Y)
    watch.touched(1.0)
    watch.see(0.5, GROUND_Y - 100)
    watch.see(0.6, GROUND_Y - 140)
    assert watch.delays_s == []


def test_a_rider_in_the_air_is_not_ready() -> None:
    watch = JumpWatch(GROUND_Y, RIDER_H)
    for i in range(3):
        watch.see(i / 30, GROUND_Y - 100)
    assert not watch.ready
    watch.forget()
    assert not watch.ready
