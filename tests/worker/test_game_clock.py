"""The game-clock driver: whole ticks, a fixed order, equal seeds give equal runs."""

import time

import numpy as np
import pytest

from greatwall.contracts import TICK_S, Action, ActionOrder, HudRead
from greatwall.errors import DeviceLost, Interruption, WorkerError
from greatwall.worker.game_clock import Delay
from tests.rigs.workers import make_rig

WAIT, JUMP, SHOOT = Action


def begun(seed=1, **options):
    rig = make_rig(**options)
    rig.worker.start()
    assert rig.worker.new_game(seed)
    return rig


@pytest.mark.parametrize(("action", "ticks"), [(WAIT, 3), (JUMP, 15), (SHOOT, 18)])
def test_each_action_lasts_its_ticks_between_two_decisions(action, ticks):
    rig = begun(variants=("no_enemies",))
    for i in range(1, 5):
        before = rig.device.tick
        assert rig.act(action, i) is not None
        assert rig.device.tick - before == ticks


@pytest.mark.parametrize(
    ("hz", "wait", "jump", "shoot"), [(10, 3, 15, 18), (15, 2, 16, 18), (30, 2, 15, 18), (6, 5, 15, 20)]
)
def test_steps_are_whole_decision_periods_at_other_rates(hz, wait, jump, shoot):
    """At 30 Hz a wait takes 2 ticks: the first frame from after it is perceived 2 ticks old."""
    rig = begun(decision_hz=hz)
    rig.worker.rest(1.0)
    for i, (action, ticks) in enumerate(((WAIT, wait), (JUMP, jump), (SHOOT, shoot))):
        before = rig.device.tick
        rig.act(action, i)
        assert rig.device.tick - before == ticks


def test_frames_are_perceived_two_ticks_after_their_capture():
    rig = begun()
    for i in range(20):
        result = rig.act(WAIT, i)
        perception = result.perception
        assert perception.perceived_at_s - perception.captured_at_s == pytest.approx(2 * TICK_S)
        assert perception.captured_at_s > result.executed_at_s
        assert perception.perceived_at_s == pytest.approx(rig.device.tick * TICK_S)


@pytest.mark.parametrize("delay", [(0.0, 0.0), (0.1, 0.1), (0.2, 0.2), (0.0, 0.3)])
def test_a_result_never_comes_from_a_frame_before_the_action(delay):
    rig = begun(delays={"capture_to_perceived_s": delay})
    rng = np.random.default_rng(0)
    for i in range(60):
        result = rig.act(Action(int(rng.integers(3))), i)
        assert result.perception.captured_at_s >= result.executed_at_s
        assert result.perception.frame_age_s <= delay[1] + 1e-6


def test_a_frame_of_the_tick_of_an_order_is_captured_after_the_order():
    rig = begun(delays={"capture_to_perceived_s": (0.1, 0.1)})
    rig.worker.rest(0.3)
    assert rig.device.tick == 9
    assert rig.device.captures[-1] == 6
    result = rig.act(WAIT, 1)
    assert (rig.device.tick, rig.device.captures[-1]) == (12, 9)
    assert result.perception.captured_at_s == pytest.approx(9 * TICK_S)


def test_captures_are_distinct_and_in_order_when_delays_vary():
    rig = begun(delays={"capture_to_perceived_s": (0.0, 0.4)})
    rig.worker.rest(20.0)
    captures = rig.device.captures
    assert captures == sorted(set(captures))
    assert len(captures) > 150


def test_the_first_perception_of_a_new_game_comes_at_once_and_whole():
    rig = begun()
    perception = rig.worker.perception
    assert rig.device.tick == 0
    assert rig.worker.perception_ready.is_set()
    assert perception.captured_at_s == 0.0
    assert perception.hud[:4] == (3, 20, 0, 0)


def test_the_hud_is_read_every_nine_ticks_and_published_later():
    rig = begun(delays={"hud_read_s": (4 / 30, 4 / 30)})
    ids = []
    for i in range(12):  # a wait is 3 ticks: 36 ticks
        rig.act(WAIT, i)
        ids.append(rig.worker.hud.read_id)
    # reads begin at ticks 0, 9, 18, 27, 36 and end 4 ticks later: seen at 15, 24, 33
    assert ids == [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]
    assert rig.worker.hud.captured_at_s == pytest.approx((27 - 2) * TICK_S)


def test_a_slow_hud_reader_starts_its_next_read_when_the_last_one_ends():
    rig = begun(delays={"hud_read_s": (12 / 30, 12 / 30)})
    rig.worker.rest(4.0)
    assert rig.worker.hud.read_id == 1 + (120 - 9) // 12


def test_equal_seeds_and_orders_give_equal_perceptions():
    def play(seed):
        rig = begun(seed, delays={"capture_to_perceived_s": (0.0, 0.2), "hud_read_s": (0.0, 0.4)})
        rng = np.random.default_rng(5)
        seen = []
        for i in range(80):
            p = rig.act(Action(int(rng.integers(3))), i).perception
            seen.append((p.captured_at_s, p.perceived_at_s, p.hud, p.objects, p.shoot_target))
        return seen

    first = play(3)
    assert first == play(3)
    assert first != play(4)


def test_a_game_begun_again_is_the_same_as_one_begun_first():
    def play(rig):
        rig.worker.new_game(9)
        return [rig.act(Action(i % 3), i).perception.objects for i in range(40)]

    rig = begun(2)
    rig.act(JUMP, 1)
    rig.worker.rest(1.0)
    assert play(rig) == play(begun(7))


def test_no_time_passes_on_the_wall():
    rig = begun()
    start_s = time.perf_counter()
    rig.worker.rest(60.0)
    assert time.perf_counter() - start_s < 5.0
    assert rig.device.tick == 1800


def test_resting_and_timeouts_end_on_their_tick():
    rig = begun()
    rig.worker.rest(7 / 30)
    assert rig.device.tick == 7
    assert not rig.worker.wait(rig.worker.action_done, 10 / 30)
    assert rig.device.tick == 17
    rig.act(WAIT, 1)
    assert rig.device.tick == 21  # the next perception from after tick 17


def test_a_pause_stops_time():
    rig = begun()
    assert rig.worker.pause()
    assert rig.device.tick == 0
    rig.worker.resume()
    rig.act(WAIT, 1)
    assert rig.device.tick == 3, "and the schedule is what it was"


def test_a_device_set_to_another_state_is_perceived_afresh():
    rig = begun()
    rig.worker.rest(1.0)
    state = rig.device.get_state()
    rig.worker.rest(5.0)
    rig.device.set_state(state)
    perception = rig.act(WAIT, 1).perception
    assert perception.perceived_at_s == pytest.approx(33 * TICK_S)


# --- failures: the same as on the wall clock ------------------------------------------------------


def test_a_failing_stage_is_an_interruption_a_few_times_and_then_an_error():
    rig = begun()
    rig.eyes.see_error = ValueError("no such layer")
    for _ in range(3):
        with pytest.raises(Interruption, match=r"main loop failed \(ValueError: no such layer") as caught:
            rig.act(WAIT)
        assert caught.value.reason == "worker_restarted"
        assert caught.value.__cause__ is rig.eyes.see_error
        rig.worker.env_action_queue.queue.clear()
        rig.worker.pending_signal = None
    with pytest.raises(WorkerError, match="main loop") as fatal:
        rig.act(WAIT)
    assert fatal.value.__cause__ is rig.eyes.see_error
    with pytest.raises(WorkerError):
        rig.worker.recover()


def test_a_worker_recovers_from_a_passing_failure():
    rig = begun()
    rig.eyes.see_error, rig.eyes.see_errors_left = ValueError("once"), 1
    with pytest.raises(Interruption):
        rig.act(JUMP, 1)
    rig.worker.recover()
    assert not rig.worker.action_done.is_set()
    assert rig.act(WAIT, 2).action_id == 2


def test_a_failing_hud_reader_is_named():
    rig = begun()
    rig.eyes.hud_error = RuntimeError("no language data")
    with pytest.raises(Interruption, match="ocr failed") as caught:
        rig.worker.rest(1.0)
    assert caught.value.__cause__ is rig.eyes.hud_error


@pytest.mark.parametrize("place", ["error", "touch_error"])
def test_a_lost_device_is_an_interruption_each_time(place):
    rig = begun()
    setattr(rig.device, place, DeviceLost("the cable is out"))
    for i in range(8):
        with pytest.raises(Interruption, match="phone_lost: the cable is out"):
            rig.act(JUMP, i)
        rig.worker._forget_orders()
    setattr(rig.device, place, None)
    rig.worker.recover()
    assert rig.act(WAIT, 9) is not None


def test_recovering_without_a_device_says_so():
    rig = begun()
    rig.device.error = DeviceLost("the cable is out")
    with pytest.raises(DeviceLost, match="expected the device back"):
        rig.worker.recover()


def test_frozen_frames_are_noticed_within_their_limit():
    rig = begun()
    rig.act(WAIT, 1)
    rig.device.frozen = True
    before = rig.device.tick
    with pytest.raises(Interruption, match="frames_stopped"):
        rig.act(WAIT, 2)
    assert (rig.device.tick - before) * TICK_S <= 1.7
    with pytest.raises(WorkerError, match="fresh frame"):
        rig.worker.recover()
    rig.device.frozen = False
    rig.worker.recover()
    assert rig.act(WAIT, 3).action_id == 3


# --- death and restart ----------------------------------------------------------------------------


def test_lives_read_as_zero_after_one_trigger_death():
    rig = begun()
    rig.eyes.hud = HudRead(1, 5, 0, 10)
    rig.worker.rest(1.0)
    rig.eyes.hud = HudRead(0, 5, 0, 11)
    rig.worker.rest(0.5)
    assert rig.worker.death_triggered.is_set()


def test_a_distance_that_stands_still_triggers_death_within_the_stall_time():
    rig = begun()
    rig.eyes.hud = HudRead(3, 5, 0, 10)
    rig.worker.rest(2.0)
    assert not rig.worker.death_triggered.is_set()
    rig.worker.rest(1.0)
    assert rig.worker.death_triggered.is_set()


def test_the_restart_clicks_lead_to_a_new_run_while_perception_goes_on():
    rig = begun(variants=("one_life",))
    worker = rig.worker
    while not worker.death_triggered.is_set():
        worker.rest(1.0)
    worker.rest(2.0)
    turns = worker.turns
    rig.device.touches.clear()
    worker.env_restart_order.set()
    ordered_at = rig.device.tick
    while worker.env_restart_order.is_set():
        worker.rest(0.1)
        if rig.device.tick - ordered_at == 60:
            assert not worker._death_check_enabled
            assert worker.hud.distance is None or worker.hud.distance > 0
    assert [touch[1:] for touch in rig.device.touches] == [(300, 300), (960, 1000)]
    assert rig.device.touches[0][0] == ordered_at
    assert rig.device.touches[1][0] - ordered_at == 90
    assert rig.device.tick - ordered_at in (150, 151, 152, 153)
    assert worker.turns - turns == pytest.approx(50, abs=2)
    assert worker._death_check_enabled
    assert not worker.death_triggered.is_set()
    assert worker.wait(worker.perception_ready, 1.0)
    worker.rest(0.5)
    assert worker.hud.lives == 1
    assert worker.hud.distance < 40


def test_no_action_is_taken_during_a_restart():
    rig = begun()
    rig.worker.env_restart_order.set()
    assert rig.act(JUMP, 1, timeout_s=2.0) is None
    assert [touch[1:] for touch in rig.device.touches] == [(300, 300)]
    assert rig.worker.env_action_queue.full()


def test_an_order_is_not_taken_before_the_last_one_is_finished():
    rig = begun()
    worker = rig.worker
    worker.env_action_queue.put(ActionOrder(1, JUMP), timeout=1.0)
    worker.rest(0.1)
    worker.env_action_queue.put(ActionOrder(2, JUMP), timeout=1.0)
    worker.rest(0.2)
    assert len(rig.device.touches) == 1
    assert worker.env_action_queue.full()
    worker.rest(0.5)
    assert len(rig.device.touches) == 2


def test_the_title_page_is_perceived_without_a_new_game():
    rig = make_rig()
    rig.worker.start()
    assert rig.worker.wait(rig.worker.perception_ready, 1.0)
    assert rig.device.tick == 0


def test_constant_delays_draw_nothing_and_varied_ones_stay_in_range():
    constant = Delay((2 / 30, 2 / 30), 1)
    assert {constant.next() for _ in range(9)} == {2}
    varied = Delay((1 / 30, 3 / 30), 1)
    assert {varied.next() for _ in range(400)} == {1, 2, 3}
    varied.reset(4)
    first = [varied.next() for _ in range(20)]
    varied.reset(4)
    assert first == [varied.next() for _ in range(20)]
