"""The whole system on the game clock: device, eyes, Worker, Master; nothing stands in."""

import json
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check_env

import greatwall
from config import to_ticks
from greatwall.assembly import build_env, make_config, parse_variants
from greatwall.contracts import Action
from greatwall.errors import ConfigError

EYES = ("truth", pytest.param("vision", marks=pytest.mark.slow))


def make(eyes="truth", **settings):
    return build_env(make_config(eyes=eyes, **settings))


def actions_of(seed, count):
    return np.random.default_rng(seed).integers(3, size=count).tolist()


def play(env, seed, actions):
    """Observations, rewards and ends of one seeded stretch."""
    observation, _ = env.reset(seed=seed)
    seen = [(observation, 0.0, False, False)]
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        seen.append((observation, reward, terminated, truncated))
        if terminated or truncated:
            env.reset()
    return seen


def assert_equal_runs(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a[0], b[0])
        assert a[1:] == b[1:]


@pytest.mark.parametrize("eyes", EYES)
def test_it_passes_gymnasiums_checker(eyes):
    env = make(eyes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice about registration, not about the env
        gymnasium_check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("eyes", EYES)
def test_it_passes_stable_baselines_checker(eyes):
    from stable_baselines3.common.env_checker import check_env

    env = make(eyes)
    check_env(env, warn=True)
    env.close()


def test_it_is_registered_and_renders_what_the_phone_shows():
    assert greatwall.__version__
    env = gymnasium.make("greatwall:GreatWallRun-v0", render_mode="rgb_array", seed=3)
    env.reset(seed=3)
    picture = env.render()
    assert picture.shape == (1080, 1920, 3)
    assert picture.std() > 10
    env.close()


@pytest.mark.parametrize(("action", "ticks"), [(Action.WAIT, 3), (Action.JUMP, 15), (Action.SHOOT, 18)])
def test_a_step_lasts_as_many_ticks_as_the_specification_says(action, ticks):
    env = make()
    env.reset(seed=1)
    for _ in range(3):
        before_s = env.worker.clock.now_s()
        env.step(action)
        assert to_ticks(env.worker.clock.now_s() - before_s) == ticks
    env.close()


def test_equal_seeds_and_actions_give_equal_observations_and_rewards():
    actions = actions_of(0, 400)
    first, second = make(), make()
    run = play(first, 5, actions)
    assert_equal_runs(run, play(second, 5, actions))
    assert_equal_runs(run, play(first, 5, actions))
    assert any(step[2] for step in run), "deaths and restarts are part of it"
    first.close()
    second.close()


def test_two_episodes_from_one_saved_game_are_the_same():
    env, other = make(), make(seed=3)
    env.reset(seed=8)
    for action in actions_of(8, 20):
        env.step(action)
    saved = json.loads(json.dumps(env.save_game()))

    def go_on(env):
        observation, info = env.reset(options={"state": saved})
        seen = [(observation, info["hud"])]
        for action in actions_of(9, 60):
            observation, reward, terminated, *_ = env.step(action)
            seen.append((observation, (reward, terminated)))
            if terminated:
                env.reset()
        return seen

    first = go_on(env)
    assert first[0][1].distance > 20
    for again in (go_on(env), go_on(other)):
        assert all(np.array_equal(a[0], b[0]) and a[1] == b[1] for a, b in zip(first, again, strict=True))
    env.close()
    other.close()


@pytest.mark.parametrize("size", [(960, 540), (2400, 1080)])
def test_what_the_master_sees_does_not_depend_on_the_size_of_the_screen(size):
    plain, other = make(), make(size=size)
    actions = actions_of(3, 120)
    width_px = 1920 / size[0]
    for a, b in zip(play(plain, 7, actions), play(other, 7, actions), strict=True):
        assert a[1:] == b[1:]
        assert np.abs(a[0][200:] - b[0][200:]).max() <= 3 * width_px / 500
        assert np.abs(a[0][:200] - b[0][:200]).sum() <= 4
    plain.close()
    other.close()


def test_drawing_changes_no_observation():
    actions = actions_of(1, 40)
    plain = make()
    drawn = make()
    drawn.render_mode = "rgb_array"
    step = drawn.step

    def step_and_draw(action):
        result = step(action)
        drawn.render()
        return result

    drawn.step = step_and_draw
    assert_equal_runs(play(plain, 6, actions), play(drawn, 6, actions))
    plain.close()
    drawn.close()


def test_every_frame_of_a_decision_was_captured_after_the_action_before_it():
    env = make()
    env.reset(seed=2)
    for action in actions_of(2, 300):
        began_s = env.worker.clock.now_s()
        _, _, terminated, _, info = env.step(action)
        assert info["perception"].captured_at_s > began_s
        assert info["perception"].captured_at_s >= env.worker.result.executed_at_s
        if terminated:
            env.reset()
    env.close()


def test_the_frame_age_at_a_decision_is_the_configured_delay():
    env = make()
    env.reset(seed=2)
    ages = {to_ticks(env.step(Action.WAIT)[4]["timing"]["frame_age_s"]) for _ in range(20)}
    assert ages == {2}
    env.close()


def test_an_idle_rider_dies_is_restarted_by_clicks_and_rides_on():
    env = make()
    env.reset(seed=9)
    for _ in range(2):
        terminated = False
        while not terminated:
            _, _, terminated, truncated, info = env.step(Action.WAIT)
            assert not truncated
        assert info["hud"].lives == 0
        assert info["run"]["death"] in ("obstacle", "enemy", "gap")
        assert info["reward_terms"]["death"] == -50
        observation, info = env.reset()
        assert info["hud"].lives == 3
        assert observation[206] == pytest.approx(0.3)
    env.close()


def test_the_runs_report_agrees_with_the_games_own_account():
    env = make()
    passed = 0
    for seed in range(12):
        env.reset(seed=seed)
        terminated = False
        for action in actions_of(seed, 2000):
            _, _, terminated, _, info = env.step(action)
            if terminated:
                break
        run, facts = info["run"], info["run"]["facts"]
        assert run["distance_m"] == facts["distance_m"]
        assert run["coins"] == facts["coins"]
        assert run["obstacles"] + facts["hits"]["obstacle"] <= facts["obstacles"] + 2
        passed += run["obstacles"]
    assert passed > 0
    env.close()


@pytest.mark.parametrize("limits", [{"max_distance_m": 60}])
def test_a_limit_truncates_and_the_next_run_starts_from_the_beginning(limits):
    env = make(**limits)
    env.reset(seed=3)
    truncated = False
    while not truncated:
        _, _, terminated, truncated, info = env.step(Action.WAIT)
        assert not terminated
    assert info["TimeLimit.truncated"]
    assert info["run"]["distance_m"] >= 60
    _, info = env.reset()
    assert info["hud"].distance < 10
    env.close()


def test_a_variant_changes_what_it_says_and_is_named():
    env = make(variants=("one_life",))
    _, info = env.reset(seed=1)
    assert info["hud"].lives == 1
    assert env.config.variants == ("one_life",)
    env.close()


def test_a_config_and_single_settings_cannot_both_be_given():
    from greatwall.assembly import make_env

    with pytest.raises(ConfigError, match="found both"):
        make_env(make_config(), eyes="vision")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("standard", ()),
        ("one_life", ("one_life",)),
        (" one_life, low_delay ,", ("one_life", "low_delay")),
    ],
)
def test_variants_are_names_between_commas(text: str, names: tuple[str, ...]):
    assert parse_variants(text) == names


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_no_generator_takes_are_one_line(seed: int):
    with pytest.raises(ConfigError, match=r"seed: expected 0 to 4294967295, found"):
        make(seed=seed)


def test_unknown_devices_and_variants_are_one_line():
    with pytest.raises(ConfigError, match=r"unknown device: expected one of simulator.*; found 'toaster'"):
        make(device="toaster")
    with pytest.raises(ConfigError, match=r"variant: expected one of .*found 'easy'"):
        make(variants=("easy",))
