"""Scores of the HUD reader over consecutive reads: raw, believed, and how old beliefs are. Pure."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from greatwall.contracts import HUD_FIELDS, Hud, HudRead
from greatwall.metrics.timing import percentile


class HudTally:
    """Counts reads; a belief is held against the truth of the frame it comes from."""

    def __init__(self) -> None:
        self.reads = 0
        self._raw: Counter[tuple[str, str]] = Counter()  # (field, right, wrong or none)
        self._believed: Counter[tuple[str, str]] = Counter()
        self._spoilt: Counter[str] = Counter()
        self._held: Counter[tuple[str, bool]] = Counter()  # (field, is what stood in the frame read)
        self._ages: dict[str, list[float]] = {name: [] for name in HUD_FIELDS}
        self._misreads: list[dict[str, Any]] = []

    def add_read(self, truth: HudRead, raw: HudRead, believed: Hud) -> None:
        """One read: what stood there, what was read, and what is believed after it.

        A belief older than this read was judged when it was made; none yet is neither right nor wrong.
        Apart from that, every belief, however old, is held against this read's frame: `differs`.
        """
        self.reads += 1
        for name, true, said in zip(HUD_FIELDS, truth, raw, strict=True):
            verdict = "right" if said == true else "none" if said is None else "wrong"
            self._raw[name, verdict] += 1
            if verdict != "right" and len(self._misreads) < 50:
                self._misreads.append({"field": name, "truth": true, "read": said})
            fresh = getattr(believed, f"{name}_at_s") == believed.captured_at_s
            value = getattr(believed, name)
            if value is not None:
                self._held[name, value == true] += 1
            if fresh:
                self._believed[name, "right" if value == true else "wrong"] += 1
            elif verdict == "right" and value != true:
                self._spoilt[name] += 1  # right, but not believed at once

    def add_frame(self, hud: Hud, at_s: float) -> None:
        """One perceived frame and the belief that goes with it."""
        for name in HUD_FIELDS:
            age = at_s - getattr(hud, f"{name}_at_s")
            if math.isfinite(age):
                self._ages[name].append(age)

    def summary(self) -> dict[str, Any]:
        """JSON-able, a row for each field."""
        fields = {name: self._field(name) for name in HUD_FIELDS}
        return {
            "reads": self.reads,
            "raw_exact_min": min((row["raw_exact"] for row in fields.values()), default=None),
            "believed_exact_min": min((row["believed_exact"] for row in fields.values()), default=None),
            "fields": fields,
            "misreads": self._misreads,
        }

    def _field(self, name: str) -> dict[str, Any]:
        right, wrong = self._believed[name, "right"], self._believed[name, "wrong"]
        ages = self._ages[name]
        return {
            "raw_exact": round(self._raw[name, "right"] / self.reads, 5) if self.reads else 1.0,
            "raw_wrong": self._raw[name, "wrong"],
            "raw_none": self._raw[name, "none"],
            "believed_exact": round(right / (right + wrong), 5) if right + wrong else 1.0,
            "believed_wrong": wrong,
            "right_not_believed_at_once": self._spoilt[name],
            "differs": self._held[name, False],
            "compared": self._held[name, False] + self._held[name, True],
            "age_s": {
                "p50": round(percentile(ages, 0.5), 3) if ages else None,
                "p95": round(percentile(ages, 0.95), 3) if ages else None,
                "max": round(max(ages), 3) if ages else None,
            },
        }
