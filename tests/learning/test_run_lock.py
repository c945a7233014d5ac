"""One trainer a folder, and nobody locked out by the dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from greatwall.errors import ConfigError
from greatwall.learning.run_lock import NAME, RunLock

HOLDS = """
import sys
from pathlib import Path
from greatwall.learning.run_lock import RunLock
with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_trainer_is_told_whose_the_folder_is_and_a_killed_ones_lock_is_free(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"held\n"
        with pytest.raises(ConfigError) as refused, RunLock(tmp_path):
            pass
        line = str(refused.value)
        assert "\n" not in line
        assert f"process {owner.pid}, training since 20" in line
        assert "--models" in line
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.communicate(timeout=30)
    assert (tmp_path / NAME).read_text()  # its words are still there
    with RunLock(tmp_path) as lock:
        assert lock.held
        assert f"process {os.getpid()}," in (tmp_path / NAME).read_text()
    assert (tmp_path / NAME).read_text() == ""


def test_a_lock_file_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(ConfigError, match="found is a directory; change its permissions") as refused:
        RunLock(tmp_path).__enter__()
    assert "\n" not in str(refused.value)


def test_a_folder_is_free_again_after_its_trainer_left(tmp_path: Path) -> None:
    for _ in range(2):
        with RunLock(tmp_path), pytest.raises(ConfigError, match="no other trainer"), RunLock(tmp_path):
            pass
