"""Touches through scrcpy's control socket: 32 bytes each, so that a call costs less than a millisecond.

Fingers are real ones: several may be down at once. The server drops events made for another size than its
video has by then, so fingers are lifted anew whenever it changes (scrcpy #4925). Nothing says that an up
arrived, and a finger left down is a jump that never ends: an up is said again while no finger is down, until
its number is used anew or everything is lifted. The server passes such an up on, and Android drops it.
"""

from __future__ import annotations

import functools
import threading
import time

from greatwall.device.phone.display import oriented
from greatwall.device.phone.scrcpy import DOWN, MOVE, NO_KEY, UP, touch_message
from greatwall.device.phone.scrcpy_server import ScrcpyServer
from greatwall.device.phone.touch_timer import TouchTimer
from greatwall.device.phone.touches import TAP_S, Point, Size, in_px, swipe_path
from greatwall.errors import DeviceError, DeviceLost

FINGERS = 10  # as many as the server tells apart
REFUSAL_S = 0.2  # a phone that takes no touches says so at once
STRAYS = 2  # at most so many are down unknown to us: a jump amid a shot
AGAIN_S = (0.4, 1.2)  # after an up it is said again: later than a next jump comes, sooner than a run is over
FIRST_ID = 1  # negative ids, as unsigned, mean mouse and virtual fingers


class _Finger:
    """One finger that is down, and where it is now."""

    __slots__ = ("number", "point")

    def __init__(self, number: int, point: Point) -> None:
        self.number, self.point = number, point


class ScrcpyTouch:
    """`touches.Touch`. `display` is the size that touches are made for where the server sends no video."""

    name = "scrcpy"

    def __init__(self, server: ScrcpyServer, display: Size | None = None) -> None:
        self._server = server
        self._display = display
        self._lock = threading.Lock()  # of all below
        self._size: Size = display or (0, 0)
        self._down: dict[int, _Finger] = {}
        self._lifted: dict[int, _Finger] = {}  # whose ups may be said again
        self._error: DeviceError | None = None
        self._made = 0
        self._closed = False
        self._timer = TouchTimer()

    def tap(self, point: Point) -> None:
        finger = self._put_down(point)
        self._timer.at((time.perf_counter() + TAP_S, functools.partial(self._lift, finger)))

    def swipe(self, start: Point, end: Point, duration_ms: int) -> None:
        finger = self._put_down(start)
        began_s = time.perf_counter()
        moves = [
            (began_s + after_s, functools.partial(self._move, finger, point))
            for after_s, point in swipe_path(start, end, duration_ms)
        ]
        self._timer.at(*moves, (began_s + duration_ms / 1e3, functools.partial(self._lift, finger)))

    def _put_down(self, point: Point) -> _Finger:
        with self._lock:
            self._raise_trouble()
            if len(self._down) == FINGERS:  # the longest down makes room
                self._send_up(next(iter(self._down.values())))
            number = next(one for one in range(FIRST_ID, FIRST_ID + FINGERS) if one not in self._down)
            finger = _Finger(number, point)
            self._send(DOWN, finger)
            self._down[number] = finger
            self._lifted.pop(number, None)
            self._made += 1
            return finger

    def _raise_trouble(self) -> None:
        if self._error is not None:
            raise self._error
        if self._server.refusal:
            raise DeviceError(self._server.refusal)
        if self._closed:
            raise DeviceLost("touches: expected an open connection, found it closed; open the phone again")

    def try_out(self, timeout_s: float) -> tuple[float, float]:
        began_s = time.perf_counter()
        self._server.send(NO_KEY)
        call_s = time.perf_counter() - began_s
        self._server.wait_for_refusal(min(timeout_s, REFUSAL_S))
        with self._lock:
            self._raise_trouble()
        return call_s, 0.0

    # --- on the timer's thread ------------------------------------------------------------------

    def _move(self, finger: _Finger, point: Point) -> None:
        with self._lock:
            if self._down.get(finger.number) is finger:  # else lifted meanwhile
                finger.point = point
                self._try(MOVE, finger)

    def _lift(self, finger: _Finger) -> None:
        with self._lock:
            if self._down.get(finger.number) is finger:
                self._send_up(finger)

    def _say_up_again(self, finger: _Finger) -> None:
        with self._lock:
            if self._lifted.get(finger.number) is finger and not self._down and self._error is None:
                self._try(UP, finger)

    # --- with the lock held ---------------------------------------------------------------------

    def _send_up(self, finger: _Finger) -> None:
        del self._down[finger.number]
        self._try(UP, finger)
        self._lifted[finger.number] = finger
        now_s = time.perf_counter()
        self._timer.at(
            *((now_s + after_s, functools.partial(self._say_up_again, finger)) for after_s in AGAIN_S)
        )

    def _try(self, action: int, finger: _Finger) -> None:
        try:
            self._send(action, finger)
        except DeviceError as error:
            self._error = self._error or error

    def _send(self, action: int, finger: _Finger) -> None:
        self._server.send(touch_message(action, finger.number, in_px(finger.point, self._size), self._size))

    # --- the whole hand -------------------------------------------------------------------------

    def resized(self, size: Size) -> None:
        with self._lock:
            self._size = size if self._display is None else oriented(self._display, size)
            self._lift_each()
            self._lift_strays()

    def lift_all(self) -> None:
        """The last word: no up is said again after it."""
        with self._lock:
            self._lift_each()
            self._lifted.clear()

    def _lift_each(self) -> None:
        for finger in list(self._down.values()):
            self._send_up(finger)

    def _lift_strays(self) -> None:
        """Fingers stay down when the server that put them there dies, and when the up was made for the size
        before the screen turned, and so was dropped: an up of the same number lifts them."""
        for number in range(FIRST_ID, FIRST_ID + STRAYS):
            self._try(UP, _Finger(number, (0.5, 0.5)))

    def health(self) -> str:
        with self._lock:
            return f"touches by scrcpy, {self._made} made, {len(self._down)} fingers down"

    def close(self) -> None:
        if not self._closed:
            self.lift_all()
            self._closed = True
            self._timer.close()
            self.lift_all()  # what came between
