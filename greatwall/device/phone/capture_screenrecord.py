"""The screen as Android's own `screenrecord` sends it: bare H.264, for at most 180 s at a time.

Each recording has a thread that drains and decodes it. Before its limit the next one is started beside
it, and takes over with its first picture. Nothing says when a picture was taken: it counts from its
first byte here. A recording lies as a game does, sideways: Android fits an upright screen into it.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time

from config import PhoneConfig
from greatwall.device.phone.captures import JOIN_S, SILENCE_S, Capture, Size
from greatwall.device.phone.display import display_size, fitted
from greatwall.device.phone.h264 import AnnexBCutter, CodedPicture, H264Decoder
from greatwall.device.phone.link import READY, AdbLink, acknowledge_at_once, quoted, state_line
from greatwall.errors import DeviceError, DeviceLost

LOG = logging.getLogger("greatwall.phone")
LIMIT_S = 180.0  # Android's own, before 14 the most it takes
OVERLAP_S = 10.0  # the next recording is started this long before the limit
QUIET_S = 0.004  # no byte for this long: the picture is whole (measured 9 ms in all, against 40 without)
QUIET_MAX_S = 0.1
FRUITLESS = 3  # recordings in a row without a picture
CHUNK = 1 << 18


class ScreenrecordCapture(Capture):
    """One recording after another. `limit_s` is for phones, and tests, that stop sooner."""

    name = "screenrecord"
    hint = "screenrecord shows nothing before the screen changes: open the game first"

    def __init__(self, link: AdbLink, config: PhoneConfig, limit_s: float = LIMIT_S) -> None:
        super().__init__()
        self.link, self.limit_s = link, limit_s
        self.recordings = 0
        self.quiet_s = QUIET_S  # grows where pictures come in pieces
        self._config = config
        self._size: Size | None = None  # of every recording, px
        self._lock = threading.Lock()  # of the two fields below
        self._current: _Recording | None = None
        self._next: _Recording | None = None
        self._broken = self._fruitless = 0
        self._closed = False

    def _begin(self) -> None:
        with self._lock:
            self._next = self._record()

    def _record(self) -> _Recording:
        if self._size is None:  # asked once: a recording that asks for the next one reads nothing meanwhile
            self._size = fitted(display_size(self.link), self._config.max_size)
        width, height = self._size
        command = [
            "screenrecord",
            "--output-format=h264",
            f"--size={width}x{height}",
            f"--bit-rate={self._config.bit_rate}",
            f"--time-limit={max(1, round(self.limit_s))}",
            "-",
        ]
        self.recordings += 1
        return _Recording(self, self.link.open(f"exec:{quoted(command)}"), self.recordings)

    # --- what recordings say, each on its own thread --------------------------------------------

    def has(self, recording: _Recording, pictures: list[CodedPicture]) -> None:
        """Pictures of a recording: shown when it is the current one, or becomes it with these."""
        for coded in pictures:
            for picture in recording.decoder.decode(coded.payload, coded.arrived_at_s, coded.is_key):
                if not self._is_current(recording):
                    return
                self._fruitless = 0
                self._show(picture, picture.captured_at_s, picture.size)

    def _is_current(self, recording: _Recording) -> bool:
        with self._lock:
            if recording is self._next:
                before, self._current, self._next = self._current, recording, None
                if before is not None:
                    before.stop()
            return recording is self._current

    def nears_its_limit(self, recording: _Recording) -> None:
        """Time for the next one; a failure is tried again when this one ends."""
        with self._lock:
            if self._closed or self._next is not None or recording is not self._current:
                return
            try:
                self._next = self._record()
            except DeviceError as error:
                LOG.warning("%s", error)

    def ended(self, recording: _Recording, error: Exception | None) -> None:
        """The next one takes over, or is started now; what cannot be started is the end of the capture."""
        with self._lock:
            self._broken += recording.decoder.broken
            if self._closed or recording not in (self._current, self._next):
                return
            if recording is self._next:
                self._next = None
                if self._current is not None and self._current.is_alive():
                    return
            elif self._next is not None:
                return
            self._fruitless += 1
            if self._fruitless > FRUITLESS or isinstance(error, DeviceLost):
                self._newest.fail(_why(self.link, error))
                return
            try:
                self._next = self._record()
            except DeviceError as failure:
                self._newest.fail(str(failure))

    # --- for people ---------------------------------------------------------------------------

    def health(self) -> str:
        width, height = self.size
        broken = f", {self._broken} broken" if self._broken else ""
        return (
            f"screenrecord {width}x{height}, {self.frames} frames of {self.recordings} recordings{broken}, "
            f"{self._newest.age()}"
        )

    def close(self) -> None:
        with self._lock:
            self._closed = True
            recordings = [one for one in (self._current, self._next) if one is not None]
            for one in recordings:
                one.stop()
        for one in recordings:
            one.join()


class _Recording:
    """One run of screenrecord and the thread that drains it; `decoder` belongs to that thread."""

    def __init__(self, capture: ScreenrecordCapture, stream: socket.socket, number: int) -> None:
        self._capture, self._stream = capture, stream
        self.decoder = H264Decoder()
        self._cutter = AnnexBCutter()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._drain, name=f"capture {number}", daemon=True)
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Hang up: screenrecord ends with its reader."""
        self._stop.set()
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    def _drain(self) -> None:
        error: Exception | None = None
        try:
            self._read()
        except (DeviceError, OSError) as failure:
            error = failure
        finally:
            self._stream.close()
        if not self._stop.is_set():
            self._capture.ended(self, error)

    def _read(self) -> None:
        capture, cutter = self._capture, self._cutter
        renew_at_s = time.perf_counter() + max(capture.limit_s - OVERLAP_S, capture.limit_s / 2)
        heard_at_s = time.perf_counter()
        pending = renewed = False
        buffer = bytearray(CHUNK)
        view = memoryview(buffer)
        while not self._stop.is_set():
            now_s = time.perf_counter()
            if not renewed and now_s > renew_at_s:
                renewed = True
                capture.nears_its_limit(self)
            self._stream.settimeout(capture.quiet_s if pending else SILENCE_S / 4)
            acknowledge_at_once(self._stream)
            try:
                count = self._stream.recv_into(buffer)
            except TimeoutError:
                if pending:
                    pending = False
                    capture.has(self, cutter.flush())
                elif now_s - heard_at_s > SILENCE_S:
                    capture.link.check_answers(SILENCE_S)  # a screen that stands still, or a dead phone?
                    heard_at_s = now_s
                continue
            if not count:
                return
            heard_at_s = time.perf_counter()
            pending = True
            pictures = cutter.feed(view[:count], heard_at_s)
            if cutter.torn:  # a picture came in pieces farther apart than that: what was shown was half of it
                capture.quiet_s = min(QUIET_MAX_S, capture.quiet_s * 2)
                return
            capture.has(self, pictures)


def _why(link: AdbLink, error: Exception | None) -> str:
    state = link.state()
    if state != READY:
        return state_line(link.serial, state)
    found = str(error) if error is not None else "it ended at once"
    return f"phone {link.serial}: expected screenrecord to send the screen, found: {found}; use --capture raw"
