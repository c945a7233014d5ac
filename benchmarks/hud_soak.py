"""Ten thousand HUD reads in played order: how many misreads there are, and how many the filter lets through.

    python benchmarks/hud_soak.py [--reads 10000] [--looks 10] [--json FILE]

Every read is of a frame 0.3 s after the last one of its run. Half of the reads are of the standard look;
the others go through looks never trained on, with H.264. Main thread.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from config import Config, ScreenConfig
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_json
from greatwall.contracts import HudRead
from greatwall.data.frames import played_frames, with_screen
from greatwall.data.perception_scoring import FRAMES_PER_READ
from greatwall.eyes.hud import HudReader
from greatwall.eyes.hud_filter import HudFilter
from greatwall.metrics.hud import HudTally

SEED = 2_100_000
PER_RUN = 600  # perceived frames: a minute, 200 reads
RESULT = Path(__file__).with_suffix(".json")


def soak(screen: ScreenConfig, reads: int, seed: int, tally: HudTally) -> None:
    """`reads` reads on one screen, counted in `tally`."""
    config = with_screen(Config(), screen)
    reader = HudReader(config.profile, config.eyes)
    believed = HudFilter(config.profile)
    number = 0
    frames = played_frames(config, reads * FRAMES_PER_READ, seed, PER_RUN)
    for frame, _, first in track(frames, f"{screen.look} {screen.compress}", reads * FRAMES_PER_READ):
        if first:
            believed.reset()
            number = 0
        if number % FRAMES_PER_READ == 0:
            scene = frame.scene
            assert scene is not None
            read = reader.read(frame.bgr)
            tally.add_read(scene.hud or HudRead(), read, believed.update(read, frame.captured_at_s))
        number += 1
    reader.close()


@dataclass(frozen=True)
class HudSoak:
    """Read the HUD for hours of game time."""

    reads: int = 10_000
    """Reads in all."""
    looks: int = 10
    """How many unseen looks share the second half; 0 reads the standard look alone."""
    json: Path = RESULT
    """Where the figures go."""

    def run(self) -> int:
        check_output(self.json, "--json")
        tally = HudTally()
        half = self.reads // 2 if self.looks else self.reads
        soak(ScreenConfig(), half, SEED, tally)
        each = (self.reads - half) // self.looks if self.looks else 0
        for look in range(self.looks):
            soak(ScreenConfig(f"unseen:{look}", compress="h264"), each, SEED + 1000 * (look + 1), tally)
        result: dict[str, Any] = {"looks": 1 + self.looks, "machine": machine(), **tally.summary()}
        write_json(self.json, result)
        Console().print_json(data={key: result[key] for key in ("reads", "fields")})
        return 0


if __name__ == "__main__":
    sys.exit(run_command(HudSoak, sys.argv[1:], "benchmarks/hud_soak.py"))
