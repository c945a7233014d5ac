"""Files that commands write: checked before the work, complete or not there after it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from greatwall.errors import ConfigError, FileFormatError


def check_output(path: Path | None, flag: str) -> None:
    """Raise `ConfigError` when `path` cannot be written, before hours are spent on what goes there."""
    if path is None:
        return
    if path.is_dir():
        raise ConfigError(f"{flag}: expected a file, found the folder {path}; name a file in it")
    folder = path.parent
    if not folder.is_dir():
        raise ConfigError(f"{flag}: expected a folder that exists, found {folder}; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ConfigError(f"{flag}: expected a place that can be written, found {path}; choose another")


def check_output_folder(path: Path, flag: str) -> None:
    """The same for a folder; it is made where it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{flag}: expected a folder or a place for one, found {path}: {error.strerror}; choose another"
        ) from error
    if not os.access(path, os.W_OK):
        raise ConfigError(f"{flag}: expected a folder that can be written, found {path}; choose another")


def write_json(path: Path, value: Any) -> None:
    """`write_text` of `value` as JSON."""
    write_text(path, json.dumps(value, indent=1) + "\n")


def write_between(path: Path, begin: str, end: str, text: str) -> None:
    """Put `text` between two marks of a page; `FileFormatError` where it has not both, in that order."""
    before, found, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise FileFormatError(
            f"{path}: expected the marks {begin} and {end}, found none; put them where the table belongs"
        )
    write_text(path, f"{before}{begin}\n{text}\n{end}{after}")


def write_text(path: Path, text: str) -> None:
    """Write it under a temporary name and rename it; `ConfigError` when the disk will not have it."""
    unfinished = path.with_name(f".{path.name}.part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise ConfigError(
            f"expected to write {path}, found {error.strerror}; choose another place"
        ) from error
