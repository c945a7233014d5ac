"""Labelled frames: variety, exactness of the labels, sameness for equal seeds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from config import GREAT_WALL, Config
from greatwall.contracts import GameObject
from greatwall.data.frames import FRAMES_PER_RUN, LabelledFrame, labelled_frames, played_frames
from greatwall.data.visibility import visible_boxes


@pytest.fixture(scope="module")
def frames() -> list[LabelledFrame]:
    return list(labelled_frames(Config(), 90, 1_000_400))


def test_seeds_of_the_runs_follow_one_another(frames: list[LabelledFrame]) -> None:
    assert Counter(frame.seed for frame in frames) == {
        1_000_400: FRAMES_PER_RUN,
        1_000_401: FRAMES_PER_RUN,
        1_000_402: 90 - 2 * FRAMES_PER_RUN,
    }


def test_every_class_jumps_and_gaps_occur(frames: list[LabelledFrame]) -> None:
    things = [thing for frame in frames for thing in frame.scene.objects]
    assert {thing.category for thing in things} == set(GREAT_WALL.classes)
    assert any(thing.category == "horse" and thing.y < 700 for thing in things)
    assert any(frame.scene.gaps for frame in frames)


def test_equal_seeds_give_equal_frames(frames: list[LabelledFrame]) -> None:
    again = labelled_frames(Config(), 6, 1_000_400)
    for first, second in zip(frames, again, strict=False):
        assert first.scene == second.scene
        assert np.array_equal(first.bgr, second.bgr)


@pytest.mark.parametrize(
    ("x", "y", "w", "h", "expected"),
    [
        (100, 500, 80, 100, (100, 500, 180, 600)),
        (-40, 500, 80, 100, (0, 500, 40, 600)),  # cut by the left edge
        (-57, 500, 80, 100, None),  # 29 % left
        (1880, 500, 80, 100, (1880, 500, 1920, 600)),
        (1900, 500, 80, 100, None),
        (100, 900, 80, 100, None),  # 28 of 100 px inside the strip, which ends at 928
        (100, 890, 80, 100, (100, 890, 180, 928)),
        (100, 300, 80, 100, (100, 352, 180, 400)),
    ],
)
def test_rule_of_what_is_labelled(x: float, y: float, w: float, h: float, expected: tuple | None) -> None:
    boxes = visible_boxes((GameObject("coin", x, y, w, h),), (352, 928), 1920, "horse")
    assert boxes == ([] if expected is None else [("coin", *expected)])


def test_frames_of_each_tick_are_of_the_same_runs() -> None:
    often = list(played_frames(Config(), 60, 1_000_000, 30, each_tick=True))
    seldom = list(played_frames(Config(), 20, 1_000_000, 10))
    assert [one.first for one in often].count(True) == [one.first for one in seldom].count(True) == 2
    assert [one.frame.scene for one in often[2::3]] == [one.frame.scene for one in seldom]
    assert [one.run for one in often[2::3]] == [one.run for one in seldom]
