"""`scripts/setup.sh` in a folder of its own, with nothing to install: it makes and mends the environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or any(shutil.which(one) is None for one in ("bash", "tesseract")),
    reason="the script is for Linux; without Tesseract it would install it",
)


@pytest.fixture
def project(tmp_path: Path, repo_root: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    shutil.copy2(repo_root / "scripts" / "setup.sh", tmp_path / "scripts")
    for name in ("requirements.txt", "requirements-dev.txt"):
        (tmp_path / name).write_text("# nothing\n")
    return tmp_path


def set_up(project: Path) -> str:
    """What it says; raises when it fails."""
    environment = {**os.environ, "PYTHON": sys.executable, "VENV": ".venv", "PIP_NO_INDEX": "1"}
    done = subprocess.run(
        ["bash", "scripts/setup.sh", "run"],
        cwd=project, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_an_environment_without_pip_is_made_again_and_a_whole_one_left_alone(project: Path) -> None:
    venv.create(project / ".venv", with_pip=False, symlinks=True)
    (project / ".venv" / ".requirements-stamp").write_text("stands for an interrupted start")
    assert "making .venv" in set_up(project)
    python = project / ".venv" / "bin" / "python"
    assert subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0
    assert set_up(project) == ""


def test_a_folder_that_is_no_environment_keeps_what_is_in_it(project: Path) -> None:
    (project / ".venv").mkdir()
    (project / ".venv" / "letter.txt").write_text("dear")
    assert "making .venv" in set_up(project)
    assert (project / ".venv" / "letter.txt").read_text() == "dear"
