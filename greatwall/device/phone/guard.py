"""Hands off the rest of the phone: which touches a game's profile allows, and how a person stops them all.

A touch must lie where the profile taps or swipes; adverts, purchase buttons and other apps lie elsewhere.
`STOP` is the one switch of the process: a key or a signal throws it, from then on every touch is refused
and all fingers are lifted, by a thread of its own, so that a signal handler only leaves a note.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from config import GameProfile
from greatwall.errors import DeviceError, HandsOff

LOG = logging.getLogger("greatwall.phone")
TAP_PX = 12.0  # px of the profile's frame: scaling to a small screen and back moves a point by a few
RIDER_PX = 110.0  # a rider is taken for itself 60 px from where it stands, and its box may be cut
SWIPE_PX = 12.0
LOOK_S = 0.5  # how often the lifting thread sees whether its process is still there
STOP_SIGNALS = ("SIGUSR1", "SIGQUIT")  # SIGQUIT is Ctrl-\ on the terminal; Windows has neither


class TouchRules:
    """What one game's profile allows a finger to do, in px of the profile's frame. Pure.

    Taps: the jump tap and the restart taps. Swipes: from the rider, as far as an arrow is aimed, within
    the play band (and the drop that is aimed above it). Everything else raises `DeviceError`.
    """

    def __init__(self, profile: GameProfile) -> None:
        self._name = profile.name
        self.taps: tuple[tuple[float, float], ...] = (
            profile.jump_tap,
            *((one.x, one.y) for one in profile.restart),
        )
        x, _, width, _ = profile.rider_box
        aside = RIDER_PX if profile.rider_x_fixed else float(profile.frame_size[0])
        self.from_x = (x + width / 2 - aside, x + width / 2 + aside)
        self.from_y = (float(profile.play_band[0]), float(profile.play_band[1]))
        drop = abs(profile.shoot_y_offset_px)
        self.to_y = (self.from_y[0] - drop, self.from_y[1] + drop)
        self.reach_px = profile.shoot_offset_px + drop + SWIPE_PX

    def check_tap(self, x: float, y: float) -> None:
        """Raise `DeviceError` unless the profile taps there."""
        if not any(abs(x - tap_x) <= TAP_PX and abs(y - tap_y) <= TAP_PX for tap_x, tap_y in self.taps):
            raise DeviceError(
                f"expected a tap at one of {_points(self.taps)} of {self._name}, found ({x:.0f}, {y:.0f}); "
                "it was not made: see the profile's jump_tap and restart"
            )

    def check_swipe(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Raise `DeviceError` unless it starts at the rider and ends where an arrow may be aimed."""
        (left, right), (top, bottom) = self.from_x, self.from_y
        if not (left <= x1 <= right and top <= y1 <= bottom):
            raise DeviceError(
                f"expected a swipe from the rider, x {left:.0f}-{right:.0f}, y {top:.0f}-{bottom:.0f}, found "
                f"one from ({x1:.0f}, {y1:.0f}); it was not made: see the profile's rider_box and play_band"
            )
        far = (x2 - x1) ** 2 + (y2 - y1) ** 2 > self.reach_px**2
        if far or not self.to_y[0] <= y2 <= self.to_y[1]:
            raise DeviceError(
                f"expected a swipe of at most {self.reach_px:.0f} px that ends at y {self.to_y[0]:.0f}-"
                f"{self.to_y[1]:.0f}, found ({x1:.0f}, {y1:.0f}) to ({x2:.0f}, {y2:.0f}); it was not made: "
                "see the profile's shoot_offset_px and play_band"
            )


def _points(points: tuple[tuple[float, float], ...]) -> str:
    return ", ".join(f"({x:g}, {y:g})" for x, y in dict.fromkeys(points))


class StopSwitch:
    """Stops all touches of a process for good, at once: `throw` is safe in a signal handler.

    `check` is what every touch asks first. A thread of its own then lifts the fingers of every device
    that `watch` named; it ends when the last of them is closed.
    """

    def __init__(self) -> None:
        self._why = ""
        self._notes: queue.SimpleQueue[str] = queue.SimpleQueue()  # its put may interrupt its own get
        self._lock = threading.Lock()
        self._lifts: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    @property
    def thrown(self) -> bool:
        return bool(self._why)

    def throw(self, why: str) -> None:
        """From this call on no touch is made. `why` names the key or signal."""
        if not self._why:
            self._why = why
            self._notes.put(why)

    def check(self) -> None:
        """Raise `HandsOff` once it was thrown."""
        if self._why:
            raise HandsOff(
                f"expected to play on, found all touches stopped by {self._why}; run it again to go on"
            )

    def watch(self, lift_all: Callable[[], None]) -> None:
        """`lift_all` is called when the switch is thrown, on a thread of its own, until `forget`."""
        with self._lock:
            self._lifts.append(lift_all)
            if self._thread is None:
                self._thread = threading.Thread(target=self._lift, name="phone hands off", daemon=True)
                self._thread.start()

    def forget(self, lift_all: Callable[[], None]) -> None:
        """The device that `lift_all` belongs to is closed."""
        with self._lock:
            if lift_all in self._lifts:
                self._lifts.remove(lift_all)

    def _lift(self) -> None:
        while True:
            try:
                why = self._notes.get(timeout=LOOK_S)
            except queue.Empty:
                with self._lock:
                    if not self._lifts:
                        self._thread = None
                        return
                continue
            LOG.warning("all touches stopped by %s", why)
            with self._lock:
                lifts = list(self._lifts)
            for lift_all in lifts:
                try:
                    lift_all()
                except DeviceError as error:
                    LOG.warning("a finger may be down still: %s", error)


STOP = StopSwitch()  # one pair of hands a process


@contextlib.contextmanager
def stop_signals(switch: StopSwitch = STOP) -> Iterator[None]:
    """While inside, SIGUSR1 and Ctrl-\\ on the terminal throw `switch`. For the main thread."""

    def throw(number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        switch.throw("Ctrl-\\ (SIGQUIT)" if name == "SIGQUIT" else name)

    found = [getattr(signal, name) for name in STOP_SIGNALS if hasattr(signal, name)]
    before = [(number, signal.signal(number, throw)) for number in found]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
