"""When a picture was taken, from when it came: laws of the estimate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greatwall.device.phone.stream_clock import DRIFT, JUMP_S, StreamClock

FRAME_S = 1 / 30


@given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=60), st.floats(0, 1e6))
def test_a_picture_is_never_newer_than_its_arrival_nor_older_than_it_is(
    delays: list[float], zero: float
) -> None:
    """With what the quickest needed taken as nothing: the estimate is at least as late as the truth."""
    clock = StreamClock()
    for number, delay_s in enumerate(delays):
        taken_s = 100.0 + number * FRAME_S
        arrived_s = taken_s + delay_s
        captured_s = clock.captured_at_s(round((zero + number * FRAME_S) * 1e6), arrived_s)
        assert taken_s - 1e-4 <= captured_s <= arrived_s


def test_a_picture_that_was_late_is_known_to_be_old() -> None:
    clock = StreamClock()
    for number in range(30):
        clock.captured_at_s(round(number * FRAME_S * 1e6), 50.0 + number * FRAME_S)
    late = clock.captured_at_s(round(FRAME_S * 30 * 1e6), 50.0 + 30 * FRAME_S + 0.4)
    assert late == pytest.approx(50.0 + 30 * FRAME_S, abs=DRIFT)


@pytest.mark.parametrize("own_s", [0.0, 500.0], ids=["set back", "set forward"])
def test_a_clock_that_is_set_anew_is_followed_at_once(own_s: float) -> None:
    clock = StreamClock()
    clock.captured_at_s(100_000_000, 1.0)
    assert clock.captured_at_s(round(own_s * 1e6), 2.0) == 2.0


def test_a_gap_longer_than_any_way_is_taken_for_a_new_clock() -> None:
    clock = StreamClock()
    clock.captured_at_s(0, 1.0)
    arrived_s = 2.0 + JUMP_S
    assert clock.captured_at_s(500_000, arrived_s) == arrived_s


@pytest.mark.parametrize("drift", [-1e-4, 1e-4])
def test_drifting_clocks_are_followed(drift: float) -> None:
    """By 0.01 %, as the worst quartz clocks do, for ten minutes."""
    clock = StreamClock()
    worst_s = 0.0
    for number in range(18_000):
        arrived_s = number * FRAME_S
        captured_s = clock.captured_at_s(round(arrived_s * (1 + drift) * 1e6), arrived_s)
        worst_s = max(worst_s, arrived_s - captured_s)
    assert worst_s <= 1e-4


def test_a_way_that_stays_slow_is_not_forgotten() -> None:
    """Pictures that all come half a second late are half a second old after two minutes of it, too."""
    clock = StreamClock()
    clock.captured_at_s(0, 0.0)
    for number in range(1, 3600):
        taken_s = number * FRAME_S
        captured_s = clock.captured_at_s(round(taken_s * 1e6), taken_s + 0.5)
    assert captured_s == pytest.approx(taken_s, abs=120 * DRIFT + 1e-3)
