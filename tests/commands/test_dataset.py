"""`python -m greatwall dataset` as a person calls it, kills it, and calls it again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from greatwall.__main__ import main
from tests.rigs.recordings import game_video, plain_video

GAME = ["--seed", "8", "--mix", "random=0.5,policy=0.5", "--size", "640x360"]


def make(out: Path, *options: str) -> dict[str, Any]:
    assert main(["dataset", "--out", str(out), *options]) == 0
    manifest: dict[str, Any] = json.loads((out / "manifest.json").read_text())
    return manifest


def lines_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "frames.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """44 frames, written in one go."""
    out = tmp_path_factory.mktemp("dataset") / "whole"
    make(out, "--frames", "44", *GAME)
    return out


def test_a_line_holds_truth_sight_hud_gaps_action_and_seed(whole: Path) -> None:
    lines = lines_of(whole)
    assert len(lines) == 44
    assert {line["player"] for line in lines} == {"random", "policy"}
    for line in lines:
        assert line["size"] == [640, 360]
        assert line["seed"] >= 8
        assert line["action"] in ("wait", "jump", "shoot")
        assert any(thing["class"] == "horse" for thing in line["truth"]["objects"])
        for side in ("truth", "seen"):
            assert set(line[side]) == {"objects", "gaps", "hud"}
        image = cv2.imread(str(whole / line["image"]))
        assert image.shape == (360, 640, 3)
        rows = (whole / "labels" / Path(line["image"]).with_suffix(".txt").name).read_text().split("\n")
        assert 1 <= len(rows[:-1]) <= len(line["truth"]["objects"])
    right = sum(line["truth"]["hud"] == line["seen"]["hud"] for line in lines)
    assert right >= 40


def test_killed_and_run_again_it_is_the_same(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "greatwall", "dataset", "--frames", "44", "--out", str(out), *GAME]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[2])
    try:
        while not (out / "images" / "000024.jpg").exists():  # in the middle of the second part
            try:
                process.wait(0.01)
            except subprocess.TimeoutExpired:
                continue
            pytest.fail("the command ended by itself before it could be killed")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    assert not (out / "manifest.json").exists()
    assert (out / "parts" / "000000.json").exists()
    again = make(out, "--frames", "44", *GAME)
    first = json.loads((whole / "manifest.json").read_text())
    assert again == first
    names = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())
    assert all((whole / name).read_bytes() == (out / name).read_bytes() for name in names)


def test_a_video_is_labelled_with_the_unsurest_first(tmp_path: Path) -> None:
    video = game_video(tmp_path / "game.mp4")
    out = tmp_path / "labels"
    manifest = make(out, "--source", str(video), "--frames", "6")
    assert manifest["frames"] == 6
    assert manifest["plan"]["source"] == "video"
    assert manifest["counts"]["objects"]["horse"] == 6
    lines = lines_of(out)
    assert [line["from"] for line in lines] == [f"frame {i}" for i in (0, 2, 4, 7, 9, 11)]
    assert all(line["truth"] is None for line in lines)
    assert [line["seen"]["hud"]["lives"] for line in lines].count(3) >= 4
    for path in (out / "labels_conf").iterdir():
        rows = [row.split() for row in path.read_text().splitlines()]
        kept = [row.split() for row in (out / "labels" / path.name).read_text().splitlines()]
        assert [row[:5] for row in rows if float(row[5]) >= 0.35] == kept
    order = [line.split()[1] for line in (out / "correct_first.txt").read_text().splitlines()]
    assert order == sorted(order)
    again = make(tmp_path / "again", "--source", str(video), "--frames", "6")
    assert again == manifest


def test_a_folder_of_screenshots_is_copied_and_labelled(tmp_path: Path, whole: Path) -> None:
    shots = tmp_path / "shots"
    (shots / "evening").mkdir(parents=True)
    (shots / "evening" / "a.jpg").write_bytes((whole / "images" / "000003.jpg").read_bytes())
    cv2.imwrite(str(shots / "b.png"), cv2.imread(str(whole / "images" / "000004.jpg")))
    out = tmp_path / "labels"
    make(out, "--source", str(shots))
    assert (out / "images" / "000001.jpg").read_bytes() == (shots / "evening" / "a.jpg").read_bytes()
    assert [line["from"] for line in lines_of(out)] == ["b.png", "evening/a.jpg"]


def test_mistakes_are_one_line_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.mp4").write_text("no video")
    (tmp_path / "dots").mkdir()
    cv2.imwrite(str(tmp_path / "dots" / "dot.png"), np.zeros((3, 3, 3), np.uint8))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    plain_video(tmp_path / "a.mp4", frames=3)
    for options, words in (
        (["--source", str(tmp_path / "none")], "found nothing at"),
        (["--source", str(tmp_path / "empty")], "expected images"),
        (["--source", str(tmp_path / "no.mp4")], "expected a video that can be decoded"),
        (["--source", str(tmp_path / "dots")], "expected at least 160x90 px, found 3x3"),
        (["--source", str(tmp_path / "a.mp4"), "--look", "night"], "--look: expected --source simulator"),
        (["--mix", "robot=1"], "--mix: expected shares"),
        (["--frames", "0"], "--frames: expected 1 or more"),
        (["--size", "big"], "--size: expected WIDTHxHEIGHT"),
        (["--size", "1x1"], "screen.size"),
        (["--look", "baroque"], "baroque"),
        (["--policy", str(tmp_path / "none.zip")], "none.zip"),
        (["--weights", str(tmp_path / "none.onnx")], "none.onnx"),
        (["--out", str(tmp_path / "full")], "expected a new or empty folder"),
    ):
        arguments = ["dataset", "--frames", "4", *options]
        if "--out" not in options:
            arguments += ["--out", str(tmp_path / "out")]
        assert main(arguments) == 2, options
        error = capsys.readouterr().err.strip().splitlines()
        error = [line for line in error if not line.startswith("frames ")]  # the progress bar
        assert len(error) == 1, error
        assert words in error[0]


def test_a_folder_named_like_a_picture_is_none(tmp_path: Path) -> None:
    shots = tmp_path / "shots"
    (shots / "x.png").mkdir(parents=True)
    cv2.imwrite(str(shots / "x.png" / "a.png"), np.full((180, 320, 3), 90, np.uint8))
    assert make(tmp_path / "out", "--source", str(shots))["frames"] == 1


def test_an_out_inside_the_source_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), np.full((180, 320, 3), 90, np.uint8))
    out = tmp_path / "out"
    assert main(["dataset", "--out", str(out), "--source", str(tmp_path)]) == 2
    assert "--out: expected a folder outside of --source" in capsys.readouterr().err
    assert not out.exists()


def test_a_recording_that_was_killed_is_labelled(tmp_path: Path) -> None:
    whole = game_video(tmp_path / "whole.mp4", frames=40).read_bytes()
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole[: int(len(whole) * 0.7)])
    assert make(tmp_path / "out", "--source", str(cut), "--frames", "3")["frames"] == 3
