"""Which touches are made at all, and how a person stops them."""

import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import GREAT_WALL, GameProfile
from greatwall.contracts import Action
from greatwall.device.phone.guard import STOP_SIGNALS, SWIPE_PX, TAP_PX, StopSwitch, TouchRules, stop_signals
from greatwall.errors import DeviceError, HandsOff
from greatwall.worker.clocks import WallClock
from greatwall.worker.display import Windows
from greatwall.worker.hands import Hands
from tests.rigs.scripted_worker import make_perception

RULES = TouchRules(GREAT_WALL)
WIDTH, HEIGHT = GREAT_WALL.frame_size
RIDER_X, RIDER_Y = 245.0, 805.0

points = st.tuples(st.floats(-100, WIDTH + 100), st.floats(-100, HEIGHT + 100))


@pytest.mark.parametrize("point", [(300, 300), (960, 1000), (300 + TAP_PX, 300 - TAP_PX)])
def test_the_profiles_taps_are_allowed(point):
    RULES.check_tap(*point)


@pytest.mark.parametrize(
    ("where", "point"),
    [
        ("an advert's cross", (1880, 40)),
        ("a purchase button", (960, 700)),
        ("the rider", (245, 805)),
        ("beside the jump tap", (300 + TAP_PX + 1, 300)),
        ("the corner", (0, 0)),
    ],
)
def test_a_tap_elsewhere_is_refused_and_named(where, point):
    with pytest.raises(DeviceError, match=rf"found \({point[0]:.0f}, {point[1]:.0f}\); it was not made"):
        RULES.check_tap(*point)


@pytest.mark.parametrize(
    "swipe",
    [
        (RIDER_X, RIDER_Y, RIDER_X + 300, RIDER_Y),
        (RIDER_X, RIDER_Y, RIDER_X + 298, RIDER_Y - 85),
        (RIDER_X + 60, 520, RIDER_X + 250, 750),
        (RIDER_X, RIDER_Y, RIDER_X - 290, RIDER_Y),
    ],
)
def test_swipes_from_the_rider_as_far_as_an_arrow_is_aimed_are_allowed(swipe):
    RULES.check_swipe(*swipe)


@pytest.mark.parametrize(
    "swipe",
    [
        (960, RIDER_Y, 1260, RIDER_Y),  # from the middle of the screen
        (RIDER_X, 20, RIDER_X + 300, 20),  # over the HUD, which opens the notifications
        (RIDER_X, 1070, RIDER_X, 780),  # from the lower edge, which goes home
        (RIDER_X, RIDER_Y, RIDER_X + 900, RIDER_Y),  # too far
        (RIDER_X, RIDER_Y, RIDER_X + 10, 1079),  # down to the edge
        (RIDER_X, 400, RIDER_X, 110),  # up into the HUD
    ],
)
def test_other_swipes_are_refused_and_named(swipe):
    x1, y1 = swipe[:2]
    with pytest.raises(DeviceError, match=rf"\({x1:.0f}, {y1:.0f}\)"):
        RULES.check_swipe(*swipe)


@given(points)
def test_an_allowed_tap_is_near_one_of_the_profiles(point):
    try:
        RULES.check_tap(*point)
    except DeviceError:
        return
    taps = [GREAT_WALL.jump_tap, *((one.x, one.y) for one in GREAT_WALL.restart)]
    assert min(max(abs(point[0] - x), abs(point[1] - y)) for x, y in taps) <= TAP_PX


@given(points, points)
def test_an_allowed_swipe_stays_out_of_the_hud_and_off_the_edges(start, end):
    try:
        RULES.check_swipe(*start, *end)
    except DeviceError:
        return
    hud_ends = max(box.box[1] + box.box[3] for _, box in GREAT_WALL.hud)
    for _, y in (start, end):
        assert hud_ends < y < HEIGHT - 50
    assert (end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2 <= (300 + 50 + SWIPE_PX) ** 2


class TouchedScreen:
    """A device of some size that notes touches, in px of the profile's frame."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size

    def tap(self, x: float, y: float) -> None:
        RULES.check_tap(*self.on_profile(x, y))

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        RULES.check_swipe(*self.on_profile(x1, y1), *self.on_profile(x2, y2))

    def on_profile(self, x: float, y: float) -> tuple[float, float]:
        """Rounded to whole px of the device, as a touch is."""
        return round(x) * WIDTH / self.size[0], round(y) * HEIGHT / self.size[1]


enemies = st.tuples(st.floats(180, 1900), st.floats(352, 768))  # of one 160 px high within the band


@given(
    st.sampled_from([(1920, 1080), (1280, 720), (640, 360), (2400, 1080), (854, 480)]),
    st.floats(-60, 60),
    st.floats(-280, 0),
    enemies,
)
def test_every_touch_the_hands_make_of_a_rider_that_jumps_is_allowed(size, aside, up, enemy):
    hands = Hands(TouchedScreen(size), GREAT_WALL)
    x1, y1, x2, y2 = 180 + aside, 730 + up, 310 + aside, 880 + up
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    dx, dy = enemy[0] - x, enemy[1] + 80 - y
    distance = max(1.0, (dx**2 + dy**2) ** 0.5)
    drop = GREAT_WALL.shoot_y_offset_px if distance > GREAT_WALL.distance_switch_px else 0
    aim = (x + dx * 300 / distance, y + dy * 300 / distance + drop)
    seen = make_perception(horse_pos=(x1, y1, x2, y2), shoot_target=aim)
    hands.act(Action.JUMP, seen)
    hands.act(Action.SHOOT, None)
    if RULES.to_y[0] <= aim[1] <= RULES.to_y[1]:
        hands.act(Action.SHOOT, seen)
    for one in GREAT_WALL.restart:
        hands.tap(one.x, one.y)


def test_another_games_profile_has_its_own_places():
    other = GameProfile(**{**vars(GREAT_WALL), "jump_tap": (100, 900), "restart": ()})
    TouchRules(other).check_tap(100, 900)
    with pytest.raises(DeviceError):
        TouchRules(other).check_tap(300, 300)


class TestStopSwitch:
    def test_it_refuses_from_then_on_and_names_who_threw_it(self):
        switch = StopSwitch()
        switch.check()
        switch.throw("space in a window")
        switch.throw("a second one")
        for _ in range(2):
            with pytest.raises(HandsOff, match="stopped by space in a window"):
                switch.check()

    def test_the_fingers_of_every_device_are_lifted_once(self):
        switch = StopSwitch()
        lifted = [threading.Event() for _ in range(3)]
        lifts = [one.set for one in lifted]

        def broken() -> None:
            raise DeviceError("the cable is out")

        for lift in (broken, *lifts):
            switch.watch(lift)
        switch.forget(lifts[2])
        switch.throw("a test")
        assert lifted[0].wait(5)
        assert lifted[1].wait(5)
        assert not lifted[2].is_set()
        switch.forget(broken)
        for lift in lifts:
            switch.forget(lift)

    @pytest.mark.parametrize("name", STOP_SIGNALS)
    def test_a_signal_throws_it_and_the_handler_is_put_back(self, name):
        number = getattr(signal, name)
        before = signal.getsignal(number)
        switch = StopSwitch()
        lifted = threading.Event()
        switch.watch(lifted.set)
        with stop_signals(switch):
            os.kill(os.getpid(), number)
            assert lifted.wait(5)
        assert signal.getsignal(number) == before
        with pytest.raises(HandsOff, match=name):
            switch.check()
        switch.forget(lifted.set)


def test_the_space_bar_in_a_window_is_hands_off_and_q_leaves(monkeypatch):
    keys = [ord(" "), -1, ord("q")]
    monkeypatch.setattr("cv2.waitKey", lambda ms: keys.pop(0) if keys else -1)
    monkeypatch.setattr("cv2.imshow", lambda *_: None)
    switch = StopSwitch()
    windows = Windows(GREAT_WALL, WallClock(), visible=True, hands_off=lambda: switch.throw("the space bar"))
    windows._opened = True
    windows.pictures = {"sight": np.zeros((2, 2, 3), np.uint8)}
    assert windows.show(0.0)
    with pytest.raises(HandsOff, match="the space bar"):
        switch.check()
    assert windows.show(0.0)
    assert not windows.show(0.0)
