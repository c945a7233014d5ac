"""`train_ppo.py --like-device`: a run takes a phone's delays, remembers them, and gives them up when told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import train_ppo
from config import DelayConfig
from greatwall.device.device_profile import DeviceProfile
from greatwall.learning.training_state import TrainingState, read_state

PHONE = DeviceProfile(
    "Pixel 7, Android 14", DelayConfig((0.04, 0.06), (0.0, 0.002), (0.1, 0.15), (0.02, 0.05))
)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> TrainingState:
    """Of a short run with the phone's delays."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "phone.json").write_text(json.dumps(PHONE.to_json()))
    options = ["--models", str(folder / "models"), "--logs", str(folder / "logs"), "--exam-episodes", "0"]
    few = ["--timesteps", "64", "--n-envs", "2", "--like-device", str(folder / "phone.json"), "--no-film"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("greatwall.learning.run.VALIDATION_EPISODES", 1)
        assert train_ppo.main([*options, *few]) == 0
    return read_state(folder / "models" / "ppo_greatwall_state.zip")


def test_the_run_was_made_with_the_phones_delays(state: TrainingState) -> None:
    assert state.config["delays"]["touch_to_effect_s"] == [0.1, 0.15]
    assert state.config["like_device"] == PHONE.device


def test_a_resumed_run_remembers_them(state: TrainingState) -> None:
    config = train_ppo.resolve(train_ppo.Arguments(), state).config
    assert config.delays == PHONE.delays
    assert config.like_device == PHONE.device


def test_none_goes_back_to_the_usual_delays(state: TrainingState) -> None:
    config = train_ppo.resolve(train_ppo.Arguments(like_device="none"), state).config
    assert config.delays == DelayConfig()
    assert config.like_device == ""


def test_a_profile_that_is_none_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text("{}")
    for name, words in (("bad.json", "expected a device profile"), ("none.json", "found none")):
        options = ["--models", str(tmp_path / "m"), "--logs", str(tmp_path / "l")]
        assert train_ppo.main([*options, "--like-device", str(tmp_path / name)]) == 2
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1
    assert not (tmp_path / "m").exists()
