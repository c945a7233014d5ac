"""Another game on a phone: its profile and weights come by option or out of the run that is resumed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from config import GREAT_WALL, Config
from greatwall.assembly import make_config
from greatwall.commands.other_game import with_game
from greatwall.errors import ConfigError, FileFormatError

OTHER = dataclasses.replace(GREAT_WALL, name="Other", jump_tap=(7, 8))


def on_phone() -> Config:
    return make_config(device="phone", eyes="vision", clock="wall")


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(dataclasses.asdict(OTHER)))
    return path


def test_a_phone_takes_the_profile_and_weights_it_is_given(profile: Path) -> None:
    config = with_game(on_phone(), profile, "mine.onnx")
    assert config.profile == OTHER
    assert config.eyes.weights == "mine.onnx"
    assert with_game(on_phone(), None, None) == on_phone()


def test_a_resumed_run_on_a_phone_keeps_its_game(profile: Path) -> None:
    saved = with_game(on_phone(), profile, "mine.onnx").resolved()
    again = with_game(on_phone(), None, None, saved)
    assert again.profile == OTHER
    assert again.eyes.weights == "mine.onnx"


def test_a_run_from_the_simulator_lends_its_game_to_no_phone() -> None:
    saved = dataclasses.replace(make_config(), profile=OTHER).resolved()
    assert with_game(on_phone(), None, None, saved).profile == GREAT_WALL


def test_a_damaged_profile_of_a_run_is_one_line() -> None:
    saved = on_phone().resolved() | {"profile": {"name": 3}}
    with pytest.raises(FileFormatError, match="--profile") as caught:
        with_game(on_phone(), None, None, saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("flag", ["--profile", "--weights"])
def test_the_simulator_plays_our_own_game(flag: str, profile: Path) -> None:
    options = (profile, None) if flag == "--profile" else (None, "mine.onnx")
    with pytest.raises(ConfigError, match=f"{flag}: expected --device phone, found simulator"):
        with_game(make_config(), *options)
