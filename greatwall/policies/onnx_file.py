"""A policy as ONNX: observation (batch, N) -> logits (batch, 3) and action (batch,), scaling included.

Runs on the caller's thread.
"""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from greatwall.errors import ConfigError
from greatwall.policies.policy_file import ACTION_NAMES, Policy

OPSET = 17
TOLERANCE = 1e-4  # of a log probability; float32 sums differ in their last bits
NAMES = ("observation", "logits", "action")


class _Actor(torch.nn.Module):
    """The half of an actor-critic that chooses."""

    def __init__(self, network: ActorCriticPolicy) -> None:
        super().__init__()
        self._network = network

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features: Any = self._network.extract_features(observation)
        logits = self._network.action_net(self._network.mlp_extractor.forward_actor(features))
        return logits, logits.argmax(1)


def to_onnx(policy: Policy) -> bytes:
    """The model, with its action names, network and profile as metadata."""
    size = int(policy.network.observation_space.shape[0])  # type: ignore[index]
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # torch 2.9+ would rather be asked for its other exporter, which needs one more package
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            _Actor(policy.network).eval(),
            (torch.zeros(1, size),),
            buffer,  # type: ignore[arg-type]  # both exporters write to it; the hint names paths only
            input_names=NAMES[:1],
            output_names=NAMES[1:],
            dynamic_axes={name: {0: "batch"} for name in NAMES},
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(buffer.getvalue())
    facts = {
        "format": "greatwall-policy-onnx",
        "actions": ",".join(ACTION_NAMES),
        "observation_size": str(size),
        "extras": ",".join(policy.spec.extras),
        "extractor": policy.spec.extractor,
        "profile": policy.profile,
    }
    for name, value in facts.items():
        model.metadata_props.add(key=name, value=value)
    onnx.checker.check_model(model)
    found: bytes = model.SerializeToString()
    return found


def largest_difference(policy: Policy, model: bytes, observations: np.ndarray[Any, Any]) -> tuple[float, int]:
    """Between the model run by ONNX Runtime and the policy: the largest of any log probability, and on how
    many observations their actions differ although the policy's choice is no tie."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    logits, actions = session.run(None, {NAMES[0]: observations})
    theirs = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
    theirs = theirs - logits.max(1, keepdims=True)
    ours = np.log(np.stack([policy.probabilities(one) for one in observations]).astype(np.float64))
    ranked = np.sort(ours, 1)
    clear = ranked[:, -1] - ranked[:, -2] > TOLERANCE
    difference = float(np.abs(theirs - ours).max())
    return difference, int(np.count_nonzero(clear & (actions != ours.argmax(1))))


def write_onnx(path: Path, model: bytes) -> None:
    """Atomically; `ConfigError` where it cannot be written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(model)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConfigError(
            f"cannot write {path}: expected a writable folder with room, found {error.strerror or error}; "
            "name another place"
        ) from error
