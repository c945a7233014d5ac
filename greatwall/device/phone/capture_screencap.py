"""The screen by one screenshot after the other: raw pixels, or PNG. Slow, and works on every phone.

A thread takes them, one at a time. A frame counts as captured when it was asked for: its real moment lies
between that and its arrival, so that ages are upper bounds.
"""

from __future__ import annotations

import logging
import struct
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import cv2
import numpy as np

from config import PhoneConfig
from greatwall.contracts import FrameArray
from greatwall.device.phone.captures import JOIN_S, Capture, Size
from greatwall.device.phone.link import AdbLink
from greatwall.errors import DeviceError, DeviceLost

LOG = logging.getLogger("greatwall.phone")
SHOT_S = 8.0  # a phone may take 2 s for a PNG of a large screen
FAILURES = 3  # in a row: the capture is over
GIVE_UP_S = 6.0  # so is it after this long without one
PIXEL_BYTES = 4
RGBA_8888, RGBX_8888 = 1, 2  # Android's PixelFormat
HEADERS = (12, 16)  # bytes; Android 8 added the colour space
PNG_START, PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"
SMALLEST = 16  # px


class Picture(Protocol):
    """A `FrameSource` that knows its size."""

    @property
    def size(self) -> Size: ...

    def draw(self) -> FrameArray: ...

    def scene(self) -> None: ...


class RawPicture(NamedTuple):
    """A screenshot's RGBA pixels, uint8 (H, W, 4)."""

    rgba: FrameArray

    @property
    def size(self) -> Size:
        return self.rgba.shape[1], self.rgba.shape[0]

    def draw(self) -> FrameArray:
        return np.asarray(cv2.cvtColor(self.rgba, cv2.COLOR_RGBA2BGR), np.uint8)

    def scene(self) -> None:
        return None


class WholePicture(NamedTuple):
    """Decoded already: whether a PNG is whole shows only in decoding it."""

    bgr: FrameArray

    @property
    def size(self) -> Size:
        return self.bgr.shape[1], self.bgr.shape[0]

    def draw(self) -> FrameArray:
        return self.bgr

    def scene(self) -> None:
        return None


def raw_picture(data: bytearray) -> RawPicture:
    """What `screencap` writes: a header whose length follows from the rest, and RGBA; else `DeviceError`."""
    if len(data) < HEADERS[0]:
        raise _bad("a header of 12 or 16 bytes", f"{len(data)} bytes")
    width, height, kind = struct.unpack_from("<III", data)
    if not (SMALLEST <= width <= 16_384 and SMALLEST <= height <= 16_384):
        raise _bad("a picture's header", repr(bytes(data[:48])))
    header = len(data) - width * height * PIXEL_BYTES
    if header not in HEADERS:
        raise _bad(f"{width * height * PIXEL_BYTES:,} bytes of a {width}x{height} picture and its header",
                   f"{len(data):,}: it was cut short or is something else")  # fmt: skip
    if kind not in (RGBA_8888, RGBX_8888):
        raise DeviceError(
            f"screencap: expected pixels in format 1 or 2 (RGBA), found {kind}; use --capture png"
        )
    return RawPicture(np.frombuffer(data, np.uint8, offset=header).reshape(height, width, PIXEL_BYTES))


def png_picture(data: bytearray) -> WholePicture:
    """What `screencap -p` writes. `DeviceError` for anything but a whole PNG."""
    if not data.startswith(PNG_START):
        raise _bad("a PNG", repr(bytes(data[:48])))
    if not data.endswith(PNG_END):
        raise _bad("a whole PNG", f"{len(data):,} bytes without its end: it was cut short")
    bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if bgr is None:
        raise _bad("a PNG that can be decoded", f"{len(data):,} bytes that cannot")
    return WholePicture(np.asarray(bgr, np.uint8))


def _bad(expected: str, found: str) -> DeviceError:
    return DeviceError(f"screencap: expected {expected}, found {found}; see whether the phone is awake")


class ScreencapCapture(Capture):
    """By screenshots of one kind."""

    hint = "see whether the phone is awake"

    def __init__(
        self,
        link: AdbLink,
        config: PhoneConfig,
        name: str,
        command: tuple[str, ...],
        parse: Callable[[bytearray], Picture],
    ) -> None:
        super().__init__()
        self.name = name
        self._link, self._command, self._parse = link, command, parse
        self._period_s = 1.0 / config.max_fps
        self._failed = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._shoot, name="capture", daemon=True)

    def _begin(self) -> None:
        self._thread.start()

    def _shoot(self) -> None:
        """The thread: one after the other, as fast as they come but no faster than is wanted."""
        in_a_row = 0
        good_at_s = time.perf_counter()
        while not self._stop.is_set():
            asked_at_s = time.perf_counter()
            try:
                picture = self._parse(self._link.run(self._command, SHOT_S))
            except DeviceError as error:
                self._failed += 1
                in_a_row += 1
                silent = time.perf_counter() - good_at_s > GIVE_UP_S
                if isinstance(error, DeviceLost) or in_a_row >= FAILURES or silent:
                    self._newest.fail(str(error))
                    return
                LOG.warning("%s", error)
            else:
                in_a_row = 0
                good_at_s = time.perf_counter()
                self._show(picture, asked_at_s, picture.size)
            self._stop.wait(asked_at_s + self._period_s - time.perf_counter())

    def health(self) -> str:
        width, height = self.size
        failed = f", {self._failed} failed" if self._failed else ""
        return f"screencap ({self.name}) {width}x{height}, {self.frames} frames{failed}, {self._newest.age()}"

    def close(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)


def raw_capture(link: AdbLink, config: PhoneConfig) -> ScreencapCapture:
    """By raw screenshots."""
    return ScreencapCapture(link, config, "raw", ("screencap",), raw_picture)


def png_capture(link: AdbLink, config: PhoneConfig) -> ScreencapCapture:
    """By PNG screenshots."""
    return ScreencapCapture(link, config, "png", ("screencap", "-p"), png_picture)
