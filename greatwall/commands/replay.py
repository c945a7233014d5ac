"""`python -m greatwall replay`: a recording's touches at the same ticks of the same game. Main thread."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from greatwall.commands.output import check_output
from greatwall.contracts import TICK_S, Frame
from greatwall.data.recording import read_recording, replay
from greatwall.device.recorder import VideoWriter
from greatwall.errors import ConfigError


@dataclass(frozen=True)
class Replay:
    """Play a recording of the embedded game again from its JSON, and say whether it is the same game."""

    file: tyro.conf.Positional[Path]
    """the .mp4 or .json that ppo_acting.py --record wrote"""
    video: Path | None = None
    """write the game here as a new .mp4, every tick a frame"""

    def run(self) -> int:
        """0 when the game ended as the recorded one did, else 1."""
        if self.video is not None and (self.video.exists() or self.video.suffix.lower() != ".mp4"):
            raise ConfigError(f"--video: expected a new .mp4 file, found {self.video}; name another")
        check_output(self.video, "--video")
        recording = read_recording(self.file)
        writer: VideoWriter | None = None
        frames = 0

        def film(frame: Frame) -> None:
            nonlocal writer, frames
            assert self.video is not None
            writer = writer or VideoWriter(self.video, frame.size)
            writer.add(frame.bgr, frames * TICK_S)
            frames += 1

        try:
            result = replay(recording, film if self.video is not None else None)
        finally:
            if writer is not None:
                writer.close()
        console = Console(soft_wrap=True)
        same = "the same game" if result.same else "another game than was recorded"
        console.print(
            f"{same}: {result.ticks} ticks, {result.touches} touches, seed {result.facts['seed']}, "
            f"{result.facts['distance_m']} m, {result.facts['coins']} coins, {result.facts['kills']} kills",
            highlight=False,
        )
        return 0 if result.same else 1


COMMAND = Replay
