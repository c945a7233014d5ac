"""When a picture of a stream was taken, on this machine's clock. Pure.

A stream's own times say how far apart pictures were taken, not when: the phone's clock is another one.
The picture that came through fastest gives the difference; one that came later is older by that much,
however long the way stays slow. What even the fastest needed remains unknown, so ages are lower bounds.
"""

from __future__ import annotations

DRIFT = 2e-4  # s a s; quartz clocks drift apart by half of that at most
JUMP_S = 5.0  # a picture cannot have been under way this long: the stream's clock was set anew


class StreamClock:
    """One thread; `captured_at_s` once for each picture, in the order they come."""

    def __init__(self) -> None:
        self._lowest_s: float | None = None  # of (arrival - own time), with the drift since
        self._last_own_s = 0.0
        self._last_arrived_s = 0.0

    def captured_at_s(self, pts_us: int, arrived_at_s: float) -> float:
        """When it was taken: `arrived_at_s` at the latest."""
        own_s = pts_us / 1e6
        offset_s = arrived_at_s - own_s
        backwards = own_s < self._last_own_s
        if self._lowest_s is None or backwards or offset_s > self._lowest_s + JUMP_S:
            self._lowest_s = offset_s
        else:
            drifted_s = DRIFT * (arrived_at_s - self._last_arrived_s)
            self._lowest_s = min(offset_s, self._lowest_s + drifted_s)
        self._last_own_s, self._last_arrived_s = own_s, arrived_at_s
        return min(arrived_at_s, own_s + self._lowest_s)
