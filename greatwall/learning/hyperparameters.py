"""The run's settings on TensorBoard's HParams page, so that runs can be compared there. Main thread."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HParam

from config import Config
from greatwall.learning.presets import Preset

# What the page may sort runs by: curves that every run has. 0 is shown until the first point is there.
METRICS = ("validation/distance_m", "validation/return", "episode/distance_m", "rollout/ep_rew_mean")


def hyperparameters(config: Config, preset: Preset, run_seed: int) -> dict[str, bool | str | float | int]:
    """Settings by name: the preset's, `network.` before those of its network, and what is played."""
    found: dict[str, Any] = dict(preset.resolved())
    for name, value in found.pop("network").items():
        found[f"network.{name}"] = value
    found["preset"] = found.pop("name")
    found |= {
        "seed": run_seed,
        "eyes": config.eyes.kind,
        "device": config.device,
        "clock": config.worker.clock,
        "variants": ",".join(config.variants) or "standard",
        "decision_hz": config.worker.decision_hz,
    }
    return {
        name: value if isinstance(value, (bool, str, int, float)) else str(value)
        for name, value in found.items()
    }


class HyperparametersCallback(BaseCallback):
    """Writes them once, when training starts."""

    def __init__(self, config: Config, preset: Preset, run_seed: int) -> None:
        super().__init__()
        self._settings = hyperparameters(config, preset, run_seed)

    def _on_training_start(self) -> None:
        told = HParam(self._settings, dict.fromkeys(METRICS, 0.0))
        self.logger.record("hparams", told, exclude=("stdout", "log", "json", "csv"))

    def _on_step(self) -> bool:
        return True
