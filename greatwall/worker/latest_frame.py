"""The newest captured frame, handed from the grab stage to whoever looks.

One slot, the newest wins: a frame that nobody took before the next one came is lost and counted in
`overwritten`. Written by the grab stage alone; taken by the main loop; looked at by OCR and windows.
Frames of a run that is over are refused: each comes with the number of the run it was grabbed in.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from greatwall.contracts import ActionOrder, Frame


class LatestFrame:
    """`lock` guards every field; `_changed` tells the main loop of a new frame or a new order."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._changed = threading.Condition(self.lock)
        self.newest: Frame | None = None
        self.run = 0  # which run frames are taken for
        self.grabbed = 0  # distinct frames put
        self.overwritten = 0
        self._taken = True

    def put(self, frame: Frame, run: int) -> bool:
        """Make `frame` the newest; False when its id is the newest's already or its run is over."""
        with self.lock:
            newest = self.newest
            if run != self.run or (newest is not None and newest.frame_id == frame.frame_id):
                return False
            if not self._taken:
                self.overwritten += 1
            self.newest = frame
            self._taken = False
            self.grabbed += 1
            self._changed.notify_all()
            return True

    def take(self, timeout_s: float, interrupted: Callable[[], object]) -> Frame | None:
        """The newest frame, once; None after `timeout_s` or as soon as `interrupted()` is true."""
        with self.lock:
            self._changed.wait_for(lambda: not self._taken or interrupted(), timeout_s)
            if self._taken:
                return None
            self._taken = True
            return self.newest

    def look(self) -> tuple[Frame | None, int]:
        """The newest frame and the run it belongs to, leaving it to be taken."""
        with self.lock:
            return self.newest, self.run

    def wake(self) -> None:
        """Let a waiting `take` look at its `interrupted` again."""
        with self.lock:
            self._changed.notify_all()

    def clear(self) -> None:
        """A new run: forget the frame, and refuse those that were grabbed for the old one."""
        with self.lock:
            self.newest = None
            self._taken = True
            self.run += 1


class OrderQueue(queue.Queue[ActionOrder]):
    """`env_action_queue` on the wall clock: one place, and an order wakes the main loop at once."""

    def __init__(self, frames: LatestFrame) -> None:
        super().__init__(maxsize=1)
        self._frames = frames

    def put(self, item: ActionOrder, block: bool = True, timeout: float | None = None) -> None:
        """As `queue.Queue.put`."""
        super().put(item, block, timeout)
        self._frames.wake()
