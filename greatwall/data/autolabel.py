"""Pictures of a game that tells no truth: a video or a folder of screenshots, labelled by our own eyes.

The labels are a first guess for correcting by hand. `labels/` holds the boxes the detector is sure enough
of, `labels_conf/` all it thought of, with confidence. Runs on the caller's thread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config import Config, replace_in
from greatwall.assembly import build_eyes
from greatwall.contracts import Frame, FrameArray, GameObject
from greatwall.data.dataset import Sample, file_hash
from greatwall.data.dataset_source import encoded, gaps_json, hud_json, object_json
from greatwall.device.video import VideoFile, read_picture
from greatwall.errors import ConfigError
from greatwall.eyes.detector import DEFAULT_WEIGHTS

PART_FRAMES = 40
GUESS = 0.15  # confidence from which a thought is noted at all
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")


class Still(NamedTuple):
    """One picture to label: its file's bytes where it has one, else None."""

    name: str
    at_s: float | None
    bgr: FrameArray
    file: bytes | None


@dataclass(frozen=True)
class LabelPlan:
    """What is to be labelled. At most `frames` pictures, evenly spread over the source."""

    source: Path
    frames: int
    image: str = "jpg"
    weights: str = ""

    def __post_init__(self) -> None:
        if self.frames < 1:
            raise ConfigError(f"--frames: expected 1 or more, found {self.frames}; change the number")


def image_files(folder: Path) -> list[Path]:
    """The images of a folder and the folders in it, by name. `ConfigError` when there is none."""
    found = sorted(folder.rglob("*"))
    files = [path for path in found if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()]
    if not files:
        raise ConfigError(
            f"{folder}: expected images ({', '.join(IMAGE_SUFFIXES)}), found none; name another folder"
        )
    return files


class LabelSource:
    """`dataset.Source`: a video or a folder."""

    def __init__(self, config: Config, plan: LabelPlan) -> None:
        self._plan = plan
        self._profile = config.profile
        self.classes = config.profile.classes
        self._threshold = config.eyes.confidence
        if not plan.source.exists():
            raise ConfigError(
                f"--source: expected simulator, a video or a folder, found nothing at {plan.source}; "
                "name one that exists"
            )
        self._files = image_files(plan.source) if plan.source.is_dir() else []
        total = len(self._files) or _pictures_in(plan.source)
        self._chosen = np.unique(
            np.linspace(0, total - 1, min(plan.frames, total)).round().astype(int)
        ).tolist()
        self._stills: Iterator[Still] | None = None
        self._passed = 0
        guessing = replace_in(config, "eyes", kind="vision", confidence=GUESS, weights=plan.weights)
        self._eyes = build_eyes(guessing)

    def plan(self) -> Mapping[str, Any]:
        weights = self._plan.weights
        return {
            "source": "folder" if self._files else "video",
            "pictures": self._source_hash(),
            "frames": self._plan.frames,
            "image": self._plan.image,
            "detector": file_hash(Path(weights) if weights else DEFAULT_WEIGHTS),
            "confidence": [GUESS, self._threshold],
            "profile": hashlib.sha256(repr(self._profile).encode()).hexdigest(),
        }

    def _source_hash(self) -> str:
        if not self._files:
            return file_hash(self._plan.source)
        chosen = [self._files[i] for i in self._chosen]
        names = [path.relative_to(self._plan.source).as_posix() for path in chosen]
        listed = "".join(f"{file_hash(path)}  {name}\n" for path, name in zip(chosen, names, strict=True))
        return hashlib.sha256(listed.encode()).hexdigest()

    def part_sizes(self) -> list[int]:
        whole, rest = divmod(len(self._chosen), PART_FRAMES)
        return [PART_FRAMES] * whole + ([rest] if rest else [])

    def part(self, number: int) -> Iterator[Sample]:
        """Parts come in rising order; what lies before is passed over."""
        first = number * PART_FRAMES
        if self._files:
            for i in self._chosen[first : first + PART_FRAMES]:
                path = self._files[i]
                name = path.relative_to(self._plan.source).as_posix()
                yield self._sample(Still(name, None, read_picture(path), path.read_bytes()), number)
            return
        if self._stills is None:
            self._stills = self._video_stills()
        for still in self._stills:
            self._passed += 1
            if self._passed > first:
                yield self._sample(still, number)
            if self._passed == first + self.part_sizes()[number]:
                return

    def _video_stills(self) -> Iterator[Still]:
        video = VideoFile(self._plan.source)
        wanted = set(self._chosen)
        try:
            for i, picture in enumerate(video.pictures()):
                if i in wanted:
                    yield Still(f"frame {i}", round(picture.at_s, 4), picture.bgr(), None)
        finally:
            video.close()

    def _sample(self, still: Still, number: int) -> Sample:
        size = (still.bgr.shape[1], still.bgr.shape[0])
        frame = Frame(0, still.at_s or 0.0, size, bgr=still.bgr)
        sight = self._eyes.see(frame)
        rows, conf_rows = [], []
        for thing in sight.objects:
            row = _row(thing, size, self.classes)
            conf_rows.append(f"{row} {thing.score:.4f}")
            if thing.score >= self._threshold:
                rows.append(row)
        sureness, doubts = judge(sight.objects, self._threshold, self._rider())
        line = {
            "run": number,
            "from": still.name,
            "at_s": still.at_s,
            "seed": None,
            "action": None,
            "size": list(size),
            "truth": None,
            "seen": {
                "objects": [object_json(one) for one in sight.objects],
                "gaps": gaps_json(sight.ground.gaps),
                "hud": hud_json(self._eyes.read_hud(frame)),
            },
            "sureness": sureness,
        }
        kind = self._plan.image
        image = encoded(still.bgr, kind) if still.file is None else still.file
        suffix = f".{kind}" if still.file is None else Path(still.name).suffix.lower()
        return Sample(image, suffix, tuple(rows), line, tuple(conf_rows), sureness, doubts)

    def _rider(self) -> str:
        return next(name for name, role in self._profile.roles if role == "rider")

    def counts(self, line: Mapping[str, Any]) -> Mapping[str, str]:
        return {"frames_with_a_gap": "yes" if line["seen"]["gaps"] else "no"}

    def close(self) -> None:
        self._eyes.close()


def judge(objects: tuple[GameObject, ...], threshold: float, rider: str) -> tuple[float, str]:
    """How sure the labels of a picture are, 0..1, and why no surer.

    A box is as sure as its score, one left out as sure as it is unlikely; a picture without the rider is
    not sure at all. The least sure of them counts.
    """
    if not any(thing.category == rider and thing.score >= threshold for thing in objects):
        return 0.0, f"no {rider}"
    doubtful = [
        (score, f"{thing.category}") if score >= threshold else (1 - score, f"{thing.category}, left out")
        for thing in objects
        for score in [float(thing.score)]
    ]
    sureness, why = min(doubtful)
    return round(sureness, 4), why


def _row(thing: GameObject, size: tuple[int, int], classes: tuple[str, ...]) -> str:
    width, height = size
    x, y = thing.center
    shares = (x / width, y / height, thing.w / width, thing.h / height)
    return " ".join([str(classes.index(thing.category)), *(f"{one:.6f}" for one in shares)])


def _pictures_in(path: Path) -> int:
    """How many pictures a video has, by decoding it once: headers lie."""
    video = VideoFile(path)
    try:
        return sum(1 for _ in video.pictures())
    finally:
        video.close()
