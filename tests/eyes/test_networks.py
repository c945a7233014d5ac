"""Which runtime is taken, and what a damaged file or a missing runtime says."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from config import GREAT_WALL, EyesConfig
from greatwall.errors import ConfigError, FileFormatError
from greatwall.eyes import networks
from greatwall.eyes.detector import DEFAULT_WEIGHTS, Detector
from greatwall.eyes.networks import GpuNetwork, NotHere, OpenVinoNetwork, load_network


def test_the_fastest_runtime_present_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Taken:
        name = "gpu"

        def __init__(self, path: Path, threads: int) -> None: ...

    assert load_network(DEFAULT_WEIGHTS, "auto", 1).name == "openvino"  # no GPU provider is installed
    monkeypatch.setitem(networks.RUNTIMES, "gpu", Taken)
    assert load_network(DEFAULT_WEIGHTS, "auto", 1).name == "gpu"


def test_a_gpu_that_was_asked_for_and_is_not_there_is_one_line() -> None:
    with pytest.raises(ConfigError, match="onnxruntime-gpu") as caught:
        Detector(GREAT_WALL, EyesConfig(runtime="gpu"))
    assert "\n" not in str(caught.value)


def test_without_a_gpu_provider_there_is_no_gpu() -> None:
    with pytest.raises(NotHere):
        GpuNetwork(DEFAULT_WEIGHTS, 1)


def test_precisions_agree_on_what_they_see() -> None:
    blob = np.random.default_rng(3).random(OpenVinoNetwork(DEFAULT_WEIGHTS, 1).input_shape, np.float32)
    exact = OpenVinoNetwork(DEFAULT_WEIGHTS, 1, "f32")
    assert exact.precision == "f32"
    other = load_network(DEFAULT_WEIGHTS, "onnx", 1)
    assert np.abs(exact.infer(blob) - other.infer(blob)).max() < 0.05


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("runtime", ["openvino", "onnx"])
def test_truncated_weights_are_one_line_wherever_they_end(tmp_path: Path, share: float, runtime: str) -> None:
    content = DEFAULT_WEIGHTS.read_bytes()
    path = tmp_path / "detector.onnx"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError, match="truncated or foreign") as caught:
        load_network(path, runtime, 1)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="signals as POSIX has them")
@pytest.mark.parametrize("runtime", ["openvino", "onnx"])
def test_a_signal_is_heard_whichever_detector_is_gone_first(runtime: str, repo_root: Path) -> None:
    script = f"""
import os, signal
from greatwall.eyes.networks import load_network
from greatwall.eyes.detector import DEFAULT_WEIGHTS
heard = []
signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
first, second = (load_network(DEFAULT_WEIGHTS, {runtime!r}, 1) for _ in range(2))
del first
del second
os.kill(os.getpid(), signal.SIGUSR1)
print(heard)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=repo_root, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[1]"), done.stderr


def test_a_model_without_fixed_sides_is_one_line(tmp_path: Path) -> None:
    import onnx

    model = onnx.load(DEFAULT_WEIGHTS)
    sides = model.graph.input[0].type.tensor_type.shape.dim
    sides[2].dim_param, sides[3].dim_param = "height", "width"
    path = tmp_path / "detector.onnx"
    onnx.save(model, path)
    for runtime in ("onnx", "openvino"):
        with pytest.raises(FileFormatError) as caught:
            Detector(GREAT_WALL, EyesConfig(weights=str(path), runtime=runtime))
        assert "\n" not in str(caught.value)
