"""The oracle: its model of the game is the game, it knows no draw, and it comes farther than rule."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from benchmarks.players import ride
from config import Config, DelayConfig, replace_in
from greatwall.assembly import build_env, make_config
from greatwall.contracts import Action, Hud, Perception
from greatwall.errors import ConfigError
from greatwall.game.rules import Game
from greatwall.game.view import Kind
from greatwall.learning.starts import moved_to
from greatwall.players import give_truth, make_player
from greatwall.players.oracle import NEVER, OraclePlayer, OracleSettings, jump_heights, paths, touch_delays

CONFIG = Config()
NO_OBSERVATION = np.ones(207, np.float32)


def tapped(game: Game, delay: int) -> None:
    """A tap whose delay is known: it works that many ticks from now."""
    game.set_state({**game.get_state(), "touches": [[game.tick + delay, 300.0, 300.0, 300.0, 300.0]]})


def game_with(kind: Kind, ahead_px: float, w: float, h: float) -> Game:
    """A run with one thing on the wall and nothing else, far and wide."""
    game = Game(CONFIG.course, CONFIG.delays, 0)
    game.new_game(1)
    x = game.x + 310 + ahead_px
    state = game.get_state()
    state["things"] = [[1, int(kind), x, w, h, 0.0, 0, 0, x, 0.0]]
    state["course"]["next_x"] = 1e9
    game.set_state(state)
    return game


def seen(aim: tuple[float, float] = (545.0, 805.0)) -> Perception:
    far = float("inf")
    return Perception(
        1, 0.0, 0.0, (1920, 1080), (180, 730, 310, 880), (), (), (), (), far, far, far, far, aim,
        None, False, (), Hud(3, 20, 0, 0),  # type: ignore[arg-type]
    )  # fmt: skip


def test_its_jump_is_the_games_to_the_last_digit() -> None:
    game = game_with(Kind.COIN, 1e6, 44, 44)
    tapped(game, 1)
    heights = []
    for _ in range(60):
        game.advance(1)
        heights.append(game.height)
    modelled = jump_heights(CONFIG.course.jump_speed_px_s, CONFIG.course.gravity_px_s2)
    assert heights[: len(modelled)] == pytest.approx(modelled.tolist(), abs=1e-9)
    assert set(heights[len(modelled) :]) == {0.0}


@pytest.mark.parametrize(
    ("delays", "ticks", "chances"),
    [
        (DelayConfig(), range(9, 16), [1 / 7] * 7),
        (DelayConfig(touch_to_effect_s=(0.05, 0.08)), [2], [1.0]),
        (DelayConfig(touch_to_effect_s=(0.0, 0.0)), [1], [1.0]),
        (DelayConfig(decision_to_touch_s=(0.0, 1 / 30), touch_to_effect_s=(0.1, 4 / 30)), [3, 4, 5],
         [0.25, 0.5, 0.25]),
    ],
    ids=["standard", "low", "none", "two parts"],
)  # fmt: skip
def test_delays_are_weighed_by_their_chances(delays: DelayConfig, ticks: Any, chances: list[float]) -> None:
    found, weights = touch_delays(Config(delays=delays))
    assert found.tolist() == list(ticks)
    assert weights == pytest.approx(chances)


def test_a_tap_in_the_air_counts_only_once_he_has_landed() -> None:
    on_time = paths(10, 6, np.array([4]), np.ones(1))
    assert on_time.ends[:, 0].tolist() == [6, 7, 8, 9, 10, 10, 10, 2, 2, 2, 2]
    untapped = paths(10, 6, np.array([NEVER]), np.ones(1))
    assert untapped.ends[:, 0].tolist() == [6, 7, 8, 9, 10, 10, 10, 10, 10, 10, 10]


@pytest.mark.parametrize("ahead_px", range(0, 300, 20))
@pytest.mark.parametrize(("kind", "w", "h"), [(Kind.OBSTACLE, 90.0, 100.0), (Kind.GAP, 200.0, 0.0)])
def test_its_chance_of_a_lost_life_is_that_of_the_game(
    kind: Kind, w: float, h: float, ahead_px: float
) -> None:
    """One jump now, all seven delays tried in the game itself."""
    game = game_with(kind, ahead_px, w, h)
    lost = 0
    for delay in range(9, 16):
        clone = Game(CONFIG.course, CONFIG.delays, 0)
        clone.set_state(game.get_state())
        tapped(clone, delay)
        clone.advance(15)
        lost += clone.lives < game.lives
    oracle = OraclePlayer(CONFIG, OracleSettings(0.5))
    x = oracle._positions(game.x)
    need = [oracle._need(thing, x, game.tick) for thing in game.things]
    play = oracle._search(oracle._harm(need, 0), oracle._phase(0.0, 0.0))
    assert play.jump == pytest.approx(lost / 7)


def test_looking_ahead_changes_nothing_and_reads_no_draw() -> None:
    env = build_env(make_config())
    oracle = OraclePlayer(CONFIG)
    states = []
    observation, info = env.reset(seed=3)
    oracle.attach(env.save_game)
    for _ in range(60):
        before = env.save_game()
        action = oracle.act(observation, info["perception"])
        assert env.save_game() == before
        states.append((before, action, info["perception"]))
        observation, _, _, _, info = env.step(action)
    env.close()
    assert {action for _, action, _ in states} >= {Action.WAIT, Action.JUMP}
    for state, action, perception in states:
        other = copy.deepcopy(state)
        other["state"]["game"]["touch_rng"] = np.random.default_rng(5).bit_generator.state
        other["state"]["game"]["touches"] = []
        oracle.attach(lambda other=other: other)  # type: ignore[misc]
        assert oracle.act(observation, perception) is action


def test_it_waits_where_nothing_can_happen_and_jumps_what_is_near() -> None:
    oracle = OraclePlayer(CONFIG)
    for ahead_px, expected in ((1200.0, Action.WAIT), (180.0, Action.JUMP)):
        game = game_with(Kind.OBSTACLE, ahead_px, 90.0, 100.0)
        oracle.attach(lambda game=game: {"state": {"game": game.get_state()}})  # type: ignore[misc]
        assert oracle.act(NO_OBSERVATION, seen()) is expected


@pytest.mark.parametrize(("arrows", "expected"), [(20, Action.SHOOT), (0, Action.WAIT)])
def test_it_shoots_an_enemy_that_it_will_hit(arrows: int, expected: Action) -> None:
    game = game_with(Kind.ENEMY, 600.0, 86.0, 160.0)
    state = {**game.get_state(), "arrows": arrows}
    oracle = OraclePlayer(CONFIG)
    oracle.attach(lambda: {"state": {"game": state}})
    assert oracle.act(NO_OBSERVATION, seen((545.0, 775.0))) is expected


def test_without_a_game_it_says_how_to_play_it() -> None:
    with pytest.raises(ConfigError, match=r"attached.*evaluate --policy oracle"):
        make_player("oracle", CONFIG).act(NO_OBSERVATION, seen())


def test_only_the_oracle_is_given_the_truth() -> None:
    def never() -> dict[str, Any]:
        raise AssertionError("looked at the game")

    for name in ("rule", "rule207", "random", "idle"):
        player = make_player(name, CONFIG)
        give_truth(player, never)
        player.reset(0)
        player.act(NO_OBSERVATION, build_perception())


def build_perception() -> Perception:
    env = build_env(make_config())
    _, info = env.reset(seed=1)
    env.close()
    found: Perception = info["perception"]
    return found


def test_it_comes_farther_than_the_rule_player_where_speed_makes_it_hard() -> None:
    config = make_config(variants=("one_life",))
    env = build_env(config)
    reached = {
        name: sum(
            ride(env, make_player(name, config), seed, 26_000)[0] for seed in range(1_000_200, 1_000_204)
        )
        for name in ("rule", "oracle")
    }
    env.close()
    assert reached["oracle"] > reached["rule"] + 4 * 500


def test_a_moved_start_is_the_course_at_that_speed() -> None:
    env = build_env(replace_in(make_config(), "env", max_distance_m=100))
    env.reset(seed=1_000_000)
    saved = moved_to(env.save_game(), 20_000, CONFIG.course.px_per_m)
    _, info = env.reset(options={"state": saved})
    env.close()
    assert info["hud"].distance == 20_000
