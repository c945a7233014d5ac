"""The timing of a training run, in small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import training_speed
from greatwall.commands import run_command


def test_a_run_is_timed_with_its_parts_and_its_page_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{training_speed.BEGIN}\nold\n{training_speed.END}\nafter\n")
    path = tmp_path / "speed.json"
    options = ["--timesteps", "512", "--presets", "paper", "--json", str(path), "--document", str(page)]
    assert run_command(training_speed.TrainingSpeed, options, "training_speed") == 0
    (found,) = json.loads(path.read_text())["runs"]
    assert found["timesteps"] >= 512
    assert 0 < found["cpu_seconds_of"]["updates"] < found["cpu_seconds"]
    assert found["cpu_seconds_of"]["validation"] > 0
    aside_s = found["seconds_of"]["validation"] + found["seconds_of"]["saving the state"]
    assert 0 < aside_s < found["seconds"]
    text = page.read_text()
    row = f"| time without validation and saving the state |  | {found['seconds'] - aside_s:.0f} s |"
    assert row in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "\nold\n" not in text
    assert f"| {found['seconds']:.0f} s |" in text
    assert "preset paper" in capsys.readouterr().out
