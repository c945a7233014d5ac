"""Detection scores against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greatwall.metrics.detection import (
    Counts,
    FrameBoxes,
    as_boxes,
    average_precision,
    count_by_center,
    iou_matrix,
    match_by_center,
    mean_average_precision,
)

Box = tuple[float, float, float, float]
boxes = st.tuples(*[st.floats(0, 500)] * 2, *[st.floats(1, 300)] * 2).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)


@pytest.mark.parametrize(
    ("first", "second", "iou"),
    [
        ((0, 0, 10, 10), (0, 0, 10, 10), 1.0),
        ((0, 0, 10, 10), (5, 0, 15, 10), 1 / 3),
        ((0, 0, 10, 10), (10, 0, 20, 10), 0.0),  # they touch
        ((0, 0, 10, 10), (30, 30, 40, 40), 0.0),
        ((0, 0, 10, 10), (2, 2, 4, 4), 0.04),
        ((5, 5, 5, 5), (5, 5, 5, 5), 0.0),  # no area
    ],
)
def test_iou(first: Box, second: Box, iou: float) -> None:
    assert iou_matrix(as_boxes([first]), as_boxes([second]))[0, 0] == pytest.approx(iou)


@given(boxes, boxes)
def test_iou_is_symmetric_and_a_share(first: Box, second: Box) -> None:
    one, other = as_boxes([first]), as_boxes([second])
    iou = iou_matrix(one, other)[0, 0]
    assert 0 <= iou <= 1 + 1e-9
    assert iou == pytest.approx(iou_matrix(other, one)[0, 0])
    assert iou_matrix(one, one)[0, 0] == pytest.approx(1)


def squares(*centers: float) -> np.ndarray:
    return as_boxes([(x - 5, 0, x + 5, 10) for x in centers])


@pytest.mark.parametrize(
    ("truth", "found", "pairs"),
    [
        ((), (), []),
        ((10,), (), []),
        ((10,), (14,), [(0, 0)]),
        ((10,), (31,), []),
        ((10, 20), (20, 10), [(0, 1), (1, 0)]),
        # the greedy choice (20 with 22) would leave 40 alone; the best assignment matches both
        ((20, 36), (22, 5), [(0, 1), (1, 0)]),
    ],
)
def test_matching_by_centre(truth: tuple, found: tuple, pairs: list) -> None:
    assert match_by_center(squares(*truth), squares(*found), 20) == pairs


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [
        (Counts(), 1.0, 1.0, 1.0),
        (Counts(8, 2, 0), 0.8, 1.0, 8 / 9),
        (Counts(0, 3, 4), 0.0, 0.0, 0.0),
        (Counts(6, 2, 4), 0.75, 0.6, 2 / 3),
    ],
)
def test_precision_recall_f1(counts: Counts, precision: float, recall: float, f1: float) -> None:
    assert (counts.precision, counts.recall, counts.f1) == pytest.approx((precision, recall, f1))


def test_counts_add_up_over_frames() -> None:
    total = count_by_center(squares(10, 50), squares(12), 5) + count_by_center(squares(), squares(1), 5)
    assert total == Counts(1, 1, 1)


def frame(truth: list[Box], found: list[tuple[Box, float]]) -> FrameBoxes:
    return FrameBoxes(as_boxes(truth), as_boxes([b for b, _ in found]), np.array([s for _, s in found]))


A: Box = (0, 0, 10, 10)
B: Box = (100, 0, 110, 10)
FAR: Box = (500, 0, 510, 10)


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([frame([A, B], [(A, 0.9), (B, 0.8)])], 1.0),
        ([frame([A, B], [])], 0.0),
        ([frame([A, B], [(A, 0.9)])], 51 / 101),  # recall levels 0 to 0.5
        ([frame([A], [(FAR, 0.9), (A, 0.8)])], 0.5),  # the wrong one is surer
        ([frame([A], [(A, 0.9), (FAR, 0.8)])], 1.0),  # it comes after all is found
        ([frame([A], [(A, 0.9), (A, 0.8)]), frame([B], [(B, 0.7)])], (51 + 50 * 2 / 3) / 101),  # a double
        ([frame([A], [(A, 0.5)]), frame([], [(A, 0.9)])], 0.5),  # invented in an empty frame
    ],
)
def test_average_precision(frames: list[FrameBoxes], expected: float) -> None:
    assert average_precision(frames, 0.5) == pytest.approx(expected)


def test_a_box_off_by_a_little_counts_at_low_overlaps_only() -> None:
    shifted = (1.5, 0, 11.5, 10)  # IoU 8.5 / 11.5 = 0.739: right at 0.50 to 0.70, five of ten levels
    mean = mean_average_precision({"coin": [frame([A], [(shifted, 0.9)])]})
    assert mean.map50 == pytest.approx(1.0)
    assert mean.map50_95 == pytest.approx(0.5)


def test_classes_without_truth_do_not_count() -> None:
    mean = mean_average_precision({"coin": [frame([A], [(A, 0.9)])], "soul": [frame([], [(B, 0.9)])]})
    assert mean.map50 == 1.0
    assert set(mean.ap50) == {"coin"}
