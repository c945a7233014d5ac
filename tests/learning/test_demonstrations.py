"""A warm start: demonstrations are steps of the run, seeded, and what is learnt is the teacher's play."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from config import Config
from greatwall.assembly import build_env, make_config
from greatwall.contracts import Action
from greatwall.errors import ConfigError
from greatwall.learning import demonstrations
from greatwall.learning.demonstrations import Demonstrations, Progress, School, fit, make_teacher, warm_start
from greatwall.learning.presets import PRESETS, TEACHERS, Preset
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.training_state import read_state
from greatwall.players import Teacher
from greatwall.players.oracle import OraclePlayer
from greatwall.players.rule import RulePlayer
from greatwall.policies.features import NormalisedFeatures
from greatwall.policies.network import NetworkSpec, build_policy, policy_tensors
from greatwall.policies.policy_file import load_policy

STEPS = 400
SMALL = dataclasses.replace(
    PRESETS["scratch"].with_envs(2), network=NetworkSpec("radial", {}, (16,)), rollout_steps=60, batch_size=30
)
WARM = SMALL.warmed("rule", STEPS)
CONFIG = WARM.apply(make_config(eyes="truth"))


def taught(preset: Preset = WARM, seed: int = 3) -> tuple[dict[str, Any], list[Progress]]:
    torch.manual_seed(0)
    policy = build_policy(preset.network)
    said: list[Progress] = []
    warm_start(policy, preset.apply(make_config(eyes="truth")), preset, seed, said.append)
    return policy_tensors(policy), said


def test_it_takes_exactly_the_steps_it_says_and_the_same_seed_teaches_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = []
    original = demonstrations._Seat.step
    monkeypatch.setattr(
        demonstrations._Seat, "step", lambda self, action: (steps.append(action), original(self, action))[1]
    )
    first, said = taught()
    assert len(steps) == STEPS
    assert [one.steps for one in said] == [40 * (i + 1) for i in range(10)]
    np.random.seed()  # noqa: NPY002 - whatever else the process draws changes nothing
    again, said_again = taught()
    assert said == said_again
    for name, tensor in first.items():
        np.testing.assert_array_equal(tensor, again[name], err_msg=name)
    other, _ = taught(seed=4)
    assert any(not np.array_equal(first[name], other[name]) for name in first)


def test_a_policy_learns_what_it_is_shown_and_most_where_most_is_at_stake() -> None:
    rng = np.random.default_rng(0)
    wanted = rng.integers(0, 3, 400).tolist()
    observations = [np.zeros(207, np.float32) for _ in wanted]
    for one, action in zip(observations, wanted, strict=True):
        one[200:207] = rng.random(7)
        one[20 * action : 20 * action + 20] = 1.0
    data = Demonstrations(observations, wanted, [1.0] * 400, [float(one[201]) for one in observations])
    policy = build_policy(NetworkSpec("flat", {}, (32,)))
    optimiser = torch.optim.Adam(policy.parameters())
    data.extract(policy)
    fit(policy, optimiser, data, 100, torch.Generator().manual_seed(0), falling=True)
    assert demonstrations._agreement(policy, data) > 0.9
    with torch.no_grad():
        values = policy.predict_values(torch.from_numpy(np.stack(observations))).flatten().numpy()
    assert np.corrcoef(values, [one[201] for one in observations])[0, 1] > 0.8
    torn = Demonstrations(
        observations * 2, [1] * 400 + [2] * 400, [0.1] * 400 + [1.0] * 400, [math.nan] * 800
    )
    torn.extract(policy)
    fit(policy, optimiser, torn, 50, torch.Generator().manual_seed(0), falling=True)
    assert (demonstrations._greedy(policy, observations) == 2).all()


def test_agreement_is_of_the_policy_as_it_plays_whatever_its_extractor() -> None:
    policy = build_policy(NetworkSpec("normalised", {}, (16,)))
    rng = np.random.default_rng(3)
    observations = [rng.random(207, np.float32) * 5 for _ in range(200)]
    assert isinstance(policy.features_extractor, NormalisedFeatures)
    policy.features_extractor.absorb(torch.from_numpy(np.stack(observations)))
    actions = demonstrations._greedy(policy, observations).tolist()
    data = Demonstrations(observations, actions, [1.0] * 200, [math.nan] * 200)
    data.extract(policy)
    assert demonstrations._agreement(policy, data) == 1.0


def test_through_vision_a_policy_is_shown_through_truth() -> None:
    config = WARM.apply(make_config(eyes="vision"))
    school = School(config, WARM, 3)
    try:
        assert {seat.env.config.eyes.kind for seat in school._seats.here} == {"truth"}
    finally:
        school.close()


def test_returns_are_discounted_rewards_and_unknown_near_a_cut() -> None:
    school = School(CONFIG, WARM, 3)
    try:
        found = school.collect(STEPS, None)
    finally:
        school.close()
    assert len(found) == STEPS == len(found.returns) == len(found.observations) == len(found.stakes)
    known = [one for one in found.returns if not math.isnan(one)]
    horizon = math.ceil(math.log(demonstrations.UNKNOWN_SHARE) / math.log(WARM.gamma))
    assert horizon + 1 > STEPS / demonstrations.SEATS, "too short for a cut game to tell its returns"
    assert all(math.isnan(one) for one in found.returns) or min(known) < 0, "only a death makes them known"


def test_games_in_other_processes_are_the_same_games() -> None:
    """By the teacher, by a learner, and with a last turn that is not everybody's."""
    steps, learner = 8 * 70 + 3, build_policy(WARM.network)

    def played(processes: int) -> list[Demonstrations]:
        school = School(CONFIG, WARM, 3, processes)
        try:
            return [school.collect(steps, who) for who in (None, learner, None)]
        finally:
            school.close()

    for here, apart in zip(played(1), played(3), strict=True):
        assert len(here) == len(apart) == steps
        assert (here.actions, here.stakes) == (apart.actions, apart.stakes)
        np.testing.assert_array_equal(here.returns, apart.returns)
        np.testing.assert_array_equal(here.observations, apart.observations)


@pytest.mark.parametrize("name", TEACHERS)
def test_a_teacher_only_advises_until_it_is_told_what_was_done(name: str) -> None:
    config = make_config(eyes="truth", max_distance_m=250)
    env = build_env(config)
    played, taught = make_teacher(name, config), make_teacher(name, config)
    assert isinstance(taught, Teacher)
    for one in (played, taught):
        if isinstance(one, OraclePlayer):
            one.attach(env.save_game)
        one.reset(0)
    observation, info = env.reset(seed=11)
    done = False
    while not done:
        advice = taught.advise(observation, info["perception"])
        action = played.act(observation, info["perception"])
        assert advice is action
        taught.took(action)
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
    assert not terminated, "it rode to the limit"


def test_the_rule_player_keeps_step_with_whoever_plays() -> None:
    """It is told of a jump that it did not advise, and knows when the rider will land."""
    config = make_config(eyes="truth")
    env = build_env(config)
    rule = RulePlayer(config)
    observation, info = env.reset(seed=11)
    rule.advise(observation, info["perception"])
    rule.took(Action.JUMP)
    tapped_s = info["perception"].perceived_at_s
    observation, _, _, _, info = env.step(Action.JUMP)
    rule.advise(observation, info["perception"])
    assert tapped_s + 0.3 <= rule._took_off_s <= tapped_s + 0.55
    before = rule._took_off_s
    rule.took(Action.JUMP)  # in the air for longer than a touch may take: it comes to nothing
    assert rule._took_off_s == before


@pytest.mark.parametrize("speed", [20.0, 45.0, 70.0])
def test_the_rule_player_learns_the_speed_of_a_course_that_begins_fast(speed: float) -> None:
    config = make_config(eyes="truth")
    school_seat = demonstrations._Seat(build_env(config), RulePlayer(config), config, WARM)
    school_seat.begin(5, speed)
    for _ in range(60):
        school_seat.step(school_seat.advice())
    rule = school_seat.teacher
    assert isinstance(rule, RulePlayer)
    assert rule.speed_px_s / 20.0 == pytest.approx(speed, rel=0.1)


def run_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch | None = None, timesteps: int = STEPS + 120
) -> tuple[RunFiles, str]:
    files = RunFiles(folder / "models", folder / "logs")
    files.prepare()
    state = read_state(files.state) if files.state.exists() else None
    config = WARM.apply(make_config(eyes="truth", variants=("one_life",)))
    console = Console(record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115 - nobody reads it
    run = TrainingRun(RunSettings(config, WARM, 3, timesteps, validation_episodes=1), files, console, state)
    try:
        run.learn()
    except KeyboardInterrupt:
        run.save_interrupted()
    finally:
        run.close()
        console.file.close()
    return files, console.export_text()


def test_a_run_interrupted_while_it_is_shown_begins_that_again_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, said = run_in(tmp_path / "whole")
    assert "demonstrations by rule: 400 of 400 steps" in said
    with monkeypatch.context() as patch:
        calls = []
        original = fit

        def strike(*arguments: Any, **options: Any) -> float:
            calls.append(1)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return original(*arguments, **options)

        patch.setattr(demonstrations, "fit", strike)
        files, _ = run_in(tmp_path / "broken")
    assert read_state(files.state).counters.timesteps == 0
    files, _ = run_in(tmp_path / "broken")
    one, other = read_state(whole.state), read_state(files.state)
    assert one.counters.timesteps == other.counters.timesteps == STEPS + 120
    for name, tensor in one.tensors.items():
        np.testing.assert_array_equal(tensor, other.tensors[name], err_msg=name)
    told = load_policy(files.final).training
    assert told["warm_start"] == {"teacher": "rule", "steps": STEPS}


def test_a_run_that_was_shown_enough_does_not_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_in(tmp_path)
    monkeypatch.setattr("greatwall.learning.run.warm_start", lambda *_: pytest.fail("shown twice"))
    files, _ = run_in(tmp_path, timesteps=STEPS + 240)
    assert read_state(files.state).counters.timesteps >= STEPS + 240


def test_an_unknown_teacher_is_refused() -> None:
    with pytest.raises(ConfigError, match="--warm-start: expected one of rule, rule207, oracle; found 'x'"):
        SMALL.warmed("x", 10)
    assert SMALL.warmed("", 10) is SMALL


def test_teachers_are_made_of_the_config() -> None:
    assert [make_teacher(name, Config()).name for name in TEACHERS] == list(TEACHERS)
