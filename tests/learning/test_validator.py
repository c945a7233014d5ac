"""Other processes change who plays a validation course, never what comes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from game_env import GreatWallEnv
from greatwall.assembly import build_env, make_config
from greatwall.learning import validator as validator_module
from greatwall.learning.evaluation import EpisodeResult
from greatwall.learning.presets import PRESETS
from greatwall.learning.validator import Results, Validator
from greatwall.policies.network import build_policy
from greatwall.policies.policy_file import Policy

SEEDS = range(1_000_000, 1_000_006)
PRESET = PRESETS["default"]


@pytest.fixture(scope="module")
def env() -> Iterator[GreatWallEnv]:
    built = build_env(PRESET.apply(make_config(eyes="truth", max_distance_m=400)))
    yield built
    built.close()


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(build_policy(PRESET.network), PRESET.network, "great_wall", {})


@pytest.fixture(scope="module")
def expected(env: GreatWallEnv, policy: Policy) -> list[EpisodeResult]:
    alone = Validator(env, SEEDS, 1)
    results = alone.play(policy)
    assert not alone.is_shared
    assert [one.seed for one in results] == list(SEEDS)
    return results


@pytest.fixture
def always_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator_module, "SHARED_FROM_S", 0.0)


def leave_to_others(monkeypatch: pytest.MonkeyPatch, own: Results) -> None:
    """This process takes no course and has played `own` already."""

    def nothing(*_arguments: Any) -> Results:
        return own

    monkeypatch.setattr(validator_module, "_take_turns", nothing)


@pytest.mark.usefixtures("always_shared")
def test_what_others_play_is_what_would_be_played_here(
    env: GreatWallEnv, policy: Policy, expected: list[EpisodeResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = Validator(env, SEEDS, 3)
    try:
        assert shared.play(policy) == expected
        assert shared.is_shared  # from the next on
        assert shared.play(policy) == expected
        leave_to_others(monkeypatch, {})
        monkeypatch.setattr(validator_module, "play_episode", None)  # so none can be played here
        assert shared.play(policy) == expected
        assert shared.is_shared
    finally:
        shared.close()
    assert not shared.is_shared


def test_quick_validations_start_no_process(
    env: GreatWallEnv, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validator_module, "SHARED_FROM_S", 1e6)
    quick = Validator(env, SEEDS, 2)
    quick.play(policy)
    assert not quick.is_shared


@pytest.mark.usefixtures("always_shared")
def test_the_last_starts_no_process(env: GreatWallEnv, policy: Policy) -> None:
    once = Validator(env, SEEDS, 2)
    once.play(policy, is_last=True)
    assert not once.is_shared


@pytest.mark.usefixtures("always_shared")
def test_a_process_that_dies_leaves_only_its_own_courses(
    env: GreatWallEnv,
    policy: Policy,
    expected: list[EpisodeResult],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    shared = Validator(env, SEEDS, 2)
    played: list[int] = []
    original = validator_module.play_episode

    def noted(env: GreatWallEnv, player: Any, seed: int) -> EpisodeResult:
        played.append(seed)
        return original(env, player, seed)

    try:
        shared.play(policy)
        pool = shared._pool
        assert pool is not None

        def die_meanwhile(*_arguments: Any) -> Results:
            for pid in pool._processes:
                os.kill(pid, signal.SIGKILL)
            return {expected[0].seed: expected[0]}

        monkeypatch.setattr(validator_module, "_take_turns", die_meanwhile)
        monkeypatch.setattr(validator_module, "play_episode", noted)
        assert shared.play(policy) == expected
        assert played == list(SEEDS)[1:]
        assert "ended without a word" in caplog.text
        assert not shared.is_shared
        assert shared.play(policy) == expected
        assert not shared.is_shared  # it is not tried again
    finally:
        shared.close()


@pytest.mark.usefixtures("always_shared")
def test_where_no_process_can_be_started_one_validates(
    env: GreatWallEnv,
    policy: Policy,
    expected: list[EpisodeResult],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(*_arguments: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(validator_module.ProcessPoolExecutor, "submit", refuse)
    shared = Validator(env, SEEDS, 2)
    assert shared.play(policy) == expected
    assert not shared.is_shared
    assert "temporarily unavailable" in caplog.text
    assert shared.play(policy) == expected


@pytest.mark.usefixtures("always_shared")
def test_close_ends_them_at_once(env: GreatWallEnv, policy: Policy) -> None:
    shared = Validator(env, SEEDS, 2)
    shared.play(policy)
    assert shared._pool is not None
    processes: Sequence[Any] = list(shared._pool._processes.values())
    assert processes
    shared.close()
    shared.close()
    assert not any(process.is_alive() for process in processes)
