"""Another game than the embedded one, on a phone: its profile and its detector, by option or out of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from config import Config, GameProfile, replace_in
from greatwall.commands.profile import read_profile
from greatwall.commands.profile_checks import check_profile, typed
from greatwall.errors import ConfigError, FileFormatError

PHONE = "phone"


def with_game(
    config: Config, profile: Path | None, weights: str | None, saved: Mapping[str, Any] | None = None
) -> Config:
    """`config` with the profile in that file and those weights; what is None is taken from `saved`, the
    resolved config of a run on a phone. `ConfigError` for another device, whose game is the embedded one."""
    if config.device != PHONE:
        for flag, value in (("--profile", profile), ("--weights", weights)):
            if value:
                raise ConfigError(
                    f"{flag}: expected --device phone, found {config.device}, whose game is our own; "
                    "leave it out"
                )
        return config
    saved = saved if saved is not None and saved.get("device") == PHONE else {}
    if profile is not None:
        config = dataclasses.replace(config, profile=read_profile(profile))
    elif "profile" in saved:
        config = dataclasses.replace(config, profile=_saved_game(saved["profile"]))
    if weights is None:
        weights = str(saved.get("eyes", {}).get("weights", ""))
    return replace_in(config, "eyes", weights=weights)


def _saved_game(value: Any) -> GameProfile:
    try:
        profile: GameProfile = typed("profile", value, GameProfile)
        check_profile(profile)
    except ValueError as error:
        raise FileFormatError(
            f"the run's settings: expected the profile of a game, found {str(error)[:120]}; "
            "name it with --profile"
        ) from error
    return profile
