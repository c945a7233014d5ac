"""The wall-clock driver: three daemon threads run the Worker's stages, and whoever waits watches them.

    grab   device.frame() -> slot                    writes: slot, last new frame's time
    main   slot -> Worker.turn()                     writes: all that `turn` publishes, last turn's time
    ocr    slot -> read_hud() -> publish_hud()       writes: the HUD

A thread that dies leaves its exception in `_deaths`; the next look of whoever waits (every
`LOOK_S`) starts it again and raises. `turn_lock` is held by the main loop for each turn, and by a
new game while it changes what turns rely on.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator

from greatwall.contracts import WaitingDevice, recovering
from greatwall.errors import DeviceLost, GameLeft, Interruption, NoFreshFrame, WorkerError
from greatwall.worker.clocks import WallClock
from greatwall.worker.stages import RECOVER_S, Stages, Supervision

LOOK_S = 0.1  # how often a waiting Master looks after the threads
STUCK_S = 2.0  # a turn, or a HUD read, that takes longer is stuck
FIRST_TURN_S = 20.0  # the first one may load things
LOCK_S = 5.0  # a turn lock not had in this time is a stuck main loop
EARLY = 0.95  # of a grab period: a look a little early keeps in step with a source of the same rate
IDLE_S = 0.05  # the main loop looks up this often when no frame comes
JOIN_S = 3.0
WAY_NICE = 10  # of 19: others on this machine still leave the HUD its share


def give_way() -> None:
    """Let the calling thread run after the others: a HUD read can wait, a frame cannot. Linux alone gives
    threads a priority of their own; elsewhere nothing happens."""
    if sys.platform == "linux":
        own = os.PRIO_PROCESS, threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(*own, max(os.getpriority(*own), WAY_NICE))


class Pace:
    """When to look again, so that things are taken once a period at most. Up to `credit_s` that was not used
    is used later: what came late does not delay the next. Seconds of any clock; pure."""

    def __init__(self, period_s: float, credit_s: float, now_s: float) -> None:
        self._period_s, self._credit_s, self._due_s = period_s, credit_s, now_s

    def after(self, taken_s: float) -> float:
        """The time of the next look, something having been taken at `taken_s`."""
        self._due_s = max(self._due_s, taken_s - self._credit_s) + self._period_s
        return self._due_s


class ThreadDriver:
    """Starts, watches, restarts and stops the three threads."""

    def __init__(self, stages: Stages, clock: WallClock) -> None:
        self._stages = stages
        self._clock = clock
        self._config = stages.config.worker
        self._loops: dict[str, Callable[[], None]] = {
            "grab": self._grab_loop,
            "main loop": self._main_loop,
            "ocr": self._ocr_loop,
        }
        self.threads: dict[str, threading.Thread] = {}
        self._deaths: dict[str, BaseException] = {}
        self._stop = threading.Event()
        self.turn_lock = threading.Lock()
        self._supervision = Supervision(self._config.thread_restarts)
        self._paused = False
        self._last_new_s = 0.0
        self._last_turn_s = 0.0
        self._turn_began_s: float | None = None
        self._read_began_s: float | None = None
        self._reads = 0

    # --- driver -------------------------------------------------------------------------------

    def start(self) -> None:
        if not self.threads:
            self._last_new_s = self._last_turn_s = self._clock.now_s()
            for name in self._loops:
                self._spawn(name)

    def close(self) -> None:
        """Stop all three; one that does not stop in time is a daemon and dies with the process."""
        self._stop.set()
        self._stages.slot.wake()
        for thread in self.threads.values():
            thread.join(JOIN_S)

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        if not self.turn_lock.acquire(timeout=LOCK_S):
            raise WorkerError(
                f"expected the main loop to finish a turn within {LOCK_S:g} s, found it stuck; start again"
            )
        try:
            yield
        finally:
            self.turn_lock.release()

    def begin(self, seed: int) -> None:
        """Real time needs no schedule; only the watch over frames starts afresh."""
        del seed
        self._last_new_s = self._clock.now_s()

    def pause(self) -> bool:
        self._paused = self._stages.device.pause()
        return self._paused

    def resume(self) -> None:
        self._stages.device.resume()
        self._last_new_s = self._clock.now_s()
        self._paused = False

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait in short looks, so that a dead thread is noticed."""
        deadline = self._clock.now_s() + timeout_s
        while True:
            self._look()
            left_s = deadline - self._clock.now_s()
            if event.wait(max(0.0, min(left_s, LOOK_S))):
                return True
            if left_s <= 0:
                return False

    def rest(self, seconds: float) -> None:
        deadline = self._clock.now_s() + seconds
        while True:
            self._look()
            left_s = deadline - self._clock.now_s()
            if left_s <= 0:
                return
            self._clock.sleep(min(left_s, LOOK_S))

    def recover(self, since_s: float) -> None:
        """Restart what is dead until a frame from after `since_s` has been perceived, for `RECOVER_S` at
        most. A device that comes back by itself is asked to at once: its trouble is raised."""
        self._last_new_s = began_s = self._clock.now_s()
        self._forget_lost_device()
        by_itself = recovering(self._stages.device) is not None
        trouble: Interruption | None = None
        while self._clock.now_s() < began_s + RECOVER_S:
            try:
                self._look()
            except Interruption as error:
                trouble = error
                if by_itself and error.reason in ("phone_lost", "game_left"):
                    raise
            perception = self._stages.perception
            if perception is not None and perception.captured_at_s > since_s and self._read_began_s is None:
                return
            self._clock.sleep(LOOK_S / 2)
        if trouble is not None and trouble.reason == "phone_lost":
            raise DeviceLost(
                f"expected the device back within {RECOVER_S:g} s, found: {trouble.detail}; reconnect it"
            ) from trouble
        raise NoFreshFrame(
            f"expected a fresh frame within {RECOVER_S:g} s, found none; check the device"
        ) from trouble

    def _forget_lost_device(self) -> None:
        """Threads that died of what has been mended meanwhile start again, and nothing is told of it."""
        for name, error in list(self._deaths.items()):
            if isinstance(error, (DeviceLost, GameLeft)):
                del self._deaths[name]
                self._spawn(name)

    # --- watching -----------------------------------------------------------------------------

    def _spawn(self, name: str) -> None:
        thread = threading.Thread(target=self._run, args=(name,), name=f"worker {name}", daemon=True)
        self.threads[name] = thread
        thread.start()

    def _run(self, name: str) -> None:
        try:
            self._loops[name]()
        except BaseException as error:  # noqa: BLE001 - however it died, whoever waits is told
            self._deaths[name] = error

    def _look(self) -> None:
        """Raise what happened to the threads or to the stream of frames since the last look."""
        self._supervision.raise_if_fatal()
        for name, thread in self.threads.items():
            if name not in self._deaths and thread.is_alive():
                continue
            if self._stop.is_set():
                raise WorkerError("expected a running worker, found a closed one; build a new one")
            error = self._deaths.pop(name, None) or RuntimeError("the thread ended without a word")
            verdict = self._supervision.verdict(name, error, self._stages.turns)
            if isinstance(verdict, Interruption):
                self._spawn(name)
            raise verdict
        if self._paused:
            return
        now_s = self._clock.now_s()
        if self._stages.may_stand_still:
            self._last_new_s = now_s
        elif now_s - self._last_new_s > self._config.frames_stopped_s:
            raise Interruption("frames_stopped", f"no new frame for {now_s - self._last_new_s:.1f} s")
        self._look_for_stuck(
            "the main loop is stuck in a turn", self._turn_began_s, self._stages.turns, now_s
        )
        self._look_for_stuck("the HUD reader is stuck", self._read_began_s, self._reads, now_s)

    def _look_for_stuck(self, what: str, began_s: float | None, done: int, now_s: float) -> None:
        """A thread cannot be killed; but nobody may wait for it without being told."""
        if began_s is not None and now_s - began_s > (STUCK_S if done else FIRST_TURN_S):
            raise Interruption("frames_stopped", f"{what} for {now_s - began_s:.1f} s")

    # --- the loops ----------------------------------------------------------------------------

    def _grab_loop(self) -> None:
        """`grab_hz` distinct frames a second. Looks a little early; when the frame is still the old one,
        again soon, which keeps in step with a source of the same rate. A device that tells of its frames is
        not polled: it wakes the loop, and there a frame that came late does not delay the next."""
        stages, clock = self._stages, self._clock
        device = stages.device
        tells = device if isinstance(device, WaitingDevice) else None
        period_s = EARLY / self._config.grab_hz
        pace = Pace(period_s, period_s if tells else 0.0, clock.now_s())
        while not self._stop.is_set():
            began_s = clock.now_s()
            if stages.grab(stages.slot.run):
                self._last_new_s = began_s
                left_s = pace.after(began_s) - clock.now_s()
            else:
                newest = stages.slot.look()[0]
                if tells is not None and newest is not None:
                    tells.wait_newer(newest.frame_id, IDLE_S)
                    continue
                left_s = period_s / 8
            self._stop.wait(max(0.0, left_s))

    def _main_loop(self) -> None:
        """A turn for each new frame; an order that comes between two frames is taken at once."""
        stages, slot, clock = self._stages, self._stages.slot, self._clock
        while not self._stop.is_set():
            run = slot.run
            frame = slot.take(IDLE_S, lambda: stages.order_waits or self._stop.is_set())
            with self.turn_lock:
                self._turn_began_s = clock.now_s()
                if frame is not None and run == slot.run:
                    stages.turn(frame)
                elif stages.env_restart_order.is_set():
                    stages.click_restart()
                elif stages.order_waits:
                    stages.take_action()
                self._turn_began_s = None

    def _ocr_loop(self) -> None:
        """A read each `hud_period_s`, of the newest frame; a frame that was read is not read again."""
        stages, clock = self._stages, self._clock
        give_way()
        seen = None
        due_s = clock.now_s()
        while not self._stop.is_set():
            frame, run = stages.slot.look()
            if frame is None or frame is seen:
                self._stop.wait(0.02)
                continue
            seen = frame
            self._read_began_s = clock.now_s()
            read = stages.read_hud(frame)
            self._read_began_s = None
            self._reads += 1
            stages.publish_hud(read, frame.captured_at_s, run)
            due_s = max(due_s + self._config.hud_period_s, clock.now_s())
            self._stop.wait(max(0.0, due_s - clock.now_s()))
