"""A rollout buffer that discounts by time: a step of 0.6 s looks 6 times as far ahead as one of 0.1 s.

Discounted alike, long steps gain: they collect the reward of half a second at the price of one discount.
Main thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from greatwall.learning.rollout_buffer import ExtractedRolloutBuffer

OfLastStep = Callable[[], NDArray[np.floating[Any]]]  # (envs,)


class TimedRolloutBuffer(ExtractedRolloutBuffer):
    """Generalised advantages with gamma ** n and lambda ** n for a step of n decision periods
    (a semi-Markov process: Sutton, Precup, Singh 1999). `durations` gives n of each env's last step,
    `rewards` what that step was rewarded with.

    To the reward of an episode that was cut off SB3 adds gamma * the value of its last observation,
    whatever the step took; what it added is discounted by time here as well.
    """

    def __init__(self, *args: Any, durations: OfLastStep, rewards: OfLastStep, **kwargs: Any) -> None:
        self._last_durations, self._last_rewards = durations, rewards
        super().__init__(*args, **kwargs)

    def reset(self) -> None:
        super().reset()
        self.periods = np.ones((self.buffer_size, self.n_envs), np.float32)

    def add(
        self, obs: NDArray[Any], action: NDArray[Any], reward: NDArray[Any], *args: Any, **kwargs: Any
    ) -> None:
        periods, plain = self._last_durations(), self._last_rewards()
        self.periods[self.pos] = periods
        reward = plain + (reward - plain) * self.gamma ** (periods - 1.0)
        super().add(obs, action, reward, *args, **kwargs)

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: NDArray[Any]) -> None:
        last = last_values.clone().cpu().numpy().flatten()
        following = np.zeros(self.n_envs)
        for step in reversed(range(self.buffer_size)):
            final = step == self.buffer_size - 1
            goes_on = 1.0 - (dones.astype(np.float32) if final else self.episode_starts[step + 1])
            next_values = last if final else self.values[step + 1]
            gamma = self.gamma ** self.periods[step]
            decay = gamma * self.gae_lambda ** self.periods[step]
            delta = self.rewards[step] + gamma * next_values * goes_on - self.values[step]
            following = delta + decay * goes_on * following
            self.advantages[step] = following
        self.returns = self.advantages + self.values
