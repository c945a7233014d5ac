"""Training episodes that begin far along the course, and the evaluation that does not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from stable_baselines3.common.monitor import Monitor

from config import DelayConfig
from greatwall.assembly import build_env, make_config
from greatwall.eyes.truth import TruthEyes
from greatwall.learning.changes import Changes
from greatwall.learning.presets import PRESETS
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.starts import drawn_start_m, moved_to
from greatwall.learning.training_envs import TrainingEpisodes, build_training_envs

FAR_M = 30_000.0


def test_starts_are_drawn_over_the_whole_way_and_some_are_the_courses_own() -> None:
    starts = np.array([drawn_start_m(seed, FAR_M, 0.25) for seed in range(2000)])
    assert np.mean(starts == 0.0) == pytest.approx(0.25, abs=0.03)
    moved = starts[starts > 0]
    assert moved.max() <= FAR_M
    np.testing.assert_allclose(
        np.quantile(moved, [0.25, 0.5, 0.75]), FAR_M * np.array([0.25, 0.5, 0.75]), 0.1
    )
    assert drawn_start_m(7, FAR_M, 0.25) == drawn_start_m(7, FAR_M, 0.25)


def test_a_moved_game_begins_there_at_the_speed_of_there_with_a_run_up() -> None:
    env = build_env(make_config())
    env.reset(seed=5)
    env.reset(options={"state": moved_to(env.save_game(), 20_000.0, 20.0)})
    before = env.worker.facts()
    assert before is not None
    assert before["distance_m"] == 20_000
    for _ in range(10):
        env.step(0)
    after = env.worker.facts()
    assert after is not None
    assert after["distance_m"] - before["distance_m"] == pytest.approx(60, abs=2)  # 60 m/s for 1 s
    assert sum(after["hits"].values()) == 0
    env.close()


@pytest.mark.parametrize(
    ("change", "otherwise"),
    [
        ("preset.furthest_start_m 0.0 -> 26000.0", True),
        ("preset.episode_s 0.0 -> 60.0", True),
        ("randomise 0.0 -> 1.0", True),
        ("preset.learning_rate 0.001 -> 0.0005", False),
    ],
)
def test_a_game_under_way_goes_on_unless_it_would_begin_elsewhere(change: str, otherwise: bool) -> None:
    assert Changes(accepted=(change,)).of_the_config == otherwise


class Noting(TruthEyes):
    """Notes from which seeds it is to draw its faults."""

    def __init__(self) -> None:
        super().__init__(make_config().profile)
        self.seeds: list[int] = []

    def begin(self, seed: int) -> None:
        self.seeds.append(seed)


def test_moved_games_have_faults_of_their_own_which_come_back_with_them() -> None:
    eyes = Noting()
    env = build_env(make_config(), eyes=eyes)
    for seed in (5, 6, 5):
        env.reset(seed=seed)
        saved = moved_to(env.save_game(), 20_000.0, 20.0)
        env.reset(options={"state": saved})
        again = env.save_game()
        env.reset(options={"state": again})
    env.close()
    assert eyes.seeds[::3] == [5, 6, 5]
    assert eyes.seeds[1] == eyes.seeds[7] != eyes.seeds[4]
    assert again["run"] == 5


def test_an_episode_of_one_number_always_begins_at_the_same_place() -> None:
    places = []
    for _ in range(2):
        env = TrainingEpisodes(Monitor(build_env(make_config())), 3, 1, starts=(FAR_M, 0.0))
        env.reset()
        env.step(0)
        places.append(env.unwrapped.worker.facts()["distance_m"])  # type: ignore[attr-defined]
        env.close()
    assert places[0] == places[1] > 0


def test_training_begins_all_over_the_course_and_ends_after_a_minute() -> None:
    preset = dataclasses.replace(
        PRESETS["scratch"].with_envs(6), furthest_start_m=FAR_M, starts_at_0=0.0, episode_s=3.0
    )
    envs = build_training_envs(preset.apply(make_config(eyes="truth")), preset, 0)
    envs.reset()
    ended = []
    for _ in range(31):
        _, _, dones, infos = envs.step(np.zeros(6, int))
        ended += [info for info, done in zip(infos, dones, strict=True) if done]
    envs.close()
    limits = [info for info in ended if info.get("TimeLimit.truncated")]
    assert limits
    starts = [info["course"]["start_m"] for info in limits]
    assert len(set(starts)) > 1
    assert max(starts) > 1_000
    assert all(40 <= info["run"]["distance_m"] <= 320 for info in limits), "what was ridden in 3 s"


def test_validation_rides_the_course_as_it_is_with_the_delays_that_are_trained_for(tmp_path: Path) -> None:
    preset = dataclasses.replace(PRESETS["scratch"].with_envs(1), rollout_steps=32, batch_size=32)
    phone = DelayConfig((0.04, 0.06), (0.0, 0.002), (0.1, 0.15), (0.02, 0.05))
    config = dataclasses.replace(make_config(), delays=phone, like_device="a phone", randomise=1.0)
    files = RunFiles(tmp_path / "models", tmp_path / "logs")
    files.prepare()
    settings = RunSettings(preset.apply(config), preset, 0, 64)
    run = TrainingRun(settings, files, Console(quiet=True), None)
    run.close()
    validated = run.validation_config
    assert validated is not None
    assert validated.course == make_config().course
    assert (validated.env.max_seconds, validated.env.extras) == (0.0, preset.network.extras)
    assert (validated.delays, validated.like_device) == (phone, "a phone")
