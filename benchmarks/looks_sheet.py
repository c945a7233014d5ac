"""One moment of the embedded game in many looks, side by side, and how long each takes to draw.

    python benchmarks/looks_sheet.py [--out docs/images/looks.jpg] [--looks snow night unseen:3]

The times printed are the median of 30 frames of a run, one core. Main thread.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import tyro
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from config import GREAT_WALL, CourseConfig, DelayConfig
from greatwall.contracts import FrameArray
from greatwall.game.draw import Painter
from greatwall.game.looks import look_named
from greatwall.game.rules import Game
from greatwall.game.view import View
from greatwall.worker.lettering import write

COLUMNS = 3
TILE = (640, 360)  # px
SEED, FIRST_TICK, FRAMES = 67, 212, 30
SHOWN = (
    "standard", "dawn", "noon", "dusk", "night", "rain", "snow", "fog", "autumn",
    "train:2", "train:5", "train:8", "unseen:1", "unseen:2", "unseen:4",
)  # fmt: skip


@dataclass(frozen=True)
class LooksSheet:
    """Draw the contact sheet of docs/looks.md."""

    out: Path = Path("docs/images/looks.jpg")
    """the picture to write"""
    looks: tuple[str, ...] = SHOWN
    """what to draw"""


def main(args: LooksSheet) -> int:
    console = Console()
    cv2.setNumThreads(1)
    views = _views()
    tiles = []
    for name in args.looks:
        painter = Painter(CourseConfig(), GREAT_WALL, look_named(name))
        painter.draw(views[0])
        took_ms = []
        for view in views:
            began_s = time.perf_counter()
            frame = painter.draw(view)
            took_ms.append(1000 * (time.perf_counter() - began_s))
        console.print(f"{name:12} {np.median(took_ms):5.1f} ms a frame")
        tile = np.asarray(cv2.resize(frame, TILE, interpolation=cv2.INTER_AREA), np.uint8)
        write(tile, name, (12, TILE[1] - 14), 22, (255, 255, 255))
        tiles.append(tile)
    cv2.imwrite(str(args.out), _sheet(tiles), [cv2.IMWRITE_JPEG_QUALITY, 82])
    console.print(f"wrote {args.out}")
    return 0


def _views() -> list[View]:
    """A second of a run."""
    nothing = (0.0, 0.0)
    game = Game(CourseConfig(), DelayConfig(nothing, nothing, nothing, nothing), SEED)
    game.new_game(SEED)
    game.advance(FIRST_TICK)
    views = []
    for _ in range(FRAMES):
        game.advance(1)
        views.append(game.view())
    return views


def _sheet(tiles: list[FrameArray]) -> FrameArray:
    blank = [np.zeros_like(tiles[0])] * (-len(tiles) % COLUMNS)
    rows = [*tiles, *blank]
    return np.vstack([np.hstack(rows[k : k + COLUMNS]) for k in range(0, len(rows), COLUMNS)])


if __name__ == "__main__":
    sys.exit(main(tyro.cli(LooksSheet)))
