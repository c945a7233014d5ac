"""The preset of the user's own text is exactly that text."""

from __future__ import annotations

import json

import pytest

from config import Config
from greatwall.errors import ConfigError
from greatwall.learning.presets import PRESETS, preset_named


def test_paper_is_the_users_own_text() -> None:
    paper = PRESETS["paper"]
    assert (paper.n_envs, paper.n_steps, paper.batch_size, paper.n_epochs) == (1, 256, 64, 5)
    assert (paper.learning_rate, paper.falls_to_zero) == (3e-4, False)
    assert (paper.gamma, paper.gae_lambda, paper.clip_range) == (0.99, 0.95, 0.2)
    assert (paper.ent_coef, paper.vf_coef) == (0.05, 0.5)
    assert (paper.network.extractor, paper.reward_scale, paper.life_penalty) == ("flat", 1.0, 0.0)
    reward = paper.apply(Config()).reward
    assert not reward.passing_waits_for_hud
    assert not reward.no_arrows_no_duty


@pytest.mark.parametrize("n_envs", [1, 3, 8, 16])
def test_a_batch_always_divides_the_rollout(n_envs: int) -> None:
    preset = PRESETS["default"].with_envs(n_envs)
    assert preset.n_steps * n_envs % preset.fitting_batch(preset.n_steps) == 0
    assert preset.fitting_batch(preset.n_steps) <= preset.batch_size


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(ConfigError, match=r"default, paper.*'best'"):
        preset_named("best")


def test_a_preset_is_json() -> None:
    for preset in PRESETS.values():
        assert json.loads(json.dumps(preset.resolved())) == preset.resolved()
