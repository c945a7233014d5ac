"""What resuming needs, in one atomic file: tensors and JSON, no pickle.

Policy, optimiser, counters, schedules, generators (python, numpy, torch), best scores, the games under
way, preset and resolved config, all as they were at one rollout boundary. Main thread.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO

from greatwall.errors import FileFormatError
from greatwall.learning.state_checks import problem_of
from greatwall.policies.archive import Tensor, read_archive, write_archive
from greatwall.policies.network import load_tensors, policy_tensors

FORMAT = "greatwall-training-state"
VERSION = 2
DOCUMENT = "state.json"
_REMEDY = "start over with --fresh, which moves earlier files aside"
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # Adam's state of one parameter


@dataclass
class Counters:
    """The numbers of a run, all JSON."""

    run_seed: int
    run_id: str = ""  # also in the first line of monitor.csv: whose logs those are
    n_steps: int = 0  # of one env in a rollout
    timesteps: int = 0
    target_timesteps: int = 0
    updates: int = 0
    seconds: float = 0.0  # of training, over all sessions
    best_return: float | None = None
    best_eval_m: float | None = None
    next_eval_at: int = 0
    episodes: list[int] = field(default_factory=list)  # which one each env is in
    episode_steps: list[int] = field(default_factory=list)  # how far each env in use is in it
    recent: list[dict[str, float]] = field(default_factory=list)  # SB3's window of episode returns
    window: list[dict[str, Any]] = field(default_factory=list)  # the last 100 episodes, for the curves

    @property
    def finished(self) -> bool:
        return 0 < self.target_timesteps <= self.timesteps


@dataclass
class TrainingState:
    """One rollout boundary of a run."""

    counters: Counters
    preset: dict[str, Any]
    config: dict[str, Any]
    tensors: dict[str, Tensor]  # policy, Adam's moments, generators, actions of the games under way
    rng: dict[str, Any]  # the scalar parts; arrays are among the tensors
    optimiser: list[dict[str, Any]]  # hyperparameters of each parameter group

    def episode_actions(self) -> list[list[int]]:
        """What each env in use has done so far in the episode it is in: enough to play it again."""
        ends = np.cumsum(self.counters.episode_steps, dtype=int)[:-1]
        return [one.tolist() for one in np.split(self.tensors["episodes.actions"], ends)]

    def save(self, path: Path) -> None:
        """Atomic, the one before it kept; raises `ConfigError` when the file cannot be written."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "counters": asdict(self.counters),
            "preset": self.preset,
            "config": self.config,
            "rng": self.rng,
            "optimiser": self.optimiser,
        }
        write_archive(path, DOCUMENT, document, self.tensors, keep_previous=True)


def read_state(path: Path) -> TrainingState:
    """Raises `FileFormatError` for anything that `save` would not have written."""
    document, tensors = read_archive(path, DOCUMENT, "training state", _REMEDY)
    problem = None
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        problem = f"format {document.get('format')!r} version {document.get('version')!r}"
    problem = problem or problem_of(document, tensors, asdict(Counters(0)))
    if problem:
        raise FileFormatError(f"{path}: expected a training state, found {problem}; {_REMEDY}")
    return TrainingState(
        Counters(**document["counters"]),
        document["preset"],
        document["config"],
        tensors,
        document["rng"],
        document["optimiser"],
    )


def capture(
    model: PPO,
    counters: Counters,
    preset: dict[str, Any],
    config: dict[str, Any],
    actions: Sequence[Sequence[int]] = (),
) -> TrainingState:
    """Everything about `model` at this moment. Call it between an update and the next collection.

    `actions`: what each env has done so far in the episode it is in.
    """
    tensors: dict[str, Tensor] = {f"policy.{k}": v for k, v in policy_tensors(model.policy).items()}
    optimiser = model.policy.optimizer.state_dict()
    for index, moments in optimiser["state"].items():
        for name in _MOMENTS:
            tensors[f"adam.{index}.{name}"] = moments[name].detach().cpu().numpy().copy()
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002 - SB3 draws from it
    tensors["rng.python"] = np.array(words, np.uint32)
    tensors["rng.numpy"] = np.array(keys, np.uint32)
    tensors["episodes.actions"] = np.array([one for each in actions for one in each], np.uint8)
    counters.episode_steps = [len(one) for one in actions] or [0]
    tensors["rng.torch"] = torch.get_rng_state().numpy().copy()
    rng = {
        "python": {"version": version, "gauss": gauss},
        "numpy": {
            "name": name,
            "position": int(position),
            "has_gauss": int(has_gauss),
            "cached": float(cached),
        },
    }
    groups = [
        {key: list(value) if isinstance(value, tuple) else value for key, value in group.items()}
        for group in optimiser["param_groups"]
    ]
    counters.timesteps = int(model.num_timesteps)
    counters.updates = int(model._n_updates)  # noqa: SLF001 - SB3 gives no other way to it
    counters.recent = [dict(one) for one in model.ep_info_buffer or ()]
    return TrainingState(counters, preset, config, tensors, rng, groups)


def restore_model(model: PPO, state: TrainingState, path: Path) -> None:
    """Put weights, optimiser and counters back; raises `FileFormatError` when they do not fit."""
    tensors = state.tensors
    policy = {k.removeprefix("policy."): v for k, v in tensors.items() if k.startswith("policy.")}
    parameters = list(model.policy.parameters())
    try:
        load_tensors(model.policy, policy)
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith("adam."):
                _, index, name = key.split(".")
                if name != "step" and value.shape != tuple(parameters[int(index)].shape):
                    raise ValueError(f"{key} of {list(value.shape)}")
                moments.setdefault(int(index), {})[name] = torch.from_numpy(value.copy())
        if any(len(one) != len(_MOMENTS) for one in moments.values()):
            raise ValueError("half of an optimiser")
        groups = [{**group, "betas": tuple(group["betas"])} for group in state.optimiser]
        model.policy.optimizer.load_state_dict({"state": moments, "param_groups": groups})
    except (ValueError, LookupError, TypeError) as error:
        raise FileFormatError(
            f"{path}: expected the state of this preset's network, found {error}; {_REMEDY}"
        ) from error
    model.num_timesteps = state.counters.timesteps
    model._n_updates = state.counters.updates  # noqa: SLF001
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)  # noqa: SLF001
    model.ep_info_buffer = deque(state.counters.recent, maxlen=model._stats_window_size)  # noqa: SLF001


def restore_generators(state: TrainingState) -> None:
    """Put python's, numpy's and torch's global generators back: the last thing before collecting."""
    python, numpy_state = state.rng["python"], state.rng["numpy"]
    words = tuple(int(word) for word in state.tensors["rng.python"])
    random.setstate((python["version"], words, python["gauss"]))
    np.random.set_state(  # noqa: NPY002 - SB3 shuffles its minibatches with the global generator
        (
            numpy_state["name"],
            state.tensors["rng.numpy"],
            numpy_state["position"],
            numpy_state["has_gauss"],
            numpy_state["cached"],
        )
    )
    torch.set_rng_state(torch.from_numpy(state.tensors["rng.torch"].copy()))


def filled(old: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """`old`, with settings that did not exist when it was saved at their defaults."""
    return defaults | {
        key: filled(value, defaults[key])
        if isinstance(value, dict) and isinstance(defaults.get(key), dict)
        else value
        for key, value in old.items()
    }


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """What changed between two resolved configs: `course.lives 3 -> 1`, in the order of `new`."""
    found = []
    for key in [*new, *(key for key in old if key not in new)]:
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            found += differences(before, after, f"{prefix}{key}.")
        elif before != after:
            found.append(f"{prefix}{key} {before} -> {after}")
    return found
