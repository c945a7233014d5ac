"""A trained policy as a player: the 207 numbers in, an action out. Runs on the Master's thread."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from greatwall.contracts import Action, FloatArray, Perception
from greatwall.policies.policy_file import Policy, load_policy


class PolicyPlayer:
    """Plays the likeliest action of a policy, or draws one when not deterministic."""

    def __init__(self, policy: Policy, name: str = "policy", deterministic: bool = True) -> None:
        self.name = name
        self._policy = policy
        self._deterministic = deterministic
        self.reset(0)

    @classmethod
    def from_file(cls, path: Path, deterministic: bool = True) -> PolicyPlayer:
        """Raises `FileFormatError` for anything that is not a policy file."""
        return cls(load_policy(path), path.stem, deterministic)

    def reset(self, seed: int) -> None:
        self._rng = np.random.default_rng([12, seed])  # 12: a stream of its own

    def act(self, observation: FloatArray, perception: Perception) -> Action:
        chances = self._policy.probabilities(observation)
        if self._deterministic:
            return Action(int(chances.argmax()))
        return Action(int(np.searchsorted(np.cumsum(chances), self._rng.random() * chances.sum())))
