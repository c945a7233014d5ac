"""A disk that is full for a while costs a run nothing. On a real full disk, and under a real size limit."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback

from greatwall.errors import ConfigError
from greatwall.learning.disk import REPEAT_S, Disk
from greatwall.learning.run import TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.training_state import read_state
from greatwall.policies.archive import write_archive
from greatwall.policies.policy_file import load_policy
from tests.learning.test_run import ROLLOUT, curves, episodes, run_in, settings
from tests.rigs.small_disk import SmallDisk, small_disk

LIMIT = 20_000


@pytest.fixture
def disk_of(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture
def size_limit() -> Iterator[Callable[[int], None]]:
    """No file of this process may grow beyond that size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    try:
        yield limit
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


class AtRolloutEnds(BaseCallback):
    """Calls what is due at the end of that rollout."""

    def __init__(self, due: dict[int, Callable[[], None]]) -> None:
        super().__init__()
        self._due, self._ended = due, 0

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self._ended += 1
        self._due.get(self._ended, lambda: None)()


def test_a_run_on_a_disk_that_is_full_for_a_while_ends_as_any_other(
    disk_of: SmallDisk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, _ = run_in(tmp_path / "whole", settings())
    files = RunFiles(disk_of.folder / "models", disk_of.folder / "logs")
    files.prepare()
    run = TrainingRun(settings(), files, Console(width=200), None)
    found: list[int] = []

    def look() -> None:
        """What is on disk while it is full: the last state that was saved whole."""
        found.append(read_state(files.state).counters.timesteps)
        assert run.saved_at == found[-1]
        assert files.state in run.disk.pending

    run.callbacks.append(AtRolloutEnds({1: disk_of.fill, 3: look, 4: disk_of.free}))
    try:
        run.learn()
    finally:
        run.close()
    assert found == [0]
    said = capsys.readouterr().out
    assert "no space left" in said
    assert "there is room again" in said
    one, other = read_state(whole.state), read_state(files.state)
    for name, tensor in one.tensors.items():
        np.testing.assert_array_equal(tensor, other.tensors[name], err_msg=name)
    assert episodes(files) == episodes(whole)
    assert curves(files) == curves(whole)
    for path in (files.best, files.eval_best, files.final):
        assert load_policy(path).training["seed"] == 3


def test_a_disk_that_stays_full_is_one_line_at_the_end_and_the_run_goes_on_later(
    disk_of: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = RunFiles(disk_of.folder / "models", disk_of.folder / "logs")
    files.prepare()
    run = TrainingRun(settings(timesteps=2 * ROLLOUT), files, Console(quiet=True), None)
    run.callbacks.append(AtRolloutEnds({1: disk_of.fill}))
    monkeypatch.setattr(Disk.wait_for_room, "__defaults__", (0.0,))
    try:
        with pytest.raises(ConfigError, match="it goes on from step 0") as error:
            run.learn()
        assert run.save_interrupted()
    finally:
        run.close()
    assert "\n" not in str(error.value)
    disk_of.free()
    assert run_in(disk_of.folder, settings(timesteps=2 * ROLLOUT))[1].counters.timesteps == 2 * ROLLOUT


def test_a_full_disk_at_the_beginning_is_one_line(disk_of: SmallDisk) -> None:
    files = RunFiles(disk_of.folder / "models", disk_of.folder / "logs")
    files.prepare()
    disk_of.fill()
    with pytest.raises(ConfigError, match="expected a writable folder with room"):
        TrainingRun(settings(), files, Console(quiet=True), None)


def test_a_growing_file_loses_no_byte_and_repeats_none(
    tmp_path: Path, size_limit: Callable[[int], None]
) -> None:
    said: list[str] = []
    now = [0.0]
    disk = Disk(said.append, clock=lambda: now[0])
    file = disk.append_to(tmp_path / "rows")
    rows = [bytes([65 + n % 26]) * 700 for n in range(100)]
    for number, row in enumerate(rows):
        size_limit(LIMIT if 10 < number < 80 else resource.RLIM_INFINITY)
        now[0] += REPEAT_S / 20
        file.write(row)
    assert not disk.pending
    file.close()
    assert (tmp_path / "rows").read_bytes() == b"".join(rows)
    assert 2 <= len(said) <= 4  # loudly, but not at every row
    assert "rows: expected room" in said[0]


def test_what_was_refused_is_written_as_it_was_unless_something_newer_was(
    tmp_path: Path, size_limit: Callable[[int], None]
) -> None:
    said: list[str] = []
    disk, path = Disk(said.append), tmp_path / "f.zip"

    def attempt(value: int) -> bool:
        tensors = {"w": np.full(9, value, np.float32)}
        return disk.attempt(
            path,
            lambda: write_archive(path, "a.json", {}, tensors),
            lambda: lambda: write_archive(path, "a.json", {}, dict(tensors)),
        )

    assert attempt(1)
    before = path.read_bytes()
    size_limit(10)
    assert not attempt(2)
    assert not attempt(3)
    assert not disk.retry()
    assert path.read_bytes() == before
    size_limit(resource.RLIM_INFINITY)
    assert disk.retry()
    assert said[-1] == "there is room again: wrote f.zip"
    write_archive(tmp_path / "g.zip", "a.json", {}, {"w": np.full(9, 3, np.float32)})
    assert path.read_bytes() == (tmp_path / "g.zip").read_bytes()


def test_what_no_room_would_cure_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "f.zip"
    with pytest.raises(ConfigError):
        Disk(print).attempt(path, lambda: write_archive(path, "a.json", {}, {}), lambda: lambda: None)


def test_lines_for_people_may_be_lost_but_kill_nobody() -> None:
    code = (
        "import sys\nfrom greatwall.learning.disk import PatientStream\nout = PatientStream(sys.stdout)\n"
        "for _ in range(100):\n    out.write('x' * 1000)\n    out.flush()\nprint('went on', file=sys.stderr)"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
            cwd=Path(__file__).parents[2],
        )
    assert done.stderr.startswith("went on")
