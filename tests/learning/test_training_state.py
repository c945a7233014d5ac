"""Everything resuming needs comes back as it was, and nothing else is taken for it."""

from __future__ import annotations

import json
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from greatwall.assembly import make_config
from greatwall.errors import FileFormatError
from greatwall.learning.presets import PRESETS
from greatwall.learning.run import RunSettings, build_model
from greatwall.learning.training_envs import build_training_envs
from greatwall.learning.training_state import (
    Counters,
    capture,
    differences,
    filled,
    read_state,
    restore_generators,
    restore_model,
)
from greatwall.policies.policy_file import save_policy

PRESET = PRESETS["scratch"].with_envs(2).resolved()
CONFIG = make_config(eyes="truth").resolved()


def small_model(seed: int = 0) -> PPO:
    preset = PRESETS["scratch"].with_envs(2)
    config = preset.apply(make_config(eyes="truth"))
    envs = build_training_envs(config, preset, seed)
    return build_model(RunSettings(config, preset, seed, 64), envs, 64)


@pytest.fixture(scope="module")
def trained() -> PPO:
    model = small_model()
    model.learn(64)
    return model


def test_weights_optimiser_counters_and_generators_come_back(trained: PPO, tmp_path: Path) -> None:
    random.seed(3)
    counters = Counters(run_seed=7, best_return=12.5, episodes=[3, 4])
    capture(trained, counters, PRESET, CONFIG, [[0, 2, 1], []]).save(tmp_path / "s.zip")
    drawn = random.random(), np.random.rand(), torch.rand(1)  # noqa: NPY002 - the one SB3 draws from

    state = read_state(tmp_path / "s.zip")
    other = small_model(seed=9)
    restore_model(other, state, tmp_path / "s.zip")
    restore_generators(state)

    assert (random.random(), np.random.rand(), torch.rand(1)) == drawn  # noqa: NPY002
    assert (state.counters.run_seed, state.counters.best_return, state.counters.episodes) == (7, 12.5, [3, 4])
    assert state.episode_actions() == [[0, 2, 1], []]
    assert other.num_timesteps == trained.num_timesteps == 64
    for name, tensor in trained.policy.state_dict().items():
        assert torch.equal(tensor, other.policy.state_dict()[name]), name
    mine, its = trained.policy.optimizer.state_dict(), other.policy.optimizer.state_dict()
    assert mine["param_groups"] == its["param_groups"]
    for index, moments in mine["state"].items():
        for name, tensor in moments.items():
            assert torch.equal(tensor, its["state"][index][name]), (index, name)


def test_a_state_of_another_network_is_refused(trained: PPO, tmp_path: Path) -> None:
    state = capture(trained, Counters(0), {}, {})
    state.tensors["policy.value_net.weight"] = np.zeros((1, 3), np.float32)
    with pytest.raises(FileFormatError, match=r"value_net\.weight.*--fresh"):
        restore_model(small_model(), state, tmp_path / "s.zip")


def test_a_policy_file_and_a_pickle_are_no_state(trained: PPO, tmp_path: Path) -> None:
    save_policy(tmp_path / "p.zip", trained.policy, PRESETS["scratch"].network, "x", {})
    (tmp_path / "q.zip").write_bytes(pickle.dumps({"counters": {}}))
    for name in ("p.zip", "q.zip"):
        with pytest.raises(FileFormatError, match="expected a training state"):
            read_state(tmp_path / name)


def spoilt(path: Path, *keys: str | int, value: Any) -> Path:
    """A copy of a state file with one value of its document changed."""
    out = path.with_name("spoilt.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "state.json":
                document = json.loads(data)
                part = document
                for key in keys[:-1]:
                    part = part[key]
                part[keys[-1]] = value
                data = json.dumps(document).encode()
            new.writestr(name, data)
    return out


SPOILT: list[tuple[tuple[str | int, ...], Any]] = [
    (("counters",), []),
    (("counters",), {}),
    (("counters", "timesteps"), "x"),
    (("counters", "timesteps"), -1),
    (("counters", "timesteps"), 1.5),
    (("counters", "run_seed"), True),
    (("counters", "run_id"), 5),
    (("counters", "best_return"), "high"),
    (("counters", "seconds"), None),
    (("counters", "episodes"), [1, "2"]),
    (("counters", "episodes"), [1]),
    (("counters", "episodes"), []),
    (("counters", "episode_steps"), [5, 5]),
    (("counters", "recent"), [1]),
    (("counters", "recent"), [{"r": 1}]),
    (("counters", "window"), [{}]),
    (("counters", "window"), [{"return": 1.0, "run": {}, "terms": {}}]),
    (("preset",), None),
    (("preset", "name"), None),
    (("preset", "n_envs"), 0),
    (("config", "eyes"), None),
    (("config", "eyes", "kind"), "x-ray"),
    (("config", "variants"), "one_life"),
    (("config", "variants"), [1]),
    (("config", "screen"), {"size": "big"}),
    (("config", "faults"), {"surprise": 1}),
    (("config", "faults"), {"miss": "often"}),
    (("config", "device"), 3),
    (("rng",), {}),
    (("rng", "python"), {}),
    (("rng", "python", "gauss"), "x"),
    (("rng", "numpy", "name"), "PCG64"),
    (("rng", "numpy", "position"), 10**9),
    (("rng", "numpy", "cached"), None),
    (("optimiser",), {}),
    (("optimiser",), []),
    (("optimiser", 0), {}),
    (("optimiser", 0, "lr"), "fast"),
    (("optimiser", 0, "betas"), [0.9]),
    (("optimiser", 0, "params"), "all"),
]


@pytest.mark.parametrize(("keys", "value"), SPOILT, ids=[f"{k}={v}"[:60] for k, v in SPOILT])
def test_a_document_that_no_state_has_is_refused_in_one_line(
    keys: tuple[str | int, ...], value: Any, trained: PPO, tmp_path: Path
) -> None:
    counters = Counters(1, episodes=[3, 4])
    capture(trained, counters, PRESET, CONFIG, [[0, 2, 1], []]).save(tmp_path / "s.zip")
    assert read_state(tmp_path / "s.zip").counters.episodes == [3, 4]
    with pytest.raises(FileFormatError, match="expected a training state") as caught:
        read_state(spoilt(tmp_path / "s.zip", *keys, value=value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("rng.torch", np.zeros(3, np.uint8)),
        ("rng.numpy", np.zeros(624, np.int64)),
        ("rng.python", np.full(625, 999, np.uint32)),
        ("episodes.actions", np.array([0, 1, 9], np.uint8)),
        ("episodes.actions", np.array([0, 1], np.uint8)),
        ("rng.torch", None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tensors_that_no_state_has_are_refused(name: str, tensor: Any, trained: PPO, tmp_path: Path) -> None:
    state = capture(trained, Counters(1, episodes=[3]), PRESET, CONFIG, [[0, 2, 1]])
    del state.tensors[name]
    if tensor is not None:
        state.tensors[name] = tensor
    state.save(tmp_path / "s.zip")
    with pytest.raises(FileFormatError, match="expected a training state"):
        read_state(tmp_path / "s.zip")


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("adam.0.exp_avg", np.zeros(3, np.float32)),
        ("adam.99.step", np.zeros((), np.float32)),
        ("adam.x.y", None),
    ],
)
def test_moments_that_do_not_fit_are_refused(name: str, tensor: Any, trained: PPO, tmp_path: Path) -> None:
    state = capture(trained, Counters(1, episodes=[3]), {}, {})
    state.tensors[name] = np.zeros(1, np.float32) if tensor is None else tensor
    with pytest.raises(FileFormatError, match="--fresh"):
        restore_model(small_model(), state, tmp_path / "s.zip")


@pytest.mark.parametrize(
    ("new", "found"),
    [
        ({"a": 1, "b": {"c": 2}}, []),
        ({"a": 1, "b": {"c": 3}}, ["b.c 2 -> 3"]),
        ({"a": 2, "b": {"c": 2, "d": 0}}, ["a 1 -> 2", "b.d None -> 0"]),
        ({"a": 1}, ["b {'c': 2} -> None"]),
    ],
)
def test_differences_are_named(new: dict[str, Any], found: list[str]) -> None:
    assert differences({"a": 1, "b": {"c": 2}}, new) == found


def test_settings_that_did_not_exist_yet_count_as_their_defaults() -> None:
    old = {"a": 5, "b": {"c": 2}}
    defaults = {"a": 1, "b": {"c": 1, "d": 4}, "e": {"f": 0}}
    assert filled(old, defaults) == {"a": 5, "b": {"c": 2, "d": 4}, "e": {"f": 0}}
