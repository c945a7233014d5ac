"""Where a training episode begins: the course's own start, or far along it, at the speed it has there.

An agent that falls early never sees the speeds that decide how far a good one comes. Only training begins
elsewhere: evaluation, exam and validation ride the course as it is. Main thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greatwall.game.course import FIRST_FEATURE_X

START_STREAM = 83  # purpose tag of the generator


def drawn_start_m(course_seed: int, furthest_m: float, at_the_start: float) -> float:
    """m at which the episode of that course begins: 0 in this share of episodes, else anywhere up to
    `furthest_m`. A function of its arguments alone."""
    rng = np.random.default_rng([START_STREAM, course_seed])
    where, whether = rng.random(2)
    return 0.0 if whether < at_the_start else float(where) * furthest_m


def moved_to(saved: dict[str, Any], start_m: float, px_per_m: float) -> dict[str, Any]:
    """A game saved at its start (`GreatWallEnv.save_game`), moved to begin at `start_m`, with the
    speed the course has there and its usual run-up."""
    game = saved["state"]["game"]
    x = start_m * px_per_m
    game["x"], game["things"] = x, []
    game["course"]["next_x"], game["course"]["ground_end"] = x + FIRST_FEATURE_X, x
    return saved
