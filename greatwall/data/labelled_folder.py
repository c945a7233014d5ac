"""A folder of pictures with YOLO labels, as label tools leave it: read, checked, and cut for training.

    DIR/images/a.jpg with DIR/labels/a.txt (folders below them too), or DIR/a.jpg with DIR/a.txt
    DIR/data.yaml or classes.txt   names of the class ids; without them the ids are the profile's
    DIR/val.txt                    the pictures to examine on; without it every tenth

A picture without a label file is left out; an empty label file says that nothing is there. Runs on the
caller's thread.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import yaml  # type: ignore[import-untyped]

from config import GameProfile
from greatwall.contracts import GameObject, Scene
from greatwall.data.autolabel import image_files
from greatwall.data.frames import LabelledFrame
from greatwall.data.visibility import rider_class, visible_boxes
from greatwall.device.video import read_picture
from greatwall.errors import ConfigError, FileFormatError
from greatwall.eyes.band import Band

VAL_EVERY = 10
ENCODING = "utf-8-sig"  # some tools begin with a byte order mark
EDGE_SLACK = 0.002  # label tools round: a box may reach this share of the picture beyond it


class Row(NamedTuple):
    """One box as shares of the picture."""

    category: str
    x: float  # of the centre
    y: float
    w: float
    h: float

    def in_px(self, width: int, height: int) -> GameObject:
        w, h = self.w * width, self.h * height
        return GameObject(self.category, self.x * width - w / 2, self.y * height - h / 2, w, h)


class LabelledImage(NamedTuple):
    image: Path
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class LabelledFolder:
    """What was found. `unlabelled`: pictures without a label file, left out."""

    train: tuple[LabelledImage, ...]
    val: tuple[LabelledImage, ...]
    unlabelled: int

    @property
    def val_is_new(self) -> bool:
        """Whether nothing is examined on that was learnt from."""
        learnt = {one.image for one in self.train}
        return not any(one.image in learnt for one in self.val)


def read_labelled_folder(folder: Path, profile: GameProfile) -> LabelledFolder:
    """Read and check every label. Raises `ConfigError` or `FileFormatError`, one line, for what is wrong."""
    folder = folder.parent if folder.name == "data.yaml" else folder
    if not folder.is_dir():
        raise ConfigError(
            f"--data: expected a folder with images and labels at {folder}, found none; name one"
        )
    names = _class_names(folder, profile)
    inside = folder / "images"
    images = image_files(inside if inside.is_dir() else folder)
    found: list[LabelledImage] = []
    wrong: list[str] = []
    for image in images:
        labels = _label_file(folder, image)
        if labels.is_file():
            found.append(LabelledImage(image, _read_rows(labels, folder, names, wrong)))
    if wrong:
        more = f" ({len(wrong)} such lines in all)" if len(wrong) > 1 else ""
        raise FileFormatError(f"{folder / wrong[0]}{more}; correct it in the label tool")
    if not found:
        raise ConfigError(
            f"{folder}: expected a label file for each image, found {len(images)} images and none; "
            "write labels with python -m greatwall dataset --source or a label tool"
        )
    train, val = _split(folder, found)
    return LabelledFolder(train, val, len(images) - len(found))


def _label_file(folder: Path, image: Path) -> Path:
    inside = folder / "images"
    if inside in image.parents:
        return folder / "labels" / image.relative_to(inside).with_suffix(".txt")
    return image.with_suffix(".txt")


def _read_rows(path: Path, folder: Path, names: dict[int, str], wrong: list[str]) -> tuple[Row, ...]:
    """The rows of one file; what is wrong with the others goes to `wrong`, a line each."""
    rows = []
    shown = path.relative_to(folder).as_posix()
    try:
        lines = path.read_text(encoding=ENCODING).splitlines()
    except UnicodeDecodeError:
        wrong.append(f"{shown}: expected lines of text, found something else")
        return ()
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        row = _row(words, names)
        if isinstance(row, Row):
            rows.append(row)
        else:
            wrong.append(f"{shown}:{number}: {row}")
    return tuple(rows)


def _row(words: list[str], names: dict[int, str]) -> Row | str:
    """A box, or what is wrong with it."""
    shown = " ".join(words)[:60]
    if len(words) != 5:
        return f"expected class, x, y, width, height, found {len(words)} words ({shown})"
    try:
        category = int(words[0])
        x, y, w, h = (float(word) for word in words[1:])
    except ValueError:
        return f"expected a class number and four numbers, found {shown}"
    if category not in names:
        return f"expected class {min(names)} to {max(names)}, found {category}"
    low = min(x - w / 2, y - h / 2)
    high = max(x + w / 2, y + h / 2)
    if not (math.isfinite(low + high) and w > 0 and h > 0 and low >= -EDGE_SLACK and high <= 1 + EDGE_SLACK):
        return f"expected a box inside the picture as shares from 0 to 1, found {shown}"
    return Row(names[category], x, y, w, h)


def _class_names(folder: Path, profile: GameProfile) -> dict[int, str]:
    """Class id -> the profile's name of it."""
    names: dict[int, str] = dict(enumerate(profile.classes))
    source = None
    for path in (folder / "data.yaml", folder / "labels" / "classes.txt", folder / "classes.txt"):
        if path.is_file():
            source = path
            break
    if source is None:
        return names
    if source.suffix == ".txt":
        lines = _text(source).split("\n")
        names = {i: line.strip() for i, line in enumerate(lines) if line.strip()}
    else:
        names = _yaml_names(source)
    unknown = sorted(set(names.values()) - set(profile.classes))
    if unknown or not names:
        raise FileFormatError(
            f"{source}: expected class names among {', '.join(profile.classes)}, "
            f"found {', '.join(unknown) or 'none'}; use the profile's names"
        )
    return names


def _yaml_names(path: Path) -> dict[int, str]:
    text = _text(path)
    try:
        listing: Any = json.loads(text)  # ours are JSON, which is YAML
    except ValueError:
        try:
            listing = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise FileFormatError(
                f"{path}: expected YAML, found {' '.join(str(error).split())[:120]}; export it again"
            ) from error
    names = listing.get("names") if isinstance(listing, dict) else None
    if isinstance(names, list):
        names = dict(enumerate(names))
    if not isinstance(names, dict) or not all(str(one).isdecimal() for one in names):
        raise FileFormatError(f"{path}: expected names of the classes, found none; export it again")
    return {int(one): str(name) for one, name in names.items()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding=ENCODING)
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path}: expected text in UTF-8, found other bytes; save it as UTF-8"
        ) from error


def _split(
    folder: Path, found: list[LabelledImage]
) -> tuple[tuple[LabelledImage, ...], tuple[LabelledImage, ...]]:
    """To learn from and to examine on; the same ones where they are too few to be kept apart."""
    listed = folder / "val.txt"
    is_val: list[bool] = []
    if listed.is_file():
        wanted = {(folder / line.strip()).resolve() for line in _text(listed).splitlines() if line}
        is_val = [one.image.resolve() in wanted for one in found]
    if not any(is_val) or all(is_val):
        is_val = [i % VAL_EVERY == VAL_EVERY - 1 for i in range(len(found))]
    train = tuple(one for one, val in zip(found, is_val, strict=True) if not val)
    val = tuple(one for one, val in zip(found, is_val, strict=True) if val)
    return train or val, val or train


def write_strips(
    labelled: tuple[LabelledImage, ...], profile: GameProfile, input_size: tuple[int, int], folder: Path
) -> Path:
    """The pictures cut and shrunk to what the detector looks at, as `detector_training.learn` takes them.

    A box counts by the share of it inside the strip; what covers what nobody knows here. The YAML file.
    """
    rider = rider_class(profile)
    pictures, labels = folder / "images" / "train", folder / "labels" / "train"
    pictures.mkdir(parents=True)
    labels.mkdir(parents=True)
    for number, one in enumerate(labelled):
        bgr = read_picture(one.image)
        size = (bgr.shape[1], bgr.shape[0])
        band = Band(profile, size, input_size)
        cv2.imwrite(str(pictures / f"{number:06d}.png"), band.picture(bgr))
        lines = []
        for row in one.rows:
            for category, *box in visible_boxes([row.in_px(*size)], (band.y1, band.y2), size[0], rider):
                shares = band.shares((box[0], box[1], box[2], box[3]))
                lines.append(
                    " ".join([str(profile.classes.index(category)), *(f"{share:.6f}" for share in shares)])
                )
        (labels / f"{number:06d}.txt").write_text("\n".join(lines), encoding="utf-8")
    some = "\n".join(str(path) for path in sorted(pictures.glob("*.png"))[:16])
    (folder / "val.txt").write_text(some, encoding="utf-8")
    listing = {
        "path": str(folder),
        "train": "images/train",
        "val": "val.txt",
        "names": dict(enumerate(profile.classes)),
    }
    data = folder / "data.yaml"
    data.write_text(json.dumps(listing), encoding="utf-8")
    return data


def as_frames(labelled: tuple[LabelledImage, ...], profile: GameProfile) -> Iterator[LabelledFrame]:
    """The pictures with their labels as truth, at the profile's frame size: for scoring."""
    width, height = profile.frame_size
    for number, one in enumerate(labelled):
        bgr = cv2.resize(read_picture(one.image), (width, height), interpolation=cv2.INTER_AREA)
        objects = tuple(row.in_px(width, height) for row in one.rows)
        yield LabelledFrame(np.asarray(bgr, np.uint8), Scene(objects, (), None, "labelled"), number)
