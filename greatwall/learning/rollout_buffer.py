"""A rollout buffer whose observations go through the features extractor once, not in every epoch.

Main thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.type_aliases import RolloutBufferSamples

Extract = Callable[[torch.Tensor], torch.Tensor]  # (N, observation) -> (N, features)


class ExtractedRolloutBuffer(RolloutBuffer):
    """SB3's, with features in its minibatches; `ExtractedPolicy` takes them."""

    def __init__(self, *args: Any, extract: Extract, **kwargs: Any) -> None:
        self._extract = extract
        super().__init__(*args, **kwargs)

    def reset(self) -> None:
        super().reset()
        self._is_extracted = False

    def _get_samples(self, *args: Any, **kwargs: Any) -> RolloutBufferSamples:
        if not self._is_extracted:  # by now they are flat: (steps * envs, size)
            self.observations = self._extract(self.to_torch(self.observations)).numpy()
            self._is_extracted = True
        return super()._get_samples(*args, **kwargs)
