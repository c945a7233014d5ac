"""Which reads are believed, by tables of reads a third of a second apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from config import GREAT_WALL
from greatwall.contracts import Hud, HudRead
from greatwall.eyes.hud_filter import HudFilter

PERIOD_S = 0.3


def believed(field: str, reads: list[int | None], period_s: float = PERIOD_S) -> list[int | None]:
    hud_filter = HudFilter(GREAT_WALL)
    return [
        getattr(hud_filter.update(HudRead(**{field: read}), number * period_s), field)
        for number, read in enumerate(reads)
    ]


@pytest.mark.parametrize(
    ("field", "reads", "expected"),
    [
        ("lives", [3, 3, 2, 1, 0], [3, 3, 2, 1, 0]),  # a zero after a one counts at once
        ("lives", [3, 0, 3], [3, 3, 3]),  # a lone zero does not
        ("lives", [2, 0, 0], [2, 2, 0]),  # twice running it does
        ("lives", [0, 0], [None, 0]),  # nor does a lone zero before anything is known
        ("lives", [0, 3], [None, 3]),
        ("lives", [2, 7, 2], [2, 2, 2]),
        ("lives", [3, 11, 11], [3, 3, 3]),  # out of range is never true
        ("lives", [3, None, 2], [3, 3, 2]),
        ("lives", [3, 3, 2, 3, 3], [3, 3, 2, 2, 3]),  # a plausible misread is believed, and put right late
        ("distance", [120, 126, 138, 138, 144], [120, 126, 138, 138, 144]),
        ("distance", [120, 138, 132, 138], [120, 138, 138, 138]),
        ("arrows", [20, 19, 18, 21], [20, 19, 18, 21]),
        ("arrows", [20, 17, 17], [20, 20, 17]),  # several shots while nothing could be read
        ("arrows", [20, 70, 20], [20, 20, 20]),
        ("coins", [4, 5, 8], [4, 5, 8]),
        ("coins", [8, 3, 8], [8, 8, 8]),  # never fewer within a run
        ("coins", [77, 717, 77], [77, 77, 77]),
        ("coins", [8, 60, 60], [8, 8, 60]),
        ("distance", [100, 106, 112], [100, 106, 112]),
        ("distance", [77, 717, 89], [77, 77, 89]),
        ("distance", [112, 172, 124, 130], [112, 112, 124, 130]),
        ("distance", [112, 18, 124], [112, 112, 124]),  # a digit lost
        ("distance", [812, 3, 9, 15], [812, 812, 9, 15]),  # a new run: believed when it goes on
        ("distance", [717, 83, 89], [717, 717, 89]),  # a wrong first read is put right
        ("distance", [100, None, None, 118], [100, 100, 100, 118]),
    ],
)
def test_what_is_believed(field: str, reads: list[int | None], expected: list[int | None]) -> None:
    assert believed(field, reads) == expected


def test_values_keep_the_time_they_come_from() -> None:
    hud_filter = HudFilter(GREAT_WALL)
    assert hud_filter.hud == Hud()
    hud_filter.update(HudRead(3, 20, 0, 10), 1.0)
    hud = hud_filter.update(HudRead(None, 19, 0, 700), 1.3)
    assert (hud.lives, hud.lives_at_s) == (3, 1.0)
    assert (hud.arrows, hud.arrows_at_s) == (19, 1.3)
    assert (hud.distance, hud.distance_at_s) == (10, 1.0)
    assert (hud.read_id, hud.captured_at_s) == (2, 1.3)
    assert hud_filter.hud is hud


def test_a_read_older_than_the_newest_changes_nothing() -> None:
    hud_filter = HudFilter(GREAT_WALL)
    newest = hud_filter.update(HudRead(3, 20, 0, 10), 1.0)
    assert hud_filter.update(HudRead(2, 19, 1, 4), 0.7) == newest


def test_reset_forgets_everything() -> None:
    hud_filter = HudFilter(GREAT_WALL)
    hud_filter.update(HudRead(1, 5, 90, 2000), 100.0)
    hud_filter.reset()
    assert hud_filter.hud == Hud()
    assert hud_filter.update(HudRead(3, 20, 0, 0), 0.0)[:4] == (3, 20, 0, 0)
    assert hud_filter.hud.lives_at_s == 0.0
    assert not math.isinf(hud_filter.hud.captured_at_s)


def test_random_misreads_hardly_ever_show() -> None:
    rng = np.random.default_rng(5)
    hud_filter = HudFilter(GREAT_WALL)
    wrong = stale = 0
    for number in range(3000):
        at_s = number * PERIOD_S
        truth = int(20 * at_s)
        read: int | None = truth
        if rng.random() < 0.1:  # one read in ten is garbage, or nothing
            read = None if rng.random() < 0.3 else int(rng.integers(0, 100_000))
        hud = hud_filter.update(HudRead(distance=read), at_s)
        wrong += hud.distance != int(20 * hud.distance_at_s)
        stale += at_s - hud.distance_at_s > 1.0
    assert wrong <= 10
    assert stale <= 30


def test_a_runner_that_gets_faster_without_end_is_believed_at_every_read() -> None:
    hud_filter, metres, at_s = HudFilter(GREAT_WALL), 0.0, 0.0
    while metres < 60_000:  # 140 m/s at the end
        metres += (20 + 0.002 * metres) * 0.3
        at_s += 0.3
        assert hud_filter.update(HudRead(3, 20, 0, int(metres)), at_s).distance == int(metres)
