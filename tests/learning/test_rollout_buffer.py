"""What is learnt from features computed once is what is learnt from observations."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from greatwall.learning.presets import PRESETS
from greatwall.learning.rollout_buffer import ExtractedRolloutBuffer
from greatwall.policies.network import NetworkSpec, action_space, build_policy, observation_space

STEPS, ENVS = 7, 3
SPECS = {name: preset.network for name, preset in PRESETS.items()} | {
    "normalised": NetworkSpec("normalised", {}, (8,))
}


@pytest.mark.parametrize("name", SPECS)
def test_every_minibatch_means_the_same(name: str) -> None:
    spec = dataclasses.replace(SPECS[name], net_arch=(8,))
    policy = build_policy(spec)
    space = observation_space(spec.extras)
    buffer = ExtractedRolloutBuffer(
        STEPS, space, action_space(), device="cpu", n_envs=ENVS, extract=policy.extract
    )
    rng = np.random.default_rng(1)
    seen = rng.random((STEPS, ENVS, *space.shape), np.float32)
    for step in range(STEPS):
        number = np.arange(ENVS) + step * ENVS  # of this step, to know it again
        actions = rng.integers(3, size=(ENVS, 1))
        starts, values = np.zeros(ENVS), torch.zeros(ENVS)
        buffer.add(seen[step], actions, np.zeros(ENVS), starts, values, torch.from_numpy(number))
    for _ in range(2):  # epochs
        met = []
        for batch in buffer.get(4):
            numbers = batch.old_log_prob.numpy().astype(int)
            met += list(numbers)
            expected = policy.evaluate_actions(
                torch.from_numpy(seen[numbers // ENVS, numbers % ENVS]), batch.actions.flatten()
            )
            found = policy.evaluate_actions(batch.observations, batch.actions.flatten())
            for ours, theirs in zip(found, expected, strict=True):
                assert ours is not None
                assert theirs is not None
                torch.testing.assert_close(ours, theirs)
        assert sorted(met) == list(range(STEPS * ENVS))
    buffer.reset()
    assert buffer.observations.shape == (STEPS, ENVS, *space.shape)


def test_observations_and_features_of_one_length_are_not_confused() -> None:
    policy = build_policy(SPECS["normalised"])
    observations = torch.rand(2, 207)
    assert policy.extract(observations) is observations
    policy.features_extractor.absorb(torch.rand(50, 207) * 3.0)
    assert not torch.equal(policy.extract_features(observations), observations)
