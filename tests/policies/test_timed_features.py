"""The extractor that thinks in seconds: what it makes of hazards, touches and speeds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from config import EXTRA_GROUPS
from greatwall.contracts import OBSERVATION_SIZE, TERRAIN_SAMPLES
from greatwall.extras import SPEED_SCALE_PX_S, extras_layout, extras_size
from greatwall.policies.network import NetworkSpec, build_policy, observation_space
from greatwall.policies.timed_features import KINDS, USUAL_PX_S, TimedFeatures

ALL = ("touches", "motion", "ahead")
SETS = [(), ("recall",), ("touches",), ("motion",), ("ahead",), ("touches", "motion"), ALL, EXTRA_GROUPS]


def made(extras: tuple[str, ...]) -> TimedFeatures:
    return TimedFeatures(observation_space(extras), extras)


def nothing(extras: tuple[str, ...], speed_px_s: float = 400.0) -> torch.Tensor:
    """No hazard, no touch, on the ground, at that speed."""
    found = np.ones(OBSERVATION_SIZE + extras_size(extras), np.float32)
    found[OBSERVATION_SIZE - 3 : OBSERVATION_SIZE] = (0.2, 0.1, 0.3)
    for group, where in extras_layout(extras, OBSERVATION_SIZE).items():
        if group == "touches":
            found[where] = [0, 0, 1] * 3
        elif group == "motion":
            found[where] = [0, 0.5, speed_px_s / SPEED_SCALE_PX_S, 2 / 15, 0]
        elif group == "ahead":
            found[where] = [0, 0, 0, 1, 1, 0, speed_px_s / SPEED_SCALE_PX_S, 1] * 4
        else:
            found[where] = [speed_px_s / SPEED_SCALE_PX_S, 0, *([0, 0, 1] * 3)]
    return torch.from_numpy(found).unsqueeze(0)


def with_obstacle(in_s: float, speed_px_s: float) -> torch.Tensor:
    """An obstacle that begins in that many seconds, as `ahead` says it."""
    found = nothing(ALL, speed_px_s)
    at = extras_layout(ALL, OBSERVATION_SIZE)["ahead"].start
    left = 310 + (in_s + 2 / 30) * speed_px_s
    slot = [1, 0, 0, left / 1920, (left + 86) / 1920, 0.25, speed_px_s / SPEED_SCALE_PX_S, 1]
    found[0, at : at + 8] = torch.tensor(slot)
    return found


@pytest.mark.parametrize("extras", SETS, ids="-".join)
@pytest.mark.parametrize("settings", [{}, {"spacing_s": 0.05, "horizon_s": 1.0}], ids=["usual", "finer"])
def test_the_number_of_features_is_the_declared_one(
    extras: tuple[str, ...], settings: dict[str, float]
) -> None:
    extractor = TimedFeatures(observation_space(extras), extras, **settings)
    found = extractor(torch.rand(5, OBSERVATION_SIZE + extras_size(extras)))
    assert found.shape == (5, extractor.features_dim)
    assert torch.isfinite(found).all()


@pytest.mark.parametrize("extras", SETS, ids="-".join)
def test_where_there_is_nothing_no_hazard_and_no_touch_basis_is_excited(extras: tuple[str, ...]) -> None:
    extractor = made(extras)
    parts: list[torch.Tensor] = []
    observation = nothing(extras)
    extractor._touches(observation, parts)
    touches = parts[0] if parts else torch.zeros(1)
    assert touches.abs().max() == 0.0
    parts = []
    speed, age_s, landing_s = extractor._speed(observation, [])
    extractor._hazards(observation, speed, age_s, landing_s, parts)
    assert all(part.abs().max() == 0.0 for part in parts)


@pytest.mark.parametrize("speed_px_s", [400.0, 800.0, 1200.0])
def test_the_same_time_to_an_obstacle_looks_the_same_at_every_speed(speed_px_s: float) -> None:
    extractor = made(ALL)
    found = []
    for one in (400.0, speed_px_s):
        observation = with_obstacle(0.64, one)
        parts: list[torch.Tensor] = []
        extractor._hazards(observation, *extractor._speed(observation, []), parts)
        found.append(parts[0])
    torch.testing.assert_close(found[0], found[1], atol=2e-3, rtol=0)
    bases = found[0].reshape(4, KINDS, -1)
    assert float(extractor.hazard_s[int(bases[0, 0].argmax())]) == pytest.approx(0.64, abs=0.04)
    assert bases[1:].abs().max() == 0.0
    assert bases[0, 1:].abs().max() == 0.0


def test_an_enemy_that_was_shot_at_is_of_another_kind() -> None:
    extractor = made(ALL)
    kinds = []
    for shot_ago in (1.0, 0.2):
        observation = with_obstacle(0.5, 400.0)
        at = extras_layout(ALL, OBSERVATION_SIZE)["ahead"].start
        observation[0, at : at + 3] = torch.tensor([0.0, 1.0, 0.0])
        observation[0, at + 7] = shot_ago
        parts: list[torch.Tensor] = []
        extractor._hazards(observation, *extractor._speed(observation, []), parts)
        kinds.append(int(parts[0].reshape(4, KINDS, -1)[0].amax(1).argmax()))
    assert kinds == [1, 3]


def test_from_the_207_alone_the_nearest_things_are_told_from_left_to_right_at_the_usual_speed() -> None:
    extractor = made(())
    observation = nothing(())
    observation[0, 50:80] = 0.0  # a gap from 150 px
    observation[0, TERRAIN_SAMPLES] = 300 / 500
    observation[0, TERRAIN_SAMPLES + 1] = 80 / 500
    parts: list[torch.Tensor] = []
    extractor._hazards(observation, *extractor._speed(observation, []), parts)
    bases = parts[0].reshape(3, KINDS, -1)
    for slot, (kind, px) in enumerate([(1, 80), (2, 150), (0, 300)]):
        assert int(bases[slot].amax(1).argmax()) == kind
        seconds = float(extractor.hazard_s[int(bases[slot, kind].argmax())])
        assert seconds == pytest.approx(px / USUAL_PX_S, abs=0.041)


def test_what_the_extractor_is_told_of_extras_travels_with_the_network() -> None:
    spec = NetworkSpec("timed", {"spacing_s": 0.1}, (8,), extras=("recall",))
    network = build_policy(spec)
    assert network.observation_space.shape == (OBSERVATION_SIZE + extras_size(("recall",)),)
    assert isinstance(network.features_extractor, TimedFeatures)
    assert network.features_extractor.spacing_s == 0.1
