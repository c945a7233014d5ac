"""From the embedded game to detector weights: draw frames, write a YOLO data set, train, export, note.

The network starts from random weights and is small (a YOLO11 at an eighth of its width); nothing is
downloaded. What counts as an object is one rule, used for labels and for scores alike: at least 30 %
of its box lies inside the strip the detector looks at, and its box is cut to that strip.
Runs on the caller's thread; torch uses one or two of its own.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from config import Config
from greatwall.contracts import GameObject
from greatwall.data.frames import labelled_frames
from greatwall.errors import ConfigError
from greatwall.eyes.band import Band

VISIBLE_MIN = 0.3
VALIDATION_SEEDS = 1_000_000  # seeds from here on are not for training (SPEC 7)
SCALE = (0.33, 0.125, 512)  # depth, width, most channels of the YOLO11 family
OPSET = 17
VAL_PICTURES = 16  # ultralytics insists on a look at the end; the score that counts is our own
SHUFFLE_STREAM = 12  # purpose tag of the generator of the pictures' order


@dataclass(frozen=True)
class TrainingPlan:
    """One training run; equal plans on one machine give equal weights."""

    frames: int
    epochs: int
    seed: int
    threads: int
    input_size: tuple[int, int]  # px, multiples of 32, shaped like the strip
    batch: int = 16
    learning_rate: float = 0.003

    def __post_init__(self) -> None:
        for name in ("frames", "epochs", "threads", "batch"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: expected 1 or more, found {getattr(self, name)}; raise it")
        if not 0 <= self.seed < VALIDATION_SEEDS - self.frames:
            raise ConfigError(
                f"seed: expected 0 to {VALIDATION_SEEDS - self.frames - 1} for training, found {self.seed}; "
                "seeds from 1,000,000 on are for validation and test"
            )


def visible_boxes(
    objects: tuple[GameObject, ...], band: tuple[int, int], width: int
) -> list[tuple[str, float, float, float, float]]:
    """Class, x1, y1, x2, y2 px of the objects a detector is asked for, cut to the strip."""
    boxes = []
    for thing in objects:
        x1, x2 = max(0.0, thing.x), min(float(width), thing.x2)
        y1, y2 = max(float(band[0]), thing.y), min(float(band[1]), thing.y2)
        if x2 > x1 and y2 > y1 and (x2 - x1) * (y2 - y1) >= VISIBLE_MIN * thing.w * thing.h:
            boxes.append((thing.category, x1, y1, x2, y2))
    return boxes


def write_dataset(config: Config, plan: TrainingPlan, folder: Path) -> Path:
    """Pictures and YOLO labels of `plan.frames` frames; the data set's YAML file.

    The pictures are numbered in random order, since the training takes them in order of their names.
    """
    profile = config.profile
    band = Band(profile, profile.frame_size, plan.input_size)
    pictures, labels = folder / "images" / "train", folder / "labels" / "train"
    pictures.mkdir(parents=True)
    labels.mkdir(parents=True)
    order = np.random.default_rng([SHUFFLE_STREAM, plan.seed]).permutation(plan.frames)
    for number, frame in zip(order, labelled_frames(config, plan.frames, plan.seed), strict=True):
        cv2.imwrite(str(pictures / f"{number:06d}.png"), band.picture(frame.bgr))
        lines = []
        for category, x1, y1, x2, y2 in visible_boxes(
            frame.scene.objects, profile.play_band, profile.frame_size[0]
        ):
            x, y = (x1 + x2) / 2 * band.scale, ((y1 + y2) / 2 - band.y1) * band.scale
            w, h = (x2 - x1) * band.scale, (y2 - y1) * band.scale
            row = (
                x / plan.input_size[0],
                y / plan.input_size[1],
                w / plan.input_size[0],
                h / plan.input_size[1],
            )
            lines.append(" ".join([str(profile.classes.index(category)), *(f"{one:.6f}" for one in row)]))
        (labels / f"{number:06d}.txt").write_text("\n".join(lines), encoding="utf-8")
    data = folder / "data.yaml"
    names = dict(enumerate(profile.classes))
    some = "\n".join(str(pictures / f"{number:06d}.png") for number in range(min(plan.frames, VAL_PICTURES)))
    (folder / "val.txt").write_text(some, encoding="utf-8")
    listing = {"path": str(folder), "train": "images/train", "val": "val.txt", "names": names}
    data.write_text(json.dumps(listing), encoding="utf-8")  # JSON is YAML
    return data


def train_detector(config: Config, plan: TrainingPlan, weights: Path) -> dict[str, Any]:
    """Train by the plan, write `weights` (ONNX) and return the facts of the run."""
    begun_s = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="detector-") as name:
        folder = Path(name)
        data = write_dataset(config, plan, folder / "frames")
        drawn_s = time.perf_counter()
        exported = _train_yolo(config, plan, data, folder)
        weights.parent.mkdir(parents=True, exist_ok=True)
        copy_plain(exported, weights)
    return {
        "classes": list(config.profile.classes),
        "input_size": list(plan.input_size),
        "play_band": list(config.profile.play_band),
        "label_rule": f"at least {VISIBLE_MIN:.0%} of the box inside the strip, box cut to it",
        "network": {"family": "yolo11", "depth_width_max": list(SCALE), "weights": "random start"},
        "plan": asdict(plan),
        "seconds": {"frames": round(drawn_s - begun_s), "training": round(time.perf_counter() - drawn_s)},
        "versions": {one: version(one) for one in ("ultralytics", "torch", "onnx", "opencv-python")},
    }


def _train_yolo(config: Config, plan: TrainingPlan, data: Path, folder: Path) -> Path:
    """Ultralytics does the training; the exported ONNX file, raw output without suppression."""
    os.environ["YOLO_OFFLINE"] = "true"  # it would look for updates, weights and fonts
    os.environ["YOLO_AUTOINSTALL"] = "false"
    os.environ["YOLO_CONFIG_DIR"] = str(folder)
    os.environ["OMP_NUM_THREADS"] = str(plan.threads)
    import torch
    import ultralytics
    from ultralytics.utils import YAML

    torch.set_num_threads(plan.threads)
    family = Path(ultralytics.__file__).parent / "cfg" / "models" / "11" / "yolo11.yaml"
    network = YAML.load(family)
    network["nc"] = len(config.profile.classes)
    network["scales"] = {"small": list(SCALE)}
    described = folder / "greatwall.yaml"  # a name like yolo11s.yaml would load their own file instead
    described.write_text(json.dumps(network), encoding="utf-8")
    model = ultralytics.YOLO(str(described), task="detect")
    model.train(
        data=str(data),
        imgsz=max(plan.input_size),
        rect=True,
        epochs=plan.epochs,
        batch=plan.batch,
        nbs=plan.batch,
        optimizer="AdamW",
        lr0=plan.learning_rate,
        cos_lr=True,
        warmup_epochs=1.0,
        mosaic=0.0,
        fliplr=0.0,  # the rider faces right
        translate=0.05,
        scale=0.1,
        erasing=0.0,
        hsv_s=0.4,
        hsv_v=0.3,
        amp=False,
        val=False,
        plots=False,
        pretrained=False,
        device="cpu",
        workers=0,
        seed=plan.seed,
        deterministic=True,
        project=str(folder),
        name="run",
        verbose=True,
    )
    trained = ultralytics.YOLO(str(folder / "run" / "weights" / "last.pt"))
    height_width = (plan.input_size[1], plan.input_size[0])
    exported = trained.export(format="onnx", imgsz=height_width, opset=OPSET, simplify=False, nms=False)
    return Path(exported)


def copy_plain(exported: Path, weights: Path) -> None:
    """Copy an ONNX file without what ultralytics notes of the place and time of its making."""
    import onnx

    model = onnx.load(exported)
    for entry in list(model.metadata_props):
        if entry.key in ("date", "description", "args"):
            model.metadata_props.remove(entry)
    weights.write_bytes(model.SerializeToString(deterministic=True))


def write_note(weights: Path, facts: dict[str, Any]) -> Path:
    """The facts of a run as JSON beside the weights; what the run-time detector reads its classes from."""
    note = weights.with_suffix(".json")
    note.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return note
