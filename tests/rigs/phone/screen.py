"""The screen: the embedded game in real time, drawn when somebody looks, touched through its own delay.

One thread turns it 30 times a second and draws for the viewers there are; any thread may touch and look.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, Protocol

import cv2
import numpy as np

from config import TICK_HZ, Config, replace_in, to_ticks, with_variants
from greatwall.contracts import FrameArray
from greatwall.game.draw import Painter
from greatwall.game.looks import look_named
from greatwall.game.rules import Game
from greatwall.game.view import Page
from tests.rigs.phone import pictures, timecode
from tests.rigs.phone.apps import GAME_PACKAGE, Apps
from tests.rigs.phone.fingers import Gesture
from tests.rigs.phone.settings import PhoneSettings

TOUCH_STREAM = 17  # purpose tag of the touch-delay generator
REMEMBERED = 2000


class Picture:
    """One moment of the screen. `bgr` is 1920x1080 (or 1080x1920); `size` is the display's own px."""

    def __init__(self, bgr: FrameArray, size: tuple[int, int], at_s: float) -> None:
        self.size = size
        self.at_s = at_s
        self._bgr = bgr
        self._i420: FrameArray | None = None

    def i420(self, size: tuple[int, int]) -> FrameArray:
        """Planes of one size, (height * 3/2, width): colours first, then three cheap resizes."""
        if self._i420 is None:
            self._i420 = np.asarray(cv2.cvtColor(self._bgr, cv2.COLOR_BGR2YUV_I420), np.uint8)
        height, width = self._bgr.shape[:2]
        if size == (width, height):
            return self._i420
        shown = np.empty((size[1] * 3 // 2, size[0]), np.uint8)
        for source, target in zip(_planes(self._i420, width, height), _planes(shown, *size), strict=True):
            cv2.resize(source, target.shape[::-1], dst=target, interpolation=cv2.INTER_LINEAR)
        return shown

    def bgr(self) -> FrameArray:
        """In the display's px, (height, width, 3)."""
        if self._bgr.shape[1::-1] == self.size:
            return self._bgr
        return np.asarray(cv2.resize(self._bgr, self.size, interpolation=cv2.INTER_AREA), np.uint8)


def _planes(i420: FrameArray, width: int, height: int) -> tuple[FrameArray, FrameArray, FrameArray]:
    quarter = height // 4
    return (
        i420[:height],
        i420[height : height + quarter].reshape(height // 2, width // 2),
        i420[height + quarter :].reshape(height // 2, width // 2),
    )


class Viewer(Protocol):
    """Somebody who watches: called on the screen's thread with every picture."""

    def show(self, picture: Picture) -> None: ...


class Screen:
    """The game behind a phone's glass."""

    def __init__(self, settings: PhoneSettings, apps: Apps) -> None:
        self.settings = settings
        self._apps = apps
        self._look = look_named(settings.look)
        plain = Config()  # no variant changes how the course looks
        self._painter = Painter(plain.course, plain.profile, self._look)
        self._lock = threading.RLock()
        self._drawing = threading.Lock()
        self._viewers: list[Viewer] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._turn, name="phone screen", daemon=True)
        self.is_upright = False
        self.begin()

    def begin(self, *, afresh: bool = False) -> None:
        """The game as the settings have it: at its title page, as always `afresh`, or in a live run."""
        seed = self.settings.seed
        config = with_variants(Config(seed=seed), self.settings.variants)
        # The phone counts its own delay from finger down, as a swipe's own time is part of it.
        config = replace_in(config, "delays", decision_to_touch_s=(0.0, 0.0), touch_to_effect_s=(0.0, 0.0))
        with self._lock:
            self._game = Game(config.course, config.delays, seed)
            if self.settings.playing and not afresh:
                self._game.new_game(seed)
            self._delays = np.random.default_rng([TOUCH_STREAM, seed])
            self._zero_s = time.monotonic()
            self._halted_at: float | None = None
            self._due: list[tuple[int, Gesture]] = []
            self._page = self._game.page
            self.runs: deque[dict[str, Any]] = deque(maxlen=REMEMBERED)
            self.effects: deque[tuple[float, float]] = deque(maxlen=REMEMBERED)  # finger down, effect (s)
            self.late = 0  # turns of the screen that came a tick or more too late
            self.turns = 0

    @property
    def size(self) -> tuple[int, int]:
        """Of the display as it is held now, px."""
        wide = self.settings.width, self.settings.height
        return wide[::-1] if self.is_upright else wide

    # --- time ---------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=5.0)

    def _turn(self) -> None:
        """Once a tick: let the game go on; draw when somebody watches."""
        at_s = time.monotonic()
        while not self._stopping.is_set():
            with self._lock:
                self._catch_up()
                viewers = list(self._viewers)
            if viewers:
                picture = self.picture()
                for viewer in viewers:
                    viewer.show(picture)
            at_s += 1 / TICK_HZ
            self.turns += 1
            wait_s = at_s - time.monotonic()
            if wait_s < -1 / TICK_HZ:
                self.late += 1
                at_s = time.monotonic()
            self._stopping.wait(max(0.0, wait_s))

    def _catch_up(self) -> None:
        """Move the game to now, and halt it while it is not in front; what was touched takes effect."""
        now_s = time.monotonic()
        if self._halted_at is not None:
            return
        target = int((now_s - self._zero_s) * TICK_HZ)
        while self._due and self._due[0][0] <= target:
            tick, gesture = self._due.pop(0)
            self._advance(tick - 1)
            self._game.swipe(*self._scaled(gesture))
            self.effects.append((gesture.down_at_s, self._zero_s + tick / TICK_HZ))
            self._advance(tick)
        self._advance(target)

    def _advance(self, tick: int) -> None:
        if tick > self._game.tick:
            self._game.advance(tick - self._game.tick)
        if self._game.page is not self._page:
            if self._game.page is Page.FALLEN:
                self.runs.append(self._game.facts())
            self._page = self._game.page

    def settle(self) -> None:
        """What is in front has changed: the game halts behind another app and goes on when it is back."""
        with self._lock:
            if self._apps.game_in_front and self._halted_at is not None:
                self._zero_s += time.monotonic() - self._halted_at
                self._halted_at = None
            elif not self._apps.game_in_front and self._halted_at is None:
                self._catch_up()
                self._due.clear()
                self._halted_at = time.monotonic()

    # --- touching -----------------------------------------------------------------------------

    def touch(self, gesture: Gesture) -> None:
        """A finished touch in px of the display; the game feels it after the phone's delay."""
        with self._lock:
            self._catch_up()
            if self._apps.popup is not None:
                self._apps.touch_popup(*self._scaled(gesture)[2:])
            elif self._apps.game_has_focus and not self.is_upright:
                low, high = map(to_ticks, self.settings.touch_delay_s)
                down = int((gesture.down_at_s - self._zero_s) * TICK_HZ)
                tick = max(down + int(self._delays.integers(low, high + 1)), self._game.tick + 1)
                self._due.append((tick, gesture))
                self._due.sort(key=lambda due: due[0])

    def _scaled(self, gesture: Gesture) -> tuple[float, float, float, float]:
        """Its points in px of 1920x1080."""
        across, down = 1920 / self.settings.width, 1080 / self.settings.height
        return gesture.x1 * across, gesture.y1 * down, gesture.x2 * across, gesture.y2 * down

    # --- looking ------------------------------------------------------------------------------

    def watch(self, viewer: Viewer) -> None:
        with self._lock:
            self._viewers.append(viewer)

    def unwatch(self, viewer: Viewer) -> None:
        with self._lock:
            if viewer in self._viewers:
                self._viewers.remove(viewer)

    def picture(self) -> Picture:
        """The screen now."""
        with self._lock:
            self._catch_up()
            at_s = time.monotonic()
            view = self._game.view()
            in_front, popup, awake = self._apps.front, self._apps.popup, self._apps.awake
            size, is_upright = self.size, self.is_upright
        with self._drawing:
            if not awake:
                bgr = pictures.dark().copy()
            elif in_front != GAME_PACKAGE:
                bgr = pictures.app_picture(in_front).copy()
            else:
                bgr = self._painter.draw(view)
            if popup is not None and awake:
                bgr = pictures.with_popup(bgr, popup.package)
            if self.settings.time_code:
                timecode.paint(bgr, at_s)
            if is_upright:
                bgr = pictures.upright(bgr)
        return Picture(bgr, size, at_s)

    def rgba(self) -> FrameArray:
        """The screen now as `screencap` has it, (height, width, 4)."""
        return np.asarray(cv2.cvtColor(self.picture().bgr(), cv2.COLOR_BGR2RGBA), np.uint8)

    # --- truth --------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """The game's own account, for tests and reports."""
        with self._lock:
            if self._halted_at is None:
                self._catch_up()
            game = self._game
            return {
                **game.facts(),
                "page": Page(game.page).name.lower(),
                "lives": game.lives,
                "arrows": game.arrows,
                "tick": game.tick,
                "is_halted": self._halted_at is not None,
                "in_the_air": game.height > 0.0,
            }
