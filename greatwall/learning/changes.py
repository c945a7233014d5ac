"""What differs between a run on disk and what is asked of it now: what may change, and what may not.

Runs on the main thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from config import Config
from greatwall.learning.presets import Preset
from greatwall.learning.training_state import TrainingState, differences, filled

# another run begins with these
FIXED = ("preset.name ", "preset.network", "preset.warm_start ", "preset.demonstration_steps ", "seed ")
STARTS = ("preset.furthest_start_m ", "preset.starts_at_0 ", "preset.episode_s ")  # where a game is begun
SCORED = ("course.", "delays.", "faults.", "reward.", "env.", "variants ", "device ", "profile.name ")


@dataclass(frozen=True)
class Changes:
    """Each as `name before -> after`."""

    refused: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()

    @property
    def of_the_game(self) -> bool:
        """Whether scores from before mean something else now."""
        return any(one.startswith(SCORED) for one in self.accepted)

    @property
    def of_the_config(self) -> bool:
        """Whether a game under way would go on otherwise than it began."""
        return any(one.startswith(STARTS) or not one.startswith("preset.") for one in self.accepted)


def changes_between(state: TrainingState, config: Config, preset: Preset, run_seed: int) -> Changes:
    """What of game, preset and seed differs from the run on disk. Settings newer than it don't count."""
    found = differences(filled(state.config, Config().resolved()), config.resolved())
    found += differences(filled(state.preset, preset.resolved()), preset.resolved(), "preset.")
    if state.counters.run_seed != run_seed:
        found.append(f"seed {state.counters.run_seed} -> {run_seed}")
    refused = [one for one in found if one.startswith(FIXED)]
    if state.counters.timesteps == 0:  # nothing has been shown yet
        refused = [one for one in refused if not one.startswith("preset.demonstration_steps ")]
    if any(one.startswith(FIXED[0]) for one in refused):  # its numbers follow from its name
        found = [one for one in found if not one.startswith("preset.") or one.startswith(FIXED[0])]
        refused = [one for one in found if one.startswith(FIXED)]
    return Changes(tuple(refused), tuple(one for one in found if one not in refused))
