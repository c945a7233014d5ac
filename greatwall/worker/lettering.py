"""Text on pictures, Chinese and English, with the fonts that OpenCV 5 carries inside.

An older OpenCV has no Chinese font: the English half of each label is drawn then. Pure; any thread,
but one at a time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cv2

from greatwall.contracts import FrameArray

Color = tuple[int, int, int]  # BGR

HAS_CHINESE = hasattr(cv2, "FontFace")
REGULAR, BOLD = 400, 700  # weights
_EM_TO_HERSHEY = 1 / 30  # a Hershey font of scale 1 is about 30 px high


@lru_cache(maxsize=1)
def _font() -> Any:
    return cv2.FontFace("sans")


def label(chinese: str, english: str) -> str:
    """Both, where both can be drawn."""
    return f"{chinese} {english}" if HAS_CHINESE else english


def write(
    image: FrameArray, text: str, at: tuple[int, int], size_px: int, color: Color, weight: int = REGULAR
) -> int:
    """Draw `text` with its baseline starting at `at`; the x at which it ends. Too long is cut off."""
    if HAS_CHINESE:
        cv2.putText(image, text, at, color, _font(), size_px, weight, cv2.PUT_TEXT_ALIGN_LEFT, (0, 1 << 20))
    else:
        thick = 2 if weight >= BOLD else 1
        cv2.putText(
            image,
            ascii_of(text),
            at,
            cv2.FONT_HERSHEY_SIMPLEX,
            size_px * _EM_TO_HERSHEY,
            color,
            thick,
            cv2.LINE_AA,
        )
    return at[0] + width_px(text, size_px, weight)


def write_right(
    image: FrameArray, text: str, at: tuple[int, int], size_px: int, color: Color, weight: int = REGULAR
) -> None:
    """Draw `text` so that it ends at `at`."""
    write(image, text, (at[0] - width_px(text, size_px, weight), at[1]), size_px, color, weight)


@lru_cache(maxsize=4096)
def width_px(text: str, size_px: int, weight: int = REGULAR) -> int:
    """How wide `text` is."""
    if not HAS_CHINESE:
        scale = size_px * _EM_TO_HERSHEY
        (width, _), _ = cv2.getTextSize(
            ascii_of(text), cv2.FONT_HERSHEY_SIMPLEX, scale, 2 if weight >= BOLD else 1
        )
        return int(width)
    _, _, width, _ = cv2.getTextSize((4000, 200), text, (0, 100), _font(), size_px, weight)
    return int(width)


def ascii_of(text: str) -> str:
    """What an old OpenCV can draw of it."""
    return "".join(char for char in text if ord(char) < 128).strip()
