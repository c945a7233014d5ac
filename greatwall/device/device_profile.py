"""How quick a phone is, as `doctor --save-profile` measured it: a small JSON file.

The simulator imitates it: `--like-device FILE` makes a `DelayConfig` of it. Any thread.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config import DelayConfig, Seconds
from greatwall.errors import ConfigError, FileFormatError

FORMAT = "greatwall-device-profile"
VERSION = 1
LARGEST_BYTES = 1_000_000
LONGEST_NAME = 120
DELAYS = tuple(one.name for one in dataclasses.fields(DelayConfig))
SHARES = (0.1, 0.9)
NONE = "none"  # what --like-device takes for the default delays again


@dataclass(frozen=True)
class DeviceProfile:
    """What was measured on one device. Delays are uniform distributions, low and high, in s."""

    device: str  # for people: model and Android version
    delays: DelayConfig
    frames_per_s: float = 0.0  # of the capture; 0 where it was not measured
    capture: str = ""  # the methods that were measured
    touch: str = ""
    samples: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)  # s, as measured
    measured_at: str = ""  # date and time, ISO 8601

    def to_json(self) -> dict[str, Any]:
        """What the file holds."""
        delays = {}
        for name in DELAYS:
            low, high = getattr(self.delays, name)
            delays[name] = {"low": low, "high": high, "samples": list(self.samples.get(name, ()))}
        return {
            "format": FORMAT,
            "version": VERSION,
            "device": self.device,
            "measured_at": self.measured_at,
            "capture": self.capture,
            "touch": self.touch,
            "frames_per_s": self.frames_per_s,
            "delays": delays,
        }


def uniform_like(samples: Sequence[float]) -> Seconds:
    """The uniform distribution with the 10th and 90th percentile of `samples`, in s, not below 0.

    Those two, not the extremes: one hiccup among twenty taps would otherwise double a delay.
    """
    ordered = sorted(samples)
    if not ordered:
        raise ValueError("expected at least one measured delay, found none; measure again")
    p10, p90 = (_quantile(ordered, share) for share in SHARES)
    beyond = (p90 - p10) * SHARES[0] / (SHARES[1] - SHARES[0])
    return round(max(0.0, p10 - beyond), 4), round(max(0.0, p90 + beyond), 4)


def read_device_profile(path: Path) -> DeviceProfile:
    """The profile in a file; `ConfigError` without one, `FileFormatError` for what is none."""
    if not path.is_file():
        raise ConfigError(
            f"--like-device: expected a device profile at {path}, found none; "
            "measure one: python -m greatwall doctor --device phone --save-profile FILE"
        )
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise ValueError(f"more than {LARGEST_BYTES:,} bytes")
        return _profile_of(json.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        found = " ".join(str(error).split())[:160]
        raise FileFormatError(
            f"{path}: expected a device profile, found {found}; "
            "measure it again: python -m greatwall doctor --device phone --save-profile FILE"
        ) from error


def profile_named(option: str | Path | None) -> DeviceProfile | None:
    """What `--like-device` asks for: a file's profile; None for nothing, for "" and for `none`."""
    if option is None or str(option) in ("", ".", NONE):
        return None
    return read_device_profile(Path(option))


def saved_profile(config: Mapping[str, Any]) -> DeviceProfile | None:
    """The profile that a saved, resolved config was made with; None where it was made without."""
    name, delays = config.get("like_device"), config.get("delays")
    if not name or not delays:
        return None
    return DeviceProfile(str(name), DelayConfig(**{key: tuple(one) for key, one in delays.items()}))


def _profile_of(value: Any) -> DeviceProfile:
    """Raises `ValueError` that names what is wrong."""
    if not isinstance(value, dict):
        raise ValueError(f"{str(value)[:40]!r} instead of its settings")
    if value.get("format") != FORMAT:
        raise ValueError(f"format {str(value.get('format'))[:40]!r} instead of {FORMAT!r}")
    if value.get("version") != VERSION:
        raise ValueError(f"version {str(value.get('version'))[:20]!r} instead of {VERSION}")
    delays = value.get("delays")
    if not isinstance(delays, dict) or set(delays) != set(DELAYS):
        raise ValueError(f"delays that are not {', '.join(DELAYS)}")
    ranges = {name: _range(name, delays[name]) for name in DELAYS}
    return DeviceProfile(
        device=_name(value.get("device")),
        delays=DelayConfig(**ranges),
        frames_per_s=_number("frames_per_s", value.get("frames_per_s", 0.0)),
        capture=_text("capture", value.get("capture", "")),
        touch=_text("touch", value.get("touch", "")),
        samples={name: _samples(name, delays[name].get("samples", [])) for name in DELAYS},
        measured_at=_text("measured_at", value.get("measured_at", "")),
    )


def _range(name: str, value: Any) -> Seconds:
    if not isinstance(value, dict):
        raise ValueError(f"{name} {str(value)[:40]!r} instead of low and high")
    return _number(f"{name} low", value.get("low")), _number(f"{name} high", value.get("high"))


def _samples(name: str, value: Any) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{name} samples {str(value)[:40]!r} instead of a list")
    return tuple(_number(f"{name} samples", one) for one in value)


def _number(name: str, value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{name} {str(value)[:40]!r} instead of a number, 0 or more")
    return float(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_NAME or not (value.isprintable() or value == ""):
        raise ValueError(f"{name} {str(value)[:40]!r} instead of a line of text")
    return value


def _name(value: Any) -> str:
    if not _text("device", value).strip():
        raise ValueError("a device without a name")
    return str(value)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between the neighbours, as numpy's default."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
