"""How good the detector is on frames it has not seen: mAP, precision and recall, speed.

Boxes are compared inside the strip the detector looks at, by the rule of `visibility`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from config import Config
from greatwall.contracts import GameObject
from greatwall.data.frames import LabelledFrame, labelled_frames
from greatwall.data.visibility import rider_class, visible_boxes
from greatwall.eyes.detector import Detector
from greatwall.metrics.detection import (
    Counts,
    FrameBoxes,
    as_boxes,
    count_by_center,
    match_by_center,
    mean_average_precision,
)

CONFIDENCE_FLOOR = 0.01  # average precision wants the unsure boxes too
CENTER_PX = 5.0  # a detection this close to the truth's centre is right
TEST_SEEDS = 2_000_000


def score_detector(config: Config, frames: int, seed: int = TEST_SEEDS) -> dict[str, Any]:
    """Scores of the configured detector on `frames` frames of runs from `seed` on, JSON-able."""
    unsure = dataclasses.replace(config.eyes, confidence=CONFIDENCE_FLOOR)
    detector = Detector(config.profile, unsure)
    return score_frames(config, detector, labelled_frames(config, frames, seed)) | {"seed": seed}


def score_frames(
    config: Config, detector: Detector, frames: Iterable[LabelledFrame], *, in_drawing_order: bool = True
) -> dict[str, Any]:
    """The same over given frames; `detector` should let unsure boxes through.

    Without `in_drawing_order` no object hides another: hand-drawn labels have no such order, and training
    on them (`labelled_folder.write_strips`) takes each by itself.
    """
    profile = config.profile
    each: dict[str, list[FrameBoxes]] = {name: [] for name in profile.classes}
    counts = {name: Counts() for name in profile.classes}
    rider = rider_class(profile)
    left_errors: list[float] = []
    times_s: list[float] = []
    seen = 0
    for frame in frames:
        seen += 1
        begun_s = time.perf_counter()
        found = detector.detect(frame.bgr)
        times_s.append(time.perf_counter() - begun_s)
        objects = frame.scene.objects
        wanted = [
            box
            for group in ([objects] if in_drawing_order else [(one,) for one in objects])
            for box in visible_boxes(group, profile.play_band, profile.frame_size[0], rider)
        ]
        for name in profile.classes:
            truth = as_boxes([box[1:] for box in wanted if box[0] == name])
            of_class = [one for one in found if one.category == name]
            scores = np.array([one.score for one in of_class])
            each[name].append(FrameBoxes(truth, _corners(of_class), scores))
            sure = _corners([one for one in of_class if one.score >= config.eyes.confidence])
            counts[name] += count_by_center(truth, sure, CENTER_PX)
            pairs = match_by_center(truth, sure, CENTER_PX)
            left_errors += [abs(float(truth[i, 0] - sure[j, 0])) for i, j in pairs]
    mean = mean_average_precision({name: tuple(rows) for name, rows in each.items()})
    return {
        "frames": seen,
        "map50": round(mean.map50, 4),
        "map50_95": round(mean.map50_95, 4),
        "classes": {
            name: {
                "ap50": round(mean.ap50.get(name, 0.0), 4),
                "ap50_95": round(mean.ap50_95.get(name, 0.0), 4),
                "precision": round(counts[name].precision, 4),
                "recall": round(counts[name].recall, 4),
                "f1": round(counts[name].f1, 4),
                "truth": counts[name].right + counts[name].missed,
            }
            for name in profile.classes
        },
        "criterion": f"centre within {CENTER_PX:.0f} px at confidence {config.eyes.confidence}",
        "left_edge_error_px": {
            "p50": round(float(np.percentile(left_errors, 50)), 2) if left_errors else None,
            "p95": round(float(np.percentile(left_errors, 95)), 2) if left_errors else None,
        },
        "detect_ms": {
            "p50": round(float(np.percentile(times_s, 50)) * 1e3, 2) if times_s else None,
            "p95": round(float(np.percentile(times_s, 95)) * 1e3, 2) if times_s else None,
        },
        "runtime": detector.network.name,
    }


def _corners(objects: list[GameObject]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return as_boxes([(one.x, one.y, one.x2, one.y2) for one in objects])
