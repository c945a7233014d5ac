"""From the embedded game to detector weights: draw frames, write a YOLO data set, train, export, note.

The network is small (a YOLO11 at an eighth of its width) and starts from random weights or from an ONNX
file of its own kind; nothing is downloaded. What counts as an object is the rule of `visibility`.
Runs on the caller's thread; torch uses one or two of its own.
"""

from __future__ import annotations

import hashlib
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
from numpy.typing import NDArray

from config import Config
from greatwall.data.detector_weights import CALIBRATION_PICTURES, graph_of, open_weights, start_note
from greatwall.data.frames import FRAMES_PER_RUN, labelled_frames
from greatwall.data.training_screens import TrainingScreens, Wear
from greatwall.data.visibility import LABEL_RULE, rider_class, visible_boxes
from greatwall.errors import ConfigError
from greatwall.eyes.band import Band
from greatwall.eyes.detector import DEFAULT_WEIGHTS

VALIDATION_SEEDS = 1_000_000  # seeds from here on are not for training (SPEC 7)
SCALE = (0.33, 0.125, 512)  # depth, width, most channels of the YOLO11 family
OPSET = 17
VAL_PICTURES = 16  # ultralytics insists on a look at the end; the score that counts is our own
FRAMES_PER_LOOK = 20
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
    looks: int = 0  # how many looks train:0, train:1, ... are learnt beside the standard one
    start: str = ""  # an ONNX file of this network to go on from; empty is random weights

    def __post_init__(self) -> None:
        for name in ("frames", "epochs", "threads", "batch"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: expected 1 or more, found {getattr(self, name)}; raise it")
        if self.looks < 0:
            raise ConfigError(f"looks: expected 0 or more, found {self.looks}; 0 is the standard look alone")
        if not 0 <= self.seed < VALIDATION_SEEDS - self.frames:
            raise ConfigError(
                f"seed: expected 0 to {VALIDATION_SEEDS - self.frames - 1} for training, found {self.seed}; "
                "seeds from 1,000,000 on are for validation and test"
            )


def write_dataset(config: Config, plan: TrainingPlan, folder: Path) -> Path:
    """Pictures and YOLO labels of `plan.frames` frames; the data set's YAML file.

    The pictures are numbered in random order, since the training takes them in order of their names.
    """
    profile = config.profile
    rider = rider_class(profile)
    pictures, labels = folder / "images" / "train", folder / "labels" / "train"
    pictures.mkdir(parents=True)
    labels.mkdir(parents=True)
    order = np.random.default_rng([SHUFFLE_STREAM, plan.seed]).permutation(plan.frames)
    wear = Wear(plan.seed) if plan.looks else None
    screens = TrainingScreens(plan.seed, plan.looks) if plan.looks else None
    per_run = FRAMES_PER_LOOK if plan.looks else FRAMES_PER_RUN
    frames = labelled_frames(config, plan.frames, plan.seed, screens, per_run)
    for number, frame in zip(order, frames, strict=True):
        size = (frame.bgr.shape[1], frame.bgr.shape[0])
        band = Band(profile, size, plan.input_size)
        picture = band.picture(frame.bgr)
        if wear is not None:
            picture = wear.worn(picture)
        cv2.imwrite(str(pictures / f"{number:06d}.png"), picture)
        lines = []
        for category, *box in visible_boxes(frame.scene.objects, (band.y1, band.y2), size[0], rider):
            row = band.shares((box[0], box[1], box[2], box[3]))
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
    started = start_facts(plan, config.profile.classes)
    with tempfile.TemporaryDirectory(prefix="detector-") as name:
        folder = Path(name)
        data = write_dataset(config, plan, folder / "frames")
        drawn_s = time.perf_counter()
        learn(config, plan, data, folder, weights)
    return {
        "classes": list(config.profile.classes),
        "input_size": list(plan.input_size),
        "play_band": list(config.profile.play_band),
        "label_rule": LABEL_RULE,
        "network": {"family": "yolo11", "depth_width_max": list(SCALE), "weights": started},
        "plan": asdict(plan),
        "seconds": {"frames": round(drawn_s - begun_s), "training": round(time.perf_counter() - drawn_s)},
        "versions": {one: version(one) for one in ("ultralytics", "torch", "onnx", "opencv-python")},
    }


def start_facts(plan: TrainingPlan, classes: tuple[str, ...] = ()) -> str | dict[str, Any]:
    """What the training starts from, for the note: the file by its hash, and how it was made itself.

    The committed weights may be replaced by what is trained from them, so their name alone says nothing.

    Raises `FileFormatError` for a file that is missing or no model, and `ConfigError` where its note tells
    of other classes than are given, before anything is drawn.
    """
    if not plan.start:
        return "random start"
    path = Path(plan.start)
    graph_of(path)
    ours = path.resolve() == DEFAULT_WEIGHTS.resolve()
    facts: dict[str, Any] = {
        "start": "the file of this hash" + ", as committed in git before" * ours,
        "start_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    made = start_note(path, classes)
    if made:
        facts["start_was_made_by"] = {key: made[key] for key in ("command", "plan", "network") if key in made}
    return facts


def learn(config: Config, plan: TrainingPlan, data: Path, folder: Path, weights: Path) -> None:
    """Train on a YOLO data set (its YAML file) and write `weights`: ONNX, raw output without suppression.

    The data set's images are pictures of the strip, as `write_dataset` makes them. `folder` is for what
    ultralytics leaves, which does the training.
    """
    os.environ["YOLO_OFFLINE"] = "true"  # it would look for updates, weights and fonts
    os.environ["YOLO_AUTOINSTALL"] = "false"
    os.environ["YOLO_CONFIG_DIR"] = str(folder)
    os.environ["OMP_NUM_THREADS"] = str(plan.threads)
    import torch
    import ultralytics

    torch.set_num_threads(plan.threads)
    model = build_network(plan, len(config.profile.classes), folder)
    if plan.start:
        open_weights(model.model, Path(plan.start), _some_pictures(data, plan.input_size))
        model.ckpt = {"model": model.model}  # else ultralytics would build an empty network again
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
        warmup_epochs=min(1.0, plan.epochs / 10),
        mosaic=0.0,
        fliplr=0.0,  # the rider faces right
        translate=0.05,
        scale=0.1,
        erasing=0.0,
        hsv_h=0.5 if plan.looks else 0.015,
        hsv_s=0.7 if plan.looks else 0.4,
        hsv_v=0.45 if plan.looks else 0.3,
        amp=False,
        val=False,
        plots=False,
        pretrained=bool(plan.start),
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
    weights.parent.mkdir(parents=True, exist_ok=True)
    copy_plain(Path(exported), weights)


def build_network(plan: TrainingPlan, classes: int, folder: Path) -> Any:
    """The untrained network as ultralytics' `YOLO`."""
    import ultralytics
    from ultralytics.utils import YAML

    family = Path(ultralytics.__file__).parent / "cfg" / "models" / "11" / "yolo11.yaml"
    network = YAML.load(family)
    network["nc"] = classes
    network["scales"] = {"small": list(SCALE)}
    described = folder / "greatwall.yaml"  # a name like yolo11s.yaml would load their own file instead
    described.write_text(json.dumps(network), encoding="utf-8")
    return ultralytics.YOLO(str(described), task="detect")


def _some_pictures(data: Path, input_size: tuple[int, int]) -> NDArray[np.float32]:
    """The first pictures of a data set as the network takes them."""
    listing = json.loads(data.read_text(encoding="utf-8"))
    paths = sorted((Path(listing["path"]) / listing["train"]).glob("*.png"))[:CALIBRATION_PICTURES]
    pictures = [cv2.resize(np.asarray(cv2.imread(str(path))), input_size) for path in paths]
    stacked = np.stack([picture[:, :, ::-1].transpose(2, 0, 1) for picture in pictures])
    return stacked.astype(np.float32) / np.float32(255)


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
