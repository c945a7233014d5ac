"""Advantages that are discounted by time: against the textbook sum, and SB3's own where steps are alike."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.buffers import RolloutBuffer

from greatwall.assembly import make_config
from greatwall.learning.presets import PRESETS
from greatwall.learning.run import RunSettings, build_model
from greatwall.learning.timed_buffer import TimedRolloutBuffer
from greatwall.learning.training_envs import build_training_envs

STEPS, ENVS, GAMMA, LAMBDA = 7, 3, 0.9, 0.8
SPACE, ACTIONS = spaces.Box(0, 1, (2,)), spaces.Discrete(3)


def filled(
    durations: NDArray[np.floating], starts: NDArray[np.floating], timed: bool = True, added: float = 0.0
) -> RolloutBuffer:
    """A buffer of drawn rewards and values; `durations` and `starts` by step and env. `added`: what SB3
    adds to the rewards of each step."""
    rng = np.random.default_rng(1)
    now = [np.ones(ENVS)]
    plain = [np.zeros(ENVS)]
    kind = {"gae_lambda": LAMBDA, "gamma": GAMMA, "n_envs": ENVS}
    if timed:
        buffer: RolloutBuffer = TimedRolloutBuffer(
            STEPS,
            SPACE,
            ACTIONS,
            durations=lambda: now[0],
            rewards=lambda: plain[0],
            extract=lambda observations: observations,
            **kind,
        )
    else:
        buffer = RolloutBuffer(STEPS, SPACE, ACTIONS, **kind)
    for step in range(STEPS):
        now[0] = durations[step]
        rewards, values = rng.normal(size=ENVS), torch.from_numpy(rng.normal(size=ENVS))
        plain[0] = rewards
        given = (np.zeros((ENVS, 2)), np.zeros((ENVS, 1)), rewards + added)
        buffer.add(*given, starts[step], values, torch.zeros(ENVS))
    return buffer


NO_STARTS = np.zeros((STEPS, ENVS))
LAST = torch.tensor([0.3, -0.2, 1.0])


@pytest.mark.parametrize("dones", [np.zeros(ENVS, bool), np.array([True, False, True])])
def test_with_steps_of_one_period_it_is_sb3s_own(dones: NDArray[np.bool_]) -> None:
    starts = NO_STARTS.copy()
    starts[3, 1] = 1.0
    ours = filled(np.ones((STEPS, ENVS)), starts)
    theirs = filled(np.ones((STEPS, ENVS)), starts, timed=False)
    for buffer in (ours, theirs):
        buffer.compute_returns_and_advantage(LAST, dones)
    np.testing.assert_allclose(ours.advantages, theirs.advantages, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.returns, theirs.returns, rtol=1e-5, atol=1e-6)


def test_a_step_of_n_periods_is_discounted_n_times() -> None:
    durations = np.random.default_rng(2).integers(1, 7, (STEPS, ENVS)).astype(float)
    buffer = filled(durations, NO_STARTS)
    buffer.compute_returns_and_advantage(LAST, np.zeros(ENVS, bool))
    for env in range(ENVS):
        values = [*buffer.values[:, env], float(LAST[env])]
        expected = 0.0
        for first in range(STEPS):
            weight = GAMMA ** durations[:first, env].sum() * LAMBDA ** durations[:first, env].sum()
            delta = buffer.rewards[first, env] + GAMMA ** durations[first, env] * values[first + 1]
            expected += weight * (delta - values[first])
        assert buffer.advantages[0, env] == pytest.approx(expected, rel=1e-4)


def test_nothing_of_the_next_episode_is_credited() -> None:
    starts = NO_STARTS.copy()
    starts[4] = 1.0
    one, other = (filled(np.full((STEPS, ENVS), 2.0), starts) for _ in range(2))
    other.rewards[4:] += 100.0
    for buffer in (one, other):
        buffer.compute_returns_and_advantage(LAST, np.zeros(ENVS, bool))
    np.testing.assert_array_equal(one.advantages[:4], other.advantages[:4])
    assert (one.advantages[4:] != other.advantages[4:]).any()


def test_what_is_added_where_an_episode_is_cut_off_is_discounted_by_time_too() -> None:
    durations = np.tile([1.0, 5.0, 6.0], (STEPS, 1))
    plain = filled(durations, NO_STARTS)
    cut = filled(durations, NO_STARTS, added=GAMMA * 2.0)  # as SB3 does: once gamma, whatever it took
    expected = np.tile(2.0 * GAMMA ** np.array([1, 5, 6]), (STEPS, 1))
    np.testing.assert_allclose(cut.rewards - plain.rewards, expected, rtol=1e-5)


def test_in_training_a_step_that_is_cut_off_is_worth_what_comes_after_it() -> None:
    preset = dataclasses.replace(
        PRESETS["scratch"].with_envs(3), rollout_steps=90, batch_size=30, episode_s=1.0, furthest_start_m=0.0
    )
    settings = RunSettings(preset.apply(make_config(eyes="truth")), preset, 0, 90)
    envs = build_training_envs(settings.config, preset, 0)
    model = build_model(settings, envs, 90)
    steps: list[tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.bool_]]] = []

    def note(callback_locals: dict[str, Any], _globals: dict[str, Any]) -> bool:
        steps.append((envs.rewards.copy(), envs.durations.copy(), callback_locals["dones"].copy()))
        return True

    with torch.no_grad():  # everything that follows is worth 3
        model.policy.value_net.weight.zero_()
        model.policy.value_net.bias.fill_(3.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "train", lambda: None)
        model.learn(90, callback=note)
    envs.close()
    rewards, durations, dones = (np.array(one) for one in zip(*steps, strict=True))
    assert dones.any()
    assert (durations[dones] > 1).any()
    expected = rewards + dones * 3.0 * preset.gamma**durations
    np.testing.assert_allclose(model.rollout_buffer.rewards, expected, rtol=1e-4, atol=1e-4)
