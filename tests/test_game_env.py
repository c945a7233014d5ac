"""The Master's bookkeeping: observation, eight reward terms, what a step may end in, restart."""

import math
from dataclasses import replace

import numpy as np
import pytest

from config import Config, replace_in
from game_env import GreatWallEnv
from greatwall.contracts import INTERRUPTIONS, Action, Gap, Ground, Hud, Passing
from greatwall.errors import Interruption, RestartError, WorkerError
from greatwall.reward import REWARD_TERMS
from tests.rigs.scripted_worker import ScriptedWorker, make_hud, make_perception

WAIT, JUMP, SHOOT = Action


def begin(*script, config=None, **worker_options):
    """An env after its first reset, about to live through `script`."""
    worker = ScriptedWorker(list(script), **worker_options)
    env = GreatWallEnv(config or Config(), worker)
    env.reset(seed=1)
    return env, worker


def terms_of(step):
    """The reward terms of a step other than P1 that are not zero."""
    info = step[4]
    return {k: v for k, v in info["reward_terms"].items() if v and k != "step"}


def seen(at_s=0.1, distance_to_enemy=math.inf, passings=(), **hud):
    return make_perception(
        captured_at_s=at_s, nearest_enemy=distance_to_enemy, passings=passings, hud=make_hud(at_s, **hud)
    )


# --- observation ----------------------------------------------------------------------------------


def test_the_observation_is_207_numbers_in_the_order_of_the_specification():
    perception = make_perception(
        ground=Ground((Gap(313, 373),), 310.0, 1920),
        nearest_danger=250.0,
        nearest_enemy=500.0,
        nearest_soul=5.0,
        nearest_coin=math.inf,
        hud=make_hud(arrows=50, coins=100, lives=3),
    )
    env, _ = begin(perception)
    observation = env.step(WAIT)[0]
    assert observation.shape == (207,)
    assert observation.dtype == np.float32
    assert observation[:22].tolist() == [1.0] + [0.0] * 20 + [1.0]
    assert observation[200:] == pytest.approx([0.5, 1.0, 0.01, 1.0, 0.5, 0.2, 0.3])


def test_values_beyond_the_scale_are_clipped_into_the_declared_space():
    env, _ = begin(make_perception(nearest_coin=9e9, hud=make_hud(arrows=99, coins=4000, lives=10)))
    observation = env.step(WAIT)[0]
    assert env.observation_space.contains(observation)
    assert observation[205] == 1.0


# --- reward ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"distance": 4}, {"distance": 0.4}),
        ({"distance": 49}, {"distance": 4.9}),
        ({"distance": 50}, {}),
        ({"distance": 717}, {}),
        ({"coins": 3}, {"coins": 3.0}),
        ({"coins": 9}, {"coins": 9.0}),
        ({"coins": 10}, {}),
    ],
)
def test_distance_and_coins_pay_within_their_limits(now, expected):
    env, _ = begin(seen(**now))
    assert terms_of(env.step(WAIT)) == pytest.approx(expected)


def test_a_falling_distance_is_charged_as_it_was_paid():
    env, _ = begin(seen(distance=40), seen(distance=30))
    env.step(WAIT)
    assert terms_of(env.step(WAIT)) == pytest.approx({"distance": -1.0})


@pytest.mark.parametrize(
    ("action", "enemy_px", "arrows", "expected"),
    [
        (SHOOT, 301.0, 20, {"wasted_shot": -0.3}),
        (SHOOT, 300.0, 20, {}),
        (WAIT, 300.0, 20, {"ignored_enemy": -0.8}),
        (JUMP, 10.0, 20, {"ignored_enemy": -0.8}),
        (WAIT, 301.0, 20, {}),
        (WAIT, 10.0, 0, {}),
    ],
)
def test_shots_are_judged_on_the_perception_the_action_was_chosen_from(action, enemy_px, arrows, expected):
    env, _ = begin(seen(distance_to_enemy=enemy_px, arrows=arrows), seen(arrows=arrows))
    env.step(WAIT)
    assert terms_of(env.step(action)) == expected


def test_without_the_switch_the_duty_to_shoot_holds_even_without_arrows():
    config = replace_in(Config(), "reward", no_arrows_no_duty=False)
    env, _ = begin(seen(distance_to_enemy=10.0, arrows=0), seen(arrows=0), config=config)
    env.step(WAIT)
    assert terms_of(env.step(WAIT)) == {"ignored_enemy": -0.8}


@pytest.mark.parametrize(("kind", "term", "value"), [("obstacle", "obstacle", 2.0), ("cliff", "cliff", 20.0)])
def test_a_passing_is_paid_once_a_hud_read_from_after_it_shows_no_life_lost(kind, term, value):
    passing = (Passing(0, kind, 7, met_at_s=0.2, passed_at_s=0.5),)
    env, _ = begin(
        make_perception(captured_at_s=0.5, passings=passing, hud=make_hud(0.3)),
        make_perception(captured_at_s=0.6, passings=passing, hud=make_hud(0.6)),
        make_perception(captured_at_s=0.7, passings=passing, hud=make_hud(0.6)),
    )
    assert terms_of(env.step(WAIT)) == {}
    assert terms_of(env.step(WAIT)) == {term: value}
    assert terms_of(env.step(WAIT)) == {}, "paid once"


def test_a_passing_that_cost_a_life_pays_nothing():
    passing = (Passing(0, "obstacle", 7, met_at_s=0.2, passed_at_s=0.5),)
    env, _ = begin(
        make_perception(captured_at_s=0.5, passings=passing, hud=make_hud(0.3)),
        make_perception(captured_at_s=0.9, passings=passing, hud=make_hud(0.8, lives=2)),
        make_perception(captured_at_s=1.0, passings=passing, hud=make_hud(1.0, lives=2)),
    )
    assert [terms_of(env.step(WAIT)) for _ in range(3)] == [{}, {}, {}]


def test_the_read_of_the_frame_in_which_it_was_hit_is_not_a_read_from_before():
    passing = (Passing(0, "obstacle", 7, met_at_s=0.2, passed_at_s=0.5),)
    env, _ = begin(
        make_perception(captured_at_s=0.3, hud=make_hud(0.3, lives=2)),
        make_perception(captured_at_s=0.6, passings=passing, hud=make_hud(0.6, lives=2)),
    )
    assert [terms_of(env.step(WAIT)) for _ in range(2)] == [{}, {}]


def test_a_life_lost_before_the_hazard_was_met_does_not_spoil_its_passing():
    passing = (Passing(0, "obstacle", 7, met_at_s=0.6, passed_at_s=0.8),)
    env, _ = begin(
        seen(at_s=0.5, lives=2),
        make_perception(captured_at_s=0.9, passings=passing, hud=make_hud(0.9, lives=2)),
    )
    env.step(WAIT)
    assert terms_of(env.step(WAIT)) == {"obstacle": 2.0}


def test_with_the_switch_off_a_passing_is_paid_at_once():
    config = replace_in(Config(), "reward", passing_waits_for_hud=False)
    passing = (Passing(0, "cliff", 7, 0.2, 0.5),)
    env, _ = begin(
        make_perception(captured_at_s=0.5, passings=passing, hud=make_hud(0.3, lives=2)), config=config
    )
    assert terms_of(env.step(WAIT)) == {"cliff": 20.0}


def test_death_costs_fifty_and_the_terms_add_up_to_the_reward():
    env, _ = begin("death")
    _, reward, terminated, truncated, info = env.step(WAIT)
    assert (terminated, truncated) == (True, False)
    assert tuple(info["reward_terms"]) == REWARD_TERMS
    assert reward == pytest.approx(-50.005) == pytest.approx(sum(info["reward_terms"].values()))


def test_nothing_of_the_last_run_is_rewarded_after_a_reset():
    env, _ = begin(seen(distance=900, coins=5), "death", seen(at_s=0.2, distance=2))
    env.step(WAIT)
    env.step(WAIT)
    env.reset(seed=2)
    assert terms_of(env.step(WAIT)) == pytest.approx({"distance": 0.2})


def test_a_typical_good_run_adds_up_to_288():
    reward = Config().reward
    total = 2000 * reward.per_m + 20 * reward.per_coin + 15 * reward.obstacle + 2 * reward.cliff
    assert total + 400 * reward.step == pytest.approx(288)


# --- what a step may end in -----------------------------------------------------------------------


def flags(step):
    return step[2], step[3]


def test_a_distance_limit_truncates_and_says_so():
    env, _ = begin(seen(distance=1500), config=replace_in(Config(), "env", max_distance_m=1500))
    step = env.step(WAIT)
    assert flags(step) == (False, True)
    assert step[4]["TimeLimit.truncated"] is True


def test_a_time_limit_truncates_and_death_outranks_it():
    config = replace_in(Config(), "env", max_seconds=5.0)
    env, _ = begin(seen(at_s=5.1), config=config)
    assert flags(env.step(WAIT)) == (False, True)
    env, _ = begin(seen(at_s=4.9), "death", config=config)
    assert flags(env.step(WAIT)) == (False, False)
    assert flags(env.step(WAIT)) == (True, False)


@pytest.mark.parametrize("reason", INTERRUPTIONS)
def test_an_interruption_truncates_with_its_word_and_the_last_valid_observation(reason):
    env, worker = begin(seen(distance=7, at_s=0.1), Interruption(reason, "why"))
    last = env.step(WAIT)[0]
    step = env.step(WAIT)
    assert flags(step) == (False, True)
    assert step[1] == 0.0
    assert np.array_equal(step[0], last)
    assert step[4]["interruption"] == reason
    assert step[4]["observation_age_s"] == pytest.approx(worker.clock.now_s() - 0.1)
    env.reset()
    assert "recover" in worker.log


def test_a_death_that_is_known_outranks_an_interruption():
    env, worker = begin(seen(distance=7), Interruption("frames_stopped", "a page that stands still"))
    env.step(WAIT)
    worker.death_triggered.set()
    step = env.step(WAIT)
    assert flags(step) == (True, False)
    assert terms_of(step) == {"death": -50.0}


@pytest.mark.parametrize(("troubles", "survives"), [(1, True), (2, True), (3, False)])
def test_interruptions_of_a_reset_are_survived_a_bounded_number_of_times(troubles, survives):
    env, worker = begin()
    worker.reset_troubles = [Interruption("worker_restarted", "hiccup") for _ in range(troubles)]
    if survives:
        env.reset(seed=4)
        assert worker.log.count("recover") == troubles
    else:
        with pytest.raises(RestartError, match="after 3 tries, found worker_restarted: hiccup"):
            env.reset(seed=4)


def test_a_worker_that_never_answers_is_an_interruption_within_the_cooldown_and_two_seconds():
    env, worker = begin("silence")
    step = env.step(JUMP)
    assert flags(step) == (False, True)
    assert worker.clock.now_s() == pytest.approx(2.5)


def test_a_worker_error_is_raised_with_its_cause():
    env, worker = begin()

    def fail(event, timeout_s):
        raise WorkerError("the main loop died") from ZeroDivisionError("boom")

    worker.wait = fail
    with pytest.raises(WorkerError) as caught:
        env.step(WAIT)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_answer_to_another_action_is_an_error_not_a_guess():
    env, _ = begin("stranger")
    with pytest.raises(WorkerError, match="expected the result of action 1, found 2"):
        env.step(WAIT)


def test_stepping_before_reset_or_after_the_end_is_refused():
    env = GreatWallEnv(Config(), ScriptedWorker([]))
    with pytest.raises(RuntimeError, match="reset"):
        env.step(WAIT)
    env, _ = begin("death")
    env.step(WAIT)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(WAIT)


# --- restart --------------------------------------------------------------------------------------


def test_after_a_death_the_restart_procedure_runs_in_its_order():
    env, worker = begin("death")
    env.step(WAIT)
    worker.log.clear()
    env.reset()
    assert worker.log[:5] == ["start", "rest 1", "rest 2", "rest 0.1", "clicks"]


def test_a_false_alarm_costs_no_restart():
    env, worker = begin("death", seen(at_s=9.0, distance=60))
    env.step(WAIT)
    rest, moved = worker.rest, iter(range(100, 200))

    def gallop(seconds):
        rest(seconds)
        worker.perception = seen(at_s=worker.clock.now_s(), distance=next(moved))

    worker.rest = gallop
    env.reset()
    assert "clicks" not in worker.log
    assert not worker.death_triggered.is_set()


def test_a_restart_that_leads_to_no_live_game_is_retried_a_bounded_number_of_times():
    env, worker = begin("death", live=False)
    env.step(WAIT)
    with pytest.raises(RestartError, match="after 3 restarts"):
        env.reset()
    assert worker.log.count("clicks") == 3


def test_a_phone_goes_on_with_a_live_run_after_a_limit():
    config = replace_in(Config(), "env", max_distance_m=10)
    env, worker = begin(seen(distance=10), config=config)
    env.step(WAIT)
    worker.seeds = False
    worker.log.clear()
    worker.script = [seen(distance=15), seen(distance=20)]
    env.reset(seed=3)
    assert worker.log == ["start"]
    assert flags(env.step(WAIT)) == (False, False), "the limit counts from where the episode began"
    assert flags(env.step(WAIT)) == (False, True)


def test_the_same_seed_is_followed_by_the_same_courses():
    def courses(seed):
        config = replace_in(Config(), "env", max_distance_m=10)
        env, worker = begin(*[seen(distance=10)] * 5, config=config)
        env.step(WAIT)
        env.reset()
        worker.log.clear()
        env.reset(seed=seed)
        env.reset()
        env.reset()
        return [line for line in worker.log if line.startswith("new_game")]

    assert courses(5) == courses(5)
    assert courses(5) != courses(6)


def test_a_game_that_shows_only_its_distance_is_played_without_the_rest():
    profile = replace(Config().profile, hud=tuple(f for f in Config().profile.hud if f[0] == "distance"))
    worker = ScriptedWorker([])
    only = make_perception(hud=Hud(distance=5, distance_at_s=0.0))
    worker.new_game = lambda seed: setattr(worker, "perception", only) or True
    env = GreatWallEnv(replace(Config(), profile=profile), worker)
    observation, _ = env.reset(seed=1)
    assert observation[204:].tolist() == [0.0, 0.0, 0.0]
    passing = (Passing(0, "obstacle", 7, met_at_s=0.2, passed_at_s=0.5),)
    worker.script = [replace(only, passings=passing)]
    assert terms_of(env.step(WAIT)) == {"obstacle": 2.0}
