"""A game's profile out of JSON: each value of the type its setting has, and each where it can be.

Whatever is wrong is a `ValueError` that names the setting. Any thread.
"""

from __future__ import annotations

import dataclasses
import math
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from config import GameProfile
from greatwall.contracts import HUD_FIELDS

ROLES = ("rider", "danger", "enemy", "soul", "coin")
SMALLEST_FRAME, LARGEST_FRAME = (160, 90), (16_384, 16_384)  # px
SMALLEST_BOX = 4  # px a side: less holds no digit and no rider
LONGEST_S = 60.0  # of a cooldown or a wait
NAMES = {int: "a whole number", float: "a number", str: "text", bool: "true or false", NoneType: "null"}


def typed(name: str, value: Any, kind: Any) -> Any:
    """JSON's `value` as what the annotation `kind` says: lists become tuples, objects dataclasses."""
    if dataclasses.is_dataclass(kind):
        return _made(name, value, kind)
    if get_origin(kind) is tuple:
        return _tuple(name, value, get_args(kind))
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
        raise ValueError(f"{name} {str(value)[:40]!r} instead of {NAMES.get(kind, kind.__name__)}")
    return value


def _made(name: str, value: Any, kind: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{name} {str(value)[:40]!r} instead of its settings")
    odd = sorted({one.name for one in dataclasses.fields(kind)} ^ set(value))
    if odd:
        raise ValueError(f"{name}: settings missing or unknown: {', '.join(odd)}")
    hints = get_type_hints(kind)
    return kind(**{key: typed(key, one, hints[key]) for key, one in value.items()})


def _tuple(name: str, value: Any, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{name} {str(value)[:40]!r} instead of a list")
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(value) != len(kinds):
        raise ValueError(f"{name} of {len(value)} values instead of {len(kinds)}")
    return tuple(typed(name, one, kind) for one, kind in zip(value, kinds, strict=True))


def check_profile(profile: GameProfile) -> None:
    """ValueError for the first thing that cannot be."""
    width, height = profile.frame_size
    for side, low, high in zip(profile.frame_size, SMALLEST_FRAME, LARGEST_FRAME, strict=True):
        _within("frame_size", side, low, high)
    _check_classes(profile)
    y1, y2 = profile.play_band
    if not 0 <= y1 < y2 <= height:
        raise ValueError(f"play_band {profile.play_band} outside a frame {height} px high")
    boxes = [("rider_box", profile.rider_box), *((f"hud {name}", field.box) for name, field in profile.hud)]
    for name, (x, y, w, h) in boxes:
        if not (x >= 0 and y >= 0 and x + w <= width and y + h <= height):
            raise ValueError(f"{name} {(x, y, w, h)} outside the frame of {width}x{height} px")
        if min(w, h) < SMALLEST_BOX:
            raise ValueError(f"{name} {(x, y, w, h)} smaller than {SMALLEST_BOX} px")
    _check_hud(profile)
    shades = [one for color in profile.ground_colors for one in color]
    if not shades or not 0 <= min(shades) <= max(shades) <= 255:
        raise ValueError("ground_colors that are not B, G, R triples from 0 to 255")
    _check_ranges(profile, width, height)


def _check_classes(profile: GameProfile) -> None:
    classes, roles = profile.classes, dict(profile.roles)
    if len(set(classes)) != len(classes):
        raise ValueError(f"classes {', '.join(classes)}: a name twice")
    if not classes or set(roles) != set(classes) or len(profile.roles) != len(classes):
        raise ValueError(f"roles for {sorted(roles)} and classes {sorted(classes)}: one role a class")
    if not set(roles.values()) <= set(ROLES) or "rider" not in roles.values():
        raise ValueError(
            f"roles {sorted(set(roles.values()))} instead of {', '.join(ROLES)}, rider among them"
        )


def _check_hud(profile: GameProfile) -> None:
    names = [name for name, _ in profile.hud]
    unknown = set(names) - set(HUD_FIELDS)
    if unknown:
        raise ValueError(f"hud {sorted(unknown)} instead of {', '.join(HUD_FIELDS)}")
    if len(set(names)) != len(names):
        raise ValueError(f"hud {', '.join(names)}: a name twice")
    for name, field in profile.hud:
        if not 0 <= field.low <= field.high:
            raise ValueError(f"hud {name}: low {field.low} and high {field.high}")
        if field.max_rise_per_s < 0:
            raise ValueError(f"hud {name}: max_rise_per_s {field.max_rise_per_s} below 0")


def _check_ranges(profile: GameProfile, width: int, height: int) -> None:
    ranges: dict[str, tuple[float, float]] = {
        "ground_tolerance": (0, 255),
        "ground_row_from_bottom": (1, height - 1),
        "terrain_step_px": (1, width),
        "gap_min_px": (1, width),
        "cliff_ahead_px": (0, width),
        "jump_cooldown_s": (0, LONGEST_S),
        "swipe_ms": (1, 1000 * LONGEST_S),
        "shoot_offset_px": (0, width),
        "distance_switch_px": (0, width),
        "shoot_y_offset_px": (-height, height),
        "shoot_cooldown_s": (0, LONGEST_S),
    }
    for name, (low, high) in ranges.items():
        _within(name, getattr(profile, name), low, high)
    touches = [("jump_tap", *profile.jump_tap), *(("restart", tap.x, tap.y) for tap in profile.restart)]
    for name, x, y in touches:
        if not (0 <= x < width and 0 <= y < height):
            raise ValueError(f"{name} {(x, y)} outside the frame of {width}x{height} px")
    for tap in profile.restart:
        _within("restart wait_s", tap.wait_s, 0, LONGEST_S)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} {value} instead of {low:g} to {high:g}")
