"""Mean, interquartile mean and bootstrap interval of scores over episodes or seeds.

The interquartile mean is the mean of the middle half (Agarwal et al. 2021, "Deep RL at the edge of the
statistical precipice"): one lucky run moves it little. Pure; runs on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

RESAMPLES = 2000


@dataclass(frozen=True)
class Summary:
    """Mean, interquartile mean, and the 95 % bootstrap interval of the interquartile mean."""

    mean: float
    iqm: float
    ci95: tuple[float, float]

    def as_json(self) -> dict[str, Any]:
        """`{"mean", "iqm", "ci95"}`, rounded to 3 places."""
        found = asdict(self)
        return {
            "mean": round(found["mean"], 3),
            "iqm": round(found["iqm"], 3),
            "ci95": [round(end, 3) for end in found["ci95"]],
        }


def mean(values: Sequence[float]) -> float:
    """The mean; raises ValueError for no values."""
    return float(np.mean(_checked(values)))


def iqm(values: Sequence[float]) -> float:
    """Mean of the middle half: a quarter of the values is cut off at either end."""
    return float(stats.trim_mean(_checked(values), 0.25))


def bootstrap_ci95(
    values: Sequence[float],
    statistic: Callable[[Sequence[float]], float] = iqm,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[float, float]:
    """95 % percentile bootstrap interval of a statistic of the values.

    One value, or equal values, give an interval of no width. The same seed gives the same interval.
    """
    checked = _checked(values)
    if checked.size == 1 or np.ptp(checked) == 0.0:
        only = float(statistic(checked.tolist()))
        return only, only
    if statistic is iqm:
        found = stats.bootstrap(
            (checked,),
            lambda sample, axis: stats.trim_mean(sample, 0.25, axis=axis),
            vectorized=True,
            method="percentile",
            n_resamples=resamples,
            rng=np.random.default_rng(seed),
        )
    else:
        found = stats.bootstrap(
            (checked,),
            lambda sample: statistic(sample.tolist()),
            vectorized=False,
            method="percentile",
            n_resamples=resamples,
            rng=np.random.default_rng(seed),
        )
    interval = found.confidence_interval
    return float(interval.low), float(interval.high)


def summarise(values: Sequence[float], seed: int = 0) -> Summary:
    """All three of the values, at least one."""
    return Summary(mean(values), iqm(values), bootstrap_ci95(values, iqm, seed))


def bootstrap_over_seeds_ci95(
    groups: Sequence[Sequence[float]], seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the IQM, of episodes in groups: one group a training seed.

    Episodes of one policy are alike, so the groups are drawn first, then episodes within each drawn one.
    A few seeds cannot show their whole spread: with three it holds the truth less often than 95 %.
    """
    checked = [_checked(group) for group in groups]
    if not checked:
        raise ValueError("statistics: expected at least one group of values, found none")
    rng = np.random.default_rng(seed)
    found = np.empty(resamples)
    for number in range(resamples):
        drawn = [checked[one] for one in rng.integers(len(checked), size=len(checked))]
        sample = np.concatenate([group[rng.integers(group.size, size=group.size)] for group in drawn])
        found[number] = stats.trim_mean(sample, 0.25)
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def summarise_over_seeds(groups: Sequence[Sequence[float]], seed: int = 0) -> Summary:
    """Mean and IQM of all episodes together; the interval is that of `bootstrap_over_seeds_ci95`."""
    pooled = [value for group in groups for value in group]
    return Summary(mean(pooled), iqm(pooled), bootstrap_over_seeds_ci95(groups, seed))


def _checked(values: Sequence[float]) -> NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"statistics: expected at least one value, found shape {array.shape}")
    return array
