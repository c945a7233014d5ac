"""What is recorded can be played again: the same game to the bit, on either clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from config import Config, replace_in
from greatwall.assembly import build_worker
from greatwall.contracts import Action, ActionOrder, TickedDevice
from greatwall.data.recording import read_recording, replay
from greatwall.device.recorder import record, sidecar_of
from greatwall.device.simulator import SimulatedDevice
from greatwall.device.video import VideoFile
from greatwall.errors import ConfigError, FileFormatError, GreatWallError
from greatwall.worker.clocks import WallClock


def held_recording(path: Path, seed: int = 7) -> dict:
    """A short game, held: jumps, a shot, a second game. The game's own account of its end."""
    config = Config(seed=3)
    device = record(SimulatedDevice(config), path, config)
    assert isinstance(device, TickedDevice)
    device.hold()
    device.new_game(1)
    device.advance(5)
    device.tap(300, 300)
    device.new_game(seed)
    for ticks in (20, 1, 13):
        device.advance(ticks)
        device.tap(300, 300)
        device.swipe(245, 805, 545, 790.5, 100)
    device.advance(6)
    facts = dict(device.facts() or {})
    device.close()
    return facts


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The JSON of a recording."""
    folder = tmp_path_factory.mktemp("recording")
    held_recording(folder / "a.mp4")
    return (folder / "a.json").read_text()


def test_a_held_game_is_the_same_again(tmp_path: Path) -> None:
    facts = held_recording(tmp_path / "a.mp4")
    result = replay(read_recording(tmp_path / "a.mp4"))
    assert result.same
    assert (result.touches, result.ticks) == (7, 45)
    assert result.facts == facts
    assert facts["shots"] >= 1


def test_a_held_game_has_a_frame_for_every_tick(tmp_path: Path) -> None:
    held_recording(tmp_path / "a.mp4")
    video = VideoFile(tmp_path / "a.mp4")
    times = [picture.at_s for picture in video.pictures()]
    video.close()
    assert len(times) == 45
    assert times[-1] == pytest.approx(44 / 30, abs=0.002)


def test_a_game_in_real_time_is_the_same_again(tmp_path: Path) -> None:
    """Touches come from the Worker's threads, whenever they come; what counts is the tick they fell on."""
    config = replace_in(Config(), "eyes", kind="truth")
    config = replace_in(config, "worker", clock="wall")
    device = record(SimulatedDevice(config), tmp_path / "a.mp4", config)
    worker = build_worker(config, device)
    worker.start()
    worker.new_game(11)
    for number, action in enumerate((Action.JUMP, Action.SHOOT, Action.JUMP), 1):
        worker.action_done.clear()
        worker.env_action_queue.put(ActionOrder(number, action), timeout=1.0)
        assert worker.wait(worker.action_done, 5.0)
    WallClock().sleep(0.1)
    worker.close()
    recording = read_recording(tmp_path / "a.json")
    result = replay(recording)
    assert result.same
    assert result.touches == 3
    assert result.facts["shots"] == 1
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["clock"] == "wall"
    assert document["frames"] > 10
    assert "perception" not in json.dumps(document["events"])


def test_a_touch_at_another_tick_is_another_game(tmp_path: Path, sidecar: str) -> None:
    (tmp_path / "a.json").write_text(sidecar)
    path = tmp_path / "a.json"
    document = json.loads(path.read_text())
    document["events"][-2]["tick"] -= 1
    document["events"][-1]["tick"] -= 1
    path.write_text(json.dumps(document))
    assert not replay(read_recording(path)).same


def change(path: Path, *keys: object, to: object) -> None:
    document = json.loads(path.read_text())
    inner = document
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("keys", "to"),
    [
        (("format",), "something"),
        (("version",), 99),
        (("events", 0, "tick"), -4),
        (("events", 1, "tap"), [1]),
        (("events", 1, "tap"), ["a", "b"]),
        (("config", "course", "lives"), "many"),
        (("config", "course"), {}),
        (("config", "course", "feature_weights"), [0, 0, 0, 0, 0]),
        (("end", "tick"), 10**12),
        (("end", "state"), None),
        (("events",), 3),
    ],
)
def test_a_foreign_or_damaged_file_is_one_line(tmp_path: Path, sidecar: str, keys: tuple, to: object) -> None:
    (tmp_path / "a.json").write_text(sidecar)
    change(tmp_path / "a.json", *keys, to=to)
    with pytest.raises(FileFormatError) as caught:
        replay(read_recording(tmp_path / "a.json"))
    assert "\n" not in str(caught.value)
    (tmp_path / "a.json").write_text('{"format": ')
    with pytest.raises(GreatWallError, match="expected a recording"):
        read_recording(tmp_path / "a.mp4")


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    config = Config()
    device = SimulatedDevice(config)
    sidecar_of(tmp_path / "a.mp4").write_text("{}")
    for path, words in (
        (tmp_path / "a.mp4", "expected a new file"),
        (tmp_path / "b.avi", "expected an .mp4"),
        (tmp_path / "none" / "b.mp4", "in a folder that exists"),
    ):
        with pytest.raises(ConfigError, match=words):
            record(device, path, config)
    with pytest.raises(ConfigError, match="found none; make one with"):
        read_recording(tmp_path / "c.mp4")
