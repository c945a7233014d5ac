"""Labels as label tools leave them: read, checked, cut to the strip, and learnt from."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from config import GREAT_WALL, Config, EyesConfig
from greatwall.data.detector_training import TrainingPlan
from greatwall.data.detector_tuning import examine, input_size_of, tune_detector
from greatwall.data.labelled_folder import read_labelled_folder, write_strips
from greatwall.errors import GreatWallError
from greatwall.eyes.detector import DEFAULT_WEIGHTS, Detector

RIDER = "0 0.127604 0.745370 0.067708 0.138889"  # 180, 730, 130 x 150 px of 1920x1080


def picture(path: Path, size: tuple[int, int] = (1920, 1080)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.full((size[1], size[0], 3), 90, np.uint8))
    return path


def folder_of(folder: Path, labels: str = RIDER, count: int = 1) -> Path:
    for i in range(count):
        picture(folder / "images" / f"{i}.jpg", (640, 360))
        (folder / "labels").mkdir(exist_ok=True)
        (folder / "labels" / f"{i}.txt").write_text(labels)
    return folder


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ("7 0.5 0.5 0.1 0.1", "labels/0.txt:1: expected class 0 to 4, found 7"),
        ("-1 0.5 0.5 0.1 0.1", "expected class 0 to 4, found -1"),
        (f"{RIDER}\n1 0.5 1.2 0.1 0.1", "labels/0.txt:2: expected a box inside the picture"),
        ("1 0.99 0.5 0.1 0.1", "expected a box inside the picture"),
        ("1 0.5 0.5 0 0.1", "expected a box inside the picture"),
        ("1 nan 0.5 0.1 0.1", "expected a box inside the picture"),
        ("1 960 540 100 100", "expected a box inside the picture"),
        ("1 0.5 0.5 0.1", "expected class, x, y, width, height, found 4 words"),
        ("coin 0.5 0.5 0.1 0.1", "expected a class number and four numbers"),
        ("9 0.5 0.5 0.1 0.1\n9 0.5 0.5 0.1 0.1", "2 such lines in all"),
    ],
)
def test_a_label_out_of_range_is_one_line(tmp_path: Path, labels: str, words: str) -> None:
    with pytest.raises(GreatWallError) as caught:
        read_labelled_folder(folder_of(tmp_path, labels), GREAT_WALL)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folders_without_images_or_labels_are_one_line(tmp_path: Path) -> None:
    for prepare, words in (
        (lambda: None, "expected images"),
        (lambda: picture(tmp_path / "a.png"), "expected a label file for each image, found 1 images"),
    ):
        prepare()
        with pytest.raises(GreatWallError, match=words) as caught:
            read_labelled_folder(tmp_path, GREAT_WALL)
        assert "\n" not in str(caught.value)
    with pytest.raises(GreatWallError, match="expected a folder"):
        read_labelled_folder(tmp_path / "none", GREAT_WALL)


def test_pictures_without_a_label_file_are_left_out_and_empty_files_are_not(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, count=3)
    (folder / "labels" / "0.txt").unlink()
    (folder / "labels" / "1.txt").write_text("")
    found = read_labelled_folder(folder, GREAT_WALL)
    assert found.unlabelled == 1
    assert [len(one.rows) for one in found.train] == [0, 1]


def test_names_of_the_label_tool_decide_the_classes(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "1 0.5 0.5 0.1 0.1")
    for name, text in (
        ("labels/classes.txt", "enemy\ncoin\n"),
        ("data.yaml", json.dumps({"names": ["enemy", "coin"]})),
    ):
        (folder / name).write_text(text)
        found = read_labelled_folder(folder, GREAT_WALL)
        assert found.train[0].rows[0].category == "coin"
        (folder / name).write_text(text.replace("coin", "cow"))
        with pytest.raises(GreatWallError, match="found cow"):
            read_labelled_folder(folder, GREAT_WALL)
        (folder / name).unlink()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("data.yaml", b"names: [a, {b\n: - ]", "expected YAML"),
        ("data.yaml", b"names: [\xff\xfe]", "expected text in UTF-8"),
        ("data.yaml", b"- horse", "expected names of the classes"),
        ("classes.txt", b"\xff\xfehorse", "expected text in UTF-8"),
        ("val.txt", b"\xff\xfe0.jpg", "expected text in UTF-8"),
    ],
)
def test_a_broken_list_is_one_line(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    folder = folder_of(tmp_path)
    (folder / name).write_bytes(content)
    with pytest.raises(GreatWallError, match=words) as caught:
        read_labelled_folder(folder, GREAT_WALL)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "\ufeff0 0.5 0.5 0.1 0.1")
    (folder / "classes.txt").write_text("\ufeffcoin\n")
    assert read_labelled_folder(folder, GREAT_WALL).train[0].rows[0].category == "coin"
    (folder / "classes.txt").unlink()
    (folder / "data.yaml").write_text("\ufeffnames:\n  0: enemy\n")
    assert read_labelled_folder(folder, GREAT_WALL).train[0].rows[0].category == "enemy"


def test_pictures_to_examine_on_are_kept_apart_where_there_are_enough(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, count=12)
    for listed in ("".join(f"./images/{i}.jpg\n" for i in range(12)), "./images/none.jpg\n"):
        (folder / "val.txt").write_text(listed)
        found = read_labelled_folder(folder, GREAT_WALL)
        assert (len(found.train), len(found.val), found.val_is_new) == (11, 1, True)
    (folder / "val.txt").write_text("./images/3.jpg\n./images/4.jpg\n")
    assert [one.image.stem for one in read_labelled_folder(folder, GREAT_WALL).val] == ["3", "4"]
    few = read_labelled_folder(folder_of(tmp_path / "few", count=3), GREAT_WALL)
    assert not few.val_is_new


def test_the_exam_keeps_labels_under_others_as_training_does(tmp_path: Path) -> None:
    """The first row would be hidden if the order of rows were the order of drawing."""
    folder = folder_of(tmp_path, "4 0.5 0.5 0.03 0.05\n1 0.5 0.5 0.1 0.2")
    scores = examine(Config(), read_labelled_folder(folder, GREAT_WALL), DEFAULT_WEIGHTS)
    assert scores["classes"]["coin"]["truth"] == 1
    assert scores["classes"]["obstacle"]["truth"] == 1
    assert scores["pictures_were_learnt_from"]


def test_weights_of_other_or_reordered_classes_are_no_start(tmp_path: Path) -> None:
    turned = replace(GREAT_WALL, classes=GREAT_WALL.classes[::-1])
    labelled = read_labelled_folder(folder_of(tmp_path / "in"), turned)
    plan = TrainingPlan(1, 1, 0, 1, (640, 192), start=str(DEFAULT_WEIGHTS))
    with pytest.raises(GreatWallError, match="or use --start none") as caught:
        tune_detector(Config(profile=turned), plan, labelled, tmp_path / "out" / "d.onnx")
    assert "\n" not in str(caught.value)
    start = tmp_path / "start.onnx"
    start.write_bytes(DEFAULT_WEIGHTS.read_bytes())
    for content in (b'{"classes": ', b"[1]", b'{"classes": 3}', b"\xff\xfe"):
        start.with_suffix(".json").write_bytes(content)
        with pytest.raises(GreatWallError, match="expected JSON") as caught:
            tune_detector(Config(), replace(plan, start=str(start)), labelled, tmp_path / "out" / "d.onnx")
        assert "\n" not in str(caught.value)


def test_labels_beside_the_pictures_are_found_too(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "a.txt").write_text(RIDER)
    assert read_labelled_folder(tmp_path, GREAT_WALL).train[0].rows[0].category == "horse"


def test_boxes_are_cut_to_the_strip_at_any_size(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in", f"{RIDER}\n4 0.5 0.05 0.1 0.1")  # the coin is above the strip
    data = write_strips(
        read_labelled_folder(folder, GREAT_WALL).train, GREAT_WALL, (320, 96), tmp_path / "out"
    )
    out = data.parent
    assert cv2.imread(str(out / "images" / "train" / "000000.png")).shape == (96, 320, 3)
    (row,) = (out / "labels" / "train" / "000000.txt").read_text().splitlines()
    numbers = [float(one) for one in row.split()]
    assert numbers == pytest.approx([0, 245 / 1920, (805 - 352) / 576, 130 / 1920, 150 / 576], abs=3e-3)


def test_a_picture_of_three_pixels_is_one_line(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in")
    picture(folder / "images" / "0.jpg", (3, 3))
    with pytest.raises(GreatWallError, match="at least 160x90 px, found 3x3"):
        write_strips(read_labelled_folder(folder, GREAT_WALL).train, GREAT_WALL, (320, 96), tmp_path / "out")


def test_training_goes_on_from_our_weights(tmp_path: Path) -> None:
    """One step at a learning rate of nothing leaves a detector that still sees as ours does."""
    from greatwall.data.frames import labelled_frames

    folder = tmp_path / "in"
    for i, frame in enumerate(labelled_frames(Config(), 6, 5)):
        (folder / "images").mkdir(parents=True, exist_ok=True)
        (folder / "labels").mkdir(exist_ok=True)
        cv2.imwrite(str(folder / "images" / f"{i}.png"), frame.bgr)
        (folder / "labels" / f"{i}.txt").write_text(RIDER)
    labelled = read_labelled_folder(folder, GREAT_WALL)
    size = input_size_of(str(DEFAULT_WEIGHTS))
    assert size is not None
    plan = TrainingPlan(6, 1, 0, 1, size, batch=6, learning_rate=1e-7, start=str(DEFAULT_WEIGHTS))
    weights = tmp_path / "out" / "detector.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's and ultralytics' own
        facts = tune_detector(Config(), plan, labelled, weights)
    assert facts["pictures"] == {"train": 6, "val": 6, "unlabelled": 0}
    assert str(tmp_path) not in json.dumps(facts)
    tuned = Detector(GREAT_WALL, EyesConfig(weights=str(weights)))
    ours = Detector(GREAT_WALL, EyesConfig())
    for frame in labelled_frames(Config(), 4, 50):
        one, other = tuned.detect(frame.bgr), ours.detect(frame.bgr)
        assert [thing.category for thing in one] == [thing.category for thing in other]
        for a, b in zip(one, other, strict=True):
            assert a.center == pytest.approx(b.center, abs=8)
    assert examine(Config(), labelled, weights)["frames"] == 6
