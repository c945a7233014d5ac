"""Each way of touching the screen, alone, against the real adb: where, when, and no finger left down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import PhoneConfig
from greatwall.device.phone import touch_scrcpy, touch_shell
from greatwall.device.phone.link import AdbLink
from greatwall.device.phone.parts import make_touch, open_parts
from greatwall.device.phone.scrcpy_server import ScrcpyServer
from greatwall.device.phone.touch_timer import TouchTimer
from greatwall.device.phone.touches import TOUCHES, HandBusy, Touch, in_px, swipe_path, touch_refusal
from greatwall.errors import ConfigError, DeviceError, DeviceLost
from tests.rigs.adb import AdbServer
from tests.rigs.phone import StandInPhone

SOON_S = 20.0
LOOK_S = 0.01
Facts = list[dict[str, Any]]


@contextmanager
def touching(name: str, link: AdbLink, config: PhoneConfig) -> Iterator[Touch]:
    """A touch that is open, alone."""
    server = ScrcpyServer(link, config, video=False, control=True) if name == "scrcpy" else None
    touch = None
    try:
        if server is not None:
            server.start(SOON_S)
        touch = make_touch(name, link, server, with_video=False)
        yield touch
    finally:
        if touch is not None:
            touch.close()
        if server is not None:
            server.close()


def touches_when(phone: StandInPhone, enough: Callable[[Facts], bool]) -> Facts:
    """What reached the phone, once it is enough."""
    pause = threading.Event()
    deadline = time.perf_counter() + SOON_S
    found: Facts = []
    while time.perf_counter() < deadline:
        found = without_strays(phone.facts("touches")["touches"])
        if enough(found):
            return found
        pause.wait(LOOK_S)
    raise AssertionError(f"expected other touches, found {found}")


def without_strays(touches: Facts) -> Facts:
    """Without the lifting of fingers that are not down: an open touch begins with that."""
    down: set[str] = set()
    kept = []
    for one in touches:
        if one["action"] == "down":
            down.add(one["pointer"])
        elif one["action"] == "up" and one["pointer"] not in down:
            continue
        elif one["action"] == "up" and one["fate"] == "kept":
            down.discard(one["pointer"])
        kept.append(one)
    return kept


def tap_on(touch: Touch, count: int, every_s: float = 0.0) -> None:
    """Tap again and again."""
    pause = threading.Event()
    for _ in range(count):
        touch.tap((0.5, 0.5))
        pause.wait(every_s)


def ups(found: Facts) -> int:
    return sum(one["action"] == "up" for one in found)


@pytest.mark.parametrize("name", TOUCHES)
def test_each_touch_alone_taps_where_it_is_told(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    with touching(name, link, phone_config) as touch:
        touch.tap((300 / 1920, 300 / 1080))
        found = touches_when(phone, lambda all_: ups(all_) == 1)
        assert [one["action"] for one in found if one["action"] != "move"] == ["down", "up"]
        assert {(one["x"], one["y"]) for one in found} == {(200, 200)}
        assert {one["fate"] for one in found} == {"kept"}
        assert "1 made" in touch.health()
    assert phone.facts("fingers_down")["fingers_down"] == []


@pytest.mark.parametrize("name", TOUCHES)
def test_each_touch_alone_swipes_from_there_to_there(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    with touching(name, link, phone_config) as touch:
        began_s = time.perf_counter()
        touch.swipe((0.25, 0.5), (0.5, 0.25), 400)
        assert time.perf_counter() - began_s < 0.4  # it does not wait for the swipe
        found = touches_when(phone, lambda all_: ups(all_) == 1)
    assert (found[0]["action"], found[0]["x"], found[0]["y"]) == ("down", 320, 360)
    assert (found[-1]["action"], found[-1]["x"], found[-1]["y"]) == ("up", 640, 180)
    xs = [one["x"] for one in found]
    assert xs == sorted(xs)
    assert found[-1]["at_s"] - found[0]["at_s"] >= 0.35


@pytest.mark.parametrize("name", TOUCHES)
def test_a_swipe_does_not_hold_up_a_tap(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    with touching(name, link, phone_config) as touch:
        touch.swipe((0.2, 0.5), (0.4, 0.5), 1500)
        touch.tap((0.9, 0.9))
        found = touches_when(phone, lambda all_: ups(all_) == 2)
    tap = [one for one in found if (one["x"], one["y"]) == (1152, 648)]
    swipe_up = next(one for one in found if one["action"] == "up" and one not in tap)
    assert tap[-1]["action"] == "up"
    assert tap[-1]["at_s"] < swipe_up["at_s"]


def test_two_taps_at_once_are_two_fingers(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    with touching("scrcpy", link, phone_config) as touch:
        for x in range(1, 15):  # more than there are fingers
            touch.tap((x / 16, 0.5))
        found = touches_when(phone, lambda all_: ups(all_) == 14)
    downs = [one["x"] for one in found if one["action"] == "down"]
    assert downs == [80 * x for x in range(1, 15)]
    assert phone.facts("fingers_down")["fingers_down"] == []


def test_closing_in_the_middle_of_a_swipe_lifts_the_finger(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    with touching("scrcpy", link, phone_config) as touch:
        touch.swipe((0.2, 0.5), (0.8, 0.5), 60_000)
        touches_when(phone, lambda all_: len(all_) >= 2)
        touch.close()
        found = touches_when(phone, lambda all_: ups(all_) == 1)
        assert found[-1]["action"] == "up"
        with pytest.raises(DeviceLost):
            touch.tap((0.5, 0.5))
    assert phone.facts("fingers_down")["fingers_down"] == []


def test_lifting_all_ends_gestures_but_not_the_touching(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    with touching("scrcpy", link, phone_config) as touch:
        touch.swipe((0.2, 0.5), (0.8, 0.5), 60_000)
        touch.swipe((0.2, 0.7), (0.8, 0.7), 60_000)
        touches_when(phone, lambda all_: len({one["pointer"] for one in all_}) == 2)
        touch.lift_all()
        touch.lift_all()
        touches_when(phone, lambda all_: ups(all_) == 2)
        assert phone.facts("fingers_down")["fingers_down"] == []
        touch.tap((0.5, 0.5))
        touches_when(phone, lambda all_: ups(all_) == 3)


def test_turning_the_phone_in_a_swipe_leaves_no_finger_down(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    """The server drops what is meant for the old size: fingers are lifted for the new one."""
    phone.reset(playing=True)
    parts = open_parts(link, phone_config, "scrcpy", "scrcpy", SOON_S)
    try:
        phone.misbehave("rotate", mid_swipe=True, for_s=60)
        parts.touch.swipe((0.2, 0.5), (0.8, 0.5), 60_000)
        touches_when(phone, lambda all_: ups(all_) >= 1)
        assert parts.capture.size == (720, 1280)
        parts.touch.tap((0.5, 0.5))
        found = touches_when(phone, lambda all_: (all_[-1]["action"], all_[-1]["x"]) == ("up", 360))
        assert (found[-1]["y"], found[-1]["size"], found[-1]["fate"]) == (640, [720, 1280], "kept")
    finally:
        parts.close()
    assert phone.facts("fingers_down", "fingers_orphaned") == {"fingers_down": [], "fingers_orphaned": 0}


def test_a_finger_whose_up_was_dropped_is_lifted_when_the_new_size_is_known(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    phone.reset(playing=True)
    parts = open_parts(link, phone_config, "scrcpy", "scrcpy", SOON_S)
    try:
        parts.capture.resized = None  # the news of the turning comes late
        parts.touch.swipe((0.2, 0.5), (0.8, 0.5), 60_000)
        touches_when(phone, lambda all_: any(one["action"] == "down" for one in all_))
        phone.misbehave("rotate", for_s=60)
        until(lambda: parts.capture.size == (720, 1280))
        parts.touch.lift_all()
        touches_when(phone, lambda all_: (all_[-1]["action"], all_[-1]["fate"]) == ("up", "dropped"))
        assert phone.facts("fingers_down")["fingers_down"]
        parts.touch.resized((720, 1280))
        until(lambda: not phone.facts("fingers_down")["fingers_down"])
    finally:
        parts.close()


def test_a_finger_whose_up_was_lost_is_lifted_a_moment_later(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(touch_scrcpy, "AGAIN_S", (1.0, 3.0))
    with touching("scrcpy", link, phone_config) as touch:
        touch.swipe((0.2, 0.5), (0.8, 0.5), 2000)
        touches_when(phone, lambda all_: bool(all_))
        phone.misbehave("drop", of="touches", share=1.0)
        touches_when(phone, lambda all_: (all_[-1]["action"], all_[-1]["fate"]) == ("up", "lost"))
        assert phone.facts("fingers_down")["fingers_down"]
        phone.behave()
        until(lambda: not phone.facts("fingers_down")["fingers_down"])


def test_an_up_is_not_said_again_while_another_finger_is_down(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(touch_scrcpy, "AGAIN_S", (0.05,))
    with touching("scrcpy", link, phone_config) as touch:
        touch.swipe((0.2, 0.5), (0.8, 0.5), 60_000)
        touch.tap((0.9, 0.9))
        touches_when(phone, lambda all_: ups(all_) == 1)
        pass_time(touch)
        touch.lift_all()
        touch.tap((0.1, 0.1))
        until(lambda: ups_at(128, phone) == 2)
        assert ups_at(1152, phone) == 1


def test_an_up_is_not_said_again_once_its_finger_is_down_anew(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(touch_scrcpy, "AGAIN_S", (0.5,))
    with touching("scrcpy", link, phone_config) as touch:
        touch.tap((0.9, 0.9))
        touches_when(phone, lambda all_: ups(all_) == 1)
        touch.tap((0.1, 0.1))
        until(lambda: ups_at(128, phone) == 2)
        assert ups_at(1152, phone) == 1


def test_after_lifting_all_no_up_is_said_again(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(touch_scrcpy, "AGAIN_S", (0.05,))
    with touching("scrcpy", link, phone_config) as touch:
        touch.swipe((0.9, 0.9), (0.9, 0.9), 60_000)
        touches_when(phone, lambda all_: bool(all_))
        touch.lift_all()
        pass_time(touch)
        touch.tap((0.1, 0.1))
        until(lambda: ups_at(128, phone) == 2)
        assert ups_at(1152, phone) == 1


def pass_time(touch: Touch) -> None:
    """Until all that is due within 0.1 s is done."""
    assert isinstance(touch, touch_scrcpy.ScrcpyTouch)
    done = threading.Event()
    touch._timer.at((time.perf_counter() + 0.1, done.set))
    assert done.wait(SOON_S)


def ups_at(x: int, phone: StandInPhone) -> int:
    """All of them, those of fingers that are not down too."""
    return ups([one for one in phone.facts("touches")["touches"] if one["x"] == x])


def until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    deadline = time.perf_counter() + SOON_S
    while not holds():
        assert time.perf_counter() < deadline
        pause.wait(LOOK_S)


@pytest.mark.parametrize("capture", ["scrcpy", "screenrecord", "raw"])
@pytest.mark.parametrize("touch", TOUCHES)
def test_any_capture_goes_with_any_touch(
    capture: str, touch: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    phone.reset(playing=True)
    parts = open_parts(link, phone_config, capture, touch, SOON_S)
    try:
        assert (parts.capture.name, parts.touch.name) == (capture, touch)
        parts.touch.tap((0.25, 0.25))
        found = touches_when(phone, lambda all_: ups(all_) == 1)
        assert {(one["x"], one["y"], one["fate"]) for one in found} == {(320, 180, "kept")}
    finally:
        parts.close()


def test_a_larger_screen_is_touched_at_the_same_place(adb_server: AdbServer) -> None:
    """The video has 1280 px, the screen 1920: fractions are of either."""
    from tests.rigs.phone import PhoneSettings

    with StandInPhone(PhoneSettings(width=1920, height=1080, playing=True)) as phone:
        adb_server.connect(phone.serial)
        link = AdbLink.choose(phone.serial, adb_server.port)
        config = PhoneConfig(serial=phone.serial, adb_port=adb_server.port)
        for touch in TOUCHES:
            phone.reset(playing=True)
            parts = open_parts(link, config, "scrcpy", touch, SOON_S)
            try:
                assert parts.capture.size == (1280, 720)
                parts.touch.tap((300 / 1920, 300 / 1080))
                found = touches_when(phone, lambda all_: ups(all_) == 1)
            finally:
                parts.close()
            assert [abs(found[-1][axis] - 300) <= 1 for axis in "xy"] == [True, True]
        adb_server.disconnect(phone.serial)


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOUCHES)
def test_a_touch_of_a_phone_that_is_gone_is_an_error(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig, adb_server: AdbServer
) -> None:
    with touching(name, link, phone_config) as touch:
        adb_server.disconnect(phone.serial)
        with pytest.raises(DeviceError) as caught:
            tap_on(touch, 100, 0.2)
        assert "\n" not in str(caught.value)
        touch.lift_all()


@pytest.mark.parametrize(("name", "most"), [("shell", touch_shell.BACKLOG), ("adb", touch_shell.PROCESSES)])
def test_touches_that_wait_are_not_piled_up(
    name: str, most: int, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    """A jump that is made a second late is worse than none."""
    with touching(name, link, phone_config) as touch:
        phone.misbehave("hang")
        with pytest.raises(HandBusy, match=rf"{most} waiting; .*--touch scrcpy"):
            tap_on(touch, most + 1)
        phone.behave()


def test_a_shell_is_closed_after_the_swipe_that_is_under_way(
    link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    with touching("shell", link, phone_config) as touch:
        touch.swipe((0.2, 0.5), (0.4, 0.5), 300)
        touches_when(phone, lambda all_: bool(all_))
    found = phone.facts("touches", "fingers_down")
    assert [one["action"] for one in found["touches"]] == ["down", "up"]
    assert found["fingers_down"] == []


@pytest.mark.parametrize("name", TOUCHES)
def test_trying_out_touches_nothing(
    name: str, link: AdbLink, phone: StandInPhone, phone_config: PhoneConfig
) -> None:
    with touching(name, link, phone_config) as touch:
        call_s, done_s = touch.try_out(SOON_S)
        assert call_s >= 0
        assert done_s >= call_s or name == "scrcpy"
    assert phone.facts("touches", "keys") == {"touches": [], "keys": [0]}


@pytest.mark.parametrize(
    "said",
    [
        "[server] ERROR: Injecting input events requires the caller to have the INJECT_EVENTS permission.",
        "java.lang.SecurityException: Injecting to another application requires INJECT_EVENTS permission",
    ],
)
def test_a_phone_that_takes_no_touches_is_told_with_the_setting_it_needs(said: str) -> None:
    assert "USB debugging (Security settings)" in touch_refusal(said)
    assert "\n" not in touch_refusal(said)


def test_other_words_are_no_refusal() -> None:
    assert touch_refusal("[server] INFO: Device: [x] y (Android 14)") == ""


def test_a_shell_says_when_input_fails(link: AdbLink) -> None:
    shell = touch_shell._Shell(link, "test")
    try:
        shell.done(shell.say("echo fine"), SOON_S)
        with pytest.raises(DeviceError, match="failed with 127"):
            shell.done(shell.say("no-such-command"), SOON_S)
        with pytest.raises(DeviceError):
            shell.say("echo fine")
    finally:
        shell.close()


def test_an_unknown_touch_is_told_with_those_there_are(link: AdbLink) -> None:
    with pytest.raises(ConfigError, match="scrcpy, shell, adb"):
        make_touch("monkey", link, None, with_video=False)


# --- pure -----------------------------------------------------------------------------------------


@given(st.tuples(st.floats(-2, 3), st.floats(-2, 3)), st.tuples(st.integers(1, 5000), st.integers(1, 5000)))
def test_points_are_always_inside_the_screen(point: tuple[float, float], size: tuple[int, int]) -> None:
    x, y = in_px(point, size)
    assert 0 <= x < size[0]
    assert 0 <= y < size[1]


@given(st.integers(0, 5000))
def test_a_swipe_moves_evenly_and_ends_at_its_end(duration_ms: int) -> None:
    path = list(swipe_path((0.0, 1.0), (1.0, 0.0), duration_ms))
    assert path[-1] == (duration_ms / 1e3, (1.0, 0.0))
    times = [at_s for at_s, _ in path]
    assert times == sorted(times)
    for at_s, (x, y) in path:
        assert x == pytest.approx(1.0 - y)
        if duration_ms:
            assert x == pytest.approx(at_s / (duration_ms / 1e3))


def test_the_timer_calls_in_the_order_of_their_times() -> None:
    timer = TouchTimer()
    done = threading.Event()
    order: list[str] = []
    now_s = time.perf_counter()
    timer.at((now_s + 0.06, done.set), (now_s + 0.04, lambda: order.append("later")))
    timer.at((now_s - 1.0, lambda: order.append("at once")))
    assert done.wait(SOON_S)
    assert order == ["at once", "later"]
    timer.at((time.perf_counter() + 60, lambda: order.append("never")))
    timer.close()
    assert order == ["at once", "later"]
