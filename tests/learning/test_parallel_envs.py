"""Envs in other processes are SB3's `DummyVecEnv`, number for number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from greatwall.assembly import make_config
from greatwall.learning.parallel_envs import ParallelEnvs
from greatwall.learning.presets import PRESETS
from greatwall.learning.training_envs import (
    LearningReward,
    build_training_envs,
    episode_actions,
    episode_numbers,
)

PRESET = PRESETS["scratch"].with_envs(5)
CONFIG = PRESET.apply(make_config(eyes="truth", variants=("one_life",)))


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[LearningReward, LearningReward]]:
    here, apart = (build_training_envs(CONFIG, PRESET, 4, processes=count) for count in (1, 3))
    assert isinstance(here.venv, DummyVecEnv)
    assert isinstance(apart.venv, ParallelEnvs)
    yield here, apart
    here.close()
    apart.close()


def test_every_number_and_every_info_is_the_same(both: tuple[LearningReward, LearningReward]) -> None:
    here, apart = both
    assert (here.num_envs, here.observation_space, here.action_space) == (
        apart.num_envs,
        apart.observation_space,
        apart.action_space,
    )
    for envs in both:
        envs.seed(1)
    np.testing.assert_array_equal(np.asarray(here.reset()), np.asarray(apart.reset()))
    assert here.reset_infos == apart.reset_infos
    rng = np.random.default_rng(1)
    deaths = 0
    for _ in range(300):
        actions = rng.choice(3, size=5, p=[0.8, 0.15, 0.05])
        one, other = here.step(actions), apart.step(actions)
        for mine, theirs in zip(one[:3], other[:3], strict=True):
            np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))
        assert [timeless(info) for info in one[3]] == [timeless(info) for info in other[3]]
        np.testing.assert_array_equal(here.durations, apart.durations)
        deaths += int(np.sum(one[2]))
    assert deaths > 0
    assert episode_numbers(here) == episode_numbers(apart)
    assert episode_actions(here) == episode_actions(apart)


def timeless(info: dict[str, Any]) -> dict[str, Any]:
    """But for how long it took whoever played it, and its arrays as lists."""
    found = {name: value for name, value in info.items() if name != "episode"}
    if "episode" in info:
        found["episode"] = {name: value for name, value in info["episode"].items() if name != "t"}
    if "terminal_observation" in info:
        found["terminal_observation"] = info["terminal_observation"].tolist()
    return found


def test_attributes_and_methods_are_of_the_envs_asked_for_in_that_order(
    both: tuple[LearningReward, LearningReward],
) -> None:
    here, apart = both
    for envs in both:
        envs.set_attr("mark", "x", [4, 0])
    for indices in (None, [4, 0], 2, [-1], [1, 1]):
        assert apart.get_attr("_env_index", indices) == here.get_attr("_env_index", indices)
        assert apart.env_is_wrapped(Monitor, indices) == here.env_is_wrapped(Monitor, indices)
        assert apart.env_method("get_wrapper_attr", "course_seed", indices=indices) == here.env_method(
            "get_wrapper_attr", "course_seed", indices=indices
        )
    assert apart.get_attr("mark", [0, 4]) == ["x", "x"]
    with pytest.raises(AttributeError):
        here.get_attr("mark", [1])


def test_what_an_env_raises_is_raised(both: tuple[LearningReward, LearningReward]) -> None:
    with pytest.raises(Exception, match="nothing_of_that_name"):
        both[1].env_method("nothing_of_that_name", indices=[4])


def test_one_env_and_real_time_stay_in_this_process() -> None:
    alone = build_training_envs(CONFIG, PRESET.with_envs(1), 4, processes=3)
    assert isinstance(alone.venv, DummyVecEnv)
    alone.close()
    wall = build_training_envs(
        PRESET.apply(make_config(eyes="truth", clock="wall")), PRESET.with_envs(2), 4, processes=3
    )
    assert isinstance(wall.venv, DummyVecEnv)
    wall.close()
