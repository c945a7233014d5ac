"""`python -m greatwall detector train|score`: teach the detector from the game, or examine it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from config import Config, replace_in
from greatwall.data.detector_scoring import TEST_SEEDS, score_detector
from greatwall.data.detector_training import TrainingPlan, train_detector, write_note
from greatwall.errors import ConfigError
from greatwall.eyes.detector import DEFAULT_WEIGHTS


@dataclass(frozen=True)
class Train:
    """Draw frames of the game, train a small YOLO from random weights, export it, score it, note it."""

    frames: int = 1600
    """Frames to draw and learn from."""
    epochs: int = 10
    """Passes over them."""
    seed: int = 0
    """First course seed, below 1,000,000; also the training's."""
    out: Path = DEFAULT_WEIGHTS.parent
    """Folder for detector.onnx and detector.json."""
    threads: int = 1
    """torch threads."""
    input_width: int = 640
    """Width of the network's picture, a multiple of 320 px; its height is three tenths of it."""
    exam_frames: int = 300
    """Frames of unseen seeds (from 2,000,000 on) it is scored on at the end."""

    def run(self) -> int:
        if self.input_width < 320 or self.input_width % 320:
            raise ConfigError(
                f"input-width: expected a multiple of 320, found {self.input_width}; use 640 or 960"
            )
        config = Config()
        size = (self.input_width, self.input_width * 3 // 10)
        plan = TrainingPlan(self.frames, self.epochs, self.seed, self.threads, size)
        weights = self.out / "detector.onnx"
        facts = train_detector(config, plan, weights)
        note = write_note(weights, facts)
        tested = replace_in(config, "eyes", weights=str(weights))
        facts["exam"] = score_detector(tested, self.exam_frames)
        write_note(weights, facts)
        show(facts["exam"])
        Console().print(f"wrote {weights} ({weights.stat().st_size / 1e6:.1f} MB) and {note}")
        return 0


@dataclass(frozen=True)
class Score:
    """Score detector weights on frames of seeds they have not seen."""

    frames: int = 300
    """Frames to draw."""
    seed: int = TEST_SEEDS
    """First course seed."""
    weights: str = ""
    """Detector file; empty is the committed one."""
    json: Path | None = None
    """Write the scores here, too."""

    def run(self) -> int:
        if self.frames < 1:
            raise ConfigError(f"frames: expected 1 or more, found {self.frames}; raise it")
        config = replace_in(Config(), "eyes", weights=self.weights)
        scores = score_detector(config, self.frames, self.seed)
        show(scores)
        if self.json is not None:
            write_json(self.json, scores)
        return 0


COMMAND = Annotated[Train, tyro.conf.subcommand("train")] | Annotated[Score, tyro.conf.subcommand("score")]


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Values as indented JSON."""
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def show(scores: dict[str, Any]) -> None:
    """The scores as one table."""
    table = Table(
        title=f"detector on {scores['frames']} unseen frames: mAP50 {scores['map50']:.3f}, "
        f"mAP50-95 {scores['map50_95']:.3f}, {scores['detect_ms']['p50']} ms a frame"
    )
    for column in ("class", "AP50", "AP50-95", "precision", "recall", "F1", "truth"):
        table.add_column(column, justify="left" if column == "class" else "right")
    for name, row in scores["classes"].items():
        table.add_row(
            name,
            *(f"{row[key]:.3f}" for key in ("ap50", "ap50_95", "precision", "recall", "f1")),
            str(row["truth"]),
        )
    Console().print(table)
