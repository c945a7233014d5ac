"""`ppo_acting.py` before a recording, and making one; `replay` of what it made."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ppo_acting
from greatwall.__main__ import main
from greatwall.assembly import make_config
from greatwall.commands.spectator import build_watched_env
from greatwall.device.recorder import VideoWriter
from tests.rigs.recordings import plain_video


@pytest.fixture(autouse=True)
def _no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


def test_the_command_records_in_real_time(tmp_path: Path) -> None:
    film = tmp_path / "run.mp4"
    played = "--headless --eyes truth --policy random --seed 5 --seconds 1.5 --record".split()
    assert ppo_acting.main([*played, str(film)]) == 0
    note = json.loads((tmp_path / "run.json").read_text())
    assert note["clock"] == "wall"
    assert note["frames"] >= 1
    assert film.stat().st_size > 1_000
    assert main(["replay", str(film)]) == 0


def test_a_run_is_recorded_watched_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film, report = tmp_path / "run.mp4", tmp_path / "watched.json"
    env = build_watched_env(make_config(eyes="truth", seed=5), film)
    env.reset(seed=5)
    for action in (0, 0, 1, 0, 2, 0, 0, 1):
        env.step(action)
    env.close()
    note = json.loads((tmp_path / "run.json").read_text())
    assert note["events"][0]["new_game"] == 5

    assert main(["replay", str(film)]) == 0
    assert "the same game" in capsys.readouterr().out
    again = tmp_path / "again.mp4"
    assert main(["replay", str(tmp_path / "run.json"), "--video", str(again)]) == 0
    assert again.stat().st_size > 10_000

    watched = ["--headless", "--device", "video", "--source", str(film), "--json", str(report)]
    assert ppo_acting.main([*watched, "--clock", "game"]) == 0
    error = capsys.readouterr().err
    assert "run.mp4: the recording ended after" in error
    figures = json.loads(report.read_text())
    assert figures["player"] == "idle"
    assert figures["frames"] > 15
    assert 20 < figures["best_m"] <= note["end"]["facts"]["distance_m"]

    note["events"][-1]["tick"] += 1
    note["events"][-1].pop("tap", None)
    note["events"][-1].setdefault("swipe", [1, 1, 400, 1])
    note["events"][-1].setdefault("ms", 100)
    (tmp_path / "run.json").write_text(json.dumps(note))
    assert main(["replay", str(film)]) == 1
    assert "another game than was recorded" in capsys.readouterr().out


def test_a_recording_without_any_game_is_watched_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No HUD, no rider, no wall: nothing to play, nothing that ends it early."""
    film = plain_video(tmp_path / "grey.mp4", frames=20)
    for clock in ("wall", "game"):
        arguments = ["--headless", "--device", "video", "--source", str(film), "--clock", clock]
        assert ppo_acting.main([*arguments, "--policy", "random"]) == 0
        error = capsys.readouterr().err
        assert error.count("grey.mp4: the recording ended after 0.7 s") == 1
        assert len(error.splitlines()) <= 2  # and, once, that touches are ignored


def test_a_still_screen_is_no_interruption(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Screen recorders write a frame when something changes; nothing for seconds is nothing new."""
    writer = VideoWriter(tmp_path / "still.mp4", (320, 180))
    for at_s in (0.0, 2.5):
        writer.add(np.zeros((180, 320, 3), np.uint8), at_s)
    writer.close()
    arguments = ["--headless", "--device", "video", "--source", str(tmp_path / "still.mp4")]
    assert ppo_acting.main([*arguments, "--clock", "game"]) == 0
    assert "interrupted" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--device", "video"], "found no --source"),
        (["--source", "a.mp4"], "found --device simulator"),
        (["--device", "video", "--source", "none.mp4"], "expected a file at none.mp4"),
        (["--device", "video", "--source", "TEXT"], "expected a video that can be decoded"),
        (["--device", "video", "--source", "TEXT", "--eyes", "truth"], "expected vision for a recording"),
        (["--record", "a.avi"], "expected an .mp4 file"),
        (["--profile", "none.json"], "--profile: expected --device phone or video"),
        (["--weights", "none.onnx"], "none.onnx"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    arguments = [str(text) if one == "TEXT" else one for one in arguments]
    assert ppo_acting.main(["--headless", "--seconds", "1", *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert "\n" not in error


def test_a_recording_that_did_not_come_about_leaves_nothing(tmp_path: Path) -> None:
    arguments = ["--headless", "--weights", "none.onnx", "--record", str(tmp_path / "a.mp4")]
    assert ppo_acting.main(arguments) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_film_without_a_folder_is_not_the_recordings_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    film = tmp_path / "run.mp4"
    env = build_watched_env(make_config(seed=5), film)
    env.reset(seed=5)
    env.step(0)
    env.close()
    assert main(["replay", str(film), "--video", str(tmp_path / "no" / "x.mp4")]) == 2
    assert "--video: expected a folder that exists" in capsys.readouterr().err
