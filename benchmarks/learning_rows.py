"""The rows of `benchmarks/learning.py`: what is trained, for how long, on which course."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from greatwall.learning.presets import PRESETS, Preset
from greatwall.policies.network import NetworkSpec

SHORT, LONG = 100_000, 400_000
DEFAULT, MEMORY, PLAIN, PAPER = (PRESETS[name] for name in ("default", "memory", "plain", "paper"))


@dataclass(frozen=True)
class Row:
    """One way to train. `group`: main, low_delay or ablation."""

    name: str
    about: str
    preset: Preset
    timesteps: int
    group: str = "main"
    variant: str = ""

    def resolved(self) -> dict[str, Any]:
        """As JSON-able values."""
        return {
            "timesteps": self.timesteps,
            "variant": self.variant,
            "preset": self.preset.resolved(),
        }


def _changed(preset: Preset, **changes: Any) -> Preset:
    return dataclasses.replace(preset, **changes)


def _seeing(preset: Preset, *extras: str) -> Preset:
    return _changed(preset, network=dataclasses.replace(preset.network, extras=extras))


ROWS = (
    Row("default", "`default`: 207 and extras", DEFAULT, SHORT),
    Row("default-long", "`default`, more steps", DEFAULT, LONG),
    Row(
        "default-warm",
        "`default`, warm-started by `rule`",
        DEFAULT.warmed("rule", SHORT // 2),
        SHORT,
    ),
    Row("memory", "`memory`: 207, remembered", MEMORY, SHORT),
    Row("memory-long", "`memory`, more steps", MEMORY, LONG),
    Row(
        "memory-warm",
        "`memory`, warm-started by `rule207`",
        MEMORY.warmed("rule207", SHORT // 2),
        SHORT,
    ),
    Row("plain", "`plain`: 207, no memory", PLAIN, SHORT),
    Row("paper", "`paper`: the user's settings", PAPER, SHORT),
    Row("low_delay", "`default`", DEFAULT, SHORT, "low_delay", "low_delay"),
    Row(
        "no-far-starts",
        "`default`, every episode from the course's start",
        _changed(DEFAULT, furthest_start_m=0.0, episode_s=0.0),
        SHORT,
        "ablation",
    ),
    Row(
        "gamma-a-step",
        "`default`, discounted by the step",
        _changed(DEFAULT, gamma_by_time=False, gamma=0.97, gae_lambda=0.95),
        SHORT,
        "ablation",
    ),
    Row("no-touches", "`default` without `touches`", _seeing(DEFAULT, "motion", "ahead"), SHORT, "ablation"),
    Row("no-ahead", "`default` without `ahead`", _seeing(DEFAULT, "touches", "motion"), SHORT, "ablation"),
    Row(
        "not-timed",
        "`default` on running mean and variance instead of radial bases of time",
        _changed(
            DEFAULT,
            network=NetworkSpec("normalised", {}, DEFAULT.network.net_arch, extras=DEFAULT.network.extras),
        ),
        SHORT,
        "ablation",
    ),
)
