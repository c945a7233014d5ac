"""Scores of the ground scan over consecutive frames: cells, edges, and when each gap was first seen. Pure.

All columns are px of a 1920 px wide frame, whatever size was looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greatwall.contracts import Gap

EDGE_PX = 4.0  # an edge this close to the truth's is right
WIDE_PX = 140.0  # the narrowest gap of the standard course
AHEAD_PX = 400.0  # a wide gap is to be seen this far ahead of the rider
Cells = NDArray[np.float32]  # as in contracts.Ground: above 0 is ground
Ground = NDArray[np.bool_]


class GroundTally:
    """Counts frame by frame; truth gaps bring their ids, `new_run` forgets them."""

    def __init__(self) -> None:
        self.frames = 0
        self._cells: Counter[tuple[bool, bool]] = Counter()  # (truth ground, seen ground)
        self._scan: Counter[tuple[bool, bool]] = Counter()  # the same, from where the rider truly stands
        self._edges: list[float] = []
        self._missed = self._invented = self._found = 0
        self._cliff: Counter[tuple[bool, bool]] = Counter()  # (truth flag, seen flag)
        self._first: list[dict[str, float | None]] = []  # one for each gap
        self._gaps: dict[int, dict[str, float | None]] = {}

    def new_run(self) -> None:
        """Ids start afresh."""
        self._gaps = {}

    def add(
        self,
        truth: Sequence[Gap],
        seen: Sequence[Gap],
        rider_x2: float,
        cells: tuple[Cells, Cells, Cells],
        cliff: tuple[bool, bool],
    ) -> None:
        """One frame: the gaps, the cells and the cliff flag, truth first.

        Seen cells come twice: as published, from the rider that was seen, and from where it truly stands.
        """
        self.frames += 1
        true, published, scanned = cells
        _count(self._cells, true > 0, published > 0)
        _count(self._scan, true > 0, scanned > 0)
        self._cliff[cliff] += 1
        left = list(seen)
        for gap in truth:
            same = next((one for one in left if one.x1 < gap.x2 and gap.x1 < one.x2), None)
            self._follow(gap, same is not None, rider_x2)
            if same is None:
                self._missed += 1
                continue
            left.remove(same)
            self._found += 1
            self._edges += [abs(same.x1 - gap.x1), abs(same.x2 - gap.x2)]
        self._invented += len(left)

    def _follow(self, gap: Gap, seen: bool, rider_x2: float) -> None:
        """Note how far ahead the gap was when it first stood in a frame, and when it was first seen."""
        ahead = gap.x1 - rider_x2
        known = self._gaps.get(gap.track_id)
        if known is None:
            known = self._gaps[gap.track_id] = {"shown_px": ahead, "seen_px": None, "width_px": 0.0}
            self._first.append(known)
        known["width_px"] = max(known["width_px"] or 0.0, gap.x2 - gap.x1)
        if seen and known["seen_px"] is None:
            known["seen_px"] = ahead

    def summary(self) -> dict[str, Any]:
        """JSON-able. Only gaps that came into view farther ahead than asked can be judged by that."""
        wide = [
            one
            for one in self._first
            if (one["width_px"] or 0) >= WIDE_PX - 1 and (one["shown_px"] or 0) >= AHEAD_PX
        ]
        early = [one for one in wide if one["seen_px"] is not None and one["seen_px"] >= AHEAD_PX]
        first = sorted(one["seen_px"] for one in wide if one["seen_px"] is not None)
        edges = np.array(self._edges or [0.0])
        return {
            "frames": self.frames,
            **_agreement(self._cells),
            "scan_alone": _agreement(self._scan),
            "gap_views": self._found + self._missed,
            "gap_views_missed": self._missed,
            "gaps_invented": self._invented,
            "edges_within_4_px": _share(int((edges <= EDGE_PX).sum()), len(edges)),
            "edge_error_max_px": round(float(edges.max()), 2),
            "gaps": len(self._first),
            "gaps_never_seen": sum(one["seen_px"] is None for one in self._first),
            "wide_gaps_judged": len(wide),
            "wide_gaps_seen_400_px_ahead": _share(len(early), len(wide)),
            "first_seen_px_ahead": {
                "least": round(first[0], 1) if first else None,
                "median": round(first[len(first) // 2], 1) if first else None,
            },
            "each_gap": [
                {key: None if value is None else round(value, 1) for key, value in one.items()}
                for one in self._first
            ],
            "cliff_flag_agrees": _share(
                self._cliff[True, True] + self._cliff[False, False], sum(self._cliff.values())
            ),
            "cliff_flag_up": self._cliff[True, True] + self._cliff[True, False],
        }


def _count(counter: Counter[tuple[bool, bool]], true: Ground, seen: Ground) -> None:
    counter[True, True] += int((true & seen).sum())
    counter[True, False] += int((true & ~seen).sum())
    counter[False, True] += int((~true & seen).sum())
    counter[False, False] += int((~true & ~seen).sum())


def _agreement(cells: Counter[tuple[bool, bool]]) -> dict[str, Any]:
    none, ground = cells[False, False] + cells[False, True], cells[True, True] + cells[True, False]
    return {
        "non_ground_cells": none,
        "non_ground_agree": _share(cells[False, False], none),
        "ground_cells": ground,
        "ground_agree": _share(cells[True, True], ground),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 5) if whole else None
