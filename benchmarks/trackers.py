"""The rule engine's own tracker against ByteTrack as ultralytics keeps it, on played frames with misses.

    python benchmarks/trackers.py [--frames 6000] [--only ours] [--json FILE]

Truth's boxes lose their ids, and a tenth of them and of the gaps is missed in each look; in some rows every
edge is moved by a normal deviate of 2 px, too, about what the detector does. Each tracker gives ids back,
behind a rule engine of its own. Courses are of validation seeds, since a tracker is chosen by it, but not of
those on which ours was mended (from 1,000,000 on). ByteTrack needs the package lap, which nothing else here
does: pip install lap. No pixels are drawn. Main thread.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["YOLO_OFFLINE"] = "true"
os.environ["YOLO_AUTOINSTALL"] = "false"

from config import Config, FaultConfig
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_json
from greatwall.commands.perception_page import write_tables
from greatwall.commands.score import PAGE, RESULTS
from greatwall.contracts import Gap, Hud, Passing
from greatwall.data.frames import PlayedFrame, played_frames
from greatwall.errors import ConfigError
from greatwall.eyes.faults import faulty_eyes
from greatwall.eyes.truth import TruthEyes
from rule_engine import Box, RuleEngine, Tracker, Tracks

RESULT = Path(__file__).with_suffix(".json")
FAULTS = (FaultConfig(miss=0.1), FaultConfig(miss=0.1, jitter=2.0))
RATES_HZ = (10, 30)  # perceived frames a second: on the game clock, and at most on the wall clock
FIRST_SEED = 1_500_000
PER_RUN_S = 10
SAME_PX = 12.0  # a box whose centre is this close to a truth's of its kind is that one
PAID_WITHIN_S = 0.5  # a passing this close in time to the truth's is that one
APART_PX = 10_000.0  # between the kinds of things, for a tracker that does not know of kinds
GAP_H_PX = 100.0  # gaps have no height of their own


class ByteTracks:
    """`rule_engine.Tracks` by ultralytics' BYTETracker; `options` are those of its bytetrack.yaml.

    It compares boxes by overlap alone, so kinds are told apart by moving each to a place of its own. Ids are
    taken from its tracks directly: it would hold back those of things it has seen once.
    """

    def __init__(self, **options: Any) -> None:
        try:
            if find_spec("lap") is None:
                raise ImportError("lap")
            from ultralytics.engine.results import Boxes
            from ultralytics.trackers.byte_tracker import BYTETracker
        except ImportError as error:
            raise ConfigError(
                f"ByteTrack: expected ultralytics and lap to be installed, found no {error.name or error}; "
                "pip install ultralytics lap, or use --only ours"
            ) from error
        settings = {
            "track_high_thresh": 0.25,
            "track_low_thresh": 0.1,
            "new_track_thresh": 0.25,
            "track_buffer": 30,
            "match_thresh": 0.8,
            "fuse_score": True,
        }
        self._boxes = Boxes
        self._make = lambda: BYTETracker(SimpleNamespace(**settings | options))
        self._kinds: dict[str, int] = {"gap": 0}
        self.reset()

    def reset(self) -> None:
        self._tracker = self._make()

    @property
    def tracks(self) -> Sequence[Any]:
        return [*self._tracker.tracked_stracks, *self._tracker.lost_stracks]

    def assign(self, boxes: list[Box], at_s: float) -> list[int]:
        rows = np.zeros((len(boxes), 6), np.float32)
        for row, (category, x, y, w, h) in zip(rows, boxes, strict=True):
            kind = self._kinds.setdefault(category, len(self._kinds))
            top = y + kind * APART_PX
            row[:] = x, top, x + w, top + (h or GAP_H_PX), 1.0, kind
        self._tracker.update(self._boxes(rows, (1080, 1920)))
        ids = [0] * len(boxes)
        now = self._tracker.frame_id
        for track in self._tracker.tracked_stracks:
            if track.frame_id == now:
                ids[int(track.idx)] = int(track.track_id)
        assert all(ids), "every box of full confidence is a track"
        return ids

    def expected_gaps(self, seen: Iterable[int], at_s: float) -> list[Gap]:
        known = set(seen)
        gaps = [
            Gap(float(track.xyxy[0]), float(track.xyxy[2]), int(track.track_id))
            for track in self._tracker.lost_stracks
            if track.cls == 0 and track.track_id not in known
        ]
        return [gap for gap in gaps if gap.x2 > 0]


TRACKERS: dict[str, Callable[[], Tracks]] = {
    "ours": Tracker,
    "ByteTrack": ByteTracks,
    "ByteTrack, any overlap": lambda: ByteTracks(match_thresh=0.999, fuse_score=False),
}


class Watched:
    """A tracker whose time is taken and whose last answer is kept."""

    def __init__(self, tracker: Tracks) -> None:
        self._tracker = tracker
        self.last: list[tuple[Box, int]] = []
        self.cpu_s = 0.0

    @property
    def tracks(self) -> Sequence[Any]:
        return self._tracker.tracks

    def reset(self) -> None:
        self._tracker.reset()

    def assign(self, boxes: list[Box], at_s: float) -> list[int]:
        begun_s = time.process_time()
        ids = self._tracker.assign(boxes, at_s)
        self.cpu_s += time.process_time() - begun_s
        self.last = list(zip(boxes, ids, strict=True))
        return ids

    def expected_gaps(self, seen: Iterable[int], at_s: float) -> list[Gap]:
        return self._tracker.expected_gaps(seen, at_s)


class Ids:
    """What happens to the ids of things whose truth is known; runs are counted apart."""

    def __init__(self) -> None:
        self.boxes = self.switches = 0
        self._run = -1
        self._given: dict[tuple[int, str, int], list[int]] = defaultdict(list)  # each thing's ids in turn
        self._owners: dict[tuple[int, int], set[tuple[str, int]]] = defaultdict(set)

    def add(self, run: int, truth: Sequence[tuple[Box, int]], answered: Iterable[tuple[Box, int]]) -> None:
        """One frame: truth's boxes with their ids, and the seen boxes with the tracker's."""
        for box, given in answered:
            same = [one for one in truth if one[0][0] == box[0] and _apart_px(one[0], box) <= SAME_PX]
            if not same:
                continue
            name = box[0], min(same, key=lambda one: _apart_px(one[0], box))[1]
            self.boxes += 1
            before = self._given[run, *name]
            if not before or before[-1] != given:
                self.switches += bool(before)
                before.append(given)
            self._owners[run, given].add(name)

    def summary(self) -> dict[str, int]:
        return {
            "boxes": self.boxes,
            "things": len(self._given),
            "id_switches": self.switches,
            "things_with_several_ids": sum(len(set(ids)) > 1 for ids in self._given.values()),
            "ids_of_several_things": sum(len(names) > 1 for names in self._owners.values()),
        }


def _apart_px(one: Box, other: Box) -> float:
    """Between the centres, sideways and up together."""
    across = one[1] + one[3] / 2 - other[1] - other[3] / 2
    return float(np.hypot(across, one[2] + one[4] / 2 - other[2] - other[4] / 2))


class Passings:
    """Passings that were noted, against the truth's; kind by kind, in time."""

    def __init__(self) -> None:
        self.found: Counter[tuple[str, str]] = Counter()

    def add(self, truth: list[Passing], seen: list[Passing]) -> None:
        """One run."""
        left = list(seen)
        for one in truth:
            near = [
                other
                for other in left
                if other.kind == one.kind and abs(other.passed_at_s - one.passed_at_s) <= PAID_WITHIN_S
            ]
            self.found[one.kind, "right" if near else "missed"] += 1
            if near:
                left.remove(near[0])
        for other in left:
            self.found[other.kind, "invented"] += 1


class Side:
    """A rule engine with what it has noted in this run."""

    def __init__(self, engine: RuleEngine) -> None:
        self.engine = engine
        self.passings: list[Passing] = []
        self._serial = 0

    def look(self, frame: Any, sight: Any) -> None:
        perception = self.engine.perceive(frame, sight, Hud(), frame.captured_at_s)
        for one in perception.passings:
            if one.serial > self._serial:
                self._serial = one.serial
                self.passings.append(one)

    def begin(self) -> None:
        self.engine.reset()
        self.passings = []


def follow(
    config: Config, frames: Iterator[PlayedFrame], faults: FaultConfig, make: Callable[[], Tracks]
) -> Any:
    """One tracker through all frames; what became of ids and passings, and what it cost."""
    profile = config.profile
    truth_eyes = TruthEyes(profile)
    eyes = faulty_eyes(TruthEyes(profile), faults, profile)
    watched = Watched(make())
    truth, seen = Side(RuleEngine(profile)), Side(RuleEngine(profile, watched))
    ids, passings = Ids(), Passings()
    numbers = count()
    total = 0
    for frame, run, first in frames:
        if first:
            passings.add(truth.passings, seen.passings)
            truth.begin()
            seen.begin()
            eyes.reset()
            next(numbers)
        total += 1
        true = truth_eyes.see(frame)
        truth.look(frame, true)
        watched.last = []
        seen.look(frame, eyes.see(frame))
        named: list[tuple[Box, int]] = [(one[:5], one.track_id) for one in true.objects]
        named += [(("gap", gap.x1, 0.0, gap.x2 - gap.x1, 0.0), gap.track_id) for gap in true.ground.gaps]
        ids.add(run, named, watched.last)
    passings.add(truth.passings, seen.passings)
    found = passings.found
    return {
        "frames": total,
        "runs": next(numbers),
        **ids.summary(),
        "cpu_ms_a_frame": round(watched.cpu_s / total * 1e3, 4),
        "passings": {
            kind: {what: found[kind, what] for what in ("right", "missed", "invented")}
            for kind in ("obstacle", "cliff")
        },
    }


@dataclass(frozen=True)
class Trackers:
    """Measure trackers on the same frames with the same misses."""

    frames: int = 6000
    """Frames a row."""
    only: str = ""
    """Only trackers whose name begins so, as in ours; the tables of the docs want all."""
    json: Path = RESULT
    """Where the figures go."""

    def run(self) -> int:
        if self.frames < 1:
            raise ConfigError(f"--frames: expected 1 or more, found {self.frames}; raise it")
        check_output(self.json, "--json")
        config = Config()
        rows = []
        for hz in RATES_HZ:
            for faults in FAULTS:
                for name, make in TRACKERS.items():
                    if not name.startswith(self.only):
                        continue
                    frames = played_frames(
                        config, self.frames, FIRST_SEED, PER_RUN_S * hz, each_tick=hz == RATES_HZ[-1]
                    )
                    figures = follow(config, frames, faults, make)
                    rows.append(
                        {
                            "tracker": name,
                            "hz": hz,
                            "miss": faults.miss,
                            "jitter_px": faults.jitter,
                            **figures,
                        }
                    )
        if not rows:
            raise ConfigError(f"--only: expected the beginning of {', '.join(TRACKERS)}; found {self.only!r}")
        write_json(self.json, {"machine": machine(), "seed": FIRST_SEED, "rows": rows})
        show(rows)
        if self.json == RESULT:
            write_tables(PAGE, RESULTS)
        return 0


def show(rows: list[dict[str, Any]]) -> None:
    """The figures as one table."""
    table = Table(title="trackers")
    columns = ("tracker", "hz", "jitter_px", "things", "id_switches", "things_with_several_ids")
    for column in (*columns, "ids_of_several_things", "R3", "R4", "cpu_ms_a_frame"):
        table.add_column(column, justify="left" if column == "tracker" else "right")
    for row in rows:
        paid = [
            " / ".join(str(row["passings"][kind][what]) for what in ("right", "missed", "invented"))
            for kind in ("obstacle", "cliff")
        ]
        values = (*(row[one] for one in columns), row["ids_of_several_things"], *paid, row["cpu_ms_a_frame"])
        table.add_row(*map(str, values))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(run_command(Trackers, sys.argv[1:], "benchmarks/trackers.py"))
