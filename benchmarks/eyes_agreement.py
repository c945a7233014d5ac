"""How far vision agrees with truth: both pairs of eyes on the same frames of the rule player's runs.

    python benchmarks/eyes_agreement.py [--policy rule] [--steps 2000] [--seed 2000000] [--json FILE]

The run goes through truth on the game clock; every frame perceived and every frame read is shown to
vision as well, each pair of eyes with a rule engine and a HUD filter of its own. Main thread.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from config import Config
from game_env import GreatWallEnv
from greatwall.assembly import build_device, check_seed, make_config
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_json
from greatwall.contracts import HUD_FIELDS, Frame, Gap, HudRead, Perception, Sight
from greatwall.data.visibility import rider_class, visible_boxes
from greatwall.errors import ConfigError
from greatwall.eyes.hud_filter import HudFilter
from greatwall.eyes.truth import TruthEyes
from greatwall.eyes.vision import VisionEyes
from greatwall.metrics.detection import Counts, as_boxes, count_by_center
from greatwall.players import make_player
from ppo_acting import Worker
from rule_engine import RuleEngine

NEAR_PX = 500.0  # nearest distances are compared where the truth is closer than this
DISTANCE_TOLERANCE_PX = 10.0
STRICT_TOLERANCE_PX = 5.0
EDGE_TOLERANCE_PX = 6.0
CENTER_PX = 20.0
RESULT = Path(__file__).with_suffix(".json")
KINDS = ("danger", "enemy", "soul", "coin")


@dataclass
class Tally:
    """Everything that is counted."""

    frames: int = 0
    cells: Counter[tuple[bool, bool]] = field(default_factory=Counter)  # (truth ground, seen ground)
    edge_errors_px: list[float] = field(default_factory=list)
    gaps: Counts = field(default_factory=Counts)
    nearest_errors_px: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    nearest: Counter[tuple[str, str]] = field(default_factory=Counter)  # (kind, missed or invented)
    objects: dict[str, Counts] = field(default_factory=dict)
    cliff: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    passings: Counter[tuple[str, str]] = field(default_factory=Counter)  # (eyes, kind)
    reads: int = 0
    hud_raw: Counter[tuple[str, str]] = field(default_factory=Counter)  # (field, right, wrong or none)
    hud_believed: Counter[tuple[str, str]] = field(default_factory=Counter)
    see_ms: list[float] = field(default_factory=list)
    see_cpu_ms: list[float] = field(default_factory=list)  # of all threads: fair on a busy machine
    hud_ms: list[float] = field(default_factory=list)


class BothEyes:
    """Plays through truth; lets vision look at the same frames and counts where they differ."""

    def __init__(self, config: Config) -> None:
        self.tally = Tally()
        self._profile = config.profile
        self._truth = TruthEyes(config.profile)
        self._vision = VisionEyes(config.profile, config.eyes)
        self._engines = {name: RuleEngine(config.profile) for name in ("truth", "vision")}
        self._filter = HudFilter(config.profile)
        self._serials = {"truth": 0, "vision": 0}
        self._last_seen = self._last_read = -1

    def see(self, frame: Frame) -> Sight:
        sight = self._truth.see(frame)
        scene = frame.scene
        if frame.frame_id != self._last_seen and scene is not None and scene.hud is not None:
            self._last_seen = frame.frame_id
            _ = frame.bgr  # drawing is not seeing: it stays out of the time
            begun_s, cpu_s = time.perf_counter(), time.process_time()
            seen = self._vision.see(frame)
            self.tally.see_cpu_ms.append((time.process_time() - cpu_s) * 1e3)
            self.tally.see_ms.append((time.perf_counter() - begun_s) * 1e3)
            self._compare(frame, sight, seen)
        return sight

    def read_hud(self, frame: Frame) -> HudRead:
        truth = self._truth.read_hud(frame)
        if frame.frame_id != self._last_read and truth != HudRead():
            self._last_read = frame.frame_id
            _ = frame.bgr
            begun_s = time.perf_counter()
            read = self._vision.read_hud(frame)
            self.tally.hud_ms.append((time.perf_counter() - begun_s) * 1e3)
            hud = self._filter.update(read, frame.captured_at_s)
            self.tally.reads += 1
            for name, true, raw in zip(HUD_FIELDS, truth, read, strict=True):
                self.tally.hud_raw[name, _verdict(true, raw)] += 1
                self.tally.hud_believed[name, _verdict(true, getattr(hud, name))] += 1
        return truth

    def reset(self) -> None:
        for engine in self._engines.values():
            engine.reset()
        self._filter.reset()
        self._last_seen = self._last_read = -1

    def close(self) -> None:
        self._vision.close()

    def _compare(self, frame: Frame, true: Sight, seen: Sight) -> None:
        at_s = frame.captured_at_s
        hud = self._filter.hud
        truth = self._engines["truth"].perceive(frame, true, hud, at_s)
        vision = self._engines["vision"].perceive(frame, seen, hud, at_s)
        tally = self.tally
        tally.frames += 1
        for pair, count in Counter(
            zip((truth.ground.cells > 0).tolist(), (vision.ground.cells > 0).tolist(), strict=True)
        ).items():
            tally.cells[pair] += count
        self._compare_gaps(truth.ground.gaps, vision.ground.gaps)
        for kind in KINDS:
            self._compare_nearest(kind, getattr(truth, f"nearest_{kind}"), getattr(vision, f"nearest_{kind}"))
        self._compare_boxes(true, seen)
        tally.cliff[truth.cliff, vision.cliff] += 1
        self._count_passings("truth", truth)
        self._count_passings("vision", vision)

    def _compare_gaps(self, truth: Iterable[Gap], vision: Iterable[Gap]) -> None:
        left = list(vision)
        for gap in truth:
            same = [one for one in left if one.x1 < gap.x2 and gap.x1 < one.x2]
            if not same:
                self.tally.gaps += Counts(missed=1)
                continue
            left.remove(same[0])
            self.tally.gaps += Counts(right=1)
            self.tally.edge_errors_px += [abs(same[0].x1 - gap.x1), abs(same[0].x2 - gap.x2)]
        self.tally.gaps += Counts(invented=len(left))

    def _compare_nearest(self, kind: str, truth: float, vision: float) -> None:
        if truth < NEAR_PX:
            if math.isinf(vision):
                self.tally.nearest[kind, "missed"] += 1
            error = abs(vision - truth)
            self.tally.nearest_errors_px[kind].append(min(error, NEAR_PX))
        elif vision < NEAR_PX - DISTANCE_TOLERANCE_PX:
            self.tally.nearest[kind, "invented"] += 1

    def _compare_boxes(self, true: Sight, seen: Sight) -> None:
        width = true.ground.width
        wanted = visible_boxes(true.objects, self._profile.play_band, width, rider_class(self._profile))
        for name in self._profile.classes:
            truth = as_boxes([box[1:] for box in wanted if box[0] == name])
            found = as_boxes([(o.x, o.y, o.x2, o.y2) for o in seen.objects if o.category == name])
            before = self.tally.objects.get(name, Counts())
            self.tally.objects[name] = before + count_by_center(truth, found, CENTER_PX)

    def _count_passings(self, name: str, perception: Perception) -> None:
        for passing in perception.passings:
            if passing.serial > self._serials[name]:
                self._serials[name] = passing.serial
                self.tally.passings[name, passing.kind] += 1


def _verdict(true: int | None, said: int | None) -> str:
    return "right" if said == true else "none" if said is None else "wrong"


def summary(tally: Tally) -> dict[str, Any]:
    """The tally as shares, JSON-able."""
    edges = np.array(tally.edge_errors_px)
    errors = {kind: np.array(values) for kind, values in tally.nearest_errors_px.items()}
    all_errors = np.concatenate(list(errors.values()))
    cells = tally.cells
    missing, ground = cells[False, False] + cells[False, True], cells[True, True] + cells[True, False]
    return {
        "frames": tally.frames,
        "terrain": {
            "non_ground_cells": missing,
            "non_ground_found": _share(cells[False, False], missing),
            "ground_cells": ground,
            "ground_found": _share(cells[True, True], ground),
        },
        "gaps": {
            **dataclasses.asdict(tally.gaps),
            "edges_within_6_px": _share(int((edges <= EDGE_TOLERANCE_PX).sum()), len(edges)),
            "edge_error_max_px": float(edges.max()) if len(edges) else None,
        },
        "nearest_under_500_px": {
            "within_10_px": _share(int((all_errors <= DISTANCE_TOLERANCE_PX).sum()), len(all_errors)),
            "within_5_px": _share(int((all_errors <= STRICT_TOLERANCE_PX).sum()), len(all_errors)),
            **{
                kind: {
                    "compared": len(values),
                    "within_10_px": _share(int((values <= DISTANCE_TOLERANCE_PX).sum()), len(values)),
                    "within_5_px": _share(int((values <= STRICT_TOLERANCE_PX).sum()), len(values)),
                    "error_p50_px": round(float(np.percentile(values, 50)), 2) if len(values) else None,
                    "error_p95_px": round(float(np.percentile(values, 95)), 2) if len(values) else None,
                    "missed": tally.nearest[kind, "missed"],
                    "invented": tally.nearest[kind, "invented"],
                }
                for kind, values in errors.items()
            },
        },
        "objects_center_within_20_px": {
            name: {
                **dataclasses.asdict(counts),
                "precision": round(counts.precision, 4),
                "recall": round(counts.recall, 4),
                "f1": round(counts.f1, 4),
            }
            for name, counts in tally.objects.items()
        },
        "cliff_flag_agrees": _share(tally.cliff[True, True] + tally.cliff[False, False], tally.frames),
        "passings": {
            f"{kind}_{name}": tally.passings[name, kind]
            for kind in ("obstacle", "cliff")
            for name in ("truth", "vision")
        },
        "hud": {
            "reads": tally.reads,
            "raw_exact": _share(_count(tally.hud_raw, "right"), tally.reads * len(HUD_FIELDS)),
            "believed_exact": _share(_count(tally.hud_believed, "right"), tally.reads * len(HUD_FIELDS)),
            "raw_wrong": {name: tally.hud_raw[name, "wrong"] for name in HUD_FIELDS},
            "raw_none": {name: tally.hud_raw[name, "none"] for name in HUD_FIELDS},
            "believed_wrong": {name: tally.hud_believed[name, "wrong"] for name in HUD_FIELDS},
        },
        "see_ms": _percentiles(tally.see_ms),
        "see_cpu_ms": _percentiles(tally.see_cpu_ms),
        "hud_ms": _percentiles(tally.hud_ms),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 5) if whole else None


def _count(counter: Counter[tuple[str, str]], verdict: str) -> int:
    return sum(count for (_, one), count in counter.items() if one == verdict)


def _percentiles(values: list[float]) -> dict[str, float]:
    return {f"p{p}": round(float(np.percentile(values, p)), 2) for p in (50, 95)} if values else {}


def play(config: Config, policy: str, steps: int, seed: int) -> Tally:
    """`steps` steps of a player on the game clock, restarts included."""
    eyes = BothEyes(config)
    env = GreatWallEnv(config, Worker(config, build_device(config), eyes), None)
    player = make_player(policy, config)
    try:
        observation, info = env.reset(seed=seed)
        player.reset(seed)
        for _ in range(steps):
            action = player.act(observation, info["perception"])
            observation, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                seed += 1
                observation, info = env.reset(seed=seed)
                player.reset(seed)
    finally:
        env.close()
    return eyes.tally


@dataclass(frozen=True)
class EyesAgreement:
    """Compare vision with truth on the same frames."""

    steps: int = 2000
    """Env steps to play."""
    policy: str = "rule"
    """Who plays; random lets enemies come close, which the rule player shoots from afar."""
    seed: int = 2_000_000
    """First course seed; each further run takes the next."""
    json: Path = RESULT
    """Where the figures go."""

    def run(self) -> int:
        if self.steps < 1:
            raise ConfigError(f"--steps: expected 1 or more, found {self.steps}; change the number")
        check_seed(self.seed, self.steps)
        check_output(self.json, "--json")
        config = make_config(eyes="truth")
        begun_s = time.perf_counter()
        figures = summary(play(config, self.policy, self.steps, self.seed))
        seconds = round(time.perf_counter() - begun_s)
        asked = {"policy": self.policy, "steps": self.steps, "seed": self.seed}
        result = {**asked, "seconds": seconds, "machine": machine(), **figures}
        write_json(self.json, result)
        show(figures)
        return 0


def show(figures: dict[str, Any]) -> None:
    """The figures the issue asks for, beside what it asks."""
    table = Table(title=f"vision against truth on {figures['frames']} frames")
    for column in ("what", "asked", "found"):
        table.add_column(column)
    shares = (
        ("terrain: non-ground cells found", "98 %", figures["terrain"]["non_ground_found"]),
        ("terrain: ground cells found", "99.9 %", figures["terrain"]["ground_found"]),
        ("gap edges within 6 px", "all", figures["gaps"]["edges_within_6_px"]),
        ("nearest distances within 10 px", "95 %", figures["nearest_under_500_px"]["within_10_px"]),
        ("nearest distances within 5 px", "99 %", figures["nearest_under_500_px"]["within_5_px"]),
        ("HUD values exact, raw", "99 %", figures["hud"]["raw_exact"]),
        ("HUD values exact, believed", "99 %", figures["hud"]["believed_exact"]),
        ("cliff flag agrees", "", figures["cliff_flag_agrees"]),
    )
    for what, asked, share in shares:
        table.add_row(what, asked, "none seen" if share is None else f"{share:.3%}")
    table.add_row("seeing, CPU ms a frame (p50)", "12", str(figures["see_cpu_ms"].get("p50", "none seen")))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(run_command(EyesAgreement, sys.argv[1:], "benchmarks/eyes_agreement.py"))
