"""A run that is interrupted goes on number for number, and what it learns is what it was set to."""

from __future__ import annotations

import csv
import dataclasses
import os
import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from greatwall.assembly import make_config
from greatwall.errors import FileFormatError, WorkerError
from greatwall.learning.crew import CrewError
from greatwall.learning.presets import PRESETS, Preset
from greatwall.learning.reporting import ProgressCallback
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.schedules import NormalisationCallback
from greatwall.learning.training_state import TrainingState, read_state
from greatwall.policies.archive import write_archive
from greatwall.policies.features import NormalisedFeatures
from greatwall.policies.network import NetworkSpec, policy_tensors

ROLLOUT, TARGET = 60, 280
SMALL = dataclasses.replace(
    PRESETS["scratch"].with_envs(2),
    network=NetworkSpec("normalised", {}, (8,)),
    rollout_steps=ROLLOUT,
    batch_size=30,
)


def run_in(folder: Path, settings: RunSettings, stop_at: int | None = None) -> tuple[RunFiles, TrainingRun]:
    """Begin or go on with the run in `folder`; Ctrl-C once `stop_at` steps are counted."""
    files = RunFiles(folder / "models", folder / "logs")
    files.prepare()
    state: TrainingState | None = read_state(files.state) if files.state.exists() else None
    run = TrainingRun(settings, files, Console(quiet=True), state)
    with pytest.MonkeyPatch.context() as patch:
        original = ProgressCallback._on_step

        def strike(self: ProgressCallback) -> bool:
            if stop_at is not None and self.num_timesteps >= stop_at:
                raise KeyboardInterrupt
            return original(self)

        patch.setattr(ProgressCallback, "_on_step", strike)
        try:
            run.learn()
        except KeyboardInterrupt:
            run.save_interrupted()
        finally:
            run.close()
    return files, run


def settings(preset: Preset = SMALL, timesteps: int = TARGET, **changes: Any) -> RunSettings:
    config = preset.apply(make_config(eyes="truth", variants=("one_life",), **changes))
    return RunSettings(config, preset, 3, timesteps, validation_episodes=2)


def episodes(files: RunFiles) -> list[dict[str, str]]:
    with open(files.episodes, newline="") as file:
        file.readline()
        return [{k: v for k, v in row.items() if k != "t"} for row in csv.DictReader(file)]


def curves(files: RunFiles) -> dict[str, list[tuple[int, float]]]:
    """Points by tag over all event files, in the order they were written: their names end in a number
    that TensorBoard itself sorts as text, which matters when two are made within one second."""
    points: dict[str, dict[int, float]] = {}
    by_age = sorted(files.board.glob("events.*"), key=lambda path: int(path.name.rsplit(".", 1)[1]))
    for path in by_age:
        board = EventAccumulator(str(path)).Reload()
        for tag in board.Tags()["scalars"]:
            if not tag.startswith("time/"):
                points.setdefault(tag, {}).update((one.step, one.value) for one in board.Scalars(tag))
    return {tag: sorted(values.items()) for tag, values in points.items()}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    return run_in(tmp_path_factory.mktemp("whole"), settings())[0]


@pytest.mark.parametrize(
    ("stops", "processes"),
    [((2,), 1), ((150, 210, 296), 1), ((150, 215), 2)],
    ids=["at once", "three times", "in two processes"],
)
def test_interrupted_and_resumed_equals_uninterrupted(
    stops: tuple[int, ...], processes: int, uninterrupted: RunFiles, tmp_path: Path
) -> None:
    for stop in stops:
        run_in(tmp_path, dataclasses.replace(settings(), processes=processes), stop)
        random.seed()
        np.random.seed()  # noqa: NPY002 - whatever else the process draws changes nothing
        torch.seed()
    files, _ = run_in(tmp_path, settings())
    one, other = read_state(uninterrupted.state), read_state(files.state)
    assert one.counters.timesteps == 300
    assert one.tensors.keys() == other.tensors.keys()
    for name, tensor in one.tensors.items():
        np.testing.assert_array_equal(tensor, other.tensors[name], err_msg=name)
    assert one.rng == other.rng
    for name in (
        "best_return",
        "best_eval_m",
        "episodes",
        "episode_steps",
        "window",
        "updates",
        "next_eval_at",
    ):
        assert getattr(one.counters, name) == getattr(other.counters, name), name
    assert episodes(files) == episodes(uninterrupted)
    assert len(episodes(files)) > 3
    assert curves(files) == curves(uninterrupted)
    for path in (files.best, files.eval_best, files.final):
        assert path.exists()


def test_a_process_that_dies_ends_training_with_one_line_and_what_was_saved_goes_on(
    uninterrupted: RunFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = ProgressCallback._on_step

    def kill(self: ProgressCallback) -> bool:
        if self.num_timesteps == 150:
            (other,) = self.training_env.venv._crew._processes  # type: ignore[attr-defined]
            os.kill(other.pid, signal.SIGKILL)
        return original(self)

    with monkeypatch.context() as patch:
        patch.setattr(ProgressCallback, "_on_step", kill)
        with pytest.raises(CrewError, match="ended by SIGKILL; memory may have run out"):
            run_in(tmp_path, dataclasses.replace(settings(), processes=2))
    files, _ = run_in(tmp_path, settings())
    one, other = read_state(uninterrupted.state), read_state(files.state)
    for name, tensor in one.tensors.items():
        np.testing.assert_array_equal(tensor, other.tensors[name], err_msg=name)


def test_every_point_of_a_curve_is_at_its_own_step(uninterrupted: RunFiles) -> None:
    found = curves(uninterrupted)
    steps = [ROLLOUT * n for n in range(1, 6)]
    assert [step for step, _ in found["train/value_loss"]] == steps
    assert [step for step, _ in found["validation/distance_m"]] == [steps[0], steps[-1]]
    assert [step for step, _ in found["rollout/ep_rew_mean"]] == steps[-len(found["rollout/ep_rew_mean"]) :]


def test_the_rate_falls_and_is_never_zero_even_when_the_run_overshoots(uninterrupted: RunFiles) -> None:
    rates = [rate for _, rate in curves(uninterrupted)["train/learning_rate"]]
    expected = [SMALL.learning_rate * (1 - ROLLOUT * n / TARGET) for n in range(5)]
    np.testing.assert_allclose(rates, expected, rtol=1e-5)
    assert min(rates) > 0


def test_a_run_of_one_rollout_learns(tmp_path: Path) -> None:
    run = TrainingRun(settings(timesteps=ROLLOUT), files_in(tmp_path), Console(quiet=True), None)
    before = policy_tensors(run.model.policy)
    try:
        run.learn()
    finally:
        run.close()
    after = policy_tensors(run.model.policy)
    assert any(not np.array_equal(before[name], after[name]) for name in before if name.endswith("weight"))


def files_in(folder: Path) -> RunFiles:
    files = RunFiles(folder / "models", folder / "logs")
    files.prepare()
    return files


def test_the_run_itself_feeds_the_normalisation(tmp_path: Path) -> None:
    _, run = run_in(tmp_path, settings(timesteps=2 * ROLLOUT))
    assert any(isinstance(one, NormalisationCallback) for one in run.callbacks)
    extractor = run.model.policy.features_extractor
    assert isinstance(extractor, NormalisedFeatures)
    assert float(extractor.count) == ROLLOUT  # the second rollout was followed by no other


@pytest.mark.parametrize("draw", ["np", "torch", "random"])
def test_the_result_is_that_of_the_seed_not_of_what_was_drawn_before(
    draw: str, uninterrupted: RunFiles, tmp_path: Path
) -> None:
    {"np": np.random.seed, "torch": torch.seed, "random": random.seed}[draw]()
    files, _ = run_in(tmp_path, settings())
    one, other = read_state(uninterrupted.state), read_state(files.state)
    for name, tensor in one.tensors.items():
        np.testing.assert_array_equal(tensor, other.tensors[name], err_msg=name)


def test_another_seed_trains_another_policy(uninterrupted: RunFiles, tmp_path: Path) -> None:
    files, _ = run_in(tmp_path, dataclasses.replace(settings(), run_seed=4))
    one, other = read_state(uninterrupted.state), read_state(files.state)
    assert not np.array_equal(
        one.tensors["policy.action_net.weight"], other.tensors["policy.action_net.weight"]
    )


def test_a_stand_in_that_is_stuck_keeps_neither_logs_nor_games_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = RunFiles(tmp_path / "models", tmp_path / "logs")
    files.prepare()
    settings = RunSettings(SMALL.apply(make_config()), SMALL, 0, TARGET, validation_episodes=0)
    run = TrainingRun(settings, files, Console(quiet=True), None)
    closed: list[str] = []
    close_log, close_envs = run._log.close, run._envs.close

    def stuck() -> None:
        raise WorkerError("stuck")

    monkeypatch.setattr(run._pausing, "release", stuck)
    monkeypatch.setattr(run._log, "close", lambda: (closed.append("log"), close_log()))
    monkeypatch.setattr(run._envs, "close", lambda: (closed.append("envs"), close_envs()))
    with pytest.raises(WorkerError, match="stuck"):
        run.close()
    assert closed == ["log", "envs"]


def test_scores_of_another_game_are_forgotten_and_those_of_other_eyes_kept(tmp_path: Path) -> None:
    files, _ = run_in(tmp_path, settings(timesteps=ROLLOUT))
    for changes, kept in (({"variants": ("low_delay",)}, False), ({"look": "train:1"}, True)):
        config = SMALL.apply(make_config(eyes="truth", **({"variants": ("one_life",)} | changes)))
        other = RunSettings(config, SMALL, 3, 2 * ROLLOUT, 0)
        run = TrainingRun(other, files, Console(quiet=True), read_state(files.state))
        run.close()
        assert run.changes.accepted
        assert (run.counters.best_eval_m is not None) == kept


def test_more_envs_begin_new_episodes_and_fewer_forget_none(tmp_path: Path) -> None:
    files, _ = run_in(tmp_path, settings(timesteps=ROLLOUT))
    run_in(tmp_path, settings(SMALL.with_envs(3), timesteps=2 * ROLLOUT))
    three = read_state(files.state).counters
    assert len(three.episodes) == len(three.episode_steps) == 3
    run_in(tmp_path, settings(SMALL.with_envs(1), timesteps=3 * ROLLOUT))
    one = read_state(files.state).counters
    assert (len(one.episodes), len(one.episode_steps)) == (3, 1)
    assert one.episodes[1:] == three.episodes[1:]
    played = [(row["env"], row["episode"]) for row in episodes(files)]
    assert len(set(played)) == len(played)


@pytest.mark.parametrize("facts", [{}, {"validation": None}, {"validation": {"distance_m": "far"}}], ids=str)
def test_a_best_policy_without_its_score_is_no_obstacle(facts: dict[str, Any], tmp_path: Path) -> None:
    files, run = run_in(tmp_path, settings(timesteps=ROLLOUT))
    run.saver.save(files.eval_best, run.model.policy, 1, **facts)
    assert run_in(tmp_path, settings(timesteps=2 * ROLLOUT))[1].counters.timesteps == 2 * ROLLOUT


def test_a_state_that_does_not_fit_is_refused_and_the_logs_stay(tmp_path: Path) -> None:
    files, _ = run_in(tmp_path, settings(timesteps=ROLLOUT))
    before = files.episodes.read_bytes()
    state = read_state(files.state)
    state.tensors["policy.value_net.weight"] = np.zeros((1, 3), np.float32)
    state.save(files.state)
    with pytest.raises(FileFormatError, match="--fresh"):
        run_in(tmp_path, settings())
    write_archive(files.state, "state.json", {"format": "other"}, {})
    with pytest.raises(FileFormatError, match="--fresh"):
        run_in(tmp_path, settings())
    assert files.episodes.read_bytes() == before
