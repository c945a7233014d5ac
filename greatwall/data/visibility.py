"""The one rule of off-screen and mostly hidden objects, in labels and in scores.

What can be seen of an object is the part of its box inside the frame and inside the strip the detector
looks at, and not under the boxes of things drawn over it. The eyes are asked for it when at least half
can be seen (`ASKED_MIN`), its box cut to the strip; any other object is a bystander: missing it is no
mistake, and finding it is none either. Labels begin earlier (`LABELLED_MIN`), so that what is asked for
is well inside what is taught.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from config import GameProfile
from greatwall.contracts import GameObject

ASKED_MIN = 0.5
LABELLED_MIN = 0.3
LabelBox = tuple[str, float, float, float, float]  # class, x1, y1, x2, y2
LABEL_RULE = f"{LABELLED_MIN:.0%} or more of the box in the strip and not under others, cut to it"
ASKED_RULE = f"{ASKED_MIN:.0%} or more of the box in the strip and not under others, cut to it"


def rider_class(profile: GameProfile) -> str:
    """The class whose role is the rider."""
    return next(name for name, role in profile.roles if role == "rider")


def visible_boxes(
    objects: Sequence[GameObject],
    band: tuple[float, float],
    width: float,
    rider: str,
    least: float = LABELLED_MIN,
) -> list[LabelBox]:
    """Class, x1, y1, x2, y2 px of the objects of which that share can be seen, cut to the strip."""
    return sort_boxes(objects, band, width, rider, least)[0]


def sort_boxes(
    objects: Sequence[GameObject],
    band: tuple[float, float],
    width: float,
    rider: str,
    least: float = ASKED_MIN,
) -> tuple[list[LabelBox], list[LabelBox]]:
    """The boxes asked for, and those of bystanders of which anything is inside the strip.

    `objects` come in the order in which they are drawn, those of class `rider` excepted, which come last.
    """
    asked: list[LabelBox] = []
    bystanders: list[LabelBox] = []
    cut = [_cut(thing, band, width) for thing in objects]
    for i, (thing, box) in enumerate(zip(objects, cut, strict=True)):
        if box is None:
            continue
        above = [
            other
            for j, other in enumerate(cut)
            if other is not None
            and j != i
            and thing.category != rider
            and (j > i or objects[j].category == rider)
            and _meet(box, other)
        ]
        seen = _area_seen(box, above)
        (asked if seen >= least * thing.w * thing.h else bystanders).append(box)
    return asked, bystanders


def _cut(thing: GameObject, band: tuple[float, float], width: float) -> LabelBox | None:
    x1, x2 = max(0.0, thing.x), min(float(width), thing.x2)
    y1, y2 = max(float(band[0]), thing.y), min(float(band[1]), thing.y2)
    return (thing.category, x1, y1, x2, y2) if x2 > x1 and y2 > y1 else None


def _meet(one: LabelBox, other: LabelBox) -> bool:
    return one[1] < other[3] and other[1] < one[3] and one[2] < other[4] and other[2] < one[4]


def _area_seen(box: LabelBox, above: list[LabelBox]) -> float:
    """px of the box that no box above it covers, covers rounded to whole px."""
    _, x1, y1, x2, y2 = box
    if not above:
        return (x2 - x1) * (y2 - y1)
    covered = np.zeros((math.ceil(y2 - y1), math.ceil(x2 - x1)), bool)
    for _, a1, b1, a2, b2 in above:
        rows = slice(max(0, round(b1 - y1)), max(0, round(b2 - y1)))
        covered[rows, max(0, round(a1 - x1)) : max(0, round(a2 - x1))] = True
    return (x2 - x1) * (y2 - y1) * (1.0 - float(covered.mean()))
