"""`--trace`: the file holds to the trace event format, its steps are whole, and memory is bounded."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from config import GREAT_WALL
from greatwall.contracts import Action, ActionOrder, ActionResult, Frame, HudRead, Perception
from greatwall.errors import ConfigError
from greatwall.worker.trace import EFFECT_MAX_S, TRACKS, EffectWatch, Touch, Trace, tracing
from ppo_acting import main
from tests.rigs.scripted_worker import make_hud, make_perception
from tests.rigs.workers import make_rig

WAIT, JUMP, SHOOT = Action
GROUND = (180.0, 730.0, 310.0, 880.0)
AIR = (180.0, 600.0, 310.0, 750.0)
FRAME = Frame(1, 0.0, (1920, 1080), bgr=np.zeros((2, 2, 3), np.uint8))


def seen_at(at_s: float, horse: tuple[float, ...] = GROUND, arrows: int = 20, **more: Any) -> Perception:
    return make_perception(
        captured_at_s=at_s,
        perceived_at_s=at_s + 0.04,
        horse_pos=horse,
        hud=make_hud(at_s, arrows=arrows),
        **more,
    )


# --- first visible effect --------------------------------------------------------------------------


def effects(perceptions: list[Perception], *touches: Touch) -> list[tuple[int, float]]:
    """(step, when visible) of each touch's effect; a touch is made before the first later perception."""
    watch = EffectWatch(GREAT_WALL)
    left, found = list(touches), []
    for perception in perceptions:
        while left and left[0].at_s < perception.perceived_at_s:
            watch.touched(left.pop(0))
        found += [(touch.step, at_s) for touch, at_s in watch.seen(perception)]
    return found


def test_a_jump_is_visible_when_the_rider_leaves_the_ground() -> None:
    run = [seen_at(t / 10, AIR if 4 <= t < 13 else GROUND) for t in range(20)]
    assert effects(run, Touch(7, JUMP, 0.05)) == [(7, 0.4)]


def test_a_rider_already_in_the_air_answers_only_with_the_next_take_off() -> None:
    run = [seen_at(t / 10, AIR if t < 5 or t >= 7 else GROUND) for t in range(12)]
    assert effects(run, Touch(1, JUMP, 0.15)) == [(1, 0.7)]


def test_a_few_px_are_no_jump() -> None:
    nearly = (180.0, 722.0, 310.0, 872.0)
    assert (
        effects([seen_at(t / 10, nearly if t % 2 else GROUND) for t in range(9)], Touch(1, JUMP, 0.05)) == []
    )


def test_a_shot_is_visible_when_an_arrow_is_gone_from_a_later_frame() -> None:
    run = [seen_at(t / 10, arrows=20 if t < 6 else 19) for t in range(12)]
    assert effects(run, Touch(3, SHOOT, 0.25)) == [(3, 0.6)]


def test_a_read_of_an_earlier_frame_shows_no_effect() -> None:
    late = seen_at(0.4, arrows=19)
    late = replace(late, hud=make_hud(0.1, arrows=19))
    assert effects([seen_at(0.0), late], Touch(3, SHOOT, 0.25)) == []


def test_two_arrows_gone_at_once_are_two_shots() -> None:
    run = [seen_at(0.0), seen_at(0.3), seen_at(0.9, arrows=18)]
    assert effects(run, Touch(1, SHOOT, 0.1), Touch(2, SHOOT, 0.7)) == [(1, 0.9), (2, 0.9)]


def test_each_touch_has_one_effect_and_each_effect_one_touch() -> None:
    run = [seen_at(t / 10, AIR if t in (4, 5, 9, 10) else GROUND) for t in range(12)]
    assert effects(run, Touch(1, JUMP, 0.05), Touch(2, JUMP, 0.55)) == [(1, 0.4), (2, 0.9)]


def test_a_touch_is_given_up_after_a_while() -> None:
    late_s = EFFECT_MAX_S + 0.5
    run = [seen_at(0.0), seen_at(late_s - 0.1), seen_at(late_s, AIR)]
    assert effects(run, Touch(1, JUMP, 0.05)) == []


def test_nothing_is_visible_before_the_rider_was_seen_on_the_ground() -> None:
    assert effects([seen_at(0.1, AIR), seen_at(0.2, AIR)], Touch(1, JUMP, 0.05)) == []


# --- the file --------------------------------------------------------------------------------------


def valid(path: Path) -> list[dict[str, Any]]:
    """The events of a file that holds to the trace event format; metadata first, then in order of time."""
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["displayTimeUnit"] in ("ms", "ns")
    events: list[dict[str, Any]] = document["traceEvents"]
    assert {one["ph"] for one in events} <= {"X", "i", "M"}
    kinds = "".join(one["ph"] for one in events)
    names = [one for one in events if one["ph"] == "M"]
    assert kinds.startswith("M" * len(names))
    tracks = {one["tid"]: one["args"]["name"] for one in names if one["name"] == "thread_name"}
    assert tuple(tracks[number] for number in sorted(tracks)) == TRACKS
    last = 0.0
    for one in events[len(names) :]:
        assert one["pid"] == names[0]["pid"]
        assert one["tid"] in tracks
        assert isinstance(one["name"], str)
        assert isinstance(one["args"], dict)
        assert one["ts"] >= last
        last = one["ts"]
        assert (one["ph"] == "X") == ("dur" in one)
        assert one.get("dur", 0.0) >= 0.0
        assert one["ph"] != "i" or one["s"] in ("t", "p", "g")
        one["track"] = tracks[one["tid"]]
    return events[len(names) :]


def nested(events: list[dict[str, Any]]) -> bool:
    """Whether spans of a track lie inside or beside each other: viewers draw no others."""
    for track in TRACKS:
        open_until: list[float] = []
        for one in (one for one in events if one["ph"] == "X" and one["track"] == track):
            while open_until and one["ts"] >= open_until[-1] - 0.01:
                open_until.pop()
            if open_until and one["ts"] + one["dur"] > open_until[-1] + 0.01:
                return False
            open_until.append(one["ts"] + one["dur"])
    return True


def filled(path: Path, steps: int = 3, kept: int = 1000) -> Trace:
    trace = Trace(path, GREAT_WALL, kept)
    for step in range(steps):
        at_s = 100.0 + step
        perception = seen_at(at_s)
        trace.grabbed(FRAME, at_s + 0.001, at_s + 0.002)
        trace.perceived(perception, at_s + 0.002, at_s + 0.005, at_s + 0.015, at_s + 0.016)
        trace.taken(ActionOrder(step, JUMP), perception, at_s + 0.02, at_s + 0.021)
        trace.finished(ActionResult(step, JUMP, at_s + 0.02, at_s + 0.52, perception))
    trace.read(FRAME, HudRead(3, 20, None, 7), 100.1, 100.12)
    return trace


def test_the_file_is_a_trace_and_its_times_are_microseconds(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    filled(path).save()
    events = valid(path)
    assert nested(events)
    (first, *_) = [one for one in events if one["name"] == "jump"]
    assert first["dur"] == pytest.approx(500_000)
    assert first["ts"] == pytest.approx(20_000)
    assert list(tmp_path.iterdir()) == [path]


def test_memory_is_bounded_and_the_newest_events_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    filled(path, steps=500, kept=40).save()
    document = json.loads(path.read_text())
    assert document["otherData"] == {"events": 40, "older_ones_lost": True}
    assert {one["args"]["step"] for one in valid(path) if "step" in one["args"]} <= set(range(490, 500))


def test_an_empty_trace_is_one_too(tmp_path: Path) -> None:
    Trace(tmp_path / "trace.json", GREAT_WALL).save()
    assert valid(tmp_path / "trace.json") == []


def test_a_file_that_cannot_be_written_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "trace.json").mkdir()
    with pytest.raises(ConfigError, match="cannot write the trace") as caught:
        filled(tmp_path / "trace.json").save()
    assert "\n" not in str(caught.value)
    assert [one.name for one in tmp_path.iterdir()] == ["trace.json"]


# --- a Worker at work ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    rig = make_rig("wall")
    with tracing(rig.worker, path, GREAT_WALL):
        rig.worker.start()
        rig.worker.new_game(1)
        try:
            assert rig.worker.wait(rig.worker.perception_ready, 3.0)
            for i, action in enumerate((WAIT, JUMP, WAIT, WAIT, SHOOT, WAIT, JUMP, WAIT, WAIT)):
                assert rig.act(action, i) is not None
            rig.worker.rest(0.4)
        finally:
            rig.worker.close()
    return valid(path)


def test_every_step_has_its_moments_in_their_order(traced: list[dict[str, Any]]) -> None:
    steps = {one["args"]["step"]: one for one in traced if one["track"] == "steps" and one["ph"] == "X"}
    assert [steps[i]["name"] for i in range(9)] == "wait jump wait wait shoot wait jump wait wait".split()
    for number, step in steps.items():
        moments = {
            one["name"]: one["ts"]
            for one in traced
            if one["ph"] == "i" and one["track"] == "steps" and one["args"].get("step") == number
        }
        assert moments["capture"] <= moments["perceived"] <= moments["decision"] + 0.01
        assert moments["decision"] == pytest.approx(step["ts"], abs=0.01)
        if step["name"] != "wait":
            assert moments["decision"] <= moments["touch"] <= step["ts"] + step["dur"]


def test_jumps_become_visible_within_the_phones_delay(traced: list[dict[str, Any]]) -> None:
    found = [one for one in traced if one["name"] == "first visible effect"]
    jumps = [one for one in found if one["args"]["action"] == "jump"]
    assert [one["args"]["step"] for one in jumps] == [1, 6]
    assert all(200 < one["args"]["after_touch_ms"] < 800 for one in jumps)
    assert all(one["args"]["perceived_after_ms"] > one["args"]["after_touch_ms"] for one in found)


def test_each_thread_has_a_track_and_spans_nest(traced: list[dict[str, Any]]) -> None:
    spans = {(one["track"], one["name"]) for one in traced if one["ph"] == "X"}
    assert spans >= {
        ("grab", "grab"),
        ("main loop", "perceive"),
        ("main loop", "pixels"),
        ("main loop", "detector and scan"),
        ("main loop", "rules"),
        ("main loop", "touch"),
        ("ocr", "read HUD"),
    }
    assert nested(traced)


def test_a_worker_without_a_trace_has_none() -> None:
    rig = make_rig("wall")
    with tracing(rig.worker, None, GREAT_WALL):
        assert rig.worker.trace is None


def test_the_trace_is_written_even_when_the_run_fails(tmp_path: Path) -> None:
    rig = make_rig("wall")
    with pytest.raises(RuntimeError, match="no luck"), tracing(rig.worker, tmp_path / "t.json", GREAT_WALL):
        raise RuntimeError("no luck")
    assert valid(tmp_path / "t.json") == []


# --- the command line ------------------------------------------------------------------------------


def test_the_program_writes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    options = "--eyes truth --policy rule --headless --seconds 1.5 --trace".split()
    assert main([*options, str(path)]) == 0
    assert {one["track"] for one in valid(path)} == set(TRACKS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--clock", "game", "--trace", "t.json"], "--trace: expected --clock wall"),
        (["--trace", "no/such/folder/t.json"], "--trace: expected a folder that exists"),
    ],
)
def test_mistakes_are_said_before_anything_begins(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--headless", *options]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_a_mistake_in_faults_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--headless", "--faults", "blur=1"]) == 2
    said = capsys.readouterr().err
    assert "--faults: expected NAME=NUMBER" in said
    assert said.count("\n") == 1


def test_a_trace_is_written_while_a_thread_still_adds_to_it(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "a.json", GREAT_WALL, kept=5_000)
    stop = threading.Event()

    def go_on() -> None:
        at_s = 0.0
        while not stop.is_set():
            at_s += 1.0
            trace.decided(at_s, at_s)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        for _ in range(5):
            trace.save()
            assert json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    finally:
        stop.set()
        thread.join(10)
