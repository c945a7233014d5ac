"""The data set on disk: the same bytes however often it was stopped, and never over something else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from config import ScreenConfig
from game_env import GreatWallEnv
from greatwall.assembly import build_worker, make_config
from greatwall.contracts import GameObject
from greatwall.data.autolabel import judge
from greatwall.data.dataset import Sample, write_dataset_folder
from greatwall.data.dataset_source import GamePlan, TwinDevice, parse_mix, who_plays
from greatwall.data.frames import with_screen
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import ConfigError, FileFormatError


class StoppedError(Exception):
    """What a test stops with."""


class Numbers:
    """A source whose pictures are their numbers."""

    classes = ("horse", "coin")

    def __init__(self, parts: int = 3, word: str = "a", stop_at: int = -1) -> None:
        self.parts, self.word, self.stop_at = parts, word, stop_at
        self.asked: list[int] = []

    def plan(self) -> Mapping[str, Any]:
        return {"word": self.word}

    def part_sizes(self) -> list[int]:
        return [4] * self.parts

    def part(self, number: int) -> Iterator[Sample]:
        self.asked.append(number)
        for i in range(4):
            if number * 4 + i == self.stop_at:
                raise StoppedError
            image = f"{self.word} {number} {i}".encode()
            line = {"part": number, "also": {"z": 1, "a": 2}}  # not in the order of the alphabet
            yield Sample(image, ".jpg", ("1 0.5 0.5 0.1 0.1",), line, sureness=i / 10, doubts="coin")

    def counts(self, line: Mapping[str, Any]) -> Mapping[str, str]:
        return {"parts": str(line["part"])}


def write(source: Numbers, folder: Path) -> str:
    return write_dataset_folder(source, folder, lambda count: None).sha256


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_equal_plans_give_equal_bytes(tmp_path: Path) -> None:
    assert write(Numbers(), tmp_path / "a") == write(Numbers(), tmp_path / "b")
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
    assert write(Numbers(word="b"), tmp_path / "c") != write(Numbers(), tmp_path / "d")


@pytest.mark.parametrize("stop_at", [0, 3, 4, 6, 11])
def test_a_stopped_set_goes_on_and_ends_the_same(tmp_path: Path, stop_at: int) -> None:
    with pytest.raises(StoppedError):
        write(Numbers(stop_at=stop_at), tmp_path / "a")
    rest = Numbers()
    write(rest, tmp_path / "a")
    assert rest.asked == list(range(stop_at // 4, 3))
    write(Numbers(), tmp_path / "b")
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_a_part_that_lost_a_file_is_made_again(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        write(Numbers(stop_at=9), tmp_path / "a")
    (tmp_path / "a" / "images" / "000001.jpg").write_bytes(b"half")
    rest = Numbers()
    write(rest, tmp_path / "a")
    assert rest.asked == [0, 2]
    assert (tmp_path / "a" / "images" / "000001.jpg").read_bytes() == b"a 0 1"


def test_the_hash_is_that_of_sha256sum_s_lines(tmp_path: Path) -> None:
    sha256 = write(Numbers(), tmp_path)
    files = {name: data for name, data in files_of(tmp_path).items() if name != "manifest.json"}
    lines = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    assert sha256 == hashlib.sha256(lines.encode()).hexdigest()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["counts"]["objects"] == {"coin": 12, "horse": 0}
    assert (manifest["frames"], manifest["files"]) == (12, len(files))
    assert str(tmp_path) not in json.dumps(manifest)


def test_a_whole_set_is_left_as_it_is(tmp_path: Path) -> None:
    write(Numbers(), tmp_path)
    again = Numbers()
    assert write_dataset_folder(again, tmp_path, lambda count: None).already
    assert again.asked == []
    (tmp_path / "labels" / "000000.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    with pytest.raises(FileFormatError, match="found some changed"):
        write(Numbers(), tmp_path)


def test_other_arguments_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        write(Numbers(stop_at=5), tmp_path / "a")
    with pytest.raises(ConfigError, match="begun with the same arguments"):
        write(Numbers(word="b"), tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "holiday.jpg").write_bytes(b"")
    with pytest.raises(ConfigError, match="expected a new or empty folder"):
        write(Numbers(), tmp_path / "b")
    write(Numbers(), tmp_path / "c")
    with pytest.raises(ConfigError, match="made with the same arguments"):
        write(Numbers(word="b"), tmp_path / "c")


def test_whole_parts_are_for_validation_and_the_unsurest_come_first(tmp_path: Path) -> None:
    write(Numbers(parts=12), tmp_path)
    train, val = ((tmp_path / f"{name}.txt").read_text().split() for name in ("train", "val"))
    assert (len(train), len(val)) == (44, 4)
    assert val[0] == "./images/000036.jpg"
    first = (tmp_path / "correct_first.txt").read_text().splitlines()
    assert first[0] == "images/000000.jpg 0.00 coin"
    assert [line.split()[1] for line in first] == sorted(line.split()[1] for line in first)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("random=0.3,policy=0.7", {"policy": 0.7, "random": 0.3}),
        ("rule=1", {"rule": 1.0}),
        ("idle=1, random=3", {"idle": 0.25, "random": 0.75}),
    ],
)
def test_a_mix_is_shares_of_one(text: str, shares: dict[str, float]) -> None:
    assert parse_mix(text) == pytest.approx(shares)


@pytest.mark.parametrize(
    "text", ["", "random", "random=x", "nobody=1", "rule=1,rule=1", "rule=-1", "rule=nan", "rule=0"]
)
def test_a_mix_that_is_none_is_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match="--mix"):
        parse_mix(text)


def test_shares_are_met_after_every_part() -> None:
    for parts in (1, 3, 10, 25):
        played = who_plays({"policy": 0.7, "random": 0.3}, parts)
        assert abs(played.count("random") - 0.3 * parts) < 1
        assert who_plays({"policy": 0.7, "random": 0.3}, parts + 5)[:parts] == played


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frames": 0}, "--frames: expected 1 or more"),
        ({"seed": -1}, "--seed: expected 0 to"),
        ({"seed": 2**32 - 5}, "--seed: expected 0 to"),
        ({"policy": Path("x.zip"), "mix": "rule=1"}, "--policy: expected policy in --mix"),
    ],
)
def test_a_plan_that_cannot_be_is_one_line(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        GamePlan(**{"frames": 10, **changes})


def test_twins_show_the_same_moments_on_two_screens() -> None:
    config = make_config(eyes="truth", seed=5)
    shown = with_screen(config, ScreenConfig(size=(960, 540)))
    twins = TwinDevice(SimulatedDevice(config), SimulatedDevice(shown))
    env = GreatWallEnv(config, build_worker(config, twins))
    _, info = env.reset(seed=5)
    for action in (0, 1, 0, 2, 0, 1, 0):
        _, _, _, _, info = env.step(action)
    env.close()
    perception = info["perception"]
    frame = twins.shown[perception.frame_id]
    assert frame.size == (960, 540)
    assert frame.captured_at_s == perception.captured_at_s
    scene = frame.scene
    assert scene is not None
    xs = sorted(2 * thing.x for thing in scene.objects if thing.category == "obstacle")
    assert xs == pytest.approx([thing.x for thing in perception.danger_list])
    assert scene.hud is not None


def thing(category: str, score: float) -> GameObject:
    return GameObject(category, 0, 0, 10, 10, score)


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        ((thing("horse", 0.9),), (0.9, "horse")),
        ((thing("horse", 0.9), thing("coin", 0.4)), (0.4, "coin")),
        ((thing("horse", 0.9), thing("coin", 0.3)), (0.7, "coin, left out")),
        ((thing("coin", 0.9),), (0.0, "no horse")),
        ((thing("horse", 0.2),), (0.0, "no horse")),
        ((), (0.0, "no horse")),
    ],
)
def test_labels_are_as_sure_as_the_least_sure_of_them(
    things: tuple[GameObject, ...], expected: tuple[float, str]
) -> None:
    assert judge(things, 0.35, "horse") == pytest.approx(expected)


def test_one_part_validates_on_its_last_tenth(tmp_path: Path) -> None:
    write(Numbers(parts=1), tmp_path / "a")
    lists = [(tmp_path / "a" / name).read_text().split() for name in ("train.txt", "val.txt")]
    assert [len(one) for one in lists] == [3, 1]
    assert not set(lists[0]) & set(lists[1])


@pytest.mark.parametrize("left", [("parts",), ("parts", "images", "labels"), ("parts/plan.json.part",)])
def test_a_kill_before_the_plan_was_written_is_no_obstacle(tmp_path: Path, left: tuple[str, ...]) -> None:
    for name in left:
        place = tmp_path / "a" / name
        if place.suffix:
            place.parent.mkdir(parents=True)
            place.write_text('{"wor')
        else:
            place.mkdir(parents=True)
    write(Numbers(), tmp_path / "a")
    write(Numbers(), tmp_path / "b")
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (Path("/proc/foo"), tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="expected a place where a data set can be written") as caught:
            write(Numbers(), place)
        assert "\n" not in str(caught.value)
