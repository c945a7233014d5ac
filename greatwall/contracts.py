"""The values that rooms hand to each other. All immutable; no thread owns them.

Coordinates are pixels of the frame they came from, origin top left, x to the right, y down.
Boxes of `GameObject` are top-left x, y, width, height. `horse_pos` alone is x1, y1, x2, y2,
because the user's text says `horse_pos[2]` for the rider's right edge.
Times are seconds of the Worker's clock (wall or game), never of the operating system's calendar.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

FrameArray = NDArray[np.uint8]  # (H, W, 3), BGR
FloatArray = NDArray[np.float32]

TERRAIN_SAMPLES = 200
OBSERVATION_SIZE = TERRAIN_SAMPLES + 4 + 3  # SPEC 3
TICK_S = 1 / 30  # one tick of the game's clock (SPEC 4)

INTERRUPTIONS = ("phone_lost", "frames_stopped", "worker_restarted", "game_left")


class Action(IntEnum):
    """What the agent can do (SPEC 4)."""

    WAIT = 0
    JUMP = 1
    SHOOT = 2


class GameObject(NamedTuple):
    """One thing on the screen, from the detector or from the game's truth: the same type.

    `visible` is the share of the box inside the frame, 0..1. `dx`, `dy` are the change of x, y since
    the previous perception (0 for a new track). `track_id` is -1 before the tracker has seen it.
    """

    category: str
    x: float
    y: float
    w: float
    h: float
    score: float = 1.0
    track_id: int = -1
    dx: float = 0.0
    dy: float = 0.0
    visible: float = 1.0

    @property
    def x2(self) -> float:
        return self.x + self.w

    @property
    def y2(self) -> float:
        return self.y + self.h

    @property
    def center(self) -> tuple[float, float]:
        return self.x + self.w / 2, self.y + self.h / 2


class Gap(NamedTuple):
    """Missing ground between two columns of the frame, `x1` inclusive, `x2` exclusive."""

    x1: float
    x2: float
    track_id: int = -1


class HudRead(NamedTuple):
    """What one look at the HUD says, unfiltered; None is a field that could not be read."""

    lives: int | None = None
    arrows: int | None = None
    coins: int | None = None
    distance: int | None = None


HUD_FIELDS = HudRead._fields


class Hud(NamedTuple):
    """Believed HUD values after the plausibility filter, each with the capture time it comes from.

    A value stays, with its old time, when a read fails or is not believed. `read_id` counts reads
    made; `captured_at_s` is when the newest read frame was captured (-inf before the first).
    """

    lives: int | None = None
    arrows: int | None = None
    coins: int | None = None
    distance: int | None = None
    lives_at_s: float = -math.inf
    arrows_at_s: float = -math.inf
    coins_at_s: float = -math.inf
    distance_at_s: float = -math.inf
    read_id: int = 0
    captured_at_s: float = -math.inf


class Scene(NamedTuple):
    """The game's own truth about one frame; only `eyes/truth.py` and scoring read it.

    `objects` hold every object whose box touches the frame, `gaps` those that touch it,
    `hud` is None on pages that show none. `page` is the game's word for what is on the screen.
    """

    objects: tuple[GameObject, ...]
    gaps: tuple[Gap, ...]
    hud: HudRead | None
    page: str


class FrameSource(Protocol):
    """Where a frame's pixels and truth come from when somebody asks for them."""

    def draw(self) -> FrameArray: ...

    def scene(self) -> Scene | None: ...


@runtime_checkable
class CodedSource(FrameSource, Protocol):
    """A source whose pixels go through a codec with a memory: each look changes what the next one sees."""

    def draw_uncoded(self) -> FrameArray:
        """The same picture before the codec; changes nothing."""


class Frame:
    """One captured screen. Pixels are made once, when first asked for, and then kept: all threads get
    the same ones.

    `frame_id` rises by at least 1 with every distinct capture; equal ids are the same picture.
    `captured_at_s` is on the device's clock. `size` is (width, height) in px. `scene` is None on
    anything but the embedded game.
    """

    __slots__ = ("_bgr", "_making", "_source", "captured_at_s", "frame_id", "size")

    def __init__(
        self,
        frame_id: int,
        captured_at_s: float,
        size: tuple[int, int],
        *,
        bgr: FrameArray | None = None,
        source: FrameSource | None = None,
    ) -> None:
        if bgr is None and source is None:
            raise ValueError("a frame needs pixels or a source of pixels")
        self.frame_id = frame_id
        self.captured_at_s = captured_at_s
        self.size = size
        self._bgr = bgr
        self._source = source
        self._making = threading.Lock()

    @property
    def bgr(self) -> FrameArray:
        """uint8 (H, W, 3), BGR; treat as read-only."""
        if self._bgr is None:
            with self._making:
                if self._bgr is None:
                    assert self._source is not None
                    self._bgr = self._source.draw()
        return self._bgr

    @property
    def uncoded_bgr(self) -> FrameArray:
        """`bgr` as it was before a lossy codec of the device, where it has one: for recording."""
        return self._source.draw_uncoded() if isinstance(self._source, CodedSource) else self.bgr

    @property
    def scene(self) -> Scene | None:
        """The game's truth of this frame, or None where no truth can be had."""
        return None if self._source is None else self._source.scene()


class Ground:
    """What the ground scan found in one frame: gaps over the whole row, and 200 cells ahead.

    `gaps` are left to right. `cells` is float32 (200,), 1 ground, 0 none, sampled every 3 px from
    the rider's right edge; cells beyond the frame are 1. Made lazily, so truth eyes stay fast.
    """

    __slots__ = ("_cells", "from_x", "gaps", "step_px", "width")

    def __init__(
        self,
        gaps: tuple[Gap, ...],
        from_x: float,
        width: int,
        *,
        step_px: int = 3,
        cells: FloatArray | None = None,
    ) -> None:
        self.gaps = gaps
        self.from_x = from_x
        self.width = width
        self.step_px = step_px
        self._cells = cells

    @property
    def cells(self) -> FloatArray:
        if self._cells is None:
            cells = np.ones(TERRAIN_SAMPLES, np.float32)
            for gap in self.gaps:
                start = max(0, math.ceil((gap.x1 - self.from_x) / self.step_px))
                end = math.ceil((min(gap.x2, self.width) - self.from_x) / self.step_px)
                if end > start:
                    cells[start:end] = 0.0
            self._cells = cells
        return self._cells

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ground):
            return NotImplemented
        return self.gaps == other.gaps and np.array_equal(self.cells, other.cells)

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any]) -> Ground:
        return self


class Sight(NamedTuple):
    """What the eyes make of one frame, before any rule: untracked objects, and the ground."""

    objects: tuple[GameObject, ...]
    ground: Ground


class Passing(NamedTuple):
    """A hazard that is now behind the rider. `serial` rises by one with every passing.

    `met_at_s` is the capture time of the last frame before it reached the rider's right edge, so that
    a life lost to it was lost after that moment; `passed_at_s` that of the frame in which it was behind.
    """

    serial: int
    kind: str  # "obstacle" or "cliff"
    track_id: int
    met_at_s: float
    passed_at_s: float


@dataclass(frozen=True, slots=True)
class Perception:
    """One immutable snapshot of one frame, published at once. The user's names are its fields.

    Lists are sorted by x. `nearest_*` are px, max(0, obj.x1 - horse.x2) among those with
    obj.x2 > horse.x1, inf where there is none (SPEC 3). `shoot_target` is the end point of a swipe
    from `horse_center`. `passings` are those of the last two seconds, oldest first.
    """

    frame_id: int
    captured_at_s: float
    perceived_at_s: float
    size: tuple[int, int]
    horse_pos: tuple[float, float, float, float]  # x1, y1, x2, y2
    danger_list: tuple[GameObject, ...]
    enemy_list: tuple[GameObject, ...]
    soul_list: tuple[GameObject, ...]
    coin_list: tuple[GameObject, ...]
    nearest_danger: float
    nearest_enemy: float
    nearest_soul: float
    nearest_coin: float
    shoot_target: tuple[float, float]
    ground: Ground
    cliff: bool
    passings: tuple[Passing, ...]
    hud: Hud

    @property
    def horse_center(self) -> tuple[float, float]:
        x1, y1, x2, y2 = self.horse_pos
        return (x1 + x2) / 2, (y1 + y2) / 2

    @property
    def frame_age_s(self) -> float:
        """Seconds between capture and publication."""
        return self.perceived_at_s - self.captured_at_s

    def __deepcopy__(self, memo: dict[int, Any]) -> Perception:
        """Immutable, so a copy is itself; vector envs deep-copy every `info`."""
        return self

    @property
    def objects(self) -> tuple[GameObject, ...]:
        return self.danger_list + self.enemy_list + self.soul_list + self.coin_list


class ActionOrder(NamedTuple):
    """Master -> Worker. `action_id` rises by one with every order."""

    action_id: int
    action: Action


class ActionResult(NamedTuple):
    """Worker -> Master: executed, cooldown over, and perceived from a frame captured after it.

    `executed_at_s` is when the finger went down (or, for wait, when the order was taken).
    """

    action_id: int
    action: Action
    executed_at_s: float
    finished_at_s: float
    perception: Perception


@runtime_checkable
class Device(Protocol):
    """What is played on. Raises `DeviceError` when it cannot, `DeviceLost` when it no longer can."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of its newest frame, px."""

    def frame(self) -> Frame:
        """The newest screen; the same `frame_id` again when nothing new has arrived."""

    def tap(self, x: float, y: float) -> None: ...

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None: ...

    def pause(self) -> bool:
        """Freeze the game; False where the device cannot."""

    def resume(self) -> None: ...

    def new_game(self, seed: int) -> bool:
        """Start a live game from a seed; False where the device cannot (a phone)."""

    def facts(self) -> Mapping[str, Any] | None:
        """The game's own account of the run, for reports only; None where there is none."""

    def health(self) -> str:
        """One line about how the device is, for people."""

    def close(self) -> None: ...


@runtime_checkable
class WaitingDevice(Protocol):
    """A device that tells when a frame comes, so that nobody need look again and again.

    Whoever wraps one and leaves frames out is none itself: its newest frame and the device's differ.
    """

    def wait_newer(self, than_id: int, timeout_s: float) -> None:
        """Returns when `frame()` gives another frame, or fails, or after that long. Raises nothing."""


@runtime_checkable
class TickedDevice(Device, Protocol):
    """A device whose time can be moved by hand: what the game clock needs.

    It runs in real time until `hold()` is called; after that only `advance` moves it.
    """

    tick: int

    def hold(self) -> None: ...

    def advance(self, ticks: int) -> None: ...

    def get_state(self) -> dict[str, Any]:
        """Everything, as JSON-able values."""

    def set_state(self, state: Mapping[str, Any]) -> None: ...


@runtime_checkable
class RecoveringDevice(Device, Protocol):
    """A device that can be lost, covered or left, and knows how to come back: a phone.

    Its `frame` and touches raise `DeviceLost`, `GameLeft`, or `HandsOff` when a person stopped it.
    """

    def recover(self) -> None:
        """Come back after an interruption: connected, the game in front, a fresh frame. Takes as long
        as its config allows from the first of several in a row; then raises `DeviceLost`."""

    def confirm(self) -> None:
        """See now whether the game is in front: `GameLeft` or `DeviceLost` where it is not."""

    def relaunch(self) -> None:
        """Start the game's app afresh; what it shows then is waited for by `recover`."""


@runtime_checkable
class WrappingDevice(Protocol):
    """A device that stands before another one."""

    @property
    def wrapped(self) -> Device: ...


def recovering(device: object) -> RecoveringDevice | None:
    """The recovering device behind `device`, or None where there is none."""
    while isinstance(device, WrappingDevice):
        device = device.wrapped
    return device if isinstance(device, RecoveringDevice) else None


class Eyes(Protocol):
    """Frame -> facts."""

    def see(self, frame: Frame) -> Sight: ...

    def read_hud(self, frame: Frame) -> HudRead: ...

    def reset(self) -> None:
        """Forget the last run."""

    def close(self) -> None: ...


@runtime_checkable
class SeededEyes(Eyes, Protocol):
    """Eyes with a chance of their own: they are told the seed of a run where there is one."""

    def begin(self, seed: int) -> None:
        """The run of that seed begins; comes after `reset`."""


class Clock(Protocol):
    """Everything that waits asks a clock; only `worker/clocks.py` may call `time.sleep`."""

    def now_s(self) -> float: ...


class WorkerPrimitives(Protocol):
    """All that `game_env.py` knows of its Worker (SPEC 2)."""

    env_action_queue: queue.Queue[ActionOrder]
    action_done: threading.Event
    perception_ready: threading.Event
    death_triggered: threading.Event
    env_restart_order: threading.Event
    clock: Clock

    @property
    def perception(self) -> Perception | None:
        """The newest published snapshot."""

    @property
    def result(self) -> ActionResult | None:
        """The newest finished action; its id must be the one waited for."""

    @property
    def latest_frame(self) -> Frame | None:
        """The newest grabbed frame, for rendering and recording."""

    def facts(self) -> Mapping[str, Any] | None:
        """`Device.facts`: for reports only, never for an observation or a reward."""

    def start(self) -> None:
        """Start the stages; nothing when they run already."""

    def close(self) -> None: ...

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait on the Worker's clock until `event` is set; False on timeout.

        Raises `Interruption` or `WorkerError` within a second of the cause. On the game clock it is
        this call that runs the stages.
        """

    def rest(self, seconds: float) -> None:
        """Let that much of the Worker's time pass, perceiving all the while; raises as `wait`."""

    def new_game(self, seed: int) -> bool:
        """Start from a seed where the device can: perception, HUD filter, schedule all anew."""

    def save_game(self) -> dict[str, Any]:
        """The game as it stands, JSON-able; `ConfigError` on a device that cannot save."""

    def restore_game(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved game as from a new one: perception, HUD filter, schedule, delays anew."""

    def pause(self) -> bool: ...

    def resume(self) -> None: ...

    def recover(self) -> None:
        """After an interruption: bring device, threads, frames and flags back, or raise `DeviceLost` or
        `WorkerError`."""

    def relaunch(self) -> bool:
        """Start the game's app afresh, to be followed by `recover`; False where the device cannot."""


class Player(Protocol):
    """Who can play: rule, random, idle, a trained policy."""

    name: str

    def reset(self, seed: int) -> None: ...

    def act(self, observation: FloatArray, perception: Perception) -> Action: ...
