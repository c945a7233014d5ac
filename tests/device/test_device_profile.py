"""A phone's measured delays: what the file says is what the simulator gets, and a bad file is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import DelayConfig
from greatwall.assembly import course_name, make_config
from greatwall.device.device_profile import (
    DeviceProfile,
    profile_named,
    read_device_profile,
    saved_profile,
    uniform_like,
)
from greatwall.errors import ConfigError, FileFormatError

PHONE = DeviceProfile(
    "Pixel 7, Android 14",
    DelayConfig((0.04, 0.06), (0.001, 0.002), (0.1, 0.15), (0.02, 0.05)),
    frames_per_s=59.5,
    capture="scrcpy",
    touch="scrcpy",
    samples={"touch_to_effect_s": (0.11, 0.14)},
    measured_at="2026-11-30T12:00:00",
)


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_a_written_profile_is_read_back(tmp_path: Path) -> None:
    read = read_device_profile(written(tmp_path / "phone.json", PHONE.to_json()))
    assert read.delays == PHONE.delays
    assert read.samples["touch_to_effect_s"] == (0.11, 0.14)
    assert (read.device, read.frames_per_s) == (PHONE.device, PHONE.frames_per_s)


def test_the_simulator_takes_on_the_measured_delays_and_keeps_its_decision_rate() -> None:
    config = make_config(like_device=PHONE)
    assert config.delays == PHONE.delays
    assert config.worker == make_config().worker
    assert course_name(config) == "like Pixel 7, Android 14"
    assert saved_profile(config.resolved()) == DeviceProfile(PHONE.device, PHONE.delays)
    assert saved_profile(make_config().resolved()) is None


def test_variants_that_set_delays_do_not_go_with_a_profile() -> None:
    assert make_config(like_device=PHONE, variants=("one_life",)).course.lives == 1
    with pytest.raises(ConfigError, match="one source of delays"):
        make_config(like_device=PHONE, variants=("low_delay",))


@pytest.mark.parametrize("option", [None, "", "none"])
def test_no_profile_is_the_usual_delays(option: str | None) -> None:
    assert profile_named(option) is None


def changed(**changes: Any) -> dict[str, Any]:
    return PHONE.to_json() | changes


def delays_with(name: str, value: Any) -> dict[str, Any]:
    return changed(delays=PHONE.to_json()["delays"] | {name: value})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "expected a device profile"),
        ("{", "expected a device profile"),
        ("[" * 100_000, "expected a device profile"),
        ("\x00\x01\x02", "expected a device profile"),
        ("[1, 2]", "instead of its settings"),
        ("{}", "format 'None'"),
        (changed(format="x"), "format 'x'"),
        (changed(version=9), "version '9'"),
        (changed(device=""), "without a name"),
        (changed(device="a\nb"), "instead of a line of text"),
        (changed(device=["a"]), "instead of a line of text"),
        (changed(frames_per_s="many"), "frames_per_s 'many'"),
        (changed(delays={}), "delays that are not"),
        (delays_with("touch_to_effect_s", 3), "instead of low and high"),
        (delays_with("touch_to_effect_s", {"low": 0.5, "high": 0.1}), "0 <= low <= high"),
        (delays_with("touch_to_effect_s", {"low": 0, "high": 9}), "0 <= low <= high"),
        (delays_with("touch_to_effect_s", {"low": True, "high": 1}), "instead of a number"),
        (delays_with("hud_read_s", {"low": -1, "high": 1}), "instead of a number"),
        (delays_with("hud_read_s", {"low": 0, "high": 1, "samples": ["x"]}), "hud_read_s samples"),
        ('{"format": "greatwall-device-profile", "version": 1e999}', "version 'inf'"),
        (json.dumps(PHONE.to_json()).replace("59.5", "9" * 400), "expected a device profile"),
        (json.dumps(PHONE.to_json()).replace("59.5", "NaN"), "frames_per_s 'nan'"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, content: Any, words: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_device_profile(written(tmp_path / "phone.json", content))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="doctor --device phone --save-profile"):
        read_device_profile(tmp_path / "none.json")


@pytest.mark.parametrize(("low", "high"), [(0.3, 0.5), (0.1, 0.15), (0.0, 0.0)])
def test_a_uniform_delay_is_found_again_in_spite_of_an_outlier(low: float, high: float) -> None:
    drawn = np.random.default_rng(3).uniform(low, high, 400).tolist()
    found = uniform_like([*drawn, 3.0])
    assert found == pytest.approx((low, high), abs=0.1 * (high - low) + 1e-4)


@given(st.lists(st.floats(0, 2), min_size=1, max_size=40))
def test_a_distribution_lies_around_the_middle_of_its_samples(samples: list[float]) -> None:
    low, high = uniform_like(samples)
    assert 0 <= low <= high
    assert low - 1e-4 <= float(np.quantile(samples, 0.5)) <= high + 1e-4


def test_nothing_measured_is_no_distribution() -> None:
    with pytest.raises(ValueError, match="at least one"):
        uniform_like([])
