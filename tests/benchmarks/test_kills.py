"""The kills benchmark in small: the real trainer, really killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import kills
from greatwall.commands.output import write_between
from greatwall.errors import FileFormatError


@pytest.mark.slow
def test_a_killed_run_goes_on_and_nothing_saved_whole_is_lost(tmp_path: Path) -> None:
    """In a process of its own: the trainers are forked from it."""
    path = tmp_path / "kills.json"
    options = ["--kills", "3", "--timesteps", "2500", "--no-compare", "--document", "None"]
    done = subprocess.run(
        [sys.executable, kills.__file__, *options, "--json", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(path.read_text())
    assert (found["kills"], found["lost"], len(found["each"])) == (3, 0, 3)
    assert found["resumed_sessions"] >= 1
    assert found["finished_runs"] >= 1


def test_a_lost_save_and_a_broken_file_are_called_so() -> None:
    assert kills.Kill("at work", "at work", 2000, 2000, False, []).lost_nothing
    assert not kills.Kill("at work", "at work", 2000, 0, False, []).lost_nothing
    assert not kills.Kill("at work", "at work", 2000, 2000, False, ["p.zip: expected a policy"]).lost_nothing


def test_only_the_lines_between_the_markers_are_written(tmp_path: Path) -> None:
    page = tmp_path / "training.md"
    page.write_text(f"before\n{kills.BEGIN}\nold\n{kills.END}\nafter\n")
    write_between(page, kills.BEGIN, kills.END, "new")
    assert page.read_text() == f"before\n{kills.BEGIN}\nnew\n{kills.END}\nafter\n"
    for text in ("no marks", f"{kills.END}{kills.BEGIN}"):
        page.write_text(text)
        with pytest.raises(FileFormatError, match="expected the marks"):
            write_between(page, kills.BEGIN, kills.END, "new")
        assert page.read_text() == text
