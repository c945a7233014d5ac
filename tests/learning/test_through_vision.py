"""A run trained through truth goes on through vision: the same weights and counters, new episodes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from greatwall.assembly import make_config
from greatwall.learning.presets import PRESETS
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.training_state import read_state
from greatwall.policies.network import NetworkSpec, policy_tensors
from greatwall.policies.policy_file import load_policy

SMALL = dataclasses.replace(
    PRESETS["scratch"].with_envs(1), network=NetworkSpec("radial", {}, (8,)), rollout_steps=10, batch_size=10
)


def settings(eyes: str, timesteps: int, randomise: float = 0.0) -> RunSettings:
    kind = "vision" if eyes == "vision" else "truth"
    config = dataclasses.replace(SMALL.apply(make_config(eyes=kind)), randomise=randomise)
    return RunSettings(config, SMALL, 3, timesteps, validation_episodes=0)


@pytest.mark.parametrize("randomise", [0.0, 1.0], ids=["as it is", "randomised"])
def test_a_run_goes_on_through_vision(tmp_path: Path, randomise: float) -> None:
    files = RunFiles(tmp_path / "models", tmp_path / "logs")
    files.prepare()
    console = Console(quiet=True)
    run = TrainingRun(settings("truth", 20), files, console, None)
    run.learn()
    before = policy_tensors(run.model.policy)
    run.close()
    state = read_state(files.state)
    moments = state.tensors["adam.0.exp_avg"].copy()
    episode = state.counters.episodes[0]

    run = TrainingRun(settings("vision", 30, randomise), files, console, state)
    assert "eyes.kind truth -> vision" in run.changes.accepted
    assert not run.changes.refused
    for name, tensor in policy_tensors(run.model.policy).items():
        np.testing.assert_array_equal(tensor, before[name], err_msg=name)
    np.testing.assert_array_equal(run.model.policy.optimizer.state_dict()["state"][0]["exp_avg"], moments)
    assert run.model.num_timesteps == 20
    try:
        run.learn()
    finally:
        run.close()
    after = read_state(files.state)
    assert after.counters.timesteps == 30
    assert after.counters.episodes[0] > episode, "the game under way was not gone on with"
    assert load_policy(files.final).training["eyes"] == "vision"
    assert any(
        not np.array_equal(tensor, before[name]) for name, tensor in policy_tensors(run.model.policy).items()
    ), "it learnt"
