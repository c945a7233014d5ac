"""A trained policy as a player: the 207 numbers and its extras in, an action out. Master's thread."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from config import Config
from greatwall.contracts import OBSERVATION_SIZE, Action, FloatArray, Perception
from greatwall.extras import Extras
from greatwall.policies.acting import ReadyPolicy
from greatwall.policies.policy_file import Policy, load_policy

LOGGER = logging.getLogger(__name__)


class PolicyPlayer:
    """Plays the likeliest action of a policy.

    It makes the extras that its policy wants itself, so it plays in any env, whatever that one appends.
    """

    def __init__(self, policy: Policy, config: Config, name: str = "policy") -> None:
        self.name = name
        self._policy = ReadyPolicy(policy)
        groups = policy.spec.extras
        self._extras = Extras(config, groups) if groups else None

    @classmethod
    def from_file(cls, path: Path, config: Config) -> PolicyPlayer:
        """Warns when the policy was trained on another game than `config.profile`, the one to be played.

        Raises `FileFormatError` for anything that is not a policy file.
        """
        policy = load_policy(path)
        profile = config.profile.name
        if policy.profile != profile:
            LOGGER.warning(
                "%s: expected a policy trained on %s, found one trained on %r; it plays, but its distances "
                "and speeds are the other game's: train one on this",
                path,
                profile,
                policy.profile[:60],
            )
        return cls(policy, config, path.stem)

    def reset(self, seed: int) -> None:
        """Forget the last run, where its policy remembers one; it draws no numbers."""
        if self._extras is not None:
            self._extras.begin()

    def act(self, observation: FloatArray, perception: Perception) -> Action:
        seen = observation[:OBSERVATION_SIZE]
        if self._extras is not None:
            extras = self._extras.see(seen, perception)
            seen = np.concatenate((seen, np.asarray(extras, np.float32)))
        action = self._policy.likeliest(seen)
        if self._extras is not None:
            self._extras.act(action)
        return action
