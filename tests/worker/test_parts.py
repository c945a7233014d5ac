"""The Worker's small parts: death watch, restart clicks, newest-frame slot, supervision, clocks."""

import queue
import threading
import time

import numpy as np
import pytest

from config import RestartTap
from greatwall.contracts import Action, ActionOrder, Frame, Hud, HudRead
from greatwall.errors import DeviceLost, Interruption, WorkerError
from greatwall.worker.clocks import WallClock
from greatwall.worker.death import DeathWatch
from greatwall.worker.latest_frame import LatestFrame, OrderQueue
from greatwall.worker.restart import RestartClicks
from greatwall.worker.stages import FORGIVEN_AFTER, Supervision

PICTURE = np.zeros((1, 1, 3), np.uint8)


def make_frame(frame_id):
    return Frame(frame_id, frame_id / 30, (1, 1), bgr=PICTURE)


# --- death ----------------------------------------------------------------------------------------


def dead_at(lives=(), distances=()):
    """The index of the first read, one every 0.3 s, at which the watch says dead; None if none."""
    watch = DeathWatch(stall_s=2.0, stall_reads=3)
    hud = Hud()
    for i in range(max(len(lives), len(distances))):
        at_s = 0.3 * i
        read = HudRead(lives=lives[i] if i < len(lives) else None)
        if i < len(distances) and distances[i] is not None:
            hud = hud._replace(distance=distances[i], distance_at_s=at_s)
        if watch.dead(read, hud._replace(captured_at_s=at_s)):
            return i
    return None


@pytest.mark.parametrize(
    ("lives", "index"),
    [
        ((3, 2, 1, 0), 3),
        ((3, 0, 3, 3), None),
        ((3, 0, 0), 2),
        ((0,), None),
        ((0, 0), 1),
        ((1, None, 0), 2),
        ((3, 0, None, 0), 3),
        ((3, 0, 3, 0, 3), None),
        ((None, None), None),
    ],
)
def test_a_zero_counts_after_a_one_or_twice_running(lives, index):
    assert dead_at(lives=lives) == index


@pytest.mark.parametrize(
    ("distances", "index"),
    [
        ((5,) * 10, 7),  # 7 * 0.3 s is the first to span 2 s
        (tuple(range(20)), None),
        ((5,) * 6 + (6,) * 6, None),
        ((5,) * 6 + (6,) * 10, 13),
        ((None,) * 20, None),
        ((5, None, None, None, None, None, None, 5, 5), 8),  # 3 good reads are needed
        ((5, 5, None, None, None, None, None, None, 5), 8),
        ((5, 5) + (None,) * 20, None),
    ],
)
def test_a_distance_that_stands_still_long_enough_is_death(distances, index):
    assert dead_at(distances=distances) == index


def test_a_pause_is_no_stall():
    watch = DeathWatch(2.0, 3)
    hud = Hud(distance=9)
    for at_s in (0.0, 0.3, 1.9):
        assert not watch.dead(HudRead(), hud._replace(distance_at_s=at_s, captured_at_s=at_s))
    watch.forget_stall()
    for at_s in (60.0, 60.3, 60.6):
        assert not watch.dead(HudRead(), hud._replace(distance_at_s=at_s, captured_at_s=at_s))


# --- restart --------------------------------------------------------------------------------------


def test_restart_taps_come_when_due_and_end_after_the_last_wait():
    taps = []
    clicks = RestartClicks((RestartTap(1, 2, 3.0), RestartTap(3, 4, 2.0)), lambda x, y: taps.append((x, y)))
    assert not clicks.turn(0.0)
    clicks.begin(10.0)
    done = [(at_s, len(taps)) for at_s in np.arange(10.0, 16.0, 0.1).round(1) if clicks.turn(at_s)]
    assert taps == [(1, 2), (3, 4)]
    assert done == [(15.0, 2)]
    assert not clicks.active


# --- slot -----------------------------------------------------------------------------------------


def never():
    return False


def test_the_newest_frame_wins_and_lost_ones_are_counted():
    slot = LatestFrame()
    for i in range(5):
        assert slot.put(make_frame(i), slot.run)
    assert slot.take(0.0, never).frame_id == 4
    assert (slot.grabbed, slot.overwritten) == (5, 4)


def test_a_frame_is_taken_once_and_stays_to_be_looked_at():
    slot = LatestFrame()
    slot.put(make_frame(7), slot.run)
    assert slot.take(0.0, never).frame_id == 7
    assert slot.take(0.01, never) is None
    assert slot.look()[0].frame_id == 7


def test_the_same_picture_is_not_a_new_frame():
    slot = LatestFrame()
    assert slot.put(make_frame(1), slot.run)
    assert not slot.put(make_frame(1), slot.run)
    assert slot.grabbed == 1


def test_frames_of_an_earlier_run_are_refused():
    slot = LatestFrame()
    run = slot.run
    slot.put(make_frame(1), run)
    slot.clear()
    assert slot.newest is None
    assert not slot.put(make_frame(2), run)
    assert slot.put(make_frame(1), slot.run)


def test_an_order_wakes_the_main_loop_at_once():
    slot = LatestFrame()
    orders = OrderQueue(slot)
    timer = threading.Timer(0.05, orders.put, (ActionOrder(1, Action.JUMP),))
    timer.start()
    start_s = time.perf_counter()
    assert slot.take(5.0, lambda: bool(orders.queue)) is None
    assert time.perf_counter() - start_s < 1.0
    with pytest.raises(queue.Full):
        orders.put(ActionOrder(2, Action.JUMP), timeout=0.01)
    timer.join(1.0)


# --- supervision ----------------------------------------------------------------------------------


def test_failures_are_forgiven_after_a_long_run_without_any():
    supervision = Supervision(restarts=1)
    error = ValueError("x")
    assert isinstance(supervision.verdict("ocr", error, 0), Interruption)
    assert isinstance(supervision.verdict("ocr", error, FORGIVEN_AFTER + 1), Interruption)
    assert isinstance(supervision.verdict("ocr", error, FORGIVEN_AFTER + 2), WorkerError)


def test_stages_are_counted_apart_and_a_lost_device_not_at_all():
    supervision = Supervision(restarts=1)
    assert isinstance(supervision.verdict("ocr", ValueError(), 0), Interruption)
    assert isinstance(supervision.verdict("main loop", ValueError(), 0), Interruption)
    for _ in range(5):
        assert supervision.verdict("main loop", DeviceLost("gone"), 0).reason == "phone_lost"
    supervision.raise_if_fatal()
    fatal = supervision.verdict("ocr", ValueError("y"), 0)
    with pytest.raises(WorkerError) as caught:
        supervision.raise_if_fatal()
    assert caught.value is fatal


def test_the_wall_clock_is_real_time():
    clock = WallClock()
    before_s = clock.now_s()
    clock.sleep(0.02)
    clock.sleep(-1.0)
    assert 0.015 < clock.now_s() - before_s < 1.0
