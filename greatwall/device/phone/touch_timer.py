"""What is to be done a moment later, by a thread of its own: lifting a finger, the moves of a swipe."""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable

JOIN_S = 2.0
IDLE_S = 1.0  # a look-up when there is nothing to do


class TouchTimer:
    """Calls what it is given when it is due, in order. A call must neither wait nor raise."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # guards all fields
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="touch timer", daemon=True)
        self._thread.start()

    def at(self, *calls: tuple[float, Callable[[], None]]) -> None:
        """Call each at its time of the perf counter, or at once when that is over."""
        with self._changed:
            first_s = self._due[0][0] if self._due else math.inf
            for due_s, call in calls:
                heapq.heappush(self._due, (due_s, next(self._order), call))
            if self._due[0][0] < first_s:  # else it sleeps until then anyway
                self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._stopped:
                    left_s = self._due[0][0] - time.perf_counter() if self._due else IDLE_S
                    if left_s <= 0:
                        break
                    self._changed.wait(min(left_s, IDLE_S))
                if self._stopped:
                    return
                call = heapq.heappop(self._due)[2]
            call()

    def close(self) -> None:
        """Forget what is not done yet."""
        with self._changed:
            self._stopped = True
            self._due.clear()
            self._changed.notify()
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)
