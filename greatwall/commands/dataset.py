"""`python -m greatwall dataset`: pictures, YOLO labels and one JSON line a frame. Main thread."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from config import ScreenConfig
from greatwall.assembly import make_config, parse_size
from greatwall.commands.profile import read_profile
from greatwall.data.autolabel import LabelPlan, LabelSource
from greatwall.data.dataset import CORRECT_FIRST, Written, write_dataset_folder
from greatwall.data.dataset_source import GamePlan, GameSource
from greatwall.errors import ConfigError

SIMULATOR = "simulator"


@dataclass(frozen=True)
class Dataset:
    """Write a data set: the embedded game's frames with their truth, or a recording's with auto-labels.

    The same arguments give the same bytes. Stopped, it goes on with the same command.
    """

    out: Path
    """folder to write; new, empty, or begun by the same command"""
    frames: int = 1000
    """how many; of a video or a folder at most, evenly spread"""
    seed: int = 0
    """of the first course; training below 1,000,000, validation from there, test from 2,000,000"""
    mix: str = "random=0.3,policy=0.7"
    """who plays which share: policy, rule, random, idle"""
    policy: Path | None = None
    """the policy file that plays policy's share; the rule player unless given"""
    source: str = SIMULATOR
    """simulator, a video, or a folder of screenshots"""
    look: str = "standard"
    """how the game is drawn: standard, a named look, train:N, valid:N or unseen:N"""
    size: str = "1920x1080"
    """width and height of the game's frames"""
    compress: Literal["none", "jpeg", "h264"] = "none"
    """let the game's frames go through a codec before they are looked at"""
    image: Literal["jpg", "png"] = "jpg"
    """of the pictures written; screenshots are copied as they are"""
    profile: Path | None = None
    """of a video or a folder: the game's profile, as `profile write` makes one"""
    weights: str = ""
    """detector file; empty is the one in models/"""

    def run(self) -> int:
        """Write it, show the counts; raises `GreatWallError` for a user's mistake."""
        source = self._source()
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        try:
            with Progress(*columns, console=console) as progress:
                task = progress.add_task("frames", total=sum(source.part_sizes()))
                written = write_dataset_folder(source, self.out, lambda count: progress.advance(task, count))
                progress.update(task, completed=sum(source.part_sizes()))
        except KeyboardInterrupt:
            console.print("stopped; the same command goes on from here")
            raise
        finally:
            source.close()
        self._tell(written)
        return 0

    def _source(self) -> GameSource | LabelSource:
        if self.source != SIMULATOR:
            for name in ("seed", "mix", "policy", "look", "size", "compress"):
                if getattr(self, name) != getattr(type(self), name):
                    raise ConfigError(
                        f"--{name}: expected --source simulator, found {self.source}; leave --{name} out"
                    )
            inside = Path(self.source).resolve()
            if inside.is_dir() and inside in self.out.resolve().parents:
                raise ConfigError(
                    f"--out: expected a folder outside of --source, found {self.out}, whose pictures "
                    "would be taken for screenshots; name another"
                )
            config = dataclasses.replace(make_config(eyes="vision"), profile=read_profile(self.profile))
            return LabelSource(config, LabelPlan(Path(self.source), self.frames, self.image, self.weights))
        if self.profile is not None:
            raise ConfigError(
                "--profile: expected a video or a folder as --source, found simulator; leave it out"
            )
        return GameSource(
            GamePlan(self.frames, self.seed, self.mix, self.policy, self._screen(), self.image, self.weights)
        )

    def _screen(self) -> ScreenConfig:
        try:
            return ScreenConfig(self.look, parse_size(self.size), self.compress)
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def _tell(self, written: Written) -> None:
        console = Console(soft_wrap=True)
        was = "was whole already" if written.already else "written"
        console.print(f"{written.frames} frames {was}: {self.out}", highlight=False)
        for table, counts in written.counts.items():
            console.print(f"  {table}: {', '.join(f'{k} {v}' for k, v in counts.items())}", highlight=False)
        console.print(f"  sha256 {written.sha256}", highlight=False)
        if (self.out / CORRECT_FIRST).exists():
            console.print(f"  correct by hand, in the order of {self.out / CORRECT_FIRST}", highlight=False)


COMMAND = Dataset
