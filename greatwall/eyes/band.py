"""The strip of the frame the detector looks at, and the small picture it is shrunk to.

Training and running go through the same code, so that the detector is asked about what it was taught.
"""

from __future__ import annotations

import cv2
import numpy as np

from config import GameProfile
from greatwall.contracts import FrameArray

PAD = 114  # grey of the border where the strip has another shape than the picture; YOLO's own


class Band:
    """Between a frame of one size and the detector's input (width, height).

    The strip is shrunk to fit, keeping its shape, into the input's upper left; the rest is grey.
    """

    def __init__(
        self, profile: GameProfile, frame_size: tuple[int, int], input_size: tuple[int, int]
    ) -> None:
        width, height = frame_size
        scale_y = height / profile.frame_size[1]
        self.frame_size = frame_size
        self.y1 = round(profile.play_band[0] * scale_y)
        self.y2 = round(profile.play_band[1] * scale_y)
        self.input_size = input_size
        self.scale = min(input_size[0] / width, input_size[1] / (self.y2 - self.y1))  # input px a frame px
        self._inner = (round(width * self.scale), round((self.y2 - self.y1) * self.scale))

    def picture(self, bgr: FrameArray) -> FrameArray:
        """The strip as uint8 (input height, input width, 3), BGR."""
        inner = cv2.resize(bgr[self.y1 : self.y2], self._inner, interpolation=cv2.INTER_AREA)
        if self._inner == self.input_size:
            return inner  # type: ignore[return-value]
        picture = np.full((self.input_size[1], self.input_size[0], 3), PAD, np.uint8)
        picture[: self._inner[1], : self._inner[0]] = inner
        return picture
