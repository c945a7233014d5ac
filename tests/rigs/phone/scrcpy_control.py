"""scrcpy 3.3.4's control messages, from the host to the phone, after its doc/develop.md. Pure parsing."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable
from typing import NamedTuple

KEYCODE, TEXT, TOUCH, SCROLL, BACK_OR_SCREEN_ON = 0, 1, 2, 3, 4
GET_CLIPBOARD, SET_CLIPBOARD, SET_DISPLAY_POWER, ROTATE_DEVICE = 8, 9, 10, 11
UHID_CREATE, UHID_INPUT, UHID_DESTROY, START_APP, RESET_VIDEO = 12, 13, 14, 16, 17
DOWN, UP, MOVE = 0, 1, 2

_TOUCH = struct.Struct(">BQiiHHHII")
_KEYCODE = struct.Struct(">BIII")
# Bytes after the type of the messages whose length never varies.
_FIXED = {KEYCODE: 13, TOUCH: 31, SCROLL: 20, BACK_OR_SCREEN_ON: 1, 5: 0, 6: 0, 7: 0, GET_CLIPBOARD: 1,
          SET_DISPLAY_POWER: 1, ROTATE_DEVICE: 0, UHID_DESTROY: 2, 15: 0, RESET_VIDEO: 0}  # fmt: skip
# Type -> fixed bytes before the length, and the length's own size.
_VARIABLE = {TEXT: (0, 4), SET_CLIPBOARD: (9, 4), UHID_INPUT: (2, 2), START_APP: (0, 1)}

Read = Callable[[int], Awaitable[bytes]]


class ControlError(Exception):
    """What came is no control message; the real server stops at it."""


class Touch(NamedTuple):
    """One touch event. `size` is the video size that the host believes in; pressure 0 to 1."""

    action: int
    pointer: int
    x: int
    y: int
    size: tuple[int, int]
    pressure: float
    action_button: int
    buttons: int


class Key(NamedTuple):
    """A key event; `action` is 0 down, 1 up."""

    action: int
    code: int


class Other(NamedTuple):
    """Any other message: its type and body."""

    kind: int
    body: bytes


Message = Touch | Key | Other


async def read_message(read: Read) -> Message:
    """The next message, its bytes asked for one piece after the other; ControlError for an unknown type."""
    kind = (await read(1))[0]
    if kind in _FIXED:
        size = _FIXED[kind]
        return parse_body(kind, await read(size) if size else b"")
    if kind in _VARIABLE:
        before, length_size = _VARIABLE[kind]
        head = await read(before + length_size)
        length = int.from_bytes(head[before:], "big")
        return Other(kind, head + (await read(length) if length else b""))
    raise ControlError(f"unknown event type: {kind}")


def parse_body(kind: int, body: bytes) -> Message:
    """A message of fixed length from what follows its type."""
    if kind == TOUCH:
        action, pointer, x, y, width, height, pressure, button, buttons = _TOUCH.unpack(body)
        return Touch(action, pointer, x, y, (width, height), pressure / 0xFFFF, button, buttons)
    if kind == KEYCODE:
        action, code, _, _ = _KEYCODE.unpack(body)
        return Key(action, code)
    return Other(kind, body)
