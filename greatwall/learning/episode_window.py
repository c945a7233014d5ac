"""The newest 100 episodes, that the means of curves and progress bar are taken over. Main thread.

Plain values: they are kept in the training state, so that a resumed run's curves go on as they were.
"""

from __future__ import annotations

from typing import Any

WINDOW = 100  # episodes
RUN_VALUES = ("distance_m", "coins", "obstacles", "cliffs", "shots", "steps")


def remember(window: list[dict[str, Any]], infos: list[dict[str, Any]]) -> None:
    """Add the episodes that ended in this step; the oldest go."""
    for info in infos:
        if "episode" in info:
            run = info["run"]
            kept = {name: float(run[name]) for name in RUN_VALUES}
            kills = None if run["kills"] is None else float(run["kills"])
            window.append(
                {
                    "return": float(info["episode"]["r"]),
                    "run": {**kept, "kills": kills, "death": str(run["death"])},
                    "terms": {name: float(value) for name, value in info["terms"].items()},
                }
            )
    del window[:-WINDOW]
