"""The whole way from the game to weights, as small as it can be: real ultralytics, a few frames."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import cv2
import pytest

from config import GREAT_WALL, Config, EyesConfig
from greatwall.commands import detector
from greatwall.commands.detector import Train
from greatwall.data.detector_training import (
    TrainingPlan,
    start_facts,
    train_detector,
    write_dataset,
    write_note,
)
from greatwall.errors import ConfigError
from greatwall.eyes.detector import DEFAULT_WEIGHTS, Detector

TINY = TrainingPlan(frames=4, epochs=1, seed=7, threads=1, input_size=(320, 96), batch=2)


def test_data_set_holds_pictures_and_boxes_as_shares(tmp_path: Path) -> None:
    data = json.loads(write_dataset(Config(), TINY, tmp_path / "frames").read_text(encoding="utf-8"))
    assert list(data["names"].values()) == list(GREAT_WALL.classes)
    pictures = sorted((tmp_path / "frames" / "images" / "train").glob("*.png"))
    assert len(pictures) == 4
    for picture in pictures:
        assert cv2.imread(str(picture)).shape == (96, 320, 3)
        label = tmp_path / "frames" / "labels" / "train" / f"{picture.stem}.txt"
        rows = [[float(one) for one in line.split()] for line in label.read_text("utf-8").splitlines()]
        rider = next(row for row in rows if row[0] == 0)
        assert rider[1] == pytest.approx(245 / 1920, abs=1e-4)
        assert rider[3:] == pytest.approx([130 / 1920, 150 / 576], abs=1e-4)
        assert all(0 <= one <= 1 for row in rows for one in row[1:])


def test_training_leaves_weights_that_run_and_a_note(tmp_path: Path) -> None:
    weights = tmp_path / "models" / "detector.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's and ultralytics' own
        facts = train_detector(Config(), TINY, weights)
    write_note(weights, facts)
    assert facts["plan"]["seed"] == 7
    for runtime in ("openvino", "onnx"):
        eyes = EyesConfig(weights=str(weights), runtime=runtime)  # type: ignore[arg-type]
        assert Detector(GREAT_WALL, eyes).network.output_shape[1] == 9


def test_what_is_trained_does_not_replace_the_committed_weights_unless_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Path] = []
    assert DEFAULT_WEIGHTS.parent / "new" == detector.NEW_WEIGHTS
    monkeypatch.setattr(detector, "NEW_WEIGHTS", tmp_path)

    def no_training(_: Config, __: TrainingPlan, weights: Path) -> dict[str, object]:
        asked.append(weights)
        raise KeyboardInterrupt

    monkeypatch.setattr(detector, "train_detector", no_training)
    with pytest.raises(KeyboardInterrupt):
        Train().run()
    assert asked == [tmp_path / "detector.onnx"]


def test_the_note_names_the_start_by_its_hash(tmp_path: Path) -> None:
    copy = tmp_path / "mine.onnx"
    copy.write_bytes(DEFAULT_WEIGHTS.read_bytes())
    ours, theirs = (start_facts(replace(TINY, start=str(path))) for path in (DEFAULT_WEIGHTS, copy))
    assert isinstance(ours, dict)
    assert isinstance(theirs, dict)
    assert ours["start_sha256"] == theirs["start_sha256"]
    assert ours["start"] == "the file of this hash, as committed in git before"
    assert theirs["start"] == "the file of this hash"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frames": 0}, "frames: expected 1 or more"),
        ({"epochs": -3}, "epochs: expected 1 or more"),
        ({"seed": 2_000_000}, "seed: expected 0 to"),
        ({"input_width": 600}, "input-width: expected a multiple of 64"),
    ],
)
def test_bad_settings_are_one_line(changes: dict[str, int], words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        Train(out=tmp_path, **changes).run()  # type: ignore[arg-type]
