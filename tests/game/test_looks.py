"""Looks: seeded, apart from each other, and true: what is drawn is where the truth says it is."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from config import GREAT_WALL, GROUND_COLORS, CourseConfig, EyesConfig
from greatwall.errors import ConfigError
from greatwall.eyes.hud import HudReader
from greatwall.eyes.terrain import TerrainScanner
from greatwall.game.art.graded import VALLEY_LEVELS, graded_wall
from greatwall.game.art.hud import HudArt
from greatwall.game.art.wall import Wall
from greatwall.game.art.weather import BANK_BOTTOM
from greatwall.game.atmosphere import (
    TRAIN_TIMES,
    TRAIN_WEATHERS,
    UNSEEN_TIMES,
    UNSEEN_WEATHERS,
    VALID_TIMES,
    VALID_WEATHERS,
)
from greatwall.game.draw import SHAKE_ROOM, Painter
from greatwall.game.grades import SAME, Grade, Tint, lit, screened, tinted, veiled
from greatwall.game.hud_styles import (
    TRAIN_FONTS,
    TRAIN_LAYOUTS,
    UNSEEN_FONTS,
    UNSEEN_LAYOUTS,
    VALID_FONTS,
    VALID_LAYOUTS,
)
from greatwall.game.looks import NAMED, STANDARD, Look, look_named
from greatwall.game.scene import scene_of
from greatwall.game.view import Kind, Page, Thing, View

COURSE = CourseConfig()
SCANNED = 1080 - GREAT_WALL.ground_row_from_bottom
FAMILIES = {
    "train": (TRAIN_TIMES, TRAIN_WEATHERS, TRAIN_FONTS, TRAIN_LAYOUTS),
    "valid": (VALID_TIMES, VALID_WEATHERS, VALID_FONTS, VALID_LAYOUTS),
    "unseen": (UNSEEN_TIMES, UNSEEN_WEATHERS, UNSEEN_FONTS, UNSEEN_LAYOUTS),
}
STYLES = [pair for _, _, fonts, layouts in FAMILIES.values() for pair in itertools.product(fonts, layouts)]


@cache
def painter(name: str) -> Painter:
    return Painter(COURSE, GREAT_WALL, look_named(name))


def thing(kind: Kind, x: float, w: float, h: float = 0.0, bottom: float = 0.0, look: int = 0) -> Thing:
    return Thing(1, kind, x, w, h, bottom, look, 0, x, 0.0)


def view(*things: Thing, **changes: object) -> View:
    start = View(
        tick=40, page=Page.PLAYING, since=0, x=1000.0, height=0.0, vy=0.0, lives=3, arrows=20, coins=7,
        distance_m=50, invulnerable=0, death="", best_m=1234, things=things, flying=(),
    )  # fmt: skip
    return start._replace(**changes)


def with_gaps(x: float, tick: int) -> View:
    return view(
        thing(Kind.GAP, x - 40.3, 140),
        thing(Kind.GAP, x + 700.6, 200),
        thing(Kind.GAP, x + 1800.2, 230),
        x=x,
        tick=tick,
    )


# --- what a name means --------------------------------------------------------------------------


def test_a_name_always_means_the_same_look_and_numbers_differ():
    assert look_named("train:7") == look_named.__wrapped__("train:7")
    assert look_named("unseen:7") == look_named.__wrapped__("unseen:7")
    for family in FAMILIES:
        assert len({look_named(f"{family}:{n}") for n in range(100)}) == 100


@pytest.mark.parametrize("name", ["", "nonsense", "train:", "train:-1", "unseen:x", "Standard", "train:1 "])
def test_an_unknown_name_is_refused_with_the_list(name: str):
    with pytest.raises(ConfigError, match="standard, dawn") as refusal:
        look_named(name)
    assert "\n" not in str(refusal.value)
    assert "train:N" in str(refusal.value)


def test_no_family_takes_anything_from_another():
    looks = {family: [look_named(f"{family}:{n}") for n in range(300)] for family in FAMILIES}
    for family, (times, weathers, fonts, layouts) in FAMILIES.items():
        assert {look.time for look in looks[family]} == set(times)
        assert {look.weather for look in looks[family]} == set(weathers)
        assert {look.font for look in looks[family]} == set(fonts)
        assert {look.layout for look in looks[family]} == set(layouts)
    for one, other in itertools.combinations(FAMILIES, 2):  # each lies farther from the standard look
        near, far = looks[one], looks[other]
        if one == "valid":
            near, far = far, near
        for part in ("scenery", "wall", "things"):
            nearest = min(abs(getattr(look, part).hue) for look in far)
            assert max(abs(getattr(look, part).hue) for look in near) < nearest
        assert max(look.shake_px for look in near) < min(look.shake_px for look in far)
        assert max(abs(look.brightness) for look in near) < min(abs(look.brightness) for look in far)
        assert min(look.contrast for look in near) > max(look.contrast for look in far)
        for first, second in zip(FAMILIES[one], FAMILIES[other], strict=True):
            assert not {repr(value) for value in first.values()} & {repr(value) for value in second.values()}


def test_four_validation_looks_in_a_row_show_every_weather_and_time():
    looks = [look_named(f"valid:{n}") for n in range(4)]
    assert {look.weather for look in looks} == set(VALID_WEATHERS)
    assert {look.time for look in looks} == set(VALID_TIMES)


def test_the_standard_look_changes_nothing():
    assert STANDARD.profile(GREAT_WALL) is GREAT_WALL
    grades = [STANDARD.scenery_grade(0.3), STANDARD.sky_grade, STANDARD.wall_grade, STANDARD.thing_grade]
    assert all(grade.changes_nothing for grade in grades)
    assert STANDARD.ground_colors == GROUND_COLORS
    assert STANDARD.shake(123) == (0, 0)


@pytest.mark.parametrize("name", [*NAMED, "train:1", "valid:1", "unseen:1"])
def test_a_looks_profile_of_its_own_profile_is_the_same(name: str):
    look = look_named(name)
    once = look.profile(GREAT_WALL)
    assert look.profile(once) == once


def test_grades_follow_each_other_as_they_are_applied():
    first, second = tinted(Tint(30, 0.8)), lit((0.9, 0.8, 0.7)).then(veiled((200, 100, 50), 0.3))
    both = first.then(second).color((90, 120, 150))
    assert np.abs(np.array(second.color(first.color((90, 120, 150)))) - both).max() <= 1
    assert first.then(SAME) == first == SAME.then(first)
    assert tinted(Tint(360)).color((10, 120, 200)) == (10, 120, 200)
    assert tinted(Tint(0, 0.0)).color((0, 0, 255)) == (76, 76, 76)
    assert screened(10, 1.0).color((250, 0, 100)) == (255, 10, 110)
    assert Grade() == SAME


# --- drawn as told ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["train:1", "valid:1", "unseen:1"])
def test_equal_views_give_equal_pixels_from_any_painter(name: str):
    other = Painter(COURSE, look_named(name).profile(GREAT_WALL), look_named(name))
    other.draw(view(x=99_999.0, tick=7))
    for moment in (with_gaps(4000.5, 77), view(page=Page.DEATH), view(page=Page.TITLE)):
        first = painter(name).draw(moment)
        assert first.shape == (1080, 1920, 3)
        assert first.flags.c_contiguous
        assert (first == other.draw(moment)).all()


def test_looks_differ_from_each_other():
    moment = with_gaps(4000.5, 77)
    names = ("standard", "night", "fog", "train:1", "unseen:1")
    for one, other in itertools.combinations(names, 2):
        difference = np.abs(painter(one).draw(moment).astype(int) - painter(other).draw(moment))
        assert difference.mean() > 1, (one, other)


@pytest.mark.parametrize("name", ["shaky", "fog", "night", "faded"])
def test_the_scanned_row_is_ground_exactly_where_there_is_no_gap(name: str):
    look = look_named(name)
    profile = look.profile(GREAT_WALL)
    scanner = TerrainScanner(profile)
    for k in range(6):
        moment = with_gaps(1000.3 + 777.7 * k, 11 * k)
        expected = np.ones(1920, bool)
        for gap in scene_of(moment, COURSE, profile, look).gaps:
            expected[int(gap.x1) : int(gap.x2)] = False
        row = painter(name).draw(moment)[SCANNED : SCANNED + 1]
        np.testing.assert_array_equal(scanner.is_ground(row), expected)


@pytest.mark.parametrize("name", ["snow", "train:1", "valid:0", "valid:1", "unseen:1", "embers"])
def test_weather_in_front_of_the_wall_neither_makes_nor_closes_a_gap(name: str):
    look = look_named(name)
    profile = look.profile(GREAT_WALL)
    scanner = TerrainScanner(profile)
    wrong = 0
    for k in range(20):
        moment = with_gaps(1000.3 + 777.7 * k, 11 * k)
        frame = painter(name).draw(moment)
        truth = scene_of(moment, COURSE, profile, look).gaps
        found = scanner.scan(frame, 310).gaps
        assert len(found) == len(truth)
        for one, other in zip(found, truth, strict=True):
            assert max(abs(one.x1 - other.x1), abs(one.x2 - other.x2)) <= 16
        expected = np.ones(1920, bool)
        for gap in truth:
            expected[int(gap.x1) : int(gap.x2)] = False
        wrong += int((scanner.is_ground(frame[SCANNED : SCANNED + 1]) != expected).sum())
    assert wrong / (20 * 1920) < 0.005


def test_banks_of_mist_end_above_every_row_that_shaking_may_bring_to_the_scan():
    assert BANK_BOTTOM < SCANNED - 2 * SHAKE_ROOM


def test_a_gap_is_far_from_the_ground_colours_under_every_look():
    wall = Wall(COURSE.ground_y, 1080, SCANNED, GROUND_COLORS)
    names = [*NAMED, *(f"train:{n}" for n in range(4)), *(f"unseen:{n}" for n in range(9, 13))]
    names += [f"valid:{n}" for n in range(4)]
    for name in names:
        look = look_named(name)
        changed = graded_wall(wall, SCANNED, look.wall_grade, look.scenery_grade(0.6), look.ground_colors)
        row = changed.valley.pixels[SCANNED - COURSE.ground_y].astype(int)
        face = changed.face[SCANNED - COURSE.ground_y].astype(int)
        far = [np.abs(row - np.array(color)).max(axis=1) for color in look.ground_colors]
        near = [np.abs(face - np.array(color)).max(axis=1) for color in look.ground_colors]
        assert np.min(far) >= VALLEY_LEVELS, name
        assert np.min(near, axis=0).max() <= GREAT_WALL.ground_tolerance, name


@pytest.mark.parametrize("name", ["shaky", "night", "unseen:1"])
@pytest.mark.parametrize(
    ("kind", "w", "h", "bottom"),
    [
        (Kind.OBSTACLE, 77, 103, 0),
        (Kind.ENEMY, 86, 160, 0),
        (Kind.COIN, 44, 44, 180),
        (Kind.SOUL, 60, 60, 90),
    ],
)
def test_what_is_drawn_stands_in_its_truth_box(name: str, kind: Kind, w: int, h: int, bottom: int):
    look = look_named(name)
    for tick in (40, 47, 53):
        moment = view(thing(kind, 1700.9, w, h, bottom, 1), x=1000.5, tick=tick)
        box = scene_of(moment, COURSE, look.profile(GREAT_WALL), look).objects[1]
        without = painter(name).draw(view(x=1000.5, tick=tick))
        changed = (painter(name).draw(moment) != without).max(axis=2)
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        drawn = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
        assert np.abs(drawn - [box.x, box.y, box.x2, box.y2]).max() <= 2


def test_the_rider_shakes_with_the_camera():
    look = look_named("unseen:1")
    seen = set()
    for tick in range(40, 70, 3):
        box = scene_of(view(tick=tick), COURSE, GREAT_WALL, look).objects[0]
        dx, dy = look.shake(tick)
        assert (box.x, box.y) == (180 + dx, 730 + dy)
        seen.add((dx, dy))
    assert len(seen) > 5


@pytest.mark.parametrize("seed", range(6))
def test_a_shake_stays_within_its_reach_and_about_its_place(seed: int):
    look = Look(shake_px=9, seed=seed)
    moves = np.array([look.shake(tick) for tick in range(3000)])
    assert np.abs(moves).max() <= look.shake_px < SHAKE_ROOM
    assert np.abs(moves.mean(axis=0)).max() < 0.5
    assert np.abs(np.diff(moves, axis=0)).max() <= look.shake_px


# --- the HUD ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("font", "layout"), STYLES)
def test_hud_digits_keep_inside_their_boxes_and_boxes_out_of_the_play_band(font: str, layout: str):
    look = Look("test", font=font, layout=layout)
    profile = look.profile(GREAT_WALL)
    boxes = [field.box for _, field in profile.hud]
    for x, y, w, h in boxes:
        assert x >= 0
        assert x + w <= 1920
        assert y >= 0
        assert y + h < profile.play_band[0]
    for (ax, ay, aw, ah), (bx, by, bw, bh) in itertools.combinations(boxes, 2):
        assert ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay
    art = HudArt(profile, look.hud_font, look.hud_layout)
    frame = np.full((340, 1920, 3), 90, np.uint8)
    art.paint(frame, view(lives=10, arrows=99, coins=8_888, distance_m=88_888))
    for x, y, w, h in boxes:
        bright = frame[y : y + h, x : x + w].min(axis=2) > 150
        inner = bright[4:-4, 4:-4]
        assert inner.any()
        assert bright.sum() == inner.sum()


@pytest.mark.parametrize(
    ("font", "layout", "brightness", "contrast"),
    [
        *((*pair, 16.0, 0.86) for pair in zip(TRAIN_FONTS, TRAIN_LAYOUTS, strict=True)),
        *((*pair, -36.0, 0.70) for pair in zip(VALID_FONTS, VALID_LAYOUTS, strict=True)),
        *((*pair, -30.0, 0.76) for pair in zip(UNSEEN_FONTS, UNSEEN_LAYOUTS, strict=True)),
    ],
)
def test_tesseract_reads_every_font_and_layout(font: str, layout: str, brightness: float, contrast: float):
    look = Look("test", font=font, layout=layout, brightness=brightness, contrast=contrast)
    profile = look.profile(GREAT_WALL)
    reader = HudReader(profile, EyesConfig(hud_engine="tesserocr"))
    art = HudArt(profile, look.hud_font, look.hud_layout, look.screen_grade)
    frame = np.full((1080, 1920, 3), 120, np.uint8)
    wrong = []
    for k in range(0, 100, 7):
        values = (k % 11, k * 37 % 100, k * 7919 % 10_000 if k > 9 else k, k * 104_729 % 100_000)
        lives, arrows, coins, distance = values
        art.paint(frame, view(lives=lives, arrows=arrows, coins=coins, distance_m=distance))
        wrong += [(a, b) for a, b in zip(values, reader.read(frame), strict=True) if a != b]
    reader.close()
    assert len(wrong) <= 1, wrong  # of 60


def test_the_hud_does_not_shake_and_no_weather_lies_over_it():
    look = look_named("unseen:1")
    boxes = [field.box for _, field in look.profile(GREAT_WALL).hud]
    for x, y, w, h in boxes:
        seen = {painter("unseen:1").draw(view(tick=t))[y : y + h, x : x + w].tobytes() for t in (40, 47, 53)}
        assert len(seen) == 1
