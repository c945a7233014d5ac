"""Sturdier by practice: each training episode has faults of perception and delays of its own, drawn around
the configured ones.

What is drawn is a function of the episode's course seed, which is one of (run seed, env, episode): a
resumed run draws the same. Evaluation, validation and the exam play the game as it is configured. Main
thread.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np

from config import Config, DelayConfig, FaultConfig, Seconds
from game_env import GreatWallEnv
from greatwall.assembly import build_env, build_eyes, build_worker
from greatwall.contracts import Eyes, FloatArray, Frame, HudRead, Sight
from greatwall.errors import ConfigError

RANDOMISE_STREAM = 91  # purpose tag of the generator
# What strength 1 may add at most: shares of looks or frames, px.
FAULTS_ADDED = {"miss": 0.10, "mislabel": 0.04, "jitter": 6.0, "stale": 0.08, "hud": 0.05, "drop": 0.08}
TOUCH_SHIFT_S = 0.08  # the touch delay as a whole, earlier or later
TOUCH_SPREAD_S = 0.04  # and its ends, farther apart
CAPTURE_ADDED_S = 2 / 30
HUD_ADDED_S = 0.2
LONGEST_S = 2.0  # of any delay (`DelayConfig`)


def drawn_config(config: Config, course_seed: int) -> Config:
    """`config` with the faults and delays of the episode on that course.

    How hard it is as a whole is drawn first, up to `config.randomise`, so that many episodes are easy.
    """
    rng = np.random.default_rng([RANDOMISE_STREAM, course_seed])
    hard = config.randomise * rng.random()
    faults = dataclasses.asdict(config.faults)
    for name, most in FAULTS_ADDED.items():
        faults[name] += hard * most * rng.random()
        if name != "jitter":
            faults[name] = min(1.0, faults[name])
    delays = config.delays
    shift_s = hard * TOUCH_SHIFT_S * rng.uniform(-1.0, 1.0)
    spread_s = hard * TOUCH_SPREAD_S * rng.random()
    capture_s = hard * CAPTURE_ADDED_S * rng.random(2)
    hud_s = hard * HUD_ADDED_S * rng.random()
    drawn = DelayConfig(
        capture_to_perceived_s=_moved(delays.capture_to_perceived_s, capture_s.min(), capture_s.max()),
        decision_to_touch_s=delays.decision_to_touch_s,
        touch_to_effect_s=_moved(delays.touch_to_effect_s, shift_s - spread_s, shift_s + spread_s),
        hud_read_s=_moved(delays.hud_read_s, 0.0, hud_s),
    )
    return dataclasses.replace(config, faults=FaultConfig(**faults), delays=drawn)


def _moved(seconds: Seconds, low_s: float, high_s: float) -> Seconds:
    low = min(LONGEST_S, max(0.0, seconds[0] + float(low_s)))
    return low, min(LONGEST_S, max(low, seconds[1] + float(high_s)))


class RandomisedGames(gym.Wrapper[FloatArray, int, FloatArray, int]):
    """An env that is another one after every `reset` with a seed: that course's faults and delays.

    The eyes are built once and lent to each, because a detector takes seconds to load.
    """

    def __init__(self, config: Config) -> None:
        if config.device != "simulator":
            raise ConfigError(
                f"--randomise: expected the simulator, found device {config.device!r}, whose delays are its "
                "own; leave it out"
            )
        self._config = config
        self._eyes = build_eyes(dataclasses.replace(config, faults=FaultConfig()))
        super().__init__(self._game(config))

    def _game(self, drawn: Config) -> GreatWallEnv:
        """A game as drawn, under a Master that knows what is configured and not what was drawn."""
        return GreatWallEnv(self._config, build_worker(drawn, eyes=LentEyes(self._eyes)))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """With a seed another game; without one the game that is played begins anew."""
        if seed is not None:
            self.env.close()
            self.env = self._game(drawn_config(self._config, seed))
        return self.env.reset(seed=seed, options=options)

    def close(self) -> None:
        self.env.close()
        self._eyes.close()


class LentEyes:
    """`contracts.Eyes` that outlive whoever they are lent to."""

    def __init__(self, eyes: Eyes) -> None:
        self._eyes = eyes

    def see(self, frame: Frame) -> Sight:
        return self._eyes.see(frame)

    def read_hud(self, frame: Frame) -> HudRead:
        return self._eyes.read_hud(frame)

    def reset(self) -> None:
        self._eyes.reset()

    def close(self) -> None:
        """Nothing: their owner closes them."""


def build_training_game(config: Config) -> gym.Env[FloatArray, int]:
    """The env of training episodes: randomised where `config` asks for it."""
    return RandomisedGames(config) if config.randomise > 0 else build_env(config)
