"""Which course seeds are for what (SPEC 7). Training, validation and test never meet."""

from __future__ import annotations

import numpy as np

TRAINING_END = 1_000_000
VALIDATION_START = 1_000_000
TEST_START = 2_000_000


def training_seed(run_seed: int, env_index: int, episode: int) -> int:
    """The course of one training episode: a function of its arguments alone, below 1,000,000."""
    sequence = np.random.SeedSequence([run_seed, env_index, episode])
    return int(sequence.generate_state(1)[0]) % TRAINING_END
