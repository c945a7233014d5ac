"""`python -m greatwall detector score` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from greatwall.commands import run_command
from greatwall.commands.detector import COMMAND

PROG = "python -m greatwall detector"


def test_score_writes_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scores.json"
    assert run_command(COMMAND, ["score", "--frames", "8", "--json", str(path)], PROG) == 0
    scores = json.loads(path.read_text(encoding="utf-8"))
    assert scores["frames"] == 8
    assert scores["seed"] == 2_000_000
    assert f"mAP50 {scores['map50']:.3f}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["score", "--frames", "-1"], "frames: expected 1 or more, found -1"),
        (["score", "--seed", "-1"], "--seed: expected 0 to"),
        (["score", "--json", "no/such/folder/x.json"], "--json: expected a folder that exists"),
        (["score", "--weights", "none.onnx"], "found none; train them with"),
        (["train", "--out", "/proc/foo"], "--out: expected a folder or a place for one"),
        (["train", "--epochs", "0"], "epochs: expected 1 or more"),
        (["train", "--frames", "5", "--seed", "1000000"], "seeds from 1,000,000 on"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(COMMAND, arguments, PROG) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert "\n" not in error


def test_an_out_that_is_a_file_is_said_before_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run_command(COMMAND, ["train", "--out", str(tmp_path / "file")], PROG) == 2
    assert "--out: expected a folder" in capsys.readouterr().err
