"""The whole system on the stand-in phone: real adb, scrcpy's video and touches, vision, the wall clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from config import PhoneConfig
from game_env import GreatWallEnv
from greatwall.assembly import build_env, make_config
from greatwall.contracts import Action
from tests.rigs.phone import StandInPhone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]
LONGEST_S = 240.0
EPISODES = 2
READS_LATER_M = 40  # the last HUD read may be 0.3 s old, and the rider makes 20 m/s and more


@pytest.fixture
def env(phone: StandInPhone) -> Iterator[GreatWallEnv]:
    """On a phone whose course takes one life: its episodes are short."""
    phone.reset(variants=("one_life",), seed=5)
    settings = PhoneConfig(serial=phone.serial, capture="scrcpy", touch="scrcpy")
    made = build_env(make_config(device="phone", eyes="vision", clock="wall", phone=settings))
    yield made
    made.close()


def test_episodes_with_deaths_and_restarts(env: GreatWallEnv, phone: StandInPhone) -> None:
    """From the title page through two deaths into a third run, jumping now and then."""
    ends: list[dict[str, Any]] = []
    _, info = env.reset()
    end_s, steps = time.monotonic() + LONGEST_S, 0
    while len(ends) < EPISODES and time.monotonic() < end_s:
        steps += 1
        action = Action.JUMP if steps % 12 == 0 else Action.SHOOT if steps % 29 == 0 else Action.WAIT
        _, _, terminated, truncated, info = env.step(int(action))
        assert not truncated, info.get("interruption_detail", info)
        if terminated:
            ends.append(info)
            env.reset()
    facts = phone.facts()
    assert len(ends) == EPISODES
    runs = facts["runs"]
    assert len(runs) >= EPISODES
    for told, run in zip(ends, runs, strict=False):
        assert abs(told["hud"].distance - run["distance_m"]) <= READS_LATER_M
    assert facts["touches_dropped"] == 0
    assert facts["game"]["page"] == "playing"
    assert facts["fingers_down"] == []
    assert facts["viewers"] == 1
    assert any(touch["via"] == "scrcpy" for touch in facts["touches"])
    assert not any(touch["via"] == "shell" for touch in facts["touches"])


def test_nothing_is_left_on_the_phone(env: GreatWallEnv, phone: StandInPhone) -> None:
    env.reset()
    env.step(int(Action.SHOOT))
    env.close()
    left = phone.facts("fingers_down", "viewers", "game")
    assert (left["fingers_down"], left["viewers"]) == ([], 0)
