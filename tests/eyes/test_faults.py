"""Faults on purpose: as often as asked for, the same for the same seeds, and none where none is asked for."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from config import GREAT_WALL, Config, FaultConfig, replace_in
from game_env import GreatWallEnv
from greatwall.assembly import build_device, build_env, build_eyes, make_config
from greatwall.contracts import (
    Device,
    Frame,
    GameObject,
    Gap,
    Ground,
    HudRead,
    SeededEyes,
    Sight,
    TickedDevice,
)
from greatwall.device.simulator import SimulatedDevice
from greatwall.device.withheld import WithholdingDevice, WithholdingTickedDevice, withholding_device
from greatwall.errors import ConfigError
from greatwall.eyes.faults import FaultyEyes, faulty_eyes, misread, parse_faults
from greatwall.eyes.truth import TruthEyes
from greatwall.players import make_player

PICTURE = Frame(1, 0.0, (1920, 1080), bgr=np.zeros((2, 2, 3), np.uint8))
OBJECTS = (
    GameObject("horse", 180, 730, 130, 150, track_id=0),
    GameObject("obstacle", 700, 780, 80, 100, track_id=3),
    GameObject("enemy", 1200, 720, 86, 160, track_id=4),
    GameObject("coin", 1500, 600, 44, 44, track_id=5),
)
READ = HudRead(3, 20, 12, 1234)
LOOKS = 2000


class FixedEyes:
    """See the same four things and one gap in every frame."""

    def __init__(self) -> None:
        self.looks = 0

    def see(self, frame: Frame) -> Sight:
        self.looks += 1
        return Sight(OBJECTS, Ground((Gap(900, 1050, 7),), 310.0, 1920))

    def read_hud(self, frame: Frame) -> HudRead:
        return READ

    def reset(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is held."""


def faulty(**faults: float) -> FaultyEyes:
    return FaultyEyes(FixedEyes(), FaultConfig(**faults), GREAT_WALL)  # type: ignore[arg-type]


def assert_share(count: int, of: int, share: float) -> None:
    """`count` of `of` is `share` within five standard deviations of a binomial."""
    sigma = math.sqrt(share * (1 - share) * of)
    assert abs(count - share * of) <= 5 * sigma + 1


# --- rates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 1.0])
def test_objects_and_gaps_are_missed_as_often_as_asked_for(share: float) -> None:
    eyes = faulty(miss=share)
    seen = [eyes.see(PICTURE) for _ in range(LOOKS)]
    assert_share(sum(4 - len(one.objects) for one in seen), 4 * LOOKS, share)
    assert_share(sum(not one.ground.gaps for one in seen), LOOKS, share)
    assert all((one.ground.cells == 0).any() == bool(one.ground.gaps) for one in seen)


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_objects_are_taken_for_any_other_class(share: float) -> None:
    eyes = faulty(mislabel=share)
    wrong: dict[str, int] = {}
    for _ in range(LOOKS):
        for was, found in zip(OBJECTS, eyes.see(PICTURE).objects, strict=True):
            assert found[1:5] == was[1:5]
            if found.category != was.category:
                wrong[found.category] = wrong.get(found.category, 0) + 1
    assert_share(sum(wrong.values()), 4 * LOOKS, share)
    assert wrong.keys() == set(GREAT_WALL.classes)


@pytest.mark.parametrize("deviation_px", [2.0, 10.0])
def test_each_edge_moves_by_the_deviation_asked_for(deviation_px: float) -> None:
    eyes = faulty(jitter=deviation_px)
    edges = []
    for _ in range(LOOKS):
        for was, found in zip(OBJECTS, eyes.see(PICTURE).objects, strict=True):
            edges.append((found.x - was.x, found.x2 - was.x2, found.y - was.y, found.y2 - was.y2))
    moved = np.array(edges)
    assert np.allclose(moved.std(axis=0), deviation_px, rtol=0.06)
    assert np.abs(moved.mean(axis=0)).max() < 5 * deviation_px / math.sqrt(len(moved))
    assert abs(np.corrcoef(moved[:, 0], moved[:, 1])[0, 1]) < 0.06


def test_jitter_leaves_boxes_and_gaps_that_have_a_size() -> None:
    eyes = faulty(jitter=200.0)
    for _ in range(300):
        sight = eyes.see(PICTURE)
        assert all(one.w >= 1 and one.h >= 1 for one in sight.objects)
        assert all(0 <= gap.x1 < gap.x2 <= 1920 for gap in sight.ground.gaps)


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_the_last_sight_comes_again_as_often_as_asked_for(share: float) -> None:
    eyes = faulty(stale=share)
    seen = [eyes.see(PICTURE) for _ in range(LOOKS)]
    again = sum(one is before for before, one in itertools.pairwise(seen))
    assert_share(again, LOOKS - 1, share)
    assert eyes._eyes.looks == LOOKS - again  # type: ignore[attr-defined]


def test_the_first_sight_of_a_run_is_never_stale() -> None:
    eyes = faulty(stale=1.0)
    first = eyes.see(PICTURE)
    assert eyes.see(PICTURE) is first
    eyes.reset()
    assert eyes.see(PICTURE) is not first


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_hud_fields_are_misread_as_valid_numbers(share: float) -> None:
    eyes = faulty(hud=share)
    fields = dict(GREAT_WALL.hud)
    wrong = 0
    for _ in range(LOOKS):
        for name, was, found in zip(HudRead._fields, READ, eyes.read_hud(PICTURE), strict=True):
            assert found is not None
            assert fields[name].low <= found <= fields[name].high
            wrong += found != was
    assert_share(wrong, 4 * LOOKS, share)


def test_an_unreadable_field_stays_unreadable() -> None:
    eyes = faulty(hud=1.0)
    eyes._eyes.read_hud = lambda frame: HudRead(None, 20, None, 7)  # type: ignore[method-assign]
    read = eyes.read_hud(PICTURE)
    assert (read.lives, read.coins) == (None, None)
    assert read.arrows != 20


@pytest.mark.parametrize("value", [0, 3, 10, 20, 99])
def test_a_misread_differs_by_one_digit_and_stays_in_range(value: int) -> None:
    field = dict(GREAT_WALL.hud)["arrows"]
    found = {misread(value, field, which / 1000) for which in range(1000)}
    assert value not in found
    assert len(found) > 5
    assert all(field.low <= one <= field.high for one in found)
    assert all(abs(len(str(one)) - len(str(value))) <= 1 for one in found)


# --- frames that never arrive ----------------------------------------------------------------------


def held(faults: FaultConfig, seed: int = 1) -> TickedDevice:
    device = withholding_device(SimulatedDevice(Config()), faults)
    assert isinstance(device, TickedDevice)
    device.hold()
    device.new_game(seed)
    return device


def arrivals(device: TickedDevice, ticks: int, looks: int = 1) -> list[bool]:
    """For each tick whether its frame arrived, however often one looks."""
    found, last = [], -1
    for _ in range(ticks):
        ids = {device.frame().frame_id for _ in range(looks)}
        assert len(ids) == 1
        found.append(ids != {last})
        last = ids.pop()
        device.advance(1)
    return found


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_frames_are_lost_as_often_as_asked_for(share: float) -> None:
    arrived = arrivals(held(FaultConfig(drop=share)), 1500)
    assert arrived[0]
    assert_share(arrived.count(False), 1499, share)


def test_which_frames_are_lost_follows_from_the_seeds_alone() -> None:
    faults = FaultConfig(drop=0.3)
    first = arrivals(held(faults), 200)
    assert arrivals(held(faults), 200, looks=3) == first
    device = held(faults, seed=5)
    arrivals(device, 50)
    device.new_game(1)
    assert arrivals(device, 200) == first
    assert arrivals(held(faults, seed=2), 200) != first
    assert arrivals(held(replace(faults, seed=1)), 200) != first


def test_the_first_frame_of_a_run_always_arrives() -> None:
    device = held(FaultConfig(drop=1.0))
    assert arrivals(device, 30) == [True] + [False] * 29
    state = device.get_state()
    device.set_state(state)
    assert device.frame().captured_at_s == pytest.approx(1.0)


def test_only_a_device_that_can_be_held_is_one_behind_its_faults() -> None:
    device = SimulatedDevice(Config())
    assert withholding_device(device, FaultConfig(miss=0.5)) is device
    assert isinstance(withholding_device(device, FaultConfig(drop=0.5)), WithholdingTickedDevice)
    plain = WithholdingDevice(device, FaultConfig(drop=0.5))
    assert isinstance(plain, Device)
    assert not isinstance(plain, TickedDevice)


# --- determinism, and whole runs -------------------------------------------------------------------


def play(env: GreatWallEnv, seed: int, steps: int = 150) -> list[Any]:
    player = make_player("rule", env.config)
    observation, info = env.reset(seed=seed)
    found: list[Any] = [observation.tobytes()]
    for _ in range(steps):
        action = player.act(observation, info["perception"])
        observation, reward, terminated, truncated, info = env.step(int(action))
        found.append((observation.tobytes(), int(action), reward))
        if terminated or truncated:
            break
    return found


def config_of(**faults: float) -> Config:
    return make_config(eyes="truth", faults=FaultConfig(**faults))  # type: ignore[arg-type]


ALL_FAULTS = {"miss": 0.1, "mislabel": 0.05, "jitter": 2.0, "stale": 0.02, "hud": 0.02, "drop": 0.01}


def test_a_run_is_the_same_whatever_was_played_before_it() -> None:
    env, other = build_env(config_of(**ALL_FAULTS)), build_env(config_of(**ALL_FAULTS))
    first = play(env, 3)
    play(other, 8, steps=40)
    assert play(other, 3) == first
    assert play(env, 3) == first


def test_another_faults_seed_is_another_run() -> None:
    assert play(build_env(config_of(**ALL_FAULTS)), 3) != play(build_env(config_of(**ALL_FAULTS, seed=1)), 3)


def test_no_faults_is_no_wrapper_and_the_run_itself() -> None:
    config = config_of()
    assert type(build_eyes(config)) is TruthEyes
    assert type(build_device(config)) is SimulatedDevice
    assert play(build_env(config), 3) == play(build_env(make_config(eyes="truth")), 3)


@pytest.mark.parametrize("name", ["miss", "mislabel", "jitter", "stale", "hud", "drop"])
def test_each_fault_alone_changes_what_is_seen(name: str) -> None:
    share = 20.0 if name == "jitter" else 0.4
    assert play(build_env(config_of(**{name: share})), 3) != play(build_env(config_of()), 3)


def test_a_fault_that_never_happens_changes_nothing_of_what_is_seen() -> None:
    """Wrapped, but nothing changed: the other faults' generators are not touched by it."""
    one, both = faulty(miss=0.2), faulty(miss=0.2, stale=1e-12, hud=1e-12)
    assert [one.see(PICTURE).objects for _ in range(200)] == [both.see(PICTURE).objects for _ in range(200)]
    assert both.read_hud(PICTURE) == READ


def test_runs_without_a_seed_differ_and_repeat_in_the_same_order() -> None:
    def runs(eyes: FaultyEyes) -> list[list[Sight]]:
        found = []
        for _ in range(3):
            eyes.reset()
            found.append([eyes.see(PICTURE) for _ in range(20)])
        return found

    first = runs(faulty(miss=0.3))
    assert first == runs(faulty(miss=0.3))
    assert first[0] != first[1] != first[2]


def test_faulty_eyes_are_told_the_seed_of_the_run() -> None:
    eyes = faulty_eyes(FixedEyes(), FaultConfig(hud=0.5), GREAT_WALL)
    assert isinstance(eyes, SeededEyes)
    assert not isinstance(TruthEyes(GREAT_WALL), SeededEyes)


@pytest.mark.parametrize("kind", ["truth", "vision"])
def test_faults_work_through_both_pairs_of_eyes(kind: str) -> None:
    config = replace_in(config_of(miss=1.0, hud=1.0), "eyes", kind=kind)
    eyes = build_eyes(config)
    device = SimulatedDevice(config)
    device.hold()
    device.new_game(1)
    device.advance(30)
    try:
        frame = device.frame()
        assert eyes.see(frame).objects == ()
        assert eyes.read_hud(frame) != TruthEyes(config.profile).read_hud(frame)
    finally:
        eyes.close()


# --- the flag --------------------------------------------------------------------------------------


def test_the_flag_is_read() -> None:
    assert parse_faults("") == FaultConfig()
    assert parse_faults(
        "miss=0.1, mislabel=0.05,jitter=2,stale=0.02,hud=0.02,drop=0.01,seed=7"
    ) == FaultConfig(0.1, 0.05, 2.0, 0.02, 0.02, 0.01, 7)


BAD: dict[str, str] = {
    "miss": "expected NAME=NUMBER",
    "blur=0.1": "expected NAME=NUMBER",
    "miss=": "expected a number after miss=",
    "miss=often": "expected a number after miss=",
    "miss=0.1,miss=0.2": "miss twice",
    "miss=1.5": "faults.miss: expected a share from 0 to 1",
    "drop=-0.1": "faults.drop: expected a share from 0 to 1",
    "hud=nan": "faults.hud: expected a share",
    "jitter=1000": "faults.jitter: expected 0 to 200 px",
    "seed=1.5": "expected a number after seed=",
    "seed=-1": "expected seed 0 or more",
    "seed=4294967296": "faults.seed: expected 0 to 4294967295",
}


@pytest.mark.parametrize("text", BAD)
def test_mistakes_in_the_flag_are_one_line(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_faults(text)
    assert BAD[text] in str(caught.value)
    assert "\n" not in str(caught.value)
