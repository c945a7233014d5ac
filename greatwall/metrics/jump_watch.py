"""When a touch shows on the screen: the moment at which the rider leaves the ground after a jump's tap.

Pure; fed by whoever looks, one perceived frame after the other.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

STANDING_FRAMES = 3  # in a row before a touch may be judged
STILL_SHARE = 0.15  # of the rider's height: a gallop bobs by less
RISE_SHARE = 0.15  # of it: a rise of more is a jump's beginning, if the next frame is higher still
NOISE_SHARE = 0.04  # of it: a box's lower edge is that steady
WAIT_S = 1.5  # a touch that shows nothing for this long is lost


class _Seen(NamedTuple):
    at_s: float  # when the frame was captured
    height_px: float  # of the rider's feet above where they stand


class JumpWatch:
    """Times from touch to effect, in s, in `delays_s`; `lost` touches had no effect, `spoilt` ones
    could not be judged: the rider fell, or was rising already. `ground_y` is where the feet stand, px
    from the top, `rider_h` the rider's height in px."""

    def __init__(self, ground_y: float, rider_h: float) -> None:
        self._ground_y = ground_y
        self._still_px = STILL_SHARE * rider_h
        self._rise_px = RISE_SHARE * rider_h
        self._noise_px = NOISE_SHARE * rider_h
        self._recent: deque[_Seen] = deque(maxlen=STANDING_FRAMES)
        self._touched_s: float | None = None
        self._rising: tuple[_Seen, _Seen] | None = None  # the last frame before the rise, the first in it
        self.delays_s: list[float] = []
        self.lost = 0
        self.spoilt = 0

    @property
    def ready(self) -> bool:
        """The rider stands, and no touch is being watched."""
        recent = self._recent
        return (
            self._touched_s is None
            and len(recent) == STANDING_FRAMES
            and all(abs(one.height_px) <= self._still_px for one in recent)
        )

    @property
    def watching(self) -> bool:
        return self._touched_s is not None

    def touched(self, at_s: float) -> None:
        """A finger went down for a jump then; ask `ready` before."""
        self._touched_s = at_s
        self._rising = None

    def forget(self) -> None:
        """A new run: nothing seen before counts."""
        self._touched_s = self._rising = None
        self._recent.clear()

    def see(self, captured_at_s: float, feet_y: float) -> None:
        """Where the feet are in the next frame, px from the top; one no newer than the last is left out."""
        if self._recent and captured_at_s <= self._recent[-1].at_s:
            return
        seen = _Seen(captured_at_s, self._ground_y - feet_y)
        before = self._recent[-1] if self._recent else seen
        self._recent.append(seen)
        if self._touched_s is None or captured_at_s < self._touched_s:
            return
        if seen.height_px < -self._still_px:
            self.spoilt += 1
            self._touched_s = None
        elif self._rising is not None:
            self._confirm(*self._rising, seen)
        elif seen.height_px > self._rise_px:
            self._rising = before, seen
        elif captured_at_s - self._touched_s > WAIT_S:
            self.lost += 1
            self._touched_s = None

    def _confirm(self, before: _Seen, first: _Seen, second: _Seen) -> None:
        """The line through the first two frames of a rise meets the ground where it began: between the
        frames, however few of them there are a second."""
        self._rising = None
        if second.height_px <= first.height_px:
            return  # a box that jumped for one frame
        assert self._touched_s is not None
        low, high = (before, first) if before.height_px > self._noise_px else (first, second)
        speed_px_s = (high.height_px - low.height_px) / (high.at_s - low.at_s)
        began_s = low.at_s - low.height_px / speed_px_s
        if low is first:
            began_s = max(before.at_s, began_s)
        if began_s > self._touched_s:
            self.delays_s.append(began_s - self._touched_s)
        else:
            self.spoilt += 1
        self._touched_s = None
