"""The rules that turn a sight into a perception, by tables."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from config import GREAT_WALL
from greatwall.contracts import Frame, GameObject, Gap, Ground, Hud, Perception, Sight
from rule_engine import Box, RuleEngine, Tracker

WIDTH = 1920
BLACK = np.zeros((1, 1, 3), np.uint8)
HORSE = GameObject("horse", 180, 730, 130, 150)


def sight(*objects: GameObject, gaps: tuple[Gap, ...] = (), from_x: float = 310) -> Sight:
    return Sight(objects, Ground(gaps, from_x, WIDTH))


class Play:
    """Shows an engine one sight after another, a tenth of a second apart."""

    def __init__(self, period_s: float = 0.1) -> None:
        self.engine = RuleEngine(GREAT_WALL)
        self.period_s = period_s
        self.frames = 0

    def show(self, *objects: GameObject, gaps: tuple[Gap, ...] = (), horse: bool = True) -> Perception:
        self.frames += 1
        at_s = self.frames * self.period_s
        frame = Frame(self.frames, at_s, GREAT_WALL.frame_size, bgr=BLACK)
        seen = sight(*((HORSE,) if horse else ()), *objects, gaps=gaps)
        return self.engine.perceive(frame, seen, Hud(), at_s + 0.05)


def thing(category: str, x: float, y: float = 800, w: float = 80, h: float = 80, **more: float) -> GameObject:
    return GameObject(category, x, y, w, h, **more)


@pytest.mark.parametrize(
    ("xs", "nearest"),
    [
        ([], math.inf),
        ([700], 390),
        ([900, 500], 190),
        ([310], 0),
        ([250], 0),  # beside the rider: it overlaps
        ([101], 0),  # x2 is 181: one px still ahead of the rider's back
        ([100], math.inf),  # x2 is 180: behind
        ([60, 640], 330),
    ],
)
@pytest.mark.parametrize(
    ("category", "field"),
    [
        ("obstacle", "nearest_danger"),
        ("enemy", "nearest_enemy"),
        ("soul", "nearest_soul"),
        ("coin", "nearest_coin"),
    ],
)
def test_nearest_distance(xs: list[float], nearest: float, category: str, field: str) -> None:
    perception = Play().show(*(thing(category, x) for x in xs))
    assert getattr(perception, field) == nearest


def test_lists_hold_each_role_sorted_by_x() -> None:
    perception = Play().show(
        thing("coin", 900), thing("obstacle", 700), thing("coin", 500), thing("soul", 600), thing("enemy", 1)
    )
    assert [one.x for one in perception.coin_list] == [500, 900]
    assert [len(x) for x in (perception.danger_list, perception.enemy_list, perception.soul_list)] == [1] * 3
    assert perception.horse_pos == (180, 730, 310, 880)


CENTER = (245, 805)


@pytest.mark.parametrize(
    ("enemy_center", "target"),
    [
        (None, (545, 805)),
        ((245 + 200, 805), (545, 805)),  # near: straight at it
        ((245 + 240, 805), (545, 805)),  # exactly at the switch: not over it
        ((245 + 241, 805), (545, 755)),  # far: 50 px higher
        ((245 + 400, 805 - 300), (245 + 240, 805 - 180 - 50)),  # 300 px along the line, then higher
        ((245 + 120, 805 + 90), (245 + 240, 805 + 180)),
        (CENTER, (545, 805)),  # upon us: straight ahead
        ((120, 805), (545, 805)),  # behind us: nobody to shoot at
    ],
)
def test_shoot_target(enemy_center: tuple[float, float] | None, target: tuple[float, float]) -> None:
    enemies = []
    if enemy_center is not None:
        enemies.append(thing("enemy", enemy_center[0] - 43, enemy_center[1] - 80, 86, 160))
    assert Play().show(*enemies).shoot_target == pytest.approx(target)


def test_shoot_target_is_the_nearest_enemy_still_ahead() -> None:
    perception = Play().show(
        thing("enemy", 20, 725, 86, 160),
        thing("enemy", 1200, 200, 86, 160),
        thing("enemy", 400, 725, 86, 160),
    )
    assert perception.shoot_target == pytest.approx((545, 805))


def test_rider_unseen_stays_where_it_was_last() -> None:
    play = Play()
    assert play.show(horse=False).horse_pos == (180, 730, 310, 880)
    play.show(GameObject("horse", 180, 500, 130, 150), horse=False)
    assert play.show(horse=False).horse_pos == (180, 500, 310, 650)
    play.engine.reset()
    assert play.show(horse=False).horse_pos == (180, 730, 310, 880)


def test_rider_x_is_steady_under_detector_noise_and_y_follows_at_once() -> None:
    rng = np.random.default_rng(3)
    play = Play()
    xs = []
    for _ in range(200):
        left, right = 180 + rng.normal(0, 1.5), 310 + rng.normal(0, 1.5)
        rider = GameObject("horse", left, 600, right - left, 150, 0.9)
        xs.append(play.show(rider, horse=False).horse_pos)
    settled = np.array(xs[40:])
    assert np.abs(settled[:, 0] - 180).max() < 1
    assert np.abs(np.diff(settled[:, 0])).max() < 1
    assert np.abs(np.diff(settled[:, 2])).max() < 1
    assert settled[-1, 1] == 600


def test_a_rider_where_none_can_be_is_not_believed() -> None:
    play = Play()
    play.show()
    perception = play.show(GameObject("horse", 900, 730, 130, 150, 0.9), horse=False)
    assert perception.horse_pos == (180, 730, 310, 880)


def test_surest_of_two_riders_is_taken() -> None:
    sure, unsure = GameObject("horse", 181, 700, 130, 150, 0.9), GameObject("horse", 170, 720, 130, 150, 0.4)
    assert Play().show(unsure, sure, horse=False).horse_pos == (181, 700, 311, 850)


@pytest.mark.parametrize("tracked", [False, True])
def test_ids_last_and_movement_is_filled_in(tracked: bool) -> None:
    play = Play()
    ids, moves = [], []
    for step in range(6):
        own = {"track_id": 40} if tracked else {}
        coin = play.show(thing("coin", 1000 - 40 * step, 700 + step, 44, 44, **own)).coin_list[0]
        ids.append(coin.track_id)
        moves.append((coin.dx, coin.dy))
    assert len(set(ids)) == 1
    assert ids[0] >= 0
    assert moves == [(0, 0)] + [(-40, 1)] * 5
    assert not tracked or ids[0] == 40


@pytest.mark.parametrize("speed", [400, 600])
@pytest.mark.parametrize("period_s", [1 / 30, 0.1])
def test_a_row_of_coins_keeps_its_ids(speed: float, period_s: float) -> None:
    play = Play(period_s=period_s)
    rng = np.random.default_rng(1)
    seen: list[dict[int, int]] = []
    for step in range(3):  # how fast the world goes by is known from what was there before
        play.show(thing("obstacle", 1500 - speed * period_s * step))
    for step in range(20):
        coins = [
            thing("coin", 900 + 60 * n - speed * period_s * step + rng.normal(0, 1.5), 700, 44, 44)
            for n in range(4)
        ]
        found = play.show(*reversed(coins)).coin_list
        seen.append({n: coin.track_id for n, coin in enumerate(found)})
    assert all(one == seen[0] for one in seen)


@pytest.mark.parametrize("speed", [0, 400, 450, 600])
@pytest.mark.parametrize("period_s", [1 / 30, 0.1])
@pytest.mark.parametrize("cut", [True, False])
def test_a_row_of_coins_keeps_its_ids_from_the_first_look(speed: float, period_s: float, cut: bool) -> None:
    """Nothing tells how fast the world goes by but the coins, each of which nearly falls on its neighbour."""
    play = Play(period_s=period_s)
    rng = np.random.default_rng(1)
    seen = []
    for step in range(12):
        coins = [
            thing("coin", 1100 + 60 * n - speed * period_s * step + rng.normal(0, 2), 700, 44, 44)
            for n in range(3)
        ]
        gap = Gap(max(0.0, rng.normal(0, 2)), 260 - speed * period_s * step)  # its left edge stands still
        found = play.show(*coins, gaps=(gap,) if cut and gap.x2 > 10 else ()).coin_list
        seen.append([coin.track_id for coin in found])
    assert all(one == seen[0] for one in seen)


def test_a_world_that_stands_still_goes_on_with_the_same_ids() -> None:
    play = Play()
    ids = set()
    for step in (0, 0, 0, 0, 1, 2, 3, 4):
        found = play.show(*(thing("coin", 900 + 60 * n - 44 * step, 700, 44, 44) for n in range(4))).coin_list
        ids.add(tuple(coin.track_id for coin in found))
    assert len(ids) == 1


def test_nothing_far_to_the_right_is_taken_for_what_was_seen() -> None:
    play = Play()
    first = play.show(thing("soul", 900)).soul_list[0].track_id
    play.show(thing("soul", 900))
    assert play.show(thing("soul", 935)).soul_list[0].track_id != first


def test_another_tracker_may_stand_behind_the_rules() -> None:
    class Numbering(Tracker):
        def assign(self, boxes: list[Box], at_s: float) -> list[int]:
            return [100 + n for n in range(len(boxes))]

    engine = RuleEngine(GREAT_WALL, Numbering())
    frame = Frame(1, 0.1, GREAT_WALL.frame_size, bgr=BLACK)
    found = engine.perceive(frame, sight(thing("coin", 900), thing("soul", 700)), Hud(), 0.1)
    assert [found.coin_list[0].track_id, found.soul_list[0].track_id] == [100, 101]


def test_ids_survive_two_missed_frames_but_not_ten() -> None:
    play = Play(period_s=1 / 30)
    shown = [play.show(thing("obstacle", 1000 - 15 * step)).danger_list[0].track_id for step in range(4)]
    play.show()
    play.show()
    again = play.show(thing("obstacle", 1000 - 15 * 6)).danger_list[0].track_id
    assert {*shown, again} == {shown[0]}
    for _ in range(10):
        play.show()
    assert play.show(thing("obstacle", 1000 - 15 * 17)).danger_list[0].track_id != again


def test_things_of_different_kinds_never_share_a_track() -> None:
    play = Play()
    obstacle = play.show(thing("obstacle", 600)).danger_list[0].track_id
    assert play.show(thing("coin", 600)).coin_list[0].track_id != obstacle


def run_past(play: Play, step_px: float = 45, *, x: float = 420, until: float = -60) -> list[Perception]:
    """An obstacle comes and goes; one perception for each of its positions."""
    shown = []
    while x > until:
        shown.append(play.show(thing("obstacle", x)))
        x -= step_px
    return shown


def test_an_obstacle_that_goes_behind_is_one_passing() -> None:
    play = Play()
    shown = run_past(play)
    counts = [len(one.passings) for one in shown]
    assert counts == sorted(counts)
    assert counts[-1] == 1
    first = counts.index(1)
    passing = shown[first].passings[0]
    assert (passing.kind, passing.serial) == ("obstacle", 1)
    assert shown[first].danger_list[0].x2 <= 180 < shown[first - 1].danger_list[0].x2
    met = [one for one in shown if one.danger_list[0].x > 310][-1]
    assert passing.met_at_s == met.captured_at_s, "the last frame in which it had not reached the rider"
    assert passing.passed_at_s == shown[first].captured_at_s
    assert passing.track_id == met.danger_list[0].track_id


def test_passings_are_kept_two_seconds_and_serials_rise_over_resets() -> None:
    play = Play()
    run_past(play)
    run_past(play)
    shown = play.show()
    assert [one.serial for one in shown.passings] == [1, 2]
    for _ in range(21):
        shown = play.show()
    assert shown.passings == ()
    play.engine.reset()
    assert run_past(play)[-1].passings[0].serial == 3


@pytest.mark.parametrize(
    "positions",
    [
        [400, 355, 310, 265],  # hit and gone
        [500],  # seen once
        [60, 20],  # first seen when it was behind already
    ],
)
@pytest.mark.parametrize("tracked", [False, True])
def test_a_vanished_track_pays_nothing(positions: list[float], tracked: bool) -> None:
    play = Play()
    own = {"track_id": 9} if tracked else {}
    for x in positions:
        play.show(thing("obstacle", x, **own))
    for _ in range(12):
        assert play.show().passings == ()


def test_a_missed_frame_while_passing_still_pays_once() -> None:
    play = Play(period_s=1 / 30)
    for step in range(25):
        x = 420 - 15 * step
        shown = play.show(*(() if step in (12, 20) else (thing("obstacle", x),)))
    assert [one.kind for one in shown.passings] == ["obstacle"]


@pytest.mark.parametrize(
    ("gap", "cliff"),
    [
        ((511, 700), False),
        ((510, 700), True),
        ((400, 600), True),
        ((100, 250), True),
        ((10, 181), True),
        ((0, 180), False),
        ((1700, 1920), False),
    ],
)
def test_cliff_flag(gap: tuple[float, float], cliff: bool) -> None:
    assert Play().show(gaps=(Gap(*gap),)).cliff is cliff


@pytest.mark.parametrize("tracked", [False, True])
def test_a_gap_that_goes_behind_is_one_passing(tracked: bool) -> None:
    play = Play()
    shown = [
        play.show(gaps=(Gap(max(0, x), max(0, x) + 160 + min(0, x), 5 if tracked else -1),))
        for x in range(700, -150, -40)
    ]
    flags = [one.cliff for one in shown]
    up, down = flags.index(True), len(flags) - 1 - flags[::-1].index(True)
    assert all(flags[up : down + 1])
    passing = shown[-1].passings[0]
    assert passing.kind == "cliff"
    assert passing.passed_at_s == shown[down + 1].captured_at_s
    assert passing.met_at_s == [s.captured_at_s for s in shown if s.ground.gaps[0].x1 > 310][-1]
    assert [len(one.passings) for one in shown] == [0] * (down + 1) + [1] * (len(shown) - down - 1)


def test_a_gap_unseen_for_a_frame_keeps_the_flag_up_and_pays_once() -> None:
    play = Play(period_s=1 / 30)
    shown = []
    for step in range(35):
        x = 480 - 15 * step
        shown.append(play.show(gaps=() if step in (8, 15) else (Gap(x, x + 160),)))
    flags = [one.cliff for one in shown]
    assert flags[:8] == [True] * 8
    assert flags[8]
    assert flags[15]
    assert [one.kind for one in shown[-1].passings] == ["cliff"]


@pytest.mark.parametrize("unseen", range(30, 48))
def test_a_gap_unseen_just_as_it_goes_behind_is_paid_when_it_is_seen_there(unseen: int) -> None:
    play = Play(period_s=1 / 30)
    for step in range(55):
        x = 480 - 15 * step  # its end is behind the rider's 180 from step 31 on
        shown = play.show(gaps=() if step == unseen or x < -159 else (Gap(max(0, x), x + 160),))
    assert [one.kind for one in shown.passings] == ["cliff"]
    assert not shown.cliff


def test_a_gap_that_vanishes_pays_nothing() -> None:
    play = Play()
    for x in (480, 440, 400):
        assert play.show(gaps=(Gap(x, x + 160),)).cliff
    shown = [play.show() for _ in range(12)]
    assert not shown[-1].cliff
    assert all(one.passings == () for one in shown)


def test_two_gaps_under_one_flag_are_one_passing() -> None:
    play = Play()
    shown = [play.show(gaps=(Gap(x, x + 150, 1), Gap(x + 300, x + 450, 2))) for x in range(400, -640, -40)]
    assert [one.kind for one in shown[-1].passings] == ["cliff"]


def test_a_stranger_far_off_does_not_hide_the_rider() -> None:
    play = Play()
    perception = play.show(
        GameObject("horse", 180, 500, 130, 150, 0.6),
        GameObject("horse", 900, 730, 130, 150, 0.9),
        horse=False,
    )
    assert perception.horse_pos == (180, 500, 310, 650)


def test_a_blank_frame_does_not_drop_the_cliff_flag() -> None:
    play = Play()
    for x in (480, 440, 400):
        assert play.show(gaps=(Gap(x, x + 160),)).cliff
    assert play.show(horse=False).cliff


def test_terrain_starts_at_the_riders_right_edge() -> None:
    play = Play()
    for _ in range(20):
        perception = play.show(
            GameObject("horse", 186, 730, 130, 150, 0.9), gaps=(Gap(316 + 30, 316 + 60),), horse=False
        )
    assert perception.ground.from_x == 316
    assert np.flatnonzero(perception.ground.cells == 0).tolist() == list(range(10, 20))


def test_truth_and_untracked_sights_agree() -> None:
    truth, vision = Play(), Play()
    for step in range(40):
        x = 900 - 30 * step
        things = [thing("obstacle", x), thing("coin", x + 200, 700, 44, 44), thing("enemy", x + 400)]
        named = [one._replace(track_id=n + 1) for n, one in enumerate(things)]
        a, b = truth.show(*named), vision.show(*things)
        for name in ("nearest_danger", "nearest_coin", "nearest_enemy", "shoot_target", "cliff", "horse_pos"):
            assert getattr(a, name) == getattr(b, name)
        assert [one[3:] for one in a.passings] == [one[3:] for one in b.passings]
        assert [one.dx for one in a.objects] == [one.dx for one in b.objects]


def test_another_games_class_names_play_the_same_roles() -> None:
    dino = dataclasses.replace(
        GREAT_WALL, classes=("cactus", "trex"), roles=(("cactus", "danger"), ("trex", "rider"))
    )
    engine = RuleEngine(dino)
    seen = sight(GameObject("trex", 180, 700, 130, 150), thing("cactus", 600))
    perception = engine.perceive(Frame(1, 0.0, (1920, 1080), bgr=BLACK), seen, Hud(), 0.0)
    assert perception.nearest_danger == 290
