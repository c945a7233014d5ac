"""What training frames go through, so that the detector does not learn one screen by heart.

`TrainingScreens` gives each run a look, a size and a compression; `Wear` changes single pictures as cameras,
screens and streams do. Sizes and looks that scores are published for are never among them.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from config import ScreenConfig
from greatwall.contracts import FrameArray

SCREENS_STREAM = 14  # purpose tags of the generators
WEAR_STREAM = 15
STANDARD_SHARE = 0.3  # of the runs
SIZES = ((1920, 1080), (1920, 1080), (1440, 810), (1366, 768), (960, 540), (2160, 1080))
COMPRESSIONS = ("none", "none", "jpeg", "h264")
WORN_SHARE = 0.7  # of the pictures
VEILED_SHARE = 0.35  # of the worn ones: mist, dust, dusk of any colour
SPECKLED_SHARE = 0.35  # something of any colour falls or drifts
SPECKS_MAX = 120


class TrainingScreens:
    """Number of a run -> its screen; the looks are train:0 to train:`looks` - 1."""

    def __init__(self, seed: int, looks: int) -> None:
        self._seed = seed
        self._looks = looks

    def __call__(self, run: int) -> ScreenConfig:
        rng = np.random.default_rng([SCREENS_STREAM, self._seed, run])
        standard = rng.random() < STANDARD_SHARE
        look = "standard" if standard else f"train:{int(rng.integers(self._looks))}"
        size = SIZES[int(rng.integers(len(SIZES)))]
        compress = COMPRESSIONS[int(rng.integers(len(COMPRESSIONS)))]
        return ScreenConfig(look, size, compress)  # type: ignore[arg-type]


class Wear:
    """Seeded changes of colour, contrast, sharpness and noise; boxes stay where they are."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([WEAR_STREAM, seed])

    def worn(self, picture: FrameArray) -> FrameArray:
        """The picture, uint8 BGR, itself or changed."""
        rng = self._rng
        if rng.random() >= WORN_SHARE:
            return picture
        worn: NDArray[np.floating[Any]] = picture.astype(np.float32)
        gains = rng.uniform(0.7, 1.25) * rng.uniform(0.65, 1.25, 3)  # light and its colour
        middle = float(rng.uniform(80, 150))
        worn = (worn - middle) * gains * rng.uniform(0.45, 1.25) + middle + rng.uniform(-45, 35)
        if rng.random() < VEILED_SHARE:
            worn = self._veiled(worn)
        if rng.random() < SPECKLED_SHARE:
            worn = self._speckled(worn)
        if rng.random() < 0.4:
            worn += rng.normal(0.0, rng.uniform(1, 8), worn.shape)
        changed = worn.clip(0, 255).astype(np.uint8)
        if rng.random() < 0.3:
            changed = np.asarray(cv2.GaussianBlur(changed, (0, 0), float(rng.uniform(0.3, 0.8))), np.uint8)
        if rng.random() < 0.3:
            _, code = cv2.imencode(".jpg", changed, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(40, 90))])
            changed = np.asarray(cv2.imdecode(code, cv2.IMREAD_COLOR), np.uint8)
        return changed

    def _veiled(self, picture: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """Behind a veil of one colour whose thickness changes from top to bottom."""
        rng = self._rng
        color = rng.uniform(10, 230, 3)
        thick = np.linspace(rng.uniform(0.0, 0.6), rng.uniform(0.0, 0.6), len(picture))[:, None, None]
        return picture * (1 - thick) + color * thick

    def _speckled(self, picture: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """With dots and streaks of one colour over it, all slanting alike."""
        rng = self._rng
        height, width = picture.shape[:2]
        color = tuple(float(one) for one in rng.uniform(0, 255, 3))
        slant, length = float(rng.uniform(-1.0, 1.0)), float(rng.uniform(0, 14))
        over = np.ascontiguousarray(picture, np.float32)
        for _ in range(int(rng.integers(10, SPECKS_MAX))):
            x, y = float(rng.uniform(0, width)), float(rng.uniform(0, height))
            end = (round(x + slant * length), round(y + length))
            cv2.line(over, (round(x), round(y)), end, color, int(rng.integers(1, 3)), cv2.LINE_AA)
        seen = float(rng.uniform(0.3, 1.0))
        return over * seen + picture * (1 - seen)
