"""Perception scores of every published screen, then the tables of docs/perception.md.

    python benchmarks/perception.py [--frames 1000] [--only standard] [--weights FILE]

Each screen is one file in benchmarks/perception. The seeds are test seeds; no look but the standard one was
trained on, choices were made on those that begin with valid, and those that begin with unseen are for the
score; of the sizes 1920x1080 alone was trained on. Main thread.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from greatwall.commands import run_command
from greatwall.commands.output import write_json
from greatwall.commands.perception_page import write_tables
from greatwall.commands.score import PAGE, RESULTS, score_screen, show


class Screen(NamedTuple):
    """One published screen."""

    look: str
    size: tuple[int, int] = (1920, 1080)
    compress: Literal["none", "jpeg", "h264"] = "none"

    @property
    def name(self) -> str:
        """As a file name."""
        return f"{self.look.replace(':', '-')}_{self.size[0]}x{self.size[1]}_{self.compress}"


SCREENS = (
    Screen("standard"),
    Screen("standard", compress="h264"),
    Screen("standard", compress="jpeg"),
    Screen("standard", (1280, 720)),
    Screen("standard", (1600, 900)),
    Screen("standard", (2400, 1080)),
    *(Screen(f"valid:{number}") for number in range(3)),
    *(Screen(f"unseen:{number}") for number in range(4)),
    Screen("unseen:4", compress="h264"),
    Screen("unseen:5", (1280, 720), "h264"),
)


@dataclass(frozen=True)
class Perception:
    """Score the published screens."""

    frames: int = 1000
    """Frames of each."""
    only: str = ""
    """Only screens whose name begins so, as in standard, valid or unseen-2."""
    weights: str = ""
    """Detector file; empty is the committed one."""

    def run(self) -> int:
        RESULTS.mkdir(parents=True, exist_ok=True)
        for screen in SCREENS:
            if screen.name.startswith(self.only):
                scores = score_screen(*screen, self.frames, weights=self.weights)
                write_json(RESULTS / f"{screen.name}.json", scores)
                show(scores)
        write_tables(PAGE, RESULTS)
        Console().print(f"wrote {PAGE.name}")
        return 0


if __name__ == "__main__":
    sys.exit(run_command(Perception, sys.argv[1:], "benchmarks/perception.py"))
