"""What a person reached is kept, run by run, and a strange file is left alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from greatwall.__main__ import main
from greatwall.assembly import make_config
from greatwall.commands.human_scores import HumanRun, add_run, read_runs
from greatwall.commands.play import Scorer
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import ConfigError, FileFormatError
from greatwall.game.view import Page

RUN = HumanRun("low_delay", 7, 812, 9, 3, 2, "obstacle")


def test_runs_are_added_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "human.json"
    add_run(path, RUN)
    add_run(path, HumanRun("standard", 0, 5, 0, 0, 0, ""))
    assert read_runs(path) == [RUN, HumanRun("standard", 0, 5, 0, 0, 0, "")]


def test_a_run_is_scored_once_when_it_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "human.json"
    device = SimulatedDevice(make_config(variants=("one_life",)))
    device.hold()
    device.new_game(5)
    scorer = Scorer(path, "one_life")
    for _ in range(900):
        device.advance(1)
        scorer.see(device.view().page, device)
    assert device.view().page is Page.FALLEN
    (run,) = read_runs(path)
    assert run.distance_m == device.view().distance_m
    assert run.course == "one_life"
    assert run.death
    assert f"{run.distance_m:,} m" in capsys.readouterr().out


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--scores"):
        add_run(tmp_path / "file" / "human.json", RUN)


def changed(**change: Any) -> Callable[[], Any]:
    return lambda: {"format": "greatwall-human", "version": 1, "runs": [{**asdict(RUN), **change}]}


@pytest.mark.parametrize(
    ("words", "document"),
    [
        ("JSON of another kind", lambda: [1, 2]),
        ("JSON of another kind", lambda: {"format": "greatwall-human", "version": 2, "runs": []}),
        ("no list of runs", lambda: {"format": "greatwall-human", "version": 1}),
        ("a run with other fields", changed(extra=1)),
        ("distance_m makes no sense", changed(distance_m=-1)),
        ("distance_m makes no sense", changed(distance_m=1.5)),
        ("kills makes no sense", changed(kills=True)),
        ("death makes no sense", changed(death="\x1b[31m")),
        ("course makes no sense", changed(course="x" * 100)),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(
    words: str, document: Callable[[], Any], tmp_path: Path
) -> None:
    path = tmp_path / "human.json"
    path.write_text(json.dumps(document()))
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match=words) as refused:
        add_run(path, RUN)
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == before


def test_a_foreign_file_of_scores_is_refused_before_the_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("greatwall.commands.play.missing_display", lambda: "")
    monkeypatch.setattr("greatwall.commands.play._play", lambda *_: pytest.fail("played"))
    (tmp_path / "human.json").write_text("my diary")
    assert main(["play", "--scores", str(tmp_path / "human.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
