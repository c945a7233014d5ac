"""A data set on disk, written part by part so that a run that was stopped goes on where it was.

    images/ labels/     pictures and YOLO rows (class, centre x, y, width, height as shares of the picture)
    labels_conf/        auto-labels only: the same rows and the detector's confidence, the unsure ones too
    frames.jsonl        one JSON line a frame
    data.yaml, train.txt, val.txt, labels/classes.txt       for trainers and label tools
    correct_first.txt   auto-labels only: pictures by how sure their labels are, the unsurest first
    manifest.json       plan, counts, and one hash over every other file; no time and no path

A part is what depends on nothing but the plan and its own number. Its note in `parts/` is written last and
renamed into place, so a part without a whole note is simply made again; `parts/` goes when all is done.
Equal plans therefore give equal bytes, stopped or not. Runs on the caller's thread.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import greatwall
from greatwall.errors import ConfigError, FileFormatError

FORMAT = "greatwall-dataset"
VERSION = 1
VAL_EVERY = 10  # each tenth part is for validation: whole runs, so nothing of them is learnt
PARTS, MANIFEST, LINES = "parts", "manifest.json", "frames.jsonl"
CORRECT_FIRST = "correct_first.txt"


@dataclass(frozen=True)
class Sample:
    """One frame as it is written."""

    image: bytes  # a whole image file
    suffix: str  # of that file: .jpg, .png
    rows: tuple[str, ...]  # YOLO
    line: Mapping[str, Any]  # of frames.jsonl, without the name of the image
    conf_rows: tuple[str, ...] | None = None  # rows with confidence
    sureness: float | None = None  # 0..1, of its auto-labels
    doubts: str = ""  # why no surer


class Source(Protocol):
    """Where frames come from, in parts that depend on their number alone."""

    classes: tuple[str, ...]

    def plan(self) -> Mapping[str, Any]:
        """All that decides the bytes, JSON-able: settings, and hashes of the files used."""

    def part_sizes(self) -> list[int]:
        """Frames of each part; `part` is asked for them in rising order."""

    def part(self, number: int) -> Iterator[Sample]: ...

    def counts(self, line: Mapping[str, Any]) -> Mapping[str, str]:
        """What of a line is counted in the manifest: the table's name -> the value."""


@dataclass
class Written:
    """What has come of it."""

    frames: int
    sha256: str
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    already: bool = False  # it was whole before


def write_dataset_folder(source: Source, folder: Path, made: Callable[[int], None]) -> Written:
    """Write the data set, or what is missing of it; `made` is told of frames as they are there.

    Raises `ConfigError` for a folder with something else in it, `FileFormatError` for a changed data set.
    """
    plan = {"format": FORMAT, "version": VERSION, "greatwall": greatwall.__version__, **source.plan()}
    if (folder / MANIFEST).exists():
        shutil.rmtree(folder / PARTS, ignore_errors=True)
        return _finished(folder, plan)
    try:
        return _write(source, folder, plan, made)
    except OSError as error:
        raise ConfigError(
            f"{folder}: expected a place where a data set can be written, found {error.strerror or error}; "
            "name another folder or make room"
        ) from error


def _write(source: Source, folder: Path, plan: Mapping[str, Any], made: Callable[[int], None]) -> Written:
    _begin(folder, plan)
    first = 0
    notes = []
    for number, size in enumerate(source.part_sizes()):
        note = _read_note(folder, number)
        if note is None:
            note = _write_part(folder, number, first, source.part(number), made)
        else:
            made(size)
        notes.append(note)
        first += len(note["lines"])
    return _finish(folder, plan, source, notes)


# --- parts --------------------------------------------------------------------------------------------


def _begin(folder: Path, plan: Mapping[str, Any]) -> None:
    """The folders and the plan; refuses a folder that holds anything but a part of the same data set."""
    begun = folder / PARTS / "plan.json"
    if begun.exists():
        if _read_json(begun) != plan:
            raise ConfigError(
                f"{folder}: expected a data set begun with the same arguments and files, found another; "
                "name another folder or remove this one"
            )
    elif folder.exists() and (not folder.is_dir() or _has_files(folder, unfinished_name(begun))):
        raise ConfigError(f"{folder}: expected a new or empty folder, found files in it; name another folder")
    begun.parent.mkdir(parents=True, exist_ok=True)
    _write_whole(begun, _json_bytes(plan))
    for name in ("images", "labels"):
        (folder / name).mkdir(exist_ok=True)


def _has_files(folder: Path, but: str) -> bool:
    """Whether anything but empty folders and an unfinished plan is there: a kill right at the start leaves
    those."""
    return any(path.name != but and not path.is_dir() for path in folder.rglob("*"))


def _note_path(folder: Path, number: int) -> Path:
    return folder / PARTS / f"{number:06d}.json"


def _read_note(folder: Path, number: int) -> dict[str, Any] | None:
    """The note of a part that is there, each file as it was written; else None."""
    path = _note_path(folder, number)
    if not path.exists():
        return None
    note: dict[str, Any] = _read_json(path)
    for name, sha256 in note["files"].items():
        file = folder / name
        if not file.is_file() or _hash(file.read_bytes()) != sha256:
            return None
    return note


def _write_part(
    folder: Path, number: int, first: int, samples: Iterator[Sample], made: Callable[[int], None]
) -> dict[str, Any]:
    files: dict[str, str] = {}
    lines, sureness = [], []
    for at, sample in enumerate(samples, first):
        name = f"{at:06d}"
        image = f"images/{name}{sample.suffix}"
        contents = {image: sample.image, f"labels/{name}.txt": _rows_bytes(sample.rows)}
        if sample.conf_rows is not None:
            contents[f"labels_conf/{name}.txt"] = _rows_bytes(sample.conf_rows)
        for file, data in contents.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_bytes(data)
            files[file] = _hash(data)
        lines.append({"image": image, **sample.line})
        if sample.sureness is not None:
            sureness.append([sample.sureness, image, sample.doubts])
        made(1)
    note = {"files": files, "lines": lines, "sureness": sureness}
    _write_whole(_note_path(folder, number), _compact(note).encode())  # keys in their order
    return note


# --- the end ------------------------------------------------------------------------------------------


def _finish(folder: Path, plan: Mapping[str, Any], source: Source, notes: list[dict[str, Any]]) -> Written:
    """Everything that speaks of all parts, the manifest last."""
    lines = [line for note in notes for line in note["lines"]]
    if not lines:
        raise ConfigError("data set: expected frames, found none in the source; choose another")
    train, val = _split(notes)
    listing = {"train": "train.txt", "val": "val.txt", "names": dict(enumerate(source.classes))}
    texts = {
        LINES: "".join(_compact(line) + "\n" for line in lines),
        "train.txt": "".join(f"./{image}\n" for image in train),
        "val.txt": "".join(f"./{image}\n" for image in val),
        "data.yaml": json.dumps(listing, indent=1) + "\n",  # JSON is YAML
        "labels/classes.txt": "".join(f"{name}\n" for name in source.classes),
    }
    sureness = sorted(row for note in notes for row in note["sureness"])
    if sureness:
        texts[CORRECT_FIRST] = "".join(f"{image} {sure:.2f} {why}\n" for sure, image, why in sureness)
    hashes = {name: sha256 for note in notes for name, sha256 in note["files"].items()}
    for name, text in texts.items():
        _write_whole(folder / name, text.encode())
        hashes[name] = _hash(text.encode())
    counts: dict[str, Counter[str]] = {}
    for line in lines:
        for table, value in source.counts(line).items():
            counts.setdefault(table, Counter())[value] += 1
    counts["objects"] = _object_counts(folder, notes, source.classes)
    tables = {table: dict(sorted(counter.items())) for table, counter in sorted(counts.items())}
    sha256 = content_hash(hashes)
    manifest = {"plan": plan, "frames": len(lines), "counts": tables, "files": len(hashes), "sha256": sha256}
    _write_whole(folder / MANIFEST, _json_bytes(manifest))
    shutil.rmtree(folder / PARTS)
    return Written(len(lines), sha256, tables)


def content_hash(hashes: Mapping[str, str]) -> str:
    """One hash over files: of lines `sha256  name`, sorted by name, as `sha256sum` would write them."""
    return _hash("".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes)).encode())


def _finished(folder: Path, plan: Mapping[str, Any]) -> Written:
    """A whole data set, looked over again."""
    manifest = _read_json(folder / MANIFEST)
    if manifest.get("plan") != plan:
        raise ConfigError(
            f"{folder}: expected a data set made with the same arguments and files, found another; "
            "name another folder"
        )
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST]
    found = content_hash({path.relative_to(folder).as_posix(): _hash(path.read_bytes()) for path in files})
    if found != manifest["sha256"]:
        raise FileFormatError(
            f"{folder}: expected the files as they were written, found some changed, added or gone; "
            "name another folder, so that corrected labels stay"
        )
    return Written(manifest["frames"], manifest["sha256"], manifest["counts"], already=True)


def _split(notes: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Images to learn from and to validate on. With fewer than ten parts the last one validates, with one
    its last tenth; a single image does both."""
    parts = [[line["image"] for line in note["lines"]] for note in notes]
    if len(parts) == 1:
        only = parts[0]
        kept = max(1, len(only) // VAL_EVERY)
        return only[:-kept] or only, only[-kept:]
    last = len(parts) - 1
    is_val = [i % VAL_EVERY == VAL_EVERY - 1 or (last < VAL_EVERY - 1 and i == last) for i in range(last + 1)]
    train = [image for part, val in zip(parts, is_val, strict=True) if not val for image in part]
    return train, [image for part, val in zip(parts, is_val, strict=True) if val for image in part]


def _object_counts(folder: Path, notes: list[dict[str, Any]], classes: tuple[str, ...]) -> Counter[str]:
    """Labels by class."""
    counted = Counter(dict.fromkeys(classes, 0))
    for note in notes:
        for name in note["files"]:
            if name.startswith("labels/"):
                rows = (folder / name).read_text(encoding="utf-8").splitlines()
                counted.update(classes[int(row.split()[0])] for row in rows)
    return counted


# --- bytes --------------------------------------------------------------------------------------------


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def file_hash(path: Path) -> str:
    """sha256 of a file's content, without reading it whole into memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _rows_bytes(rows: tuple[str, ...]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def _json_bytes(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(
            f"{path}: expected JSON, found a truncated or foreign file; remove the folder and make it again"
        ) from error


def unfinished_name(path: Path) -> str:
    """What a file is called until it is whole."""
    return path.name + ".part"


def _write_whole(path: Path, data: bytes) -> None:
    """The whole file or nothing, whenever the program is killed."""
    unfinished = path.with_name(unfinished_name(path))
    unfinished.write_bytes(data)
    os.replace(unfinished, path)
