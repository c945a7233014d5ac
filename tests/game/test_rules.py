"""The embedded game: physics, hits, pages, determinism, state."""

import json
import math

import pytest

from config import CourseConfig, DelayConfig
from greatwall.game.course import Course
from greatwall.game.rules import Game
from greatwall.game.view import Kind, Page, Thing

NOW = DelayConfig((0, 0), (0, 0), (0, 0), (0, 0))
COURSE = CourseConfig()


def make_game(*things: Thing, delays: DelayConfig = NOW, course: CourseConfig = COURSE) -> Game:
    """A live run with exactly these things on an otherwise endless empty wall."""
    game = Game(course, delays, 0)
    game.new_game(0)
    state = game.get_state()
    state["things"] = [list(thing) for thing in things]
    state["course"]["next_x"] = 1e9
    game.set_state(state)
    return game


def thing(kind: Kind, x: float, w: float = 80, h: float = 100, bottom: float = 0) -> Thing:
    return Thing(1, kind, x, w, h, bottom, 0, 0, x, 0.0)


def enemy(x: float, stop_x: float = -1e9) -> Thing:
    return Thing(1, Kind.ENEMY, x, 86, 160, 0, 0, 0, stop_x, 2.0)


def test_the_rider_starts_at_twenty_metres_a_second():
    game = make_game()
    game.advance(30)
    assert game.distance_m == 20


def test_speed_grows_by_two_metres_a_second_every_thousand_metres():
    game = make_game()
    game.x = 1000 * 20.0
    assert game.speed_px_s == pytest.approx(22 * 20)
    game.x = 50_000 * 20.0
    assert game.speed_px_s == pytest.approx(120 * 20), "without end"


def test_a_jump_lasts_nine_tenths_of_a_second_and_rises_280_px():
    game = make_game()
    game.tap(300, 300)
    heights = []
    for _ in range(40):
        game.advance(1)
        heights.append(game.height)
    airborne = [h for h in heights if h > 0]
    assert len(airborne) / 30 == pytest.approx(0.9, abs=0.05)
    assert max(airborne) == pytest.approx(280, abs=22)


def test_a_tap_in_the_air_is_ignored():
    once, twice = make_game(), make_game()
    once.tap(300, 300)
    twice.tap(300, 300)
    once.advance(10)
    twice.advance(10)
    twice.tap(300, 300)
    once.advance(15)
    twice.advance(15)
    assert once.height == twice.height


@pytest.mark.parametrize(
    ("what", "cause"),
    [
        (thing(Kind.OBSTACLE, 600), "obstacle"),
        (enemy(700), "enemy"),
        (thing(Kind.GAP, 600, w=200, h=0), "gap"),
    ],
)
def test_each_hazard_costs_one_life_and_then_the_rider_is_safe_for_a_while(what, cause):
    game = make_game(what)
    game.advance(60)
    assert game.lives == 2
    assert game.hits[cause] == 1


def test_an_obstacle_jumped_in_time_costs_nothing():
    game = make_game(thing(Kind.OBSTACLE, 600, w=80, h=100))
    game.advance(12)  # x = 160 px: the obstacle is 130 px ahead of the rider's right edge
    game.tap(300, 300)
    game.advance(60)
    assert game.lives == 3


def test_after_a_fall_the_rider_is_set_down_on_the_far_side():
    game = make_game(thing(Kind.GAP, 600, w=230, h=0))
    while game.lives == 3:
        game.advance(1)
    while game.height > 0:
        game.advance(1)
    assert game.x + 180 >= 600 + 230 - 100
    assert game.lives == 2


def test_the_third_hit_ends_the_run_and_names_its_cause():
    course = CourseConfig(lives=1)
    game = make_game(thing(Kind.OBSTACLE, 600), course=course)
    game.advance(60)
    assert game.page is Page.FALLEN
    assert (game.lives, game.death) == (0, "obstacle")


def test_an_arrow_kills_one_enemy_and_is_spent():
    game = make_game(enemy(1000))
    game.swipe(245, 805, 545, 805)
    game.advance(30)
    assert (game.arrows, game.kills, len(game.things)) == (19, 1, 0)


@pytest.mark.parametrize(("distance", "rise", "hits"), [(1350, 0, False), (1350, 50, True), (500, 0, True)])
def test_far_enemies_need_the_raised_shot(distance, rise, hits):
    game = make_game(enemy(310 + distance))
    game.swipe(245, 805, 545, 805 - rise)
    game.advance(29)
    assert game.kills == int(hits)


def test_without_arrows_nothing_flies():
    game = make_game(enemy(1000))
    game.arrows = 0
    game.swipe(245, 805, 545, 805)
    game.advance(1)
    assert not game.flying


def test_a_soul_gives_three_arrows_up_to_ninety_nine():
    game = make_game(thing(Kind.SOUL, 400, 60, 60, 60))
    game.arrows = 98
    game.advance(30)
    assert game.arrows == 99


def test_a_low_coin_is_collected_on_the_ground_and_a_high_one_only_in_the_air():
    game = make_game(thing(Kind.COIN, 400, 44, 44, 20))
    game.advance(30)
    assert game.coins == 1
    game = make_game(thing(Kind.COIN, 500, 44, 44, 240))
    game.advance(40)
    assert game.coins == 0


def test_enemies_walk_at_sixty_px_a_second_and_stop_before_what_stands_there():
    walking = enemy(1000, stop_x=900)
    assert walking.x_at(30) == 940
    assert walking.x_at(300) == 900


def test_touches_work_after_the_phones_delay():
    delays = DelayConfig(touch_to_effect_s=(0.3, 0.5))
    for seed in range(20):
        game = Game(COURSE, delays, 0)
        game.new_game(seed)
        game.tap(300, 300)
        ticks = 0
        while game.height == 0:
            game.advance(1)
            ticks += 1
        assert 9 <= ticks <= 15


def test_the_pages_lead_from_title_to_a_run_and_from_a_death_to_the_next():
    game = Game(CourseConfig(lives=1), NOW, 0)
    assert game.page is Page.TITLE
    game.tap(300, 300)
    game.advance(30)
    assert game.page is Page.TITLE, "only the button starts"
    game.tap(960, 1000)
    game.advance(60)
    assert game.page is Page.PLAYING
    first_seed = game.seed
    while game.page is Page.PLAYING:
        game.advance(30)
    assert game.page is Page.FALLEN
    game.tap(300, 300)
    game.advance(1)
    assert game.page is Page.FALLEN, "a late jump must not close the page before it is seen"
    game.advance(60)
    game.tap(300, 300)
    game.advance(1)
    assert game.page is Page.DEATH
    game.advance(60)
    game.tap(960, 1000)
    game.advance(1)
    assert game.page is Page.LOADING
    game.advance(29)
    assert game.page is Page.LOADING
    game.advance(1)
    assert (game.page, game.distance_m) == (Page.PLAYING, 0)
    assert game.seed != first_seed
    assert game.lives == 1


def play(game: Game, chunk: int, ticks: int = 1800) -> list:
    """Touches at fixed ticks; the time between asked for in pieces of `chunk`."""
    views = []
    for tick in range(0, ticks, 30):
        game.tap(300, 300) if tick % 60 else game.swipe(245, 805, 545, 755)
        for _ in range(30 // chunk):
            game.advance(chunk)
        views.append(game.view())
    return views


def test_equal_seeds_and_touches_give_equal_games_however_time_is_cut():
    games = [Game(COURSE, DelayConfig(), 0) for _ in range(3)]
    for game in games:
        game.new_game(7)
    runs = [play(game, chunk) for game, chunk in zip(games, (1, 5, 30), strict=True)]
    assert runs[0] == runs[1] == runs[2]


def test_a_saved_game_goes_on_exactly_after_a_trip_through_json():
    game = Game(COURSE, DelayConfig(), 0)
    game.new_game(11)
    play(game, 30, 300)
    copy = Game(COURSE, DelayConfig(), 99)
    copy.set_state(json.loads(json.dumps(game.get_state())))
    assert play(game, 30) == play(copy, 30)


def test_a_seed_gives_the_same_death_page_whatever_was_ridden_before():
    fresh, used = (Game(CourseConfig(lives=1), NOW, 0) for _ in range(2))
    used.new_game(3)
    used.advance(3000)
    for game in (fresh, used):
        game.new_game(7)
        game.advance(3000)
    assert fresh.view() == used.view()


def test_looking_changes_nothing():
    watched, unwatched = Game(COURSE, DelayConfig(), 0), Game(COURSE, DelayConfig(), 0)
    for game in (watched, unwatched):
        game.new_game(3)
    for _ in range(600):
        watched.view()
        watched.facts()
        watched.advance(1)
    unwatched.advance(600)
    assert watched.view() == unwatched.view()


def test_the_standard_course_holds_about_what_the_specification_says():
    counts = dict.fromkeys(Kind, 0)
    runs, length = 200, 2000 * 20
    for seed in range(runs):
        course = Course(COURSE, seed)
        while course.next_x < length:
            for placed in course.place(0, 400 + 0.002 * course.next_x):
                counts[placed.kind] += 1
    mean = {kind: count / runs for kind, count in counts.items()}
    for kind, about in zip(Kind, (15, 7, 2, 3, 20), strict=True):
        assert mean[kind] == pytest.approx(about, rel=0.2), kind


def test_a_close_follower_is_of_another_kind():
    course = Course(COURSE, 5)
    last_x, last_kind = -math.inf, None
    for _ in range(500):
        x = course.next_x
        kind = course.place(0, 400.0)[0].kind
        if x - last_x <= COURSE.close_follow_px[1]:
            assert kind is not last_kind
        last_x, last_kind = x, kind
