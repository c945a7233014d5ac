"""Config -> device + eyes + Worker + env: the one place where the parts meet.

`gymnasium.make("greatwall:GreatWallRun-v0", eyes="vision")` ends up in `make_env`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

from ppo_acting import Worker

from config import Config, replace_in, with_variants
from game_env import GreatWallEnv
from greatwall.contracts import Device, Eyes, TickedDevice
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import ConfigError

DEVICES: dict[str, Callable[[Config], Device]] = {"simulator": SimulatedDevice}


def build_device(config: Config) -> Device:
    """The device `config.device` names; `ConfigError` for an unknown one."""
    make = DEVICES.get(config.device)
    if make is None:
        raise ConfigError(
            f"unknown device: expected one of {', '.join(DEVICES)}; found {config.device!r}; "
            "use --device simulator"
        )
    return make(config)


def build_eyes(config: Config) -> Eyes:
    """Vision or truth. Imported when wanted: truth needs neither detector nor Tesseract."""
    if config.eyes.kind == "truth":
        from greatwall.eyes.truth import TruthEyes

        return TruthEyes(config.profile)
    from greatwall.eyes.vision import VisionEyes

    return VisionEyes(config.profile, config.eyes)


def build_worker(config: Config) -> Worker:
    """A Worker on its device, not started. The game clock needs a device that can be held."""
    device = build_device(config)
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
    seed: int = 0,
    variants: tuple[str, ...] = (),
    max_distance_m: int = 0,
) -> Config:
    """A `Config` from the few settings most callers want; `ConfigError` for a value it cannot take."""
    try:
        config = with_variants(Config(device=device, seed=seed), variants)
        config = replace_in(config, "eyes", kind=eyes)
        config = replace_in(config, "worker", clock=clock)
        return replace_in(config, "env", max_distance_m=max_distance_m)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def make_env(
    config: Config | None = None,
    *,
    render_mode: str | None = None,
    eyes: Literal["truth", "vision"] = "truth",
    clock: Literal["game", "wall"] = "game",
    seed: int = 0,
    variants: tuple[str, ...] = (),
) -> GreatWallEnv:
    """What gymnasium's registry calls: a whole `Config`, or the few settings of `make_config`."""
    if config is None:
        config = make_config(eyes=eyes, clock=clock, seed=seed, variants=variants)
    return build_env(config, render_mode)


def with_seed(config: Config, seed: int) -> Config:
    """`config` for another of several envs."""
    return dataclasses.replace(config, seed=seed)
