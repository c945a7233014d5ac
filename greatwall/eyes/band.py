"""The strip of the frame the detector looks at, and the small picture it is shrunk to.

Training and running go through the same code, so that the detector is asked about what it was taught.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from config import GameProfile
from greatwall.contracts import FrameArray


class Band:
    """Between a frame of one size and the detector's input (width, height).

    The strip fills the input: width and height are scaled separately, as all coordinates are, so a
    game shows the detector the same picture at every frame size.
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
        self.scale_x = input_size[0] / width  # input px a frame px
        self.scale_y = input_size[1] / (self.y2 - self.y1)

    def picture(self, bgr: FrameArray) -> FrameArray:
        """The strip as uint8 (input height, input width, 3), BGR."""
        small = cv2.resize(bgr[self.y1 : self.y2], self.input_size, interpolation=cv2.INTER_AREA)
        return np.asarray(small, np.uint8)

    def to_frame(self, boxes_xyxy: NDArray[np.float32]) -> NDArray[np.float32]:
        """Boxes (N, 4) of the picture in px of the frame, cut to the frame; changed in place."""
        boxes_xyxy[:, 0::2] /= self.scale_x
        boxes_xyxy[:, 1::2] /= self.scale_y
        boxes_xyxy[:, 1::2] += self.y1
        boxes_xyxy[:, 0::2] = boxes_xyxy[:, 0::2].clip(0, self.frame_size[0])
        boxes_xyxy[:, 1::2] = boxes_xyxy[:, 1::2].clip(0, self.frame_size[1])
        return boxes_xyxy

    def shares(self, box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        """x1, y1, x2, y2 px of the frame -> centre x, y, width, height as shares of the picture (YOLO)."""
        x1, y1, x2, y2 = box
        across, down = self.frame_size[0], self.y2 - self.y1
        return (
            (x1 + x2) / 2 / across,
            ((y1 + y2) / 2 - self.y1) / down,
            (x2 - x1) / across,
            (y2 - y1) / down,
        )
