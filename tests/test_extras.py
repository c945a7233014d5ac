"""The extras: what they say of scripted perceptions, that they stay in bounds, and who may make them."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from config import EXTRA_GROUPS, Config, EnvConfig, replace_in
from greatwall import extras as extras_module
from greatwall.assembly import build_env, make_config
from greatwall.contracts import OBSERVATION_SIZE, Action, GameObject, Gap, Ground, Hud, Perception
from greatwall.extras import HAZARD_FIELDS, Extras, extras_layout, extras_size
from greatwall.players.trained import PolicyPlayer
from greatwall.policies.network import NetworkSpec, build_policy
from greatwall.policies.policy_file import Policy

CONFIG = Config()
NOTHING = np.ones(OBSERVATION_SIZE, np.float32)
GROUND_Y = 880.0
AGE_S = 2 / 30


def thing(category: str, x: float, track: int, w: float = 86.0, h: float = 100.0) -> GameObject:
    return GameObject(category, x, GROUND_Y - h, w, h, 1.0, track)


def seen(
    at_s: float,
    danger: tuple[GameObject, ...] = (),
    enemies: tuple[GameObject, ...] = (),
    gaps: tuple[Gap, ...] = (),
    height: float = 0.0,
) -> Perception:
    """A perception published at `at_s`, of a frame two ticks older."""
    return Perception(
        frame_id=round(at_s * 30),
        captured_at_s=at_s - AGE_S,
        perceived_at_s=at_s,
        size=(1920, 1080),
        horse_pos=(180.0, GROUND_Y - 150 - height, 310.0, GROUND_Y - height),
        danger_list=danger,
        enemy_list=enemies,
        soul_list=(),
        coin_list=(),
        nearest_danger=0.0,
        nearest_enemy=0.0,
        nearest_soul=0.0,
        nearest_coin=0.0,
        shoot_target=(545.0, 800.0),
        ground=Ground(gaps, 310.0, 1920),
        cliff=False,
        passings=(),
        hud=Hud(),
    )


def test_touches_are_the_newest_first_each_with_its_kind_and_age() -> None:
    extras = Extras(CONFIG, ("touches",))
    assert extras.see(NOTHING, seen(0.0)) == [0, 0, 1] * 3
    extras.act(Action.JUMP)
    extras.see(NOTHING, seen(0.5))
    extras.act(Action.WAIT)
    extras.see(NOTHING, seen(0.6))
    extras.act(Action.SHOOT)
    found = extras.see(NOTHING, seen(1.2))
    assert found == pytest.approx([0, 1, 0.6 / 3, 1, 0, 1.2 / 3, 0, 0, 1])


def test_a_touch_is_forgotten_after_three_seconds_and_with_the_run() -> None:
    extras = Extras(CONFIG, ("touches",))
    extras.see(NOTHING, seen(0.0))
    extras.act(Action.JUMP)
    assert extras.see(NOTHING, seen(2.9))[0] == 1
    assert extras.see(NOTHING, seen(3.1)) == [0, 0, 1] * 3
    extras.act(Action.JUMP)
    extras.begin()
    assert extras.see(NOTHING, seen(0.0)) == [0, 0, 1] * 3


def test_motion_is_height_climb_speed_and_the_frames_age() -> None:
    extras = Extras(CONFIG, ("motion",))
    extras.see(NOTHING, seen(1.0, (thing("obstacle", 1000, 7),)))
    found = extras.see(NOTHING, seen(1.1, (thing("obstacle", 940, 7),), height=100.0))
    assert found[:4] == pytest.approx([100 / 400, 0.5 + 1000 / 3000, 600 / 2500, AGE_S / 0.5])


@pytest.mark.parametrize(
    ("first", "then", "speed"),
    [
        ((thing("obstacle", 1000, 1),), (thing("obstacle", 940, 1),), 600.0),
        ((thing("obstacle", 1000, 1),), (thing("obstacle", 940, 2),), 400.0),
        ((thing("obstacle", -40, 1),), (thing("obstacle", 20, 1),), 400.0),
        ((thing("obstacle", 1000, -1),), (thing("obstacle", 940, -1),), 400.0),
        ((thing("obstacle", 1000, 1),), (thing("obstacle", 1000, 1),), 400.0),
        ((), (), 400.0),
    ],
    ids=["the same thing", "another thing", "cut off before", "not tracked", "at rest", "nothing"],
)
def test_the_speed_is_that_of_standing_things_and_else_the_usual_one(
    first: tuple[GameObject, ...], then: tuple[GameObject, ...], speed: float
) -> None:
    extras = Extras(CONFIG, ("motion",))
    extras.see(NOTHING, seen(1.0, first))
    assert extras.see(NOTHING, seen(1.1, then))[2] == pytest.approx(speed / 2500)


def test_one_wild_measurement_does_not_move_a_known_speed() -> None:
    extras = Extras(CONFIG, ("motion",))
    for step in range(5):
        found = extras.see(NOTHING, seen(1 + step / 10, (thing("obstacle", 1000 - 50 * step, 1),)))
    assert found[2] == pytest.approx(500 / 2500)
    assert extras.see(NOTHING, seen(1.5, (thing("obstacle", 600, 1),)))[2] == pytest.approx(500 / 2500)


def test_a_first_measurement_that_was_wrong_is_overruled_by_several_that_agree() -> None:
    extras = Extras(CONFIG, ("motion",))
    places = (1000, 990, 940, 890, 840)  # a thing taken for another moved 10 px; then 50 px each time
    speeds = [
        extras.see(NOTHING, seen(1 + i / 10, (thing("obstacle", x, 1),)))[2] for i, x in enumerate(places)
    ]
    assert speeds == pytest.approx([400 / 2500, 100 / 2500, 100 / 2500, 100 / 2500, 500 / 2500])


def test_hazards_come_by_their_left_edge_with_kind_size_and_closing_speed() -> None:
    extras = Extras(CONFIG, ("ahead",))
    enemy, obstacle = thing("enemy", 900, 2, h=160), thing("obstacle", 1500, 1, w=80, h=90)
    extras.see(NOTHING, seen(1.0, (obstacle,), (enemy,), (Gap(1200, 1400, 3),)))
    later = (
        (obstacle._replace(x=1450.0),),
        (enemy._replace(x=844.0),),
        (Gap(1150, 1350, 3),),
    )
    found = extras.see(NOTHING, seen(1.1, *later))
    assert found[:8] == pytest.approx([0, 1, 0, 844 / 1920, 930 / 1920, 160 / 400, 560 / 2500, 1])
    assert found[8:16] == pytest.approx([0, 0, 1, 1150 / 1920, 1350 / 1920, 0, 500 / 2500, 1])
    assert found[16:24] == pytest.approx([1, 0, 0, 1450 / 1920, 1530 / 1920, 90 / 400, 500 / 2500, 1])
    assert found[24:] == pytest.approx([0, 0, 0, 1, 1, 0, 500 / 2500, 1])


def test_what_is_behind_the_rider_is_no_hazard() -> None:
    extras = Extras(CONFIG, ("ahead",))
    found = extras.see(NOTHING, seen(1.0, (thing("obstacle", 90, 1),), (), (Gap(0, 180, 2),)))
    assert found[:3] == [0, 0, 0]
    assert extras.see(NOTHING, seen(1.1, (thing("obstacle", 95, 1),)))[0] == 1


def test_the_enemy_shot_at_is_the_nearest_and_no_other() -> None:
    extras = Extras(CONFIG, ("ahead",))
    enemies = (thing("enemy", 700, 4), thing("enemy", 1300, 5))
    extras.see(NOTHING, seen(1.0, (), enemies))
    extras.act(Action.SHOOT)
    found = extras.see(NOTHING, seen(1.6, (), enemies))
    assert found[7] == pytest.approx(0.6 / 2)
    assert found[15] == 1


def test_recall_measures_speed_from_the_numbers_and_its_own_count_of_time() -> None:
    extras = Extras(CONFIG, ("recall",))
    wide = seen(0.0)
    near = NOTHING.copy()
    near[200] = 400 / 500
    assert extras.see(near, wide)[0] == pytest.approx(400 / 2500)
    extras.act(Action.WAIT)
    near[200] = 350 / 500
    assert extras.see(near, wide)[0] == pytest.approx(500 / 2500)
    extras.act(Action.JUMP)
    near[200] = 100 / 500
    found = extras.see(near, wide)
    assert found[0] == pytest.approx(500 / 2500)
    assert found[2:5] == pytest.approx([1, 0, 0.5 / 3])


def test_recall_knows_a_gap_by_both_its_ends() -> None:
    extras = Extras(CONFIG, ("recall",))
    cells = NOTHING.copy()
    cells[100:160] = 0
    extras.see(cells, seen(0.0))
    extras.act(Action.WAIT)
    cells = NOTHING.copy()
    cells[80:140] = 0
    assert extras.see(cells, seen(0.1))[0] == pytest.approx(600 / 2500)


def test_recall_is_a_function_of_the_207_numbers_and_own_actions_alone() -> None:
    """The same numbers and actions under other perceptions give the same recall."""
    rng = np.random.default_rng(3)
    ours, theirs = Extras(CONFIG, ("recall",)), Extras(CONFIG, ("recall",))
    for step in range(60):
        numbers = rng.random(OBSERVATION_SIZE).astype(np.float32)
        other = seen(7.0 + 0.1 * step, (thing("obstacle", 900 - step, 1),), height=float(step))
        assert ours.see(numbers, seen(0.1 * step)) == theirs.see(numbers, other)
        action = Action(int(rng.integers(3)))
        ours.act(action)
        theirs.act(action)


edges = st.floats(-500, 2500, allow_nan=False)
objects = st.builds(
    lambda category, x, y, w, h, track: GameObject(category, x, y, w, h, 1.0, track),
    st.sampled_from(["obstacle", "enemy", "soul", "coin"]),
    edges,
    edges,
    st.floats(0, 900),
    st.floats(0, 900),
    st.integers(-1, 5),
)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_whatever_is_perceived_the_extras_stay_in_bounds(data: st.DataObject) -> None:
    extras = Extras(CONFIG, EXTRA_GROUPS)
    at_s = 0.0
    for _ in range(data.draw(st.integers(1, 3))):
        at_s += data.draw(st.floats(0, 4))
        things = data.draw(st.lists(objects, max_size=5))
        ends = data.draw(st.lists(edges, max_size=2))
        gaps = tuple(Gap(x, x + 100, track) for track, x in enumerate(sorted(ends)))
        danger = tuple(one for one in things if one.category == "obstacle")
        enemies = tuple(one for one in things if one.category == "enemy")
        perception = seen(at_s, danger, enemies, gaps, data.draw(st.floats(-900, 900)))
        late = data.draw(st.floats(0, 3))
        perception = dataclasses.replace(perception, perceived_at_s=at_s + late)
        observation = np.random.default_rng(data.draw(st.integers(0, 99))).random(207).astype(np.float32)
        found = np.asarray(extras.see(observation, perception))
        assert found.shape == (extras_size(EXTRA_GROUPS),)
        assert np.isfinite(found).all()
        assert found.min() >= 0.0
        assert found.max() <= 1.0
        extras.act(Action(data.draw(st.integers(0, 2))))


def test_groups_lie_in_the_order_asked_for() -> None:
    layout = extras_layout(("ahead", "touches"), 207)
    assert layout == {"ahead": slice(207, 239), "touches": slice(239, 248)}
    assert 4 * len(HAZARD_FIELDS) == 32


@pytest.mark.parametrize("groups", [("everything",), ("touches", "touches")])
def test_an_unknown_or_doubled_group_is_refused(groups: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"env\.extras: expected some of touches, motion, ahead, recall"):
        EnvConfig(extras=groups)


def test_extras_never_see_the_games_state() -> None:
    source = inspect.getsource(extras_module)
    assert "scene" not in source
    assert "facts" not in source


# --- in the env ---------------------------------------------------------------------------------


def played(groups: tuple[str, ...], eyes: Any, actions: list[int], seed: int = 1_000_321) -> np.ndarray:
    env = build_env(replace_in(make_config(eyes=eyes), "env", extras=groups))
    try:
        found = [env.reset(seed=seed)[0]]
        found += [env.step(action)[0] for action in actions]
    finally:
        env.close()
    return np.stack(found)


ACTIONS = [0] * 6 + [1] + [0] * 12 + [2] + [0] * 8


def test_the_207_stay_first_and_as_they_were() -> None:
    plain = played((), "truth", ACTIONS)
    more = played(EXTRA_GROUPS, "truth", ACTIONS)
    assert plain.shape[1] == OBSERVATION_SIZE
    assert more.shape[1] == OBSERVATION_SIZE + extras_size(EXTRA_GROUPS)
    np.testing.assert_array_equal(plain, more[:, :OBSERVATION_SIZE])


def test_the_env_with_extras_keeps_gymnasiums_contract() -> None:
    env = build_env(replace_in(make_config(), "env", extras=EXTRA_GROUPS))
    check_env(env, skip_render_check=True)
    env.close()


def test_through_vision_the_extras_are_the_same_up_to_perception_error() -> None:
    truth, vision = (played(("touches", "motion", "ahead"), eyes, ACTIONS) for eyes in ("truth", "vision"))
    layout = extras_layout(("touches", "motion", "ahead"), OBSERVATION_SIZE)
    np.testing.assert_allclose(vision[:, layout["touches"]], truth[:, layout["touches"]], atol=1e-6)
    motion = np.abs(vision - truth)[:, layout["motion"]]
    assert np.median(motion[:, 0]) < 8 / 400, "height"
    assert np.median(motion[2:, 2]) < 40 / 2500, "speed"
    assert motion[:, 3].max() < 1e-6, "frame age"
    both = (vision[:, layout["ahead"]][:, :3] == truth[:, layout["ahead"]][:, :3]).all(1)
    assert both.mean() > 0.7, "kind of the nearest hazard"
    edges_ = np.abs(vision - truth)[both][:, layout["ahead"]][:, 3]
    assert np.median(edges_) < 8 / 1920


@pytest.mark.parametrize("appended", [(), ("motion",), ("touches", "motion", "ahead")])
def test_a_policy_with_extras_plays_the_same_in_any_env(appended: tuple[str, ...]) -> None:
    """It makes its own extras, so what the env appends changes nothing."""
    groups = ("touches", "motion", "ahead")
    spec = NetworkSpec("timed", {}, (16,), extras=groups)
    policy = Policy(build_policy(spec), spec, "x", {})
    config = replace_in(make_config(), "env", extras=appended)
    player = PolicyPlayer(policy, config)
    with_extras = build_env(replace_in(config, "env", extras=groups))
    env = build_env(config)
    player.reset(0)
    (mine, _), (observation, info) = with_extras.reset(seed=1_000_007), env.reset(seed=1_000_007)
    for _ in range(60):
        action = player.act(observation, info["perception"])
        assert action == policy.probabilities(mine).argmax()
        (mine, *_), (observation, _, ended, _, info) = with_extras.step(action), env.step(action)
        if ended:
            break
    env.close()
    with_extras.close()
