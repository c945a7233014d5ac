"""`python -m greatwall calibrate`: a game's profile set on a picture of it, by clicking or by options.

Main thread, because OpenCV's windows belong there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import cv2
import tyro
from rich.console import Console

from config import PhoneConfig
from greatwall.commands.calibrate_window import mark_in_window
from greatwall.commands.calibration import Calibration, parse_box, parse_numbers
from greatwall.commands.output import check_output, write_json
from greatwall.commands.profile import read_profile
from greatwall.contracts import FrameArray
from greatwall.device.video import VideoFile, read_picture
from greatwall.errors import ConfigError, FileFormatError
from greatwall.worker.display import missing_display

NOTHING = "none"
Several = Annotated[tuple[str, ...], tyro.conf.UseAppendAction]


@dataclass(frozen=True)
class Calibrate:
    """Say where a game shows and takes what: on a screenshot, a frame of a video or the live phone.

    Without marks among the options a window opens to click in. All px are px of that picture.
    """

    out: Path
    """the settings file to write: a profile, for --profile and profile show"""
    image: Path | None = None
    """a screenshot of the game while it is played"""
    video: Path | None = None
    """instead: a recording"""
    at: float = 0.0
    """the moment of the recording to look at, s from its start"""
    device: Literal["none", "phone"] = "none"
    """instead: phone, what it shows now"""
    serial: str = ""
    """which phone, as adb lists it; the only one unless given"""
    adb_port: int = 0
    """of adb's server; ANDROID_ADB_SERVER_PORT, or 5037, unless given"""
    capture: Literal["auto", "scrcpy", "screenrecord", "raw", "png"] = "auto"
    """how the phone's screen is looked at"""
    profile: Path | None = None
    """the profile to begin with; the embedded game's unless given"""
    name: str = ""
    """of the game"""
    ground: Several = ()
    """X,Y where there is ground: its colour; again for another colour"""
    tolerance: int | None = None
    """how far each channel may be from a ground colour"""
    row: int | None = None
    """Y of the row that is scanned for ground"""
    hud: Several = ()
    """FIELD=X,Y,W,H of lives, arrows, coins, distance; FIELD=none where the game has no such field"""
    button: Several = ()
    """jump=X,Y or restart1=X,Y[,SECONDS to wait after it], restart2=..."""
    rider: str = ""
    """X,Y,W,H of the rider, standing"""
    band: str = ""
    """Y1,Y2 of the rows between which things appear"""
    show: Path | None = None
    """draw the result over the picture into this PNG"""

    def run(self) -> int:
        self._check_output()
        grab = self._grabber()
        calibration = Calibration(grab(), read_profile(self.profile))
        console = Console(soft_wrap=True)
        if calibration.warning:
            console.print(calibration.warning, highlight=False)
        if self.name:
            calibration.set_name(self.name)
        if self._marks:
            self._mark(calibration)
        else:
            missing = missing_display()
            if missing:
                raise ConfigError(
                    f"calibrate: expected a display to click on, found none ({missing}); give marks as "
                    "options, such as --ground X,Y, or run it on a desktop"
                )
            marked = mark_in_window(calibration, grab if self.device == "phone" else None)
            if marked is None:
                console.print("left without saving", highlight=False)
                return 1
            calibration = marked
        return self._finish(calibration, console)

    @property
    def _marks(self) -> bool:
        texts = (self.ground, self.hud, self.button, self.rider, self.band)
        return any(texts) or self.row is not None or self.tolerance is not None

    def _finish(self, calibration: Calibration, console: Console) -> int:
        """Say what the eyes read, write the files."""
        reading = calibration.read()
        for line in reading.lines(calibration.profile):
            console.print(line, highlight=False)
        if self.show is not None:
            done, data = cv2.imencode(".png", calibration.draw(reading))
            assert done
            try:
                self.show.write_bytes(data.tobytes())
            except OSError as error:
                raise ConfigError(
                    f"--show: expected a place that can be written, found {self.show}: {error.strerror}; "
                    "name another"
                ) from error
        write_json(self.out, dataclasses.asdict(calibration.profile))
        shown = f" and {self.show}" if self.show is not None else ""
        console.print(f"wrote {self.out}{shown}", highlight=False)
        return 0

    def _check_output(self) -> None:
        """A file that is there already is written over only when it is a profile."""
        check_output(self.out, "--out")
        check_output(self.show, "--show")
        if self.show is not None and self.show.suffix.lower() != ".png":
            raise ConfigError(f"--show: expected a .png file, found {self.show}; name one")
        if self.out.exists():
            try:
                read_profile(self.out)
            except FileFormatError as error:
                raise ConfigError(
                    f"--out: expected a new file or a profile, found another file at {self.out}; name another"
                ) from error

    # --- the picture --------------------------------------------------------------------------

    def _grabber(self) -> Callable[[], FrameArray]:
        """What takes the picture; raises `ConfigError` unless exactly one source is named."""
        sources = [("--image", self.image), ("--video", self.video)]
        named = [flag for flag, path in sources if path is not None]
        if self.device == "phone":
            named.append("--device phone")
        if len(named) != 1:
            raise ConfigError(
                f"expected one of --image FILE, --video FILE, --device phone; found "
                f"{' and '.join(named) or 'none'}; name one"
            )
        if self.image is not None:
            image = self.image
            return lambda: read_picture(image)
        if self.video is not None:
            video = self.video
            return lambda: frame_of_video(video, self.at)
        return self._phone_frame

    def _phone_frame(self) -> FrameArray:
        """What the phone shows now; nothing is touched."""
        from greatwall.commands.phone_picture import phone_picture

        try:
            phone = PhoneConfig(serial=self.serial, adb_port=self.adb_port, capture=self.capture)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        return phone_picture(phone).bgr

    # --- marks on the command line ------------------------------------------------------------

    def _mark(self, calibration: Calibration) -> None:
        """The row before the colours, the tolerance before both: each mark is judged by those before."""
        if self.tolerance is not None:
            calibration.set_tolerance(self.tolerance)
        if self.row is not None:
            calibration.set_row(self.row)
        for text in self.ground:
            x, y = parse_numbers(text, 2, "--ground", "X,Y")
            calibration.mark_ground(x, y)
        if self.rider:
            calibration.set_rider(parse_box(self.rider, "--rider"))
        if self.band:
            y1, y2 = parse_numbers(self.band, 2, "--band", "Y1,Y2")
            calibration.set_band(y1, y2)
        for text in self.hud:
            name, value = _named(text, "--hud", "FIELD=X,Y,W,H")
            if value == NOTHING:
                calibration.drop_hud(name)
            else:
                calibration.set_hud(name, parse_box(value, f"--hud {name}"))
        for text in sorted(self.button):
            name, value = _named(text, "--button", "NAME=X,Y")
            count = 3 if value.count(",") == 2 else 2
            form = "X,Y or X,Y,SECONDS" if name != "jump" else "X,Y"
            x, y, *wait = parse_numbers(value, count, f"--button {name}", form)
            calibration.set_button(name, x, y, wait[0] if wait else None)


COMMAND = Calibrate


def frame_of_video(path: Path, at_s: float) -> FrameArray:
    """The picture shown `at_s` into a recording; `ConfigError` beyond its end."""
    if at_s < 0:
        raise ConfigError(f"--at: expected 0 s or more, found {at_s:g}; change it")
    video = VideoFile(path)
    last_s = 0.0
    try:
        for picture in video.pictures():
            last_s = picture.at_s + video.period_s
            if picture.at_s >= at_s - video.period_s / 2:
                return picture.bgr()
    finally:
        video.close()
    raise ConfigError(f"--at: expected a moment within {last_s:.1f} s, found {at_s:g}; change it")


def _named(text: str, flag: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"{flag}: expected {form}, found {text!r}; change it")
    return name.strip(), value.strip()
