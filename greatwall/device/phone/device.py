"""A phone as a device: what the Worker looks at and touches.

`frame` is called by the grabbing thread, touches by whoever executes actions; `reopen` by one at a time.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

from config import Config
from greatwall.contracts import Frame
from greatwall.device.phone.captures import FIRST_FRAME_S
from greatwall.device.phone.link import AdbLink
from greatwall.device.phone.parts import Parts, open_parts
from greatwall.device.phone.probe import open_best
from greatwall.device.phone.touches import HandBusy, Point
from greatwall.errors import DeviceError, DeviceLost

LOG = logging.getLogger("greatwall.phone")
SWITCH_S = 0.001  # Python's threads take turns this often: a touch waits for the eyes at most so long
TURNED = 1.1  # proportions that differ by more than this: the screen was turned


def give_memory_back() -> None:
    """What was freed, to the system: glibc keeps it in pieces, and a training with a reconnection every
    half minute grew by 4 MB a minute. Elsewhere nothing."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(AttributeError, OSError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


class PhoneDevice:
    """`contracts.Device` on the phone that `config.phone` names. `captured_at_s` is the perf counter's.

    Raises `DeviceError` while it is opened; later every failure of looking or touching is a `DeviceLost`,
    kept in `lost` and raised again until `reopen` has brought the phone back. A touch that would not reach
    what it is meant for, or not in time, is withheld, and counted in `health`.
    """

    def __init__(self, config: Config) -> None:
        self._config = config.phone
        self.link = AdbLink.choose(self._config.serial, self._config.adb_port)
        self.lost: DeviceLost | None = None
        self._opening = threading.Lock()  # of `reopen` and `close`
        self._closed = False
        self._withheld = 0
        self._parts: Parts = open_best(self.link, self._config)
        # measured with detector and HUD at work on busy cores: touch p95 1.5 ms; at the usual 5 ms, 14-35
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(min(SWITCH_S, self._switch_s))
        self.capture_name, self.touch_name = self._parts.capture.name, self._parts.touch.name
        self.size = self._parts.capture.size

    # --- looking ------------------------------------------------------------------------------

    def frame(self) -> Frame:
        """The newest screen; `size` is its size from then on."""
        self._raise_lost()
        try:
            frame = self._parts.capture.newest()
        except DeviceError as error:
            raise self._lose(error) from error
        self.size = frame.size
        return frame

    def wait_newer(self, than_id: int, timeout_s: float) -> None:
        """`contracts.WaitingDevice`."""
        self._parts.capture.wait_newer(than_id, timeout_s)

    # --- touching -----------------------------------------------------------------------------

    def tap(self, x: float, y: float) -> None:
        self._touch((x, y), lambda touch, points: touch.tap(points[0]))

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        """Begun when it returns; the finger is up `duration_ms` later."""
        self._touch((x1, y1), lambda touch, points: touch.swipe(points[0], points[1], duration_ms), (x2, y2))

    def _touch(self, first: Point, make: Callable[[Any, list[Point]], None], *others: Point) -> None:
        self._raise_lost()
        parts, (width, height) = self._parts, self.size
        if self._was_turned(parts):
            self._withhold("its screen has just been turned")
            return
        try:
            make(parts.touch, [(x / width, y / height) for x, y in (first, *others)])
        except HandBusy as error:
            self._withhold(str(error))
        except DeviceError as error:
            raise self._lose(error) from error

    def _withhold(self, why: str) -> None:
        self._withheld += 1
        LOG.warning("phone %s: a touch was withheld: %s", self.link.serial, why)

    def _was_turned(self, parts: Parts) -> bool:
        """Whether the screen lies otherwise than in the frame that a touch was decided on."""
        (width, height), (now_width, now_height) = self.size, parts.capture.size
        change = (width * now_height) / max(1, height * now_width)
        return not 1 / TURNED < change < TURNED

    def lift_all(self) -> None:
        """No finger is down any more, and no gesture goes on. Raises nothing; any thread."""
        self._parts.touch.lift_all()

    # --- losing it and coming back ----------------------------------------------------------------

    def _raise_lost(self) -> None:
        if self.lost is not None:
            raise DeviceLost(str(self.lost))

    def _lose(self, error: DeviceError) -> DeviceLost:
        if self.lost is None:
            self.lost = error if isinstance(error, DeviceLost) else DeviceLost(str(error))
            self.lift_all()
        return DeviceLost(str(self.lost))

    def reopen(self, timeout_s: float = FIRST_FRAME_S) -> None:
        """Close what is open and open the same again; frame ids go on rising. `DeviceLost` if that fails."""
        with self._opening:
            if self._closed:
                raise DeviceLost(f"phone {self.link.serial}: expected it open, found it closed; start again")
            self._parts.close()
            give_memory_back()
            try:
                self.link = AdbLink.choose(self.link.serial, self.link.server.port)
                self._parts = open_parts(
                    self.link, self._config, self.capture_name, self.touch_name, timeout_s
                )
            except DeviceError as error:
                self.lost = error if isinstance(error, DeviceLost) else DeviceLost(str(error))
                raise DeviceLost(str(error)) from error
            self.size = self._parts.capture.size
            self.lost = None

    # --- what a phone cannot ------------------------------------------------------------------------

    def pause(self) -> bool:
        """A phone's game goes on."""
        return False

    def resume(self) -> None:
        """Nothing was paused."""

    def new_game(self, seed: int) -> bool:
        """A phone starts its games by touches, on courses of its own."""
        return False

    def facts(self) -> None:
        """A phone tells nothing but what it shows."""
        return

    def health(self) -> str:
        if self.lost is not None:
            return f"phone {self.link.serial} lost: {self.lost}"
        withheld = f", {self._withheld} touches withheld" if self._withheld else ""
        parts = self._parts
        name = f"{self.link.model} " if self.link.model else ""
        return f"phone {name}{self.link.serial}: {parts.capture.health()}; {parts.touch.health()}{withheld}"

    def close(self) -> None:
        """Lift all fingers, then let it go. May be called twice."""
        with self._opening:
            if not self._closed:
                self._closed = True
                sys.setswitchinterval(self._switch_s)
                self._parts.close()
