"""Exported weights opened again: the same answers, in torch, and one line for files that cannot be."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from config import Config
from greatwall.data.detector_training import TrainingPlan, build_network, train_detector
from greatwall.data.detector_weights import open_weights
from greatwall.data.frames import played_frames
from greatwall.errors import FileFormatError
from greatwall.eyes.band import Band
from greatwall.eyes.detector import DEFAULT_WEIGHTS
from greatwall.eyes.networks import OnnxNetwork


@pytest.fixture(scope="module")
def committed() -> OnnxNetwork:
    return OnnxNetwork(DEFAULT_WEIGHTS, 1)


@pytest.fixture(scope="module")
def pictures(committed: OnnxNetwork) -> np.ndarray:
    profile = Config().profile
    band = Band(profile, profile.frame_size, (committed.input_shape[3], committed.input_shape[2]))
    frames = [band.picture(one.frame.bgr) for one in played_frames(Config(), 12, 1_000_700)]
    return np.stack([one[:, :, ::-1].transpose(2, 0, 1) for one in frames]).astype(np.float32) / 255


def network_for(classes: int, folder: Path) -> torch.nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's and ultralytics' own
        network: torch.nn.Module = build_network(TrainingPlan(1, 1, 0, 1, (640, 192)), classes, folder).model
    return network


def test_opened_weights_answer_as_the_exported_ones(
    tmp_path: Path, committed: OnnxNetwork, pictures: np.ndarray
) -> None:
    network = network_for(5, tmp_path)
    open_weights(network, DEFAULT_WEIGHTS, pictures)
    with torch.inference_mode():
        found = network.eval()(torch.from_numpy(pictures[:2]))
    answer = (found[0] if isinstance(found, tuple | list) else found).numpy()
    for n in range(2):
        assert np.abs(answer[n] - committed.infer(pictures[n : n + 1])[0]).max() < 0.05
    spread = [one.running_var.std() for one in network.modules() if isinstance(one, torch.nn.BatchNorm2d)]
    assert all(one > 0 for one in spread)  # normalisation is ready to learn on


def test_another_number_of_classes_is_one_line(tmp_path: Path, pictures: np.ndarray) -> None:
    with pytest.raises(FileFormatError, match=r"expected a tensor model\.") as caught:
        open_weights(network_for(3, tmp_path), DEFAULT_WEIGHTS, pictures)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"no model", DEFAULT_WEIGHTS.read_bytes()[:100_000]])
def test_bad_weights_to_start_from_are_one_line_before_anything_is_drawn(
    tmp_path: Path, content: bytes | None
) -> None:
    start = tmp_path / "start.onnx"
    if content is not None:
        start.write_bytes(content)
    plan = TrainingPlan(10**5, 1, 0, 1, (320, 96), start=str(start))  # drawing that many would take an hour
    with pytest.raises(FileFormatError, match="expected") as caught:
        train_detector(Config(), plan, tmp_path / "detector.onnx")
    assert "\n" not in str(caught.value)
