"""A kept phone behind the real adb: each fault of the stand-in is noticed or harmless, and recovered from."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from config import PhoneConfig
from greatwall.assembly import build_device, make_config
from greatwall.device.phone.recovery import KeptPhone
from greatwall.errors import DeviceError, DeviceLost, GameLeft
from tests.rigs.adb import AdbServer
from tests.rigs.phone import GAME_PACKAGE, StandInPhone

pytestmark = pytest.mark.timeout(200)
STOPPED_S = 1.5  # what the Worker takes for frames that stopped
JUMP = (200.0, 200.0)
LONG_S = 25.0

# Fault, its settings, how long it lasts, and what the device says of it; None: it need not be noticed.
FAULTS: list[tuple[str, dict[str, Any], float | None, type[DeviceError] | str | None]] = [
    ("unauthorized", {}, 1.5, DeviceLost),
    ("offline", {}, 1.5, DeviceLost),
    ("disconnect", {}, 1.5, DeviceLost),
    ("hang", {}, 3.0, "frames stop"),
    ("delay", {"by_s": 0.3}, 2.0, None),
    ("drop", {"share": 0.3, "of": "frames"}, 2.0, None),
    ("rotate", {}, 2.0, GameLeft),
    ("popup", {}, None, GameLeft),
    ("other_app", {}, None, GameLeft),
    ("cut_frame", {"of": "video"}, None, DeviceLost),
    ("garbage", {"of": "video"}, None, DeviceLost),
    ("stop_video", {}, 3.0, "frames stop"),
]


@pytest.fixture
def device(adb_server: AdbServer, phone: StandInPhone) -> Iterator[KeptPhone]:
    phone.reset(seed=1, playing=True)
    settings = PhoneConfig(serial=phone.serial, capture="scrcpy", touch="scrcpy", foreground_poll_s=0.5)
    config = make_config(device="phone", clock="wall", eyes="vision", phone=settings)
    device = build_device(config)
    assert isinstance(device, KeptPhone)
    yield device
    device.close()


def trouble_of(device: KeptPhone, for_s: float) -> type[DeviceError] | str | None:
    """What looking at it 30 times a second comes to."""
    pause = threading.Event()
    newest, newest_s = -1, time.perf_counter()
    until_s = newest_s + for_s
    while time.perf_counter() < until_s:
        try:
            frame = device.frame()
        except DeviceError as error:
            return type(error)
        now_s = time.perf_counter()
        if frame.frame_id != newest:
            newest, newest_s = frame.frame_id, now_s
        elif now_s - newest_s > STOPPED_S:
            return "frames stop"
        pause.wait(1 / 30)
    return None


def downs(phone: StandInPhone) -> int:
    """Fingers that came down on it."""
    return sum(one["action"] == "down" for one in phone.facts("touches")["touches"])


def wait_for_downs(phone: StandInPhone, count: int) -> None:
    """Until that many came; a touch takes its time to get there."""
    pause = threading.Event()
    for _ in range(100):
        if downs(phone) >= count:
            break
        pause.wait(0.1)
    assert downs(phone) == count


def test_every_fault_is_noticed_or_harmless_and_recovered_from(device, phone):
    assert device.foreground.game == GAME_PACKAGE
    for name, how, for_s, noticed in FAULTS:
        phone.misbehave(name, for_s, **how)
        found = trouble_of(device, LONG_S if noticed else 2.0)
        assert noticed is None or found == noticed, f"{name}: {found}"
        device.recover()
        assert trouble_of(device, 0.5) is None, name
        before = downs(phone)
        device.tap(*JUMP)
        wait_for_downs(phone, before + 1)
    facts = phone.facts("foreground", "popup")
    assert not facts["popup"]
    assert facts["foreground"] == GAME_PACKAGE
    assert device.counts["backs"] >= 2
    assert device.counts["launches"] >= 1, "Back in another app leads to the launcher"


def test_a_finger_that_a_lost_connection_left_down_is_lifted_when_it_is_back(device, phone):
    device.swipe(163, 536, 363, 536, 8000)
    wait_for_downs(phone, 1)
    phone.misbehave("disconnect", 1.0)
    assert trouble_of(device, LONG_S) is DeviceLost
    assert len(phone.facts("fingers_down")["fingers_down"]) == 1
    device.recover()
    assert phone.facts("fingers_down", "fingers_orphaned") == {"fingers_down": [], "fingers_orphaned": 0}


def test_a_refused_touch_never_reaches_the_phone(device, phone):
    with pytest.raises(DeviceError, match=r"found \(1800, 60\)"):
        device.tap(1200, 40)
    phone.foreground("com.android.settings")
    assert trouble_of(device, LONG_S) is GameLeft
    with pytest.raises(GameLeft):
        device.tap(*JUMP)
    assert downs(phone) == 0


def test_a_relaunch_ends_on_the_title_page_with_the_game_in_front(device, phone):
    device.relaunch()
    device.recover()
    facts = phone.facts("game", "game_starts", "foreground")
    assert (facts["game"]["page"], facts["game_starts"]) == ("title", 2)
    device.tap(*JUMP)
