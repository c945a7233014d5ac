"""Touches by `input`, Android's own command: through shells that are kept open, or by plain adb.

`input` starts a program for every touch, which costs a phone 0.2 to 0.7 s; the call itself does not wait for
it. A shell does one thing at a time, so swipes have another one than taps. `input` lifts its finger itself.
"""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import threading
import time

from greatwall.device.phone.display import Size, oriented
from greatwall.device.phone.link import READY, AdbLink, acknowledge_at_once, adb_program
from greatwall.device.phone.touches import HandBusy, Point, in_px, touch_refusal
from greatwall.errors import DeviceError, DeviceLost

BACKLOG = 2  # touches of a shell, one made and one waiting: more would come when they are no longer meant
PROCESSES = 4  # of adb at a time
ANSWER_S = 6.0  # a touch without an answer for this long: the shell is dead
CALL_S = 10.0  # the same for an adb process
LAST_S = 1.5  # for the touches under way, before a shell is closed
JOIN_S = 2.0
NO_KEY = "input keyevent 0"
_ANSWER = re.compile(rb"@(\d+):(\d+)")


class _Shell:
    """A shell on the phone that is kept open. A thread reads what it says: which lines are done, and how."""

    def __init__(self, link: AdbLink, name: str) -> None:
        self._link = link
        self._stream = link.open("shell:", 2.0)
        self._answered = threading.Condition()  # guards all below
        self._sent: dict[int, float] = {}  # line -> when it was sent
        self._count = 0
        self._took_s = 0.0
        self._error = ""
        self._closed = False
        self._thread = threading.Thread(target=self._listen, name=f"{name} shell", daemon=True)
        self._thread.start()

    def say(self, words: str) -> int:
        """A line of ours, made of words and whole numbers alone; its number. Or `DeviceError`."""
        with self._answered:
            self._raise_trouble()
            if len(self._sent) >= BACKLOG:
                raise HandBusy(
                    f"phone {self._link.serial}: expected touches to be made, found {BACKLOG} waiting; "
                    "it is too slow for input: use --touch scrcpy"
                )
            self._count += 1
            number = self._count
            self._sent[number] = time.perf_counter()
        try:
            self._stream.sendall(f"{words}; echo @{number}:$?\n".encode())
        except OSError as error:
            self._link.check()
            raise DeviceLost(
                f"phone {self._link.serial}: expected its shell to take a touch, found {error}; "
                "it is opened again"
            ) from error
        return number

    def _raise_trouble(self) -> None:
        if self._error:
            raise DeviceError(self._error)
        oldest_s = min(self._sent.values(), default=None)
        if oldest_s is not None and time.perf_counter() - oldest_s > ANSWER_S:
            raise DeviceLost(
                f"phone {self._link.serial}: expected an answer to input within {ANSWER_S:g} s, found none; "
                "see whether its screen still moves"
            )

    def done(self, number: int, timeout_s: float) -> None:
        """Wait until that line has been carried out."""
        with self._answered:
            self._answered.wait_for(lambda: number not in self._sent or self._error, timeout_s)
            if self._error:
                raise DeviceError(self._error)
            if number in self._sent:
                raise DeviceError(
                    f"phone {self._link.serial}: expected input to end within {timeout_s:g} s, found it "
                    "still at work; use --touch scrcpy"
                )

    def _listen(self) -> None:
        """The thread. What the terminal echoes of our lines has `$?` where an answer has a number."""
        rest = b""
        self._stream.settimeout(1.0)
        while not self._closed:
            try:
                acknowledge_at_once(self._stream)
                data = self._stream.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                data = b""
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-4096:]
            for line in lines:
                self._hear(line)
        with self._answered:
            if not self._closed and not self._error:
                self._error = (
                    f"phone {self._link.serial}: expected its shell to stay open, found it closed; "
                    "it is opened again"
                )
            self._answered.notify_all()

    def _hear(self, line: bytes) -> None:
        with self._answered:
            answer = _ANSWER.search(line)
            if answer is not None:
                sent_s = self._sent.pop(int(answer[1]), None)
                if sent_s is not None:
                    self._took_s = time.perf_counter() - sent_s
                if answer[2] != b"0" and not self._error:
                    self._error = (
                        f"phone {self._link.serial}: expected input to touch, found that it failed with "
                        f"{int(answer[2])}; use another --touch"
                    )
            else:
                self._error = self._error or touch_refusal(line.decode("utf-8", "replace"))
            self._answered.notify_all()

    @property
    def took_s(self) -> float:
        """How long the last touch took the phone."""
        with self._answered:
            return self._took_s

    def close(self) -> None:
        with self._answered:  # a shell that is hung up on ends `input`, which leaves a swipe's finger down
            self._answered.wait_for(lambda: not self._sent or self._error, LAST_S)
        self._closed = True
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)


class ShellTouch:
    """`touches.Touch`. `display` is the screen's size, px."""

    name = "shell"

    def __init__(self, link: AdbLink, display: Size) -> None:
        self._display = display
        self._made = 0
        self._taps = _Shell(link, "tap")
        try:
            self._swipes = _Shell(link, "swipe")
        except BaseException:
            self._taps.close()
            raise

    def tap(self, point: Point) -> None:
        self._taps.say(tap_words(in_px(point, self._display)))
        self._made += 1

    def swipe(self, start: Point, end: Point, duration_ms: int) -> None:
        self._swipes.say(swipe_words(in_px(start, self._display), in_px(end, self._display), duration_ms))
        self._made += 1

    def try_out(self, timeout_s: float) -> tuple[float, float]:
        began_s = time.perf_counter()
        number = self._taps.say(NO_KEY)
        call_s = time.perf_counter() - began_s
        self._taps.done(number, timeout_s)
        return call_s, time.perf_counter() - began_s

    def resized(self, size: Size) -> None:
        self._display = oriented(self._display, size)

    def lift_all(self) -> None:
        """`input` lifts its finger at the end of each touch."""

    def health(self) -> str:
        return (
            f"touches by input in a shell, {self._made} made, the last took {self._taps.took_s * 1e3:.0f} ms"
        )

    def close(self) -> None:
        self._taps.close()
        self._swipes.close()


class AdbTouch:
    """`touches.Touch` by one adb process a touch, as people do by hand. Called by one thread."""

    name = "adb"

    def __init__(self, link: AdbLink, display: Size) -> None:
        self._link, self._display = link, display
        self._command = [adb_program(), "-P", str(link.server.port), "-s", link.serial, "shell"]
        self._under_way: list[tuple[subprocess.Popen[bytes], float]] = []
        self._made = 0

    def tap(self, point: Point) -> None:
        self._start(tap_words(in_px(point, self._display)))

    def swipe(self, start: Point, end: Point, duration_ms: int) -> None:
        self._start(swipe_words(in_px(start, self._display), in_px(end, self._display), duration_ms))

    def try_out(self, timeout_s: float) -> tuple[float, float]:
        began_s = time.perf_counter()
        self._start(NO_KEY)
        call_s = time.perf_counter() - began_s
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._under_way[-1][0].wait(timeout_s)
        self._look_after()
        if self._under_way:
            raise DeviceError(
                f"phone {self._link.serial}: expected adb to end within {timeout_s:g} s, found it still at "
                "work; use --touch scrcpy"
            )
        return call_s, time.perf_counter() - began_s

    def _start(self, words: str) -> None:
        self._look_after()
        if len(self._under_way) >= PROCESSES:
            raise HandBusy(
                f"phone {self._link.serial}: expected touches to be made, found {PROCESSES} waiting; "
                "use --touch scrcpy"
            )
        process = subprocess.Popen(
            [*self._command, words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._under_way.append((process, time.perf_counter()))
        self._made += 1

    def _look_after(self) -> None:
        """Let go of those that ended; raise for one that failed or does not end."""
        going_on = []
        failed: DeviceError | None = None
        for process, began_s in self._under_way:
            if process.poll() is None and time.perf_counter() - began_s < CALL_S:
                going_on.append((process, began_s))
                continue
            failed = failed or self._verdict(process)
        self._under_way = going_on
        if failed is not None:
            raise failed

    def _verdict(self, process: subprocess.Popen[bytes]) -> DeviceError | None:
        if process.poll() is None:
            _end(process)
            return DeviceLost(
                f"phone {self._link.serial}: expected adb to touch within {CALL_S:g} s, found it stuck; "
                "see whether the screen still moves"
            )
        assert process.stdout is not None
        with process.stdout as output:
            said = " ".join(output.read().decode("utf-8", "replace").split())
        refusal = touch_refusal(said)
        if refusal:
            return DeviceError(refusal)
        if process.returncode == 0:
            return None
        state = self._link.state()
        if state != READY:
            return DeviceLost(
                f"phone {self._link.serial}: expected adb to touch, found {said[:120]!r}; plug it in"
            )
        return DeviceError(
            f"phone {self._link.serial}: expected adb to touch, found {said[:120]!r}; use another --touch"
        )

    def resized(self, size: Size) -> None:
        self._display = oriented(self._display, size)

    def lift_all(self) -> None:
        """`input` lifts its finger at the end of each touch."""

    def health(self) -> str:
        return f"touches by adb, {self._made} made, {len(self._under_way)} under way"

    def close(self) -> None:
        for process, _ in self._under_way:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(JOIN_S)
            _end(process)
        self._under_way = []


def tap_words(point: tuple[int, int]) -> str:
    """For the phone's shell: words and whole numbers, nothing to quote."""
    x, y = point
    return f"input tap {x:d} {y:d}"


def swipe_words(start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> str:
    """The same for a swipe."""
    return f"input swipe {start[0]:d} {start[1]:d} {end[0]:d} {end[1]:d} {duration_ms:d}"


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait(JOIN_S)
    if process.stdout is not None:
        process.stdout.close()
