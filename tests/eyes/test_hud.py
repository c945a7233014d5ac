"""HUD digits read by the real Tesseract from frames of the game."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import cv2
import numpy as np
import pytesseract
import pytest

from config import GREAT_WALL, Config, EyesConfig, ScreenConfig
from greatwall.contracts import HudRead
from greatwall.data.frames import LabelledFrame, labelled_frames, played_frames, with_screen
from greatwall.errors import ConfigError
from greatwall.eyes import hud
from greatwall.eyes.hud import HudReader, find_tessdata, ink_of


@pytest.fixture(scope="module")
def frames() -> list[LabelledFrame]:
    made = list(labelled_frames(Config(), 80, 1_000_100))
    return [one for one in made if one.scene.hud is not None]


@pytest.mark.parametrize(("engine", "count"), [("tesserocr", 80), ("pytesseract", 4)])
def test_the_games_digits_are_read_exactly(frames: list[LabelledFrame], engine: str, count: int) -> None:
    reader = HudReader(GREAT_WALL, EyesConfig(hud_engine=engine))  # type: ignore[arg-type]
    pairs = [
        (name, read, true)
        for frame in frames[:count]
        for name, read, true in zip(HudRead._fields, reader.read(frame.bgr), frame.scene.hud, strict=True)
    ]
    reader.close()
    wrong = [pair for pair in pairs if pair[1] != pair[2]]
    assert len(wrong) <= 0.01 * len(pairs), wrong


def test_a_frame_of_another_size_is_read_the_same(frames: list[LabelledFrame]) -> None:
    reader = HudReader(GREAT_WALL, EyesConfig(hud_engine="tesserocr"))
    small = cv2.resize(frames[0].bgr, (1280, 720), interpolation=cv2.INTER_AREA)
    assert reader.read(np.asarray(small, np.uint8)) == frames[0].scene.hud
    reader.close()


def test_blank_fields_are_none() -> None:
    reader = HudReader(GREAT_WALL, EyesConfig(hud_engine="tesserocr"))
    assert reader.read(np.full((1080, 1920, 3), 40, np.uint8)) == HudRead()
    assert reader.read(np.full((1080, 1920, 3), 255, np.uint8)) == HudRead()
    reader.close()


def test_one_unreadable_field_leaves_the_others(frames: list[LabelledFrame]) -> None:
    reader = HudReader(GREAT_WALL, EyesConfig(hud_engine="tesserocr"))
    frame = frames[0].bgr.copy()
    x, y, w, h = dict(GREAT_WALL.hud)["coins"].box
    frame[y : y + h, x : x + w] = 30
    assert reader.read(frame) == frames[0].scene.hud._replace(coins=None)
    reader.close()


def test_ink_is_black_on_white_at_one_height(frames: list[LabelledFrame]) -> None:
    x, y, w, h = dict(GREAT_WALL.hud)["distance"].box
    picture = ink_of(frames[0].bgr[y : y + h, x : x + w])
    assert picture is not None
    assert picture.shape[0] == hud.INK_HEIGHT_PX + 2 * hud.MARGIN_PX
    assert picture[0].min() == 255
    assert picture.min() == 0


def test_tessdata_is_found_by_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tessdata").mkdir()
    (tmp_path / "tessdata" / "eng.traineddata").touch()
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    assert find_tessdata() == tmp_path / "tessdata"
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path / "tessdata"))
    assert find_tessdata() == tmp_path / "tessdata"


def test_a_tesseract_beside_the_path_is_found_and_reads(
    frames: list[LabelledFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = shutil.which("tesseract")
    assert installed is not None
    (tmp_path / "tesseract").symlink_to(installed)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(hud, "PROGRAM_FOLDERS", (str(tmp_path / "no-such-folder"), str(tmp_path)))
    monkeypatch.setattr(pytesseract.pytesseract, "tesseract_cmd", "tesseract")
    reader = HudReader(GREAT_WALL, EyesConfig(hud_engine="pytesseract"))
    assert reader.read(frames[0].bgr) == frames[0].scene.hud
    assert pytesseract.pytesseract.tesseract_cmd == str(tmp_path / "tesseract")


@pytest.mark.parametrize(
    ("system", "command"),
    [
        ("Windows", "winget install UB-Mannheim.TesseractOCR"),
        ("Darwin", "brew install tesseract"),
        ("Linux", "sudo apt-get install tesseract-ocr"),
        ("Plan9", "this system's package manager"),
    ],
)
def test_each_system_is_told_its_own_remedy(
    system: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.system", lambda: system)
    assert f"install it with: {command} (" in hud.remedy()


def test_the_windows_installers_data_is_found_beside_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "Tesseract-OCR"
    (folder / "tessdata").mkdir(parents=True)
    (folder / "tessdata" / "eng.traineddata").touch()
    (folder / "tesseract").touch(mode=0o755)
    monkeypatch.delenv("TESSDATA_PREFIX", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(hud, "TESSDATA_FOLDERS", ())
    monkeypatch.setattr(hud, "PROGRAM_FOLDERS", (str(folder),))
    assert find_tessdata() == folder / "tessdata"


@pytest.mark.parametrize("engine", ["tesserocr", "pytesseract"])
def test_missing_tesseract_is_one_line_with_a_remedy(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hud, "TESSDATA_FOLDERS", ())
    monkeypatch.setattr(hud, "PROGRAM_FOLDERS", ())
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("TESSDATA_PREFIX", raising=False)
    with pytest.raises(ConfigError, match="apt-get install tesseract-ocr") as caught:
        HudReader(GREAT_WALL, EyesConfig(hud_engine=engine))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_missing_packages_are_one_line_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tesserocr", None)
    monkeypatch.setitem(sys.modules, "pytesseract", None)
    with pytest.raises(ConfigError, match="pip install pytesseract"):
        HudReader(GREAT_WALL, EyesConfig())
    with pytest.raises(ConfigError, match="pip install tesserocr"):
        HudReader(GREAT_WALL, EyesConfig(hud_engine="tesserocr"))


@pytest.mark.parametrize("size", [(1280, 720), (1600, 900), (2400, 1080)])
def test_every_value_is_read_at_every_size(size: tuple[int, int]) -> None:
    config = with_screen(Config(), ScreenConfig("standard", size, "h264"))
    reader = HudReader(config.profile, config.eyes)
    for one in played_frames(config, 16, 1_000_900, per_run=2):
        assert one.frame.scene is not None
        assert reader.read(one.frame.bgr) == one.frame.scene.hud
    reader.close()
