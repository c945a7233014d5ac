"""Small videos to watch: real H.264 files of plain or drawn frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from config import Config
from greatwall.contracts import TICK_S
from greatwall.device.recorder import VideoWriter
from greatwall.device.simulator import SimulatedDevice


def plain_video(path: Path, frames: int = 30, size: tuple[int, int] = (320, 180), fps: float = 30.0) -> Path:
    """Frames that get lighter: frame i is grey level 20 + 10 * i, so that it says which one it is."""
    writer = VideoWriter(path, size)
    for i in range(frames):
        writer.add(np.full((size[1], size[0], 3), min(255, 20 + 10 * i), np.uint8), i / fps)
    writer.close()
    return path


def game_video(path: Path, frames: int = 12, ticks: int = 10, seed: int = 4) -> Path:
    """The embedded game, every `ticks` ticks a frame, stamped as it was played."""
    device = SimulatedDevice(Config(seed=seed))
    device.hold()
    device.new_game(seed)
    writer = VideoWriter(path, device.size)
    for _ in range(frames):
        device.advance(ticks)
        writer.add(device.frame().bgr, device.tick * TICK_S)
    writer.close()
    return path
