"""Who can play, and that each plays as it says."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from config import Config, replace_in
from greatwall.assembly import build_env, make_config
from greatwall.contracts import OBSERVATION_SIZE, Action, GameObject, Gap, Ground, Hud, Perception
from greatwall.errors import ConfigError, FileFormatError
from greatwall.learning.evaluation import play_episodes
from greatwall.metrics.statistics import mean
from greatwall.players import make_player
from greatwall.players.rule import RulePlayer
from greatwall.players.trained import PolicyPlayer
from greatwall.policies.network import NetworkSpec, build_policy
from greatwall.policies.policy_file import Policy, save_policy

NOTHING = np.ones(OBSERVATION_SIZE, np.float32)


def perception(
    now_s: float = 10.0,
    *,
    dangers: tuple[float, ...] = (),
    enemies: tuple[float, ...] = (),
    gaps: tuple[tuple[float, float], ...] = (),
    height: float = 0.0,
    arrows: int | None = 20,
) -> Perception:
    danger = tuple(GameObject("obstacle", x, 780, 80, 100, track_id=i) for i, x in enumerate(dangers))
    enemy = tuple(GameObject("enemy", x, 720, 86, 160, track_id=100 + i) for i, x in enumerate(enemies))
    return Perception(
        frame_id=1,
        captured_at_s=now_s - 2 / 30,
        perceived_at_s=now_s,
        size=(1920, 1080),
        horse_pos=(180, 730 - height, 310, 880 - height),
        danger_list=danger,
        enemy_list=enemy,
        soul_list=(),
        coin_list=(),
        nearest_danger=min([x - 310 for x in dangers], default=math.inf),
        nearest_enemy=min([x - 310 for x in enemies], default=math.inf),
        nearest_soul=math.inf,
        nearest_coin=math.inf,
        shoot_target=(545.0, 805.0),
        ground=Ground(tuple(Gap(*gap, i) for i, gap in enumerate(gaps)), 310.0, 1920),
        cliff=False,
        passings=(),
        hud=Hud(3, arrows, 0, 100),
    )


def lead_px(config: Config, speed_px_s: float | None = None) -> float:
    """How far from the rider an obstacle is, as seen, when the rule player jumps."""
    for distance in range(900, 0, -5):
        player = RulePlayer(config)
        if speed_px_s is not None:
            player.speed_px_s = speed_px_s
        if player.act(NOTHING, perception(dangers=(310.0 + distance,))) is Action.JUMP:
            return float(distance)
    raise AssertionError("never jumped")


def test_nothing_ahead_nothing_done() -> None:
    assert RulePlayer(Config()).act(NOTHING, perception()) is Action.WAIT


def test_the_lead_grows_with_speed() -> None:
    assert lead_px(Config(), 400) < lead_px(Config(), 600) < lead_px(Config(), 900)


def test_the_lead_covers_the_touch_delay() -> None:
    slow = lead_px(Config())
    fast = lead_px(replace_in(Config(), "delays", touch_to_effect_s=(0.05, 0.08)))
    assert slow - fast == pytest.approx(400 * (0.4 - 0.065), abs=40)


def test_a_gap_is_jumped_too() -> None:
    player = RulePlayer(Config())
    actions = [
        player.act(NOTHING, perception(10 + i * 0.1, gaps=((900 - 40 * i, 1080 - 40 * i),)))
        for i in range(14)
    ]
    assert Action.JUMP in actions


def test_an_enemy_is_shot_once_while_the_arrow_flies() -> None:
    player = RulePlayer(Config())
    assert player.act(NOTHING, perception(10.0, enemies=(1300,))) is Action.SHOOT
    assert player.act(NOTHING, perception(10.6, enemies=(1024,))) is Action.WAIT


def test_an_enemy_that_was_missed_is_shot_at_again() -> None:
    player = RulePlayer(Config())
    assert player.act(NOTHING, perception(10.0, enemies=(1700,))) is Action.SHOOT
    assert player.act(NOTHING, perception(11.8, enemies=(1100,))) is Action.SHOOT


@pytest.mark.parametrize(
    ("why", "scene"),
    [
        ("no arrows", perception(enemies=(1300,), arrows=0)),
        ("in the air", perception(enemies=(1300,), height=200)),
        ("no enemy", perception()),
        ("a jump is due meanwhile", perception(enemies=(1300,), dangers=(700,))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_shot_that_would_be_useless_or_deadly(why: str, scene: Perception) -> None:
    assert RulePlayer(Config()).act(NOTHING, scene) is not Action.SHOOT, why


def test_an_enemy_is_jumped_when_there_are_no_arrows() -> None:
    player = RulePlayer(Config())
    actions = [
        player.act(NOTHING, perception(10 + i * 0.1, enemies=(900 - 46 * i,), arrows=0)) for i in range(12)
    ]
    assert Action.JUMP in actions
    assert Action.SHOOT not in actions


def test_the_rule_player_gets_far_on_the_standard_course() -> None:
    config = make_config(eyes="truth", max_distance_m=6_000)
    env = build_env(config)
    results = play_episodes(env, make_player("rule", config), range(1_000_100, 1_000_104))
    env.close()
    assert mean([one.distance_m for one in results]) > 3_500


def test_the_idle_player_never_touches() -> None:
    player = make_player("idle", Config())
    assert {player.act(NOTHING, perception(dangers=(400,))) for _ in range(20)} == {Action.WAIT}


def test_the_random_player_repeats_itself_for_the_same_seed() -> None:
    player = make_player("random", Config())
    plays = []
    for seed in (1, 1, 2):
        player.reset(seed)
        plays.append([player.act(NOTHING, perception()) for _ in range(50)])
    assert plays[0] == plays[1] != plays[2]
    assert set(plays[0]) == set(Action)


def test_a_policy_plays_its_likeliest_action() -> None:
    spec = NetworkSpec("flat", {}, (8,))
    policy = Policy(build_policy(spec), spec, "x", {})
    likeliest = Action(int(policy.probabilities(NOTHING).argmax()))
    player = PolicyPlayer(policy, Config())
    assert {player.act(NOTHING, perception()) for _ in range(10)} == {likeliest}


def test_a_policy_file_becomes_a_player(tmp_path: Path) -> None:
    spec = NetworkSpec("radial", {}, (8,))
    save_policy(tmp_path / "mine.zip", build_policy(spec), spec, "x", {})
    player = make_player(str(tmp_path / "mine.zip"), Config())
    assert player.name == "mine"
    assert player.act(NOTHING, perception()) in Action


@pytest.mark.parametrize("trained_on", ["Great Wall Run", "Another Run"])
def test_a_policy_of_another_game_plays_with_a_warning(
    trained_on: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spec = NetworkSpec("flat", {}, (8,))
    save_policy(tmp_path / "mine.zip", build_policy(spec), spec, trained_on, {})
    make_player(str(tmp_path / "mine.zip"), Config())
    assert ("Another Run" in caplog.text) == (trained_on == "Another Run")


def test_an_unknown_player_is_named_with_a_remedy() -> None:
    with pytest.raises(ConfigError, match=r"'nobody'.*rule, random, idle.*train_ppo"):
        make_player("nobody", Config())


def test_a_file_that_is_no_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"nonsense")
    with pytest.raises(FileFormatError):
        make_player(str(tmp_path / "x.zip"), Config())
