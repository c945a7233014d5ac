"""A trained policy as a player: the 207 numbers in, an action out. Runs on the Master's thread."""

from __future__ import annotations

import logging
from pathlib import Path

from greatwall.contracts import Action, FloatArray, Perception
from greatwall.policies.policy_file import Policy, load_policy

LOGGER = logging.getLogger(__name__)


class PolicyPlayer:
    """Plays the likeliest action of a policy."""

    def __init__(self, policy: Policy, name: str = "policy") -> None:
        self.name = name
        self._policy = policy

    @classmethod
    def from_file(cls, path: Path, profile: str) -> PolicyPlayer:
        """Warns when the policy was trained on another game than `profile`, the one to be played.

        Raises `FileFormatError` for anything that is not a policy file.
        """
        policy = load_policy(path)
        if policy.profile != profile:
            LOGGER.warning(
                "%s: expected a policy trained on %s, found one trained on %r; it plays, but its distances "
                "and speeds are the other game's: train one on this",
                path,
                profile,
                policy.profile[:60],
            )
        return cls(policy, path.stem)

    def reset(self, seed: int) -> None:
        """Nothing: it has no memory and draws no numbers."""

    def act(self, observation: FloatArray, perception: Perception) -> Action:
        return Action(int(self._policy.probabilities(observation).argmax()))
