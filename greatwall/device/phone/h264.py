"""H.264 to pictures: a decoder that holds nothing back, and the cutting of a bare stream into pictures.

One thread each. A decoder must see every picture, a screen need not: only the picture that somebody looks
at is converted to BGR, which costs a fifth of decoding it.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

import av
import numpy as np
from av.codec.context import Flags

from greatwall.contracts import FrameArray
from greatwall.device.phone.scrcpy import MOST_PAYLOAD, StreamError

logging.getLogger("libav.h264").setLevel(logging.CRITICAL)  # broken pictures are counted and told of here

_SLICE, _IDR, _SEI, _SPS, _PPS, _DELIMITER = 1, 5, 6, 7, 8, 9
_OPENS_A_PICTURE = frozenset((_SEI, _SPS, _PPS, _DELIMITER))  # whatever comes of these after a picture
_START = b"\x00\x00\x01"
TIME_BASE_HZ = 1_000_000


class DecodedPicture(NamedTuple):
    """A `FrameSource`: one decoded picture, converted when looked at, which `Frame` lets one thread do."""

    image: av.VideoFrame
    captured_at_s: float

    @property
    def size(self) -> tuple[int, int]:
        return self.image.width, self.image.height

    def draw(self) -> FrameArray:
        return np.asarray(self.image.to_ndarray(format="bgr24"), np.uint8)

    def scene(self) -> None:
        return None


class H264Decoder:
    """Coded pictures in, pictures out at once: no threads, no reordering, no hiding of errors.

    After a broken picture nothing comes until the next whole one: what is built upon it would be invented.
    `broken` counts what was left out.
    """

    def __init__(self) -> None:
        self.broken = 0
        self._config = b""
        self.forget()

    def forget(self) -> None:
        """Begin anew with the next whole picture."""
        decoder = av.CodecContext.create("h264", "r")
        decoder.thread_type = "SLICE"  # frame threads hold back a picture each
        decoder.thread_count = 1
        decoder.flags |= Flags.low_delay
        decoder.options = {"err_detect": "explode"}
        self._decoder = decoder
        self.waits_for_key = True

    def configure(self, payload: bytes) -> None:
        """Parameter sets, which belong before the next picture."""
        self._config = payload

    def decode(self, payload: bytes, captured_at_s: float, is_key: bool) -> list[DecodedPicture]:
        """What is to be seen now; nothing for a broken picture and those after it."""
        if self.waits_for_key and not is_key:
            self.broken += 1
            return []
        packet = av.Packet(self._config + payload if self._config else payload)
        self._config = b""
        packet.pts = round(captured_at_s * TIME_BASE_HZ)
        try:
            images = self._decoder.decode(packet)
        except av.FFmpegError:
            images = None
        if images is None or any(image.is_corrupt for image in images):
            self.broken += 1
            self.forget()
            return []
        self.waits_for_key = False
        return [DecodedPicture(image, (image.pts or 0) / TIME_BASE_HZ) for image in images]


class CodedPicture(NamedTuple):
    """All that belongs to one picture of a bare stream, with the time at which its first byte was there."""

    payload: bytes
    is_key: bool
    arrived_at_s: float


class AnnexBCutter:
    """A bare H.264 stream, cut anywhere, to pictures. No I/O.

    Where a unit ends is known only when the next begins, a picture later. So `flush` is for when the stream
    has been quiet: what is there is taken as whole. `torn` is set when it was not.
    """

    def __init__(self) -> None:
        self.torn = False
        self._data = bytearray()
        self._scanned = 0
        self._units: list[tuple[int, int]] = []  # (start, kind) of each unit in `_data`
        self._arrived_at_s = 0.0
        self._flushed = False

    def feed(self, data: bytes | bytearray | memoryview, at_s: float) -> list[CodedPicture]:
        """The pictures that are known to be whole. `StreamError` for what is no such stream."""
        if not self._data:
            self._arrived_at_s = at_s
        self._data += data
        if self._flushed or not self._units:
            if len(self._data) < len(_START) + 1:
                return []
            if not self._data.startswith((_START, b"\x00" + _START)):
                if not self._flushed:
                    raise StreamError(
                        f"screenrecord: expected H.264 with start codes, found {bytes(self._data[:48])!r}; "
                        "use another --capture"
                    )
                self.torn = True
            self._flushed = False
        if len(self._data) > MOST_PAYLOAD:
            raise StreamError(
                f"screenrecord: expected pictures of at most {MOST_PAYLOAD:,} bytes, found more; "
                "use another --capture"
            )
        found = []
        while (cut := self._boundary()) is not None:
            found.append(self._take(cut))
            self._arrived_at_s = at_s
        return found

    def flush(self) -> list[CodedPicture]:
        """Everything that is there, when a picture is among it."""
        if not any(_has_picture(kind) for _, kind in self._units):
            return []
        self._flushed = True
        return [self._take(len(self._data))]

    def _boundary(self) -> int | None:
        """Where a second picture begins in the data, if it does. Each byte is looked at once."""
        data = self._data
        while True:
            at = data.find(_START, self._scanned)
            # the byte after the kind tells the first slice of a picture from its others
            if at < 0 or at + len(_START) + 1 >= len(data):
                self._scanned = max(self._scanned, len(data) - len(_START)) if at < 0 else at
                return None
            start = at - 1 if at and data[at - 1] == 0 else at
            kind = data[at + len(_START)] & 31
            first_slice = kind in (_SLICE, _IDR) and data[at + len(_START) + 1] & 0x80 != 0
            opens = kind in _OPENS_A_PICTURE or first_slice
            self._scanned = at + len(_START)
            had_picture = any(_has_picture(one) for _, one in self._units)
            if opens and had_picture:
                self._scanned = at
                return start
            self._units.append((start, kind))

    def _take(self, end: int) -> CodedPicture:
        payload = bytes(self._data[:end])
        is_key = any(kind == _IDR for _, kind in self._units)
        del self._data[:end]
        self._scanned = 0
        self._units = []
        return CodedPicture(payload, is_key, self._arrived_at_s)


def _has_picture(kind: int) -> bool:
    return kind in (_SLICE, _IDR)
