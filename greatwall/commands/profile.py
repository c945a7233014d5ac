"""`python -m greatwall profile write|show`: the facts of a game as a JSON file, to edit for one's own game.

`read_profile` is what `--profile FILE` goes through everywhere. Main thread.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import tyro
from rich.console import Console

from config import GREAT_WALL, GameProfile
from greatwall.commands.output import check_output, write_json
from greatwall.commands.profile_checks import check_profile, typed
from greatwall.contracts import FrameArray
from greatwall.device.video import read_picture
from greatwall.errors import ConfigError, FileFormatError

HUD_COLOR, BAND_COLOR, ROW_COLOR, TOUCH_COLOR = (60, 220, 250), (240, 200, 90), (86, 92, 240), (120, 220, 110)


@dataclass(frozen=True)
class Write:
    """Write the embedded game's profile as JSON: the form to fill in for another game."""

    file: tyro.conf.Positional[Path]
    """the JSON file to write; a new one"""

    def run(self) -> int:
        if self.file.exists() or not self.file.absolute().parent.is_dir():
            raise ConfigError(f"expected a new file in a folder that exists, found {self.file}; name another")
        write_json(self.file, dataclasses.asdict(GREAT_WALL))
        Console(soft_wrap=True).print(f"wrote {self.file}: edit it, then look: profile show", highlight=False)
        return 0


@dataclass(frozen=True)
class Show:
    """Draw what a profile says into a screenshot: HUD boxes, play band, scanned row, touches."""

    file: tyro.conf.Positional[Path]
    """the profile"""
    picture: Path
    """a screenshot of the game while it is played"""
    out: Path
    """the PNG to write"""

    def run(self) -> int:
        profile = read_profile(self.file)
        drawn = draw_profile(read_picture(self.picture), profile)
        if self.out.suffix.lower() != ".png" or not self.out.absolute().parent.is_dir():
            raise ConfigError(
                f"--out: expected a .png file in a folder that exists, found {self.out}; name one"
            )
        check_output(self.out, "--out")
        if not cv2.imwrite(str(self.out), drawn):
            raise ConfigError(f"--out: expected a place that can be written, found {self.out}; name another")
        Console(soft_wrap=True).print(f"wrote {self.out}", highlight=False)
        return 0


COMMAND = Annotated[Write, tyro.conf.subcommand("write")] | Annotated[Show, tyro.conf.subcommand("show")]


def read_profile(path: Path | None) -> GameProfile:
    """The profile in a JSON file, checked; the embedded game's for None."""
    if path is None:
        return GREAT_WALL
    if not path.is_file():
        raise ConfigError(
            f"--profile: expected a JSON file at {path}, found none; "
            "make one: python -m greatwall profile write"
        )
    try:
        profile: GameProfile = typed("profile", json.loads(path.read_text(encoding="utf-8-sig")), GameProfile)
        check_profile(profile)
    except (OSError, ValueError, RecursionError) as error:
        found = " ".join(str(error).split())[:160]
        raise FileFormatError(f"{path}: expected the profile of a game, found {found}; correct it") from error
    return profile


def draw_profile(bgr: FrameArray, profile: GameProfile) -> FrameArray:
    """A copy of a screenshot with the profile's places drawn where it takes them to be."""
    picture = bgr.copy()
    height, width = picture.shape[:2]
    across, down = width / profile.frame_size[0], height / profile.frame_size[1]

    def at(x: float, y: float) -> tuple[int, int]:
        return round(x * across), round(y * down)

    def box(name: str, place: tuple[int, int, int, int], color: tuple[int, int, int]) -> None:
        x, y, w, h = place
        cv2.rectangle(picture, at(x, y), at(x + w, y + h), color, 3)
        cv2.putText(picture, name, at(x, y + h + 28), cv2.FONT_HERSHEY_SIMPLEX, 0.8, color, 2, cv2.LINE_AA)

    for name, field in profile.hud:
        box(name, field.box, HUD_COLOR)
    box("rider", profile.rider_box, BAND_COLOR)
    box("play band", (0, profile.play_band[0], profile.frame_size[0] - 1,
                      profile.play_band[1] - profile.play_band[0]), BAND_COLOR)  # fmt: skip
    row = profile.frame_size[1] - profile.ground_row_from_bottom
    cv2.line(picture, at(0, row), at(profile.frame_size[0], row), ROW_COLOR, 2)
    for i, color in enumerate(profile.ground_colors):
        cv2.rectangle(picture, at(20 + 60 * i, row - 70), at(70 + 60 * i, row - 20), color, -1)
    taps = [
        ("jump", *profile.jump_tap),
        *((f"restart {i + 1}", tap.x, tap.y) for i, tap in enumerate(profile.restart)),
    ]
    for name, x, y in taps:
        cv2.circle(picture, at(x, y), 14, TOUCH_COLOR, 3)
        cv2.putText(picture, name, at(x + 20, y), cv2.FONT_HERSHEY_SIMPLEX, 0.8, TOUCH_COLOR, 2, cv2.LINE_AA)
    return np.asarray(picture, np.uint8)
