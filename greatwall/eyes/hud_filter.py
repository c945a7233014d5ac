"""Which HUD reads to believe: OCR's misreads are valid numbers, so each is held against the last.

Pure; belongs to the thread that reads the HUD.
"""

from __future__ import annotations

import math

from config import GameProfile, HudField
from greatwall.contracts import HUD_FIELDS, Hud, HudRead

RATE_MARGIN = 1.5  # a value that only rises may rise this much faster than it last did
SLACK = 1.0  # on every allowed rise: values are whole numbers
NOT_SHOWN = HudField((0, 0, 0, 0), 0, -1, 0.0, False)  # a field this game has not: nothing is in range


class FieldFilter:
    """One field's belief.

    A value out of range is never believed. A plausible one is, at once: no fall (or a fall of one where
    it may fall) and no rise faster than the field's rate. Any other is believed when the next read
    says the same, or, for a value that only rises, what follows from it. So a true jump is believed one
    read late, and a single misread that is not plausible changes nothing. One that is plausible is believed
    like a right read: distance 120, 126, 138 ends at 138 whatever stood there, and lives 3, 3, 2, 3, 3 show
    2 for two reads, since a rise of lives has to be read twice. A death is believed fast at that price.
    """

    def __init__(self, field: HudField) -> None:
        self._field = field
        self.value: int | None = None
        self.at_s = -math.inf
        self._rate = 0.0  # a second, of the last rise that was believed
        self._candidate: int | None = None
        self._candidate_at_s = -math.inf

    def update(self, value: int | None, at_s: float) -> None:
        """Take one read of a frame captured at `at_s` into account."""
        field = self._field
        if value is None or not field.low <= value <= field.high:
            return
        at_once = self._believable(value, at_s)
        if at_once or self._confirmed(value, at_s):
            if at_once and self.value is not None and value > self.value and at_s > self.at_s:
                self._rate = (value - self.value) / (at_s - self.at_s)
            self.value, self.at_s = value, at_s
            self._candidate = None
        else:
            self._candidate, self._candidate_at_s = value, at_s

    def _believable(self, value: int, at_s: float) -> bool:
        if self.value is None:  # a lone first zero could be a false death
            return not (self._field.may_fall and value == self._field.low)
        return self._follows(self.value, value, at_s - self.at_s)

    def _confirmed(self, value: int, at_s: float) -> bool:
        if self._candidate is None:
            return False
        if value == self._candidate:
            return True
        return not self._field.may_fall and self._follows(self._candidate, value, at_s - self._candidate_at_s)

    def _follows(self, before: int, value: int, elapsed_s: float) -> bool:
        """Whether `value` can be what `before` has become."""
        if value < before:
            return self._field.may_fall and before - value == 1
        rate = self._field.max_rise_per_s
        if rate > 0 and not self._field.may_fall:
            rate = max(rate, RATE_MARGIN * self._rate)  # a runner gets faster without end
        return value == before or (rate > 0 and value - before <= rate * max(0.0, elapsed_s) + SLACK)


class HudFilter:
    """All fields' beliefs. `update` with each read in the order of capture; `reset` at a new run."""

    def __init__(self, profile: GameProfile) -> None:
        self._fields = dict(profile.hud)
        self.reset()

    def reset(self) -> None:
        """Believe nothing; reads are counted from 0 again."""
        self._filters = [FieldFilter(self._fields.get(name, NOT_SHOWN)) for name in HUD_FIELDS]
        self.hud = Hud()

    def update(self, read: HudRead, captured_at_s: float) -> Hud:
        """The new belief after one read of the frame captured at `captured_at_s`, also kept in `hud`.

        A read older than the newest one changes nothing.
        """
        if captured_at_s < self.hud.captured_at_s:
            return self.hud
        for one, value in zip(self._filters, read, strict=True):
            one.update(value, captured_at_s)
        lives, arrows, coins, distance = self._filters
        self.hud = Hud(
            lives.value,
            arrows.value,
            coins.value,
            distance.value,
            lives.at_s,
            arrows.at_s,
            coins.at_s,
            distance.at_s,
            self.hud.read_id + 1,
            captured_at_s,
        )
        return self.hud
