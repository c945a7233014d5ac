"""A phone that is lost, covered, left, turned or stopped: what is done about it, and what never is."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config import FaultConfig
from greatwall.contracts import RecoveringDevice, recovering
from greatwall.device.phone.guard import StopSwitch
from greatwall.device.phone.recovery import back_off
from greatwall.device.withheld import WithholdingDevice
from greatwall.errors import DeviceError, DeviceLost, GameLeft, HandsOff
from tests.rigs.kept_phone import GAME, LAUNCHER, ScriptedPhone, kept

JUMP = (200.0, 200.0)  # (300, 300) of 1920x1080 on 1280x720


@pytest.fixture
def phone():
    return ScriptedPhone()


@pytest.fixture
def device(phone):
    device = kept(phone)
    yield device
    device.close()


def back_presses(phone):
    return phone.log.count("input keyevent 4")


def starts(phone):
    return sum(line.startswith(("monkey", "am start")) for line in phone.log)


def test_waits_grow_by_half_up_to_the_last(phone):
    delays = back_off(0.5, 2.0)
    assert [next(delays) for _ in range(6)] == [0.5, 0.75, 1.125, 1.6875, 2.0, 2.0]


def test_it_is_found_behind_devices_that_stand_before_it(device):
    assert isinstance(device, RecoveringDevice)
    assert recovering(device) is device
    assert recovering(ScriptedPhone()) is None


def test_what_is_in_front_at_first_is_the_game(phone):
    phone.front = "org.other.game"
    device = kept(phone, package="")
    assert device.foreground.game == "org.other.game"
    device.tap(*JUMP)
    device.close()
    assert phone.closed


@pytest.mark.parametrize(
    "states", [{"front": LAUNCHER}, {"front": ""}, {"upright": True}], ids=["home screen", "none", "upright"]
)
def test_what_nobody_named_and_is_no_game_is_not_played_on(phone, states):
    for name, value in states.items():
        setattr(phone, name, value)
    with pytest.raises(GameLeft, match="open the game, or name it with --package"):
        kept(phone, package="")
    assert phone.closed
    assert not phone.touches


def test_a_named_game_that_stands_upright_is_started_before_anything_else(phone):
    phone.upright = True
    device = kept(phone)
    assert starts(phone) == 1
    device.frame()
    device.close()


def test_a_named_game_is_brought_to_the_front_at_the_start(phone):
    phone.front = LAUNCHER
    device = kept(phone)
    assert phone.front == GAME
    device.tap(*JUMP)
    device.close()


def test_a_lost_phone_says_so_at_once_and_to_all_until_it_is_back(phone, device):
    phone.plugged = False
    with pytest.raises(DeviceLost, match="video ended"):
        device.frame()
    phone.plugged = True
    for call in (device.frame, lambda: device.tap(*JUMP)):
        with pytest.raises(DeviceLost, match="video ended"):
            call()
    assert not phone.touches
    lifts = phone.lifts
    device.recover()
    assert phone.lifts > lifts, "a finger of the old connection may still be down"
    device.tap(*JUMP)
    assert device.frame().captured_at_s > 100
    assert device.counts["lost"] == device.counts["reopened"] == 1


def test_it_waits_with_back_off_for_a_phone_that_comes_back_late(phone, device):
    phone.plugged = False
    phone.at(40.0, plugged=True)
    with pytest.raises(DeviceLost):
        device.frame()
    device.recover()
    assert 140 <= phone.time_s < 160
    assert phone.log.count("reopen") < 12
    device.frame()


def test_it_gives_up_in_time_with_one_line(phone, device):
    phone.plugged = False
    with pytest.raises(DeviceLost):
        device.frame()
    with pytest.raises(DeviceLost, match="back within 60 s, found: adb does not list it") as caught:
        device.recover()
    assert 130 < phone.time_s <= 162
    assert "\n" not in str(caught.value)


def test_troubles_in_a_row_share_one_time_limit(phone, device):
    for _ in range(12):
        phone.plugged = False
        phone.at(7.0, plugged=True)
        with pytest.raises(DeviceLost):
            device.frame()
        try:
            device.recover()
        except DeviceLost:
            break
        phone.pass_time(1.0)  # not calm for long enough to count as fine
    assert phone.time_s <= 165
    phone.plugged = True


def test_calm_makes_the_next_trouble_the_first(phone, device):
    for _ in range(12):
        phone.plugged = False
        phone.at(7.0, plugged=True)
        with pytest.raises(DeviceLost):
            device.frame()
        device.recover()
        phone.pass_time(11.0)
    assert device.counts["reopened"] == 12


@pytest.mark.parametrize("cover", ["com.android.systemui", "com.shop.advert", LAUNCHER])
def test_nothing_is_looked_at_or_touched_while_another_app_is_in_front(phone, device, cover):
    phone.front = cover
    device.foreground.ask()
    for call in (device.frame, lambda: device.tap(*JUMP), device.confirm):
        with pytest.raises(GameLeft, match=f"expected {GAME} in front, found {cover}"):
            call()
    assert not phone.touches


def test_an_old_answer_is_none_and_without_one_nothing_is_touched(phone):
    device = kept(phone, foreground_poll_s=5.0, foreground_age_s=6.0)
    phone.pass_time(5.9)
    device.tap(*JUMP)
    phone.pass_time(0.2)
    with pytest.raises(GameLeft, match=r"at most 6 s ago"):
        device.tap(*JUMP)
    assert len(phone.touches) == 1
    device.frame()  # looking is harmless
    device.close()


def test_a_pop_up_is_answered_with_back(phone, device):
    phone.front = "com.android.permissioncontroller"
    device.recover()
    assert (phone.front, back_presses(phone), starts(phone)) == (GAME, 1, 0)
    device.tap(*JUMP)


def test_another_app_is_answered_by_starting_the_game(phone, device):
    phone.front, phone.back_closes = "com.android.dialer", False
    device.recover()
    assert (phone.front, back_presses(phone), starts(phone)) == (GAME, 2, 1)


def test_no_window_at_all_gets_no_back_press(phone, device):
    phone.front = ""
    device.recover()
    assert (phone.front, back_presses(phone), starts(phone)) == (GAME, 0, 1)


def test_after_a_few_answers_it_only_waits_and_then_says_what_is_in_front(phone, device):
    phone.front, phone.back_closes, phone.launches = "com.android.dialer", False, False
    with pytest.raises(DeviceLost, match=r"after 2 Back and 2 starts of it, found com.android.dialer"):
        device.recover()
    assert (back_presses(phone), starts(phone)) == (2, 2)
    assert not phone.touches


def test_a_call_that_ends_in_time_is_sat_out(phone, device):
    phone.front, phone.back_closes, phone.launches = "com.android.dialer", False, False
    phone.at(30.0, front=GAME)
    device.recover()
    device.tap(*JUMP)


def test_an_upright_screen_is_a_game_that_was_left_and_is_started_again(phone, device):
    phone.upright = True
    with pytest.raises(GameLeft, match="720x1280"):
        device.frame()
    device.recover()
    assert starts(phone) == 1
    assert back_presses(phone) == 0
    device.frame()


def test_a_stuck_picture_is_opened_anew_and_then_the_game_is_started(phone, device):
    phone.moving = False
    phone.pass_time(5.0)
    device.recover()
    assert (phone.log.count("reopen"), starts(phone)) == (1, 0)
    assert device.frame().captured_at_s > 105


def test_a_phone_that_hangs_is_opened_anew(phone, device):
    phone.hung = True
    phone.at(12.0, hung=False)
    with pytest.raises(GameLeft, match="within 5 s"):
        device.confirm()
    device.recover()
    assert phone.log.count("reopen") >= 1
    device.tap(*JUMP)


def test_a_game_that_does_not_start_says_what_android_said(phone, device):
    phone.front = LAUNCHER
    shell = phone.shell

    def refusing(arguments, timeout_s=5.0):
        said = shell(arguments, timeout_s)
        if arguments[0] == "monkey":
            phone.front = LAUNCHER
            return "** No activities found to run, monkey aborted."
        return said

    phone.shell = refusing
    with pytest.raises(DeviceLost, match=r"after 2 Back and 2 starts|No activities found to run"):
        device.recover()
    assert starts(phone) == 2


def test_a_relaunch_stops_the_app_and_waits_until_it_is_in_front(phone, device):
    device.relaunch()
    assert f"am force-stop {GAME}" in phone.log
    assert (phone.front, starts(phone), back_presses(phone)) == (GAME, 1, 0)
    device.recover()
    device.tap(*JUMP)


def test_a_phone_lost_while_relaunching_is_left_to_the_recovery(phone, device):
    phone.plugged = False
    device.relaunch()
    phone.at(3.0, plugged=True)
    device.recover()
    device.frame()


def test_a_phone_that_hangs_while_relaunching_is_left_to_the_recovery(phone, device):
    phone.hung = True
    device.relaunch()
    phone.hung = False
    device.recover()
    device.frame()


def test_a_locked_screen_is_lit_and_its_keyguard_sent_away(phone, device):
    phone.front, phone.back_closes = "NotificationShade", False
    device.recover()
    assert phone.log.index("input keyevent 224") < phone.log.index("wm dismiss-keyguard")
    device.tap(*JUMP)


def test_touches_elsewhere_than_the_profiles_are_refused_on_any_size(device, phone):
    with pytest.raises(DeviceError, match=r"found \(1800, 60\)"):
        device.tap(1200, 40)
    with pytest.raises(DeviceError, match="expected a swipe from the rider"):
        device.swipe(640, 540, 840, 540, 100)
    device.swipe(163, 536, 363, 536, 100)
    assert len(phone.touches) == 1


def test_a_person_stops_everything_for_good_a_recovery_too(phone):
    stop = StopSwitch()
    device = kept(phone, stop)
    stop.throw("SIGUSR1")
    for call in (device.frame, lambda: device.tap(*JUMP), device.recover):
        with pytest.raises(HandsOff, match="SIGUSR1"):
            call()
    assert not phone.touches
    device.close()


def test_a_touch_that_was_being_made_when_it_was_stopped_is_lifted(phone):
    stop = StopSwitch()
    device = kept(phone, stop)
    stop.forget(phone.lift_all)  # the lifting thread has been there already
    swipe, lifts = phone.swipe, phone.lifts

    def slow_swipe(*points):
        stop.throw("SIGUSR1")
        swipe(*points)

    phone.swipe = slow_swipe
    device.swipe(163, 536, 363, 536, 100)
    assert phone.lifts == lifts + 1
    device.close()


def test_a_recovery_that_waits_is_stopped_within_the_slice_it_waits_in(phone):
    stop = StopSwitch()
    device = kept(phone, stop)
    phone.plugged = False
    with pytest.raises(DeviceLost):
        device.frame()
    phone.later.append((phone.time_s + 20.0, lambda: stop.throw("Ctrl-\\ (SIGQUIT)")))
    with pytest.raises(HandsOff, match="SIGQUIT"):
        device.recover()
    assert phone.time_s < 100 + 20 + 1.5
    device.close()


def test_closing_lifts_the_fingers_and_ends_a_recovery(phone, device):
    phone.plugged = False
    with pytest.raises(DeviceLost):
        device.frame()
    phone.later.append((phone.time_s + 5.0, device.close))
    with pytest.raises(DeviceLost, match="a closed one"):
        device.recover()
    assert phone.closed
    assert phone.lifts


# --- laws -----------------------------------------------------------------------------------------

states = st.fixed_dictionaries(
    {},
    optional={
        "plugged": st.booleans(),
        "hung": st.booleans(),
        "moving": st.booleans(),
        "upright": st.booleans(),
        "stream_broken": st.just(True),
        "front": st.sampled_from([GAME, LAUNCHER, "com.shop.advert", ""]),
        "back_closes": st.booleans(),
        "launches": st.booleans(),
    },
)
histories = st.lists(st.tuples(st.floats(0, 40), states), max_size=8)


@settings(max_examples=150, deadline=None)
@given(histories)
def test_whatever_happens_it_comes_back_whole_or_gives_up_in_time_and_presses_little(history):
    phone = ScriptedPhone()
    device = kept(phone)
    try:
        for after_s, changes in history:
            phone.at(after_s, **changes)
        phone.pass_time(0.0)
        began_s = phone.time_s
        gave_up = False
        try:
            device.recover()
        except DeviceLost:
            gave_up = True
        if gave_up:
            # the last wait before the end, and one whole try: reaching, opening, pressing, looking
            assert 60 - 16 <= phone.time_s - began_s <= 60 + 40
        else:
            assert device.foreground._answer.front == GAME
            assert phone._captured_s > began_s
        assert back_presses(phone) <= 2
        assert starts(phone) <= 2
        assert not phone.touches
    finally:
        device.close()


@settings(max_examples=150, deadline=None)
@given(histories, st.lists(st.sampled_from(["tap", "frame", "ask", "recover", "wait"]), max_size=25))
def test_no_touch_is_made_that_the_last_answer_did_not_allow(history, calls):
    phone = ScriptedPhone()
    device = kept(phone, foreground_poll_s=2.0, foreground_age_s=6.0, give_up_s=5.0)
    device.foreground.close()  # the calls below ask
    try:
        for after_s, changes in history:
            phone.at(after_s, **changes)
        answered_s, answer = phone.time_s, GAME
        for call in calls:
            touches = len(phone.touches)
            with contextlib.suppress(DeviceError):
                if call == "tap":
                    device.tap(*JUMP)
                elif call == "frame":
                    device.frame()
                elif call == "ask":
                    answer = device.foreground.ask()
                    answered_s = phone.time_s
                elif call == "recover":
                    answered_s, answer = phone.time_s, ""
                    device.recover()
                    answered_s, answer = phone.time_s, GAME
            if len(phone.touches) > touches:
                assert answer == GAME
                assert phone.time_s - answered_s <= 6.2
            phone.pass_time(1.0)
    finally:
        device.close()


def test_a_device_behind_faults_made_on_purpose_still_recovers(device):
    before = WithholdingDevice(device, FaultConfig(drop=0.1))
    assert recovering(before) is device
