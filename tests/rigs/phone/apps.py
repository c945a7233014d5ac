"""What is in front: the game, another app or the launcher, and a pop-up window before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tests.rigs.phone.settings import GAME_ACTIVITY, GAME_PACKAGE

LAUNCHER = "com.android.launcher3"
SETTINGS_APP = "com.android.settings"
BACK, HOME, POWER, SLEEP, WAKEUP = 4, 3, 26, 223, 224
KEYS = {"BACK": BACK, "HOME": HOME, "POWER": POWER, "SLEEP": SLEEP, "WAKEUP": WAKEUP, "MENU": 82, "ENTER": 66}
ACTIVITIES = {
    GAME_PACKAGE: GAME_ACTIVITY,
    LAUNCHER: ".uioverrides.QuickstepLauncher",
    SETTINGS_APP: ".Settings",
}
PACKAGES = (GAME_PACKAGE, LAUNCHER, SETTINGS_APP, "com.android.systemui", "com.android.vending")
KEYS_KEPT = 1000
POPUP_BUTTON = (810, 640, 1110, 740)  # x1, y1, x2, y2 px of 1920x1080


@dataclass(frozen=True)
class Popup:
    """A window before the app in front."""

    package: str
    stubborn: bool  # Back does not close it


class Apps:
    """Which app and window have the focus. `changed` is called after each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.reset()

    def reset(self) -> None:
        """The game in front, nothing before it, the screen on."""
        self.front = GAME_PACKAGE
        self.popup: Popup | None = None
        self.awake = True
        self.game_runs = True
        self.game_starts = 1
        self.keys: deque[int] = deque(maxlen=KEYS_KEPT)  # the last ones pressed

    @property
    def game_in_front(self) -> bool:
        """The game is what the screen shows, though a pop-up may stand before it."""
        return self.front == GAME_PACKAGE and self.game_runs and self.awake

    @property
    def game_has_focus(self) -> bool:
        return self.game_in_front and self.popup is None

    @property
    def focus(self) -> str:
        """`package/activity` of the window that has the focus, both in full."""
        if self.popup is not None and self.popup.package != GAME_PACKAGE:
            return f"{self.popup.package}/{self.popup.package}.Dialog"
        return self.component(self.front, full=True)

    @staticmethod
    def component(package: str, *, full: bool = False) -> str:
        """`package/.Activity`, or the activity with its package too."""
        activity = ACTIVITIES.get(package, ".MainActivity")
        return f"{package}/{package if full else ''}{activity}"

    def start(self, package: str) -> bool:
        """Bring an app to the front; True when it had to be started, False when it was running."""
        fresh = package == GAME_PACKAGE and not self.game_runs
        if fresh:
            self.game_runs = True
            self.game_starts += 1
        self.front = package
        self.popup = None
        self._changed()
        return fresh

    def stop(self, package: str) -> None:
        """Force-stop: its process ends, and the launcher shows when it was in front."""
        if package == GAME_PACKAGE:
            self.game_runs = False
        if self.popup is not None and self.popup.package == package:
            self.popup = None
        if self.front == package:
            self.front = LAUNCHER
        self._changed()

    def show_popup(self, package: str, *, stubborn: bool) -> None:
        self.popup = Popup(package, stubborn)
        self._changed()

    def close_popup(self) -> None:
        self.popup = None
        self._changed()

    def press_key(self, code: int) -> None:
        """A key goes down and up."""
        self.keys.append(code)
        before = self.front, self.popup, self.awake
        if code in (POWER, SLEEP, WAKEUP):
            self.awake = code == WAKEUP or (code == POWER and not self.awake)
        elif code == HOME:
            self.front, self.popup = LAUNCHER, None
        elif code == BACK and self.popup is not None:
            if not self.popup.stubborn:
                self.popup = None
        elif code == BACK and self.front != GAME_PACKAGE:  # the game itself does not heed it
            self.front = LAUNCHER
        if (self.front, self.popup, self.awake) != before:
            self._changed()

    def touch_popup(self, x: float, y: float) -> None:
        """A touch at px of 1920x1080 while a pop-up is up: its button closes it, all else is in vain."""
        left, top, right, bottom = POPUP_BUTTON
        if left <= x <= right and top <= y <= bottom:
            self.close_popup()
