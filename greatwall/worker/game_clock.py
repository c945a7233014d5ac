"""The game-clock driver: the Worker's stages in a fixed order, run by whoever waits.

Time is whole ticks of a held device and moves only inside `wait`, `rest` and `recover`. Nobody sleeps,
nothing is random but the delays, which come from a generator of their own, seeded by the run: equal
seeds and equal orders give equal perceptions at equal ticks. In the order of one tick: HUD reads that
end, perception and the rest of the main loop's turn, the HUD read that begins, the Master's order, the
capture for a later perception (so that it comes from after the order).
One thread owns all of it.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator

import numpy as np

from config import TICK_HZ, Seconds, to_ticks
from greatwall.contracts import TICK_S, Device, Frame, HudRead, TickedDevice
from greatwall.errors import ConfigError, DeviceLost, Interruption, WorkerError
from greatwall.worker.stages import RECOVER_S, Stages, Supervision

CAPTURE_STREAM = 23  # purpose tags of the delay generators
HUD_STREAM = 22
NEVER = 1 << 60
BLOCK = 256  # delays drawn at once


class Delay:
    """A seeded uniform delay in whole ticks; a constant one draws nothing."""

    def __init__(self, seconds: Seconds, stream: int) -> None:
        self.low, self.high = to_ticks(seconds[0]), to_ticks(seconds[1])
        self._stream = stream
        self.reset(0)

    def reset(self, seed: int) -> None:
        self._rng = np.random.default_rng([self._stream, seed])
        self._drawn: list[int] = []

    def next(self) -> int:
        if self.low == self.high:
            return self.low
        if not self._drawn:
            self._drawn = self._rng.integers(self.low, self.high + 1, BLOCK).tolist()
        return self._drawn.pop()


class GameClockDriver:
    """Perceives once per decision period, a frame captured `capture_to_perceived` ticks before; reads
    the HUD of the newest delivered frame every `hud_period_s`, published `hud_read` ticks later."""

    def __init__(self, stages: Stages, device: TickedDevice) -> None:
        config = stages.config
        self._stages = stages
        self._device = device
        self._period = config.worker.decision_ticks
        self._hud_period = max(1, to_ticks(config.worker.hud_period_s))
        self._stopped_ticks = to_ticks(config.worker.frames_stopped_s)
        self._capture_delay = Delay(config.delays.capture_to_perceived_s, CAPTURE_STREAM)
        self._hud_delay = Delay(config.delays.hud_read_s, HUD_STREAM)
        self._supervision = Supervision(config.worker.thread_restarts)
        self._in_flight: deque[Frame | None] = deque()
        self._started = False
        self._schedule(0)

    def _schedule(self, base: int) -> None:
        """Everything afresh: the first capture, perception and HUD read fall on tick `base`."""
        self._now = base
        self._perceive_at = base
        self._capture_at = base
        self._capture_for = base  # the perception which the next capture is for
        self._in_flight.clear()
        self._last_id = -1
        self._last_new_at = base
        self._delivered: Frame | None = None
        self._hud_begin_at = base
        self._hud_end_at = NEVER
        self._hud_read: HudRead | None = None
        self._hud_frame: Frame | None = None

    # --- driver -------------------------------------------------------------------------------

    def start(self) -> None:
        if not self._started:
            self._device.hold()
            self._started = True
            self._reseed(self._stages.config.seed)
            self._schedule(self._device.tick)

    def close(self) -> None:
        """Nothing runs between two waits."""

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        yield

    def pause(self) -> bool:
        """Time stands still anyway while nobody waits."""
        return True

    def resume(self) -> None:
        """Nothing to do: see `pause`."""

    def begin(self, seed: int) -> None:
        """A new run: perceived and its HUD read at once, so that it begins with a full picture."""
        self.start()
        self._reseed(seed)
        base = self._device.tick
        self._schedule(base)
        stages = self._stages
        self._flow_to(base)
        frame = self._in_flight[0]
        if frame is not None:
            self._hud_frame = frame
            try:
                stages.publish_hud(stages.read_hud(frame), frame.captured_at_s, stages.slot.run)
            except Exception as error:
                raise self._supervision.verdict("ocr", error, stages.turns) from error
            self._hud_begin_at = base + self._hud_period
        self._step()

    def _reseed(self, seed: int) -> None:
        self._capture_delay.reset(seed)
        self._hud_delay.reset(seed)

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Take what is ordered at this tick, then run the stages until `event` or the timeout."""
        self._take_orders()
        is_set = event.is_set
        deadline = self._now + round(timeout_s * TICK_HZ)
        while not is_set():
            if self._perceive_at > deadline:
                self._flow_to(deadline)
                return is_set()
            self._step()
        return True

    def rest(self, seconds: float) -> None:
        self._take_orders()
        deadline = self._now + round(seconds * TICK_HZ)
        while self._perceive_at <= deadline:
            self._step()
        self._flow_to(deadline)

    def recover(self, since_s: float) -> None:
        """Run until a frame from after `since_s` has been perceived, for at most `RECOVER_S` of game time."""
        self._supervision.raise_if_fatal()
        self._last_new_at = self._now
        deadline = self._now + to_ticks(RECOVER_S)
        trouble: Interruption | None = None
        while self._now < deadline:
            try:
                self._step()
            except Interruption as error:
                trouble = error
                self._last_new_at = self._now
                if trouble.reason == "phone_lost":
                    break  # a held device does not come back by itself
            perception = self._stages.perception
            if perception is not None and perception.captured_at_s > since_s:
                return
        if trouble is not None and trouble.reason == "phone_lost":
            raise DeviceLost(f"expected the device back, found: {trouble.detail}; reconnect it") from trouble
        raise WorkerError(
            f"expected a fresh frame within {RECOVER_S:g} s, found none; check the device"
        ) from trouble

    # --- the schedule -------------------------------------------------------------------------

    def _take_orders(self) -> None:
        """The main loop's fourth step at this very tick, before time runs on."""
        self._supervision.raise_if_fatal()
        if self._now != self._device.tick:  # the device was set to another state
            self._stages.begin_run()
            self._schedule(self._device.tick)
        stages = self._stages
        try:
            if stages.env_restart_order.is_set():
                stages.click_restart()
            elif stages.order_waits:
                stages.take_action()
        except Exception as error:
            raise self._supervision.verdict("main loop", error, stages.turns) from error

    def _flow_to(self, tick: int) -> None:
        """Let time pass up to `tick`, capturing what is due on the way. What is captured at `tick` itself
        for a later perception is left until the orders of that tick have been executed."""
        device = self._device
        now = self._now
        try:
            while self._capture_at < tick or self._capture_at == tick >= self._capture_for:
                at = self._capture_at
                if at > now:
                    device.advance(at - now)
                    self._now = now = at
                frame = device.frame()
                if frame.frame_id != self._last_id:
                    self._last_id = frame.frame_id
                    self._last_new_at = at
                    self._in_flight.append(frame)
                else:
                    self._in_flight.append(None)
                self._plan_capture(at)
            if tick > now:
                device.advance(tick - now)
                self._now = tick
        except Exception as error:
            raise self._supervision.verdict("grab", error, self._stages.turns) from error

    def _plan_capture(self, last: int) -> None:
        """When to capture next: a drawn delay before the perception it is for, and after the last
        capture. A perception for which that leaves less than the shortest delay gets no new frame."""
        delay, period = self._capture_delay, self._period
        while True:
            self._capture_for += period
            wanted = self._capture_for - delay.next()
            self._capture_at = wanted if wanted > last else last + 1
            if self._capture_at <= self._capture_for - delay.low:
                return
            self._in_flight.append(None)

    def _step(self) -> None:
        """On to the next perception, and through it."""
        at = self._perceive_at
        self._flow_to(at)
        self._perceive_at = at + self._period
        frame = self._in_flight.popleft() if self._in_flight else None
        if self._hud_end_at <= at or self._hud_begin_at < at:
            self._read_until(at)
        stages = self._stages
        if frame is not None:
            self._delivered = stages.slot.newest = frame
            try:
                stages.turn(frame)
            except Exception as error:
                raise self._supervision.verdict("main loop", error, stages.turns) from error
        elif stages.may_stand_still:
            self._last_new_at = at
            if stages.env_restart_order.is_set():
                stages.click_restart()
        elif at - self._last_new_at >= self._stopped_ticks:
            raise Interruption(
                "frames_stopped", f"no new frame for {(at - self._last_new_at) * TICK_S:.1f} s"
            )
        if self._hud_begin_at == at:
            self._begin_read(at)

    # --- OCR ----------------------------------------------------------------------------------

    def _read_until(self, at: int) -> None:
        """The reads that end by tick `at` and begin before it."""
        while True:
            if self._hud_end_at <= at:
                self._end_read()
            elif self._hud_begin_at < at:
                self._begin_read(self._hud_begin_at)
            else:
                return

    def _begin_read(self, at: int) -> None:
        """Read the newest delivered frame, unless it is the one read before."""
        self._hud_begin_at = at + self._hud_period
        frame = self._delivered
        if frame is None or frame is self._hud_frame:
            return
        self._hud_frame = frame
        try:
            self._hud_read = self._stages.read_hud(frame)
        except Exception as error:
            raise self._supervision.verdict("ocr", error, self._stages.turns) from error
        self._hud_end_at = at + self._hud_delay.next()
        if self._hud_end_at > self._hud_begin_at:  # one reader: the next read begins when this one ends
            self._hud_begin_at = self._hud_end_at
        if self._hud_end_at == at:
            self._end_read()

    def _end_read(self) -> None:
        read, frame = self._hud_read, self._hud_frame
        self._hud_read = None
        self._hud_end_at = NEVER
        if read is not None and frame is not None:
            stages = self._stages
            try:
                stages.publish_hud(read, frame.captured_at_s, stages.slot.run)
            except Exception as error:
                raise self._supervision.verdict("ocr", error, stages.turns) from error


def ticked(device: Device) -> TickedDevice:
    """`device` as one whose time can be moved by hand; `ConfigError` when it is not."""
    if not isinstance(device, TickedDevice):
        raise ConfigError(
            f"clock: expected a device whose time can be moved by hand for the game clock, found "
            f"{type(device).__name__}; use --clock wall"
        )
    return device
