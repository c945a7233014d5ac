"""The preset of the user's own text is exactly that text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from config import Config
from greatwall.assembly import build_env, make_config
from greatwall.errors import ConfigError
from greatwall.learning.evaluation import play_episode
from greatwall.learning.presets import PRESETS, preset_named
from greatwall.players import make_player
from greatwall.policies.network import build_policy
from greatwall.policies.policy_file import save_policy


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


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("n_envs", [1, 2, 3, 7, 8, 16])
@pytest.mark.parametrize("remaining", [1, 2, 97, 101, 251, 257, 509, 514, 1019, 100_000])
def test_a_batch_divides_the_rollout_and_is_of_the_presets_size(
    name: str, n_envs: int, remaining: int
) -> None:
    preset = PRESETS[name].with_envs(n_envs)
    n_steps, batch = preset.rollout(remaining)
    total = n_steps * n_envs
    assert total % batch == 0
    assert min(preset.batch_size, total) / 2 < batch <= preset.batch_size
    asked = min(remaining, preset.rollout_steps)
    assert total - asked < max(2 * n_envs, 12 * n_envs if asked > preset.batch_size else 0)


def test_a_whole_rollout_is_the_presets_own() -> None:
    for preset in PRESETS.values():
        assert preset.rollout(10**6) == (preset.n_steps, preset.batch_size)


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(ConfigError, match=r"default, scratch, memory, plain, paper.*'best'"):
        preset_named("best")


def test_a_preset_is_json() -> None:
    for preset in PRESETS.values():
        assert json.loads(json.dumps(preset.resolved())) == preset.resolved()


def test_the_207_numbers_stay_alone_unless_a_preset_says_otherwise() -> None:
    extras = {name: preset.apply(Config()).env.extras for name, preset in PRESETS.items()}
    assert extras == {
        "default": ("touches", "motion", "ahead"),
        "scratch": ("touches", "motion", "ahead"),
        "memory": ("recall",),
        "plain": (),
        "paper": (),
    }


def test_an_untrained_policy_of_each_preset_plays_by_its_file(tmp_path: Path) -> None:
    env = build_env(make_config(max_distance_m=60))
    for name, preset in PRESETS.items():
        path = tmp_path / f"{name}.zip"
        save_policy(path, build_policy(preset.network), preset.network, env.config.profile.name, {})
        play_episode(env, make_player(str(path), env.config), 1_000_002)
    env.close()
