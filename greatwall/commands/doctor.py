"""`python -m greatwall doctor`: is everything there that is needed, and how quick is the phone?

One screen of checks with what to do about each. Main thread; every check is bounded in time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from config import Config, PhoneConfig, replace_in
from greatwall.assembly import build_env, make_config
from greatwall.commands.bench import machine
from greatwall.commands.checkup import Check, State, attempt, failed, judged, summary, table_of
from greatwall.commands.doctor_desk import desk_checks
from greatwall.commands.doctor_play import FEWEST, WANTED, PlayFigures, device_profile, measure_play
from greatwall.commands.output import check_output, write_json
from greatwall.commands.profile import read_profile
from greatwall.device.device_profile import DeviceProfile
from greatwall.device.phone.guard import stop_signals
from greatwall.errors import ConfigError, GreatWallError

ROOT = Path(__file__).resolve().parents[2]
TABLE_WIDTH = 110
FAILED = 1  # exit status: a check failed
SECONDS = (5.0, 600.0)
MOST_JUMPS = 500
GIVE_UP_S = 20.0  # a phone that is lost while it is measured is not waited for longer
LOST_SHARE = 0.2  # of the touches


@dataclass(frozen=True)
class Doctor:
    """Check this machine, and a phone, and say what to do; measure how quick the phone is by playing it.

    On a phone it jumps and restarts the game, where the game's profile taps, and touches nothing else;
    --no-play only looks.
    """

    device: Literal["none", "phone", "simulator"] = "none"
    """none: this machine alone; phone: and the phone; simulator: the embedded game in its place"""
    serial: str = ""
    """which phone, as adb lists it; the only one unless given"""
    adb_port: int = 0
    """of adb's server; ANDROID_ADB_SERVER_PORT, or 5037, unless given"""
    capture: Literal["auto", "scrcpy", "screenrecord", "raw", "png"] = "auto"
    """how to look while the game is played"""
    touch: Literal["auto", "scrcpy", "shell", "adb"] = "auto"
    """how to touch while the game is played"""
    package: str = ""
    """the game's app, as in com.example.game; unless given, the one in front is taken for the game"""
    profile: Path | None = None
    """the game's profile, as calibrate writes it; the embedded game's unless given"""
    weights: str = ""
    """detector file; the one in models/ unless given"""
    play: bool = True
    """play the game for a while to measure touch-to-screen delay and frame age"""
    seconds: float = 60.0
    """at most this long is played"""
    jumps: int = WANTED
    """so many are watched"""
    json: Path | None = None
    """write all that was found here as JSON"""
    save_profile: Path | None = None
    """write what was measured here, for train_ppo.py --like-device FILE"""
    models: Path = Path("models")
    """folder of policies"""
    logs: Path = Path("logs")
    """folder of logs"""

    def run(self) -> int:
        """Print the table; 1 when a check failed. Raises `GreatWallError` for a mistake in the options."""
        self._check_options()
        config = self._config()
        console = Console()
        if not console.is_terminal:
            console = Console(width=TABLE_WIDTH)
        checks: list[Check] = []
        report: dict[str, Any] = {}
        with console.status("") as status:
            for check in self._desk(config):
                checks.append(check)
                status.update(f"checked {check.name}")
            if self.device == "phone":
                from greatwall.commands.doctor_phone import phone_checks

                for check in phone_checks(config):
                    checks.append(check)
                    status.update(f"checked {check.name}")
            measured = None
            if self.device != "none":
                status.update(f"playing for {self.seconds:g} s at most" if self.play else "")
                check, measured = self._played(config, checks)
                checks.append(check)
        console.print(table_of(checks, self._title(checks)))
        console.print(summary(checks), highlight=False)
        report = {"machine": machine(), "device": self.device, "checks": [one.to_json() for one in checks]}
        if self.json is not None:
            write_json(self.json, report)
        if self.save_profile is not None:
            self._save(config, checks, measured, console)
        return FAILED if failed(checks) else 0

    def _check_options(self) -> None:
        check_output(self.json, "--json")
        check_output(self.save_profile, "--save-profile")
        low, high = SECONDS
        if not low <= self.seconds <= high:
            raise ConfigError(
                f"--seconds: expected {low:g} to {high:g}, found {self.seconds:g}; change the number"
            )
        if not FEWEST <= self.jumps <= MOST_JUMPS:
            raise ConfigError(
                f"--jumps: expected {FEWEST} to {MOST_JUMPS}, found {self.jumps}; change the number"
            )
        if self.save_profile is not None and (self.device == "none" or not self.play):
            found = "--device none" if self.device == "none" else "--no-play"
            raise ConfigError(f"--save-profile: expected --device phone and play, found {found}; measure one")

    def _config(self) -> Config:
        try:
            phone = PhoneConfig(
                serial=self.serial,
                adb_port=self.adb_port,
                capture=self.capture,
                touch=self.touch,
                package=self.package,
                give_up_s=GIVE_UP_S,
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error
        device = "simulator" if self.device == "none" else self.device
        config = make_config(eyes="vision", clock="wall", device=device, phone=phone)
        config = dataclasses.replace(config, profile=read_profile(self.profile))
        return replace_in(config, "eyes", weights=self.weights)

    def _desk(self, config: Config) -> Iterable[Check]:
        return desk_checks(config.profile, config.eyes, (self.models, self.logs))

    def _title(self, checks: list[Check]) -> str:
        if self.device == "none":
            return "doctor: this machine"
        return f"doctor: this machine and the {self.device}"

    # --- playing ------------------------------------------------------------------------------

    def _played(self, config: Config, checks: list[Check]) -> tuple[Check, PlayFigures | None]:
        """The check of the measurement, and its figures; skipped where an earlier check forbids it."""
        name = "touch to screen"
        if not self.play:
            return Check(name, State.SKIPPED, "not measured", "leave --no-play out to measure it"), None
        hindered = [one.name for one in checks if one.name in PLAY_NEEDS and one.state is State.FAIL]
        if hindered:
            return Check(name, State.SKIPPED, f"not measured, because of: {', '.join(hindered)}"), None
        try:
            env = build_env(config)
        except GreatWallError as error:
            return attempt(name, _raising(error)), None
        try:
            with stop_signals():
                figures = measure_play(env, env.worker, self.seconds, self.jumps)  # type: ignore[arg-type]
        except GreatWallError as error:
            return attempt(name, _raising(error)), None
        finally:
            env.close()
        return play_check(name, figures), figures

    def _save(
        self, config: Config, checks: list[Check], figures: PlayFigures | None, console: Console
    ) -> None:
        assert self.save_profile is not None
        if figures is None:
            raise ConfigError(
                "--save-profile: expected a measurement, found none was made; see the checks above"
            )
        known = {key: value for one in checks for key, value in one.figures.items()}
        profile: DeviceProfile = device_profile(
            figures,
            str(known.get("phone", "simulator on this machine")),
            frames_per_s=float(figures.timing.get("grab_fps") or 0.0),
            capture=str(known.get("capture", "")),
            touch=str(known.get("touch", "")),
            measured_at=datetime.now().astimezone().isoformat(timespec="seconds"),
        )
        write_json(self.save_profile, profile.to_json())
        low, high = profile.delays.touch_to_effect_s
        console.print(
            f"wrote {self.save_profile}: touches take {1000 * low:.0f}-{1000 * high:.0f} ms; "
            f"train for this phone: python train_ppo.py --like-device {self.save_profile}",
            highlight=False,
            soft_wrap=True,
        )


COMMAND = Doctor
PLAY_NEEDS = ("adb", "phone", "capture", "touch", "game in front", "HUD", "Tesseract", "detector", "screen")


def play_check(name: str, figures: PlayFigures) -> Check:
    """What playing showed, judged."""
    found = figures.summary()
    effect, age = found["touch_to_effect_ms"], found["perceived_age_ms"]
    if not effect["count"]:
        why = figures.ended or f"no jump was seen in {figures.seconds:.0f} s"
        return Check(
            name, State.FAIL, why, "start a run by hand, see that the rider's box fits (calibrate)",
            {"play": found},
        )  # fmt: skip
    text = (
        f"{effect['count']} jumps: seen {effect['p50']:.0f} ms after the touch (p50; {effect['least']:.0f}-"
        f"{effect['most']:.0f}); a frame is perceived {age['p50'] or 0:.0f} ms after its capture (p95 "
        f"{age['p95'] or 0:.0f})"
    )
    lost = figures.touches_lost
    bad = remedy = ""
    if lost > LOST_SHARE * (lost + effect["count"]):
        bad, remedy = f"{lost} touches had no effect", "try another --touch; see that nothing covers the game"
    elif figures.ended:
        bad, remedy = f"ended early, {figures.ended}", "see that the restart buttons of the profile are right"
    return judged(name, text, bad=bad, remedy=remedy, play=found)


def _raising(error: GreatWallError) -> Any:
    def check() -> Check:
        raise error

    return check
