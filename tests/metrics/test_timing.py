"""Rolling percentiles and rates."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greatwall.metrics.timing import Durations, Rate, WorkerTiming, percentile


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_is_one_of_the_values_and_has_its_share_below(values, share):
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9


def test_the_percentile_of_nothing_is_nan():
    assert math.isnan(percentile([], 0.5))


def test_only_the_newest_durations_count():
    durations = Durations(size=100)
    for ms in range(1000):
        durations.add_s(ms / 1000)
    assert durations.count == 100
    assert durations.summary() == {"p50": 949.0, "p95": 994.0}


def test_no_durations_are_no_figures():
    assert Durations().summary() == {"p50": None, "p95": None}


def test_a_rate_counts_intervals_not_events():
    rate = Rate()
    for i in range(91):
        rate.add(5.0 + i / 30)
    assert rate.overall(8.0) == pytest.approx(30.0)
    assert rate.lately() == pytest.approx(30.0)
    assert rate.period() == pytest.approx(1 / 30)
    assert rate.overall(11.0) == pytest.approx(15.0)


def test_a_rate_of_one_event_is_none_yet():
    rate = Rate()
    rate.add(1.0)
    assert (rate.overall(2.0), rate.lately(), rate.period()) == (0.0, 0.0, None)


def test_the_summary_has_the_published_names():
    summary = WorkerTiming().summary(0.0)
    assert {
        "grab_fps",
        "loop_fps",
        "frame_age_ms",
        "detector_ms",
        "hud_ms",
        "hud_period_s",
        "overruns",
    } <= set(summary)
