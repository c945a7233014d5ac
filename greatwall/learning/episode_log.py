"""One CSV with one row an episode, in the format of SB3's Monitor, kept whole across resumes.

SB3's own writer truncates the file or appends without regard for what it holds (SB3 #1035, #2282).
Main thread.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from greatwall.errors import ConfigError, FileFormatError
from greatwall.learning.disk import Disk

COLUMNS = (
    "r l t timesteps env episode seed distance_m coins obstacles cliffs shots kills death interruption"
).split()


class EpisodeLog:
    """Appends rows; every row is on disk when `write` returns, or as soon as the disk takes it.

    `keep_timesteps`: rows of episodes that ended later are dropped, because the run goes on from
    there and plays them again. `run_id` goes into the first line, and says whose episodes these are.
    Raises `ConfigError` where the folder cannot be written at the beginning. `close` it at the end.
    """

    def __init__(self, path: Path, keep_timesteps: int, run_id: str = "", disk: Disk | None = None) -> None:
        header, rows = _read(path) if path.exists() and path.stat().st_size else (None, [])
        kept = [row for row in rows if int(row["timesteps"]) <= keep_timesteps]
        self.dropped = len(rows) - len(kept)
        self._t_start = float(header["t_start"]) if header else time.time()
        first = {"t_start": self._t_start, "env_id": "GreatWallRun-v0", "run": run_id}
        temporary = path.with_name(f".{path.name}.tmp")
        try:
            temporary.write_text(f"#{json.dumps(first)}\n{_lines(kept, header=True)}", encoding="utf-8")
            temporary.replace(path)
            self._file = (disk or Disk(logging.warning)).append_to(path)
        except OSError as error:
            raise ConfigError(
                f"cannot write {path}: expected a writable folder with room, found "
                f"{(error.strerror or str(error)).lower()}; free space or use --logs"
            ) from error

    def write(self, timesteps: int, info: dict[str, Any]) -> None:
        """A row from the info of an episode's last step."""
        run, course, episode = info["run"], info["course"], info["episode"]
        row = {
            "r": episode["r"],
            "l": episode["l"],
            "t": round(time.time() - self._t_start, 3),
            "timesteps": timesteps,
            "env": course["env"],
            "episode": course["episode"],
            "seed": course["seed"],
            "interruption": info.get("interruption", ""),
            **{name: run[name] for name in COLUMNS[7:14]},
        }
        self._file.write(_lines([row]).encode())

    def close(self) -> None:
        self._file.close()


def _lines(rows: Sequence[Mapping[str, Any]], header: bool = False) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Header and whole rows; a last row cut short by a crash is left out."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            header = json.loads(file.readline().lstrip("#"))
            reader = csv.DictReader(file)
            rows = [row for row in reader if None not in row.values() and None not in row]
            if reader.fieldnames != COLUMNS or not isinstance(header, dict) or "t_start" not in header:
                raise ValueError("columns")
            return header, [row for row in rows if row["timesteps"].isdigit()]
    except (ValueError, UnicodeDecodeError, csv.Error):
        raise FileFormatError(
            f"{path}: expected the episodes of this run, found another kind of file; "
            "move it away or start over with --fresh"
        ) from None
