"""Frames that never arrive, on purpose: a device between its screen and whoever grabs it.

Everything but `frame` goes straight through. A withheld frame is the last one again, which is how every
device says that nothing new has arrived. `frame` is called by the grabbing thread alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from config import TICK_HZ, FaultConfig
from greatwall.contracts import Device, Frame, TickedDevice

DROP_STREAM = 46  # purpose tag of the generator
BLOCK = 1024


class Withholding:
    """Which moments of a run lose their frame: a fact of (seed, run, tick), not of who looks when."""

    def __init__(self, share: float, seed: int) -> None:
        self._share, self._seed = share, seed
        self.reset(0)

    def reset(self, run: int) -> None:
        self._rng = np.random.default_rng([DROP_STREAM, self._seed, run])
        self._began_s: float | None = None
        self._block: list[float] = []
        self._block_start = 0

    def is_lost(self, captured_at_s: float) -> bool:
        """Whether the frame of that moment is lost; moments come in order."""
        if self._began_s is None:
            self._began_s = captured_at_s
        tick = max(0, round((captured_at_s - self._began_s) * TICK_HZ))
        while tick >= self._block_start + len(self._block):
            self._block_start += len(self._block)
            self._block = self._rng.random(BLOCK).tolist()
        return self._block[max(0, tick - self._block_start)] < self._share


class WithholdingDevice:
    """`contracts.Device`: `device` without the share `faults.drop` of its frames.

    The first frame of a run always arrives: there is no last one to give again.
    """

    def __init__(self, device: Device, faults: FaultConfig) -> None:
        self._device = device
        self._withholding = Withholding(faults.drop, faults.seed)
        self._run = 0
        self._given: Frame | None = None
        self._judged: Frame | None = None

    @property
    def size(self) -> tuple[int, int]:
        return self._device.size

    @property
    def wrapped(self) -> Device:
        return self._device

    def frame(self) -> Frame:
        """The newest screen that arrived."""
        frame = self._device.frame()
        given = self._given
        if given is None:
            self._withholding.is_lost(frame.captured_at_s)  # its moment is the run's first tick
            self._given = self._judged = frame
            return frame
        if self._judged is None or frame.frame_id != self._judged.frame_id:
            self._judged = frame
            if not self._withholding.is_lost(frame.captured_at_s):
                self._given = given = frame
        return given

    def new_game(self, seed: int) -> bool:
        if not self._device.new_game(seed):
            return False
        self._run = seed
        self._forget()
        return True

    def _forget(self) -> None:
        """The run's ticks count from the next frame on."""
        self._withholding.reset(self._run)
        self._given = self._judged = None

    def tap(self, x: float, y: float) -> None:
        self._device.tap(x, y)

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        self._device.swipe(x1, y1, x2, y2, duration_ms)

    def pause(self) -> bool:
        return self._device.pause()

    def resume(self) -> None:
        self._device.resume()

    def facts(self) -> Mapping[str, Any] | None:
        return self._device.facts()

    def health(self) -> str:
        return f"{self._device.health()}; frames withheld on purpose"

    def close(self) -> None:
        self._device.close()


class WithholdingTickedDevice(WithholdingDevice):
    """The same for a device whose time can be moved by hand."""

    def __init__(self, device: TickedDevice, faults: FaultConfig) -> None:
        super().__init__(device, faults)
        self._ticked = device

    @property
    def tick(self) -> int:
        return self._ticked.tick

    def hold(self) -> None:
        """Stop real time for good; the game's own starts elsewhere."""
        self._ticked.hold()
        self._forget()

    def advance(self, ticks: int) -> None:
        self._ticked.advance(ticks)

    def get_state(self) -> dict[str, Any]:
        return self._ticked.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._ticked.set_state(state)
        self._forget()


def withholding_device(device: Device, faults: FaultConfig) -> Device:
    """`device` without some of its frames, or `device` itself where none is to be lost."""
    if faults.drop <= 0:
        return device
    if isinstance(device, TickedDevice):
        return WithholdingTickedDevice(device, faults)
    return WithholdingDevice(device, faults)
