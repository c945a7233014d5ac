"""adb's packets as the wire has them (AOSP packages/modules/adb, protocol.txt). Pure, no I/O."""

from __future__ import annotations

import struct
from typing import NamedTuple

CNXN = 0x4E584E43
AUTH = 0x48545541
OPEN = 0x4E45504F
OKAY = 0x59414B4F
WRTE = 0x45545257
CLSE = 0x45534C43
STLS = 0x534C5453

AUTH_TOKEN, AUTH_SIGNATURE, AUTH_PUBLIC_KEY = 1, 2, 3
VERSION = 0x01000001  # from this version on checksums are not looked at
MAX_PAYLOAD = 1024 * 1024
HEADER = struct.Struct("<6I")
NAMES = {CNXN: "CNXN", AUTH: "AUTH", OPEN: "OPEN", OKAY: "OKAY", WRTE: "WRTE", CLSE: "CLSE", STLS: "STLS"}


class WireError(Exception):
    """What came is no adb packet."""


class Head(NamedTuple):
    """A packet's header: the command, its two arguments, the payload's length."""

    command: int
    arg0: int
    arg1: int
    length: int


def parse_head(data: bytes) -> Head:
    """The header in 24 bytes; WireError when they are none."""
    command, arg0, arg1, length, _, magic = HEADER.unpack(data)
    if magic != command ^ 0xFFFFFFFF or command not in NAMES:
        raise WireError(f"expected an adb header, found {data.hex()}")
    if length > MAX_PAYLOAD:
        raise WireError(f"expected a payload of at most {MAX_PAYLOAD} bytes, found one of {length}")
    return Head(command, arg0, arg1, length)


def packet(command: int, arg0: int, arg1: int, payload: bytes = b"", *, checked: bool = False) -> bytes:
    """A whole packet; `checked` adds the checksum that versions before `VERSION` want."""
    total = sum(payload) & 0xFFFFFFFF if checked else 0
    head = HEADER.pack(command, arg0, arg1, len(payload), total, command ^ 0xFFFFFFFF)
    return head + payload
