"""The rows of `benchmarks/learning.py`: what is trained, for how long, on which course."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from greatwall.learning.presets import PRESETS, Preset
from greatwall.policies.network import NetworkSpec

SHORT, LONG = 100_000, 300_000
SHOWN = 80_000  # of SHORT, where a row is warm-started
DEFAULT, SCRATCH, MEMORY, PLAIN, PAPER = (
    PRESETS[name] for name in ("default", "scratch", "memory", "plain", "paper")
)


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
    Row("default", "`default`: 207 and extras, warm-started by `rule`", DEFAULT, SHORT),
    Row("scratch", "`scratch`: 207 and extras", SCRATCH, SHORT),
    Row("scratch-long", "`scratch`, more steps", SCRATCH, LONG),
    Row("memory", "`memory`: 207, remembered", MEMORY, SHORT),
    Row(
        "memory-warm",
        "`memory`, warm-started by `rule207`",
        MEMORY.warmed("rule207", SHOWN),
        SHORT,
    ),
    Row("plain", "`plain`: 207, no memory", PLAIN, SHORT),
    Row("plain-warm", "`plain`, warm-started by `rule207`", PLAIN.warmed("rule207", SHOWN), SHORT),
    Row("paper", "`paper`: the user's settings", PAPER, SHORT),
    Row("low_delay", "`default`", DEFAULT, SHORT, "low_delay", "low_delay"),
    Row(
        "no-far-starts",
        "`scratch`, every episode from the course's start",
        _changed(SCRATCH, furthest_start_m=0.0, episode_s=0.0),
        SHORT,
        "ablation",
    ),
    Row(
        "gamma-a-step",
        "`scratch`, discounted by the step",
        _changed(SCRATCH, gamma_by_time=False, gamma=0.97, gae_lambda=0.95),
        SHORT,
        "ablation",
    ),
    Row("no-touches", "`scratch` without `touches`", _seeing(SCRATCH, "motion", "ahead"), SHORT, "ablation"),
    Row("no-ahead", "`scratch` without `ahead`", _seeing(SCRATCH, "touches", "motion"), SHORT, "ablation"),
    Row(
        "not-timed",
        "`scratch` on running mean and variance instead of radial bases of time",
        _changed(
            SCRATCH,
            network=NetworkSpec("normalised", {}, SCRATCH.network.net_arch, extras=SCRATCH.network.extras),
        ),
        SHORT,
        "ablation",
    ),
)
