"""The command line of `ppo_acting.py`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from greatwall.errors import ConfigError


@dataclass(frozen=True)
class Arguments:
    """Watch the agent play: what it sees, the ground scan, and the figures, in three windows."""

    device: str = "simulator"
    """what is played on"""
    eyes: Literal["vision", "truth"] = "vision"
    """vision: from the screen alone; truth: from the embedded game's state"""
    clock: Literal["wall", "game"] = "wall"
    """wall: three threads in real time; game: as fast as it goes, deterministic"""
    policy: str = ""
    """a policy file, rule, random or idle; the best there is in models/ unless given, else rule"""
    seed: int = 0
    """of the first course"""
    seconds: float = 0.0
    """how long to play; 0 is until Ctrl-C, or q in a window"""
    variant: tuple[str, ...] = ()
    """named variants of the game"""
    headless: bool = False
    """open no window"""
    json: Path | None = None
    """write the figures here"""
    screenshot: Path | None = None
    """save the three pictures in this folder at the end"""


def best_policy(models: Path) -> str:
    """The policy that is played unless one is named: the best by evaluation, by return, the last; rule."""
    for name in ("eval_best", "best", "final"):
        path = models / f"ppo_greatwall_{name}.zip"
        if path.is_file():
            return str(path)
    return "rule"


def check(args: Arguments) -> None:
    """Raise `ConfigError` for values that would fail later."""
    if args.seconds < 0:
        raise ConfigError(f"--seconds: expected 0 or more, found {args.seconds:g}; leave it out to play on")
    if args.json is not None and not args.json.absolute().parent.is_dir():
        raise ConfigError(f"--json: expected a folder that exists, found {args.json.parent}; make it first")
