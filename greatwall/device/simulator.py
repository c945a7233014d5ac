"""The embedded game as a device: real frames, touches with a phone's delay, a clock of its own.

It runs in real time until `hold()`; from then on only `advance` moves it (the game clock). Any thread
may call anything: one lock guards the game. Pixels are drawn when somebody looks, by whoever looks.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from config import TICK_HZ, Config, CourseConfig, GameProfile
from greatwall.contracts import TICK_S, Frame, FrameArray, Scene
from greatwall.game.rules import Game
from greatwall.game.scene import scene_of
from greatwall.game.view import View

if TYPE_CHECKING:
    from greatwall.game.draw import Painter

_PAINT_LOCK = threading.Lock()


@functools.lru_cache(maxsize=4)
def _painter(course: CourseConfig, profile: GameProfile) -> Painter:
    """One painter serves every simulator of a process: its sprites cost a second to make.

    Imported here because a run through truth eyes looks at nothing and needs no OpenCV.
    """
    from greatwall.game.draw import Painter

    return Painter(course, profile)


class _Moment:
    """A `FrameSource`: one view of the game, drawn or told when asked."""

    __slots__ = ("_course", "_profile", "_scene", "view")

    def __init__(self, view: View, course: CourseConfig, profile: GameProfile) -> None:
        self.view = view
        self._course = course
        self._profile = profile
        self._scene: Scene | None = None

    def draw(self) -> FrameArray:
        with _PAINT_LOCK:
            return _painter(self._course, self._profile).draw(self.view)

    def scene(self) -> Scene:
        if self._scene is None:
            self._scene = scene_of(self.view, self._course, self._profile)
        return self._scene


class SimulatedDevice:
    """`contracts.TickedDevice` on the embedded game. `captured_at_s` is the perf counter in real
    time and ticks / 30 when held."""

    def __init__(self, config: Config) -> None:
        self.size = config.profile.frame_size
        self._course = config.course
        self._profile = config.profile
        self._game = Game(config.course, config.delays, config.seed)
        self._lock = threading.Lock()
        self._held = False
        self._paused_at: float | None = None
        self._zero_s = time.perf_counter()  # real time of tick 0
        self._frame_id = 0
        self._newest: Frame | None = None
        self._newest_tick = -1

    # --- time ---------------------------------------------------------------------------------

    @property
    def tick(self) -> int:
        return self._game.tick

    def hold(self) -> None:
        """Stop real time for good: from now on only `advance` moves the game."""
        with self._lock:
            self._catch_up()
            self._held = True

    def advance(self, ticks: int) -> None:
        """Move a held game on; RuntimeError on one that runs in real time."""
        if not self._held:
            raise RuntimeError("expected a held simulator, found one in real time; call hold() first")
        self._game.advance(ticks)

    def _catch_up(self) -> None:
        if self._held or self._paused_at is not None:
            return
        due = int((time.perf_counter() - self._zero_s) * TICK_HZ)
        if due > self._game.tick:
            self._game.advance(due - self._game.tick)

    def pause(self) -> bool:
        """Freeze the game in real time; a held game is frozen anyway."""
        with self._lock:
            if not self._held and self._paused_at is None:
                self._catch_up()
                self._paused_at = time.perf_counter()
            return True

    def resume(self) -> None:
        """Go on where `pause` stopped; the time between did not pass in the game."""
        with self._lock:
            if self._paused_at is not None:
                self._zero_s += time.perf_counter() - self._paused_at
                self._paused_at = None

    # --- looking and touching -----------------------------------------------------------------

    def frame(self) -> Frame:
        """The newest screen; the same object while the tick is the same."""
        with self._lock:
            self._catch_up()
            tick = self._game.tick
            if self._newest is None or tick != self._newest_tick:
                self._frame_id += 1
                at_s = tick * TICK_S if self._held else self._zero_s + tick * TICK_S
                moment = _Moment(self._game.view(), self._course, self._profile)
                self._newest = Frame(self._frame_id, at_s, self.size, source=moment)
                self._newest_tick = tick
            return self._newest

    def tap(self, x: float, y: float) -> None:
        with self._lock:
            self._catch_up()
            self._game.tap(x, y)

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        """The bow is loosed when the finger lifts, so the swipe's own time is part of its delay;
        the course's touch delay is measured on the phone including it."""
        with self._lock:
            self._catch_up()
            self._game.swipe(x1, y1, x2, y2)

    # --- runs ---------------------------------------------------------------------------------

    def new_game(self, seed: int) -> bool:
        """A live run of that seed from tick 0, at once."""
        with self._lock:
            self._game.new_game(seed)
            if self._held:  # one thread only: ids may start afresh, so that equal runs are equal in all
                self._frame_id = 0
            self._zero_s = time.perf_counter()
            self._paused_at = None
            self._newest = None
            return True

    def facts(self) -> dict[str, Any]:
        """The game's own account of the run, for reports only."""
        with self._lock:
            return self._game.facts()

    def view(self) -> View:
        """This moment of the game, for `play` and for tests."""
        with self._lock:
            self._catch_up()
            return self._game.view()

    def get_state(self) -> dict[str, Any]:
        """Everything, as JSON-able values."""
        with self._lock:
            return {"game": self._game.get_state(), "frame_id": self._frame_id}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave; in real time the game goes on from there."""
        with self._lock:
            self._game.set_state(state["game"])
            self._frame_id = int(state["frame_id"])
            self._zero_s = time.perf_counter() - self._game.tick * TICK_S
            self._newest = None

    def health(self) -> str:
        return f"simulator, tick {self._game.tick}, {'held' if self._held else 'real time'}"

    def close(self) -> None:
        """Nothing to let go of."""
