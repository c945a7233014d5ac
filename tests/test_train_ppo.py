"""The training command: real PPO on the real game, a few hundred steps."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stable_baselines3.common.callbacks import BaseCallback
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import train_ppo
from config import Config
from greatwall.errors import ConfigError
from greatwall.learning import saving
from greatwall.learning.exam import exam_parts
from greatwall.learning.presets import PRESETS
from greatwall.learning.reporting import ProgressCallback
from greatwall.learning.run_files import RunFiles
from greatwall.learning.run_lock import RunLock
from greatwall.learning.training_state import read_state
from greatwall.policies.archive import previous_of
from greatwall.policies.network import policy_tensors
from greatwall.policies.policy_file import load_policy

Command = Callable[..., int]


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(tmp_path / "models", tmp_path / "logs")


@pytest.fixture
def command(files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`python train_ppo.py` with small numbers; from scratch unless it says otherwise."""
    monkeypatch.setattr("greatwall.learning.run.VALIDATION_EPISODES", 1)

    def run(*options: str) -> int:
        folders = ["--models", str(files.models), "--logs", str(files.logs)]
        preset = [] if "--preset" in options else ["--preset", "scratch"]
        return train_ppo.main([*folders, *preset, "--exam-episodes", "0", "--no-film", *options])

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
    said = capsys.readouterr().out
    assert "interrupted at 530 steps" in said
    assert "run it again to go on from step 400" in said
    assert load_policy(files.interrupt).training["timesteps"] == 530
    before = read_state(files.state)
    assert (before.counters.timesteps, before.counters.finished) == (400, False)
    assert len(before.counters.window) == sum(int(row["timesteps"]) <= 400 for row in rows(files)) > 0
    assert before.counters.updates == 2 * PRESETS["scratch"].n_epochs
    best = load_policy(files.best).training["episode_return"]

    assert command() == 0  # the same run, whatever the options were

    out = capsys.readouterr().out
    assert "step 400 of 1,000" in out
    assert "--fresh" in out
    after = read_state(files.state).counters
    assert (after.timesteps, after.finished, after.run_seed) == (1000, True, 5)
    assert after.updates == 5 * PRESETS["scratch"].n_epochs
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


@pytest.fixture
def unfinished(command: Command, files: RunFiles, capsys: pytest.CaptureFixture[str]) -> dict[Path, bytes]:
    """A run stopped at 200 of 300 steps, rollouts of 100; what its files hold."""
    with pytest.MonkeyPatch.context() as ctrl_c:
        ctrl_c.setattr("greatwall.learning.presets.Preset.n_steps", property(lambda self: 50))
        interrupt_at(ctrl_c, 250)
        assert command("--timesteps", "300", "--n-envs", "2") == train_ppo.INTERRUPTED
    capsys.readouterr()
    return contents(files)


def contents(files: RunFiles) -> dict[Path, bytes]:
    paths = [*files.models.rglob("*"), *files.logs.rglob("*")]
    return {path: path.read_bytes() for path in paths if path.is_file()}


REFUSED: list[tuple[list[str], str]] = [
    (["--seed", "8"], "seed 0 -> 8"),
    (["--preset", "paper"], "preset.name scratch -> paper"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED, ids=lambda value: str(value))
def test_another_preset_or_seed_is_another_run(
    options: list[str],
    words: str,
    unfinished: dict[Path, bytes],
    command: Command,
    files: RunFiles,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(*options) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert words in line
    assert "--fresh" in line
    assert contents(files) == unfinished


TAKEN: list[tuple[list[str], list[str]]] = [
    (["--variant", "one_life"], ["course.lives 3 -> 1"]),
    (["--n-envs", "3"], ["preset.n_envs 2 -> 3"]),
    (["--faults", "miss=0.1"], ["faults.miss 0.0 -> 0.1"]),
    (["--look", "train:1", "--size", "1280x720"], ["screen.look standard -> train:1", "screen.size"]),
    (["--timesteps", "400"], []),
]


@pytest.mark.parametrize(("options", "words"), TAKEN, ids=lambda value: str(value))
def test_other_settings_are_taken_and_listed(
    options: list[str],
    words: list[str],
    unfinished: dict[Path, bytes],
    command: Command,
    files: RunFiles,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(*options) == 0
    out = capsys.readouterr().out
    assert ("changed since:" in out) == bool(words)
    for one in words:
        assert one in out
    assert read_state(files.state).counters.finished
    assert command() == 0  # they are the run's own from now on
    assert "changed" not in capsys.readouterr().out


def test_a_run_goes_on_through_vision(
    command: Command, files: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--timesteps", "100", "--n-envs", "1") == 0
    assert command("--eyes", "vision", "--timesteps", "104", "--n-envs", "1") == 0
    assert "eyes.kind truth -> vision" in capsys.readouterr().out
    state = read_state(files.state)
    assert (state.config["eyes"]["kind"], state.counters.timesteps) == ("vision", 104)
    assert load_policy(files.final).training["eyes"] == "vision"


def test_going_on_through_vision_takes_fewer_envs_unless_told(command: Command, files: RunFiles) -> None:
    assert command("--timesteps", "32", "--n-envs", "16") == 0
    state = read_state(files.state)
    for options, n_envs in (({}, 16), ({"eyes": "vision"}, 4), ({"eyes": "vision", "n_envs": 9}, 9)):
        settings = train_ppo.resolve(train_ppo.Arguments(**options), state)
        assert settings.preset.n_envs == n_envs


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--variant", "one_life"], "course.lives 3 -> 1"),
        (["--eyes", "vision"], "eyes.kind truth -> vision"),
        (["--n-envs", "3"], "preset.n_envs 2 -> 3"),
        (["--preset", "paper"], "preset.name scratch -> paper"),
        (["--seed", "5", "--timesteps", "400"], "seed 0 -> 5"),
    ],
    ids=lambda value: str(value),
)
def test_a_finished_run_does_not_pretend_to_heed_options(
    options: list[str], words: str, command: Command, files: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--timesteps", "100", "--n-envs", "2") == 0
    before = contents(files)
    capsys.readouterr()
    assert command(*options) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert words in line
    assert "--fresh" in line
    assert contents(files) == before


def test_a_target_already_passed_is_said(
    unfinished: dict[Path, bytes], command: Command, files: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--timesteps", "150") == 2
    line = capsys.readouterr().err
    assert "--timesteps" in line
    assert "200" in line
    assert contents(files) == unfinished


def test_another_runs_logs_are_neither_moved_nor_written_into(
    unfinished: dict[Path, bytes], files: RunFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = [
        "--models",
        str(tmp_path / "other"),
        "--timesteps",
        "50",
        "--exam-episodes",
        "0",
        "--n-envs",
        "2",
    ]
    for logs, options in ((files.logs, []), (files.logs, ["--fresh"])):
        assert train_ppo.main([*other, "--logs", str(logs), *options]) == 2
        line = capsys.readouterr().err
        assert "another run" in line
        assert line.count("\n") == 1
    assert train_ppo.main([*other, "--logs", str(tmp_path / "logs-2")]) == 0
    for option in ([], ["--fresh"]):  # a run that has a state, but not these logs
        assert train_ppo.main([*other, "--logs", str(files.logs), *option, "--timesteps", "100"]) == 2
    assert contents(files) == unfinished


@pytest.mark.parametrize("options", [["--preset", "magic"], ["--faults", "miss=2"], ["--eyes", "vision"]])
def test_starting_over_with_a_mistake_moves_nothing(
    options: list[str],
    unfinished: dict[Path, bytes],
    command: Command,
    files: RunFiles,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(_config: Config) -> None:
        raise ConfigError("no weights")

    monkeypatch.setattr(train_ppo, "build_eyes", missing)
    assert command("--fresh", *options) == 2
    assert contents(files) == unfinished


def test_policies_without_a_state_are_moved_and_said(
    unfinished: dict[Path, bytes], command: Command, files: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    best = files.best if files.best.exists() else files.interrupt
    for state in (files.state, previous_of(files.state)):
        state.unlink()
    assert command("--timesteps", "50", "--n-envs", "2") == 2  # the logs are whose?
    assert "--logs" in capsys.readouterr().err
    files.logs.rename(files.logs.with_name("kept"))
    assert command("--timesteps", "50", "--n-envs", "2") == 0
    assert "policies without a state" in capsys.readouterr().out
    (old,) = files.models.glob("old-*")
    assert (old / best.name).exists()


def test_a_broken_state_is_no_obstacle_to_starting_over(
    unfinished: dict[Path, bytes], command: Command, files: RunFiles
) -> None:
    files.state.write_bytes(b"junk")
    assert command("--timesteps", "50", "--n-envs", "2", "--fresh") == 0
    (old,) = files.models.glob("old-*")
    assert (old / files.state.name).read_bytes() == b"junk"
    assert (old / "monitor.csv").exists()


def test_an_interrupted_fresh_run_is_not_told_to_start_over_again(
    unfinished: dict[Path, bytes],
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    interrupt_at(monkeypatch, 10)
    assert command("--timesteps", "100", "--n-envs", "2", "--fresh") == train_ppo.INTERRUPTED
    assert "run it again without --fresh to go on from step 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        ["--n-envs", "1", "--timesteps", "251"],
        ["--preset", "paper", "--timesteps", "101"],
        ["--n-envs", "2", "--timesteps", "514"],
    ],
    ids=" ".join,
)
def test_a_prime_number_of_steps_trains(options: list[str], command: Command, files: RunFiles) -> None:
    assert command(*options) == 0
    asked = int(options[-1])
    assert asked <= read_state(files.state).counters.timesteps <= asked + 4


BAD: list[tuple[str, list[str]]] = [
    ("unknown device", ["--device", "toaster"]),
    ("--timesteps", ["--timesteps", "-5"]),
    ("--n-envs", ["--n-envs", "0"]),
    ("--seed", ["--seed", "-1"]),
    ("--seed: expected 0 to", ["--seed", str(2**32)]),
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


def test_a_second_trainer_is_refused(
    unfinished: dict[Path, bytes], command: Command, files: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunLock(files.models):
        for options in ([], ["--fresh"]):
            assert command(*options) == 2
            line = capsys.readouterr().err
            assert line.count("\n") == 1
            assert f"process {os.getpid()}, training since" in line
    assert contents(files) == unfinished


def test_a_broken_state_costs_a_rollout_and_not_the_run(
    unfinished: dict[Path, bytes], command: Command, files: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    files.state.write_bytes(unfinished[files.state][:2000])
    assert command() == 0
    out = capsys.readouterr().out
    assert "the one before it is used: step 100" in out
    assert "step 100 of 300" in out
    broken = files.models / "ppo_greatwall_state.broken.zip"
    assert broken.read_bytes() == unfinished[files.state][:2000]
    assert read_state(files.state).counters.finished


def test_equal_seeds_train_equal_policies(command: Command, files: RunFiles) -> None:
    def weights(folder: str) -> dict[str, Any]:
        options = ["--models", str(files.models / folder), "--logs", str(files.logs / folder)]
        assert command("--timesteps", "200", "--n-envs", "2", "--seed", "4", *options) == 0
        final = files.models / folder / files.final.name
        return policy_tensors(load_policy(final).network)

    one, other = weights("one"), weights("other")
    for name, tensor in one.items():
        np.testing.assert_array_equal(tensor, other[name], err_msg=name)


def test_ctrl_c_while_libraries_are_imported_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    script = Path(train_ppo.__file__)
    done = subprocess.run(
        [sys.executable, str(script), "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout + done.stderr == ""


def test_the_default_is_shown_first_and_learns_on(
    command: Command, files: RunFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greatwall.learning.presets.Preset.n_steps", property(lambda self: 50))
    assert command("--preset", "default", "--timesteps", "400", "--n-envs", "2") == 0
    state = read_state(files.state)
    assert (state.preset["warm_start"], state.preset["demonstration_steps"]) == ("rule", 320)
    assert state.counters.timesteps == 400
    assert command("--preset", "default", "--timesteps", "500") == 0
    assert read_state(files.state).preset["demonstration_steps"] == 320  # it is what was shown


def test_the_paper_preset_trains(command: Command, files: RunFiles) -> None:
    assert command("--preset", "paper", "--timesteps", "256") == 0
    assert load_policy(files.final).spec.extractor == "flat"


def test_a_finished_run_sits_the_exam_again_when_asked(
    command: Command, files: RunFiles, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("greatwall.learning.exam.exam_parts", lambda n: exam_parts(n)[:1])
    assert command("--timesteps", "100", "--n-envs", "2") == 0
    before = contents(files)
    assert "exam: " not in capsys.readouterr().out
    assert command("--exam-episodes", "1") == 0
    out = capsys.readouterr().out
    assert out.count("exam: ") == 1
    assert "trained" in out
    assert contents(files) == before
