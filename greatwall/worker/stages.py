"""What the two drivers know of the Worker: its stages, and the few things they pass between them.

Who runs what: the wall clock has a thread each for grab, main loop and OCR; on the game clock all of
it runs on the thread that waits.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Protocol

from config import Config
from greatwall.contracts import ActionOrder, Device, Frame, HudRead, Perception
from greatwall.errors import DeviceLost, GameLeft, GreatWallError, HandsOff, Interruption, WorkerError
from greatwall.metrics.timing import WorkerTiming
from greatwall.worker.latest_frame import LatestFrame

FORGIVEN_AFTER = 1_000  # perceptions without a failure of a stage: its count starts anew
RECOVER_S = 8.0  # how long recover() waits for a fresh frame


class Stages(Protocol):
    """The Worker as a driver sees it."""

    config: Config
    device: Device
    slot: LatestFrame
    timing: WorkerTiming | None
    env_restart_order: threading.Event
    pending_signal: ActionOrder | None
    turns: int  # perceptions made

    @property
    def perception(self) -> Perception | None: ...

    @property
    def order_waits(self) -> bool:
        """An order could be executed now."""

    @property
    def may_stand_still(self) -> bool:
        """A picture that does not change is no sign of trouble now."""

    def grab(self, run: int) -> bool:
        """Capture into the slot; True when the frame is a new one."""

    def turn(self, frame: Frame) -> None:
        """One turn of the main loop: perceive, publish, finish, take, draw."""

    def take_action(self) -> None: ...

    def click_restart(self) -> None: ...

    def read_hud(self, frame: Frame) -> HudRead: ...

    def publish_hud(self, read: HudRead, captured_at_s: float, run: int) -> None: ...

    def begin_run(self) -> None:
        """Everything that belongs to one run, afresh."""


class Driver(Protocol):
    """Runs the stages."""

    def start(self) -> None: ...

    def close(self) -> None: ...

    def wait(self, event: threading.Event, timeout_s: float) -> bool: ...

    def rest(self, seconds: float) -> None: ...

    def quiet(self) -> contextlib.AbstractContextManager[None]:
        """While held, the main loop does not turn."""

    def begin(self, seed: int) -> None:
        """A new run has started on the device: schedule and delays afresh."""

    def pause(self) -> bool: ...

    def resume(self) -> None: ...

    def recover(self, since_s: float) -> None:
        """Restart what is dead until a frame from after `since_s` has been perceived."""


class Supervision:
    """Turns a stage's failure into what the waiting side is told, and counts.

    Owned by whoever waits. A lost device, or a game that was left, is an interruption as often as it
    happens; anything else is one for the first `restarts` times, and then a `WorkerError` for good. What
    a person stopped stays stopped.
    """

    def __init__(self, restarts: int) -> None:
        self._restarts = restarts
        self._failures: dict[str, int] = {}
        self._last_turn: dict[str, int] = {}
        self._fatal: GreatWallError | None = None

    def raise_if_fatal(self) -> None:
        if self._fatal is not None:
            raise self._fatal

    def verdict(self, stage: str, error: BaseException, turns: int) -> Interruption | GreatWallError:
        """The exception to raise for `error`, which is its cause. `turns`: perceptions made so far."""
        if isinstance(error, HandsOff):
            self._fatal = error
            return error
        if isinstance(error, (DeviceLost, GameLeft)):
            lost = Interruption("phone_lost" if isinstance(error, DeviceLost) else "game_left", str(error))
            lost.__cause__ = error
            return lost
        if turns - self._last_turn.get(stage, turns) > FORGIVEN_AFTER:
            self._failures[stage] = 0
        self._last_turn[stage] = turns
        count = self._failures[stage] = self._failures.get(stage, 0) + 1
        found = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if count <= self._restarts:
            again = Interruption("worker_restarted", f"{stage} failed ({found}), restart {count}")
            again.__cause__ = error
            return again
        self._fatal = WorkerError(
            f"expected the worker's {stage} stage to run, found {found} for the {count}th time; "
            "see the cause's traceback and start again"
        )
        self._fatal.__cause__ = error
        return self._fatal
