"""What a person reached in `play`: a JSON file that grows by one run at a time. Main thread."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from greatwall.commands.output import write_json
from greatwall.errors import ConfigError, FileFormatError

SCORES = Path("logs/human.json")
FORMAT, VERSION = "greatwall-human", 1
MAX_BYTES = 4 * 1024 * 1024
MAX_VALUE = 10**9


@dataclass(frozen=True)
class HumanRun:
    """One run to its end; `course` is the variants it was played with, or standard."""

    course: str
    seed: int
    distance_m: int
    coins: int
    shots: int
    kills: int
    death: str


def run_of(course: str, facts: Mapping[str, Any]) -> HumanRun:
    """A run from the game's own account of it."""
    numbers = {name: int(facts[name]) for name in ("seed", "distance_m", "coins", "shots", "kills")}
    return HumanRun(course=course, death=str(facts["death"]), **numbers)


def add_run(path: Path, run: HumanRun) -> None:
    """Write the file anew with one run more; its folder is made. Raises as `read_runs`, and `ConfigError`
    where it cannot be written."""
    runs = read_runs(path) if path.exists() else []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"cannot make {path.parent}: expected a place for scores, found {error.strerror}; "
            "name another file with --scores"
        ) from error
    document = {"format": FORMAT, "version": VERSION, "runs": [asdict(one) for one in [*runs, run]]}
    write_json(path, document)


def read_runs(path: Path) -> list[HumanRun]:
    """The runs in a file of scores; `FileFormatError`, one line, for anything else."""

    def refuse(found: str) -> FileFormatError:
        return FileFormatError(
            f"{path}: expected scores that `python -m greatwall play` wrote, found {found}; "
            "name another file, or move this one away"
        )

    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                raise refuse("a file too large")
            document = json.loads(file.read(MAX_BYTES))
    except OSError as error:
        raise refuse(f"that it cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise refuse("something that is not JSON") from None
    if not isinstance(document, dict) or (document.get("format"), document.get("version")) != (
        FORMAT,
        VERSION,
    ):
        raise refuse("JSON of another kind")
    runs = document.get("runs")
    if not isinstance(runs, list):
        raise refuse("no list of runs")
    return [_run(one, refuse) for one in runs]


def _run(found: Any, refuse: Any) -> HumanRun:
    fields = HumanRun.__dataclass_fields__
    if not isinstance(found, dict) or found.keys() != fields.keys():
        raise refuse("a run with other fields")
    for name, field in fields.items():
        value = found[name]
        if field.type == "str":
            ok = isinstance(value, str) and len(value) <= 80 and value.isprintable()
        else:
            ok = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_VALUE
        if not ok:
            raise refuse(f"a run whose {name} makes no sense")
    return HumanRun(**found)
