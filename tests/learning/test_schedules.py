"""What changes of the learner does so between an update and the next collection, never in between."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from greatwall.assembly import make_config
from greatwall.learning.presets import PRESETS
from greatwall.learning.run import RunSettings, build_model
from greatwall.learning.schedules import EntropyCallback, NormalisationCallback
from greatwall.learning.training_envs import build_training_envs
from greatwall.policies.features import NormalisedFeatures
from greatwall.policies.network import NetworkSpec

ROLLOUT = 40


class Watch(BaseCallback):
    """Notes the running mean at every step and rollout end, and the entropy bonus at every start."""

    def __init__(self) -> None:
        super().__init__()
        self.means: list[list[torch.Tensor]] = []
        self.entropy: list[float] = []

    def _mean(self) -> torch.Tensor:
        extractor = self.model.policy.features_extractor
        assert isinstance(extractor, NormalisedFeatures)
        return extractor.mean.clone()

    def _on_rollout_start(self) -> None:
        assert isinstance(self.model, PPO)
        self.entropy.append(self.model.ent_coef)
        self.means.append([])

    def _on_step(self) -> bool:
        self.means[-1].append(self._mean())
        return True

    def _on_rollout_end(self) -> None:
        self.means[-1].append(self._mean())


@pytest.fixture(scope="module")
def watched() -> tuple[Watch, PPO]:
    preset = dataclasses.replace(
        PRESETS["scratch"].with_envs(2), network=NetworkSpec("normalised", {}, (8,)), rollout_steps=ROLLOUT
    )
    config = preset.apply(make_config(eyes="truth"))
    envs = build_training_envs(config, preset, 0)
    model = build_model(RunSettings(config, preset, 0, 3 * ROLLOUT), envs, 3 * ROLLOUT)
    watch = Watch()
    model.learn(3 * ROLLOUT, callback=[NormalisationCallback(), EntropyCallback(0.3, 3 * ROLLOUT), watch])
    return watch, model


def test_statistics_stand_still_within_a_rollout_and_move_between(watched: tuple[Watch, PPO]) -> None:
    watch, _ = watched
    for means in watch.means:
        assert all(torch.equal(mean, means[0]) for mean in means)
    firsts = [means[0] for means in watch.means]
    assert not torch.equal(firsts[0], firsts[1])
    assert not torch.equal(firsts[1], firsts[2])


def test_statistics_are_those_of_the_rollouts_that_were_learnt_from(watched: tuple[Watch, PPO]) -> None:
    extractor = watched[1].policy.features_extractor
    assert isinstance(extractor, NormalisedFeatures)
    assert float(extractor.count) == 2 * ROLLOUT  # the third was never followed by a collection


def test_the_entropy_bonus_falls_to_zero_over_the_run(watched: tuple[Watch, PPO]) -> None:
    np.testing.assert_allclose(watched[0].entropy, [0.3, 0.2, 0.1])
