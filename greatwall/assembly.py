"""Config -> device + eyes + Worker + env: the one place where the parts meet.

`gymnasium.make("greatwall:GreatWallRun-v0", eyes="vision")` ends up in `make_env`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any, Literal

from config import GREAT_WALL, SEED_END, Config, FaultConfig, ScreenConfig, replace_in, with_variants
from game_env import GreatWallEnv
from greatwall.contracts import Device, Eyes, TickedDevice
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


DEVICES: dict[str, Callable[[Config], Device]] = {"simulator": SimulatedDevice, "video": _video}


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


def build_worker(config: Config, device: Device | None = None) -> Worker:
    """A Worker on its device, or on the one given, not started. The game clock needs one to be held."""
    device = device or build_device(config)
    if config.worker.clock == "game" and not isinstance(device, TickedDevice):
        raise ConfigError(
            f"clock: expected --clock wall for device {config.device!r}, found game; only the simulator's "
            "time can be moved by hand"
        )
    return Worker(config, device, build_eyes(config))


def build_env(config: Config, render_mode: str | None = None) -> GreatWallEnv:
    """The whole system as a gymnasium env; its threads start at the first `reset`."""
    return GreatWallEnv(config, build_worker(config), render_mode)


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
) -> Config:
    """A `Config` from the few settings most callers want; `ConfigError` for a value it cannot take.

    The profile is the game's as `look` shows it: HUD boxes and ground colours follow the look.
    """
    try:
        profile = look_named(look).profile(GREAT_WALL)
        screen = ScreenConfig(look=look, size=size, compress=compress)
        config = Config(profile=profile, device=device, source=source, seed=seed, screen=screen)
        config = with_variants(config, variants)
        config = replace_in(config, "eyes", kind=eyes)
        config = replace_in(config, "worker", clock=clock)
        config = dataclasses.replace(config, faults=faults or FaultConfig())
        return replace_in(config, "env", max_distance_m=max_distance_m)
    except ValueError as error:
        raise ConfigError(str(error)) from error


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
