"""Our own letters and digits: bold strokes along the paths below, one shape in every OpenCV version.

Pure; any thread. A path lies in a unit square (x to the right, y down) that is stretched to the
glyph's width and height, less half a stroke on each side.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from greatwall.game.art.canvas import Color, Point, Sheet, Sprite

Path = list[Point]


def _arc(x: float, y: float, rx: float, ry: float, start: float, end: float) -> Path:
    """An elliptic arc from angle `start` to `end`, degrees clockwise from the right."""
    angles = np.radians(np.linspace(start, end, max(3, int(abs(end - start) / 7))))
    return [(x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles]


def _round(x1: float, y1: float, x2: float, y2: float, rx: float, ry: float) -> Path:
    """A closed box with round corners."""
    corners = (
        (x2 - rx, y1 + ry, -90),
        (x2 - rx, y2 - ry, 0),
        (x1 + rx, y2 - ry, 90),
        (x1 + rx, y1 + ry, 180),
    )
    path: Path = []
    for x, y, start in corners:
        path += _arc(x, y, rx, ry, start, start + 90)
    return [*path, path[0]]


_SIX: list[Path] = [
    [*_arc(0.82, 0.68, 0.82, 0.68, 262, 180), *_arc(0.5, 0.68, 0.5, 0.32, 180, 540)],
]
_NINE: list[Path] = [[(1 - x, 1 - y) for x, y in path] for path in _SIX]

# glyph -> (width as a share of its height, strokes)
GLYPHS: dict[str, tuple[float, list[Path]]] = {
    "0": (0.62, [_round(0, 0, 1, 1, 0.5, 0.36)]),
    "1": (0.62, [[(0.14, 0.22), (0.56, 0.0), (0.56, 1.0)]]),
    "2": (0.62, [[*_arc(0.5, 0.29, 0.48, 0.29, 188, 392), (0.0, 1.0), (1.0, 1.0)]]),
    "3": (
        0.62,
        [
            [*_arc(0.46, 0.25, 0.46, 0.25, 205, 450), *_arc(0.46, 0.745, 0.54, 0.255, -90, 155)],
            [(0.3, 0.5), (0.46, 0.5)],
        ],
    ),
    "4": (0.62, [[(0.74, 1.0), (0.74, 0.0), (0.0, 0.7), (1.0, 0.7)]]),
    "5": (0.62, [[(0.92, 0.0), (0.13, 0.0), (0.08, 0.44), *_arc(0.46, 0.69, 0.54, 0.31, -128, 150)]]),
    "6": (0.62, _SIX),
    "7": (0.62, [[(0.0, 0.0), (1.0, 0.0), (0.22, 1.0)]]),
    "8": (0.62, [[*_arc(0.5, 0.24, 0.42, 0.24, 90, 450)], [*_arc(0.5, 0.74, 0.5, 0.26, -90, 270)]]),
    "9": (0.62, _NINE),
    "A": (0.74, [[(0.0, 1.0), (0.5, 0.0), (1.0, 1.0)], [(0.2, 0.66), (0.8, 0.66)]]),
    "B": (
        0.64,
        [
            [(0.0, 0.0), (0.0, 1.0)],
            [(0.0, 0.0), *_arc(0.56, 0.24, 0.36, 0.24, -90, 90), (0.0, 0.48)],
            [(0.0, 0.48), *_arc(0.6, 0.74, 0.4, 0.26, -90, 90), (0.0, 1.0)],
        ],
    ),
    "C": (0.7, [_arc(0.54, 0.5, 0.54, 0.5, -42, -318)]),
    "D": (0.7, [[(0.0, 0.0), *_arc(0.45, 0.5, 0.55, 0.5, -90, 90), (0.0, 1.0), (0.0, 0.0)]]),
    "E": (0.58, [[(1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (1.0, 1.0)], [(0.0, 0.49), (0.82, 0.49)]]),
    "F": (0.56, [[(1.0, 0.0), (0.0, 0.0), (0.0, 1.0)], [(0.0, 0.5), (0.82, 0.5)]]),
    "G": (0.74, [[*_arc(0.52, 0.5, 0.52, 0.5, -45, -360), (1.04, 0.54), (0.62, 0.54)]]),
    "H": (0.7, [[(0.0, 0.0), (0.0, 1.0)], [(1.0, 0.0), (1.0, 1.0)], [(0.0, 0.49), (1.0, 0.49)]]),
    "I": (0.16, [[(0.5, 0.0), (0.5, 1.0)]]),
    "J": (0.54, [[(1.0, 0.0), *_arc(0.5, 0.68, 0.5, 0.32, 0, 165)]]),
    "K": (0.68, [[(0.0, 0.0), (0.0, 1.0)], [(0.96, 0.0), (0.02, 0.6)], [(0.34, 0.42), (1.0, 1.0)]]),
    "L": (0.56, [[(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]]),
    "M": (0.84, [[(0.0, 1.0), (0.0, 0.0), (0.5, 0.7), (1.0, 0.0), (1.0, 1.0)]]),
    "N": (0.72, [[(0.0, 1.0), (0.0, 0.0), (1.0, 1.0), (1.0, 0.0)]]),
    "O": (0.78, [_arc(0.5, 0.5, 0.5, 0.5, -90, 270)]),
    "P": (0.64, [[(0.0, 1.0), (0.0, 0.0), *_arc(0.6, 0.29, 0.4, 0.29, -90, 90), (0.0, 0.58)]]),
    "R": (
        0.66,
        [
            [(0.0, 1.0), (0.0, 0.0), *_arc(0.58, 0.27, 0.4, 0.27, -90, 90), (0.0, 0.54)],
            [(0.5, 0.54), (1.0, 1.0)],
        ],
    ),
    "S": (0.64, [[*_arc(0.5, 0.25, 0.46, 0.25, -28, -270), *_arc(0.5, 0.75, 0.5, 0.25, -90, 155)]]),
    "T": (0.66, [[(0.0, 0.0), (1.0, 0.0)], [(0.5, 0.0), (0.5, 1.0)]]),
    "U": (0.7, [[(0.0, 0.0), *_arc(0.5, 0.64, 0.5, 0.36, 180, 0), (1.0, 0.0)]]),
    "V": (0.72, [[(0.0, 0.0), (0.5, 1.0), (1.0, 0.0)]]),
    "W": (1.0, [[(0.0, 0.0), (0.26, 1.0), (0.5, 0.22), (0.74, 1.0), (1.0, 0.0)]]),
    "Y": (0.7, [[(0.0, 0.0), (0.5, 0.52), (1.0, 0.0)], [(0.5, 0.52), (0.5, 1.0)]]),
    "m": (
        0.92,
        [
            [(0.0, 1.0), (0.0, 0.3)],
            [(0.0, 0.58), *_arc(0.25, 0.58, 0.25, 0.28, 180, 360), (0.5, 1.0)],
            [(0.5, 0.58), *_arc(0.75, 0.58, 0.25, 0.28, 180, 360), (1.0, 1.0)],
        ],
    ),
    "-": (0.4, [[(0.0, 0.5), (1.0, 0.5)]]),
    " ": (0.34, []),
    # the two characters of the Great Wall, on the title page's seal
    "长": (
        0.95,
        [
            [(0.74, 0.02), (0.56, 0.2), (0.3, 0.34)],
            [(0.02, 0.46), (0.98, 0.46)],
            [(0.28, 0.02), (0.28, 0.96), (0.5, 0.82)],
            [(0.46, 0.48), (0.64, 0.78), (0.98, 0.98)],
        ],
    ),
    "城": (
        0.95,
        [
            [(0.0, 0.3), (0.32, 0.3)],
            [(0.16, 0.06), (0.16, 0.76)],
            [(0.0, 0.84), (0.34, 0.7)],
            [(0.42, 0.24), (0.99, 0.24)],
            [(0.44, 0.24), (0.43, 0.62), (0.32, 0.98)],
            [(0.45, 0.48), (0.63, 0.48), (0.62, 0.76), (0.54, 0.74)],
            [(0.7, 0.02), (0.75, 0.5), (0.88, 0.92), (0.99, 0.94), (0.99, 0.78)],
            [(0.92, 0.4), (0.8, 0.66), (0.56, 0.96)],
            [(0.84, 0.04), (0.94, 0.13)],
        ],
    ),
}

# the digits again, each in a unit square as above: straight strokes and cut corners
_ANGULAR_NINE: list[Path] = [
    [(1, 0.4), (0.74, 0.56), (0.26, 0.56), (0, 0.4), (0, 0.18), (0.26, 0), (0.74, 0), (1, 0.18), (1, 0.5),
     (0.86, 0.78), (0.5, 1)],
]  # fmt: skip
ANGULAR: dict[str, list[Path]] = {
    "0": [
        [(0.34, 0), (0.66, 0), (1, 0.24), (1, 0.76), (0.66, 1), (0.34, 1), (0, 0.76), (0, 0.24), (0.34, 0)],
    ],
    "1": [[(0.1, 0.24), (0.56, 0.0), (0.56, 1.0)]],
    "2": [[(0, 0.2), (0.26, 0), (0.74, 0), (1, 0.2), (1, 0.38), (0, 1), (1, 1)]],
    "3": [
        [(0, 0.14), (0.24, 0), (0.72, 0), (0.97, 0.17), (0.97, 0.34), (0.72, 0.48), (0.36, 0.48)],
        [(0.72, 0.48), (1, 0.64), (1, 0.82), (0.74, 1), (0.24, 1), (0, 0.86)],
    ],
    "4": [[(0.76, 1.0), (0.76, 0.0), (0.0, 0.72), (1.0, 0.72)]],
    "5": [
        [(0.92, 0), (0.1, 0), (0.04, 0.46), (0.3, 0.38), (0.7, 0.38), (1, 0.56), (1, 0.8), (0.72, 1),
         (0.24, 1), (0, 0.88)],
    ],
    "6": [[(1 - x, 1 - y) for x, y in path] for path in _ANGULAR_NINE],
    "7": [[(0.0, 0.0), (1.0, 0.0), (0.3, 1.0)]],
    "8": [
        [(0.3, 0.47), (0.08, 0.33), (0.08, 0.15), (0.32, 0), (0.68, 0), (0.92, 0.15), (0.92, 0.33),
         (0.7, 0.47), (0.3, 0.47), (0, 0.63), (0, 0.82), (0.3, 1), (0.7, 1), (1, 0.82), (1, 0.63),
         (0.7, 0.47)],
    ],
    "9": _ANGULAR_NINE,
}  # fmt: skip
FOOTED: dict[str, list[Path]] = {  # the round digits with feet and a hooked seven
    **{digit: GLYPHS[digit][1] for digit in "023568"},
    "1": [[(0.12, 0.2), (0.52, 0.0), (0.52, 1.0)], [(0.1, 1.0), (0.94, 1.0)]],
    "4": [[(0.72, 1.0), (0.72, 0.0), (0.0, 0.68), (1.0, 0.68)], [(0.48, 1.0), (0.96, 1.0)]],
    "7": [[(0.0, 0.14), (0.0, 0.0), (1.0, 0.0), (0.5, 0.5), (0.36, 1.0)]],
    "9": GLYPHS["9"][1],
}
DIGIT_SHAPES: dict[str, dict[str, list[Path]]] = {
    "round": {digit: GLYPHS[digit][1] for digit in "0123456789"},
    "angular": ANGULAR,
    "footed": FOOTED,
}


def glyph_width(glyph: str, height: float) -> float:
    return GLYPHS[glyph][0] * height


def text_width(text: str, height: float, stroke: float, gap: float) -> float:
    """Width of `text` in px; `gap` is the free space between glyphs."""
    return sum(max(glyph_width(c, height), stroke) for c in text) + gap * (len(text) - 1)


def write(
    sheet: Sheet, text: str, x: float, y: float, height: float, color: Color, stroke: float, gap: float
) -> None:
    """Write `text` on `sheet`, its upper left corner at x, y."""
    for c in text:
        width = max(glyph_width(c, height), stroke)
        for path in GLYPHS[c][1]:
            points = [
                (x + stroke / 2 + px * (width - stroke), y + stroke / 2 + py * (height - stroke))
                for px, py in path
            ]
            sheet.line(points, color, stroke)
        x += width + gap


@lru_cache(maxsize=64)
def label(
    text: str, height: float, color: Color, *, rim: Color | None = None, weight: float = 0.17
) -> Sprite:
    """`text` as a sprite of its own, with a rim of another colour where one is given."""
    stroke, gap = height * weight, height * 0.2
    margin = height * 0.14 + 2
    sheet = Sheet(
        math.ceil(text_width(text, height, stroke, gap) + 2 * margin), math.ceil(height + 2 * margin)
    )
    write(sheet, text, margin, margin, height, color, stroke, gap)
    if rim is not None:
        sheet.outline(rim, max(1.5, height * 0.07))
    return sheet.sprite()
