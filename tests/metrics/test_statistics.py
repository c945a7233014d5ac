"""Mean, interquartile mean and bootstrap interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greatwall.metrics.statistics import (
    bootstrap_ci95,
    bootstrap_over_seeds_ci95,
    iqm,
    mean,
    summarise,
    summarise_over_seeds,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def test_iqm_is_the_mean_of_the_middle_half() -> None:
    assert iqm([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1000.0]) == pytest.approx(3.5)


def test_one_lucky_episode_moves_the_iqm_less_than_the_mean() -> None:
    usual = [100.0] * 19
    assert iqm([*usual, 10_000.0]) == 100.0
    assert mean([*usual, 10_000.0]) > 500.0


@given(VALUES)
def test_iqm_lies_between_the_extremes(values: list[float]) -> None:
    assert min(values) - 1e-6 <= iqm(values) <= max(values) + 1e-6


@pytest.mark.parametrize("values", [[5.0], [3.0, 3.0, 3.0]])
def test_equal_values_give_an_interval_of_no_width(values: list[float]) -> None:
    assert bootstrap_ci95(values) == (values[0], values[0])


def test_the_interval_holds_the_statistic_and_repeats_for_the_same_seed() -> None:
    values = np.random.default_rng(0).normal(1000.0, 200.0, 40).tolist()
    low, high = bootstrap_ci95(values, seed=3)
    assert low < iqm(values) < high
    assert (low, high) == bootstrap_ci95(values, seed=3)
    assert bootstrap_ci95(values, statistic=mean, resamples=200)[0] < mean(values)


def test_more_episodes_narrow_the_interval() -> None:
    values = np.random.default_rng(1).normal(0.0, 1.0, 400).tolist()
    few, many = bootstrap_ci95(values[:20]), bootstrap_ci95(values)
    assert many[1] - many[0] < few[1] - few[0]


def test_no_values_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        summarise([])


def test_a_summary_is_json_with_the_agreed_names() -> None:
    assert summarise([1.0, 2.0, 3.0]).as_json().keys() == {"mean", "iqm", "ci95"}


def coverage(seeds: int, episodes: int = 30, trials: int = 40) -> tuple[float, float]:
    """Share of made-up experiments whose interval holds the truth: over seeds, and all episodes pooled.

    Policies of different seeds differ as much as the episodes of one policy do.
    """
    rng = np.random.default_rng(seeds)
    over_seeds = pooled = 0
    for _ in range(trials):
        groups = rng.normal(1000.0, 200.0, (seeds, 1)) + rng.normal(0.0, 200.0, (seeds, episodes))
        low, high = bootstrap_over_seeds_ci95(groups.tolist(), resamples=200)
        over_seeds += low <= 1000.0 <= high
        low, high = bootstrap_ci95(groups.ravel().tolist(), resamples=200)
        pooled += low <= 1000.0 <= high
    return over_seeds / trials, pooled / trials


def test_an_interval_over_seeds_holds_the_truth_as_often_as_it_says() -> None:
    over_seeds, pooled = coverage(seeds=10)
    assert over_seeds >= 0.85
    assert pooled <= 0.6, "episodes of one policy are not independent: pooled, they promise too much"


def test_with_three_seeds_it_holds_the_truth_far_more_often_than_pooled_episodes() -> None:
    over_seeds, pooled = coverage(seeds=3)
    assert over_seeds >= pooled + 0.2


def test_an_interval_over_seeds_repeats_and_is_wider_than_the_pooled_one() -> None:
    groups = [[100.0, 110.0, 120.0], [200.0, 210.0, 220.0], [300.0, 310.0, 320.0]]
    found = summarise_over_seeds(groups)
    assert found == summarise_over_seeds(groups)
    pooled = summarise([value for group in groups for value in group])
    assert (found.mean, found.iqm) == (pooled.mean, pooled.iqm)
    assert found.ci95[1] - found.ci95[0] > pooled.ci95[1] - pooled.ci95[0]


@pytest.mark.parametrize("groups", [[], [[1.0], []]])
def test_no_groups_and_empty_groups_are_refused(groups: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        bootstrap_over_seeds_ci95(groups)
