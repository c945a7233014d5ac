"""The rule player of the 207 numbers: what it does, and that the numbers are all it sees."""

from __future__ import annotations

import numpy as np
import pytest

from config import Config, replace_in
from greatwall.assembly import build_env, make_config
from greatwall.contracts import OBSERVATION_SIZE, Action, FloatArray
from greatwall.learning.evaluation import play_episodes
from greatwall.metrics.statistics import mean
from greatwall.players import make_player
from greatwall.players.rule207 import Rule207Player


def observed(
    obstacle_px: float = 500.0,
    enemy_px: float = 500.0,
    gap_px: tuple[int, int] | None = None,
    arrows: int = 20,
) -> FloatArray:
    found = np.ones(OBSERVATION_SIZE, np.float32)
    if gap_px is not None:
        found[gap_px[0] // 3 : gap_px[1] // 3] = 0.0
    found[200], found[201] = obstacle_px / 500, enemy_px / 500
    found[204:] = arrows / 100, 0.0, 0.3
    return found


def choice(observation: FloatArray, config: Config | None = None, after_s: float = 0.0) -> Action:
    player = Rule207Player(config or Config())
    for _ in range(round(after_s * 10)):
        player.act(observed(), None)  # type: ignore[arg-type]
    return player.act(observation, None)  # type: ignore[arg-type]


def lead_px(config: Config | None = None, after_s: float = 0.0) -> int:
    """How near an obstacle comes before it jumps."""
    return next(px for px in range(495, 0, -5) if choice(observed(px), config, after_s) is Action.JUMP)


@pytest.mark.parametrize(
    ("why", "observation", "expected"),
    [
        ("nothing in sight", observed(), Action.WAIT),
        ("an obstacle, far", observed(480), Action.WAIT),
        ("an obstacle, near", observed(230), Action.JUMP),
        ("a gap, far", observed(gap_px=(450, 590)), Action.WAIT),
        ("a gap, near", observed(gap_px=(180, 380)), Action.JUMP),
        ("an enemy, far", observed(enemy_px=490), Action.SHOOT),
        ("an enemy and no arrow", observed(enemy_px=490, arrows=0), Action.WAIT),
        ("an enemy, near, and no arrow", observed(enemy_px=250, arrows=0), Action.JUMP),
        ("an enemy at his feet", observed(enemy_px=0), Action.WAIT),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_it_does_at_the_start(why: str, observation: FloatArray, expected: Action) -> None:
    assert choice(observation) is expected, why


def test_its_lead_grows_as_its_clock_runs_because_the_course_gets_faster() -> None:
    assert lead_px() < lead_px(after_s=100) < lead_px(after_s=200)


def test_its_lead_covers_the_touch_delay() -> None:
    fast = replace_in(Config(), "delays", touch_to_effect_s=(0.05, 0.08))
    assert lead_px() - lead_px(fast) == pytest.approx(400 * (0.4 - 0.065), abs=40)


def test_it_does_not_jump_again_for_what_this_jump_clears() -> None:
    player = Rule207Player(Config())
    assert player.act(observed(230), None) is Action.JUMP  # type: ignore[arg-type]
    for px in (30, 0, 0, 500):
        assert player.act(observed(px), None) is Action.WAIT  # type: ignore[arg-type]


def test_one_enemy_gets_one_arrow_while_it_flies() -> None:
    player = Rule207Player(Config())
    assert player.act(observed(enemy_px=490), None) is Action.SHOOT  # type: ignore[arg-type]
    assert player.act(observed(enemy_px=214), None) is not Action.SHOOT  # type: ignore[arg-type]


def test_it_looks_at_nothing_but_the_numbers() -> None:
    """It plays the same with no perception at all."""
    config = make_config(max_distance_m=300)
    env = build_env(config)
    player = make_player("rule207", config)
    observation, info = env.reset(seed=1_000_000)
    player.reset(0)
    blind = Rule207Player(config)
    done = False
    while not done:
        action = player.act(observation, info["perception"])
        assert blind.act(observation, None) is action  # type: ignore[arg-type]
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
    env.close()


def test_it_gets_far_but_not_as_far_as_the_rule_player() -> None:
    config = make_config(max_distance_m=8_000)
    env = build_env(config)
    seeds = range(1_000_100, 1_000_112)
    metres = {
        name: mean([one.distance_m for one in play_episodes(env, make_player(name, config), seeds)])
        for name in ("rule207", "rule")
    }
    env.close()
    assert 2_000 < metres["rule207"] < metres["rule"]
