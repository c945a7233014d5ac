"""Config -> device + eyes + Worker + env: the one place where the parts meet.

`gymnasium.make("greatwall:GreatWallRun-v0", eyes="vision")` ends up in `make_env`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any, Literal

from config import (
    GREAT_WALL,
    SEED_END,
    Config,
    FaultConfig,
    PhoneConfig,
    ScreenConfig,
    replace_in,
    with_variants,
)
from game_env import GreatWallEnv
from greatwall.contracts import Device, Eyes, TickedDevice
from greatwall.device.device_profile import DeviceProfile
from greatwall.device.simulator import SimulatedDevice
from greatwall.device.withheld import withholding_device
from greatwall.errors import ConfigError
from greatwall.eyes.faults import faulty_eyes
from greatwall.game.looks import look_named
from ppo_acting import Worker

STANDARD_COURSE = "standard"


def _video(config: Config) -> Device:
    """Imported when wanted: only recordings need PyAV."""
    from greatwall.device.video import VideoDevice

    return VideoDevice(config)


def _phone(config: Config) -> Device:
    """Imported when wanted: only a phone needs adb and PyAV."""
    from greatwall.device.phone.recovery import open_phone

    return open_phone(config)


DEVICES: dict[str, Callable[[Config], Device]] = {
    "simulator": SimulatedDevice,
    "video": _video,
    "phone": _phone,
}


def build_device(config: Config) -> Device:
    """The device `config.device` names, behind its faults; `ConfigError` for an unknown one."""
    return withholding_device(open_device(config), config.faults)


def open_device(config: Config) -> Device:
    """The same without its faults: what a recorder looks at."""
    make = DEVICES.get(config.device)
    if make is None:
        raise ConfigError(
            f"unknown device: expected one of {', '.join(DEVICES)}; found {config.device!r}; "
            "use --device simulator"
        )
    return make(config)


def build_eyes(config: Config) -> Eyes:
    """Vision or truth, behind their faults. Imported when wanted: truth needs no detector or Tesseract."""
    if config.eyes.kind == "truth":
        from greatwall.eyes.truth import TruthEyes

        return faulty_eyes(TruthEyes(config.profile), config.faults, config.profile)
    from greatwall.eyes.vision import VisionEyes

    return faulty_eyes(VisionEyes(config.profile, config.eyes), config.faults, config.profile)


def build_worker(config: Config, device: Device | None = None, eyes: Eyes | None = None) -> Worker:
    """A Worker on its device, or on the one given, not started. The game clock needs one to be held.

    `eyes`: others than its own, as they are without the faults of `config`.
    """
    device = device or build_device(config)
    if config.worker.clock == "game" and not isinstance(device, TickedDevice):
        raise ConfigError(
            f"clock: expected --clock wall for device {config.device!r}, found game; only the simulator's "
            "time can be moved by hand"
        )
    if eyes is None:
        return Worker(config, device, build_eyes(config))
    return Worker(config, device, faulty_eyes(eyes, config.faults, config.profile))


def build_env(
    config: Config,
    render_mode: str | None = None,
    *,
    device: Device | None = None,
    eyes: Eyes | None = None,
) -> GreatWallEnv:
    """The whole system as a gymnasium env, on a device and through eyes of its own or those given; its
    threads start at the first `reset`."""
    return GreatWallEnv(config, build_worker(config, device, eyes), render_mode)


def make_config(
    *,
    eyes: Literal["truth", "vision"] = "truth",
    clock: Literal["game", "wall"] = "game",
    device: str = "simulator",
    source: str = "",
    seed: int = 0,
    variants: tuple[str, ...] = (),
    max_distance_m: int = 0,
    look: str = "standard",
    size: tuple[int, int] = GREAT_WALL.frame_size,
    compress: Literal["none", "jpeg", "h264"] = "none",
    faults: FaultConfig | None = None,
    phone: PhoneConfig | None = None,
    like_device: DeviceProfile | None = None,
) -> Config:
    """A `Config` from the few settings most callers want; `ConfigError` for a value it cannot take.

    The profile is the game's as `look` shows it: HUD boxes and ground colours follow the look. Delays
    are those of `like_device`, where one is given.
    """
    if device == "phone" and (eyes, clock) != ("vision", "wall"):
        raise ConfigError(
            f"--device phone: expected --eyes vision --clock wall, found --eyes {eyes} --clock {clock}; a "
            "phone shows nothing but its screen, in its own time: give both"
        )
    try:
        profile = look_named(look).profile(GREAT_WALL)
        screen = ScreenConfig(look=look, size=size, compress=compress)
        config = Config(profile=profile, device=device, source=source, seed=seed, screen=screen)
        config = with_delays_like(config, like_device, variants)
        config = replace_in(config, "eyes", kind=eyes)
        config = replace_in(config, "worker", clock=clock)
        config = dataclasses.replace(config, faults=faults or FaultConfig(), phone=phone or PhoneConfig())
        return replace_in(config, "env", max_distance_m=max_distance_m)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def with_delays_like(
    config: Config, like_device: DeviceProfile | None, variants: tuple[str, ...] = ()
) -> Config:
    """`config` with the delays measured on a device and with its variants, which may not set delays too."""
    if like_device is not None:
        config = dataclasses.replace(config, delays=like_device.delays, like_device=like_device.device)
    varied = with_variants(config, variants)
    if like_device is not None and varied.delays != config.delays:
        raise ConfigError(
            f"expected one source of delays, found --like-device ({like_device.device}) and "
            f"--variant {','.join(variants)}; leave one of them out"
        )
    return varied


def course_name(config: Config) -> str:
    """What scores on this course are filed under: its variants, and the phone whose delays it has."""
    like = (f"like {config.like_device}",) if config.like_device else ()
    return ",".join((*like, *config.variants)) or STANDARD_COURSE


def check_seed(seed: int, count: int = 1, flag: str = "--seed") -> None:
    """`ConfigError` unless `count` consecutive seeds from this one on can all be taken."""
    if not 0 <= seed <= SEED_END - count:
        raise ConfigError(f"{flag}: expected 0 to {SEED_END - count}, found {seed}; choose another")


def parse_variants(text: str) -> tuple[str, ...]:
    """`one_life,low_delay` -> both names; `standard` and nothing are the course as it is.

    `make_config` refuses names there are not.
    """
    names = [name.strip() for name in text.split(",")]
    return tuple(name for name in names if name not in ("", STANDARD_COURSE))


def parse_size(text: str) -> tuple[int, int]:
    """`1280x720` -> (1280, 720); `ConfigError` for anything else."""
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text.strip().lower())
    if found is None:
        raise ConfigError(f"--size: expected WIDTHxHEIGHT such as 1280x720, found {text!r}; change it")
    return int(found[1]), int(found[2])


def make_env(
    config: Config | None = None, *, render_mode: str | None = None, **settings: Any
) -> GreatWallEnv:
    """What gymnasium's registry calls: a whole `Config`, or the settings of `make_config`, not both."""
    if config is not None and settings:
        raise ConfigError(
            f"expected a whole config or single settings, found both (config and {', '.join(settings)}); "
            "put the settings into the config"
        )
    return build_env(config or make_config(**settings), render_mode)
