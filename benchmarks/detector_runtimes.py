"""Accuracy against milliseconds: input sizes and runtimes of the detector, fp32 and int8.

    python benchmarks/detector_runtimes.py [--frames 300] [--widths 512 640 768] [--weights A.onnx ...]

Each width is trained for a little while from the committed weights, all by one plan, so that they can be
compared with each other (but not with weights trained to the end). Each file is run by torch, ONNX Runtime
and OpenVINO; int8 is its statically quantised twin (ONNX Runtime's QDQ form, calibrated on training seeds),
run by both. OpenVINO stands twice: held to fp32, and as it runs by itself, which is bfloat16 on processors
that have it. One thread each; p10 is shown, which other programs on the machine disturb least. Frames are of
validation seeds, since the committed input and runtime are chosen by this table. Main thread.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["YOLO_OFFLINE"] = "true"
os.environ["YOLO_AUTOINSTALL"] = "false"

from config import Config, EyesConfig, GameProfile
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_json
from greatwall.data.detector_training import (
    VALIDATION_SEEDS,
    TrainingPlan,
    build_network,
    train_detector,
    write_note,
)
from greatwall.data.detector_weights import open_weights
from greatwall.data.frames import PlayedFrame, played_frames
from greatwall.data.perception_scoring import AHEAD_PX, BEHIND_PX, CONFIDENCE_FLOOR
from greatwall.data.visibility import rider_class, sort_boxes
from greatwall.errors import ConfigError
from greatwall.eyes.band import Band
from greatwall.eyes.detector import DEFAULT_WEIGHTS, Detector
from greatwall.eyes.networks import OnnxNetwork, OpenVinoNetwork
from greatwall.metrics.objects import ObjectTally
from greatwall.metrics.timing import percentile

RESULT = Path(__file__).with_suffix(".json")
CALIBRATION_SEED = 900_000
CALIBRATION_FRAMES = 96
WIDTHS_SEED = 730_000
COMMITTED = "committed"
Numbers = NDArray[np.float32]


def short_plan(width: int, frames: int, epochs: int) -> TrainingPlan:
    """What each width gets: the same frames, passes and rate, from the committed weights."""
    size = (width, math.ceil(width * 0.3 / 32) * 32)
    return TrainingPlan(
        frames, epochs, WIDTHS_SEED, 1, size, learning_rate=0.001, looks=600, start=str(DEFAULT_WEIGHTS)
    )


class TorchNetwork:
    """The exported weights, opened again and run by torch on the CPU; only this benchmark does that."""

    name = "torch"

    def __init__(self, weights: Path, classes: int, pictures: Numbers, folder: Path) -> None:
        import torch

        torch.set_num_threads(1)
        height, width = pictures.shape[2:]
        plan = TrainingPlan(1, 1, 0, 1, (width, height))
        model = build_network(plan, classes, folder).model
        open_weights(model, weights, pictures)
        self._torch = torch
        self._model = model.eval().fuse(verbose=False)
        self.input_shape = (1, 3, height, width)
        self.output_shape = tuple(self.infer(pictures[:1]).shape)

    def infer(self, blob: Numbers) -> Numbers:
        with self._torch.inference_mode():
            found = self._model(self._torch.from_numpy(blob))
        output: Numbers = (found[0] if isinstance(found, tuple | list) else found).numpy()
        return output


def calibration_pictures(profile: GameProfile, input_size: tuple[int, int]) -> Numbers:
    """Pictures of training seeds as the network takes them."""
    band = Band(profile, profile.frame_size, input_size)
    frames = played_frames(Config(), CALIBRATION_FRAMES * 4, CALIBRATION_SEED)
    some = [one.frame.bgr for number, one in enumerate(frames) if number % 4 == 0]
    pictures = [band.picture(bgr)[:, :, ::-1].transpose(2, 0, 1) for bgr in some]
    return np.stack(pictures).astype(np.float32) / 255


def quantised(weights: Path, pictures: Numbers, folder: Path) -> Path:
    """The int8 twin of an ONNX file: weights a channel, activations by the extremes seen.

    The head's last convolutions and all that turns them into boxes stay fp32, whose px need the digits.
    """
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self, entry: str) -> None:
            self._left: Iterator[dict[str, Numbers]] = iter([{entry: one[None]} for one in pictures])

        def get_next(self) -> dict[str, Numbers] | None:
            return next(self._left, None)

    prepared, target = folder / f"{weights.stem}_prepared.onnx", folder / "detector.onnx"
    quant_pre_process(str(weights), str(prepared), skip_symbolic_shape=True)
    graph = onnx.load(prepared).graph
    plain = {one.name for one in graph.initializer if one.name.startswith("model.23.") and one.dims[:1]}
    last = [node.name for node in graph.node if node.op_type == "Conv" and _is_last(node.input[1], plain)]
    quantize_static(
        str(prepared),
        str(target),
        Reader(graph.input[0].name),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        weight_type=QuantType.QInt8,
        activation_type=QuantType.QUInt8,
        op_types_to_quantize=["Conv"],
        nodes_to_exclude=last,
    )
    return target


def _is_last(name: str, plain: set[str]) -> bool:
    """Whether a weight is one of the head's convolutions that give boxes and scores."""
    return name in plain and (name.endswith(".2.weight") or ".dfl." in name)


def measure(detector: Detector, frames: list[PlayedFrame], config: Config) -> dict[str, Any]:
    """Accuracy over the frames, and times: of the network alone and of the whole detection."""
    profile = config.profile
    x, _, w, _ = profile.rider_box
    tally = ObjectTally(profile.classes, config.eyes.confidence, (x - BEHIND_PX, x + w + AHEAD_PX))
    width, rider = float(profile.frame_size[0]), rider_class(profile)
    blob = np.random.default_rng(0).random(detector.network.input_shape, np.float32)
    network_ms, detect_ms = [], []
    for one in frames:
        bgr, scene = one.frame.bgr, one.frame.scene
        assert scene is not None
        begun_s = time.perf_counter()
        found = detector.detect(bgr)
        detect_ms.append((time.perf_counter() - begun_s) * 1e3)
        begun_s = time.perf_counter()
        detector.network.infer(blob)
        network_ms.append((time.perf_counter() - begun_s) * 1e3)
        asked, bystanders = sort_boxes(scene.objects, profile.play_band, width, rider)
        rows = [(thing.category, thing.x, thing.y, thing.x2, thing.y2, thing.score) for thing in found]
        tally.add(asked, bystanders, rows)
    summary = tally.summary()
    return {
        "network_ms": {f"p{p}": round(percentile(network_ms, p / 100), 2) for p in (10, 50, 95)},
        "detect_ms": {f"p{p}": round(percentile(detect_ms, p / 100), 2) for p in (10, 50, 95)},
        **{name: summary[name] for name in ("f1_min", "mean_iou", "mean_iou_part", "map50", "map50_95")},
        "f1": {name: row["f1"] for name, row in summary["classes"].items()},
    }


@dataclass(frozen=True)
class DetectorRuntimes:
    """Measure weights through every runtime that is installed."""

    frames: int = 300
    """Perceived frames of validation seeds that each goes through: a choice is made by them."""
    weights: list[Path] = field(default_factory=lambda: [DEFAULT_WEIGHTS])
    """ONNX files that go through every runtime."""
    widths: list[int] = field(default_factory=list)
    """Input widths, multiples of 64, to train by one short plan each and run by OpenVINO and ONNX Runtime."""
    train_frames: int = 800
    """Frames each width is trained on."""
    train_epochs: int = 3
    """Passes over them."""
    json: Path = RESULT
    """Where the figures go."""

    def run(self) -> int:
        check_output(self.json, "--json")
        for width in self.widths:
            if width < 320 or width % 64:
                raise ConfigError(
                    f"--widths: expected multiples of 64, 320 or more, found {width}; change the number"
                )
        config = Config()
        frames = list(played_frames(config, self.frames, VALIDATION_SEEDS))
        rows = []
        for weights in self.weights:
            for row in self._measure_file(config, weights, frames):
                rows.append(row)
                Console().print(row)
        for width in self.widths:
            for row in self._measure_width(config, width, frames):
                rows.append(row)
                Console().print(row)
        plan = {"frames": self.train_frames, "epochs": self.train_epochs} if self.widths else {}
        facts = {"frames": self.frames, "seed": VALIDATION_SEEDS, "widths_plan": plan}
        result = {"machine": machine(), **facts, "rows": rows}
        write_json(self.json, result)
        show(rows)
        return 0

    def _measure_width(
        self, config: Config, width: int, frames: list[PlayedFrame]
    ) -> Iterator[dict[str, Any]]:
        """Train the width by the short plan, then run it by what would run it on a CPU."""
        with tempfile.TemporaryDirectory(prefix="widths-") as name:
            weights = Path(name) / "detector.onnx"
            plan = short_plan(width, self.train_frames, self.train_epochs)
            write_note(weights, train_detector(config, plan, weights))
            eyes = EyesConfig(weights=str(weights), confidence=CONFIDENCE_FLOOR)
            own = OpenVinoNetwork(weights, 1)
            for runtime, numbers, network in (
                ("onnx", "fp32", OnnxNetwork(weights, 1)),
                ("openvino", f"by itself ({own.precision})", own),
            ):
                detector = Detector(config.profile, eyes)
                detector.network = network
                yield {
                    "weights": f"short, {width}",
                    "input": list(plan.input_size),
                    "runtime": runtime,
                    "numbers": numbers,
                    "megabytes": round(weights.stat().st_size / 1e6, 2),
                    **measure(detector, frames, config),
                }

    def _measure_file(
        self, config: Config, weights: Path, frames: list[PlayedFrame]
    ) -> Iterator[dict[str, Any]]:
        shape = OnnxNetwork(weights, 1).input_shape
        pictures = calibration_pictures(config.profile, (shape[3], shape[2]))
        with tempfile.TemporaryDirectory(prefix="runtimes-") as name:
            folder = Path(name)
            small = quantised(weights, pictures, folder)
            classes = len(config.profile.classes)
            eyes = EyesConfig(weights=str(weights), confidence=CONFIDENCE_FLOOR)
            own = OpenVinoNetwork(weights, 1)
            for runtime, numbers, path, network in (
                ("torch", "fp32", weights, TorchNetwork(weights, classes, pictures, folder)),
                ("onnx", "fp32", weights, OnnxNetwork(weights, 1)),
                ("onnx", "int8", small, OnnxNetwork(small, 1)),
                ("openvino", "fp32", weights, OpenVinoNetwork(weights, 1, "f32")),
                ("openvino", f"by itself ({own.precision})", weights, own),
                ("openvino", "int8", small, OpenVinoNetwork(small, 1)),
            ):
                detector = Detector(config.profile, eyes)
                detector.network = network
                yield {
                    "weights": COMMITTED if weights == DEFAULT_WEIGHTS else weights.parent.name,
                    "input": [shape[3], shape[2]],
                    "runtime": runtime,
                    "numbers": numbers,
                    "megabytes": round(path.stat().st_size / 1e6, 2),
                    **measure(detector, frames, config),
                }


def show(rows: list[dict[str, Any]]) -> None:
    """The figures as one table."""
    table = Table(title="detector: accuracy against milliseconds")
    for column in ("input", "runtime", "network ms", "detect ms", "least F1", "IoU part", "mAP50-95", "MB"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            "x".join(map(str, row["input"])),
            f"{row['runtime']} {row['numbers']}",
            str(row["network_ms"]["p10"]),
            str(row["detect_ms"]["p10"]),
            *(str(row[key]) for key in ("f1_min", "mean_iou_part", "map50_95", "megabytes")),
        )
    Console().print(table)


if __name__ == "__main__":
    sys.exit(run_command(DetectorRuntimes, sys.argv[1:], "benchmarks/detector_runtimes.py"))
