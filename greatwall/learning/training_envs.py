"""The envs a policy learns in: seeded episode by episode, monitored, several in each process.

Main thread of its process; on the game clock `step` runs the Worker's stages itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from config import Config, replace_in
from game_env import GreatWallEnv
from greatwall.contracts import OBSERVATION_SIZE, FloatArray
from greatwall.learning.parallel_envs import ParallelEnvs
from greatwall.learning.presets import Preset
from greatwall.learning.randomise import build_training_game
from greatwall.learning.seeds import training_seed
from greatwall.learning.starts import drawn_start_m, moved_to

LIVES_INDEX = OBSERVATION_SIZE - 1
LIVES_SCALE = 10.0  # SPEC 3
KEPT_INFO = ("episode", "interruption", "TimeLimit.truncated")


class TrainingEpisodes(gym.Wrapper[FloatArray, int, FloatArray, int]):
    """Gives each episode its own course, sums its reward terms, and hands on only what is needed.

    The course is a function of (run seed, env, episode). SB3's `DummyVecEnv` copies every info
    deeply each step, so perceptions are left out: they would cost more than the game. `replay`: what
    was done in the first episode already; its first `reset` does it again, to where that led.
    """

    def __init__(
        self,
        env: gym.Env[FloatArray, int],
        run_seed: int,
        env_index: int,
        first_episode: int = 0,
        replay: Sequence[int] = (),
        starts: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        super().__init__(env)
        self._starts = starts
        self.episode = first_episode - 1
        self.actions: list[int] = []  # of the episode under way
        self._replay = list(replay)
        self._run_seed, self._env_index = run_seed, env_index
        self._terms: dict[str, float] = {}
        self.course_seed = -1
        self._start_m = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """The next episode; a seed from outside is not used."""
        observation = self._begin(options)
        replay, self._replay = self._replay, []
        for action in replay:
            observation, _, terminated, truncated, _ = self.step(action)
            if terminated or truncated:  # the game was changed meanwhile
                return self._begin(options), {}
        return observation, {}

    def take_reins(self) -> FloatArray:
        """The observation of this moment, after others had the reins; an episode that ended meanwhile is
        forgotten, Monitor's part too, and the next one begins."""
        observation: FloatArray | None = self.unwrapped.take_reins()  # type: ignore[attr-defined]
        return self.reset()[0] if observation is None else observation

    def _begin(self, options: dict[str, Any] | None) -> FloatArray:
        self.episode += 1
        self.actions = []
        self.course_seed = training_seed(self._run_seed, self._env_index, self.episode)
        observation, _ = self.env.reset(seed=self.course_seed, options=options)
        furthest_m, at_0 = self._starts
        start_m = drawn_start_m(self.course_seed, furthest_m, at_0) if furthest_m else 0.0
        self._start_m = int(start_m)
        if start_m:
            game = self.env.unwrapped
            assert isinstance(game, GreatWallEnv)
            state = moved_to(game.save_game(), start_m, game.config.course.px_per_m)
            observation, _ = self.env.reset(options={"state": state})
        self._terms = {}
        return observation

    def step(self, action: int) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        self.actions.append(int(action))
        observation, reward, terminated, truncated, info = self.env.step(action)
        terms = self._terms
        for name, value in info["reward_terms"].items():
            terms[name] = terms.get(name, 0.0) + value
        kept: dict[str, Any] = {"step_s": info["timing"]["step_s"]}
        if terminated or truncated:
            kept.update((name, info[name]) for name in KEPT_INFO if name in info)
            run = info["run"]  # what was ridden counts, not where it began
            kept["run"] = {**run, "distance_m": max(0, run["distance_m"] - self._start_m)}
            kept["terms"] = dict(terms)
            kept["course"] = {
                "seed": self.course_seed,
                "env": self._env_index,
                "episode": self.episode,
                "start_m": self._start_m,
            }
        return observation, float(reward), terminated, truncated, kept


class LearningReward(VecEnvWrapper):
    """What PPO learns from: (reward - penalty for each life lost) * a fixed factor.

    The factor keeps the critic's targets near 1; the penalty says at once what SPEC 5's terms say
    only at the last life. Monitor lies inside, so everything reported is the env's own reward.
    """

    def __init__(self, venv: VecEnv, scale: float, life_penalty: float, period_s: float = 0.1) -> None:
        super().__init__(venv)
        self._period_s = period_s
        self.durations: NDArray[np.floating[Any]] = np.ones(venv.num_envs)  # of the last step, in periods
        self.rewards: NDArray[np.floating[Any]] = np.zeros(venv.num_envs)  # of it, as they were handed on
        self._scale, self._penalty = scale, life_penalty
        self._lives: NDArray[np.floating[Any]] = np.zeros(venv.num_envs)

    def reset(self) -> VecEnvObs:
        observations = self.venv.reset()
        assert isinstance(observations, np.ndarray)
        self._lives = observations[:, LIVES_INDEX] * LIVES_SCALE
        return observations

    def go_on_from(self, observations: NDArray[np.floating[Any]]) -> None:
        """Lives lost until now are nobody's loss."""
        self._lives = observations[:, LIVES_INDEX] * LIVES_SCALE

    def step_wait(self) -> VecEnvStepReturn:
        observations, rewards, dones, infos = self.venv.step_wait()
        assert isinstance(observations, np.ndarray)
        self.durations = np.array([info.get("step_s", 0.0) for info in infos]) / self._period_s
        self.durations = np.maximum(self.durations, 1.0)
        lives = observations[:, LIVES_INDEX] * LIVES_SCALE
        now = lives.copy()
        for i in np.flatnonzero(dones):
            now[i] = infos[i]["terminal_observation"][LIVES_INDEX] * LIVES_SCALE
        lost = np.maximum(self._lives - now, 0.0).round()
        self._lives = lives
        self.rewards = (rewards - self._penalty * lost) * self._scale
        return observations, self.rewards.copy(), dones, infos  # SB3 adds to them in place


def build_training_envs(
    config: Config,
    preset: Preset,
    run_seed: int,
    first_episodes: Sequence[int] = (),
    replays: Sequence[Sequence[int]] = (),
    processes: int = 1,
) -> LearningReward:
    """`preset.n_envs` envs, on the game's clock in so many `processes`. When resuming, `first_episodes`: with
    which episode each begins, and `replays`: what was done in it already. Envs beyond the ends of these begin
    at the beginning."""

    def maker(index: int) -> Callable[[], gym.Env[FloatArray, int]]:
        first = first_episodes[index] if index < len(first_episodes) else 0
        replay = replays[index] if index < len(replays) else ()
        return partial(_training_env, config, run_seed, index, first, replay, starts)

    if preset.episode_s:
        config = replace_in(config, "env", max_seconds=preset.episode_s)
    moves = config.device == "simulator" and config.worker.clock == "game"
    starts = (preset.furthest_start_m if moves else 0.0, preset.starts_at_0)
    makers = [maker(index) for index in range(preset.n_envs)]
    shared = processes > 1 and preset.n_envs > 1 and moves  # in real time threads and pauses are this one's
    envs = ParallelEnvs(makers, processes) if shared else DummyVecEnv(makers)
    return LearningReward(envs, preset.reward_scale, preset.life_penalty, 1.0 / config.worker.decision_hz)


def _training_env(config: Config, run_seed: int, *rest: Any) -> TrainingEpisodes:
    return TrainingEpisodes(Monitor(build_training_game(config)), run_seed, *rest)


def episode_numbers(envs: VecEnv) -> list[int]:
    """Which episode each env is in."""
    return [int(number) for number in envs.get_attr("episode")]


def episode_actions(envs: VecEnv) -> list[list[int]]:
    """What each env has done so far in the episode it is in."""
    return [list(actions) for actions in envs.get_attr("actions")]
