"""Play on a phone behind the real adb and measure it: rates, the true age of frames, touches, CPU.

    python benchmarks/phone_rates.py [--seconds 120] [--policy rule] [--json FILE] [--document FILE]

A stand-in phone (`tests/rigs/phone`) runs as a process of its own behind an adb server of its own. It
draws the time into every frame, so the age of a frame is what it really is; a real phone can tell a lower
bound only. Vision, wall clock, scrcpy's video and touches, no windows. Writes JSON and the table of
docs/performance.md between its markers. On a machine that others use too, `chrt -r 1 python
benchmarks/phone_rates.py` (Linux, as root) gives it the cores when it wants them; the result says so.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.worker_profile import busy_elsewhere, goes_first
from config import Config, PhoneConfig
from greatwall.assembly import build_env, build_eyes, check_seed, make_config
from greatwall.commands import run_command
from greatwall.commands.bench import load_1min, machine
from greatwall.commands.output import check_output, write_between, write_json
from greatwall.contracts import ActionOrder, Eyes, Frame, HudRead, Perception, Sight
from greatwall.errors import ConfigError
from greatwall.metrics.timing import percentile
from greatwall.players import make_player
from greatwall.worker.trace import Trace
from greatwall.worker.watch import watch
from ppo_acting import Worker
from tests.rigs.adb import AdbServer, bundled_adb, debian_adb, start_adb_server
from tests.rigs.phone import PhoneSettings, StandInPhone, timecode

RESULT = Path(__file__).with_suffix(".json")
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- phone_rates: begin -->", "<!-- phone_rates: end -->"
REMEMBERED = 10_000


@dataclass(frozen=True)
class Rates:
    """Measure the whole system on a stand-in phone."""

    seconds: float = 120.0
    policy: str = "rule"
    """a policy file, rule, random or idle"""
    width: int = 1280
    """px of the phone's screen, held sideways"""
    height: int = 720
    seed: int = 2_000_000
    """of the phone's first course"""
    json: Path = RESULT
    """where the result goes"""
    document: Path | None = DOCUMENT
    """the document whose table is written anew"""

    def run(self) -> int:
        check_seed(self.seed)
        check_output(self.json, "--json")
        result = measure(self)
        write_json(self.json, result)
        text = table(result)
        if self.document is not None:
            write_between(self.document, BEGIN, END, text)
        Console().print(text, markup=False, highlight=False, soft_wrap=True)
        return 0


class TrueAges(Trace):
    """When each frame was drawn on the phone, and how old it was when perceived and when decided on."""

    def __init__(self, config: Config) -> None:
        super().__init__(Path(os.devnull), config.profile, kept=1)
        self.perceived_ms: list[float] = []
        self.decided_ms: list[float] = []
        self.claimed_ms: list[float] = []  # how much later than drawn the device says it was captured
        self.unreadable = 0
        self._drawn_s: dict[int, float] = {}
        self._order: deque[int] = deque()

    def saw(self, frame: Frame) -> None:
        """Read a frame's code; the eyes have its pixels by now."""
        age_s = timecode.age_s(frame.bgr, time.monotonic())
        if age_s is None:
            self.unreadable += 1
            return
        drawn_s = time.monotonic() - age_s
        self._drawn_s[frame.frame_id] = drawn_s
        self.claimed_ms.append(1000 * (frame.captured_at_s - drawn_s))
        self._order.append(frame.frame_id)
        if len(self._order) > REMEMBERED:
            del self._drawn_s[self._order.popleft()]

    def perceived(
        self, perception: Perception, began_s: float, drawn_s: float, seen_s: float, ended_s: float
    ) -> None:
        if perception.frame_id in self._drawn_s:
            self.perceived_ms.append(1000 * (ended_s - self._drawn_s[perception.frame_id]))

    def taken(self, order: ActionOrder, basis: Perception | None, at_s: float, touched_s: float) -> None:
        if basis is not None and basis.frame_id in self._drawn_s:
            self.decided_ms.append(1000 * (at_s - self._drawn_s[basis.frame_id]))


class CodeReadingEyes:
    """Eyes that also read the time on each frame, after they have seen it."""

    def __init__(self, eyes: Eyes, ages: TrueAges) -> None:
        self._eyes = eyes
        self._ages = ages

    def see(self, frame: Frame) -> Sight:
        sight = self._eyes.see(frame)
        self._ages.saw(frame)
        return sight

    def read_hud(self, frame: Frame) -> HudRead:
        return self._eyes.read_hud(frame)

    def reset(self) -> None:
        self._eyes.reset()

    def close(self) -> None:
        self._eyes.close()


def measure(options: Rates) -> dict[str, Any]:
    """Start adb and the phone, play, end both; the figures."""
    program = debian_adb() or bundled_adb()
    if program is None:
        raise ConfigError("no adb: expected one on the path or in adbutils, found neither; install adb")
    settings = PhoneSettings(width=options.width, height=options.height, seed=options.seed, time_code=True)
    with tempfile.TemporaryDirectory() as home, StandInPhone(settings) as phone:
        server = start_adb_server(program, Path(home))
        try:
            server.connect(phone.serial)
            return play(options, server, phone)
        finally:
            server.stop()


def play(options: Rates, server: AdbServer, phone: StandInPhone) -> dict[str, Any]:
    look = PhoneConfig(serial=phone.serial, adb_port=server.port, capture="scrcpy", touch="scrcpy")
    config = make_config(device="phone", eyes="vision", clock="wall", phone=look)
    ages = TrueAges(config)
    env = build_env(config, eyes=CodeReadingEyes(build_eyes(config), ages))
    worker = cast("Worker", env.worker)
    worker.trace = ages
    processes = {"phone (stand-in)": phone.pid, "adb server": server.process.pid}
    cpu_s = {name: process_cpu_s(pid) for name, pid in processes.items()}
    others_s, before, began_s = busy_elsewhere(), phone.facts(), time.perf_counter()
    figures = watch(
        env, worker, make_player(options.policy, config), config, seconds=options.seconds, headless=True
    )
    elapsed_s, facts = time.perf_counter() - began_s, phone.facts()
    spent_s = {name: process_cpu_s(pid) - cpu_s[name] for name, pid in processes.items()}
    others_s = busy_elsewhere() - others_s - sum(spent_s.values())
    return {
        "command": command(options),
        "goes_first": goes_first(),
        "machine": machine(),
        "figures": figures,
        "true_age_ms": {
            "perceived": spread(ages.perceived_ms),
            "decided": spread(ages.decided_ms),
            "claimed_after_drawn": spread(ages.claimed_ms),
            "unreadable": ages.unreadable,
        },
        "phone": {
            "size": [options.width, options.height],
            "screen_turns": facts["screen_turns"] - before["screen_turns"],
            "screen_late": facts["screen_late"] - before["screen_late"],
            "deaths": len(facts["runs"]),
            "distances_m": [run["distance_m"] for run in facts["runs"]],
            "downs_kept": facts["downs_kept"],
            "touches_dropped": facts["touches_dropped"],
            "fingers_down": facts["fingers_down"],
        },
        "cores": {
            "this system": round(figures["cpu_ms_per_frame"] * figures["frames"] / 1000 / elapsed_s, 3),
            **{name: round(value / elapsed_s, 3) for name, value in spent_s.items()},
            "everything else": round(others_s / elapsed_s, 3),
        },
        "load_average_1min": load_1min(),
    }


def spread(values_ms: list[float]) -> dict[str, float | None]:
    """{"p50", "p95"} in ms; None of no values."""
    if not values_ms:
        return {"p50": None, "p95": None}
    return {name: round(percentile(values_ms, share), 2) for name, share in (("p50", 0.5), ("p95", 0.95))}


def process_cpu_s(pid: int) -> float:
    """CPU seconds of another process so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def command(options: Rates) -> str:
    before = "chrt -r 1 " if goes_first() else ""
    size = f" --width {options.width} --height {options.height}"
    return (
        f"{before}python benchmarks/phone_rates.py --seconds {options.seconds:g} "
        f"--policy {Path(options.policy).name}{size}"
    )


def table(result: dict[str, Any]) -> str:
    """The part of docs/performance.md that this command writes."""
    figures, ages, phone, cores = (result[name] for name in ("figures", "true_age_ms", "phone", "cores"))
    about = result["machine"]
    others = f"{cores['everything else']:.2f} cores (1-minute load {result['load_average_1min']})"

    def ms(value: float | None) -> str:
        return "none" if value is None else f"{value:.1f} ms"

    def both(spread_ms: dict[str, float | None]) -> str:
        return f"{ms(spread_ms['p50'])} / {ms(spread_ms['p95'])}"

    rows = [
        ("frames/s perceived", "30", f"{figures['loop_fps']:.2f}"),
        ("frames/s grabbed", "30", f"{figures['grab_fps']:.2f}"),
        (
            "turns of the phone's screen that came late",
            "",
            f"{phone['screen_late']} of {phone['screen_turns']}",
        ),
        ("true age when perceived, p50 / p95", "p95 at most 70 ms", both(ages["perceived"])),
        ("true age when decided on, p50 / p95", "", both(ages["decided"])),
        ("told time of capture after the true one, p50 / p95", "", both(ages["claimed_after_drawn"])),
        ("frames whose code could not be read", "0", str(ages["unreadable"])),
        ("touch call, p50 / p95", "p95 at most 2 ms", both(figures["touch_ms"])),
        ("detector and scan, p50 / p95", "", both(figures["detector_ms"])),
        ("deaths, each with a restart", "several", str(phone["deaths"])),
        (
            "fingers put down / events dropped for a wrong size",
            "",
            f"{phone['downs_kept']} / {phone['touches_dropped']}",
        ),
        *(
            (f"cores used by {name}", "", f"{used:.2f}")
            for name, used in cores.items()
            if name != "everything else"
        ),
    ]
    lines = [
        f"`{result['command']}`: {about['cores']} cores ({about['processor']}), Python {about['python']}.",
        f"Other programs used {others} meanwhile{', and had to stand back' * result['goes_first']}.",
        "",
        "| figure | wanted | measured |",
        "|---|---|---|",
        *(f"| {name} | {wanted} | {measured} |" for name, wanted, measured in rows),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run_command(Rates, sys.argv[1:], "benchmarks/phone_rates.py"))
