"""What the command line makes of --warm-start, --demonstration-steps and --randomise, also on resume."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from greatwall.assembly import make_config
from greatwall.errors import ConfigError
from greatwall.learning.changes import changes_between
from greatwall.learning.presets import PRESETS
from greatwall.learning.training_state import Counters, TrainingState
from train_ppo import DEFAULT_DEMONSTRATION_STEPS, Arguments, resolve


def state(
    timesteps: int = 50_000, randomise: float = 0.0, warm: str = "rule", shown: int = 30_000
) -> TrainingState:
    preset = PRESETS["default"].warmed(warm, shown)
    config = dataclasses.replace(preset.apply(make_config(eyes="truth")), randomise=randomise)
    counters = Counters(0, timesteps=timesteps, target_timesteps=100_000)
    nothing: dict[str, Any] = {}
    return TrainingState(counters, preset.resolved(), config.resolved(), {"x": np.zeros(1)}, nothing, [])


def test_a_warm_start_is_gentler_and_counts_its_steps() -> None:
    cold = resolve(Arguments(preset="scratch"), None).preset
    warm = resolve(Arguments(preset="scratch", warm_start="rule"), None).preset
    assert (cold.warm_start, cold.demonstration_steps) == ("", 0)
    assert (warm.warm_start, warm.demonstration_steps) == ("rule", DEFAULT_DEMONSTRATION_STEPS)
    assert warm.learning_rate < cold.learning_rate
    assert warm.target_kl > 0
    assert warm.network == cold.network
    asked = resolve(Arguments(preset="scratch", warm_start="oracle", demonstration_steps=500), None)
    assert asked.preset.demonstration_steps == 500


def test_the_default_is_warm_started_and_made_gentle_once() -> None:
    usual = resolve(Arguments(), None).preset
    assert usual.resolved() == PRESETS["default"].resolved()
    assert (usual.warm_start, usual.demonstration_steps) == ("rule", 80_000)
    other = resolve(Arguments(warm_start="oracle"), None).preset
    assert other == dataclasses.replace(usual, warm_start="oracle")
    assert usual.learning_rate == PRESETS["scratch"].warmed("rule", 1).learning_rate


def test_a_short_run_is_shown_less() -> None:
    assert resolve(Arguments(timesteps=1_000), None).preset.demonstration_steps == 800


def test_until_something_was_shown_a_run_of_another_length_is_shown_as_much_as_suits_it() -> None:
    before = state(timesteps=0, shown=800)
    assert resolve(Arguments(), before).preset.demonstration_steps == 800
    longer = resolve(Arguments(timesteps=50_000), before)
    assert longer.preset.demonstration_steps == 40_000
    assert not changes_between(before, longer.config, longer.preset, 0).refused
    begun = state(timesteps=900, shown=800)
    assert resolve(Arguments(timesteps=50_000), begun).preset.demonstration_steps == 800


def test_a_phone_has_no_teacher() -> None:
    preset = resolve(Arguments(device="phone"), None).preset
    assert (preset.name, preset.warm_start) == ("scratch", "")


def test_a_resumed_run_keeps_its_warm_start_and_its_randomising() -> None:
    before = state(randomise=0.5)
    found = resolve(Arguments(), before)
    assert found.preset.resolved() == before.preset
    assert found.config.resolved() == before.config
    assert not changes_between(before, found.config, found.preset, 0).accepted


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        (Arguments(warm_start="rule207"), "preset.warm_start rule -> rule207"),
        (Arguments(demonstration_steps=100), "preset.demonstration_steps 30000 -> 100"),
    ],
)
def test_another_warm_start_is_another_run(asked: Arguments, refused: str) -> None:
    before = state()
    found = resolve(asked, before)
    assert changes_between(before, found.config, found.preset, 0).refused == (refused,)


def test_randomising_may_change_and_the_games_under_way_are_not_gone_on_with() -> None:
    before = state()
    found = resolve(Arguments(randomise=1.0), before)
    changes = changes_between(before, found.config, found.preset, 0)
    assert changes.accepted == ("randomise 0.0 -> 1.0",)
    assert changes.of_the_config
    assert not changes.of_the_game, "validation is not randomised: its scores mean what they meant"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            Arguments(preset="plain", demonstration_steps=10),
            "--demonstration-steps: expected --warm-start besides",
        ),
        (Arguments(warm_start="rule", demonstration_steps=0), "--demonstration-steps: expected 1 or more"),
        (
            Arguments(demonstration_steps=5000, timesteps=1000),
            "--timesteps: expected more than the 5,000 steps",
        ),
        (Arguments(randomise=9.0), "--randomise: expected 0 to 5, found 9"),
        (
            Arguments(randomise=1.0, device="phone"),
            "--randomise: expected the simulator, found device 'phone'",
        ),
        (Arguments(warm_start="rule", device="phone"), "--warm-start: expected the simulator"),
        (Arguments(preset="default", device="phone"), "or learn by --preset scratch"),
        (Arguments(device="phone", demonstration_steps=10), "or learn by --preset scratch"),
        (Arguments(timesteps=1), "--timesteps: expected more than the 1 steps of demonstrations, found 1"),
    ],
)
def test_mistakes_are_one_line(asked: Arguments, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        resolve(asked, None)
    assert "\n" not in str(caught.value)


def test_a_run_that_was_shown_nothing_yet_begins_anew_on_a_phone() -> None:
    with pytest.raises(ConfigError, match="or learn by --fresh --preset scratch"):
        resolve(Arguments(device="phone"), state(timesteps=0))


def test_a_run_shown_at_home_may_go_on_elsewhere() -> None:
    assert resolve(Arguments(device="phone"), state()).preset.warm_start == "rule"
