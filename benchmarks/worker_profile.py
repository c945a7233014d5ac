"""Where the Worker's time goes: vision on the wall clock, three threads, no windows, while a player plays.

    python benchmarks/worker_profile.py [--seconds 120] [--policy rule] [--json FILE] [--document FILE]

Two runs: a plain one for the figures, then one with a stopwatch around each stage, which reads the wall
clock, the thread's CPU time and the time it waited for a core (/proc, Linux). What is left of the wall
time is blocking: the GIL, a lock, or another thread's inference. Writes JSON and the tables of
docs/performance.md between its markers. Main thread; stopwatches run on the thread they measure.
On a machine that others use too, `chrt -r 1 python benchmarks/worker_profile.py` (Linux, as root) gives it
the cores when it wants them; the result says so.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from greatwall.assembly import build_env, check_seed, make_config
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_between, write_json
from greatwall.device import simulator
from greatwall.eyes import band, detector, hud, networks, terrain
from greatwall.players import make_player
from greatwall.worker.watch import watch
from ppo_acting import Worker
from rule_engine import RuleEngine

RESULT = Path(__file__).with_suffix(".json")
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- worker_profile: begin -->", "<!-- worker_profile: end -->"
# Who owns the call, its name, what it is called in the table; inner stages are indented.
STAGES: tuple[tuple[Any, str, str], ...] = (
    (Worker, "turn", "main loop: whole turn"),
    (simulator._Moment, "draw", "draw the frame (the simulator's side)"),  # noqa: SLF001
    (detector.Detector, "detect", "detector, whole"),
    (band.Band, "picture", "detector: crop and resize"),
    (cv2.dnn, "blobFromImage", "detector: to float, RGB, planes"),
    (networks.OpenVinoNetwork, "infer", "detector: inference"),
    (networks.OnnxNetwork, "infer", "detector: inference"),
    (detector, "decode", "detector: decode and NMS"),
    (terrain.TerrainScanner, "scan", "ground scan"),
    (RuleEngine, "perceive", "rules and tracking"),
    (Worker, "finish_action", "end of a step"),
    (Worker, "take_action", "order taken and touch"),
    (Worker, "grab", "grab: one look at the device"),
    (hud.HudReader, "read", "OCR: whole read"),
    (hud.TesserocrEngine, "texts", "OCR: Tesseract"),
    (hud.PytesseractEngine, "texts", "OCR: Tesseract"),
)


@dataclass(frozen=True)
class Profile:
    """Measure the Worker at work, and where its time goes."""

    seconds: float = 120.0
    """of each of the two runs"""
    policy: str = "rule"
    """a policy file, rule, random or idle"""
    seed: int = 2_000_000
    """of the first course"""
    json: Path = RESULT
    """where the result goes"""
    document: Path | None = DOCUMENT
    """the document whose tables are written anew"""

    def run(self) -> int:
        check_seed(self.seed)
        check_output(self.json, "--json")
        result = measure(self)
        write_json(self.json, result)
        text = tables(result)
        if self.document is not None:
            write_between(self.document, BEGIN, END, text)
        Console().print(text, markup=False, highlight=False, soft_wrap=True)
        return 0


class Stopwatch:
    """Wall, CPU and queued seconds of each call of a stage, by name. Each list is appended by one thread."""

    def __init__(self) -> None:
        self.calls: dict[str, list[tuple[float, float, float]]] = {}
        self._local = threading.local()

    def around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """`call`, measured."""
        kept = self.calls.setdefault(name, [])

        @functools.wraps(call)
        def measured(*args: Any, **kwargs: Any) -> Any:
            wall_s, cpu_s, queued_s = time.perf_counter(), time.thread_time(), self._queued_s()
            try:
                return call(*args, **kwargs)
            finally:
                kept.append(
                    (
                        time.perf_counter() - wall_s,
                        time.thread_time() - cpu_s,
                        self._queued_s() - queued_s,
                    )
                )

        return measured

    def _queued_s(self) -> float:
        """Seconds this thread was ready to run and had no core; 0 where the system does not tell."""
        file = getattr(self._local, "file", None)
        if file is None:
            try:
                file = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)
            except OSError:
                file = -1
            self._local.file = file
        return int(os.pread(file, 80, 0).split()[1]) / 1e9 if file >= 0 else 0.0

    def table(self, frames: int) -> list[dict[str, Any]]:
        """One row a stage, in the order of `STAGES`; times in ms."""
        rows = []
        for name in dict.fromkeys(name for _, _, name in STAGES):
            calls = np.array(self.calls.get(name, [])).reshape(-1, 3) * 1000
            if not len(calls):
                continue
            wall, cpu, queued = calls.T
            p50, p95 = np.percentile(wall, [50, 95])
            rows.append(
                {
                    "stage": name,
                    "calls_per_frame": round(len(calls) / frames, 3),
                    "cpu_ms": round(float(cpu.mean()), 3),
                    "wall_ms_mean": round(float(wall.mean()), 3),
                    "wall_ms_p50": round(float(p50), 3),
                    "wall_ms_p95": round(float(p95), 3),
                    "waited_for_a_core_ms": round(float(queued.mean()), 3),
                    "blocked_ms": round(float((wall - cpu - queued).clip(0).mean()), 3),
                    "cpu_ms_per_frame": round(float(cpu.sum()) / frames, 3),
                }
            )
        return rows


@contextlib.contextmanager
def stopwatches() -> Iterator[Stopwatch]:
    """Every stage of `STAGES` measured while inside."""
    stopwatch = Stopwatch()
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in STAGES]
    for owner, name, label in STAGES:
        setattr(owner, name, stopwatch.around(label, getattr(owner, name)))
    try:
        yield stopwatch
    finally:
        for owner, name, call in before:
            setattr(owner, name, call)


class Threads:
    """CPU seconds of each thread of this process while inside, by name; Linux."""

    def __enter__(self) -> Threads:
        self._before = self._now()
        return self

    def __exit__(self, *error: object) -> None:
        """`sample` has the figures: the Worker's threads are gone by now."""

    def sample(self) -> dict[str, float]:
        names = {thread.native_id: thread.name for thread in threading.enumerate()}
        found: dict[str, float] = {}
        for number, cpu_s in self._now().items():
            name = names.get(number, "other (inference pool, libraries)")
            found[name] = found.get(name, 0.0) + cpu_s - self._before.get(number, 0.0)
        return found

    @staticmethod
    def _now() -> dict[int, float]:
        found = {}
        for folder in Path("/proc/self/task").glob("*"):
            with contextlib.suppress(OSError):
                found[int(folder.name)] = int((folder / "schedstat").read_text().split()[0]) / 1e9
        return found


def busy_elsewhere() -> float:
    """CPU seconds used on this machine by all but this process; of use are its differences. Linux."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(one) for one in file.readline().split()[1:]]
    except OSError:
        return 0.0
    used = sum(fields) - fields[3] - fields[4]
    return used / os.sysconf("SC_CLK_TCK") - time.process_time()


def goes_first() -> bool:
    """Whether this process runs before all ordinary ones: a real-time scheduling class."""
    if not hasattr(os, "sched_getscheduler"):
        return False
    return os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)


def run_once(
    options: Profile, seconds: float, frames: list[int], threads: dict[str, float]
) -> dict[str, Any]:
    """One run of `ppo_acting.py --headless`; its figures, and how busy the machine was otherwise."""
    config = make_config(eyes="vision", clock="wall", seed=options.seed)
    player = make_player(options.policy, config)
    env = build_env(config)
    worker = cast("Worker", env.worker)
    others_s, began_s = busy_elsewhere(), time.perf_counter()
    done = threading.Event()

    def sample(counting: Threads) -> None:
        """Shortly before the end, while all threads are there."""
        done.wait(max(0.0, seconds - 0.5))
        threads.update(counting.sample())
        frames.append(worker.turns)

    with Threads() as counting:
        sampler = threading.Thread(target=sample, args=(counting,), name="sampler", daemon=True)
        sampler.start()
        figures = watch(env, worker, player, config, seed=options.seed, seconds=seconds, headless=True)
        done.set()
        sampler.join(5.0)
    elapsed_s = time.perf_counter() - began_s
    return {
        **figures,
        "others_used_cores": round((busy_elsewhere() - others_s) / elapsed_s, 2),
        "load_average_1min": round(os.getloadavg()[0], 2),
        "frames_shown": round(figures["seconds"] * 30),
        "overwritten": worker.slot.overwritten,
    }


def measure(options: Profile) -> dict[str, Any]:
    plain = run_once(options, options.seconds, [], {})
    frames: list[int] = []
    threads: dict[str, float] = {}
    with stopwatches() as stages:
        measured = run_once(options, options.seconds, frames, threads)
    count = max(1, frames[0])
    before = "chrt -r 1 " if goes_first() else ""
    return {
        "command": (
            f"{before}python benchmarks/worker_profile.py --seconds {options.seconds:g} "
            f"--policy {shlex.quote(options.policy)}"
        ),
        "goes_first": goes_first(),
        "machine": machine(),
        "plain": plain,
        "with_stopwatches": measured,
        "stages": stages.table(measured["frames"]),
        "threads_cpu_ms_per_frame": {
            name: round(1000 * cpu_s / count, 3) for name, cpu_s in sorted(threads.items()) if cpu_s > 0.001
        },
    }


def tables(result: dict[str, Any]) -> str:
    """The part of docs/performance.md that this command writes."""
    plain = result["plain"]
    machine_ = result["machine"]
    age, decision = plain["frame_age_ms"], plain["decision_age_ms"]
    where = f"{machine_['cores']} cores ({machine_['processor']}), Python {machine_['python']}"
    beside = f"{plain['others_used_cores']:.2f} cores (1-minute load {plain['load_average_1min']:.2f})"
    lines = [
        f"`{result['command']}`: {where}.",
        f"Other programs used {beside} meanwhile{', and had to stand back' * result['goes_first']}.",
        "",
        "| figure | wanted | measured |",
        "|---|---|---|",
        f"| perceived frames/s | 30 | {plain['loop_fps']:.2f} |",
        f"| frame age at decision, p50 | | {decision['p50']:.1f} ms |",
        f"| frame age at decision, p95 | at most 70 ms | {decision['p95']:.1f} ms |",
        f"| frame age at publication, p50 / p95 | | {age['p50']:.1f} / {age['p95']:.1f} ms |",
        f"| OCR every | 0.3 s | {plain['hud_period_s']:.3f} s |",
        f"| one OCR read, p50 / p95 | | {plain['hud_ms']['p50']:.1f} / {plain['hud_ms']['p95']:.1f} ms |",
        f"| frames lost while the main loop was busy | | {plain['overwritten']} of {plain['frames_shown']} |",
        f"| CPU a perceived frame, start-up included | | {plain['cpu_ms_per_frame']:.1f} ms |",
        "",
        "Where it goes, from the second run, ms a call:",
        "",
        "| stage | calls a frame | CPU | wall p50 | wall p95 | waited for a core | blocked |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["stages"]:
        numbers = (
            row["calls_per_frame"],
            row["cpu_ms"],
            row["wall_ms_p50"],
            row["wall_ms_p95"],
            row["waited_for_a_core_ms"],
            row["blocked_ms"],
        )
        lines.append(f"| {row['stage']} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |")
    lines += ["", "| thread | CPU ms a perceived frame |", "|---|---|"]
    lines += [f"| {name} | {ms:.2f} |" for name, ms in result["threads_cpu_ms_per_frame"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run_command(Profile, sys.argv[1:], "benchmarks/worker_profile.py"))
