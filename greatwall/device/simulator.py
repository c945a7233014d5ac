"""The embedded game as a device: real frames, touches with a phone's delay, a clock of its own.

It runs in real time until `hold()`, and then any thread may call anything: one lock guards the game.
A held one (the game clock) belongs to one thread, and only `advance` moves it. Pixels are drawn when
somebody looks, by whoever looks.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from config import TICK_HZ, Config, CourseConfig, GameProfile
from greatwall.contracts import TICK_S, Frame, FrameArray, Scene
from greatwall.game.looks import Look, look_named
from greatwall.game.rules import Game
from greatwall.game.scene import scaled, scene_of
from greatwall.game.view import View

if TYPE_CHECKING:
    from greatwall.device.compression import Compression
    from greatwall.game.draw import Painter

_PAINT_LOCK = threading.Lock()


@functools.lru_cache(maxsize=4)
def _painter(course: CourseConfig, profile: GameProfile, look: Look) -> Painter:
    """One painter serves every simulator of a process: its sprites cost a second to make.

    Imported here because a run through truth eyes looks at nothing and needs no OpenCV.
    """
    from greatwall.game.draw import Painter

    return Painter(course, profile, look)


class _Screen:
    """Views of one device as frames: its look, size and compression. Under `_PAINT_LOCK` while drawing."""

    def __init__(self, config: Config) -> None:
        self._course = config.course
        self._profile = config.profile
        self._look = look_named(config.screen.look)
        self.size = config.screen.size
        self._drawn_size = config.profile.frame_size
        self.scale = self.size[0] / self._drawn_size[0], self.size[1] / self._drawn_size[1]
        self._compress = config.screen.compress
        self._compression: Compression | None = None

    def draw(self, view: View) -> FrameArray:
        with _PAINT_LOCK:
            bgr = self._painted(view)
            return self._compressed(bgr) if self.codes else bgr

    def draw_uncoded(self, view: View) -> FrameArray:
        """The same without the codec, whose stream goes on as if nobody had looked."""
        with _PAINT_LOCK:
            return self._painted(view)

    @property
    def codes(self) -> bool:
        return self._compress != "none"

    def _painted(self, view: View) -> FrameArray:
        bgr = _painter(self._course, self._profile, self._look).draw(view)
        return bgr if self.size == self._drawn_size else self._resized(bgr)

    def _resized(self, bgr: FrameArray) -> FrameArray:
        import cv2

        smaller = self.scale[0] <= 1 and self.scale[1] <= 1
        way = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
        return cv2.resize(bgr, self.size, interpolation=way)  # type: ignore[return-value]

    def _compressed(self, bgr: FrameArray) -> FrameArray:
        if self._compression is None:
            from greatwall.device.compression import compression_named

            self._compression = compression_named(self._compress)
        return self._compression.pass_through(bgr)

    def restart(self) -> None:
        """A new run, a new stream: equal runs are then equal to the pixel."""
        with _PAINT_LOCK:
            self._compression = None

    def scene(self, view: View) -> Scene:
        scene = scene_of(view, self._course, self._profile, self._look)
        return scene if self.size == self._drawn_size else scaled(scene, *self.scale)


class _Moment:
    """A `FrameSource`: one view of the game, drawn or told when asked."""

    __slots__ = ("_scene", "_screen", "view")

    def __init__(self, view: View, screen: _Screen) -> None:
        self.view = view
        self._screen = screen
        self._scene: Scene | None = None

    def draw(self) -> FrameArray:
        return self._screen.draw(self.view)

    def scene(self) -> Scene:
        if self._scene is None:
            self._scene = self._screen.scene(self.view)
        return self._scene


class _CodedMoment(_Moment):
    """A `CodedSource`."""

    __slots__ = ()

    def draw_uncoded(self) -> FrameArray:
        return self._screen.draw_uncoded(self.view)


class SimulatedDevice:
    """`contracts.TickedDevice` on the embedded game, as `config.screen` shows it. `captured_at_s` is
    the perf counter in real time and ticks / 30 when held; touches are px of `size`."""

    def __init__(self, config: Config) -> None:
        self._screen = _Screen(config)
        self.size = self._screen.size
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
                self._newest = self._captured()
                self._newest_tick = tick
            return self._newest

    def peek(self) -> Frame:
        """This moment for the recorder, whose looking must leave all ids as they are without it."""
        with self._lock:
            return self._captured()

    def _captured(self) -> Frame:
        tick = self._game.tick
        at_s = tick * TICK_S if self._held else self._zero_s + tick * TICK_S
        kind = _CodedMoment if self._screen.codes else _Moment
        return Frame(self._frame_id, at_s, self.size, source=kind(self._game.view(), self._screen))

    def tap(self, x: float, y: float) -> None:
        with self._lock:
            self._catch_up()
            across, down = self._screen.scale
            self._game.tap(x / across, y / down)

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        """The bow is loosed when the finger lifts, so the swipe's own time is part of its delay;
        the course's touch delay is measured on the phone including it."""
        with self._lock:
            self._catch_up()
            across, down = self._screen.scale
            self._game.swipe(x1 / across, y1 / down, x2 / across, y2 / down)

    # --- runs ---------------------------------------------------------------------------------

    def new_game(self, seed: int) -> bool:
        """A live run of that seed from tick 0, at once."""
        with self._lock:
            self._game.new_game(seed)
            self._screen.restart()
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

    def show(self, view: View) -> FrameArray:
        """A moment as this device's screen shows it, for `play`."""
        return self._screen.draw(view)

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
            self._paused_at = None
            self._screen.restart()
            self._newest = None

    def health(self) -> str:
        return f"simulator, tick {self._game.tick}, {'held' if self._held else 'real time'}"

    def close(self) -> None:
        """Nothing to let go of."""
