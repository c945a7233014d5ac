"""A frame through JPEG or an H.264 stream and back, with the artefacts a phone's screen arrives with.

A codec belongs to one device and is called by one thread at a time. Equal pictures in equal order give
equal pixels: the stream is coded and decoded by one thread each.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, Protocol

import cv2
import numpy as np

from config import TICK_HZ
from greatwall.contracts import FrameArray
from greatwall.errors import ConfigError

JPEG_QUALITY = 60
BITS_PER_PIXEL = 0.1  # 6 Mbit/s at 1920x1080 and 30 frames/s, as phones' screens are sent
KEY_FRAME_EVERY = 10 * TICK_HZ  # scrcpy's interval between whole pictures
EVEN = 2  # H.264 with halved colour needs sides that are multiples of this


class Compression(Protocol):
    """What stands between the screen and the eyes."""

    def pass_through(self, bgr: FrameArray) -> FrameArray:
        """The picture as it arrives: uint8 BGR of the same size."""

    def restart(self) -> None:
        """Begin anew, as a stream that has just been opened."""


class NoCompression:
    """Pictures arrive as they are."""

    def pass_through(self, bgr: FrameArray) -> FrameArray:
        return bgr

    def restart(self) -> None:
        """Nothing is kept."""


class JpegCompression:
    """Each picture on its own, as screenshots over a slow line."""

    def pass_through(self, bgr: FrameArray) -> FrameArray:
        done, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
        assert done
        picture = cv2.imdecode(data, cv2.IMREAD_COLOR)
        assert picture is not None
        return np.asarray(picture, np.uint8)

    def restart(self) -> None:
        """Nothing is kept."""


class H264Compression:
    """One stream of inter frames at a modest bitrate: no B frames, no look-ahead, no delay.

    Only pictures that somebody looks at are coded, in the order they are looked at, each as the next of
    30 in a second: where fewer are looked at, more moves between two than on a phone, never less.
    """

    def __init__(self) -> None:
        self._stream: _Stream | None = None

    def pass_through(self, bgr: FrameArray) -> FrameArray:
        size = (bgr.shape[1], bgr.shape[0])
        if self._stream is None or self._stream.size != size:
            self._stream = _Stream(size)
        return self._stream.pass_through(bgr)

    def restart(self) -> None:
        self._stream = None


class _Stream:
    """An encoder and the decoder that reads it."""

    def __init__(self, size: tuple[int, int]) -> None:
        import av

        width, height = size
        self.size = size
        self._padded = (height + height % EVEN, width + width % EVEN)
        try:
            encoder = av.CodecContext.create("libx264", "w")
        except av.codec.codec.UnknownCodecError as error:
            raise ConfigError(
                "--compress h264: expected PyAV with the encoder libx264, found one without; "
                "pip install av, or use --compress jpeg"
            ) from error
        encoder.width, encoder.height = self._padded[1], self._padded[0]
        encoder.pix_fmt = "yuv420p"
        encoder.time_base = Fraction(1, TICK_HZ)
        encoder.framerate = Fraction(TICK_HZ, 1)
        encoder.bit_rate = round(BITS_PER_PIXEL * width * height * TICK_HZ)
        encoder.gop_size = KEY_FRAME_EVERY
        encoder.max_b_frames = 0
        encoder.thread_count = 1
        encoder.options = {
            "preset": "ultrafast",
            "tune": "zerolatency",
            "x264-params": "threads=1:sliced-threads=0:scenecut=0",
        }
        self._encoder = encoder
        decoder = av.CodecContext.create("h264", "r")
        decoder.thread_count = 1
        self._decoder = decoder
        self._frame_of = av.VideoFrame.from_ndarray
        self._count = 0

    def pass_through(self, bgr: FrameArray) -> FrameArray:
        rows, columns = self._padded
        height, width = bgr.shape[:2]
        if (rows, columns) != (height, width):
            bgr = np.pad(bgr, ((0, rows - height), (0, columns - width), (0, 0)), mode="edge")
        i420 = np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420), np.uint8)
        frame = self._frame_of(i420, format="yuv420p")
        frame.pts = self._count
        self._count += 1
        frame.time_base = self._encoder.time_base
        pictures = [
            picture for packet in self._encoder.encode(frame) for picture in self._decoder.decode(packet)
        ]
        assert len(pictures) == 1, "low latency: every picture comes out at once"
        arrived = np.asarray(pictures[0].to_ndarray(), np.uint8)
        return np.asarray(cv2.cvtColor(arrived, cv2.COLOR_YUV2BGR_I420)[:height, :width], np.uint8)


def compression_named(name: Literal["none", "jpeg", "h264"]) -> Compression:
    """A codec of its own for one device."""
    kinds: dict[str, type[Compression]] = {
        "none": NoCompression,
        "jpeg": JpegCompression,
        "h264": H264Compression,
    }
    return kinds[name]()
