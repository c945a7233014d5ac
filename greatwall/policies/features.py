"""Features extractors: how the 207 numbers (SPEC 3) are scaled inside the policy, never outside it.

`timed` (timed_features.py) thinks in seconds and reads extras, `radial` in px; `normalised` is the usual
running mean and variance; `flat` hands the raw numbers on, as the user's settings do. What each comes to is
in docs/learning.md. Runs on the caller's thread.
"""

from __future__ import annotations

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor

from greatwall.contracts import OBSERVATION_SIZE, TERRAIN_SAMPLES
from greatwall.policies.decoding import OBJECT_RANGE_PX, TERRAIN_STEP_PX, nearest_gap, radial_bases
from greatwall.policies.timed_features import TimedFeatures


class NormalisedFeatures(BaseFeaturesExtractor):
    """(x - mean) / std, clipped. The statistics are buffers: they travel in the policy file.

    They change only through `absorb`, which the trainer calls between an update and the next
    collection, so that within one rollout and its update the policy is one function.
    """

    mean: torch.Tensor
    var: torch.Tensor
    count: torch.Tensor

    def __init__(self, observation_space: spaces.Box, clip: float = 10.0) -> None:
        size = int(observation_space.shape[0])
        super().__init__(observation_space, size)
        self.clip = float(clip)
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("var", torch.ones(size, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def absorb(self, observations: torch.Tensor) -> None:
        """Merge a batch (N, size) into the running mean and variance (Chan et al.'s parallel form)."""
        batch = observations.to(torch.float64)
        n = float(batch.shape[0])
        mean, var = batch.mean(0), batch.var(0, unbiased=False)
        total = self.count + n
        delta = mean - self.mean
        merged = self.var * self.count + var * n + delta**2 * self.count * n / total
        self.mean += delta * n / total
        self.var.copy_(merged / total)
        self.count.copy_(total)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        scaled = (observations - self.mean) / torch.sqrt(self.var + 1e-8)
        return scaled.clamp(-self.clip, self.clip).to(torch.float32)


class RadialFeatures(BaseFeaturesExtractor):
    """The 207 numbers as what they mean: distances spread over radial bases, and a few plain values.

    The 200 terrain cells become start, end and length of the nearest gap. Each distance (obstacle,
    enemy, soul, coin, gap start, gap end) excites Gaussian bases `spacing_px` apart and as wide,
    because the right moment to jump is sharp to about 30 px, and says whether there is anything.
    """

    object_centers: torch.Tensor
    terrain_centers: torch.Tensor
    cells: torch.Tensor

    def __init__(self, observation_space: spaces.Box, spacing_px: float = 25.0) -> None:
        object_bases = int(OBJECT_RANGE_PX // spacing_px) + 1
        terrain_px = TERRAIN_SAMPLES * TERRAIN_STEP_PX
        terrain_bases = int(terrain_px // spacing_px) + 1
        super().__init__(observation_space, 4 * (object_bases + 2) + 2 * terrain_bases + 4 + 4)
        self.spacing_px = float(spacing_px)
        self.register_buffer("object_centers", torch.arange(object_bases) * spacing_px, persistent=False)
        self.register_buffer("terrain_centers", torch.arange(terrain_bases) * spacing_px, persistent=False)
        self.register_buffer("cells", torch.arange(TERRAIN_SAMPLES), persistent=False)

    def _bases(self, px: torch.Tensor, centers: torch.Tensor) -> torch.Tensor:
        return radial_bases(px, centers, self.spacing_px)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        here, first, end = nearest_gap(observations, self.cells)
        gap_px = torch.stack((first, end), 1).to(torch.float32) * TERRAIN_STEP_PX
        gap = self._bases(gap_px, self.terrain_centers) * here[:, None, None]

        share = observations[:, TERRAIN_SAMPLES : TERRAIN_SAMPLES + 4]
        there = (share < 1.0).to(torch.float32)
        near = self._bases(share * OBJECT_RANGE_PX, self.object_centers) * there.unsqueeze(-1)

        arrows, coins, lives = observations[:, TERRAIN_SAMPLES + 4 : OBSERVATION_SIZE].unbind(1)
        plain = torch.stack(
            (
                here.to(torch.float32),
                first / TERRAIN_SAMPLES,
                end / TERRAIN_SAMPLES,
                (end - first) / TERRAIN_SAMPLES,
                arrows,
                (arrows > 0).to(torch.float32),
                coins * 2.0,
                lives * 2.0,
            ),
            1,
        )
        return torch.cat((near.flatten(1), there, share, gap.flatten(1), plain), 1)


EXTRACTORS: dict[str, type[BaseFeaturesExtractor]] = {
    "flat": FlattenExtractor,
    "normalised": NormalisedFeatures,
    "radial": RadialFeatures,
    "timed": TimedFeatures,
}
READS_EXTRAS = ("timed",)  # these are told which extras there are; the others see plain numbers

# kind -> setting -> (lowest, highest) allowed: what a policy file may ask for
EXTRACTOR_SETTINGS: dict[str, dict[str, tuple[float, float]]] = {
    "flat": {},
    "normalised": {"clip": (1.0, 100.0)},
    "radial": {"spacing_px": (5.0, 250.0)},
    "timed": {"spacing_s": (0.02, 0.5), "horizon_s": (0.4, 4.0)},
}
