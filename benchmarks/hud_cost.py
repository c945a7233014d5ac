"""What Tesseract costs: one look at all four HUD fields through tesserocr and through pytesseract.

    python benchmarks/hud_cost.py [--reads 60] [--json FILE]

The same frames go through each way. CPU time includes the processes that pytesseract starts (POSIX
only). Main thread.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from config import Config, EyesConfig
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_json
from greatwall.contracts import FrameArray, HudRead
from greatwall.data.frames import played_frames
from greatwall.data.perception_scoring import TEST_SEEDS
from greatwall.eyes.hud import HudReader, PytesseractEngine
from greatwall.metrics.timing import percentile

RESULT = Path(__file__).with_suffix(".json")


class OneCallEach(PytesseractEngine):
    """pytesseract as people first write it: a call, and so a process, for each field."""

    name = "pytesseract, a call a field"

    def texts(self, pictures: list[Any]) -> list[str]:
        return ["".join(self._read(picture, 7)) for picture in pictures]


def readers() -> dict[str, Callable[[FrameArray], HudRead]]:
    """Each way's name and its `read`."""
    profile = Config().profile
    kept = HudReader(profile, EyesConfig(hud_engine="tesserocr"))
    montage = HudReader(profile, EyesConfig(hud_engine="pytesseract"))
    each = HudReader(profile, EyesConfig(hud_engine="pytesseract"))
    each.engine = OneCallEach()
    return {
        "tesserocr, engine kept": kept.read,
        "pytesseract, one call for all": montage.read,
        "pytesseract, a call a field": each.read,
    }


def cpu_s() -> float:
    """CPU seconds of this process and of its finished children."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def measure(
    read: Callable[[FrameArray], HudRead], frames: list[tuple[FrameArray, HudRead]]
) -> dict[str, Any]:
    """Times and exactness of one way over the frames."""
    wall_ms, cpu_ms = [], []
    right = 0
    read(frames[0][0])
    for bgr, truth in frames:
        begun_s, begun_cpu_s = time.perf_counter(), cpu_s()
        found = read(bgr)
        wall_ms.append((time.perf_counter() - begun_s) * 1e3)
        cpu_ms.append((cpu_s() - begun_cpu_s) * 1e3)
        right += sum(one == other for one, other in zip(found, truth, strict=True))
    return {
        "reads": len(frames),
        "exact": round(right / (4 * len(frames)), 4),
        "wall_ms": {f"p{p}": round(percentile(wall_ms, p / 100), 1) for p in (10, 50, 95)},
        "cpu_ms": {f"p{p}": round(percentile(cpu_ms, p / 100), 1) for p in (10, 50, 95)},
    }


@dataclass(frozen=True)
class HudCost:
    """Measure the ways to Tesseract."""

    reads: int = 60
    """Frames each way reads."""
    json: Path = RESULT
    """Where the figures go."""

    def run(self) -> int:
        check_output(self.json, "--json")
        frames = [
            (played.frame.bgr, played.frame.scene.hud)
            for played in played_frames(Config(), self.reads, TEST_SEEDS)
            if played.frame.scene is not None and played.frame.scene.hud is not None
        ]
        rows = [{"how": how, **measure(read, frames)} for how, read in readers().items()]
        result = {"machine": machine(), "rows": rows}
        write_json(self.json, result)
        table = Table(title="one look at four fields")
        for column in ("through", "ms p50", "ms p95", "CPU ms p50", "exact"):
            table.add_column(column)
        for row in rows:
            times = (row["wall_ms"]["p50"], row["wall_ms"]["p95"], row["cpu_ms"]["p50"], row["exact"])
            table.add_row(row["how"], *map(str, times))
        Console().print(table)
        return 0


if __name__ == "__main__":
    sys.exit(run_command(HudCost, sys.argv[1:], "benchmarks/hud_cost.py"))
