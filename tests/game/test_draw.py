"""Drawing: equal views give equal pixels, and pixels agree with the game's truth."""

from __future__ import annotations

import dataclasses
import itertools

import cv2
import numpy as np
import pytest

from config import GREAT_WALL, CourseConfig, EyesConfig
from greatwall.contracts import FrameArray
from greatwall.errors import ConfigError
from greatwall.eyes.hud import HudReader
from greatwall.game.art.canvas import Sprite
from greatwall.game.art.enemies import PHASES as ENEMY_PHASES
from greatwall.game.art.enemies import make_enemies
from greatwall.game.art.hud import MARGIN, HudArt
from greatwall.game.art.obstacles import KINDS, draw_obstacle
from greatwall.game.art.rider import PHASES, RiderArt
from greatwall.game.art.scenery import PERIOD
from greatwall.game.art.treasure import make_coins, make_souls
from greatwall.game.draw import Painter
from greatwall.game.scene import scene_of
from greatwall.game.view import Arrow, Kind, Page, Thing, View

COURSE = CourseConfig()
SCANNED = 1080 - GREAT_WALL.ground_row_from_bottom


@pytest.fixture(scope="module")
def painter() -> Painter:
    return Painter(COURSE, GREAT_WALL)


def thing(kind: Kind, x: float, w: float, h: float = 0.0, bottom: float = 0.0, look: int = 0) -> Thing:
    return Thing(1, kind, x, w, h, bottom, look, 0, x, 0.0)


def view(*things: Thing, **changes: object) -> View:
    start = View(
        tick=40, page=Page.PLAYING, since=0, x=1000.0, height=0.0, vy=0.0, lives=3, arrows=20, coins=7,
        distance_m=50, invulnerable=0, death="", best_m=1234, things=things, flying=(),
    )  # fmt: skip
    return start._replace(**changes)


def busy(**changes: object) -> View:
    """A view with one of everything."""
    return view(
        thing(Kind.OBSTACLE, 1500.4, 90, 100, look=1),
        thing(Kind.ENEMY, 1700.9, 86, 160, look=2),
        thing(Kind.GAP, 1900.5, 180),
        thing(Kind.COIN, 2200.1, 44, 44, 20),
        thing(Kind.SOUL, 2400.7, 60, 60, 120),
        flying=(Arrow(1650.0, 200.0, 50.0, -8.0),),
        **changes,
    )


def ground_of(frame: FrameArray) -> np.ndarray:
    """Which columns of the scanned row show one of the profile's ground colours."""
    row = frame[SCANNED].astype(int)
    return np.any(
        [
            (np.abs(row - np.array(color)) <= GREAT_WALL.ground_tolerance).all(axis=1)
            for color in GREAT_WALL.ground_colors
        ],
        axis=0,
    )


def reach_of(sprite: Sprite) -> tuple[int, int, int, int]:
    """Free px at the left, upper, right and lower side of a sprite."""
    opaque = sprite.keep[..., 0] < 160
    rows, columns = np.flatnonzero(opaque.any(axis=1)), np.flatnonzero(opaque.any(axis=0))
    height, width = opaque.shape
    return int(columns[0]), int(rows[0]), width - 1 - int(columns[-1]), height - 1 - int(rows[-1])


@pytest.mark.parametrize("page", list(Page))
def test_every_page_draws_a_fresh_full_hd_frame(painter, page):
    first, second = painter.draw(busy(page=page)), painter.draw(busy(page=page))
    assert first.shape == (1080, 1920, 3)
    assert first.dtype == np.uint8
    assert first is not second
    assert first.std() > 10, "not a plain colour"


def test_pages_look_different(painter):
    frames = [painter.draw(busy(page=page)) for page in Page]
    for one, other in itertools.combinations(frames, 2):
        assert (one != other).any()


def test_equal_views_give_equal_pixels_from_any_painter(painter):
    other = Painter(COURSE, GREAT_WALL)
    other.draw(view(x=99_999.0, tick=7))
    for moment in (busy(), busy(height=120.0, vy=300.0, invulnerable=20), busy(page=Page.DEATH)):
        assert (painter.draw(moment) == other.draw(moment)).all()


@pytest.mark.parametrize("x", [0.0, 1000.0, 1000.75, 5759.99, PERIOD * 37 + 11.3, 1_234_567.8])
def test_the_scanned_row_is_ground_exactly_where_there_is_no_gap(painter, x):
    moment = view(
        thing(Kind.GAP, x - 40.3, 140),
        thing(Kind.GAP, x + 700.6, 200),
        thing(Kind.GAP, x + 1800.2, 230),
        x=x,
    )
    expected = np.ones(1920, bool)
    for gap in scene_of(moment, COURSE, GREAT_WALL).gaps:
        expected[int(gap.x1) : int(gap.x2)] = False
    assert expected.sum() < 1920 - 400
    np.testing.assert_array_equal(ground_of(painter.draw(moment)), expected)


def test_the_whole_period_of_the_wall_is_ground(painter):
    for x in range(0, PERIOD, 1920):
        assert ground_of(painter.draw(view(x=float(x)))).all()


def test_a_gap_is_far_from_the_ground_colours_wherever_it_comes(painter):
    """No pixel of a gap is within twice the tolerance, so a phone's video noise does not close it."""
    for x in range(0, 3 * PERIOD, 1900):
        row = painter.draw(view(thing(Kind.GAP, x, 1920), x=float(x)))[SCANNED].astype(int)
        for color in GREAT_WALL.ground_colors:
            assert np.abs(row - np.array(color)).max(axis=1).min() > 2 * GREAT_WALL.ground_tolerance


def test_every_strip_repeats_without_a_seam(painter):
    """Where a strip starts over, its columns differ no more than at other places of the same strip."""
    wall = painter._wall
    strips = [layer.pixels for layer in [*painter._layers, wall.valley, wall.parapet]]
    for pixels in [*strips, wall.face]:
        assert pixels.shape[1] == PERIOD + 1920
        assert (pixels[:, :1920] == pixels[:, PERIOD:]).all()
        steps = np.abs(np.diff(pixels[:, : PERIOD + 1].astype(int), axis=1)).mean(axis=(0, 2))
        assert steps[-1] <= np.sort(steps)[-20]


def test_layers_move_at_different_speeds_and_the_nearest_with_the_world(painter):
    speeds = [layer.speed for layer in painter._layers]
    assert speeds == sorted(set(speeds))
    assert speeds[-1] < painter._wall.parapet.speed == 1.0


@pytest.mark.parametrize("look", range(2 * len(KINDS)))
@pytest.mark.parametrize("size", [(60, 70), (60, 120), (110, 70), (110, 120), (87, 95)])
def test_obstacles_fill_their_boxes(look, size):
    sprite = draw_obstacle(look, *size)
    assert sprite.size == size
    assert max(reach_of(sprite)) <= 2


def test_the_rider_fills_his_box_in_every_pose():
    art = RiderArt(130, 150)
    poses = [art.galloping(k / PHASES, light) for k in range(PHASES) for light in (False, True)]
    poses += [art.airborne(rising, light) for rising in (False, True) for light in (False, True)]
    for sprite in poses:
        assert sprite.size == (130, 150)
        assert max(reach_of(sprite)) <= 2


def test_enemies_coins_and_souls_fill_their_boxes_in_every_phase():
    enemies = make_enemies(86, 160)
    assert len(enemies) == 3
    assert {len(walk) for walk in enemies} == {ENEMY_PHASES}
    for sprite in [sprite for walk in enemies for sprite in walk]:
        assert sprite.size == (86, 160)
        assert max(reach_of(sprite)) <= 2
    for sprite in [*make_coins(44), *make_souls(60)]:
        assert max(reach_of(sprite)) <= 2


@pytest.mark.parametrize(
    ("kind", "w", "h", "bottom"),
    [
        (Kind.OBSTACLE, 77, 103, 0),
        (Kind.ENEMY, 86, 160, 0),
        (Kind.COIN, 44, 44, 180),
        (Kind.SOUL, 60, 60, 90),
    ],
)
def test_what_is_drawn_stands_in_its_truth_box(painter, kind, w, h, bottom):
    for look, x in ((0, 1700.0), (1, 1700.99), (2, 1700.01)):
        moment = view(thing(kind, x, w, h, bottom, look), x=1000.5)
        box = scene_of(moment, COURSE, GREAT_WALL).objects[1]
        changed = (painter.draw(moment) != painter.draw(view(x=1000.5))).max(axis=2)
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        drawn = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
        assert np.abs(drawn - [box.x, box.y, box.x2, box.y2]).max() <= 2


@pytest.mark.parametrize("height", [0.0, 0.01, 133.7, 280.0])
def test_the_rider_stands_in_his_truth_box_and_blinks_without_vanishing(painter, height):
    away = painter.draw(view(height=5000.0))
    box = scene_of(view(height=height), COURSE, GREAT_WALL).objects[0]
    for invulnerable in range(0, 36, 3):
        changed = (painter.draw(view(height=height, vy=1.0, invulnerable=invulnerable)) != away).max(axis=2)
        changed[:140] = False
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        drawn = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
        assert np.abs(drawn - [box.x, box.y, box.x2, box.y2]).max() <= 2


def test_invulnerability_shows(painter):
    seen = {painter.draw(view(invulnerable=ticks))[730:880, 180:310].tobytes() for ticks in range(36)}
    assert len(seen) == 2


def test_things_beyond_the_sides_are_cut_off(painter):
    moment = view(thing(Kind.ENEMY, 1000 - 40, 86, 160), thing(Kind.OBSTACLE, 1000 + 1900, 80, 80))
    changed = (painter.draw(moment) != painter.draw(view())).any(axis=(0, 2))
    assert changed[:40].any()
    assert changed[-15:].any()
    assert not changed[50:1890].any()


@pytest.mark.parametrize(("vx", "vy"), [(50.0, 0.0), (40.0, 30.0), (45.0, -20.0)])
def test_an_arrow_lies_along_its_flight_behind_its_tip(painter, vx, vy):
    moment = view(flying=(Arrow(1900.0, 400.0, vx, vy),))
    changed = (painter.draw(moment) != painter.draw(view())).max(axis=2)
    y, x = np.nonzero(changed)
    tail = np.array([x.mean() - 900, (880 - 400) - y.mean()])
    direction = -tail / np.linalg.norm(tail)
    assert direction @ np.array([vx, vy]) / np.hypot(vx, vy) > 0.99
    assert np.hypot(x - 900, y - 480).max() < 110


def test_hud_digits_keep_their_margin_at_the_widest_value():
    art = HudArt(GREAT_WALL)
    for lives, arrows, coins, distance in ((10, 99, 9_999, 99_999), (0, 88, 8_888, 80_888)):
        frame = np.full((140, 1920, 3), 180, np.uint8)
        art.paint(frame, view(lives=lives, arrows=arrows, coins=coins, distance_m=distance))
        for _, field in GREAT_WALL.hud:
            x, y, w, h = field.box
            bright = frame[y : y + h, x : x + w].min(axis=2) > 120
            inner = bright[MARGIN - 2 : 2 - MARGIN, MARGIN - 2 : 2 - MARGIN]
            assert inner.any()
            assert bright.sum() == inner.sum()


def test_tesseract_reads_the_hud():
    reader, art = HudReader(GREAT_WALL, EyesConfig(hud_engine="tesserocr")), HudArt(GREAT_WALL)
    frame = np.full((1080, 1920, 3), 120, np.uint8)
    wrong = []
    for k in range(120):
        values = (k % 11, k % 100, k * 7919 % 10_000 if k > 40 else k, k * 104_729 % 100_000 if k > 40 else k)
        lives, arrows, coins, distance = values
        art.paint(frame, view(lives=lives, arrows=arrows, coins=coins, distance_m=distance))
        wrong += [(a, b) for a, b in zip(values, reader.read(frame), strict=True) if a != b]
    reader.close()
    assert len(wrong) <= 4, wrong  # 1 % of 480


def test_the_hud_is_the_same_over_any_scenery(painter):
    for _, field in GREAT_WALL.hud:
        x, y, w, h = field.box
        boxes = [painter.draw(view(x=px))[y : y + h, x : x + w] for px in (0.0, 7777.7)]
        assert (boxes[0] == boxes[1]).all()


def test_a_profile_of_another_size_is_refused():
    with pytest.raises(ConfigError, match="expected frames of"):
        Painter(COURSE, dataclasses.replace(GREAT_WALL, frame_size=(1280, 720)))


def test_drawing_does_not_depend_on_the_number_of_threads(painter):
    before = cv2.getNumThreads()
    first = painter.draw(busy())
    cv2.setNumThreads(3)
    second = painter.draw(busy())
    cv2.setNumThreads(before)
    assert (first == second).all()
