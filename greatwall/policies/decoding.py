"""What the 207 numbers (SPEC 3) say, as tensors of px: shared by the features extractors."""

from __future__ import annotations

import torch

from greatwall.contracts import OBSERVATION_SIZE, TERRAIN_SAMPLES

OBJECT_RANGE_PX = 500.0  # SPEC 3: distances are px / 500
TERRAIN_STEP_PX = 3.0
LEAST_BASE = 1e-6  # of a radial base; less is 0, for products with denormal numbers take ten times as long

assert OBSERVATION_SIZE == TERRAIN_SAMPLES + 7


def nearest_gap(
    observations: torch.Tensor, cells: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Whether ground is missing, and the first cell of the nearest gap and the first after it.

    `cells` counts the terrain samples; where there is no gap, or none of its end, both are their number.
    """
    missing = observations[:, :TERRAIN_SAMPLES] < 0.5
    here = missing.any(1)
    first = torch.where(missing, cells, TERRAIN_SAMPLES).amin(1)
    ground_after = ~missing & (cells > first.unsqueeze(1))
    end = torch.where(ground_after, cells, TERRAIN_SAMPLES).amin(1)
    return here, first, end


def radial_bases(values: torch.Tensor, centers: torch.Tensor, width: float) -> torch.Tensor:
    """How near each value is to each centre: Gaussian, 1 at the centre, one more dimension."""
    near = torch.exp(-(((values.unsqueeze(-1) - centers) / width) ** 2))
    return torch.relu(near - LEAST_BASE)
