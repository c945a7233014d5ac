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
    """simulator: the embedded game; phone: the one that adb lists; video: a recording, watched without
    touching"""
    serial: str | None = None
    """which phone, as adb devices lists it"""
    capture: Literal["auto", "scrcpy", "screenrecord", "raw", "png"] | None = None
    """how the phone's screen is looked at; auto: the best, as measured"""
    touch: Literal["auto", "scrcpy", "shell", "adb"] | None = None
    """how it is touched"""
    package: str | None = None
    """the game's app there, as in com.example.game; the one in front at the start unless given"""
    source: Path | None = None
    """the recording that --device video plays"""
    eyes: Literal["vision", "truth"] = "vision"
    """vision: from the screen alone; truth: from the embedded game's state"""
    profile: Path | None = None
    """the profile of the game on the phone or in the recording; the embedded game's unless given"""
    weights: str = ""
    """detector file for vision; the one in models/ unless given"""
    clock: Literal["wall", "game"] = "wall"
    """wall: three threads in real time; game: as fast as it goes, deterministic"""
    policy: str = ""
    """a policy file, rule, random or idle; the best there is in models/ unless given, else rule; idle
    before a recording"""
    seed: int = 0
    """of the first course"""
    seconds: float = 0.0
    """how long to play; 0 is until Ctrl-C, or q in a window"""
    variant: str = ""
    """named changes of the game, separated by commas; standard is none"""
    look: str = "standard"
    """how the embedded game is drawn: a named look, train:N, valid:N or unseen:N"""
    size: str = "1920x1080"
    """of its frames, WIDTHxHEIGHT px"""
    compress: Literal["none", "jpeg", "h264"] = "none"
    """what its frames go through before they are looked at: h264 is a phone's stream"""
    headless: bool = False
    """open no window"""
    json: Path | None = None
    """write the figures here"""
    screenshot: Path | None = None
    """save the three pictures in this folder at the end"""
    faults: str = ""
    """faults of perception made on purpose, as in miss=0.1,jitter=2,stale=0.02,hud=0.02,drop=0.01"""
    like_device: str = ""
    """delays as doctor --save-profile FILE measured them: the simulator's, and what rule reckons with"""
    trace: Path | None = None
    """write what happened when, as a trace for ui.perfetto.dev, here (wall clock only)"""
    record: Path | None = None
    """record the screen as this new .mp4 file, and touches and seeds as .json beside it"""


def check(args: Arguments) -> None:
    """Raise `ConfigError` for values that would fail later."""
    if (args.device == "video") != (args.source is not None):
        found = "no --source" if args.source is None else f"--device {args.device}"
        raise ConfigError(f"expected --device video together with --source FILE, found {found}; give both")
    if args.profile is not None and args.device not in ("video", "phone"):
        raise ConfigError(f"--profile: expected --device phone or video, found {args.device}; leave it out")
    if args.device == "video" and args.eyes == "truth":
        raise ConfigError("--eyes: expected vision for a recording, found truth; leave --eyes out")
    if args.seconds < 0:
        raise ConfigError(f"--seconds: expected 0 or more, found {args.seconds:g}; leave it out to play on")
    if args.trace is not None and args.clock != "wall":
        raise ConfigError(
            "--trace: expected --clock wall, found game; nothing takes time on the game's clock"
        )
