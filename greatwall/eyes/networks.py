"""What runs the detector's ONNX file: ONNX Runtime on a GPU, OpenVINO, or ONNX Runtime; never torch.

The order is that of docs/perception.md's table of runtimes, fastest first. One network belongs to one
thread at a time.
"""

from __future__ import annotations

import functools
import threading
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from greatwall.errors import ConfigError, FileFormatError

Numbers = NDArray[np.float32]
GPU_PROVIDERS = ("CUDAExecutionProvider", "ROCMExecutionProvider", "DmlExecutionProvider")


class Network(Protocol):
    """A loaded model: picture in, raw output out."""

    name: str
    input_shape: tuple[int, ...]  # 1, 3, height, width
    output_shape: tuple[int, ...]  # 1, 4 + classes, boxes

    def infer(self, blob: Numbers) -> Numbers:
        """float32 (1, 3, H, W), RGB, 0..1 -> (1, 4 + classes, boxes): centre x, y, w, h, scores."""


class NotHere(Exception):  # noqa: N818 - no error, only a reason to take the next runtime
    """A runtime that is not installed, or has not the hardware it needs."""


_CORE_LOCK = threading.Lock()


def _openvino_core() -> Any:
    """OpenVINO's entry, one a process and for good; any thread. Each gives its thread a stack for signal
    handlers and takes it back with its end; two that end in the order they came leave none, and the next
    signal, Ctrl-C say, ends the process (seen with 2026.4)."""
    try:
        import openvino
    except ImportError as error:
        raise NotHere("openvino") from error
    with _CORE_LOCK:
        return _the_core(openvino)


@functools.cache
def _the_core(openvino: Any) -> Any:
    return openvino.Core()


class OpenVinoNetwork:
    """An ONNX file on OpenVINO's CPU plug-in, one stream.

    `precision` is `f32` or, on processors that have it, `bf16`; by itself OpenVINO takes the faster
    one, and `precision` then says which that was.
    """

    name = "openvino"

    def __init__(self, path: Path, threads: int, precision: str | None = None) -> None:
        core = _openvino_core()
        settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        if precision is not None:
            settings["INFERENCE_PRECISION_HINT"] = precision
        try:
            model = core.compile_model(core.read_model(path), "CPU", settings)
            self.input_shape = tuple(model.input(0).shape)
            self.output_shape = tuple(model.output(0).shape)
        except RuntimeError as error:
            raise _not_a_model(path) from error
        self.precision = str(model.get_property("INFERENCE_PRECISION_HINT").to_string())
        self._request = model.create_infer_request()

    def infer(self, blob: Numbers) -> Numbers:
        self._request.infer({0: blob}, share_inputs=True)
        output: Numbers = self._request.get_output_tensor(0).data
        return output


class OnnxNetwork:
    """An ONNX file on ONNX Runtime's CPU provider."""

    name = "onnx"

    def __init__(self, path: Path, threads: int) -> None:
        try:
            import onnxruntime
            from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors
        except ImportError as error:
            raise NotHere("onnxruntime") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        wanted = self._providers(onnxruntime.get_available_providers())
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=wanted)
        except (
            ort_errors.Fail,
            ort_errors.InvalidArgument,
            ort_errors.InvalidGraph,
            ort_errors.InvalidProtobuf,
            ort_errors.RuntimeException,
        ) as error:
            raise _not_a_model(path) from error
        if session.get_providers()[0] != wanted[0]:  # it falls back to the CPU without a word
            raise NotHere(wanted[0])
        self._session = session
        entry, result = session.get_inputs()[0], session.get_outputs()[0]
        self._entry, self._result = entry.name, result.name
        self.input_shape = tuple(entry.shape)
        self.output_shape = tuple(result.shape)

    def _providers(self, present: list[str]) -> list[str]:
        """What is to run it, the wanted one first; raises `NotHere`."""
        return ["CPUExecutionProvider"]

    def infer(self, blob: Numbers) -> Numbers:
        output: Numbers = self._session.run([self._result], {self._entry: blob})[0]
        return output


class GpuNetwork(OnnxNetwork):
    """An ONNX file on a GPU, where ONNX Runtime was installed with a provider for it."""

    name = "gpu"

    def _providers(self, present: list[str]) -> list[str]:
        here = [one for one in GPU_PROVIDERS if one in present]
        if not here:
            raise NotHere("GPU provider")
        return [here[0], "CPUExecutionProvider"]


RUNTIMES: dict[str, type[Any]] = {"gpu": GpuNetwork, "openvino": OpenVinoNetwork, "onnx": OnnxNetwork}
NEEDS = {"gpu": "onnxruntime-gpu", "openvino": "openvino", "onnx": "onnxruntime"}


def load_network(path: Path, runtime: str, threads: int) -> Network:
    """The first runtime that is here, in the order of their speed, or the one asked for.

    Raises `ConfigError` without any, `FileFormatError` for a file that is no model.
    """
    for name in RUNTIMES if runtime == "auto" else [runtime]:
        try:
            network: Network = RUNTIMES[name](path, threads)
        except NotHere:
            continue
        return network
    wanted = "openvino or onnxruntime" if runtime == "auto" else f"{NEEDS[runtime]} and what it needs"
    remedy = "openvino" if runtime == "auto" else NEEDS[runtime]
    raise ConfigError(f"detector: expected {wanted} to be installed, found it is not; pip install {remedy}")


def _not_a_model(path: Path) -> FileFormatError:
    return FileFormatError(
        f"{path}: expected an ONNX model, found a truncated or foreign file; fetch or train it again"
    )
