"""A device and eyes that do what a real one does until told to fail; they also keep a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from greatwall.contracts import Frame, HudRead, Sight, TickedDevice
from greatwall.device.simulator import SimulatedDevice
from greatwall.eyes.truth import TruthEyes


class FaultyDevice:
    """A simulator behind switches: `frozen` gives the last frame for ever, `error` is raised by
    `frame`, `touch_error` by touches. `touches` and `captures` are logs of (tick, ...)."""

    def __init__(self, inner: SimulatedDevice, size: tuple[int, int] | None = None) -> None:
        self.inner: TickedDevice = inner
        self.size = size or inner.size
        self.frozen = False
        self.error: BaseException | None = None
        self.touch_error: BaseException | None = None
        self.touches: list[tuple[float, ...]] = []
        self.captures: list[int] = []
        self._last: Frame | None = None
        self.can_pause = True
        self.can_start_games = True

    @property
    def tick(self) -> int:
        return self.inner.tick

    def hold(self) -> None:
        self.inner.hold()

    def advance(self, ticks: int) -> None:
        self.inner.advance(ticks)

    def frame(self) -> Frame:
        if self.error is not None:
            raise self.error
        if not self.frozen or self._last is None:
            self._last = self.inner.frame()
            self.captures.append(self.inner.tick)
        return self._last

    def tap(self, x: float, y: float) -> None:
        if self.touch_error is not None:
            raise self.touch_error
        self.touches.append((self.inner.tick, x, y))
        self.inner.tap(x, y)

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        if self.touch_error is not None:
            raise self.touch_error
        self.touches.append((self.inner.tick, x1, y1, x2, y2))
        self.inner.swipe(x1, y1, x2, y2, duration_ms)

    def pause(self) -> bool:
        return self.can_pause and self.inner.pause()

    def resume(self) -> None:
        self.inner.resume()

    def new_game(self, seed: int) -> bool:
        return self.can_start_games and self.inner.new_game(seed)

    def facts(self) -> Mapping[str, Any] | None:
        return self.inner.facts()

    def get_state(self) -> dict[str, Any]:
        return self.inner.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.inner.set_state(state)

    def health(self) -> str:
        return "faulty"

    def close(self) -> None:
        self.inner.close()


class FaultyEyes:
    """Truth behind switches. `hud` replaces every read; `hud_error`, `see_error` are raised.
    `reads` is a log of frame ids."""

    def __init__(self, inner: TruthEyes) -> None:
        self.inner = inner
        self.see_error: BaseException | None = None
        self.see_errors_left = -1  # how often it is raised; -1 is for ever
        self.hud_error: BaseException | None = None
        self.hud: HudRead | None = None
        self.reads: list[int] = []

    def see(self, frame: Frame) -> Sight:
        if self.see_error is not None and self.see_errors_left:
            self.see_errors_left -= 1
            raise self.see_error
        return self.inner.see(frame)

    def read_hud(self, frame: Frame) -> HudRead:
        if self.hud_error is not None:
            raise self.hud_error
        self.reads.append(frame.frame_id)
        return self.hud or self.inner.read_hud(frame)

    def reset(self) -> None:
        self.inner.reset()

    def close(self) -> None:
        self.inner.close()
