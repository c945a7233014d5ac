"""The run-time detector: decoding by hand-made outputs, the committed weights on frames of the game."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from config import GREAT_WALL, Config, EyesConfig
from greatwall.data.detector_scoring import score_frames
from greatwall.data.detector_training import VALIDATION_SEEDS
from greatwall.data.frames import LabelledFrame, labelled_frames
from greatwall.errors import ConfigError, FileFormatError, GreatWallError
from greatwall.eyes.band import Band
from greatwall.eyes.detector import DEFAULT_WEIGHTS, Detector, decode, suppress


def output_of(rows: list[tuple[float, float, float, float, int, float]]) -> np.ndarray:
    """Raw output (4 + 5, N) with one column for each x, y, w, h (centre), class, score."""
    raw = np.zeros((9, len(rows)), np.float32)
    for n, (x, y, w, h, kind, score) in enumerate(rows):
        raw[:4, n] = x, y, w, h
        raw[4 + kind, n] = score
    return raw


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([], []),
        ([(50, 50, 20, 20, 1, 0.9)], [(40, 40, 60, 60, 1)]),
        ([(50, 50, 20, 20, 1, 0.34)], []),  # not sure enough
        ([(50, 50, 20, 20, 1, 0.5), (51, 50, 20, 20, 1, 0.9)], [(41, 40, 61, 60, 1)]),  # the surer stays
        ([(50, 50, 20, 20, 1, 0.9), (51, 50, 20, 20, 2, 0.8)], [(40, 40, 60, 60, 1), (41, 40, 61, 60, 2)]),
        ([(50, 50, 20, 20, 1, 0.8), (60, 50, 20, 20, 1, 0.9)], [(50, 40, 70, 60, 1), (40, 40, 60, 60, 1)]),
    ],
)
def test_decoding(rows: list, kept: list) -> None:
    boxes, scores, kinds = decode(output_of(rows), 0.35, 0.5)
    assert [(*box, kind) for box, kind in zip(boxes.tolist(), kinds.tolist(), strict=True)] == kept
    assert sorted(scores, reverse=True) == scores.tolist()


def test_a_suppressed_box_suppresses_nobody() -> None:
    boxes = np.array([[0, 0, 10, 10], [3, 0, 13, 10], [6, 0, 16, 10]], np.float32)
    kept = suppress(boxes, np.array([0.9, 0.8, 0.7], np.float32), np.zeros(3, np.intp), 0.5)
    assert kept.tolist() == [0, 2]


@pytest.mark.parametrize("frame_size", [(1920, 1080), (1280, 720), (1600, 900), (2400, 1080)])
def test_strip_fills_the_picture_at_every_size_and_boxes_come_back(frame_size: tuple[int, int]) -> None:
    width, height = frame_size
    band = Band(GREAT_WALL, frame_size, (640, 192))
    frame = np.zeros((height, width, 3), np.uint8)
    x1, y1, x2, y2 = width // 4, height * 60 // 100, width // 2, height * 80 // 100
    frame[y1:y2, x1:x2] = 200
    picture = band.picture(frame)
    assert picture.shape == (192, 640, 3)
    x, y, w, h = band.shares((x1, y1, x2, y2))
    rows, columns = np.flatnonzero(picture[:, 240, 0] > 100), np.flatnonzero(picture[130, :, 0] > 100)
    assert (columns[0], columns[-1] + 1) == pytest.approx(((x - w / 2) * 640, (x + w / 2) * 640), abs=1)
    assert (rows[0], rows[-1] + 1) == pytest.approx(((y - h / 2) * 192, (y + h / 2) * 192), abs=1)
    again = np.array(
        [[(x - w / 2) * 640, (y - h / 2) * 192, (x + w / 2) * 640, (y + h / 2) * 192]], np.float32
    )
    assert band.to_frame(again)[0].tolist() == pytest.approx([x1, y1, x2, y2], abs=0.01)


@pytest.fixture(scope="module")
def frames() -> list[LabelledFrame]:
    return list(labelled_frames(Config(), 60, 1_000_200))


@pytest.mark.parametrize("runtime", ["openvino", "onnx"])
def test_committed_weights_find_what_is_there(frames: list[LabelledFrame], runtime: str) -> None:
    detector = Detector(GREAT_WALL, EyesConfig(runtime=runtime, confidence=0.01))  # type: ignore[arg-type]
    scores = score_frames(Config(), detector, frames)
    assert scores["runtime"] == runtime
    assert scores["map50"] >= 0.95
    assert scores["left_edge_error_px"]["p95"] < 6


def test_boxes_are_in_pixels_of_the_frame_asked_about(frames: list[LabelledFrame]) -> None:
    detector = Detector(GREAT_WALL, EyesConfig())
    full = detector.detect(frames[0].bgr)
    half = detector.detect(np.ascontiguousarray(frames[0].bgr[::2, ::2]))
    horses = [next(one for one in found if one.category == "horse") for found in (full, half)]
    assert (horses[0].x, horses[0].w, horses[0].h) == pytest.approx((180, 130, 150), abs=8)
    assert horses[1][1:5] == pytest.approx([one / 2 for one in horses[0][1:5]], abs=4)
    for found, width in ((full, 1920), (half, 960)):
        assert all(one.x >= 0 and one.x2 <= width for one in found)
        assert [one.x for one in found] == sorted(one.x for one in found)


def test_committed_weights_are_small_and_their_note_says_how_good() -> None:
    assert DEFAULT_WEIGHTS.stat().st_size < 5e6
    note = json.loads(DEFAULT_WEIGHTS.with_suffix(".json").read_text(encoding="utf-8"))
    assert tuple(note["classes"]) == GREAT_WALL.classes
    assert note["exam"]["map50"] >= 0.95
    assert note["exam"]["seed"] >= VALIDATION_SEEDS


def weights_with(folder: Path, content: bytes | None = None, note: str | None = None) -> str:
    path = folder / "detector.onnx"
    path.write_bytes(DEFAULT_WEIGHTS.read_bytes() if content is None else content)
    if note is not None:
        path.with_suffix(".json").write_text(note, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("runtime", ["openvino", "onnx"])
@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"", None),
        (b"no model at all", None),
        (DEFAULT_WEIGHTS.read_bytes()[:5000] if DEFAULT_WEIGHTS.is_file() else b"", None),
        (None, "{}"),
        (None, "not json"),
        (None, '{"classes": ["horse", "coin"]}'),
        (None, '{"classes": ["horse", "obstacle", "enemy", "soul", "dragon"]}'),
    ],
)
def test_bad_weights_are_one_line(
    tmp_path: Path, content: bytes | None, note: str | None, runtime: str
) -> None:
    weights = weights_with(tmp_path, content, note)
    with pytest.raises(FileFormatError, match="expected") as caught:
        Detector(GREAT_WALL, EyesConfig(weights=weights, runtime=runtime))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_missing_weights_say_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="detector train"):
        Detector(GREAT_WALL, EyesConfig(weights=str(tmp_path / "none.onnx")))


def test_missing_runtime_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("openvino", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(GreatWallError, match="pip install"):
        Detector(GREAT_WALL, EyesConfig())
