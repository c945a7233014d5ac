"""Detection scores over frames: what is counted for each class, and what comes out. Pure.

All boxes are px of a 1920x1080 frame, whatever size was looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from greatwall.metrics.detection import (
    Boxes,
    Counts,
    FrameBoxes,
    as_boxes,
    match_by_center,
    mean_average_precision,
    paired_overlaps,
    without_bystanders,
)

CENTER_PX = 5.0  # a detection this close to the truth's centre is right
Row = tuple[str, float, float, float, float]  # class, x1, y1, x2, y2
FoundRow = tuple[str, float, float, float, float, float]  # and how sure


class ObjectTally:
    """Counts boxes frame by frame; `confidence` parts the sure boxes from those only mAP looks at.

    `part` is x1, x2 px: an object that reaches into it is one of those that decide.
    """

    def __init__(self, classes: Sequence[str], confidence: float, part: tuple[float, float]) -> None:
        self._classes = tuple(classes)
        self._confidence = confidence
        self._part = part
        self._each: dict[str, list[FrameBoxes]] = {name: [] for name in classes}
        self._counts = {name: Counts() for name in classes}
        self._part_counts = {name: Counts() for name in classes}
        self._overlaps: dict[str, list[float]] = {name: [] for name in classes}
        self._part_overlaps: dict[str, list[float]] = {name: [] for name in classes}
        self._left_errors: list[float] = []
        self.frames = 0

    def add(self, asked: Sequence[Row], bystanders: Sequence[Row], found: Sequence[FoundRow]) -> None:
        """One frame: the objects asked for, those that count neither way, and what was found."""
        self.frames += 1
        for name in self._classes:
            truth = as_boxes([row[1:] for row in asked if row[0] == name])
            boxes = as_boxes([row[1:5] for row in found if row[0] == name])
            scores = np.array([row[5] for row in found if row[0] == name])
            aside = as_boxes([row[1:] for row in bystanders if row[0] == name])
            kept = without_bystanders(truth, boxes, aside)
            boxes, scores = boxes[kept], scores[kept]
            self._each[name].append(FrameBoxes(truth, boxes, scores))
            self._add_sure(name, truth, boxes[scores >= self._confidence])

    def _add_sure(self, name: str, truth: Boxes, found: Boxes) -> None:
        pairs = match_by_center(truth, found, CENTER_PX)
        right = len(pairs)
        self._counts[name] += Counts(right, len(found) - right, len(truth) - right)
        self._left_errors += [abs(float(truth[i, 0] - found[j, 0])) for i, j in pairs]
        overlaps = paired_overlaps(truth, found, pairs)
        self._overlaps[name] += overlaps.tolist()
        inside = (truth[:, 2] > self._part[0]) & (truth[:, 0] < self._part[1])
        self._part_overlaps[name] += overlaps[inside].tolist()
        right_there = sum(bool(inside[i]) for i, _ in pairs)
        invented = set(range(len(found))) - {j for _, j in pairs}
        invented_there = sum(
            bool(found[j, 2] > self._part[0] and found[j, 0] < self._part[1]) for j in invented
        )
        self._part_counts[name] += Counts(right_there, invented_there, int(inside.sum()) - right_there)

    def summary(self) -> dict[str, Any]:
        """JSON-able: the means, and a row for each class; None where there was nothing to find."""
        mean = mean_average_precision({name: tuple(rows) for name, rows in self._each.items()})
        there = [name for name in self._classes if self._overlaps[name]]
        return {
            "frames": self.frames,
            "center_px": CENTER_PX,
            "confidence": self._confidence,
            "map50": round(mean.map50, 4),
            "map50_95": round(mean.map50_95, 4),
            "mean_iou": _mean([one for name in there for one in self._overlaps[name]]),
            "mean_iou_part": _mean([one for name in there for one in self._part_overlaps[name]]),
            "f1_min": min((round(self._counts[name].f1, 4) for name in there), default=None),
            "left_edge_error_px": _percentiles(self._left_errors),
            "classes": {
                name: {
                    "truth": self._counts[name].right + self._counts[name].missed,
                    "right": self._counts[name].right,
                    "missed": self._counts[name].missed,
                    "invented": self._counts[name].invented,
                    "precision": round(self._counts[name].precision, 4),
                    "recall": round(self._counts[name].recall, 4),
                    "f1": round(self._counts[name].f1, 4),
                    "f1_part": round(self._part_counts[name].f1, 4),
                    "mean_iou": _mean(self._overlaps[name]),
                    "mean_iou_part": _mean(self._part_overlaps[name]),
                    "ap50": round(mean.ap50.get(name, 0.0), 4),
                    "ap50_95": round(mean.ap50_95.get(name, 0.0), 4),
                }
                for name in there
            },
        }


def _mean(values: list[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def _percentiles(values: list[float]) -> dict[str, float | None]:
    if not values:
        return {"p50": None, "p95": None}
    return {f"p{p}": round(float(np.percentile(values, p)), 2) for p in (50, 95)}
