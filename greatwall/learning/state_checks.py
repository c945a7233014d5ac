"""Whether a file's document is that of a training state: types, lengths and ranges, before anything uses it.

Runs on the main thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from config import FaultConfig
from greatwall.contracts import Action
from greatwall.learning.episode_window import RUN_VALUES
from greatwall.policies.archive import Tensor

PYTHON_WORDS, NUMPY_WORDS, TORCH_BYTES = 625, 624, 5056  # Mersenne Twister, with python's position
GENERATORS = (
    ("rng.python", (PYTHON_WORDS,), "uint32"),
    ("rng.numpy", (NUMPY_WORDS,), "uint32"),
    ("rng.torch", (TORCH_BYTES,), "uint8"),
)
MAY_BE_NONE = ("best_return", "best_eval_m")


def problem_of(
    document: Mapping[str, Any], tensors: Mapping[str, Tensor], counters: Mapping[str, Any]
) -> str | None:
    """What is wrong, in a few words, or None. `counters`: fresh ones, for their names and types."""
    for name, kind in (("counters", dict), ("preset", dict), ("config", dict), ("rng", dict)):
        if not isinstance(document.get(name), kind):
            return f"no {name}"
    return (
        _counters(document["counters"], counters)
        or _settings(document["preset"], document["config"])
        or _generators(document["rng"], tensors)
        or _optimiser(document.get("optimiser"))
        or _episodes(document["counters"], tensors)
    )


def is_count(value: object) -> bool:
    """A whole number from 0 on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _counters(found: dict[str, Any], fresh: Mapping[str, Any]) -> str | None:
    if found.keys() != fresh.keys():
        return "other counters"
    for name, default in fresh.items():
        value = found[name]
        if name in MAY_BE_NONE:
            fits = value is None or is_number(value)
        elif isinstance(default, str):
            fits = isinstance(value, str)
        elif isinstance(default, float):
            fits = is_number(value)
        elif isinstance(default, int):
            fits = is_count(value)
        else:
            fits = isinstance(value, list)
        if not fits:
            return _quoted(f"counters.{name}", value)
    for name in ("episodes", "episode_steps"):
        if not found[name] or not all(is_count(one) for one in found[name]):
            return _quoted(f"counters.{name}", found[name])
    for one in found["recent"]:
        if not isinstance(one, dict) or not all(is_number(one.get(key)) for key in ("r", "l")):
            return _quoted("counters.recent", one)
    for one in found["window"]:
        if not _is_window(one):
            return _quoted("counters.window", one)
    return None


def _is_window(one: object) -> bool:
    if not isinstance(one, dict) or not is_number(one.get("return")):
        return False
    run, terms = one.get("run"), one.get("terms")
    if not isinstance(run, dict) or not isinstance(terms, dict):
        return False
    known = run.keys() == {*RUN_VALUES, "kills", "death"} and isinstance(run["death"], str)
    return (
        known
        and all(is_number(run[name]) for name in RUN_VALUES)
        and (run["kills"] is None or is_number(run["kills"]))
        and all(is_number(value) for value in terms.values())
    )


def _settings(preset: dict[str, Any], config: dict[str, Any]) -> str | None:
    if not isinstance(preset.get("name"), str) or not is_count(preset.get("n_envs")) or not preset["n_envs"]:
        return "a preset without name or n_envs"
    eyes, variants, screen = config.get("eyes"), config.get("variants"), config.get("screen", {})
    if not isinstance(eyes, dict) or eyes.get("kind") not in ("truth", "vision"):
        return "a config without eyes"
    if not isinstance(config.get("device"), str) or not isinstance(variants, list):
        return "a config without device or variants"
    if not all(isinstance(one, str) for one in variants):
        return _quoted("config.variants", variants)
    size = screen.get("size", [1, 1]) if isinstance(screen, dict) else None
    if not isinstance(size, list) or len(size) != 2 or not all(is_count(one) for one in size):
        return _quoted("config.screen", screen)
    try:
        FaultConfig(**config.get("faults", {}))
    except (TypeError, ValueError):
        return _quoted("config.faults", config["faults"])
    return None


def _generators(rng: dict[str, Any], tensors: Mapping[str, Tensor]) -> str | None:
    python, numpy_state = rng.get("python"), rng.get("numpy")
    if not isinstance(python, dict) or python.get("version") != 3:
        return "no generator of python's"
    if not (python.get("gauss") is None or is_number(python["gauss"])):
        return "no generator of python's"
    if not isinstance(numpy_state, dict) or numpy_state.get("name") != "MT19937":
        return "no generator of numpy's"
    position = numpy_state.get("position")
    if (
        not is_count(position)
        or int(position or 0) > NUMPY_WORDS
        or numpy_state.get("has_gauss") not in (0, 1)
    ):
        return "no generator of numpy's"
    if not is_number(numpy_state.get("cached")):
        return "no generator of numpy's"
    for name, shape, dtype in GENERATORS:
        if name not in tensors or tensors[name].shape != shape or tensors[name].dtype.name != dtype:
            return f"no {name}"
    if int(tensors["rng.python"][-1]) > PYTHON_WORDS - 1:
        return "no generator of python's"
    return None


def _optimiser(groups: object) -> str | None:
    if not isinstance(groups, list) or not groups:
        return "no optimiser"
    for group in groups:
        if not isinstance(group, dict):
            return "no optimiser"
        betas, params = group.get("betas"), group.get("params")
        fits = (
            isinstance(betas, list)
            and len(betas) == 2
            and isinstance(params, list)
            and all(is_number(value) for value in (*betas, *(group.get(k) for k in ("lr", "eps"))))
            and all(is_count(value) for value in params)
            and is_number(group.get("weight_decay"))
            and all(isinstance(group.get(key), bool) for key in ("amsgrad", "maximize"))
        )
        if not fits:
            return "an optimiser that is none"
    return None


def _episodes(counters: dict[str, Any], tensors: Mapping[str, Tensor]) -> str | None:
    actions, steps = tensors.get("episodes.actions"), counters["episode_steps"]
    if actions is None or actions.dtype != np.uint8 or actions.shape != (sum(steps),):
        return "games under way without their actions"
    if actions.size and int(actions.max()) >= len(Action):
        return "actions that there are not"
    if len(steps) > len(counters["episodes"]):
        return "more games under way than envs"
    return None


def _quoted(name: str, value: object) -> str:
    return f"{name} {str(value)[:60]!r}"
