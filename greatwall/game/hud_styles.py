"""HUD fonts and layouts, as values. Three families; what is in one is in no other.

Pure; no pixels here. `art/hud.py` draws them; a layout's boxes are the profile's under its look.
"""

from __future__ import annotations

from dataclasses import dataclass

from greatwall.game.grades import Color

ICON_PX = 104  # px of plate to the left of a field's box, for its icon
DISTANCE_PX = 92  # and to the right of the distance's box, for its m
PLATE_PX = 12  # px of plate above and below a box
BOX_H = 76
BOX_W = {"lives": 110, "arrows": 130, "coins": 160, "distance": 240}  # at scale 1


@dataclass(frozen=True)
class HudFont:
    """How digits are drawn, in px at scale 1. Five digits must fit the distance's box."""

    width: int = 30
    height: int = 50
    stroke: float = 9.0
    gap: int = 7
    slant: float = 0.0  # px to the right for each px up
    shapes: str = "round"  # round, angular (straight strokes, cut corners), footed (with serifs)
    rim_px: float = 0.0  # a rim round every digit
    rim: Color = (10, 10, 12)
    ink: Color = (244, 250, 252)
    plate: Color = (44, 34, 28)
    plate_rim: Color = (92, 160, 206)
    corner: int = 24  # px, radius of the plate's corners
    reach: float = 0.0  # px wider than `width` the strokes are laid out; what is beyond is cut off


@dataclass(frozen=True)
class HudLayout:
    """Upper left corner of each field's box in px, the plates' grouping, and the scale of it all."""

    at: tuple[tuple[str, int, int], ...] = (
        ("lives", 130, 34),
        ("arrows", 400, 34),
        ("coins", 690, 34),
        ("distance", 1560, 34),
    )
    plates: tuple[tuple[str, ...], ...] = (("lives", "arrows", "coins"), ("distance",))
    scale: float = 1.0
    at_right: tuple[str, ...] = ("distance",)  # fields whose digits stand at the box's right side

    def boxes(self) -> dict[str, tuple[int, int, int, int]]:
        """Field -> x, y, w, h."""
        height = round(BOX_H * self.scale)
        return {name: (x, y, round(BOX_W[name] * self.scale), height) for name, x, y in self.at}


def _four(
    lives: tuple[int, int], arrows: tuple[int, int], coins: tuple[int, int], distance: tuple[int, int]
) -> tuple[tuple[str, int, int], ...]:
    return (("lives", *lives), ("arrows", *arrows), ("coins", *coins), ("distance", *distance))


APART = (("lives",), ("arrows",), ("coins",), ("distance",))

TRAIN_FONTS: dict[str, HudFont] = {
    "standard": HudFont(reach=1.0),
    "light": HudFont(30, 50, 6.8, 8, ink=(236, 246, 250), plate=(62, 40, 22), plate_rim=(190, 170, 120)),
    "heavy": HudFont(31, 50, 10.2, 5, plate=(26, 26, 60), plate_rim=(70, 120, 200), corner=10),
    "slanted": HudFont(27, 48, 8.4, 9, slant=0.16, plate=(30, 46, 26), plate_rim=(120, 190, 150)),
    "angular": HudFont(29, 50, 8.2, 8, shapes="angular", ink=(255, 252, 246), plate=(40, 36, 36), corner=3),
}
UNSEEN_FONTS: dict[str, HudFont] = {
    "footed": HudFont(29, 48, 7.6, 8, shapes="footed", ink=(226, 244, 252), plate=(20, 40, 66), corner=40),
    "rimmed": HudFont(
        28, 48, 8.0, 9, rim_px=3.0, rim=(6, 6, 8), ink=(250, 250, 250), plate=(92, 66, 48), corner=30
    ),
    "sporty": HudFont(
        28, 46, 9.0, 8, slant=0.2, shapes="footed", ink=(240, 255, 250), plate=(66, 24, 40), corner=0
    ),
}

VALID_FONTS: dict[str, HudFont] = {
    "narrow": HudFont(
        24, 52, 7.4, 12, ink=(236, 240, 255), plate=(70, 30, 30), plate_rim=(150, 110, 110), corner=16
    ),
    "cut": HudFont(
        28, 48, 8.6, 9, slant=0.12, shapes="angular", ink=(240, 252, 246), plate=(24, 56, 58), corner=22
    ),
    "edged": HudFont(
        28,
        48,
        8.2,
        9,
        shapes="angular",
        rim_px=2.4,
        rim=(20, 8, 8),
        ink=(246, 246, 255),
        plate=(84, 70, 40),
        corner=8,
    ),
}

TRAIN_LAYOUTS: dict[str, HudLayout] = {
    "standard": HudLayout(),
    "apart": HudLayout(_four((130, 40), (530, 40), (950, 40), (1480, 40)), APART),
    "stacked": HudLayout(_four((120, 30), (120, 126), (120, 222), (1570, 30)), APART, 0.86),
    "swapped": HudLayout(
        _four((1130, 34), (1400, 34), (1690, 34), (140, 34)), (("distance",), ("lives", "arrows", "coins"))
    ),
    "small": HudLayout(_four((150, 24), (380, 24), (620, 24), (1640, 24)), scale=0.78),
}
UNSEEN_LAYOUTS: dict[str, HudLayout] = {
    "middle": HudLayout(_four((140, 60), (1360, 60), (1680, 60), (870, 60)), APART, 0.92),
    "column": HudLayout(_four((1700, 30), (1700, 122), (1700, 214), (130, 30)), APART, 0.82),
    "corner": HudLayout(
        _four((1340, 40), (1580, 40), (1340, 150), (1580, 150)),
        (("lives", "arrows"), ("coins", "distance")),
        0.88,
    ),
}

VALID_LAYOUTS: dict[str, HudLayout] = {
    "pairs": HudLayout(_four((130, 30), (130, 128), (1600, 128), (1560, 30)), APART, 0.9),
    "row_right": HudLayout(
        _four((700, 44), (940, 44), (1220, 44), (1590, 44)),
        (("lives", "arrows", "coins"), ("distance",)),
        0.84,
    ),
    "spread": HudLayout(_four((120, 28), (960, 28), (1200, 28), (1580, 120)), APART, 0.8),
}

FONTS = TRAIN_FONTS | VALID_FONTS | UNSEEN_FONTS
LAYOUTS = TRAIN_LAYOUTS | VALID_LAYOUTS | UNSEEN_LAYOUTS
