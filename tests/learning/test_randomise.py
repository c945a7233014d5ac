"""Each training episode has faults and delays of its own: a function of its course, around the configured."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config import Config, DelayConfig, FaultConfig
from game_env import GreatWallEnv
from greatwall.assembly import make_config
from greatwall.errors import ConfigError
from greatwall.learning.presets import PRESETS
from greatwall.learning.randomise import FAULTS_ADDED, RandomisedGames, build_training_game, drawn_config
from greatwall.learning.training_envs import build_training_envs, episode_actions, episode_numbers
from ppo_acting import Worker


def randomised(strength: float = 1.0, **changes: Any) -> Config:
    return dataclasses.replace(make_config(eyes="truth", **changes), randomise=strength)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 999_999),
    strength=st.floats(0.0, 5.0),
    touch=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    miss=st.floats(0, 1),
)
def test_what_is_drawn_is_allowed_lies_around_the_configured_and_is_the_courses(
    seed: int, strength: float, touch: tuple[float, float], miss: float
) -> None:
    delays = DelayConfig(touch_to_effect_s=(min(touch), max(touch)))
    config = dataclasses.replace(Config(), randomise=strength, delays=delays, faults=FaultConfig(miss=miss))
    drawn = drawn_config(config, seed)
    assert drawn == drawn_config(config, seed)
    assert dataclasses.replace(drawn, faults=config.faults, delays=config.delays) == config
    for name, most in FAULTS_ADDED.items():
        before, after = getattr(config.faults, name), getattr(drawn.faults, name)
        assert before <= after <= before + strength * most + 1e-9
    moved = [
        abs(a - b) for a, b in zip(delays.touch_to_effect_s, drawn.delays.touch_to_effect_s, strict=True)
    ]
    assert max(moved) <= strength * 0.12 + 1e-9


def test_without_strength_nothing_is_drawn() -> None:
    config = randomised(0.0)
    assert drawn_config(config, 7) == config
    assert isinstance(build_training_game(config), GreatWallEnv)


def test_episodes_differ_in_what_is_drawn_and_many_are_easy() -> None:
    misses = [drawn_config(randomised(), seed).faults.miss for seed in range(300)]
    assert len(set(misses)) == 300
    assert np.mean(misses) == pytest.approx(FAULTS_ADDED["miss"] / 4, rel=0.15)
    assert np.mean(np.array(misses) < 0.01) > 0.2


def test_every_course_is_another_game_with_the_same_eyes() -> None:
    games = RandomisedGames(randomised())
    try:
        configs = []
        for seed in (5, 6, 5):
            games.reset(seed=seed)
            game = games.unwrapped
            assert isinstance(game, GreatWallEnv)
            assert isinstance(game.worker, Worker)
            configs.append(game.worker.config)
            assert game.config == randomised(), "the Master, and its extras, know nothing of the draws"
            for action in (0, 1, 2, 0):
                games.step(action)
        assert configs[0] == configs[2] != configs[1]
    finally:
        games.close()


def test_a_game_that_is_moved_along_its_course_keeps_what_was_drawn() -> None:
    games = RandomisedGames(randomised())
    try:
        games.reset(seed=5)
        game = games.unwrapped
        assert isinstance(game, GreatWallEnv)
        games.reset(options={"state": game.save_game()})
        assert games.unwrapped is game
    finally:
        games.close()


def test_an_episode_under_way_is_played_again_to_the_last_number() -> None:
    """What makes a resumed run exact: the draws come back with the course."""
    preset = PRESETS["scratch"].with_envs(2)
    config = randomised(variants=("one_life",))
    rng = np.random.default_rng(4)
    envs = build_training_envs(config, preset, 3)
    envs.reset()
    for _ in range(160):
        observations, _, *_ = envs.step(rng.integers(0, 3, 2))
    first, replays = episode_numbers(envs), episode_actions(envs)
    assert min(first) > 0
    again = build_training_envs(config, preset, 3, first, replays)
    resumed = again.reset()
    assert isinstance(resumed, np.ndarray)
    np.testing.assert_array_equal(resumed, observations)
    for _ in range(40):
        actions = rng.integers(0, 3, 2)
        one, other = envs.step(actions), again.step(actions)
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    envs.close()
    again.close()


def test_a_phone_has_delays_of_its_own() -> None:
    with pytest.raises(ConfigError, match="--randomise: expected the simulator, found device 'video'"):
        RandomisedGames(dataclasses.replace(Config(), device="video", randomise=1.0))
