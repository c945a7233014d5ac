"""`python -m greatwall detector train|score`: teach the detector from the game, or examine it."""

from __future__ import annotations

import dataclasses
import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from config import Config, replace_in
from greatwall.assembly import check_seed
from greatwall.commands.output import check_output, check_output_folder, write_json
from greatwall.commands.profile import read_profile
from greatwall.data.detector_scoring import TEST_SEEDS, score_detector
from greatwall.data.detector_training import VALIDATION_SEEDS, TrainingPlan, train_detector, write_note
from greatwall.data.detector_tuning import examine, input_size_of, tune_detector
from greatwall.data.labelled_folder import read_labelled_folder
from greatwall.errors import ConfigError
from greatwall.eyes.detector import DEFAULT_WEIGHTS

NEW_WEIGHTS = DEFAULT_WEIGHTS.parent / "new"  # the committed ones are replaced by hand
TUNING_RATE = 0.001  # weights that know something learn on in smaller steps


@dataclass(frozen=True)
class Train:
    """Draw frames of the game, train a small YOLO, export it, score it, note it.

    With --data DIR it learns from labelled pictures instead, going on from our weights.
    """

    frames: int = 1600
    """Frames to draw and learn from."""
    epochs: int = 10
    """Passes over them."""
    seed: int = 0
    """First course seed, below 1,000,000; also the training's."""
    out: Path | None = None
    """Folder for detector.onnx and detector.json; models/new, or DIR/detector with --data."""
    data: Path | None = None
    """Learn from this folder of pictures and YOLO labels, as `dataset` writes and label tools correct it."""
    profile: Path | None = None
    """With --data: the game's profile, as `profile write` makes one; the embedded game's unless given."""
    threads: int = 1
    """torch threads."""
    input_width: int = 640
    """Width of the network's picture, a multiple of 64 px; its height is three tenths of it."""
    looks: int = 0
    """How many looks (train:0, train:1, ...) to learn beside the standard one; 0 is that one alone."""
    start: str = ""
    """An ONNX file of an earlier training to go on from; empty is random weights, or ours with --data;
    none is random weights with --data, too."""
    learning_rate: float = 0.003
    """At the beginning; it falls to a hundredth along a cosine."""
    exam_frames: int = 300
    """Frames of validation seeds (from 1,000,000 on) it is scored on at the end."""

    def run(self) -> int:
        if self.input_width < 320 or self.input_width % 64:
            raise ConfigError(
                f"input-width: expected a multiple of 64, 320 or more, found {self.input_width}; use 640"
            )
        config = Config(profile=read_profile(self.profile))
        if self.data is not None:
            return self._tune(config, self.data)
        if self.profile is not None:
            raise ConfigError("--profile: expected --data, found none; the embedded game draws itself alone")
        size = (self.input_width, math.ceil(self.input_width * 0.3 / 32) * 32)
        plan = TrainingPlan(
            self.frames,
            self.epochs,
            self.seed,
            self.threads,
            size,
            learning_rate=self.learning_rate,
            looks=self.looks,
            start=self.start,
        )
        check_output_folder(self.out or NEW_WEIGHTS, "--out")
        weights = (self.out or NEW_WEIGHTS) / "detector.onnx"
        facts = {"command": self._command(), **train_detector(config, plan, weights)}
        note = write_note(weights, facts)
        tested = replace_in(config, "eyes", weights=str(weights))
        facts["exam"] = score_detector(tested, self.exam_frames, VALIDATION_SEEDS)
        write_note(weights, facts)
        show(facts["exam"])
        Console(soft_wrap=True).print(
            f"wrote {weights} ({weights.stat().st_size / 1e6:.1f} MB) and {note}; "
            f"use it with --weights {weights}",
            highlight=False,
        )
        return 0

    def _command(self) -> str:
        """The command line that makes these weights again."""
        words = ["python", "-m", "greatwall", "detector", "train"]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value != field.default and field.name != "out":
                words += ["--" + field.name.replace("_", "-"), str(value)]
        return shlex.join(words)

    def _tune(self, config: Config, data: Path) -> int:
        """Learn from a labelled folder; score on the pictures of it that were kept out."""
        labelled = read_labelled_folder(data, config.profile)
        start = "" if self.start == "none" else self.start or str(DEFAULT_WEIGHTS)
        width = self.input_width
        size = input_size_of(start) or (width, math.ceil(width * 0.3 / 32) * 32)
        rate = TUNING_RATE if start and self.learning_rate == type(self).learning_rate else self.learning_rate
        plan = TrainingPlan(
            len(labelled.train), self.epochs, self.seed, self.threads, size, learning_rate=rate, start=start
        )
        out = self.out or (data.parent if data.name == "data.yaml" else data) / "detector"
        check_output_folder(out, "--out")
        console = Console(soft_wrap=True)
        console.print(
            f"{len(labelled.train)} pictures to learn from, {len(labelled.val)} to examine on, "
            f"{labelled.unlabelled} left out without a label file",
            highlight=False,
        )
        if not labelled.val_is_new:
            console.print("too few to keep any apart: it is examined on the training pictures")
        weights = out / "detector.onnx"
        facts = tune_detector(config, plan, labelled, weights)
        write_note(weights, facts)
        facts["exam"] = examine(config, labelled, weights)
        write_note(weights, facts)
        show(facts["exam"], "pictures kept apart" if labelled.val_is_new else "training pictures")
        console.print(f"wrote {weights}; use it with --weights {weights}", highlight=False)
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
        check_seed(self.seed, self.frames)
        check_output(self.json, "--json")
        config = replace_in(Config(), "eyes", weights=self.weights)
        scores = score_detector(config, self.frames, self.seed)
        show(scores)
        if self.json is not None:
            write_json(self.json, scores)
        return 0


COMMAND = Annotated[Train, tyro.conf.subcommand("train")] | Annotated[Score, tyro.conf.subcommand("score")]


def show(scores: dict[str, Any], of: str = "unseen frames") -> None:
    """The scores as one table."""
    table = Table(
        title=f"detector on {scores['frames']} {of}: mAP50 {scores['map50']:.3f}, "
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
