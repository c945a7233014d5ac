"""A phone as `recovery.py` knows one, without adb: told what befalls it; only waiting moves its clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from config import GREAT_WALL, PhoneConfig
from greatwall.contracts import Frame
from greatwall.device.phone.guard import StopSwitch
from greatwall.device.phone.recovery import KeptPhone
from greatwall.errors import DeviceError, DeviceLost

GAME = "com.example.game"
LAUNCHER = "com.android.launcher"


def window_dump(front: str) -> str:
    """As much of `dumpsys window` as says what has the focus."""
    focus = f"Window{{6bd4b44 u0 {front}/{front}.Main}}" if front else "null"
    return f"WINDOW MANAGER DISPLAY CONTENTS\n  mCurrentFocus={focus}\n  mFocusedApp=null\n"


class ScriptedPhone:
    """`recovery.Phone`: `plugged`, `front`, `upright`, `moving`, `hung` are what a test sets, at once or
    `at` some time. Everything takes time. `back_closes`, `launches`: whether those help."""

    def __init__(self) -> None:
        self.time_s = 100.0
        self.plugged, self.hung, self.moving, self.upright = True, False, True, False
        self.stream_broken = False
        self.front = GAME
        self.back_closes, self.launches = True, True
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.log: list[str] = []
        self.touches: list[tuple[float, ...]] = []
        self.touched_while: list[str] = []  # what was in front at each touch
        self.lifts = 0
        self.closed = False
        self._frame_id = 0
        self._captured_s = self.time_s

    # --- the world ----------------------------------------------------------------------------

    def now_s(self) -> float:
        return self.time_s

    def pass_time(self, seconds: float) -> None:
        self.time_s += max(seconds, 0.0)
        while self.later and self.later[0][0] <= self.time_s:
            self.later.pop(0)[1]()

    def at(self, after_s: float, **states: Any) -> None:
        """Set states when that much time has passed."""

        def happen() -> None:
            for name, value in states.items():
                setattr(self, name, value)

        self.later.append((self.time_s + after_s, happen))
        self.later.sort(key=lambda one: one[0])

    # --- recovery.Phone -----------------------------------------------------------------------

    @property
    def link(self) -> ScriptedPhone:
        return self

    @property
    def size(self) -> tuple[int, int]:
        return (720, 1280) if self.upright else (1280, 720)

    def wait_newer(self, than_id: int, timeout_s: float) -> None:
        """Each look is another frame."""

    def shell(self, arguments: Sequence[str], timeout_s: float = 5.0) -> str:
        self.log.append(" ".join(arguments))
        if not self.plugged:
            raise DeviceLost("adb does not list it")
        if self.hung:
            self.pass_time(timeout_s)
            raise DeviceError(f"expected an answer within {timeout_s:g} s")
        self.pass_time(0.1)
        if arguments[0] == "dumpsys":
            return window_dump(self.front)
        if tuple(arguments) == ("input", "keyevent", "4") and self.back_closes and self.front != LAUNCHER:
            self.front = GAME
        elif arguments[0] in ("am", "monkey") and "force-stop" not in arguments and self.launches:
            self.front = GAME
            self.upright = False
        elif "force-stop" in arguments:
            self.front = LAUNCHER
        return ""

    def frame(self) -> Frame:
        if not self.plugged or self.stream_broken:
            self.stream_broken = True
            raise DeviceLost("the video ended")
        if self.moving and self._captured_s < self.time_s:
            self._new_picture()
        bgr = np.zeros((2, 2, 3), np.uint8)
        return Frame(self._frame_id, self._captured_s, self.size, bgr=bgr)

    def _new_picture(self) -> None:
        self._frame_id += 1
        self._captured_s = self.time_s

    def reopen(self, timeout_s: float) -> None:
        self.log.append("reopen")
        self.pass_time(1.0)
        if not self.plugged:
            raise DeviceLost("adb does not list it")
        if self.hung:
            self.pass_time(timeout_s)
            raise DeviceLost("the server did not start")
        self.stream_broken = False
        self._new_picture()

    def tap(self, x: float, y: float) -> None:
        self._touch(x, y)

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        self._touch(x1, y1, x2, y2)

    def _touch(self, *points: float) -> None:
        if not self.plugged:
            raise DeviceLost("the control socket closed")
        self.touches.append(points)
        self.touched_while.append(self.front)

    def lift_all(self) -> None:
        self.lifts += 1

    def pause(self) -> bool:
        return False

    def resume(self) -> None:
        """It cannot pause."""

    def new_game(self, seed: int) -> bool:
        return False

    def facts(self) -> Mapping[str, Any] | None:
        return None

    def health(self) -> str:
        return "scripted"

    def close(self) -> None:
        self.closed = True


def kept(phone: ScriptedPhone, stop: StopSwitch | None = None, **settings: Any) -> KeptPhone:
    """The phone looked after, its foreground asked by nobody but the test."""
    config = PhoneConfig(
        **{"package": GAME, "foreground_poll_s": 1e6, "foreground_age_s": 2e6, "give_up_s": 60.0} | settings
    )
    return KeptPhone(
        phone,
        GREAT_WALL,
        config,
        stop=stop or StopSwitch(),
        now_s=phone.now_s,
        wait=phone.pass_time,
    )
