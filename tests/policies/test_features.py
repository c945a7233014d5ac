"""What the extractors make of the 207 numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from greatwall.contracts import OBSERVATION_SIZE, TERRAIN_SAMPLES
from greatwall.policies.features import NormalisedFeatures, RadialFeatures
from greatwall.policies.network import observation_space


def observation(
    gap: tuple[int, int] | None = None, distances: tuple[float, ...] = (1, 1, 1, 1)
) -> torch.Tensor:
    values = np.ones(OBSERVATION_SIZE, np.float32)
    if gap is not None:
        values[gap[0] : gap[1]] = 0.0
    values[TERRAIN_SAMPLES : TERRAIN_SAMPLES + 4] = distances
    values[-3:] = (0.2, 0.1, 0.3)
    return torch.from_numpy(values).unsqueeze(0)


def radial() -> RadialFeatures:
    return RadialFeatures(observation_space(), spacing_px=25.0)


def test_the_number_of_features_is_the_declared_one() -> None:
    for spacing in (10.0, 25.0, 37.0):
        extractor = RadialFeatures(observation_space(), spacing)
        assert extractor(observation()).shape == (1, extractor.features_dim)


def test_nothing_near_excites_no_basis() -> None:
    extractor = radial()
    bases = 4 * len(extractor.object_centers)
    assert extractor(observation())[0, :bases].abs().max() == 0.0


@pytest.mark.parametrize("px", [0.0, 25.0, 250.0, 475.0])
def test_an_obstacle_excites_the_basis_at_its_distance_most(px: float) -> None:
    extractor = radial()
    found = extractor(observation(distances=(px / 500, 1, 1, 1)))[0, : len(extractor.object_centers)]
    assert float(extractor.object_centers[int(found.argmax())]) == px
    assert float(found.max()) == pytest.approx(1.0, abs=1e-4)


def test_thirty_px_make_a_clear_difference() -> None:
    extractor = radial()
    near, far = (extractor(observation(distances=(px / 500, 1, 1, 1))) for px in (230, 260))
    assert float((near - far).norm()) > 0.5


@pytest.mark.parametrize(
    ("gap", "start", "end"),
    [((10, 60), 10, 60), ((0, 5), 0, 5), ((150, 200), 150, 200), (None, 200, 200)],
    ids=["ahead", "under the rider", "out of sight", "none"],
)
def test_the_terrain_becomes_start_end_and_length(gap: tuple[int, int] | None, start: int, end: int) -> None:
    plain = radial()(observation(gap))[0, -8:]
    expected = [float(gap is not None), start / 200, end / 200, (end - start) / 200]
    np.testing.assert_allclose(plain[:4].numpy(), expected, atol=1e-6)


def test_of_two_gaps_the_nearer_counts() -> None:
    values = observation((20, 40))
    values[0, 100:150] = 0.0
    np.testing.assert_allclose(radial()(values)[0, -7:-5].numpy(), [20 / 200, 40 / 200], atol=1e-6)


def test_running_statistics_equal_those_of_all_observations_at_once() -> None:
    batches = [torch.rand(n, OBSERVATION_SIZE) * n for n in (1, 7, 100)]
    extractor = NormalisedFeatures(observation_space())
    for batch in batches:
        extractor.absorb(batch)
    everything = torch.cat(batches).to(torch.float64)
    torch.testing.assert_close(extractor.mean, everything.mean(0))
    torch.testing.assert_close(extractor.var, everything.var(0, unbiased=False))


def test_constant_inputs_stay_finite() -> None:
    extractor = NormalisedFeatures(observation_space(), clip=10.0)
    extractor.absorb(torch.ones(50, OBSERVATION_SIZE))
    found = extractor(torch.zeros(1, OBSERVATION_SIZE))
    assert torch.isfinite(found).all()
    assert found.abs().max() <= 10.0
