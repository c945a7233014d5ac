"""Pictures beside the game: another app, a pop-up before it, the dark screen; all in px of 1920x1080."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from greatwall.contracts import FrameArray
from tests.rigs.phone.apps import POPUP_BUTTON

LANDSCAPE = (1920, 1080)


@lru_cache(maxsize=8)
def app_picture(package: str) -> FrameArray:
    """An app that is not the game: a title and a list, like any settings page."""
    frame = np.full((1080, 1920, 3), 244, np.uint8)
    cv2.rectangle(frame, (0, 0), (1920, 140), (200, 120, 40), -1)
    cv2.putText(frame, package, (60, 92), cv2.FONT_HERSHEY_SIMPLEX, 1.8, (255, 255, 255), 4, cv2.LINE_AA)
    for number in range(8):
        y = 200 + 104 * number
        cv2.circle(frame, (110, y + 40), 32, (180 - 15 * number, 120, 90 + 18 * number), -1, cv2.LINE_AA)
        cv2.rectangle(frame, (190, y + 18), (520 + 97 * number % 700, y + 42), (90, 90, 90), -1)
        cv2.line(frame, (0, y + 92), (1920, y + 92), (222, 222, 222), 2)
    return frame


def with_popup(frame: FrameArray, package: str) -> FrameArray:
    """The frame darkened, with a dialog and its one button."""
    shown = np.asarray(cv2.convertScaleAbs(frame, alpha=0.45), np.uint8)
    cv2.rectangle(shown, (520, 330), (1400, 780), (250, 250, 250), -1)
    font = cv2.FONT_HERSHEY_SIMPLEX
    cv2.putText(shown, package, (570, 430), font, 1.2, (40, 40, 40), 3, cv2.LINE_AA)
    cv2.putText(shown, "needs a moment", (570, 520), font, 1.2, (90, 90, 90), 2, cv2.LINE_AA)
    left, top, right, bottom = POPUP_BUTTON
    cv2.rectangle(shown, (left, top), (right, bottom), (200, 120, 40), -1)
    at = (left + 110, bottom - 34)
    cv2.putText(shown, "OK", at, font, 1.5, (255, 255, 255), 4, cv2.LINE_AA)
    return shown


@lru_cache(maxsize=1)
def dark() -> FrameArray:
    """A screen that is off."""
    return np.zeros((1080, 1920, 3), np.uint8)


def upright(frame: FrameArray) -> FrameArray:
    """What a phone held upright shows of a game drawn sideways: a band in the middle, (1920, 1080, 3)."""
    shown = np.zeros((1920, 1080, 3), np.uint8)
    height = 1080 * 1080 // 1920
    top = (1920 - height) // 2
    shown[top : top + height] = cv2.resize(frame, (1080, height), interpolation=cv2.INTER_LINEAR)
    return shown
