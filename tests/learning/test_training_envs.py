"""What a policy learns in: courses, reward, infos."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from greatwall.assembly import build_env, make_config
from greatwall.contracts import OBSERVATION_SIZE
from greatwall.learning.presets import PRESETS
from greatwall.learning.seeds import TRAINING_END, training_seed
from greatwall.learning.training_envs import (
    LearningReward,
    TrainingEpisodes,
    build_training_envs,
    episode_actions,
    episode_numbers,
)


class LivesEnv(gym.Env[Any, int]):
    """Loses a life at stated steps; a reward of 1 a step; over with the last."""

    observation_space = gym.spaces.Box(0, 1, (OBSERVATION_SIZE,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def __init__(self, lives: list[int]) -> None:
        self._lives = lives

    def _look(self) -> Any:
        observation = np.zeros(OBSERVATION_SIZE, np.float32)
        observation[-1] = self._lives[self._at] / 10
        return observation

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._at = 0
        return self._look(), {}

    def step(self, action: int) -> Any:
        self._at += 1
        return self._look(), 1.0, self._at == len(self._lives) - 1, False, {}


def test_each_life_lost_is_charged_once_the_last_one_too() -> None:
    envs = LearningReward(DummyVecEnv([lambda: LivesEnv([3, 3, 2, 2, 1, 0])]), scale=0.5, life_penalty=20.0)
    envs.reset()
    rewards = [float(envs.step(np.array([0]))[1][0]) for _ in range(10)]
    once = [0.5, -9.5, 0.5, -9.5, -9.5]
    assert rewards == once + once  # and a new run begins with all its lives, uncharged


def test_training_courses_stay_below_the_validation_seeds() -> None:
    seeds = {
        training_seed(run, env, episode) for run in range(3) for env in range(5) for episode in range(50)
    }
    assert max(seeds) < TRAINING_END
    assert len(seeds) > 745  # of 750: hardly ever the same course twice


def test_episodes_follow_from_run_seed_env_and_number_alone() -> None:
    def courses(first: int) -> list[int]:
        env = TrainingEpisodes(Monitor(build_env(make_config(eyes="truth"))), 4, 2, first)
        seeds = []
        for _ in range(3):
            env.reset(seed=999)
            seeds.append(env.course_seed)
        env.close()
        return seeds

    assert courses(0)[1:] == courses(1)[:2]
    assert courses(0) == [training_seed(4, 2, n) for n in range(3)]


def test_a_game_under_way_is_played_again_to_where_it_was() -> None:
    preset = PRESETS["scratch"].with_envs(2)
    config = preset.apply(make_config(eyes="truth", variants=("one_life",)))
    rng = np.random.default_rng(3)
    orders = rng.choice(3, size=(400, 2), p=[0.8, 0.15, 0.05])

    def play(envs: LearningReward, part: Any) -> list[Any]:
        return [[np.array(one).tolist() for one in envs.step(actions)[:3]] for actions in part]

    whole = build_training_envs(config, preset, 5)
    whole.reset()
    play(whole, orders[:150])
    first, replays = episode_numbers(whole), episode_actions(whole)
    rest = play(whole, orders[150:])
    whole.close()
    assert max(map(len, replays)) > 0
    assert any(done for _, _, dones in rest for done in dones)

    again = build_training_envs(config, preset, 5, first, replays)
    again.reset()
    assert episode_actions(again) == replays
    assert play(again, orders[150:]) == rest
    again.close()


def test_the_last_step_tells_run_terms_and_course_and_others_how_long_they_took() -> None:
    preset = PRESETS["scratch"].with_envs(2)
    envs = build_training_envs(preset.apply(make_config(eyes="truth")), preset, 0)
    envs.reset()
    finished: list[dict[str, Any]] = []
    for _ in range(400):
        _, _, dones, infos = envs.step(np.zeros(2, int))
        assert all(
            info.keys() <= {"TimeLimit.truncated", "step_s"}
            for info, done in zip(infos, dones, strict=True)
            if not done
        )
        finished += [info for info, done in zip(infos, dones, strict=True) if done]
    numbers = episode_numbers(envs)
    envs.close()
    assert finished
    for info in finished:
        assert info["terms"]["death"] == -50.0
        assert sum(info["terms"].values()) == pytest.approx(info["episode"]["r"], abs=1e-3)
        assert info["run"]["distance_m"] > 0
        assert info["course"]["seed"] < TRAINING_END
    assert sum(numbers) == len(finished)


def test_a_step_is_known_by_its_length_in_decision_periods() -> None:
    preset = PRESETS["scratch"].with_envs(3)
    envs = build_training_envs(preset.apply(make_config(eyes="truth")), preset, 0)
    envs.reset()
    for _ in range(3):
        envs.step(np.array([0, 1, 2]))
        np.testing.assert_allclose(envs.durations, [1, 5, 6], atol=1e-6)
    envs.close()
