"""The time of a frame, drawn along its upper edge: what was seen tells when it was drawn.

40 cells of 16 px in the px of 1920x1080, clear of the HUD, the play band and the scanned ground row:
marker 1010, 28 bits of milliseconds, 8 bits of check sum. Big cells survive scaling and H.264.
"""

from __future__ import annotations

import zlib

import numpy as np

from greatwall.contracts import FrameArray

CELL = 16  # px, width and height
LEFT = 880  # px
MARKER = (1, 0, 1, 0)
TIME_BITS, CHECK_BITS = 28, 8
CELLS = len(MARKER) + TIME_BITS + CHECK_BITS
WRAP_S = 2**TIME_BITS / 1000  # it begins anew after three days
DESIGN_WIDTH, DESIGN_HEIGHT = 1920, 1080


def paint(frame_bgr: FrameArray, at_s: float) -> None:
    """Draw `at_s` (monotonic, s) on a 1920x1080 frame, in place."""
    bits = np.array(_bits(round(at_s * 1000) % 2**TIME_BITS), np.uint8)
    row = np.repeat(bits * 255, CELL)
    frame_bgr[:CELL, LEFT : LEFT + CELL * CELLS] = row[None, :, None]


def read(frame_bgr: FrameArray) -> float | None:
    """The time on a frame of any size, s within `WRAP_S`; None when there is none or it is damaged."""
    height, width = frame_bgr.shape[:2]
    across, down = width / DESIGN_WIDTH, height / DESIGN_HEIGHT
    columns = [int((LEFT + CELL * (number + 0.5)) * across) for number in range(CELLS)]
    rows = slice(int(CELL * 0.3 * down), max(int(CELL * 0.3 * down) + 1, int(CELL * 0.7 * down)))
    cells = frame_bgr[rows, columns].reshape(-1, CELLS, 3).mean(axis=(0, 2))
    bits = tuple(int(cell > 127) for cell in cells)
    value = int("".join(map(str, bits[len(MARKER) : len(MARKER) + TIME_BITS])), 2)
    return value / 1000 if bits == _bits(value) else None


def age_s(frame_bgr: FrameArray, now_s: float) -> float | None:
    """How long before `now_s` (monotonic) the frame was drawn; None without a readable code."""
    drawn_s = read(frame_bgr)
    return None if drawn_s is None else (now_s - drawn_s + WRAP_S / 2) % WRAP_S - WRAP_S / 2


def _bits(value: int) -> tuple[int, ...]:
    check = zlib.crc32(value.to_bytes(4, "big")) & (2**CHECK_BITS - 1)
    text = f"{value:0{TIME_BITS}b}{check:0{CHECK_BITS}b}"
    return MARKER + tuple(map(int, text))
