"""Players without a plan: the lower bounds. They run on the Master's thread."""

from __future__ import annotations

import numpy as np

from greatwall.contracts import Action, FloatArray, Perception

RANDOM_STREAM = 61  # purpose tag of the generator


class RandomPlayer:
    """Each action with equal chance; equal seeds give equal play."""

    name = "random"

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, seed: int) -> None:
        self._rng = np.random.default_rng([RANDOM_STREAM, seed])

    def act(self, observation: FloatArray, perception: Perception) -> Action:
        return Action(int(self._rng.integers(len(Action))))


class IdlePlayer:
    """Never touches the screen."""

    name = "idle"

    def reset(self, seed: int) -> None:
        """Nothing to forget."""

    def act(self, observation: FloatArray, perception: Perception) -> Action:
        return Action.WAIT
