"""The Worker: grab -> perceive -> publish -> finish -> act -> draw; and `main`, which shows it at work.

Each stage is here once. On the wall clock three threads run them (`greatwall/worker/threads.py`); on
the game clock whoever waits does, in the same order (`greatwall/worker/game_clock.py`). Perception
only perceives: what to do comes through `env_action_queue`, what was seen is `perception`.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from config import TICK_HZ, Config, GameProfile, cooldown_s
from greatwall.contracts import (
    Action,
    ActionOrder,
    ActionResult,
    Clock,
    Device,
    Eyes,
    Frame,
    Hud,
    HudRead,
    Perception,
    SeededEyes,
    Sight,
    recovering,
)
from greatwall.errors import DeviceLost, GameLeft, Interruption, NoFreshFrame
from greatwall.eyes.hud_filter import HudFilter
from greatwall.metrics.timing import WorkerTiming
from greatwall.worker.clocks import SLACK_S, GameClock, WallClock
from greatwall.worker.death import DeathWatch
from greatwall.worker.game_clock import GameClockDriver, ticked
from greatwall.worker.hands import Hands
from greatwall.worker.latest_frame import LatestFrame, OrderQueue
from greatwall.worker.names import SharedNames
from greatwall.worker.restart import RestartClicks
from greatwall.worker.scaling import scaled_sight
from greatwall.worker.stages import Driver
from greatwall.worker.threads import ThreadDriver
from greatwall.worker.trace import Trace
from rule_engine import RuleEngine

LOG = logging.getLogger("greatwall.worker")


class Worker(SharedNames):
    """`contracts.WorkerPrimitives` on any device, through any eyes. SPEC 2 has the names.

    Written by the main loop: `perception`, `result`, `pending_signal`, `cooldown_until`, the rule
    engine, the restart clicks. By the grab stage: the slot. By OCR: the HUD, the death watch, and
    `death_triggered`. By the Master: the queue, `env_restart_order`. New games and recoveries change
    these only while the main loop is held still.
    """

    def __init__(self, config: Config, device: Device, eyes: Eyes) -> None:
        self.config = config
        self.device = device
        self._recovering = recovering(device)
        self.eyes = eyes
        self.slot = LatestFrame()
        self._frame_lock = self.slot.lock
        self._stats_lock = threading.Lock()
        self._hud_lock = threading.Lock()
        self.action_done = threading.Event()
        self.perception_ready = threading.Event()
        self.death_triggered = threading.Event()
        self.env_restart_order = threading.Event()
        self._death_check_enabled = True
        self.clock: Clock
        self._driver: Driver
        self.timing: WorkerTiming | None
        self.env_action_queue: queue.Queue[ActionOrder]
        if config.worker.clock == "wall":
            self.clock = wall = WallClock()
            self.timing = WorkerTiming()
            self.env_action_queue = OrderQueue(self.slot)
            self._driver = ThreadDriver(self, wall)
        else:
            held = ticked(device)
            self.clock = GameClock(held)
            self.timing = None  # nothing takes time there, and measuring would cost some
            self.env_action_queue = queue.Queue(maxsize=1)
            self._driver = GameClockDriver(self, held)

        profile: GameProfile = config.profile
        self._rules = RuleEngine(profile)
        self._size = profile.frame_size
        self._hud_filter = HudFilter(profile)
        self._death_watch = DeathWatch(config.worker.stall_s, config.worker.stall_reads)
        self._hands = Hands(device, profile)
        self._restart_clicks = RestartClicks(profile.restart, self._hands.tap)
        self._cooldowns_s = tuple(cooldown_s(profile, action) for action in Action)
        # Real frames come every grab period: a step ends at the one nearest to its decision period.
        early_s = 0.5 / config.worker.grab_hz if config.worker.clock == "wall" else 0.0
        self._period_s = config.worker.decision_ticks / TICK_HZ - early_s
        self._draws = config.worker.windows
        self._looks = config.eyes.kind == "vision"
        self._started = False
        self._paused = False
        self._perception: Perception | None = None
        self._result: ActionResult | None = None
        self._hud = Hud()
        self._run_seed = 0  # of the run under way
        self.turns = 0
        self.taken = [0, 0, 0]  # orders executed, by action; under _stats_lock
        self.shown: tuple[Frame, Perception] | None = None  # what the windows draw next
        self.pending_signal: ActionOrder | None = None
        self.cooldown_until = 0.0
        self.trace: Trace | None = None  # set before `start`, on the wall clock
        self._basis: Perception | None = None  # what the Master was last told: it decides from this
        self._executed_at_s = 0.0
        self._touched_at_s = 0.0
        self._finish_from_s = 0.0

    # --- primitives ---------------------------------------------------------------------------

    @property
    def perception(self) -> Perception | None:
        return self._perception

    @property
    def result(self) -> ActionResult | None:
        return self._result

    @property
    def latest_frame(self) -> Frame | None:
        return self.slot.newest

    @property
    def hud(self) -> Hud:
        """The newest believed HUD, possibly newer than `perception.hud`."""
        return self._hud

    def facts(self) -> Mapping[str, Any] | None:
        return self.device.facts()

    def start(self) -> None:
        """Start the stages. In real time the eyes look once before: loading what they need would
        otherwise cost the first seconds of a run. Raises what they or the device raise."""
        if not self._started:
            if self.timing is not None:
                frame = self._first_frame()
                self.eyes.see(frame)
                self.eyes.read_hud(frame)
            self._driver.start()
            self._started = True

    def _first_frame(self) -> Frame:
        """Of a phone whose game was left since it was opened, once it is back."""
        try:
            return self.device.frame()
        except (DeviceLost, GameLeft):
            if self._recovering is None:
                raise
        self._recovering.recover()
        return self.device.frame()

    def close(self) -> None:
        """Stop the stages, then let eyes and device go."""
        self._driver.close()
        self.eyes.close()
        self.device.close()

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        return self._driver.wait(event, timeout_s)

    def rest(self, seconds: float) -> None:
        self._driver.rest(seconds)

    def new_game(self, seed: int) -> bool:
        with self._driver.quiet():
            if not self.device.new_game(seed):
                return False
            self._run_seed = seed
            self._begin_drawing(seed)
        return True

    def save_game(self) -> dict[str, Any]:
        return {"state": ticked(self.device).get_state(), "run": self._run_seed}

    def restore_game(self, state: Mapping[str, Any]) -> None:
        device = ticked(self.device)
        with self._driver.quiet():
            device.set_state(state["state"])
            self._run_seed = int(state.get("run", 0))
            self._begin_drawing(self._run_seed + device.tick)  # on every course other faults

    def _begin_drawing(self, seed: int) -> None:
        """A run begins; its faults and delays are drawn from that seed."""
        self._forget_orders()
        self.begin_run()
        if isinstance(self.eyes, SeededEyes):
            self.eyes.begin(seed)
        self._driver.begin(seed)

    def pause(self) -> bool:
        """Freeze the game where the device can; a distance that stands still is no stall then."""
        self._paused = self._driver.pause()
        return self._paused

    def resume(self) -> None:
        with self._hud_lock:
            self._death_watch.forget_stall()
        self._driver.resume()
        self._paused = False

    def recover(self) -> None:
        since_s = self.clock.now_s()
        with self._driver.quiet():
            self._forget_orders()
            self._death_check_enabled = True
        phone = self._recovering
        while phone is not None:
            phone.recover()  # raises when it gives up
            with self._hud_lock:
                self._death_watch.forget_stall()
            try:
                return self._driver.recover(since_s)
            except (Interruption, NoFreshFrame) as error:
                LOG.info("not back yet: %s", error)
                give_up_s = self.config.phone.give_up_s
                if self.clock.now_s() - since_s > give_up_s:  # the phone is back each time, play is not
                    raise DeviceLost(
                        f"expected play to go on within {give_up_s:g} s, found the phone back and: {error}"
                    ) from error
        return self._driver.recover(since_s)

    def relaunch(self) -> bool:
        if self._recovering is None:
            return False
        with self._driver.quiet():
            self._forget_orders()
        self._recovering.relaunch()
        return True

    def _forget_orders(self) -> None:
        self.pending_signal = None
        self.cooldown_until = self._finish_from_s = 0.0
        self.action_done.clear()
        self.env_restart_order.clear()
        self._restart_clicks.stop()
        with contextlib.suppress(queue.Empty):
            self.env_action_queue.get_nowait()

    def begin_run(self) -> None:
        """Nothing of the last run is left: tracks, HUD values, death, frames on their way."""
        self.slot.clear()
        self.perception_ready.clear()
        self._perception = self._basis = None
        if self.trace is not None:
            self.trace.new_run(self.clock.now_s())
        self._rules.reset()
        self.eyes.reset()
        with self._hud_lock:
            self._hud_filter.reset()
            self._death_watch.reset()
            self._hud = Hud()
            self.death_triggered.clear()
            self._death_check_enabled = True

    # --- stage: grab --------------------------------------------------------------------------

    def grab(self, run: int) -> bool:
        """Capture into the slot; True when it is a new frame. Its pixels are not touched here."""
        timing = self.timing
        if timing is None:
            return self.slot.put(self.device.frame(), run)
        began_s = self.clock.now_s()
        frame = self.device.frame()
        new = self.slot.put(frame, run)
        if new:
            now_s = self.clock.now_s()
            timing.grabs.add(now_s)
            if self.trace is not None:
                self.trace.grabbed(frame, began_s, now_s)
        return new

    # --- stages of the main loop, in their order (SPEC 2) ---------------------------------------

    def turn(self, frame: Frame) -> None:
        """(1) a new frame has come; (2) perceive and publish; (3) finish; (4) take; (5) draw."""
        perception = self.perceive(frame)
        self.publish(perception)
        if self.pending_signal is not None:
            self.finish_action(perception)
        if self.env_restart_order.is_set():
            self.click_restart()
        elif self.env_action_queue.queue:
            self.take_action()
        if self._draws:
            self.draw(frame, perception)

    def perceive(self, frame: Frame) -> Perception:
        """Frame -> facts -> lists, distances, cliff: one snapshot, in px of the profile's frame."""
        timing = self.timing
        if timing is None:
            sight = self.see(frame)
            return self._rules.perceive(frame, sight, self._hud, self.clock.now_s())
        began_s = self.clock.now_s()
        if self._looks:  # the simulator draws, or a capture decodes, when first asked
            _ = frame.bgr
        drawn_s = self.clock.now_s()
        sight = self.see(frame)
        now_s = self.clock.now_s()
        timing.pixels.add_s(drawn_s - began_s)
        timing.detector.add_s(now_s - drawn_s)
        timing.loops.add(now_s)
        timing.frame_age.add_s(now_s - frame.captured_at_s)
        perception = self._rules.perceive(frame, sight, self._hud, now_s)
        ended_s = self.clock.now_s()
        timing.rules.add_s(ended_s - now_s)
        if self.trace is not None:
            self.trace.perceived(perception, began_s, drawn_s, now_s, ended_s)
        return perception

    def see(self, frame: Frame) -> Sight:
        """What the eyes make of the frame, scaled from its size to the profile's."""
        sight = self.eyes.see(frame)
        if frame.size == self._size:
            return sight
        width, height = self._size
        sx, sy = width / frame.size[0], height / frame.size[1]
        return scaled_sight(sight, sx, sy, width, self.config.profile.terrain_step_px)

    def publish(self, perception: Perception) -> None:
        """All of it at once: readers take one reference."""
        self._perception = perception
        self.turns += 1
        if not self.perception_ready.is_set() and not self.env_restart_order.is_set():
            self.perception_ready.set()

    def finish_action(self, perception: Perception) -> None:
        """Signal the pending action once its cooldown and its decision period are over and this
        perception's frame was captured after it was executed (on the game clock's tick, but later)."""
        now_s = perception.perceived_at_s
        if now_s < self._finish_from_s - SLACK_S or perception.captured_at_s < self._touched_at_s - SLACK_S:
            return
        order = self.pending_signal
        assert order is not None
        result = ActionResult(order.action_id, order.action, self._executed_at_s, now_s, perception)
        self._result = result
        self._basis = perception
        self.pending_signal = None
        self.action_done.set()
        timing = self.timing
        if timing is not None:
            timing.step.add_s(now_s - self._executed_at_s)
            timing.overruns += now_s > self._finish_from_s + self._period_s
            if self.trace is not None:
                self.trace.finished(result)

    @property
    def may_stand_still(self) -> bool:
        """The picture need not change now: the run is over, or being started again."""
        return self.death_triggered.is_set() or self.env_restart_order.is_set()

    @property
    def order_waits(self) -> bool:
        """An order lies in the queue and nothing stands before it."""
        return (
            bool(self.env_action_queue.queue)
            and self.pending_signal is None
            and not self.env_restart_order.is_set()
        )

    def take_action(self) -> None:
        """Execute the order in the queue, if the last one is finished: a full queue is back-pressure."""
        if self.pending_signal is not None:
            return
        try:
            order = self.env_action_queue.get_nowait()
        except queue.Empty:
            return
        action = order.action
        now_s = self.clock.now_s()
        self._executed_at_s = self._touched_at_s = now_s
        if action is not Action.WAIT:
            self._hands.act(action, self._perception)
            self._touched_at_s = after_s = self.clock.now_s()
            if self.timing is not None:
                self.timing.touch.add_s(after_s - now_s)
        if self.timing is not None:
            basis = self._basis or self._perception
            if basis is not None:
                self.timing.decision_age.add_s(now_s - basis.captured_at_s)
            if self.trace is not None:
                self.trace.taken(order, basis, now_s, self._touched_at_s)
        self.cooldown_until = now_s + self._cooldowns_s[action]
        self._finish_from_s = max(self.cooldown_until, now_s + self._period_s)
        self.pending_signal = order
        with self._stats_lock:
            self.taken[action] += 1

    def click_restart(self) -> None:
        """The taps of the restart procedure, each when it is due; perception goes on meanwhile."""
        now_s = self.clock.now_s()
        clicks = self._restart_clicks
        if not clicks.active:
            self._death_check_enabled = False
            self.perception_ready.clear()
            clicks.begin(now_s)
        if clicks.turn(now_s):
            self.begin_run()
            self.env_restart_order.clear()

    def draw(self, frame: Frame, perception: Perception) -> None:
        """Hand over what the windows show; the main thread of the process draws them."""
        self.shown = (frame, perception)

    # --- stages of OCR ------------------------------------------------------------------------

    def read_hud(self, frame: Frame) -> HudRead:
        timing = self.timing
        if timing is None:
            return self.eyes.read_hud(frame)
        began_s = self.clock.now_s()
        timing.hud_reads.add(began_s)
        read = self.eyes.read_hud(frame)
        ended_s = self.clock.now_s()
        timing.hud.add_s(ended_s - began_s)
        if self.trace is not None:
            self.trace.read(frame, read, began_s, ended_s)
        return read

    def publish_hud(self, read: HudRead, captured_at_s: float, run: int) -> None:
        """Filter, publish, watch for death. A read begun in an earlier run is dropped."""
        with self._hud_lock:
            if run != self.slot.run:
                return
            hud = self._hud = self._hud_filter.update(read, captured_at_s)
            dead = self._death_check_enabled and not self._paused and self._death_watch.dead(read, hud)
        if not dead or self.death_triggered.is_set():
            return
        if self._recovering is not None:  # a pop-up makes the distance stand still too
            self._recovering.confirm()
        with self._hud_lock:
            if run == self.slot.run and self._death_check_enabled and not self._paused:
                self.death_triggered.set()

    # --- touches --------------------------------------------------------------------------------

    def adb_tap(self, x: float, y: float) -> None:
        """Tap at a point of the profile's frame."""
        self._hands.tap(x, y)

    def adb_swipe(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Swipe between two points of the profile's frame."""
        self._hands.swipe(x1, y1, x2, y2)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python ppo_acting.py`: the agent at work, in three windows. Returns the exit status."""
    from greatwall.commands.acting import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
