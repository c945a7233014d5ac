"""A device that is recorded: its screen as an MP4, its touches and games as JSON beside it.

`RecordedDevice` stands between a Worker and any device, below the faults of `withheld.py`, and changes
nothing of what they say to each other: it looks at pictures before any codec, and by ways that count no id.
Each event is a line of NAME.events.jsonl as it happens, so that it outlives a program that is killed;
`close` writes the JSON and takes the lines away. A video that cannot be written any more, on a full disk
say, ends there; the game and the JSON go on, and `close` tells of it.
On a device with ticks every touch is noted with the tick at which it was made, under a lock through
which all calls go, so that `greatwall/data/recording.py` can play the same game again.
In real time a thread of its own encodes the frames that the Worker grabs; held, every tick is a frame.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import queue
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import av

from config import TICK_HZ, Config
from greatwall.contracts import TICK_S, Device, Frame, FrameArray, TickedDevice
from greatwall.errors import ConfigError

LOG = logging.getLogger("greatwall.recorder")
FORMAT = "greatwall-recording"
VERSION = 1
CLOCK_HZ = 90_000  # of the video's time stamps: a tick is a whole number
WAITING_FRAMES = 12  # frames that may wait for the encoder; more are left out
CLOSE_S = 20.0


def sidecar_of(video: Path) -> Path:
    """The JSON file that belongs to a recording."""
    return video.with_suffix(".json")


def events_of(video: Path) -> Path:
    """The lines beside a recording that is under way, or was killed."""
    return video.with_suffix(".events.jsonl")


@runtime_checkable
class Peekable(Protocol):
    """A device that can be looked at without anybody noticing."""

    def peek(self) -> Frame: ...


def state_digest(state: Mapping[str, Any]) -> str:
    """One line that two games share only when they are the same in everything."""
    game = state.get("game", state)
    return hashlib.sha256(json.dumps(game, sort_keys=True).encode()).hexdigest()


class VideoWriter:
    """An H.264 MP4, readable up to its last second even when the program is killed."""

    def __init__(self, path: Path, size: tuple[int, int]) -> None:
        try:
            options = {"movflags": "frag_keyframe+empty_moov"}
            self._container = av.open(str(path), "w", format="mp4", options=options)
            self._stream = self._container.add_stream("libx264", rate=TICK_HZ)
            self._stream.width, self._stream.height = size[0] // 2 * 2, size[1] // 2 * 2
            self._stream.pix_fmt = "yuv420p"
            self._stream.codec_context.time_base = Fraction(1, CLOCK_HZ)
            self._stream.codec_context.gop_size = TICK_HZ
            self._stream.options = {"preset": "ultrafast", "crf": "18", "threads": "1"}
            self._container.start_encoding()
        except (OSError, av.FFmpegError) as error:
            raise ConfigError(
                f"--record: expected a place where {path} can be written, found {error}; name another file"
            ) from error
        self._last = -1

    def add(self, picture: FrameArray, at_s: float) -> None:
        """One BGR frame at that time of the video; times must not fall."""
        height, width = self._stream.height, self._stream.width
        frame = av.VideoFrame.from_ndarray(picture[:height, :width], format="bgr24")
        self._last = max(self._last + 1, round(at_s * CLOCK_HZ))
        frame.pts = self._last
        frame.time_base = Fraction(1, CLOCK_HZ)
        self._container.mux(self._stream.encode(frame))

    def close(self) -> None:
        try:
            self._container.mux(self._stream.encode(None))
        finally:
            self._container.close()


class RecordedDevice:
    """`contracts.Device`: another device, with everything that happens to it noted until `close`."""

    def __init__(self, device: Device, path: Path, config: Config) -> None:
        for one in (path, sidecar_of(path), events_of(path)):
            if one.exists():
                raise ConfigError(f"--record: expected a new file, found {one}; name another one")
        if path.suffix.lower() != ".mp4" or not path.absolute().parent.is_dir():
            raise ConfigError(
                f"--record: expected an .mp4 file in a folder that exists, found {path}; name such a file"
            )
        self._device = device
        self._video_size = device.size
        self._ticked: TickedDevice | None = device if isinstance(device, TickedDevice) else None
        self._path, self._config = path, config
        self._lock = threading.RLock()
        self._events: list[dict[str, Any]] = []
        self._noting = threading.Lock()  # of `_events` and their file
        self._writer = VideoWriter(path, device.size)
        self._lines = events_of(path).open("w", encoding="utf-8")
        self._note_line({"format": FORMAT, "version": VERSION, "config": config.resolved()})
        self._frames = self._left_out = 0
        self._last_id = -1
        self._zero_s: float | None = None
        self._held = False
        self._queue: queue.Queue[tuple[Frame, float] | None] = queue.Queue(WAITING_FRAMES)
        self._error: Exception | None = None  # the first, of the video or the lines
        self._thread = threading.Thread(target=self._encode, name="recorder", daemon=True)
        self._thread.start()
        self._closed = False

    @property
    def size(self) -> tuple[int, int]:
        return self._device.size

    @property
    def wrapped(self) -> Device:
        return self._device

    def frame(self) -> Frame:
        with self._lock:
            frame = self._device.frame()
            if not self._held and frame.frame_id != self._last_id:
                self._last_id = frame.frame_id
                if self._zero_s is None:
                    self._zero_s = frame.captured_at_s
                self._put(frame, frame.captured_at_s - self._zero_s)
            return frame

    def _put(self, frame: Frame, at_s: float) -> None:
        """To the encoder; left out, and counted, when it cannot keep up."""
        try:
            self._queue.put_nowait((frame, at_s))
            self._frames += 1
        except queue.Full:
            self._left_out += 1

    def _encode(self) -> None:
        """The encoder's thread. After a failure it lets frames go by; `close` tells of it."""
        while (item := self._queue.get()) is not None:
            frame, at_s = item
            if self._error is None:
                try:
                    self._writer.add(frame.uncoded_bgr, at_s)
                except Exception as error:  # noqa: BLE001 - of the video alone
                    self._error = error

    # --- touches and games ----------------------------------------------------------------------

    def tap(self, x: float, y: float) -> None:
        with self._in_order():
            self._device.tap(x, y)
            self._note(tap=[x, y])

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        with self._in_order():
            self._device.swipe(x1, y1, x2, y2, duration_ms)
            self._note(swipe=[x1, y1, x2, y2], ms=duration_ms)

    def _in_order(self) -> AbstractContextManager[Any]:
        """With ticks a touch takes no time and all else waits for it; a phone's frames go on meanwhile."""
        return self._lock if self._ticked is not None else nullcontext()

    def new_game(self, seed: int) -> bool:
        with self._lock:
            started = self._device.new_game(seed)
            if started:
                self._note(new_game=seed)
            return started

    def _note(self, **what: Any) -> None:
        """An event, with the game's tick and the time of the video at which it happened."""
        tick = None if self._ticked is None else self._ticked.tick
        event = {"tick": tick, "at_s": round(self._now_s(), 4), **what}
        with self._noting:
            self._events.append(event)
            self._note_line(event)

    def _note_line(self, line: Mapping[str, Any]) -> None:
        """To the operating system at once: a killed program leaves it."""
        try:
            self._lines.write(json.dumps(line) + "\n")
            self._lines.flush()
        except (OSError, ValueError) as error:  # ValueError: closed
            self._error = self._error or error

    def _now_s(self) -> float:
        if self._held:
            return self._frames * TICK_S
        return 0.0 if self._zero_s is None else time.perf_counter() - self._zero_s

    def pause(self) -> bool:
        with self._lock:
            return self._device.pause()

    def resume(self) -> None:
        with self._lock:
            self._device.resume()

    def facts(self) -> Mapping[str, Any] | None:
        return self._device.facts()

    def health(self) -> str:
        return f"{self._device.health()}; recording, {self._frames} frames"

    def close(self) -> None:
        """Finish the video and write the JSON, then let the device go, whatever fails of the former."""
        try:
            if not self._closed:
                self._closed = True
                self._finish()
        finally:
            self._device.close()

    def _finish(self) -> None:
        try:
            self._queue.put(None, timeout=CLOSE_S)
            self._thread.join(CLOSE_S)
            if self._thread.is_alive():
                raise TimeoutError(f"the encoder did not end within {CLOSE_S:.0f} s")
            self._writer.close()
        except (queue.Full, OSError, av.FFmpegError, ValueError) as error:
            self._error = self._error or error
        try:
            self._write_sidecar()
        except OSError as error:
            self._error = self._error or error
            self._close_lines(keep=True)
        else:
            self._close_lines(keep=False)
        if self._error is not None:
            LOG.warning(
                "the recording %s is incomplete: %s: %s",
                self._path, type(self._error).__name__, self._error,
            )  # fmt: skip

    def _close_lines(self, keep: bool) -> None:
        """Take them away when all they say is in the JSON."""
        with self._noting, suppress(OSError):
            self._lines.close()
            if not keep:
                events_of(self._path).unlink(missing_ok=True)

    def discard(self) -> None:
        """Leave nothing behind: the run it was meant for did not come about."""
        self.close()
        for one in (self._path, sidecar_of(self._path), events_of(self._path)):
            one.unlink(missing_ok=True)

    def _write_sidecar(self) -> None:
        ticked = self._ticked
        with self._lock:
            end: dict[str, Any] = {"tick": None, "state": None, "facts": self._device.facts()}
            if ticked is not None and self._device.facts() is not None:  # the embedded game
                end["state"] = state_digest(ticked.get_state())
                end["tick"] = ticked.tick
        document = {
            "format": FORMAT,
            "version": VERSION,
            "video": self._path.name,
            "size": list(self._video_size),
            "clock": "game" if self._held else "wall",
            "frames": self._frames,
            "frames_left_out": self._left_out,
            "incomplete": None if self._error is None else f"{type(self._error).__name__}: {self._error}",
            "config": self._config.resolved(),
            "events": self._events,
            "end": end,
        }
        path = sidecar_of(self._path)
        unfinished = path.with_name(path.name + ".part")
        unfinished.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        os.replace(unfinished, path)


class RecordedTickedDevice(RecordedDevice):
    """`contracts.TickedDevice`: the same around a device whose time can be moved by hand."""

    _ticked: TickedDevice

    @property
    def tick(self) -> int:
        return self._ticked.tick

    def hold(self) -> None:
        with self._lock:
            self._ticked.hold()
            self._held = True

    def advance(self, ticks: int) -> None:
        """Tick by tick, each one a frame of the video."""
        with self._lock:
            for _ in range(ticks):
                self._ticked.advance(1)
                if self._error is None:
                    self._film()
                self._frames += 1

    def _film(self) -> None:
        ticked = self._ticked
        frame = ticked.peek() if isinstance(ticked, Peekable) else ticked.frame()
        try:
            self._writer.add(frame.uncoded_bgr, self._frames * TICK_S)
        except (av.FFmpegError, OSError, ValueError) as error:
            self._error = error

    def get_state(self) -> dict[str, Any]:
        return self._ticked.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        with self._lock:
            self._ticked.set_state(state)
            self._note(set_state=dict(state))


def record(device: Device, path: Path, config: Config) -> RecordedDevice:
    """`device` behind a recorder that has all that it has."""
    kind = RecordedTickedDevice if isinstance(device, TickedDevice) else RecordedDevice
    return kind(device, path, config)
