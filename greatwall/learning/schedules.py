"""Callbacks that change something of the learner between an update and the next collection. Main thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from greatwall.policies.features import NormalisedFeatures


class NormalisationCallback(BaseCallback):
    """Feeds a rollout's observations to a `normalised` extractor once its update is over."""

    def __init__(self) -> None:
        super().__init__()
        self._observations: np.ndarray[Any, Any] | None = None

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if isinstance(self.model.policy.features_extractor, NormalisedFeatures):
            buffer = self.locals["rollout_buffer"].observations
            self._observations = buffer.reshape(-1, buffer.shape[-1]).copy()

    def _on_rollout_start(self) -> None:
        extractor = self.model.policy.features_extractor
        if self._observations is not None and isinstance(extractor, NormalisedFeatures):
            extractor.absorb(torch.from_numpy(self._observations))
            self._observations = None


class FallingRate:
    """A learning rate that falls linearly over the run: what PPO is given as its schedule.

    SB3 hands a schedule what remains *after* the rollout to be learnt from, which is nothing at the
    last one and less than nothing after an overshoot. `RateCallback` sets what remained at its start.
    """

    def __init__(self, start: float) -> None:
        self.start = start
        self.remaining = 1.0

    def __call__(self, _remaining_after: float) -> float:
        return self.start * self.remaining


class RateCallback(BaseCallback):
    """Lets a `FallingRate` fall: at each rollout's start, by the share of the run that remains."""

    def __init__(self, target_timesteps: int) -> None:
        super().__init__()
        self._target = target_timesteps

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        rate = self.model.learning_rate
        if isinstance(rate, FallingRate):
            rate.remaining = max(0.0, 1.0 - self.num_timesteps / self._target)


class EntropyCallback(BaseCallback):
    """Lets the entropy bonus fall linearly to 0 over the run: explore early, play sharply late."""

    def __init__(self, start: float, target_timesteps: int) -> None:
        super().__init__()
        self._start, self._target = start, target_timesteps

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        assert isinstance(self.model, PPO)
        self.model.ent_coef = self._start * max(0.0, 1.0 - self.num_timesteps / self._target)
