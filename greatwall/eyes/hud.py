"""HUD digits by Tesseract: tesserocr with a kept engine where it imports, else pytesseract.

Runs on the OCR thread alone; nothing here is shared with `see`.
"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from config import EyesConfig, GameProfile
from greatwall.contracts import HUD_FIELDS, FrameArray, HudRead
from greatwall.errors import ConfigError

Picture = NDArray[np.uint8]  # (h, w): black digits on white

LANGUAGE = "eng"
INK_HEIGHT_PX = 36  # the height Tesseract's network works at
MARGIN_PX = 14
INK_MIN_SHARE = 0.3  # of the box's height: anything lower is no digit
CONTRAST_MIN = 60  # grey levels between the brightest and the middle of a box that is not blank
INK_FROM, INK_TO = 0.15, 0.85  # of the way from the plate's level to the ink's: white before, black after
DIGITS = "0123456789"
INSTALL = {
    "Windows": "winget install UB-Mannheim.TesseractOCR",
    "Darwin": "brew install tesseract",
    "Linux": "sudo apt-get install tesseract-ocr",
}
PROGRAM_FOLDERS = (  # its installers on Windows and macOS need not put it on the PATH
    "C:/Program Files/Tesseract-OCR",
    "C:/Program Files (x86)/Tesseract-OCR",
    "~/AppData/Local/Programs/Tesseract-OCR",
    "~/AppData/Local/Tesseract-OCR",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/opt/local/bin",
)
TESSDATA_FOLDERS = (
    "/usr/share/tesseract-ocr/5/tessdata",
    "/usr/share/tesseract-ocr/4.00/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
    "C:/Program Files/Tesseract-OCR/tessdata",
)


class Engine(Protocol):
    """One way to Tesseract."""

    name: str

    def texts(self, pictures: list[Picture]) -> list[str]:
        """What stands in each picture of one line, spaces removed; "" where nothing was read."""

    def close(self) -> None: ...


class TesserocrEngine:
    """Tesseract in this process, loaded once."""

    name = "tesserocr"

    def __init__(self) -> None:
        import tesserocr

        folder = find_tessdata()
        if folder is None:
            raise ConfigError(f"Tesseract: expected {LANGUAGE}.traineddata, found none; {remedy()}")
        self._api = tesserocr.PyTessBaseAPI(
            path=str(folder), lang=LANGUAGE, psm=tesserocr.PSM.SINGLE_LINE, oem=tesserocr.OEM.LSTM_ONLY
        )
        self._api.SetVariable("tessedit_char_whitelist", DIGITS)

    def texts(self, pictures: list[Picture]) -> list[str]:
        found = []
        for picture in pictures:
            height, width = picture.shape
            self._api.SetImageBytes(picture.tobytes(), width, height, 1, width)
            found.append("".join(self._api.GetUTF8Text().split()))
        return found

    def close(self) -> None:
        self._api.End()


class PytesseractEngine:
    """Tesseract as a program, started for each read: all pictures go in one call, a line each."""

    name = "pytesseract"

    def __init__(self) -> None:
        import pytesseract

        self._pytesseract = pytesseract
        named = pytesseract.pytesseract.tesseract_cmd
        if shutil.which(named) is None:
            program = find_program()
            if program is None:
                raise ConfigError(f"Tesseract: expected the program {named}, found none; {remedy()}")
            pytesseract.pytesseract.tesseract_cmd = program

    def texts(self, pictures: list[Picture]) -> list[str]:
        if not pictures:
            return []
        lines = self._read(_stacked(pictures), 6)
        if len(lines) != len(pictures):  # a line was lost or split: one call each
            lines = ["".join(self._read(picture, 7)) for picture in pictures]
        return lines

    def _read(self, picture: Picture, page_mode: int) -> list[str]:
        settings = f"--psm {page_mode} --oem 1 -c tessedit_char_whitelist={DIGITS}"
        try:
            text: str = self._pytesseract.image_to_string(picture, lang=LANGUAGE, config=settings)
        except self._pytesseract.TesseractError as error:
            raise ConfigError(
                f"Tesseract: expected it to read, found {_one_line(error)}; {remedy()}"
            ) from error
        return ["".join(line.split()) for line in text.splitlines() if line.strip()]

    def close(self) -> None:
        """Nothing is kept."""


class HudReader:
    """The HUD's values in a frame of any size; a field that is blank or unreadable is None."""

    def __init__(self, profile: GameProfile, config: EyesConfig) -> None:
        self._profile = profile
        self.engine = make_engine(config.hud_engine)

    def read(self, bgr: FrameArray) -> HudRead:
        """One look at every field of the profile."""
        height, width = bgr.shape[:2]
        scale_x, scale_y = width / self._profile.frame_size[0], height / self._profile.frame_size[1]
        names: list[str] = []
        pictures: list[Picture] = []
        for name, field in self._profile.hud:
            x, y, w, h = field.box
            box = bgr[
                round(y * scale_y) : round((y + h) * scale_y), round(x * scale_x) : round((x + w) * scale_x)
            ]
            picture = ink_of(box, scale_y / scale_x)
            if picture is not None:
                names.append(name)
                pictures.append(picture)
        values: dict[str, int | None] = dict.fromkeys(HUD_FIELDS)
        for name, text in zip(names, self.engine.texts(pictures), strict=True):
            if text.isdecimal():
                values[name] = int(text)
        return HudRead(**values)

    def close(self) -> None:
        self.engine.close()


def ink_of(box_bgr: FrameArray, widen: float = 1.0) -> Picture | None:
    """The bright digits of a box, black on white at Tesseract's size; None when there are none.

    `widen` undoes a frame's stretching: digits as the profile's frame shows them. Levels near the plate's
    or the ink's become white and black: what a video stream leaves there makes Tesseract drop digits.
    """
    grey = box_bgr.min(axis=2)  # digits are near white: bright in every channel
    top, plate = int(grey.max()), int(np.median(grey))
    if top - plate < CONTRAST_MIN:
        return None
    ink = grey >= top - (top - plate) // 2
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    y1, y2, x1, x2 = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    if y2 - y1 < INK_MIN_SHARE * len(ink):
        return None
    scale = INK_HEIGHT_PX / (y2 - y1)
    size = (max(1, round((x2 - x1) * scale * widen)), INK_HEIGHT_PX)
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    small = cv2.resize(grey[y1:y2, x1:x2].astype(np.float32), size, interpolation=way)
    inked = ((small - plate) / (top - plate) - INK_FROM) / (INK_TO - INK_FROM)
    picture = (255 * (1 - inked.clip(0, 1))).astype(np.uint8)
    bordered = cv2.copyMakeBorder(
        picture, MARGIN_PX, MARGIN_PX, MARGIN_PX, MARGIN_PX, cv2.BORDER_CONSTANT, value=(255,)
    )
    return np.asarray(bordered, np.uint8)


def make_engine(kind: str) -> Engine:
    """The engine asked for, or the faster one that is installed."""
    os.environ.setdefault("OMP_THREAD_LIMIT", "1")  # more threads are 20 times slower (tesseract #3109)
    if kind in ("auto", "tesserocr"):
        try:
            return TesserocrEngine()
        except ImportError as error:
            if kind == "tesserocr":
                raise ConfigError(
                    "HUD reader: expected tesserocr, found it not installed; pip install tesserocr "
                    "or use pytesseract"
                ) from error
    try:
        return PytesseractEngine()
    except ImportError as error:
        raise ConfigError(
            "HUD reader: expected tesserocr or pytesseract, found neither; pip install pytesseract"
        ) from error


def remedy() -> str:
    """How to get Tesseract and its data on this system."""
    install = INSTALL.get(platform.system(), "this system's package manager")
    return f"install it with: {install} (or set TESSDATA_PREFIX to its tessdata folder)"


def find_program() -> str | None:
    """The `tesseract` of the PATH, else the one where its installers put it."""
    folders = [str(Path(folder).expanduser()) for folder in PROGRAM_FOLDERS]
    return shutil.which("tesseract") or shutil.which("tesseract", path=os.pathsep.join(folders))


def find_tessdata() -> Path | None:
    """The folder of the language's data: TESSDATA_PREFIX's, the installed program's, or a usual one."""
    prefix = os.environ.get("TESSDATA_PREFIX")
    folders = [Path(prefix), Path(prefix) / "tessdata"] if prefix else []
    program = find_program()
    if program is not None:
        home = Path(program).resolve().parent
        folders += [home / "tessdata", home.parent / "share" / "tessdata"]
    for folder in (*folders, *map(Path, TESSDATA_FOLDERS)):
        if (folder / f"{LANGUAGE}.traineddata").is_file():
            return folder
    return None


def _stacked(pictures: list[Picture]) -> Picture:
    width = max(picture.shape[1] for picture in pictures)
    return np.concatenate(
        [
            np.pad(picture, ((0, 0), (0, width - picture.shape[1])), constant_values=255)
            for picture in pictures
        ]
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
