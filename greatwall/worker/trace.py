"""`--trace FILE`: what happened when, as a trace that ui.perfetto.dev and chrome://tracing open.

Every thread adds events to one bounded ring, under its lock; the main thread writes it once, at the end.
One track a thread (grab, main loop, ocr, player) and one for the steps: there each step is a span from its
order to its end, with the moments it is made of (capture, perceived, touch, first visible effect) carrying
the step's number. Without `--trace` there is no such object, and each stage pays for one comparison with
None.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from config import GameProfile
from greatwall.contracts import Action, ActionOrder, ActionResult, Frame, HudRead, Perception
from greatwall.errors import ConfigError

EVENTS_KEPT = 200_000  # the newest: about 15 minutes at 30 frames/s, under 100 MB
EFFECT_MAX_S = 2.0  # a touch without a visible effect by then has none
AIR_PX = 15.0  # of the profile's frame: the rider's lower edge this far above the ground is a jump
TRACKS = ("grab", "main loop", "ocr", "player", "steps")
PROCESS = 1


class Event(NamedTuple):
    """A span, or a moment where `duration_s` is None; times on the Worker's clock."""

    track: str
    name: str
    at_s: float
    duration_s: float | None
    args: Mapping[str, Any]


class Touch(NamedTuple):
    """A touch that has had no visible effect yet."""

    step: int
    action: Action
    at_s: float


class EffectWatch:
    """The first visible effect of each touch, by what is perceived after it.

    Jump: the first frame captured after the touch that shows the rider off the ground while the one
    perceived before showed it on the ground. Shoot: the first HUD read of a frame captured after the
    touch that believes fewer arrows than before; HUD reads are 0.3 s apart, and so is what this can tell.
    """

    def __init__(self, profile: GameProfile) -> None:
        _, y, _, h = profile.rider_box
        self._air_from_share = (y + h - AIR_PX) / profile.frame_size[1]
        self._pending: list[Touch] = []
        self._in_air = True  # unknown: no jump is told before the rider has been seen on the ground
        self._arrows: int | None = None

    def touched(self, touch: Touch) -> None:
        self._pending.append(touch)

    def seen(self, perception: Perception) -> list[tuple[Touch, float]]:
        """Touches whose effect this perception shows, oldest first, each with when it was visible."""
        hud = perception.hud
        in_air = perception.horse_pos[3] < self._air_from_share * perception.size[1]
        jumped = in_air and not self._in_air
        shots = 0
        if hud.arrows is not None:
            shots = max(0, (self._arrows or 0) - hud.arrows)
            self._arrows = hud.arrows
        self._in_air = in_air
        found: list[tuple[Touch, float]] = []
        waiting: list[Touch] = []
        for touch in self._pending:
            is_jump = touch.action is Action.JUMP
            visible_s = perception.captured_at_s if is_jump else hud.arrows_at_s
            if visible_s > touch.at_s and (jumped if is_jump else shots > 0):
                found.append((touch, visible_s))
                jumped = jumped and not is_jump
                shots -= not is_jump
            elif perception.captured_at_s - touch.at_s <= EFFECT_MAX_S:
                waiting.append(touch)
        self._pending = waiting
        return found

    def forget(self) -> None:
        """A new run: touches of the last one have no effect in it."""
        self._pending = []
        self._in_air = True
        self._arrows = None


class Trace:
    """The events of one Worker. `save` may be called once, when its threads have stopped."""

    def __init__(self, path: Path, profile: GameProfile, kept: int = EVENTS_KEPT) -> None:
        self._path = path
        self._lock = threading.Lock()  # of the ring: a thread that has not stopped may still add to it
        self._events: deque[Event] = deque(maxlen=kept)
        self._effects = EffectWatch(profile)

    # --- what the stages tell ---------------------------------------------------------------------

    def grabbed(self, frame: Frame, began_s: float, ended_s: float) -> None:
        """Grab thread: a new frame lies in the slot."""
        self._span("grab", "grab", began_s, ended_s, frame=frame.frame_id)

    def perceived(
        self, perception: Perception, began_s: float, drawn_s: float, seen_s: float, ended_s: float
    ) -> None:
        """Main loop: pixels until `drawn_s`, the eyes until `seen_s`, the rules until `ended_s`."""
        frame = perception.frame_id
        age_ms = round(1000 * (seen_s - perception.captured_at_s), 3)
        self._span("main loop", "perceive", began_s, ended_s, frame=frame, age_ms=age_ms)
        self._span("main loop", "pixels", began_s, drawn_s, frame=frame)
        self._span("main loop", "detector and scan", drawn_s, seen_s, frame=frame)
        self._span("main loop", "rules", seen_s, ended_s, frame=frame)
        for touch, visible_s in self._effects.seen(perception):
            self._moment(
                "steps",
                "first visible effect",
                visible_s,
                step=touch.step,
                action=touch.action.name.lower(),
                frame=frame,
                after_touch_ms=round(1000 * (visible_s - touch.at_s), 3),
                perceived_after_ms=round(1000 * (ended_s - touch.at_s), 3),
            )

    def taken(self, order: ActionOrder, basis: Perception | None, at_s: float, touched_s: float) -> None:
        """Main loop: the order, chosen from `basis`, was executed between the two times."""
        step = order.action_id
        if basis is not None:
            frame = basis.frame_id
            self._moment("steps", "capture", basis.captured_at_s, step=step, frame=frame)
            self._moment("steps", "perceived", basis.perceived_at_s, step=step, frame=frame)
        self._moment("steps", "decision", at_s, step=step, action=order.action.name.lower())
        if order.action is not Action.WAIT:
            self._span("main loop", "touch", at_s, touched_s, step=step)
            self._moment("steps", "touch", touched_s, step=step)
            self._effects.touched(Touch(step, order.action, touched_s))

    def finished(self, result: ActionResult) -> None:
        """Main loop: the step's end is perceived."""
        self._span(
            "steps",
            result.action.name.lower(),
            result.executed_at_s,
            result.finished_at_s,
            step=result.action_id,
            frame=result.perception.frame_id,
        )

    def read(self, frame: Frame, read: HudRead, began_s: float, ended_s: float) -> None:
        """OCR thread: one look at the HUD."""
        self._span("ocr", "read HUD", began_s, ended_s, frame=frame.frame_id, **read._asdict())

    def decided(self, began_s: float, ended_s: float) -> None:
        """Player's thread: from observation to action."""
        self._span("player", "choose", began_s, ended_s)

    def new_run(self, at_s: float) -> None:
        """Nothing of the last run goes on."""
        self._effects.forget()
        self._moment("steps", "new run", at_s)

    def _span(self, track: str, name: str, began_s: float, ended_s: float, **args: Any) -> None:
        self._add(Event(track, name, began_s, max(0.0, ended_s - began_s), args))

    def _moment(self, track: str, name: str, at_s: float, **args: Any) -> None:
        self._add(Event(track, name, at_s, None, args))

    def _add(self, event: Event) -> None:
        with self._lock:
            self._events.append(event)

    # --- the file ---------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the file whole, under another name first. `ConfigError` where that is impossible."""
        part = self._path.with_name(self._path.name + ".part")
        with self._lock:
            events = list(self._events)
        events.sort(key=lambda one: (one.at_s, -(one.duration_s or 0.0)))
        about = {"events": len(events), "older_ones_lost": len(events) == self._events.maxlen}
        try:
            with part.open("w", encoding="utf-8") as file:
                file.write(
                    '{"displayTimeUnit": "ms", "otherData": ' + json.dumps(about) + ',\n"traceEvents": [\n'
                )
                file.write(",\n".join(_names()))
                for line in _lines(events):
                    file.write(",\n" + line)
                file.write("\n]}\n")
            os.replace(part, self._path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ConfigError(
                f"cannot write the trace {self._path}: expected a writable place, found {error.strerror}; "
                "name another file"
            ) from error


class Traced(Protocol):
    """A Worker that can be traced."""

    trace: Trace | None


@contextlib.contextmanager
def tracing(worker: Traced, path: Path | None, profile: GameProfile) -> Iterator[None]:
    """Trace `worker` while inside; however that ends, the file is written. Without a path, no trace."""
    if path is None:
        yield
        return
    trace = worker.trace = Trace(path, profile)
    try:
        yield
    finally:
        trace.save()


def _names() -> Iterator[str]:
    """The metadata: process and tracks, in the order they are shown."""
    yield json.dumps(
        {"ph": "M", "name": "process_name", "pid": PROCESS, "tid": 0, "args": {"name": "GreatWallRun"}}
    )
    for number, track in enumerate(TRACKS, 1):
        at = {"ph": "M", "pid": PROCESS, "tid": number}
        yield json.dumps({**at, "name": "thread_name", "args": {"name": track}})
        yield json.dumps({**at, "name": "thread_sort_index", "args": {"sort_index": number}})


def _lines(events: list[Event]) -> Iterator[str]:
    """Each event in the trace event format, times in microseconds from the first one."""
    zero_s = events[0].at_s if events else 0.0
    for event in events:
        fields: dict[str, Any] = {
            "name": event.name,
            "ph": "i" if event.duration_s is None else "X",
            "ts": round(1e6 * (event.at_s - zero_s), 3),
            "pid": PROCESS,
            "tid": TRACKS.index(event.track) + 1,
        }
        if event.duration_s is None:
            fields["s"] = "t"
        else:
            fields["dur"] = round(1e6 * event.duration_s, 3)
        yield json.dumps({**fields, "args": event.args})
