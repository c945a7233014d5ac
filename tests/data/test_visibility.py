"""Which objects are asked for: the stated rule, by a table of boxes."""

from __future__ import annotations

import dataclasses

import pytest

from config import GREAT_WALL
from greatwall.contracts import GameObject
from greatwall.data.visibility import rider_class, sort_boxes

BAND = (352, 928)
COIN = GameObject("coin", 500, 500, 100, 100)


@pytest.mark.parametrize(
    ("objects", "asked", "bystanders"),
    [
        ([COIN], ["coin"], []),
        ([COIN._replace(x=-50)], ["coin"], []),  # half of it is on the screen
        ([COIN._replace(x=-51)], [], ["coin"]),
        ([COIN._replace(x=-100)], [], []),
        ([COIN._replace(x=1871)], [], ["coin"]),
        ([COIN._replace(y=879)], [], ["coin"]),  # 49 px above the strip's end
        ([COIN, GameObject("obstacle", 540, 500, 100, 100)], ["obstacle"], ["coin"]),  # 60 % under it
        ([COIN, GameObject("obstacle", 560, 500, 100, 100)], ["coin", "obstacle"], []),
        ([GameObject("obstacle", 540, 500, 100, 100), COIN], ["coin"], ["obstacle"]),  # drawn later: above
        ([GameObject("horse", 540, 480, 130, 150), COIN], ["horse"], ["coin"]),  # the rider is over all
        ([COIN, GameObject("soul", 500, 500, 30, 100), GameObject("soul", 575, 500, 30, 100)],
         ["soul", "soul"], ["coin"]),  # covers add up: 45 % is left
        ([COIN, GameObject("soul", 500, 500, 30, 100), GameObject("soul", 515, 500, 30, 100)],
         ["coin", "soul", "soul"], []),  # and overlap
    ],
)  # fmt: skip
def test_what_is_asked_for(objects: list[GameObject], asked: list[str], bystanders: list[str]) -> None:
    found = sort_boxes(objects, BAND, 1920, "horse")
    assert sorted(box[0] for box in found[0]) == asked
    assert [box[0] for box in found[1]] == bystanders


def test_the_rider_is_whoever_has_that_role() -> None:
    profile = dataclasses.replace(
        GREAT_WALL, classes=("rock", "runner"), roles=(("rock", "danger"), ("runner", "rider"))
    )
    objects = [GameObject("runner", 540, 480, 130, 150), COIN, GameObject("horse", 500, 500, 10, 100)]
    asked, bystanders = sort_boxes(objects, BAND, 1920, rider_class(profile))
    assert [box[0] for box in asked] == ["runner", "horse"]
    assert [box[0] for box in bystanders] == ["coin"]
