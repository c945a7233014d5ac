"""Raiders on foot, in three kinds, walking to the left. Made once, read by any thread.

Drawn in px of an 86 x 160 box; a kind's widest and highest parts do not move as it walks, so every
phase reaches all four sides of the box.
"""

from __future__ import annotations

import math
from functools import lru_cache

from greatwall.game.art.canvas import Color, Sheet, Sprite

PHASES = 8
WIDTH, HEIGHT = 86, 160
OUTLINE: Color = (22, 26, 36)
SKIN: Color = (112, 152, 206)
SKIN_DARK: Color = (84, 118, 168)
HAIR: Color = (26, 30, 40)
STEEL: Color = (186, 182, 176)
IRON: Color = (96, 94, 92)
WOOD: Color = (44, 74, 116)


@lru_cache(maxsize=2)
def make_enemies(width: int, height: int) -> list[list[Sprite]]:
    """For each kind its walking phases; kept, so treat them as read-only."""
    return [
        [draw(k / PHASES).fitted(width, height) for k in range(PHASES)] for draw in (_spear, _sword, _axe)
    ]


def _legs(s: Sheet, phase: float, trousers: Color, dark: Color, boots: Color, thick: float) -> float:
    """Both legs at `phase`; returns how far the body has sunk, px."""
    turn = 2 * math.pi * phase
    sink = 1.6 * (1 - math.cos(2 * turn)) / 2
    for offset, cloth in ((math.pi, dark), (0.0, trousers)):
        swing = math.sin(turn + offset)
        lift = max(0.0, math.cos(turn + offset)) * 7
        hip = (44.0, 100 + sink)
        foot = (44 - swing * 19, 153 - lift)
        knee = ((hip[0] + foot[0]) / 2 - 3 - lift * 0.9, (hip[1] + foot[1]) / 2 - 1)
        s.curve([hip, knee, foot], cloth, (thick, thick * 0.78, thick * 0.55))
        s.line([knee, foot], boots, (thick * 0.7, thick * 0.62))
        x, y = foot
        s.blob([(x - 13, y + 6), (x - 11, y - 1), (x - 4, y - 5), (x + 5, y - 6), (x + 6, y + 6)], boots)
    return sink


def _face(s: Sheet, x: float, y: float) -> None:
    """A head looking left, its middle at x, y."""
    s.disc(x, y, 12, 13, SKIN)
    s.poly([(x - 10, y - 2), (x - 16, y + 4), (x - 9, y + 5)], SKIN)
    s.disc(x + 4, y + 2, 2.6, 3.6, SKIN_DARK)
    s.line([(x - 10, y - 4), (x - 4, y - 3)], HAIR, 2.6)
    s.disc(x - 6.4, y - 0.4, 1.5, 1.7, (20, 20, 26))


def _spear(phase: float) -> Sheet:
    """A lancer in blue, with a fur hat; his spear is as tall as the box."""
    s = Sheet(WIDTH + 8, HEIGHT + 8)
    s.poly([(52, 50), (86, 62), (82, 84), (86, 108), (56, 104)], (92, 52, 40))
    sink = _legs(s, phase, (86, 96, 104), (62, 70, 78), (38, 50, 70), 17)
    y = sink
    s.blob(
        [
            (30, 54 + y),
            (42, 46 + y),
            (58, 48 + y),
            (64, 62 + y),
            (64, 88 + y),
            (70, 116),
            (54, 120),
            (38, 121),
            (26, 115),
            (30, 88 + y),
        ],
        (150, 88, 46),
    )
    s.blob(
        [(32, 56 + y), (42, 50 + y), (46, 62 + y), (42, 90 + y), (40, 116), (29, 113), (33, 88 + y)],
        (190, 126, 76),
    )
    s.line([(29, 90 + y), (66, 89 + y)], (40, 60, 150), 7)
    s.disc(38, 90 + y, 4, 4, (80, 190, 236))
    s.curve([(46, 50 + y), (40, 70 + y), (36, 116)], (84, 150, 210), 3)
    _face(s, 44, 34 + y)
    s.blob([(36, 44 + y), (42, 45 + y), (42, 54 + y), (37, 58 + y)], HAIR)
    s.blob(
        [
            (28, 26 + y),
            (34, 18 + y),
            (46, 14 + y),
            (58, 20 + y),
            (62, 30 + y),
            (60, 42 + y),
            (52, 40 + y),
            (52, 28 + y),
            (40, 26 + y),
        ],
        (70, 92, 124),
    )
    s.blob([(34, 18 + y), (40, 8 + y), (46, 6 + y), (54, 12 + y), (58, 20 + y), (46, 16 + y)], (52, 46, 176))
    swing = math.sin(2 * math.pi * phase) * 4
    s.curve([(56, 56 + y), (62, 72 + y), (52 + swing, 84 + y)], (132, 76, 40), (12, 11, 9))
    s.disc(51 + swing, 85 + y, 5, 5, SKIN)
    s.line([(13, 24), (13, 157)], WOOD, 4)
    s.line([(12, 24), (12, 157)], (86, 126, 172), 1.3)
    s.poly([(13, 2), (20, 18), (13, 30), (6, 18)], STEEL)
    s.poly([(13, 2), (20, 18), (13, 30)], (130, 126, 122))
    s.poly([(6, 30), (20, 30), (22, 44), (13, 38), (3, 45)], (44, 40, 196))
    s.curve([(36, 56 + y), (24, 72 + y), (14, 76)], (170, 104, 58), (13, 11, 9))
    s.disc(13, 76, 5.4, 5.4, SKIN)
    s.outline(OUTLINE, 1.6)
    return s


def _sword(phase: float) -> Sheet:
    """A swordsman in dark red with a round shield and a banner at his back."""
    s = Sheet(WIDTH + 8, HEIGHT + 8)
    s.line([(68, 4), (62, 96)], WOOD, 3.4)
    s.poly([(68, 2), (85, 6), (80, 15), (86, 24), (81, 34), (85, 46), (65, 42)], (40, 150, 214))
    s.disc(75, 24, 5.5, 6.5, (36, 36, 150))
    sink = _legs(s, phase, (60, 66, 84), (44, 48, 62), (34, 40, 52), 18)
    y = sink
    swing = math.sin(2 * math.pi * phase)
    s.blob(
        [
            (30, 56 + y),
            (42, 48 + y),
            (60, 50 + y),
            (66, 64 + y),
            (64, 92 + y),
            (68, 114),
            (52, 117),
            (36, 117),
            (28, 112),
            (30, 90 + y),
        ],
        (52, 50, 132),
    )
    for row in range(5):
        for col in range(4):
            s.disc(
                36 + col * 9 + (row % 2) * 3,
                62 + row * 9 + y,
                4.6,
                4.8,
                (78, 80, 168) if (row + col) % 2 else (64, 62, 148),
            )
    s.line([(29, 94 + y), (66, 93 + y)], (34, 46, 66), 7)
    _face(s, 44, 36 + y)
    s.blob([(34, 44 + y), (44, 47 + y), (50, 44 + y), (46, 56 + y), (36, 55 + y)], HAIR)
    s.blob(
        [
            (29, 32 + y),
            (32, 22 + y),
            (44, 14 + y),
            (56, 20 + y),
            (61, 34 + y),
            (60, 46 + y),
            (53, 44 + y),
            (52, 32 + y),
        ],
        IRON,
    )
    s.blob([(33, 26 + y), (40, 18 + y), (48, 18 + y), (42, 26 + y)], STEEL)
    s.line([(44, 15 + y), (44, 5 + y)], (70, 180, 230), 3)
    s.curve([(58, 58 + y), (68, 70 + y), (66 + swing * 2, 84 + y)], (44, 42, 112), (13, 12, 9))
    s.disc(66 + swing * 2, 86 + y, 5.2, 5.2, SKIN)
    s.line([(60, 92 + y), (73, 81 + y)], (60, 170, 224), 4)
    s.curve([(70, 84 + y), (79, 100 + y), (83, 122)], STEEL, (4.5, 6.5, 2))
    s.disc(20, 84, 18, 25, (40, 58, 92))
    s.disc(20, 84, 15, 21.5, (44, 46, 168))
    s.disc(20, 84, 9.5, 14, (70, 176, 230))
    s.disc(20, 84, 6, 9, (38, 40, 150))
    s.disc(19, 82, 2.6, 4, STEEL)
    s.outline(OUTLINE, 1.6)
    return s


def _axe(phase: float) -> Sheet:
    """A big man in furs with horns on his helmet and an axe over the shoulder."""
    s = Sheet(WIDTH + 8, HEIGHT + 8)
    sink = _legs(s, phase, (74, 92, 84), (54, 68, 62), (40, 56, 78), 21)
    y = sink
    s.line([(34, 96), (80, 30)], WOOD, 4.6)
    s.poly([(66, 34), (76, 20), (85, 22), (86, 52), (78, 46)], STEEL)
    s.poly([(76, 20), (85, 22), (86, 52), (82, 36)], (132, 128, 124))
    s.blob(
        [
            (20, 60 + y),
            (36, 46 + y),
            (58, 46 + y),
            (72, 58 + y),
            (70, 90 + y),
            (74, 112),
            (56, 119),
            (34, 119),
            (18, 112),
            (22, 88 + y),
        ],
        (74, 104, 74),
    )
    s.blob(
        [(24, 88 + y), (40, 94 + y), (60, 92 + y), (70, 88 + y), (72, 112), (56, 117), (34, 117), (20, 110)],
        (58, 82, 60),
    )
    s.line([(21, 92 + y), (71, 90 + y)], (40, 62, 98), 8)
    s.disc(44, 92 + y, 6, 6, (78, 182, 226))
    fur = [(14, 66 + y), (16, 54 + y), (28, 46 + y), (44, 50 + y), (62, 44 + y), (74, 52 + y), (78, 66 + y)]
    s.curve(fur, (92, 112, 132), 14)
    s.curve([(px, py - 3) for px, py in fur], (140, 162, 182), 5)
    _face(s, 42, 36 + y)
    s.blob(
        [(28, 40 + y), (36, 42 + y), (50, 42 + y), (50, 54 + y), (38, 64 + y), (30, 54 + y)], (40, 66, 122)
    )
    s.blob([(28, 30 + y), (31, 20 + y), (42, 14 + y), (54, 19 + y), (58, 32 + y), (42, 28 + y)], IRON)
    s.line([(28, 30 + y), (57, 31 + y)], (70, 170, 220), 3.6)
    s.curve([(31, 24 + y), (20, 20 + y), (17, 3)], (196, 216, 226), (9, 7, 2))
    s.curve([(54, 22 + y), (66, 17 + y), (67, 3)], (170, 192, 204), (9, 7, 2))
    swing = math.sin(2 * math.pi * phase) * 2
    s.curve([(66, 60 + y), (62, 78 + y), (42, 88)], (64, 90, 64), (15, 13, 10))
    s.disc(40, 88, 5.6, 5.6, SKIN)
    s.curve([(24, 62 + y), (10, 76 + y), (11 + swing * 0.3, 96 + y)], (84, 116, 82), (16, 14, 11))
    s.disc(11, 98 + y, 6.4, 6.4, SKIN)
    s.line([(2.6, 90 + y), (2.6, 104 + y)], (60, 84, 118), 4)
    s.outline(OUTLINE, 1.6)
    return s
