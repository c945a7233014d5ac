"""Of what a run leaves behind, the newest good file is used, and a broken one is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from greatwall.assembly import make_config
from greatwall.errors import FileFormatError
from greatwall.learning.kept_files import (
    newest_policy,
    newest_state,
    playable,
    policy_to_play,
    put_broken_aside,
)
from greatwall.learning.run_files import RunFiles
from greatwall.learning.saving import PolicySaver
from greatwall.policies.archive import previous_of, read_archive, write_archive
from greatwall.policies.network import build_policy
from tests.learning.test_run import ROLLOUT, SMALL, run_in, settings

BREAKS: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[: len(data) // 2],
    "corrupt": lambda data: data[:300] + b"\0" * 200 + data[500:],
    "foreign": lambda data: b"\x80\x04 a pickle",
    "empty": lambda data: b"",
}


@pytest.fixture(scope="module")
def two_saves(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    """A run of one rollout: its state, and the one before it."""
    return run_in(tmp_path_factory.mktemp("run"), settings(timesteps=ROLLOUT))[0]


def copy_of(files: RunFiles, folder: Path) -> RunFiles:
    copied = RunFiles(folder / "models", folder / "logs")
    copied.prepare()
    for path in files.models.glob("*.zip"):
        (copied.models / path.name).write_bytes(path.read_bytes())
    return copied


@pytest.mark.parametrize("damage", BREAKS)
def test_a_broken_state_is_said_and_the_one_before_it_used(
    damage: str, two_saves: RunFiles, tmp_path: Path
) -> None:
    files = copy_of(two_saves, tmp_path)
    whole = newest_state(files)
    assert whole is not None
    assert (whole.path, whole.trouble, whole.state.counters.timesteps) == (files.state, "", ROLLOUT)
    files.state.write_bytes(BREAKS[damage](files.state.read_bytes()))
    found = newest_state(files)
    assert found is not None
    assert found.path == previous_of(files.state)
    assert "\n" not in found.trouble
    assert "expected a training state" in found.trouble
    assert f"the one before it is used: step {found.state.counters.timesteps}" in found.trouble
    broken = put_broken_aside(files, found)
    assert broken is not None
    assert broken.exists()
    assert not files.state.exists()
    again = newest_state(files)  # as a run killed right now would find it
    assert again is not None
    assert again.path == previous_of(files.state)


def test_where_both_are_broken_the_newer_ones_fault_is_told(two_saves: RunFiles, tmp_path: Path) -> None:
    files = copy_of(two_saves, tmp_path)
    previous_of(files.state).write_bytes(b"")
    files.state.write_bytes(b"\x80\x04")
    with pytest.raises(FileFormatError, match=r"_state\.zip: expected a training state, found a pickle"):
        newest_state(files)


def test_a_run_goes_on_from_the_state_before_a_broken_one(tmp_path: Path) -> None:
    files, _ = run_in(tmp_path, settings(timesteps=2 * ROLLOUT))
    files.state.unlink()
    files.best.write_bytes(b"junk")  # nor is a broken policy an obstacle
    found = newest_state(files)
    assert found is not None
    files.state.write_bytes(found.path.read_bytes())
    assert run_in(tmp_path, settings(timesteps=3 * ROLLOUT))[1].counters.timesteps == 3 * ROLLOUT


def test_policies_are_played_in_order_and_broken_ones_passed_over(tmp_path: Path) -> None:
    said: list[str] = []
    assert policy_to_play(tmp_path, said.append) == "rule"
    files = RunFiles(tmp_path, tmp_path)
    saver = PolicySaver(make_config(), SMALL, 0)
    network = build_policy(SMALL.network)
    checkpoints = files.checkpoint(9_000), files.checkpoint(10_000)
    for path in (*checkpoints, files.final, files.eval_best, files.eval_best):
        saver.save(path, network, 1)
    order = [previous_of(files.eval_best), files.final, files.checkpoint(10_000), files.checkpoint(9_000)]
    played = files.eval_best
    for following in order:
        assert policy_to_play(tmp_path, said.append) == str(played)
        played.write_bytes(b"junk")
        played = following
    assert policy_to_play(tmp_path, said.append) == str(played)
    assert all("expected a policy file" in line and "\n" not in line for line in said)
    assert newest_policy(files.best, said.append) is None
    assert len(playable(tmp_path)) == 10


def test_the_file_that_was_replaced_is_kept_and_no_other_is_left(tmp_path: Path) -> None:
    path = tmp_path / "f.zip"
    for number in range(4):
        write_archive(path, "a.json", {"n": number}, {}, keep_previous=True)
        if number % 2:  # as after a kill between the two renames: both names, one file
            previous_of(path).unlink()
            previous_of(path).hardlink_to(path)
    assert read_archive(path, "a.json", "file", "")[0] == {"n": 3}
    write_archive(path, "a.json", {"n": 4}, {}, keep_previous=True)
    assert read_archive(previous_of(path), "a.json", "file", "")[0] == {"n": 3}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["f.previous.zip", "f.zip"]


def test_without_hard_links_the_file_before_is_kept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise PermissionError(1, "no hard links here")

    monkeypatch.setattr("greatwall.policies.archive.os.link", none)  # no such file system can be had here
    for number in range(3):
        write_archive(tmp_path / "f.zip", "a.json", {"n": number}, {}, keep_previous=True)
    assert read_archive(previous_of(tmp_path / "f.zip"), "a.json", "file", "")[0] == {"n": 1}
