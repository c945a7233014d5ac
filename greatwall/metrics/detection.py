"""Detection scores: overlap, matching, precision and recall, mean average precision.

Boxes are rows x1, y1, x2, y2 in px. Pure functions; they run wherever they are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Boxes = NDArray[np.float64]  # (N, 4): x1, y1, x2, y2

IOU_LEVELS = np.arange(0.5, 1.0, 0.05)  # COCO's ten levels of mAP50-95
RECALL_LEVELS = np.linspace(0.0, 1.0, 101)  # COCO's interpolation points


def as_boxes(rows: Sequence[Sequence[float]]) -> Boxes:
    """Rows of x1, y1, x2, y2 as an array, (0, 4) when there are none."""
    return np.asarray(rows, np.float64).reshape(-1, 4)


def iou_matrix(first: Boxes, second: Boxes) -> NDArray[np.float64]:
    """Intersection over union of each box of `first` with each of `second`, (N, M), 0..1."""
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    shared = np.clip(high - low, 0.0, None).prod(axis=2)
    area1 = np.clip(first[:, 2:] - first[:, :2], 0.0, None).prod(axis=1)
    area2 = np.clip(second[:, 2:] - second[:, :2], 0.0, None).prod(axis=1)
    union = area1[:, None] + area2[None, :] - shared
    overlap: NDArray[np.float64] = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return overlap


def center_distances(first: Boxes, second: Boxes) -> NDArray[np.float64]:
    """Distance in px between the centres of each pair, (N, M)."""
    center1 = (first[:, :2] + first[:, 2:]) / 2
    center2 = (second[:, :2] + second[:, 2:]) / 2
    gaps: NDArray[np.float64] = np.linalg.norm(center1[:, None] - center2[None, :], axis=2)
    return gaps


def match_by_center(truth: Boxes, found: Boxes, within_px: float) -> list[tuple[int, int]]:
    """Pairs (truth, found) at most `within_px` apart: as many as possible, then the closest ones.

    The assignment is optimal (Hungarian): one box is never matched twice.
    """
    if not len(truth) or not len(found):
        return []
    distances = center_distances(truth, found)
    near = distances <= within_px
    cost = np.where(near, distances, 1e6)
    rows, columns = linear_sum_assignment(cost)
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if near[i, j]]


@dataclass(frozen=True)
class Counts:
    """Right, invented and missed detections of a class."""

    right: int = 0
    invented: int = 0
    missed: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.right + other.right, self.invented + other.invented, self.missed + other.missed)

    @property
    def precision(self) -> float:
        """Share of detections that are right; 1 when nothing was detected."""
        return self.right / (self.right + self.invented) if self.right + self.invented else 1.0

    @property
    def recall(self) -> float:
        """Share of the truth that was found; 1 when there was nothing to find."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = 2 * self.right + self.invented + self.missed
        return 2 * self.right / total if total else 1.0


def count_by_center(truth: Boxes, found: Boxes, within_px: float) -> Counts:
    """Counts of one class in one frame by the centre criterion."""
    right = len(match_by_center(truth, found, within_px))
    return Counts(right, len(found) - right, len(truth) - right)


@dataclass(frozen=True)
class FrameBoxes:
    """One class in one frame: the truth, what was found, and how sure the finder was."""

    truth: Boxes
    found: Boxes
    scores: NDArray[np.float64]


def average_precision(frames: Sequence[FrameBoxes], iou: float) -> float | None:
    """COCO's average precision of one class at one overlap; None when there is no truth at all.

    Detections, surest first, each take the still free truth box they overlap most, if by `iou`;
    precision is made monotone and averaged at 101 recall levels.
    """
    total = sum(len(frame.truth) for frame in frames)
    if total == 0:
        return None
    scores = np.concatenate([frame.scores for frame in frames]) if frames else np.zeros(0)
    right = np.concatenate([_hits(frame, iou) for frame in frames])
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(right[order])
    if not len(hits):
        return 0.0
    recall = hits / total
    precision = hits / np.arange(1, len(hits) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(recall, RECALL_LEVELS, side="left")
    sampled = np.where(at < len(precision), precision[np.minimum(at, len(precision) - 1)], 0.0)
    return float(sampled.mean())


def _hits(frame: FrameBoxes, iou: float) -> NDArray[np.float64]:
    """1 for each detection of a frame that is right, in the order of the detections."""
    right = np.zeros(len(frame.found))
    overlap = iou_matrix(frame.found, frame.truth)
    free = np.ones(len(frame.truth), bool)
    for i in np.argsort(-frame.scores, kind="stable"):
        if not free.any():
            break
        candidates = np.where(free, overlap[i], -1.0)
        best = int(candidates.argmax())
        if candidates[best] >= iou:
            right[i] = 1.0
            free[best] = False
    return right


@dataclass(frozen=True)
class MeanAveragePrecision:
    """mAP over classes that occur in the truth, and each class's own."""

    map50: float
    map50_95: float
    ap50: dict[str, float]
    ap50_95: dict[str, float]


def mean_average_precision(classes: dict[str, Sequence[FrameBoxes]]) -> MeanAveragePrecision:
    """mAP50 and mAP50-95 from each class's frames; classes without truth are left out."""
    ap50: dict[str, float] = {}
    ap50_95: dict[str, float] = {}
    for name, frames in classes.items():
        levels = [average_precision(frames, float(iou)) for iou in IOU_LEVELS]
        known = [level for level in levels if level is not None]
        if known:
            ap50[name] = known[0]
            ap50_95[name] = float(np.mean(known))
    return MeanAveragePrecision(
        float(np.mean(list(ap50.values()))) if ap50 else 0.0,
        float(np.mean(list(ap50_95.values()))) if ap50_95 else 0.0,
        ap50,
        ap50_95,
    )


def paired_overlaps(truth: Boxes, found: Boxes, pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Each truth box's overlap with the box it is paired with, (N,); 0 for one without, which is missed."""
    overlaps = np.zeros(len(truth))
    matrix = iou_matrix(truth, found)
    for i, j in pairs:
        overlaps[i] = matrix[i, j]
    return overlaps


def without_bystanders(
    truth: Boxes, found: Boxes, bystanders: Boxes, inside: float = 0.5
) -> NDArray[np.intp]:
    """Indices of the found boxes that count, (K,).

    A box that lies by `inside` of its area in a bystander's box, and overlaps no truth box by half,
    belongs to something that nobody asked for.
    """
    if not len(bystanders) or not len(found):
        return np.arange(len(found))
    low = np.maximum(found[:, None, :2], bystanders[None, :, :2])
    high = np.minimum(found[:, None, 2:], bystanders[None, :, 2:])
    shared = np.clip(high - low, 0.0, None).prod(axis=2).max(axis=1)
    area = np.clip(found[:, 2:] - found[:, :2], 0.0, None).prod(axis=1)
    among = shared >= inside * area
    right = iou_matrix(found, truth).max(axis=1) >= 0.5 if len(truth) else np.zeros(len(found), bool)
    return np.flatnonzero(~among | right)
