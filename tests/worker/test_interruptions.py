"""What a step ends in when the Worker breaks under it, with real threads and on the game clock (SPEC 8)."""

import contextlib
import ctypes
import time
from dataclasses import replace

import pytest

from config import GREAT_WALL, RestartTap
from game_env import GreatWallEnv
from greatwall.errors import DeviceLost, GreatWallError, Interruption, WorkerError
from greatwall.game.view import Page
from tests.rigs.workers import make_rig

WAIT = 0


@pytest.fixture(params=["wall", "game"])
def played(request):
    rig = make_rig(request.param)
    env = GreatWallEnv(rig.worker.config, rig.worker)
    env.reset(seed=1)
    for _ in range(3):
        env.step(WAIT)
    yield rig, env
    rig.device.error = rig.eyes.see_error = rig.eyes.hud_error = None
    env.close()


def step_until_it_ends(env):
    """The last step of the episode and the seconds until it came."""
    start_s = time.perf_counter()
    for _ in range(40):
        step = env.step(WAIT)
        if step[2] or step[3]:
            break
    return step, time.perf_counter() - start_s


def kill(worker, name):
    ident = worker._driver.threads[name].ident
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(SystemExit))


def freeze(rig):
    rig.device.frozen = True


def lose(rig):
    rig.device.error = DeviceLost("the cable is out")


def blind(rig):
    rig.eyes.see_error, rig.eyes.see_errors_left = ValueError("no such layer"), 1


def stutter(rig):
    rig.eyes.hud_error = RuntimeError("no language data")


def mend(rig):
    rig.device.frozen = False
    rig.device.error = rig.eyes.hud_error = rig.eyes.see_error = None


@pytest.mark.parametrize(
    ("breaks", "word"),
    [
        (freeze, "frames_stopped"),
        (lose, "phone_lost"),
        (blind, "worker_restarted"),
        (stutter, "worker_restarted"),
    ],
)
def test_a_broken_worker_truncates_the_episode_in_time_and_plays_on_when_mended(played, breaks, word):
    rig, env = played
    breaks(rig)
    (observation, reward, terminated, truncated, info), seconds = step_until_it_ends(env)
    assert seconds < 3.0
    assert (terminated, truncated, info["interruption"]) == (False, True, word)
    assert reward == 0.0
    assert env.observation_space.contains(observation)
    mend(rig)
    env.reset(seed=2)
    assert not any(env.step(WAIT)[2:4])


@pytest.mark.parametrize("name", ["main loop", "ocr", "grab"])
def test_a_killed_thread_truncates_the_episode_in_time(name):
    rig = make_rig("wall")
    env = GreatWallEnv(rig.worker.config, rig.worker)
    try:
        env.reset(seed=1)
        kill(rig.worker, name)
        (_, _, terminated, truncated, info), seconds = step_until_it_ends(env)
        assert seconds < 3.0
        assert (terminated, truncated, info["interruption"]) == (False, True, "worker_restarted")
        assert name in info["interruption_detail"]
        env.reset()
        assert not any(env.step(WAIT)[2:4])
    finally:
        env.close()


def test_a_detector_that_fails_for_good_ends_in_its_own_traceback(played):
    rig, env = played
    rig.eyes.see_error = fault = ValueError("no such layer")
    step_until_it_ends(env)
    start_s = time.perf_counter()
    with pytest.raises(WorkerError) as caught:
        env.reset(seed=2)
    assert time.perf_counter() - start_s < 3.0
    assert caught.value.__cause__ is fault
    assert caught.value.__cause__.__traceback__ is not None


def test_a_device_that_stays_lost_is_a_clear_error(played, monkeypatch):
    rig, env = played
    for module in ("threads", "game_clock"):
        monkeypatch.setattr(f"greatwall.worker.{module}.RECOVER_S", 0.5)
    lose(rig)
    step_until_it_ends(env)
    with pytest.raises(GreatWallError, match="the cable is out"):
        env.reset(seed=2)


def test_an_interruption_leaves_no_order_behind(played):
    rig, env = played
    blind(rig)
    step_until_it_ends(env)
    mend(rig)
    with contextlib.suppress(Interruption):
        rig.worker.recover()
    assert rig.worker.env_action_queue.empty()
    assert not rig.worker.action_done.is_set()


def test_a_hud_reader_that_fails_as_a_run_begins_is_supervised_and_survived(played):
    rig, env = played
    rig.eyes.hud_error = RuntimeError("hiccup")
    calls = []
    restart = rig.worker.recover

    def recover():
        calls.append(1)
        mend(rig)
        restart()

    rig.worker.recover = recover
    _, info = env.reset(seed=2)
    assert info["hud"].lives == 3
    assert calls or rig.worker.timing is not None, "on the wall clock the first read may come after the reset"


@pytest.mark.parametrize("clock", ["wall", "game"])
def test_a_death_page_that_stands_still_is_a_death_and_is_left_by_the_clicks(clock):
    quick = replace(GREAT_WALL, restart=(RestartTap(300, 300, 0.5), RestartTap(960, 1000, 1.7)))
    rig = make_rig(
        clock, variants=("one_life", "low_delay"), profile=quick, restart_wait_s=0.2, restart_compare_s=1.5
    )
    device, frame = rig.device, rig.device.frame
    shown = [Page.TITLE]

    def still_pages():
        """A page is captured once; then nothing changes, so nothing comes, as from screenrecord."""
        page = device.inner.view().page
        device.frozen = page is not Page.PLAYING and page is shown[0]
        shown[0] = page
        return frame()

    device.frame = still_pages
    env = GreatWallEnv(rig.worker.config, rig.worker)
    env.reset(seed=1)
    terminated = False
    while not terminated:
        _, _, terminated, truncated, info = env.step(WAIT)
        assert not truncated, info["interruption_detail"]
    assert info["reward_terms"]["death"] == -50
    _, info = env.reset()
    assert info["hud"].lives == 1
    assert info["hud"].distance < 40
    env.close()
