"""Open exported detector weights for further training: from an ONNX file back into a torch network.

The export folds each batch normalisation into the convolution before it. Here it is unfolded again: the
normalisation gets the statistics that the convolution's outputs have on some pictures, and the scale and
shift that undo them, so the network answers as before and can learn on. Nothing is unpickled.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from greatwall.errors import ConfigError, FileFormatError
from greatwall.eyes.networks import OnnxNetwork

if TYPE_CHECKING:
    import torch

CALIBRATION_PICTURES = 64


def open_weights(network: torch.nn.Module, weights: Path, pictures: NDArray[np.float32]) -> None:
    """Fill `network` (built by the same description) from an ONNX file.

    `pictures` are float32 (N, 3, H, W), RGB, 0..1. Raises `FileFormatError` when a tensor is missing or
    has another shape.
    """
    import torch
    from onnx import numpy_helper

    kept = {one.name: numpy_helper.to_array(one) for one in graph_of(weights).initializer}
    folded: list[tuple[Any, Any]] = []
    with torch.no_grad():
        for name, module in network.named_modules():
            if isinstance(module, torch.nn.Conv2d):
                norm = _norm_after(network, name)
                _copy(module.weight, kept, f"{name}.weight", weights)
                if module.bias is not None:
                    _copy(module.bias, kept, f"{name}.bias", weights)
                elif norm is not None:
                    norm.running_mean.zero_()
                    norm.running_var.fill_(1.0 - norm.eps)
                    norm.weight.fill_(1.0)
                    _copy(norm.bias, kept, f"{name}.bias", weights)
                    folded.append((module, norm))
        _unfold(network, folded, torch.from_numpy(pictures))


def _unfold(network: torch.nn.Module, folded: list[tuple[Any, Any]], pictures: torch.Tensor) -> None:
    """Give each normalisation the statistics of what comes into it, and what undoes them."""
    import torch

    found: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def watch(number: int) -> Any:
        def note(module: Any, inputs: Any, output: torch.Tensor) -> None:
            variance, mean = torch.var_mean(output, dim=(0, 2, 3), correction=0)
            found[number] = (mean, variance)

        return note

    hooks = [conv.register_forward_hook(watch(n)) for n, (conv, _) in enumerate(folded)]
    was_training = network.training
    network.eval()
    network(pictures)
    network.train(was_training)
    for hook in hooks:
        hook.remove()
    for n, (_, norm) in enumerate(folded):
        mean, variance = found[n]
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
        norm.weight.copy_(torch.sqrt(variance + norm.eps))
        norm.bias.add_(mean)


def _norm_after(network: torch.nn.Module, conv_name: str) -> Any | None:
    """The batch normalisation that belongs to a convolution of ultralytics' `Conv` block."""
    parent_name, _, leaf = conv_name.rpartition(".")
    parent = network.get_submodule(parent_name)
    return getattr(parent, "bn", None) if leaf == "conv" else None


def _copy(target: torch.Tensor, kept: dict[str, NDArray[Any]], name: str, weights: Path) -> None:
    import torch

    values = kept.get(name)
    if values is None or values.shape != tuple(target.shape):
        found = "none" if values is None else f"shape {values.shape}"
        raise FileFormatError(
            f"{weights}: expected a tensor {name} of shape {tuple(target.shape)}, found {found}; "
            "start from weights this program trained, or from none"
        )
    target.copy_(torch.from_numpy(np.array(values)))


def start_note(weights: Path, classes: tuple[str, ...]) -> dict[str, Any]:
    """The note beside weights to start from, {} without one; `classes` those to be learnt, () for any.

    Raises `FileFormatError` for a damaged note and `ConfigError` for other classes or another order of
    them: the network knows classes by number alone, and would take one for the other.
    """
    path = weights.with_suffix(".json")
    if not path.is_file():
        return {}
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
        known = tuple(note.get("classes", ()))
    except (ValueError, AttributeError, TypeError) as error:
        raise FileFormatError(
            f"{path}: expected JSON with the facts of a training, found something else; "
            "remove it, or start from other weights"
        ) from error
    if classes and known and known != classes:
        raise ConfigError(
            f"--start: expected weights for the classes {', '.join(classes)}, in this order, found "
            f"{', '.join(map(str, known))} in {path}; order the profile's classes so, or use --start none"
        )
    return dict(note)


def graph_of(weights: Path) -> Any:
    """The graph of an ONNX file; `FileFormatError` for a file that is missing or no model."""
    if not weights.is_file():
        raise FileFormatError(
            f"{weights}: expected weights to start from, found no file; name another, or none"
        )
    OnnxNetwork(weights, 1)  # says so when the file is damaged
    import onnx

    return onnx.load(weights).graph
