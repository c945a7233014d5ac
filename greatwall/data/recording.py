"""The JSON beside a recording, read and played again: the same touches at the same ticks of the same game.

The embedded game is a function of its course, its seed and its touches, whichever clock it was played on, so
what was noted is enough to have the same game again, to the bit. The perceptions and decisions of a run
in real time are not repeated: they depended on how long things took. Runs on the caller's thread.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from config import Config, CourseConfig, DelayConfig, ScreenConfig
from greatwall.contracts import Frame
from greatwall.device.recorder import FORMAT, VERSION, events_of, sidecar_of, state_digest
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import ConfigError, FileFormatError
from greatwall.game.rules import Game

Room = TypeVar("Room", CourseConfig, DelayConfig, ScreenConfig)
LONGEST_TICKS = 30 * 60 * 60 * 24  # a day: more is no recording


@dataclass(frozen=True)
class Recording:
    """What the JSON says. `events` are in order: `tick`, and one of new_game, tap, swipe, set_state."""

    path: Path
    config: Config
    events: tuple[Mapping[str, Any], ...]
    end_tick: int
    end_state: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Replay:
    """A recording played again. `same`: the game ended as the recorded one did, in everything."""

    same: bool
    ticks: int
    touches: int
    facts: Mapping[str, Any]


def read_recording(path: Path) -> Recording:
    """The recording of that MP4 or JSON file. `FileFormatError` for what is no recording of the game."""
    path = sidecar_of(path) if path.suffix.lower() != ".json" else path
    lines = events_of(path)
    if not path.is_file() and lines.is_file():
        raise FileFormatError(
            f"{path}: expected the JSON file of a recording, found only the events of one that was killed "
            f"({lines.name}), with no end to compare with; watch its video, or record it again"
        )
    if not path.is_file():
        raise ConfigError(
            f"replay: expected the JSON file of a recording at {path}, found none; "
            "make one with ppo_acting.py --record FILE.mp4"
        )
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT or document["version"] != VERSION:
            raise _foreign(path, f"{document['format']} {document['version']}")
        end = document["end"]
        if end["state"] is None:
            raise FileFormatError(
                f"{path}: expected a recording of the embedded game, found one of another device; "
                "only the embedded game can be played again"
            )
        config = _config(document["config"])
        events = tuple(_event(event) for event in document["events"])
        end_tick = _tick(end["tick"])
        return Recording(path, config, events, end_tick, str(end["state"]), dict(end["facts"]))
    except (ValueError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise _foreign(path, f"{type(error).__name__}: {error}") from error


def replay(recording: Recording, watch: Callable[[Frame], None] | None = None) -> Replay:
    """Play it again. `watch` is shown every tick's frame, drawn only if it looks."""
    try:
        return _replay(recording, watch)
    except (ValueError, KeyError, TypeError, IndexError, ArithmeticError) as error:
        raise _foreign(recording.path, f"{type(error).__name__}: {error}") from error


def _replay(recording: Recording, watch: Callable[[Frame], None] | None) -> Replay:
    config = recording.config
    device = SimulatedDevice(config)
    device.hold()
    fresh = Game(config.course, config.delays, config.seed).get_state()
    device.set_state({**device.get_state(), "game": fresh})

    ticks = touches = 0

    def on_to(tick: int) -> None:
        nonlocal ticks
        if tick < device.tick:
            raise _foreign(recording.path, f"tick {tick} after tick {device.tick}")
        ticks += tick - device.tick
        if watch is None:
            device.advance(tick - device.tick)
        else:
            while device.tick < tick:
                device.advance(1)
                watch(device.frame())

    for event in recording.events:
        if "new_game" in event:
            device.new_game(event["new_game"])
            continue
        if "set_state" in event:
            device.set_state(event["set_state"])
            continue
        on_to(event["tick"])
        touches += 1
        if "tap" in event:
            device.tap(*_numbers(event["tap"], 2))
        else:
            x1, y1, x2, y2 = _numbers(event["swipe"], 4)
            device.swipe(x1, y1, x2, y2, event["ms"])
    on_to(recording.end_tick)
    same = state_digest(device.get_state()) == recording.end_state
    return Replay(same, ticks, touches, device.facts())


def _config(saved: Mapping[str, Any]) -> Config:
    """The settings a game depends on; the profile's are not among them."""
    return dataclasses.replace(
        Config(),
        course=_room(CourseConfig, saved["course"]),
        delays=_room(DelayConfig, saved["delays"]),
        screen=_room(ScreenConfig, saved["screen"]),
        seed=int(saved["seed"]),
    )


def _room(kind: type[Room], saved: Mapping[str, Any]) -> Room:
    names = {one.name for one in dataclasses.fields(kind)}
    if set(saved) != names:
        odd = ", ".join(sorted(set(saved) ^ names))
        raise ValueError(f"other settings than this version has: {odd}")
    values: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in saved.items()
    }
    return kind(**values)


def _event(event: Mapping[str, Any]) -> Mapping[str, Any]:
    _tick(event["tick"])
    if "new_game" in event:
        int(event["new_game"])
    elif "tap" in event:
        _numbers(event["tap"], 2)
    elif "swipe" in event:
        _numbers(event["swipe"], 4)
        int(event["ms"])
    elif "set_state" not in event:
        raise ValueError(f"an event of no known kind: {sorted(event)}")
    return event


def _tick(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value <= LONGEST_TICKS:
        raise ValueError(f"tick {value!r}")
    return value


def _numbers(values: Any, count: int) -> Any:
    if len(values) != count or not all(isinstance(one, int | float) for one in values):
        raise ValueError(f"touch {values!r}")
    return values


def _foreign(path: Path, found: str) -> FileFormatError:
    found = " ".join(found.split())[:160]
    return FileFormatError(f"{path}: expected a recording of this version, found {found}; record it again")
