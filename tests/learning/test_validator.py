"""Helpers change who plays a validation course, never what comes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from game_env import GreatWallEnv
from greatwall.assembly import build_env, make_config
from greatwall.learning import validator as validator_module
from greatwall.learning.presets import PRESETS
from greatwall.learning.validator import Validator
from greatwall.policies.network import build_policy
from greatwall.policies.policy_file import Policy

SEEDS = range(1_000_000, 1_000_006)
PRESET = PRESETS["default"]


@pytest.fixture
def env() -> Iterator[GreatWallEnv]:
    built = build_env(PRESET.apply(make_config(eyes="truth", max_distance_m=400)))
    yield built
    built.close()


@pytest.fixture
def always_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator_module, "HELP_FROM_S", 0.0)


def a_policy() -> Policy:
    return Policy(build_policy(PRESET.network), PRESET.network, "great_wall", {})


@pytest.mark.usefixtures("always_helped")
def test_the_results_are_those_of_one_process(env: GreatWallEnv) -> None:
    policy = a_policy()
    alone = Validator(env, SEEDS, 1)
    expected = alone.play(policy)
    assert not alone.is_helped
    helped = Validator(env, SEEDS, 3)
    try:
        assert helped.play(policy) == expected
        assert helped.is_helped  # from the second on
        assert helped.play(policy) == expected
        assert helped.is_helped
    finally:
        helped.close()
    assert not helped.is_helped


def test_quick_validations_start_no_process(env: GreatWallEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator_module, "HELP_FROM_S", 1e6)
    quick = Validator(env, SEEDS, 2)
    quick.play(a_policy())
    assert not quick.is_helped


@pytest.mark.usefixtures("always_helped")
def test_a_helper_that_dies_loses_no_course(env: GreatWallEnv, caplog: pytest.LogCaptureFixture) -> None:
    policy = a_policy()
    expected = Validator(env, SEEDS, 1).play(policy)
    helped = Validator(env, SEEDS, 2)
    try:
        helped.play(policy)
        pool = helped._pool
        assert pool is not None
        for pid in pool._processes:
            os.kill(pid, signal.SIGKILL)
        assert helped.play(policy) == expected
        assert not helped.is_helped
        assert "ended without a word" in caplog.text
        assert helped.play(policy) == expected
        assert not helped.is_helped  # it is not tried again
    finally:
        helped.close()


@pytest.mark.usefixtures("always_helped")
def test_close_ends_them_at_once(env: GreatWallEnv) -> None:
    helped = Validator(env, SEEDS, 2)
    helped.play(a_policy())
    assert helped._pool is not None
    processes = list(helped._pool._processes.values())
    assert processes
    helped.close()
    helped.close()
    assert not any(process.is_alive() for process in processes)
