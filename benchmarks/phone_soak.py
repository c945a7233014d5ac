"""Training on the stand-in phone with a fault every 20 s: does it hang, lose a save, leave a finger down?

    python benchmarks/phone_soak.py [--seconds 1800] [--every-s 20] [--seed 0] [--json FILE] [--document FILE]

The real adb server on a private port, a stand-in phone behind it (`tests/rigs/phone`), and `train_ppo.py
--device phone` as a program of its own: wall clock, vision. Faults are drawn from a seeded list. At the
end the training gets Ctrl-C, its files are read, and it is resumed to its next save. Exits with 1 where
something that is wanted does not hold. Main thread.
"""

from __future__ import annotations

import contextlib
import csv
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from greatwall.commands import run_command
from greatwall.commands.bench import load_1min, machine
from greatwall.commands.output import check_output, write_between, write_json
from greatwall.contracts import INTERRUPTIONS
from greatwall.errors import DeviceError, FileFormatError
from greatwall.learning.run_files import RunFiles
from greatwall.learning.training_state import read_state
from greatwall.policies.policy_file import load_policy
from tests.rigs.adb import AdbServer, debian_adb, start_adb_server
from tests.rigs.phone import PhoneSettings, StandInPhone
from tests.rigs.phone.settings import GAME_PACKAGE

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).with_suffix(".json")
DOCUMENT = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- phone_soak: begin -->", "<!-- phone_soak: end -->"
LOOK_S = 0.5
RSS_EVERY_S = 10.0
LEAVE_S = 90.0  # after Ctrl-C
RESUME_S, RESUMED_STEPS = 300.0, 64
QUIET_S = 60.0  # this long without a touch or an episode is a hang: recovery, restart and update included
FINGER_S = 2.0  # swipes last 0.1 s
COVERED_S = 4.0  # what is in front is asked every 2 s, and a phone under load takes its time
GROWTH = 0.05  # of the trainer's memory between the second and the last fifth of the time

# Fault, its settings, and how long it lasts, s; None: until it is answered, or the next one begins.
Span = tuple[float, float] | None
FAULTS: tuple[tuple[str, dict[str, Any], Span], ...] = (
    ("unauthorized", {}, (3, 6)),
    ("offline", {}, (3, 6)),
    ("disconnect", {}, (3, 6)),
    ("hang", {}, (3, 6)),
    ("delay", {"by_s": 0.5}, (4, 8)),
    ("drop", {"share": 0.2, "of": "frames"}, (4, 8)),
    ("drop", {"share": 0.5, "of": "touches"}, (4, 8)),
    ("drop", {"share": 0.05, "of": "bytes"}, (2, 4)),
    ("rotate", {}, (2, 5)),
    ("rotate", {"mid_swipe": True}, (2, 5)),
    ("popup", {}, None),
    ("popup", {"stubborn": True}, (3, 6)),
    ("other_app", {}, None),
    ("cut_frame", {"of": "video"}, None),
    ("cut_frame", {"of": "payload"}, None),
    ("garbage", {"of": "video"}, None),
    ("garbage", {"of": "shell"}, None),
    ("stop_video", {}, (4, 8)),
)


DEAFENING = ("unauthorized", "offline", "disconnect", "hang")  # no touch reaches the phone meanwhile


def drawn_faults(seed: int) -> Iterator[tuple[str, dict[str, Any], float | None]]:
    """Faults without end, each of the list once before any comes again."""
    chance = random.Random(f"phone soak {seed}")
    while True:
        for name, how, span in chance.sample(FAULTS, len(FAULTS)):
            yield name, how, None if span is None else round(chance.uniform(*span), 2)


@dataclass
class Seen:
    """What the soak saw of the phone and the trainer."""

    began_s: float = field(default_factory=time.monotonic)
    faults: list[dict[str, Any]] = field(default_factory=list)
    rss_mb: list[tuple[float, float]] = field(default_factory=list)
    finger_down_s: float = 0.0  # while the phone could be told to lift it
    finger_down_in_all_s: float = 0.0
    finger_after: str = ""  # the fault that was the last then
    quiet_s: float = 0.0
    covered_touches: int = 0
    covered_s: float = 0.0  # the latest such touch after the cover came
    saves: int = 0
    broken_saves: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def after_s(self) -> float:
        return time.monotonic() - self.began_s


class Watch:
    """Looks at the phone and at the files every half second. Main thread."""

    def __init__(self, phone: StandInPhone, files: RunFiles, pid: int) -> None:
        self.seen = Seen()
        self._phone, self._files, self._pid = phone, files, pid
        self._fingers: dict[str, float] = {}
        self.deaf_until_s = 0.0  # no touch reaches the phone before
        self._active_s = time.monotonic()
        self._progress: tuple[int, int] = (-1, -1)
        self._covered_at: float | None = None
        self._judged_to_s = time.monotonic()
        self._saved: float | None = None
        self._rss_due_s = 0.0
        self.begun = False

    def look(self) -> None:
        facts = self._phone.facts("now_s", "fingers_down", "foreground", "touches", "downs_kept", "is_awake")
        now_s = time.monotonic()
        self._judge_fingers(facts["fingers_down"], now_s)
        self._judge_covered(facts, now_s)
        rows = _lines(self._files.episodes)
        self._note_save()
        progress = (facts["downs_kept"], rows)
        if progress != self._progress:
            self._progress, self._active_s = progress, now_s
            self.begun = self.begun or facts["downs_kept"] > 0
        if self.begun:
            self.seen.quiet_s = max(self.seen.quiet_s, now_s - self._active_s)
        if now_s >= self._rss_due_s:
            self._rss_due_s = now_s + RSS_EVERY_S
            rss_mb = rss_mb_of(self._pid)
            if rss_mb is not None:
                self.seen.rss_mb.append((round(self.seen.after_s(), 1), rss_mb))

    def _judge_fingers(self, down: list[str], now_s: float) -> None:
        self._fingers = {one: self._fingers.get(one, now_s) for one in down}
        since_s = min(self._fingers.values(), default=now_s)
        self.seen.finger_down_in_all_s = max(self.seen.finger_down_in_all_s, now_s - since_s)
        told_s = now_s - max(since_s, self.deaf_until_s)
        if told_s > self.seen.finger_down_s:
            self.seen.finger_down_s = told_s
            self.seen.finger_after = self.seen.faults[-1]["name"] if self.seen.faults else ""

    def _judge_covered(self, facts: dict[str, Any], now_s: float) -> None:
        """Fingers put down while something else than the game had the focus."""
        covered = facts["foreground"] != GAME_PACKAGE
        if covered and self._covered_at is None:
            self._covered_at = now_s
        if self._covered_at is not None:
            for one in facts["touches"]:
                if one["action"] == "down" and one["at_s"] > max(self._covered_at, self._judged_to_s):
                    self.seen.covered_touches += 1
                    self.seen.covered_s = max(self.seen.covered_s, one["at_s"] - self._covered_at)
        self._judged_to_s = now_s
        if not covered:
            self._covered_at = None

    def _note_save(self) -> None:
        try:
            changed = self._files.state.stat().st_mtime
        except FileNotFoundError:
            return
        if changed == self._saved:
            return
        self._saved = changed
        self.seen.saves += 1
        try:
            read_state(self._files.state)
        except FileFormatError as error:
            self.seen.broken_saves.append(str(error))


def rss_mb_of(pid: int) -> float | None:
    """Resident memory of a process, MB; None where the system does not say."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmRSS:"):
                return round(int(line.split()[1]) / 1024, 1)
    return None


def _lines(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.read_bytes().count(b"\n")
    return 0


def trainer(
    server: AdbServer, serial: str, files: RunFiles, timesteps: int, log: Path
) -> subprocess.Popen[bytes]:
    """`train_ppo.py` on the phone: the paper's preset, which saves every 256 steps."""
    command = [
        sys.executable, str(ROOT / "train_ppo.py"), "--device", "phone", "--serial", serial,
        "--preset", "paper", "--timesteps", str(timesteps), "--exam-episodes", "0",
        "--models", str(files.models), "--logs", str(files.logs),
    ]  # fmt: skip
    with log.open("ab") as out:
        return subprocess.Popen(
            command, cwd=ROOT, env=server.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )


def leave(process: subprocess.Popen[bytes]) -> int | None:
    """Ctrl-C, and its exit status; None, and killed, where it hangs."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        return process.wait(timeout=LEAVE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def soak(
    phone: StandInPhone,
    process: subprocess.Popen[bytes],
    files: RunFiles,
    seconds: float,
    every_s: float,
    seed: int,
    console: Console,
) -> Seen:
    """Faults until the time is up or the trainer ends. The first begins once it plays."""
    watch = Watch(phone, files, process.pid)
    seen, pause = watch.seen, threading.Event()
    faults = drawn_faults(seed)
    next_s: float | None = None
    while seen.after_s() < seconds and process.poll() is None:
        watch.look()
        now_s = time.monotonic()
        if next_s is None and watch.begun:
            next_s = now_s + every_s
        if next_s is not None and now_s >= next_s:
            next_s += every_s
            name, how, for_s = next(faults)
            phone.behave()
            phone.misbehave(name, for_s, **how)
            if name in DEAFENING or how.get("of") in ("touches", "bytes"):
                watch.deaf_until_s = now_s + (for_s or 0.0)
            seen.faults.append({"at_s": round(seen.after_s(), 1), "name": name, **how, "for_s": for_s})
            console.print(f"{seen.after_s():6.0f} s  {name} {how or ''} {for_s or ''}", highlight=False)
        pause.wait(LOOK_S)
    phone.behave()
    seen.seconds = round(seen.after_s(), 1)
    return seen


def episodes_of(files: RunFiles) -> list[dict[str, str]]:
    """The rows of monitor.csv."""
    with files.episodes.open(encoding="utf-8", newline="") as file:
        file.readline()
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class PhoneSoak:
    """Train on the stand-in phone while it misbehaves."""

    seconds: float = 1800.0
    """How long, the start of the trainer included."""
    every_s: float = 20.0
    """Between faults."""
    seed: int = 0
    """Of the faults and of the phone's game."""
    json: Path = RESULT
    """Where the figures go."""
    document: Path | None = None
    """The page whose table is filled, docs/performance.md say."""
    keep: Path | None = None
    """An empty or new folder for the run's files and the trainer's words; else they are thrown away."""

    def run(self) -> int:
        check_output(self.json, "--json")
        console = Console(width=110)
        with contextlib.ExitStack() as stack:
            if self.keep is not None:
                folder = self.keep
                folder.mkdir(parents=True, exist_ok=True)
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            result = self._soak(folder, stack, console)
        write_json(self.json, result)
        table = table_of(result)
        console.print(table, highlight=False, markup=False)
        if self.document is not None:
            write_between(self.document, BEGIN, END, table)
        return 0 if all(one["holds"] for one in result["wanted"]) else 1

    def _soak(self, folder: Path, stack: contextlib.ExitStack, console: Console) -> dict[str, Any]:
        program = debian_adb()
        if program is None:
            raise DeviceError("expected adb on the path, found none; install it (Debian: apt install adb)")
        (folder / "adb").mkdir()
        server = start_adb_server(program, folder / "adb")
        stack.callback(server.stop)
        phone = stack.enter_context(StandInPhone(PhoneSettings(touch_delay_s=(0.1, 0.15), seed=self.seed)))
        server.connect(phone.serial)
        files = RunFiles(folder / "models", folder / "logs")
        log = folder / "trainer.log"
        process = trainer(server, phone.serial, files, 10_000_000, log)
        try:
            seen = soak(phone, process, files, self.seconds, self.every_s, self.seed, console)
            died = process.poll()
            status = leave(process)
        finally:
            leave(process)
        facts = phone.facts()
        rows = episodes_of(files) if files.episodes.exists() else []
        saved = read_state(files.state).counters.timesteps if files.state.exists() else 0
        if files.interrupt.exists():
            load_policy(files.interrupt)
        resumed = trainer(server, phone.serial, files, saved + RESUMED_STEPS, log)
        try:
            resumed_status: int | None = resumed.wait(timeout=RESUME_S)
        except subprocess.TimeoutExpired:
            resumed_status = leave(resumed)
        words = without_folder(log.read_text(encoding="utf-8", errors="replace"), folder).splitlines()
        return self._result(seen, facts, rows, saved, died, status, resumed_status, words)

    def _result(
        self,
        seen: Seen,
        facts: dict[str, Any],
        rows: list[dict[str, str]],
        saved: int,
        died: int | None,
        status: int | None,
        resumed_status: int | None,
        words: list[str],
    ) -> dict[str, Any]:
        interrupted = Counter(row["interruption"] for row in rows if row["interruption"])
        ended = len(rows) - sum(interrupted.values())
        fallen = len(facts["runs"])
        unlabelled = max(0, ended - fallen) + sum(
            count for word, count in interrupted.items() if word not in INTERRUPTIONS
        )
        growth = memory_growth([mb for _, mb in seen.rss_mb])
        left = facts["fingers_down"]
        grown = "too short to tell" if growth is None else f"{growth:+.1%}"
        covered = f"{seen.covered_s:.1f} s, {seen.covered_touches} in all"
        broken = len(seen.broken_saves)
        wanted = [
            verdict("trainer's exit status after Ctrl-C", "130", status, died is None and status == 130),
            verdict("longest time without touch or episode, s", f"< {QUIET_S:g}", round(seen.quiet_s),
                    seen.quiet_s < QUIET_S),
            verdict("saves that cannot be read", "0", f"{broken} of {seen.saves}", seen.saves > broken == 0),
            verdict("exit status when resumed from the last save", "0", resumed_status, resumed_status == 0),
            verdict("longest time a finger was down while touches could reach the phone, s",
                    f"< {FINGER_S:g}", f"{seen.finger_down_s:.1f} ({seen.finger_down_in_all_s:.1f} in all)",
                    seen.finger_down_s < FINGER_S),
            verdict("fingers down at the end", "0", len(left), not left),
            verdict("latest touch after another window came", f"< {COVERED_S:g} s", covered,
                    seen.covered_s < COVERED_S),
            verdict("episodes ended by neither a fall nor a word", "0", f"{unlabelled} of {len(rows)}",
                    bool(rows) and not unlabelled),
            verdict("growth of the trainer's memory", f"< {GROWTH:.0%}", grown,
                    growth is None or growth < GROWTH),
            verdict("errors of the stand-in phone itself", "0", len(facts["errors"]), not facts["errors"]),
        ]  # fmt: skip
        return {
            "command": (
                f"python benchmarks/phone_soak.py --seconds {self.seconds:g} --every-s {self.every_s:g} "
                f"--seed {self.seed}"
            ),
            "machine": machine(),
            "load_1min": load_1min(),
            "seconds": seen.seconds,
            "faults": seen.faults,
            "fault_counts": dict(Counter(one["name"] for one in seen.faults)),
            "interruptions": dict(interrupted),
            "episodes": len(rows),
            "falls": fallen,
            "steps_saved": saved,
            "rss_mb": seen.rss_mb,
            "finger_after": seen.finger_after,
            "wanted": wanted,
            "trainer_said": words[-20:],
        }


def memory_growth(rss_mb: list[float]) -> float | None:
    """Median of the last fifth over that of the second fifth, less 1; None for less than ten minutes, in
    which what is loaded at the start would weigh most."""
    if len(rss_mb) * RSS_EVERY_S < 600:
        return None
    fifth = len(rss_mb) // 5
    before, after = statistics.median(rss_mb[fifth : 2 * fifth]), statistics.median(rss_mb[-fifth:])
    return after / before - 1


def without_folder(words: str, folder: Path) -> str:
    """What is published names no path of this machine."""
    return words.replace(f"{folder}/", "")


def verdict(what: str, wanted: str, found: object, holds: bool) -> dict[str, Any]:
    """One row of the table."""
    return {"what": what, "wanted": wanted, "found": str(found), "holds": holds}


def table_of(result: dict[str, Any]) -> str:
    """The result as the page shows it."""
    cores = result["machine"]["cores"]
    faults = ", ".join(f"{name} {count}" for name, count in sorted(result["fault_counts"].items()))
    words = ", ".join(f"{name} {count}" for name, count in sorted(result["interruptions"].items()))
    fell = result["episodes"] - sum(result["interruptions"].values())
    lines = [
        f"`{result['command']}`: {cores} cores, 1-minute load {result['load_1min']} at the end.",
        f"{len(result['faults'])} faults in {result['seconds']} s ({faults or 'none'}).",
        f"{result['episodes']} episodes: {fell} ended in a fall, the others by {words or 'nothing'}.",
        f"{result['steps_saved']:,} steps saved.",
        "",
        "| | wanted | measured | holds |",
        "|---|---|---|---|",
    ]
    for one in result["wanted"]:
        lines.append(
            f"| {one['what']} | {one['wanted']} | {one['found']} | {'yes' if one['holds'] else '**no**'} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run_command(PhoneSoak, sys.argv[1:], "benchmarks/phone_soak.py"))
