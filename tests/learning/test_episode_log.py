"""One CSV, one header, whatever happens to the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stable_baselines3.common.monitor import load_results

from greatwall.errors import FileFormatError
from greatwall.learning.episode_log import EpisodeLog


def info(distance: float, score: float = 1.0) -> dict[str, Any]:
    run = {
        "distance_m": distance,
        "coins": 1,
        "obstacles": 2,
        "cliffs": 0,
        "shots": 3,
        "kills": 1,
        "death": "gap",
    }
    return {"run": run, "course": {"env": 0, "episode": 1, "seed": 5}, "episode": {"r": score, "l": 9}}


def write(path: Path, keep: int, *rows: tuple[int, float]) -> int:
    log = EpisodeLog(path, keep)
    for timesteps, distance in rows:
        log.write(timesteps, info(distance))
    log.close()
    return log.dropped


def test_sessions_append_below_one_header_and_sb3_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "monitor.csv"
    write(path, 0, (100, 10.0), (200, 20.0))
    write(path, 200, (300, 30.0))
    lines = path.read_text().splitlines()
    assert [line[0] == "#" for line in lines] == [True] + [False] * 4
    assert sum(line.startswith("r,l,t") for line in lines) == 1
    frame = load_results(str(tmp_path))
    assert frame["distance_m"].tolist() == [10.0, 20.0, 30.0]


def test_rows_after_the_resumed_step_are_played_again_and_dropped(tmp_path: Path) -> None:
    path = tmp_path / "monitor.csv"
    write(path, 0, (100, 10.0), (200, 20.0))
    assert write(path, 150, (180, 18.0)) == 1
    assert load_results(str(tmp_path))["distance_m"].tolist() == [10.0, 18.0]


def test_a_row_cut_short_by_a_crash_does_not_spoil_the_file(tmp_path: Path) -> None:
    path = tmp_path / "monitor.csv"
    write(path, 0, (100, 10.0))
    with open(path, "a") as file:
        file.write("5.0,9")
    write(path, 200, (200, 20.0))
    assert load_results(str(tmp_path))["distance_m"].tolist() == [10.0, 20.0]


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "monitor.csv").write_text("my diary\n")
    with pytest.raises(FileFormatError, match=r"monitor\.csv"):
        EpisodeLog(tmp_path / "monitor.csv", 0)
