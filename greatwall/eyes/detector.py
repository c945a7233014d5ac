"""The trained detector at run time: frame -> objects.

Decoding and non-maximum suppression are our own. One detector belongs to one thread at a time.
"""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from config import EyesConfig, GameProfile
from greatwall.contracts import FrameArray, GameObject
from greatwall.errors import ConfigError, FileFormatError
from greatwall.eyes.band import Band
from greatwall.eyes.networks import Network, Numbers, load_network

DEFAULT_WEIGHTS = Path(__file__).resolve().parents[2] / "models" / "detector.onnx"
CANDIDATES_MAX = 300  # the surest boxes that go into suppression


class Detector:
    """Boxes of the profile's classes in a frame of any size.

    Raises `ConfigError` without weights or runtime and `FileFormatError` for a file that is no
    detector of this game.
    """

    def __init__(self, profile: GameProfile, config: EyesConfig) -> None:
        path = Path(config.weights) if config.weights else DEFAULT_WEIGHTS
        if not path.is_file():
            raise ConfigError(
                f"detector weights: expected a file at {path}, found none; "
                "train them with: python -m greatwall detector train, and name them with --weights"
            )
        self._profile = profile
        self._confidence = config.confidence
        self._iou = config.iou
        self.network = load_network(path, config.runtime, config.threads)
        self.classes = _classes_of(path, profile, self.network)
        self._input_size = (self.network.input_shape[3], self.network.input_shape[2])
        self._band: Band | None = None

    def detect(self, bgr: FrameArray) -> tuple[GameObject, ...]:
        """Objects of one frame, left to right, boxes clipped to the frame, in frame px."""
        band = self._band
        size = (bgr.shape[1], bgr.shape[0])
        if band is None or band.frame_size != size:
            band = self._band = Band(self._profile, size, self._input_size)
        picture = band.picture(bgr)
        blob = cv2.dnn.blobFromImage(picture, 1 / 255, swapRB=True)
        output = self.network.infer(blob)[0]  # type: ignore[arg-type]
        boxes, scores, kinds = decode(output, self._confidence, self._iou)
        if not len(boxes):
            return ()
        boxes = band.to_frame(boxes)
        order = boxes[:, 0].argsort(kind="stable")
        rows = zip(boxes[order].tolist(), scores[order].tolist(), kinds[order].tolist(), strict=True)
        return tuple(
            GameObject(self.classes[kind], x1, y1, x2 - x1, y2 - y1, score)
            for (x1, y1, x2, y2), score, kind in rows
            if x2 > x1 and y2 > y1
        )


def decode(output: Numbers, confidence: float, iou: float) -> tuple[Numbers, Numbers, NDArray[np.intp]]:
    """Raw (4 + classes, boxes) -> kept boxes (K, 4) x1 y1 x2 y2 in input px, scores, class ids."""
    scores = output[4:].max(axis=0)
    kept = np.flatnonzero(scores > confidence)
    if len(kept) > CANDIDATES_MAX:
        kept = kept[np.argsort(-scores[kept])[:CANDIDATES_MAX]]
    scores = scores[kept]
    kinds = output[4:, kept].argmax(axis=0)
    x, y, w, h = output[:4, kept]
    boxes = np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], axis=1)
    best = suppress(boxes, scores, kinds, iou)
    return boxes[best], scores[best], kinds[best]


def suppress(boxes: Numbers, scores: Numbers, kinds: NDArray[np.intp], iou: float) -> NDArray[np.intp]:
    """Indices of the boxes that stay, surest first: no two of a class overlap by more than `iou`."""
    order = np.argsort(-scores, kind="stable")
    boxes, kinds = boxes[order], kinds[order]
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    shared = (high - low).clip(0).prod(axis=2)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    rivals = (shared > iou * (areas[:, None] + areas[None] - shared)) & (kinds[:, None] == kinds[None])
    alive = np.ones(len(boxes), bool)
    for i in range(len(boxes)):
        if alive[i]:
            alive[i + 1 :] &= ~rivals[i, i + 1 :]
    return order[alive]


def _classes_of(path: Path, profile: GameProfile, network: Network) -> tuple[str, ...]:
    """Class names in the order of the output, checked against the profile and the note beside the file."""
    classes = profile.classes
    note = path.with_suffix(".json")
    if note.is_file():
        try:
            classes = tuple(json.loads(note.read_text(encoding="utf-8"))["classes"])
        except (ValueError, KeyError, TypeError) as error:
            raise FileFormatError(
                f"{note}: expected JSON with the detector's classes, found something else; train it again"
            ) from error
    shape = network.output_shape
    if not all(isinstance(side, int) for side in network.input_shape[2:]):
        raise FileFormatError(
            f"{path}: expected a model for pictures of one size, found input shape {network.input_shape}; "
            "export it with fixed sides (dynamic=False)"
        )
    if len(network.input_shape) != 4 or len(shape) != 3 or shape[1] != 4 + len(classes):
        raise FileFormatError(
            f"{path}: expected a YOLO model of {len(classes)} classes with raw output, found output shape "
            f"{shape}; train it with: python -m greatwall detector train"
        )
    if not set(classes) <= set(profile.classes):
        raise FileFormatError(
            f"{path}: expected classes of {profile.name} ({', '.join(profile.classes)}), "
            f"found {', '.join(classes)}; use this game's weights"
        )
    return classes
