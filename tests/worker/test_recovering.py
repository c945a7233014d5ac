"""A device that comes back by itself: how Worker and Master have it do so, and what they believe then."""

import time

import pytest

from config import Config, replace_in
from game_env import GreatWallEnv
from greatwall.contracts import HudRead, recovering
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import DeviceLost, GameLeft, HandsOff, Interruption, RestartError
from greatwall.eyes.truth import TruthEyes
from ppo_acting import Worker
from tests.rigs.faulty import FaultyDevice, FaultyEyes
from tests.rigs.scripted_worker import ScriptedWorker

WAIT = 0


class ComingBack(FaultyDevice):
    """A simulator that can be lost and left. `recovers` is raised by `recover` while it lasts; else that
    mends everything."""

    def __init__(self, inner):
        super().__init__(inner)
        self.log = []
        self.recovers = []
        self.covered = None

    def recover(self):
        self.log.append("recover")
        if self.recovers:
            raise self.recovers.pop(0)
        self.error = self.touch_error = self.covered = None
        self.frozen = False

    def confirm(self):
        self.log.append("confirm")
        if self.covered is not None:
            raise self.covered

    def relaunch(self):
        self.log.append("relaunch")


@pytest.fixture
def played():
    config = replace_in(Config(), "eyes", kind="truth")
    config = replace_in(config, "worker", clock="wall")
    device, eyes = ComingBack(SimulatedDevice(config)), FaultyEyes(TruthEyes(config.profile))
    worker = Worker(config, device, eyes)
    env = GreatWallEnv(config, worker)
    env.reset(seed=1)
    env.step(WAIT)
    yield env, device, eyes
    device.error = device.touch_error = eyes.hud_error = None
    env.close()


def step_until_it_ends(env):
    for _ in range(60):
        step = env.step(WAIT)
        if step[2] or step[3]:
            return step
    raise AssertionError("the episode did not end")


@pytest.mark.parametrize(
    ("error", "word"),
    [(DeviceLost("the cable is out"), "phone_lost"), (GameLeft("a call is in front"), "game_left")],
)
def test_what_the_device_says_is_the_word_and_it_is_asked_to_come_back(played, error, word):
    env, device, _ = played
    assert recovering(device) is device
    device.error = error
    *_, truncated, info = step_until_it_ends(env)
    assert (truncated, info["interruption"], info["interruption_detail"]) == (True, word, str(error))
    env.reset(seed=2)
    assert device.log == ["recover"]
    assert not any(env.step(WAIT)[2:4])


def test_it_may_be_lost_any_number_of_times(played):
    env, device, _ = played
    for seed in range(6):
        device.error = DeviceLost("again")
        step_until_it_ends(env)
        env.reset(seed=seed)
    assert device.log.count("recover") == 6


def test_lost_again_while_coming_back_is_another_try_at_once(played):
    env, device, _ = played
    device.error = DeviceLost("first")
    step_until_it_ends(env)
    mend, times = device.recover, []

    def half_mend():
        mend()
        times.append(time.perf_counter())
        if len(times) < 3:
            device.error = DeviceLost(f"lost again {len(times)}")

    device.recover = half_mend
    env.reset(seed=2)
    assert len(times) == 3
    assert times[-1] - times[0] < 5.0
    assert not any(env.step(WAIT)[2:4])


def test_one_that_gives_up_ends_it_with_its_own_line(played):
    env, device, _ = played
    device.error = DeviceLost("first")
    step_until_it_ends(env)
    device.recovers = [DeviceLost("expected the phone back within 300 s, found: nothing")]
    with pytest.raises(DeviceLost, match="back within 300 s"):
        env.reset(seed=2)


def test_a_device_that_is_back_each_time_while_play_is_not_is_given_up(played):
    """The bound is the phone's: without it the two recoveries would call each other for ever."""
    env, device, _ = played
    env.worker.config = replace_in(env.config, "phone", give_up_s=0.5)
    device.error = DeviceLost("first")
    step_until_it_ends(env)
    mend = device.recover

    def half_mend():
        mend()
        device.error = DeviceLost("and lost again")

    device.recover = half_mend
    with pytest.raises(DeviceLost, match=r"within 0.5 s, found the phone back and: .*lost again"):
        env.reset(seed=2)


def test_a_game_left_before_the_first_frame_is_brought_back():
    config = replace_in(Config(), "eyes", kind="truth")
    config = replace_in(config, "worker", clock="wall")
    device = ComingBack(SimulatedDevice(config))
    device.error = GameLeft("a pop-up came")
    env = GreatWallEnv(config, Worker(config, device, TruthEyes(config.profile)))
    try:
        env.reset(seed=1)
        assert device.log == ["recover"]
    finally:
        env.close()


def test_a_person_who_stops_it_is_obeyed_within_a_second_and_for_good(played):
    env, device, _ = played
    device.error = HandsOff("all touches stopped by SIGUSR1")
    began_s = time.perf_counter()
    with pytest.raises(HandsOff, match="SIGUSR1"):
        step_until_it_ends(env)
    assert time.perf_counter() - began_s < 2.0
    device.error = None
    for call in (lambda: env.step(WAIT), lambda: env.reset(seed=2)):
        with pytest.raises(HandsOff):
            call()
    assert device.log == []


def test_a_distance_that_stands_still_behind_a_pop_up_is_no_death(played):
    env, device, eyes = played
    device.covered = GameLeft("a pop-up is in front")
    eyes.hud = HudRead(lives=3, arrows=20, coins=0, distance=55)
    _, reward, terminated, truncated, info = step_until_it_ends(env)
    assert (terminated, truncated, info["interruption"], reward) == (False, True, "game_left", 0.0)
    eyes.hud = None
    env.reset(seed=2)
    assert device.log[0] == "confirm"
    assert device.log.count("recover") == 1
    assert not any(env.step(WAIT)[2:4])


def test_a_distance_that_stands_still_with_the_game_in_front_is_death(played):
    env, device, eyes = played
    eyes.hud = HudRead(lives=3, arrows=20, coins=0, distance=55)
    *_, terminated, truncated, info = step_until_it_ends(env)
    assert (terminated, truncated) == (True, False)
    assert device.log[0] == "confirm"
    assert "interruption" not in info


# --- the Master alone -----------------------------------------------------------------------------


def scripted(**phone):
    worker = ScriptedWorker([], seeds=False)
    env = GreatWallEnv(replace_in(Config(), "phone", **phone), worker)
    return env, worker


def test_the_app_is_started_afresh_every_so_many_episodes_and_recovered_from():
    env, worker = scripted(relaunch_every=3)
    worker.relaunches = True
    for episode in range(10):
        env._ended_by = "death" if episode else ""
        worker.death_triggered.set()
        env.reset()
    assert worker.log.count("relaunch") == 3
    after = [worker.log[i + 1 : i + 3] for i, word in enumerate(worker.log) if word == "relaunch"]
    assert after == [["start", "recover"]] * 3


def test_no_relaunch_is_asked_for_unless_it_is_configured():
    env, worker = scripted()
    for _ in range(4):
        env.reset()
    assert "relaunch" not in worker.log


@pytest.mark.parametrize(("can", "tries"), [(True, 2), (False, 0)])
def test_restarts_that_lead_nowhere_start_the_app_afresh_where_that_can_be_done(can, tries):
    env, worker = scripted()
    worker.relaunches, worker.live = can, False
    env._ended_by = "death"
    worker.death_triggered.set()
    with pytest.raises(RestartError, match="expected a live game after 3 restarts"):
        env.reset()
    assert worker.log.count("recover") == tries
    assert worker.log.count("relaunch") == max(1, tries)


@pytest.mark.parametrize(("troubles", "survives"), [(9, True), (10, False)])
def test_a_device_that_comes_and_goes_is_given_more_tries_for_a_live_game(troubles, survives):
    env, worker = scripted()
    worker.seeds = True
    worker.reset_troubles = [Interruption("phone_lost", "again") for _ in range(troubles)]
    if survives:
        env.reset(seed=4)
        assert worker.log.count("recover") == troubles
    else:
        with pytest.raises(RestartError, match="after 10 tries, found phone_lost: again"):
            env.reset(seed=4)
