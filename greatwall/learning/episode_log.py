"""One CSV with one row an episode, in the format of SB3's Monitor, kept whole across resumes.

SB3's own writer truncates the file or appends without regard for what it holds (SB3 #1035, #2282).
Main thread.
"""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import Any

from greatwall.errors import FileFormatError

COLUMNS = (
    "r l t timesteps env episode seed distance_m coins obstacles cliffs shots kills death interruption"
).split()


class EpisodeLog:
    """Appends rows; every row is on disk when `write` returns. `close` it at the end.

    `keep_timesteps`: rows of episodes that ended later are dropped, because the run goes on from
    there and plays them again. `run_id` goes into the first line, and says whose episodes these are.
    """

    def __init__(self, path: Path, keep_timesteps: int, run_id: str = "") -> None:
        header, rows = _read(path) if path.exists() and path.stat().st_size else (None, [])
        kept = [row for row in rows if int(row["timesteps"]) <= keep_timesteps]
        self.dropped = len(rows) - len(kept)
        self._t_start = float(header["t_start"]) if header else time.time()
        temporary = path.with_name(f".{path.name}.tmp")
        with open(temporary, "w", newline="", encoding="utf-8") as file:
            first = {"t_start": self._t_start, "env_id": "GreatWallRun-v0", "run": run_id}
            file.write("#" + json.dumps(first) + "\n")
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
        temporary.replace(path)
        self._file = open(path, "a", newline="", encoding="utf-8")  # noqa: SIM115 - closed by `close`
        self._writer = csv.DictWriter(self._file, COLUMNS, lineterminator="\n")

    def write(self, timesteps: int, info: dict[str, Any]) -> None:
        """A row from the info of an episode's last step."""
        run, course, episode = info["run"], info["course"], info["episode"]
        self._writer.writerow(
            {
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
        )
        self._file.flush()

    def close(self) -> None:
        self._file.close()


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
