"""What the panel shows beyond the perception: how the player is doing. Written by the player's thread
alone, read by the main thread; each field is replaced whole, but for
the counts in `actions`."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from greatwall.contracts import Action


class Board:
    """The episode that runs and those that are over."""

    def __init__(self, player: str) -> None:
        self.player = player
        self.action: Action | None = None
        self.actions: deque[Action] = deque(maxlen=24)  # newest last
        self.terms: Mapping[str, float] = {}  # of the last step
        self.sums: dict[str, float] = {}  # of this episode
        self.episode_return = 0.0
        self.steps = 0  # of this episode
        self.all_steps = 0
        self.episodes = 0
        self.best_m = 0
        self.last_run: Mapping[str, Any] = {}
        self.last_return: float | None = None
        self.note = ""  # what the player is waiting for, or what interrupted it

    def begin(self) -> None:
        """A new episode."""
        self.terms, self.sums = {}, {}
        self.episode_return, self.steps = 0.0, 0
        self.action = None
        self.actions.clear()
        self.note = ""

    def step(self, action: Action, reward: float, terms: Mapping[str, float], distance_m: int | None) -> None:
        self.best_m = max(self.best_m, distance_m or 0)
        self.all_steps += 1
        self.action = action
        self.actions.append(action)
        self.terms = terms
        self.sums = {name: self.sums.get(name, 0.0) + value for name, value in terms.items()}
        self.episode_return += reward
        self.steps += 1

    def end(self, run: Mapping[str, Any], note: str = "") -> None:
        """The episode is over; `run` is its report."""
        self.episodes += 1
        self.last_run = run
        self.last_return = self.episode_return
        self.note = note
