"""scrcpy's wire protocol, server 3.3.4 (doc/develop.md there): the framed video stream, and touches. No I/O.

Forward tunnel: the first socket begins with one byte 0 and 64 bytes of device name. The video socket
goes on with codec id, width, height (u32 each), then packets: u64 of time and flags, u32 size, payload.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from greatwall.errors import DeviceError

VERSION = "3.3.4"
NAME_BYTES = 64
H264 = int.from_bytes(b"h264")
CONFIG_FLAG = 1 << 63
KEY_FLAG = 1 << 62
MOST_PAYLOAD = 32 * 1024 * 1024  # bytes; a raw 4K picture has 33 MB, a coded one a hundredth
MOST_SIDE = 16_384  # px

DOWN, UP, MOVE = 0, 1, 2
PRIMARY = 1  # the button that a finger presses
RESET_VIDEO = b"\x11"  # begin the stream again with a whole picture
NO_KEY = struct.pack(">BBiii", 0, 0, 0, 0, 0)  # the key that means nothing goes down: to try whether keys may

_HEADER = struct.Struct(">III")
_PACKET = struct.Struct(">QI")
_TOUCH = struct.Struct(">BBQiiHHHII")
_TOUCH_TYPE = 2


class StreamError(DeviceError):
    """Bytes that are not what the protocol promises: from there on nothing can be made of the stream."""


class Opening(NamedTuple):
    """What a stream says of itself; `size` is px, width and height."""

    device_name: str
    size: tuple[int, int]


class Packet(NamedTuple):
    """One packet. A config packet holds no picture and no time: it belongs before the next one."""

    pts_us: int
    is_config: bool
    is_key: bool
    payload: bytes


class FramedParser:
    """Bytes, cut anywhere, to packets. One thread. After a `StreamError` it gives nothing but that error."""

    def __init__(self) -> None:
        self.opening: Opening | None = None
        self._data = bytearray()
        self._error: StreamError | None = None

    def feed(self, data: bytes | bytearray | memoryview) -> list[Packet]:
        """The packets that are whole now, in order."""
        if self._error is not None:
            raise self._error
        self._data += data
        try:
            if self.opening is None and not self._open():
                return []
            return self._packets()
        except StreamError as error:
            self._error = error
            self._data.clear()
            raise

    def _open(self) -> bool:
        data = self._data
        if data and data[0] != 0:
            raise _unexpected("a first byte 0", data[0])
        whole = 1 + NAME_BYTES + _HEADER.size
        if len(data) < whole:
            return False
        codec, width, height = _HEADER.unpack_from(data, 1 + NAME_BYTES)
        if codec != H264:
            raise _unexpected("H.264", f"codec {codec:#x}")
        check_size(width, height)
        self.opening = Opening(device_name(data[1 : 1 + NAME_BYTES]), (width, height))
        del data[:whole]
        return True

    def _packets(self) -> list[Packet]:
        found = []
        data = self._data
        at = 0
        while len(data) - at >= _PACKET.size:
            flags, size = _PACKET.unpack_from(data, at)
            if not 0 < size <= MOST_PAYLOAD:
                raise _unexpected(f"a packet of 1 to {MOST_PAYLOAD:,} bytes", f"{size:,}")
            end = at + _PACKET.size + size
            if end > len(data):
                break
            is_config = bool(flags & CONFIG_FLAG)
            is_key = bool(flags & KEY_FLAG) and not is_config
            payload = bytes(data[at + _PACKET.size : end])
            if not payload.startswith((b"\x00\x00\x01", b"\x00\x00\x00\x01")):
                raise _unexpected("H.264 with start codes", payload[:4].hex())
            found.append(Packet(flags & (KEY_FLAG - 1), is_config, is_key, payload))
            at = end
        del data[:at]
        return found


def device_name(field: bytes | bytearray) -> str:
    """The name in its field of 64 bytes."""
    return bytes(field).split(b"\x00", 1)[0].decode("utf-8", "replace")


def check_size(width: int, height: int) -> None:
    """`StreamError` for a picture that no phone shows."""
    if not (16 <= width <= MOST_SIDE and 16 <= height <= MOST_SIDE):
        raise _unexpected(f"sides of 16 to {MOST_SIDE:,} px", f"{width}x{height}")


def _unexpected(expected: str, found: object) -> StreamError:
    return StreamError(
        f"scrcpy's stream: expected {expected}, found {found}; use --capture screenrecord if it happens again"
    )


def touch_message(
    action: int,
    pointer_id: int,
    point: tuple[int, int],
    size: tuple[int, int],
    button: int = 0,
    buttons: int = 0,
) -> bytes:
    """One event of one finger, 32 bytes: `point` in px of a picture of `size`.

    The server drops those whose size is not its video's of that moment. Buttons are a mouse's.
    """
    pressure = 0 if action == UP else 0xFFFF
    return _TOUCH.pack(_TOUCH_TYPE, action, pointer_id, *point, *size, pressure, button, buttons)
