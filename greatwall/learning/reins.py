"""Nobody at the reins: on the wall clock the game is held still while weights are updated, else ridden on.

The segment before such a gap ends as PPO ends every rollout: bootstrapped from its own last observation.
After it the episode goes on from a fresh one, and nothing that changed between is rewarded. Main thread;
stand-ins have threads of their own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from config import Config
from game_env import GreatWallEnv
from greatwall.learning.stand_in import StandIn, frames_of
from greatwall.learning.training_envs import LearningReward
from greatwall.players import make_player


@dataclass
class Gaps:
    """What happened while weights were updated, over a session."""

    gaps: int = 0
    seconds: float = 0.0
    longest_s: float = 0.0
    paused: int = 0  # games held still; the others were ridden by the rule player
    steered: int = 0  # actions of stand-ins
    unsteered: int = 0  # frames that nobody steered: before a pause or a stand-in took hold, and after
    deaths: int = 0  # none of them charged to the policy
    interruptions: int = 0

    def report(self) -> str:
        """One line for people; empty where there was no gap."""
        if not self.gaps:
            return ""
        how = (
            f"the rule player steered {self.steered:,} actions"
            if self.steered or not self.paused
            else "the game was paused"
        )
        return (
            f"while weights were updated ({self.gaps:,} times, {self.seconds / self.gaps:.2f} s on the mean, "
            f"{self.longest_s:.2f} s at most) {how}: {self.unsteered:,} frames unsteered, "
            f"{self.deaths} deaths and {self.interruptions} interruptions, none charged to the policy"
        )


class PausingCallback(BaseCallback):
    """On the wall clock, holds the game still while weights are updated, where the device can; else has
    the rule player ride on.

    The first callback to act at a rollout's end; `ReleasingCallback` has the policy take the reins again.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config = config
        self._wanted = config.worker.clock == "wall"
        self._paused: list[Any] = []
        self._stand_ins: list[StandIn] = []
        self._frames: list[int] = []  # when the last step of the rollout was over
        self._began_s = 0.0
        self.gaps = Gaps()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if not self._wanted:
            return
        self._began_s = time.perf_counter()
        envs = self._envs()
        self._frames = [frames_of(env) for env in envs]
        for env in envs:
            if env.worker.pause():
                self._paused.append(env.worker)
            else:
                stand_in = StandIn(env, make_player("rule", self._config))
                stand_in.start()
                self._stand_ins.append(stand_in)

    @property
    def holds(self) -> bool:
        """Whether any game stands still, or is ridden by a stand-in, because of this callback."""
        return bool(self._paused or self._stand_ins)

    def release(self) -> None:
        """Let games go on and stand-ins go; safe to call at any time. The reins are not taken."""
        for worker in self._paused:
            worker.resume()
        stand_ins, self._paused, self._stand_ins = self._stand_ins, [], []
        for stand_in in stand_ins:
            stand_in.stop()

    def take_reins(self) -> None:
        """End the gap, where there is one: the next rollout begins from what is on the screen now."""
        if not self.holds:
            return
        gaps, paused, stand_ins = self.gaps, len(self._paused), list(self._stand_ins)
        self.release()
        seconds = time.perf_counter() - self._began_s
        vec_env = self.training_env
        assert isinstance(vec_env, LearningReward)
        deaths = sum(env.worker.death_triggered.is_set() for env in self._envs())
        unsteered = self._unsteered(stand_ins)
        observations = np.stack(vec_env.env_method("take_reins"))
        vec_env.go_on_from(observations)
        self.model._last_obs = observations  # type: ignore[attr-defined]  # noqa: SLF001 - SB3 has no other way
        self.model._last_episode_starts = np.ones(len(observations), bool)  # type: ignore[attr-defined]  # noqa: SLF001
        gaps.gaps += 1
        gaps.seconds += seconds
        gaps.longest_s = max(gaps.longest_s, seconds)
        gaps.paused += paused
        gaps.steered += sum(one.steered for one in stand_ins)
        gaps.interruptions += sum(bool(one.interruption) for one in stand_ins)
        gaps.unsteered += unsteered
        gaps.deaths += deaths
        self.logger.record("gap/seconds", seconds)
        self.logger.record("gap/frames_unsteered", unsteered)
        self.logger.record("gap/steered_actions", sum(one.steered for one in stand_ins))
        self.logger.record("gap/deaths", gaps.deaths)

    def _unsteered(self, stand_ins: list[StandIn]) -> int:
        """Frames since the rollout's end, but for those that a stand-in had the reins for."""
        envs = self._envs()
        frames = sum(max(0, frames_of(env) - first) for env, first in zip(envs, self._frames, strict=True))
        ridden = sum(max(0, one.last_frame - one.first_frame) for one in stand_ins if one.first_frame >= 0)
        return max(0, frames - ridden)

    def _envs(self) -> list[GreatWallEnv]:
        assert self.training_env is not None
        found = self.training_env.get_attr("unwrapped")
        return [env for env in found if isinstance(env, GreatWallEnv)]


class ReleasingCallback(BaseCallback):
    """Gives the policy the reins again: the last callback to act at a rollout's start, so that validating
    and saving happen within the gap."""

    def __init__(self, pausing: PausingCallback) -> None:
        super().__init__()
        self._pausing = pausing

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._pausing.take_reins()
