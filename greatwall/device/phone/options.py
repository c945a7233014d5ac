"""The command line's words about a phone, checked before anything is opened. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from config import PhoneConfig
from greatwall.device.phone.captures import CAPTURES
from greatwall.device.phone.link import check_serial
from greatwall.device.phone.touches import TOUCHES
from greatwall.errors import ConfigError, FileFormatError

AUTO = "auto"


def phone_options(
    device: str,
    *,
    serial: str | None = None,
    capture: str | None = None,
    touch: str | None = None,
    package: str | None = None,
    relaunch_every: int | None = None,
    base: PhoneConfig | None = None,
) -> PhoneConfig:
    """`base` with what was asked for; None leaves a setting as it is. `ConfigError` without a phone."""
    asked: dict[str, Any] = {
        name: value
        for name, value in (
            ("serial", serial),
            ("capture", capture),
            ("touch", touch),
            ("package", package),
            ("relaunch_every", relaunch_every),
        )
        if value is not None
    }
    if asked and device != "phone":
        option = next(iter(asked)).replace("_", "-")
        raise ConfigError(f"--{option}: expected --device phone, found {device}; leave it out")
    if serial:
        check_serial(serial)
    for name, known in (("capture", CAPTURES), ("touch", TOUCHES)):
        if asked.get(name, AUTO) not in (AUTO, *known):
            raise ConfigError(
                f"--{name}: expected auto or one of {', '.join(known)}, found {asked[name]!r}; choose one"
            )
    try:
        return dataclasses.replace(base or PhoneConfig(), **asked)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def saved_phone(saved: Mapping[str, Any]) -> PhoneConfig:
    """The phone of a resumed run's resolved config; the usual settings where it has none."""
    found = saved.get("phone", {})
    plain = PhoneConfig()
    try:
        values: dict[str, Any] = {name: _as(getattr(plain, name), value) for name, value in found.items()}
        phone = PhoneConfig(**values)
        return phone_options(
            "phone", serial=phone.serial, capture=phone.capture, touch=phone.touch, base=phone
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"the run's settings: expected those of a phone, found {str(found)[:80]!r}; start over with "
            "--fresh"
        ) from error


def _as(usual: object, value: object) -> object:
    """A value that went through JSON, as a setting of the usual one's type; TypeError for another type."""
    if isinstance(usual, tuple) and isinstance(value, list):
        return tuple(value)
    if isinstance(usual, float) and type(value) is int:
        return float(value)
    if type(value) is not type(usual):
        raise TypeError(f"{value!r} is no {type(usual).__name__}")
    return value
