"""Teach the detector on labelled pictures of one's own, going on from weights that know something alike.

Runs on the caller's thread; see `detector_training` for what does the work.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from config import Config
from greatwall.data.detector_scoring import CONFIDENCE_FLOOR, score_frames
from greatwall.data.detector_training import TrainingPlan, learn, start_facts
from greatwall.data.labelled_folder import LabelledFolder, as_frames, write_strips
from greatwall.errors import FileFormatError
from greatwall.eyes.detector import Detector


def tune_detector(
    config: Config, plan: TrainingPlan, labelled: LabelledFolder, weights: Path
) -> dict[str, Any]:
    """Train by the plan on the folder's training pictures, write `weights`; the facts of the run."""
    begun_s = time.perf_counter()
    started = start_facts(plan, config.profile.classes)
    with tempfile.TemporaryDirectory(prefix="detector-") as name:
        folder = Path(name)
        data = write_strips(labelled.train, config.profile, plan.input_size, folder / "frames")
        learn(config, plan, data, folder, weights)
    return {
        "classes": list(config.profile.classes),
        "input_size": list(plan.input_size),
        "play_band": list(config.profile.play_band),
        "network": {"weights": started},
        "plan": asdict(plan) | {"start": Path(plan.start).name},
        "pictures": {
            "train": len(labelled.train), "val": len(labelled.val), "unlabelled": labelled.unlabelled,
        },
        "seconds": round(time.perf_counter() - begun_s),
    }  # fmt: skip


def examine(config: Config, labelled: LabelledFolder, weights: Path) -> dict[str, Any]:
    """Scores on the pictures kept for validation, against their labels."""
    unsure = dataclasses.replace(config.eyes, weights=str(weights), confidence=CONFIDENCE_FLOOR)
    detector = Detector(config.profile, unsure)
    frames = as_frames(labelled.val, config.profile)
    scores = score_frames(config, detector, frames, in_drawing_order=False)
    return scores | {"pictures_were_learnt_from": not labelled.val_is_new}


def input_size_of(weights: str) -> tuple[int, int] | None:
    """The picture a detector was trained on, from the note beside its file; None without one."""
    note = Path(weights).with_suffix(".json")
    if not weights or not note.is_file():
        return None
    try:
        width, height = json.loads(note.read_text(encoding="utf-8"))["input_size"]
        return int(width), int(height)
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"{note}: expected JSON with the detector's input_size, found something else; train it again"
        ) from error
