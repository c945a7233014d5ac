"""The training command: real PPO on the real game, a few hundred steps."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stable_baselines3.common.callbacks import BaseCallback
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import train_ppo
from greatwall.learning import saving
from greatwall.learning.reporting import ProgressCallback
from greatwall.learning.run_files import RunFiles
from greatwall.learning.training_state import read_state
from greatwall.policies.policy_file import load_policy

Command = Callable[..., int]


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(tmp_path / "models", tmp_path / "logs")


@pytest.fixture
def command(files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`python train_ppo.py` with small numbers."""
    monkeypatch.setattr("greatwall.learning.run.VALIDATION_EPISODES", 1)

    def run(*options: str) -> int:
        folders = ["--models", str(files.models), "--logs", str(files.logs)]
        return train_ppo.main([*folders, "--exam-episodes", "0", *options])

    return run


def interrupt_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Ctrl-C, as far as the trainer can tell, once that many steps are counted."""
    original = ProgressCallback._on_step

    def strike(self: BaseCallback) -> bool:
        if self.num_timesteps >= step:
            raise KeyboardInterrupt
        return original(self)  # type: ignore[arg-type]

    monkeypatch.setattr(ProgressCallback, "_on_step", strike)


def rows(files: RunFiles) -> list[dict[str, str]]:
    with open(files.episodes, newline="") as file:
        assert file.readline().startswith("#")
        return list(csv.DictReader(file))


def test_a_short_run_leaves_its_files_and_its_curves(
    command: Command, files: RunFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greatwall.learning.run.CHECKPOINT_STEPS", 200)
    monkeypatch.setattr(saving.Checkpoints.__init__, "__defaults__", (200,))
    assert command("--timesteps", "600", "--n-envs", "4", "--seed", "3") == 0
    for path in (files.final, files.best, files.eval_best, files.checkpoint(200), files.checkpoint(600)):
        assert load_policy(path).training["seed"] == 3, path
    state = read_state(files.state)
    assert state.counters.finished
    assert state.counters.timesteps == 600
    board = EventAccumulator(str(files.board)).Reload().Tags()["scalars"]
    for tag in (
        "reward/distance",
        "reward/ignored_enemy",
        "episode/distance_m",
        "episode/coins",
        "episode/accuracy",
        "deaths/obstacle",
        "time/step_ms",
        "rollout/ep_rew_mean",
        "train/value_loss",
        "validation/distance_m",
    ):
        assert tag in board, tag
    assert all(int(row["timesteps"]) <= 600 and row["seed"] for row in rows(files))


def test_an_interrupted_run_goes_on_where_it_was(
    command: Command,
    files: RunFiles,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("greatwall.learning.presets.Preset.n_steps", property(lambda self: 100))
    with monkeypatch.context() as ctrl_c:
        interrupt_at(ctrl_c, 530)
        assert command("--timesteps", "1000", "--n-envs", "2", "--seed", "5") == train_ppo.INTERRUPTED
    assert "interrupted at 530 steps" in capsys.readouterr().out
    assert load_policy(files.interrupt).training["timesteps"] == 530
    before = read_state(files.state)
    assert (before.counters.timesteps, before.counters.finished) == (400, False)
    assert before.counters.updates == 2 * 5
    best = load_policy(files.best).training["episode_return"]

    assert command() == 0  # the same run, whatever the options were

    out = capsys.readouterr().out
    assert "step 400 of 1,000" in out
    assert "--fresh" in out
    after = read_state(files.state).counters
    assert (after.timesteps, after.finished, after.run_seed) == (1000, True, 5)
    assert after.updates == 5 * 5
    assert after.best_return is not None
    assert after.best_return >= best
    steps = [int(row["timesteps"]) for row in rows(files)]
    assert steps == sorted(steps)
    episodes = [(row["env"], row["episode"]) for row in rows(files)]
    assert len(set(episodes)) == len(episodes)
    text = files.episodes.read_text()
    assert text.count("#") == text.count("r,l,t") == 1


def test_a_finished_run_is_left_alone_until_more_is_asked(
    command: Command, files: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--timesteps", "200", "--n-envs", "2") == 0
    before = {path: path.read_bytes() for path in files.models.glob("*.zip")}
    capsys.readouterr()
    assert command() == 0
    out = capsys.readouterr().out
    assert "finished" in out
    assert "--timesteps 400" in out
    assert {path: path.read_bytes() for path in files.models.glob("*.zip")} == before
    assert command("--timesteps", "400") == 0
    assert read_state(files.state).counters.timesteps == 400


def test_fresh_moves_earlier_files_aside(command: Command, files: RunFiles) -> None:
    assert command("--timesteps", "100", "--n-envs", "2") == 0
    (files.models / "detector.onnx").write_text("not ours to move")
    old_final = files.final.read_bytes()
    assert command("--timesteps", "100", "--n-envs", "2", "--seed", "1", "--fresh") == 0
    (old,) = files.models.glob("old-*")
    assert (old / files.final.name).read_bytes() == old_final
    assert (old / "monitor.csv").exists()
    assert (files.models / "detector.onnx").exists()
    assert read_state(files.state).counters.run_seed == 1


def test_changed_settings_are_listed_on_resume(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as ctrl_c:
        interrupt_at(ctrl_c, 50)
        command("--timesteps", "1000", "--n-envs", "2")
    capsys.readouterr()
    assert command("--variant", "one_life", "--seed", "8") == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "course.lives 3 -> 1" in line
    assert "seed 0 -> 8" in line
    assert "--fresh" in line


BAD: list[tuple[str, list[str]]] = [
    ("unknown device", ["--device", "toaster"]),
    ("--timesteps", ["--timesteps", "-5"]),
    ("--n-envs", ["--n-envs", "0"]),
    ("--seed", ["--seed", "-1"]),
    ("unknown preset", ["--preset", "magic"]),
    ("variant", ["--variant", "moon"]),
    ("--exam-episodes", ["--exam-episodes", "-1"]),
]


@pytest.mark.parametrize(("words", "options"), BAD, ids=[one[0] for one in BAD])
def test_bad_input_is_one_line_and_status_2(
    words: str, options: list[str], command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*options) == 2
    line = capsys.readouterr().err
    assert words in line
    assert line.count("\n") == 1


def test_a_models_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert train_ppo.main(["--models", str(tmp_path / "file" / "models"), "--logs", str(tmp_path)]) == 2
    line = capsys.readouterr().err
    assert "--models" in line
    assert line.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"\x80\x04junk", b"PK\x03\x04junk"], ids=["empty", "pickle", "cut"])
def test_a_corrupt_state_is_one_line_and_stays(
    content: bytes, command: Command, files: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    files.models.mkdir()
    files.state.write_bytes(content)
    assert command("--timesteps", "50") == 2
    line = capsys.readouterr().err
    assert "training state" in line
    assert line.count("\n") == 1
    assert files.state.read_bytes() == content


def test_equal_seeds_train_equal_policies(
    command: Command, files: RunFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def weights() -> dict[str, Any]:
        assert command("--timesteps", "200", "--n-envs", "2", "--seed", "4", "--fresh") == 0
        network = load_policy(files.final).network
        return {name: tensor.tolist() for name, tensor in network.state_dict().items()}

    assert json.dumps(weights()) == json.dumps(weights())


def test_the_paper_preset_trains(command: Command, files: RunFiles) -> None:
    assert command("--preset", "paper", "--timesteps", "256") == 0
    assert load_policy(files.final).spec.extractor == "flat"


def test_the_exam_is_one_table(files: RunFiles, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    from greatwall.assembly import make_config
    from greatwall.learning.exam import exam_parts, sit_exam
    from greatwall.players import make_player

    assert [(part.eyes, part.episodes, part.max_distance_m) for part in exam_parts(20)] == [
        ("truth", 20, 0),
        ("vision", 3, 1500),
    ]
    config = make_config(eyes="truth")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("greatwall.learning.exam.exam_parts", lambda n: exam_parts(n)[:1])
        found = sit_exam(config, [("random", make_player("random", config))], 2, Console(width=120))
    assert [one.seed for one in found[("random", "truth")]] == [2_000_000, 2_000_001]
    out = capsys.readouterr().out
    assert out.count("exam: ") == 1
    assert "random" in out
