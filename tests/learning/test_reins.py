"""While nobody steers the game stands still, or the rule player rides; the policy pays for neither."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from config import Config, replace_in
from game_env import GreatWallEnv
from greatwall import assembly
from greatwall.assembly import build_env, make_config
from greatwall.contracts import Action
from greatwall.device.simulator import SimulatedDevice
from greatwall.learning.presets import PRESETS
from greatwall.learning.reins import Gaps, PausingCallback
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.training_envs import build_training_envs
from greatwall.players import make_player
from tests.rigs.faulty import FaultyDevice

SMALL = dataclasses.replace(PRESETS["scratch"].with_envs(1), rollout_steps=4)


def ride(env: GreatWallEnv, steps: int, player: str) -> None:
    """Somebody else has the reins for that many actions, or until the run is over."""
    rider = make_player(player, env.config)
    observation, perception = env.look()
    for _ in range(steps):
        if env.worker.death_triggered.is_set():
            return
        observation, perception = env.ride(rider.act(observation, perception))


def test_what_others_ride_is_neither_counted_nor_rewarded() -> None:
    env = build_env(make_config())
    env.reset(seed=1)
    for _ in range(30):
        env.step(Action.WAIT)
    before = dict(env._run)
    ride(env, 40, "rule")
    observation = env.take_reins()
    assert observation is not None
    assert {name: env._run[name] for name in before} == before
    at_m = env.look()[1].hud.distance
    assert at_m is not None
    assert at_m > before["distance_m"] + 20
    _, _, _, _, info = env.step(Action.WAIT)
    moved = info["hud"].distance - at_m
    assert info["reward_terms"]["distance"] == pytest.approx(0.1 * moved)
    assert moved < 20
    assert info["reward_terms"]["obstacle"] == 0.0  # those of the gap are not paid later either
    assert env._run["steps"] == before["steps"] + 1
    env.close()


def test_lives_and_runs_lost_in_a_gap_are_not_charged_to_the_policy() -> None:
    envs = build_training_envs(SMALL.apply(make_config()), SMALL, 0)
    envs.reset()
    (env,) = envs.get_attr("unwrapped")
    envs.step(np.array([0]))
    for _ in range(200):
        if env.look()[1].hud.lives < 3:
            break
        ride(env, 1, "idle")
    lives = env.look()[1].hud.lives
    assert 0 < lives < 3
    envs.go_on_from(np.stack(envs.env_method("take_reins")))
    _, rewards, _, _ = envs.step(np.array([0]))
    assert rewards[0] > -SMALL.life_penalty * SMALL.reward_scale / 2
    (before,) = envs.get_attr("episode")
    ride(env, 1000, "idle")
    assert env.worker.death_triggered.is_set()
    envs.go_on_from(np.stack(envs.env_method("take_reins")))
    assert envs.get_attr("episode") == [before + 1]
    _, rewards, dones, infos = envs.step(np.array([0]))
    assert not dones[0]
    assert "episode" not in infos[0]
    assert rewards[0] > -SMALL.life_penalty * SMALL.reward_scale / 2
    envs.close()


class Unstoppable(FaultyDevice):
    """A simulator in real time that cannot be paused, as a phone cannot."""

    def __init__(self, config: Config) -> None:
        super().__init__(SimulatedDevice(config))
        self.can_pause = False


def test_where_the_game_cannot_be_paused_the_rule_player_rides_through_the_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real callbacks, threads and PPO; the update is made to last for three actions of the stand-in."""
    monkeypatch.setitem(assembly.DEVICES, "simulator", Unstoppable)
    config = replace_in(SMALL.apply(make_config()), "worker", clock="wall")
    files = RunFiles(tmp_path / "models", tmp_path / "logs")
    files.prepare()
    run = TrainingRun(RunSettings(config, SMALL, 0, 8, 0), files, Console(quiet=True), None)
    model = run.model
    (env,) = model.get_env().get_attr("unwrapped")  # type: ignore[union-attr]
    train, ended, begun = model.train, [], []
    tick = threading.Event()

    def slow_train() -> None:
        train()
        (stand_in,) = run._pausing._stand_ins
        assert stand_in._thread.is_alive()
        for _ in range(200):
            if stand_in.steered >= 3:
                break
            tick.wait(0.05)
        ended.append((model._last_obs.copy(), env.look()[1].frame_id, sum(env.worker.taken)))  # type: ignore[union-attr]

    take_reins = PausingCallback.take_reins

    def note(self: PausingCallback) -> None:
        was_held = self.holds
        take_reins(self)
        if was_held:
            begun.append((model._last_obs.copy(), model._last_episode_starts.copy()))  # type: ignore[union-attr]

    monkeypatch.setattr(model, "train", slow_train)
    monkeypatch.setattr(PausingCallback, "take_reins", note)
    try:
        run.learn()
    finally:
        run.close()
    assert not any(thread.name == "stand-in" for thread in threading.enumerate())
    (stale, _, taken), (fresh, starts) = ended[0], begun[0]
    assert not np.array_equal(stale, fresh)
    assert starts.all()
    assert taken >= 4 + 3  # orders executed: the policy's and the stand-in's
    gaps = run.gaps
    assert (gaps.gaps, gaps.paused, gaps.deaths) == (1, 0, 0)
    assert gaps.steered >= 3
    assert 0 <= gaps.unsteered < 30
    assert gaps.longest_s > 0
    assert f"steered {gaps.steered} actions" in gaps.report()
    board = EventAccumulator(str(files.board)).Reload()
    assert board.Scalars("gap/steered_actions")[0].value == gaps.steered
    assert {"gap/seconds", "gap/frames_unsteered", "gap/deaths"} <= set(board.Tags()["scalars"])


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        (Gaps(), ""),
        (Gaps(gaps=2, seconds=3.0, longest_s=2.0, paused=2), "the game was paused"),
        (Gaps(gaps=2, seconds=3.0, longest_s=2.0, steered=9, deaths=1), "steered 9 actions: 0 frames"),
    ],
    ids=["none", "paused", "ridden"],
)
def test_the_report_says_what_happened(gaps: Any, words: str) -> None:
    assert words in gaps.report()
    assert bool(gaps.report()) == bool(words)
