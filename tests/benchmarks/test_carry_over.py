"""Carry-over as a person measures it, in small; and its sums, whose answers can be worked out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import carry_over
from benchmarks.carry_over import CONDITIONS, LATE_S, TRUTH, Run, give_back_lives, ride_courses
from benchmarks.carry_over_page import (
    BEGIN,
    END,
    cells,
    loss_per_100,
    page_table,
    ratio_of,
    rows_of,
    write_page,
)
from config import Config
from greatwall.assembly import build_device
from greatwall.commands import run_command
from greatwall.contracts import Player, TickedDevice
from greatwall.errors import FileFormatError
from greatwall.players import make_player


def runs(counts: list[tuple[int, int]], speed: float = 20.0) -> list[dict[str, Any]]:
    """(lives, hazards) of one course after another."""
    return [
        {"seed": i, "speed_m_s": speed, "hazards": hazards, "lives": lives, "ended": "", "frame_age_ms": 67,
         "lost_to": {"obstacle": lives, "enemy": 0, "gap": 0}}
        for i, (lives, hazards) in enumerate(counts)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "other", "ratio", "low", "high"),
    [
        ([(1, 50)] * 4, [(1, 50)] * 4, 1.0, 1.0, 1.0),
        ([(1, 50)] * 4, [(2, 50)] * 4, 2.0, 2.0, 2.0),
        ([(1, 50)] * 4, [(1, 25)] * 4, 2.0, 2.0, 2.0),
        ([(0, 50)] * 4, [(0, 50)] * 4, None, None, None),
        ([(0, 50)] * 4, [(1, 50)] * 4, None, None, None),
        ([(2, 50)] * 4, [(0, 50)] * 4, 0.0, 0.0, 0.0),
    ],
    ids=["equal", "twice", "half the hazards", "no loss at all", "from nothing", "to nothing"],
)
def test_ratios_are_of_lives_per_hazard(
    base: list[tuple[int, int]], other: list[tuple[int, int]], ratio: Any, low: Any, high: Any
) -> None:
    found = ratio_of(runs(base), runs(other))
    assert found == {"ratio": ratio, "ci95": [low, high], "pairs": 4}


def test_only_shared_courses_are_compared_and_the_interval_is_of_pairs() -> None:
    base = runs([(1, 40), (9, 60), (3, 50), (5, 50)])
    other = [dict(one, lives=2 * one["lives"]) for one in base]
    assert ratio_of(base, other)["ci95"] == [2.0, 2.0], "courses differ, pairs do not"
    assert ratio_of(base, other[:2]) == {"ratio": 2.0, "ci95": [2.0, 2.0], "pairs": 2}
    unpaired = [dict(one, lives=6) for one in base]
    low, high = ratio_of(base, unpaired)["ci95"]
    assert ratio_of(base, unpaired)["ratio"] == pytest.approx(24 / 18, abs=1e-3)
    assert low < 24 / 18 < high
    assert ratio_of(base, runs([(1, 50)], speed=26.0))["pairs"] == 0


def test_rows_say_how_often_and_to_what() -> None:
    rows = rows_of({"p": {"truth": runs([(1, 50), (0, 50)]), "vision": runs([(1, 50), (1, 50)])}}, "truth")
    truth, vision = rows
    assert (truth["per_100"], vision["per_100"], vision["ratio"]["ratio"]) == (1.0, 2.0, 2.0)
    assert "ratio" not in truth
    assert cells(vision)[-1] == "obstacle 2"
    assert cells(truth)[5:7] == ("", "67 ms")
    assert loss_per_100(runs([(0, 0)])) is None


def test_a_run_lasts_although_lives_are_lost_and_counts_every_hazard_once() -> None:
    (idle,) = ride_courses("idle", TRUTH, 32.0, [1_000_400], 30.0)
    (again,) = ride_courses("idle", TRUTH, 32.0, [1_000_400], 30.0)
    assert idle == again
    assert idle.seconds == pytest.approx(30.0, abs=0.2)
    assert idle.ended == ""
    assert idle.lives > 3, "more than a run has"
    assert idle.lives == sum(idle.lost_to.values()) <= idle.hazards
    (rule,) = ride_courses("rule", TRUTH, 32.0, [1_000_400], 30.0)
    assert rule.lives < idle.lives
    assert abs(rule.hazards - idle.hazards) <= 1, "the same course, whoever rides it"


def test_conditions_differ_in_what_they_say_alone() -> None:
    assert len({one.name for one in CONDITIONS}) == len(CONDITIONS)
    truth = TRUTH.config()
    late = next(one for one in CONDITIONS if one.late_s).config()
    assert late.delays.touch_to_effect_s == pytest.approx([one + LATE_S for one in (0.3, 0.5)])
    assert late.faults == truth.faults
    assert Config().delays == truth.delays


@pytest.mark.parametrize("held", [True, False], ids=["game clock", "real time"])
def test_lives_are_given_back_and_nothing_else_is_changed(held: bool) -> None:
    device = build_device(TRUTH.config())
    assert isinstance(device, TickedDevice)
    device.new_game(5)
    if held:
        device.hold()
    device.pause()
    state = device.get_state()
    state["game"]["lives"], state["game"]["hits"]["gap"] = 1, 2
    device.set_state(state)
    device.pause()
    before = device.get_state()["game"]
    give_back_lives(device, 3)
    device.pause()
    after = device.get_state()["game"]
    assert after["lives"] == 3
    assert {**after, "lives": 1, "tick": before["tick"]}.keys() == before.keys()
    if held:
        assert {**after, "lives": 1} == before
    device.close()


def test_what_is_measured_is_written_and_the_page_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "carry_over.json"
    options = ["--policies", "a=rule", "b=idle", "--courses", "2", "--seconds", "5", "--jobs", "1",
               "--speeds", "20", "32", "--first-seed", "1000400", "--only", "truth, faults",
               "--folder", str(tmp_path / "kept")]  # fmt: skip
    assert run_command(carry_over.CarryOver, [*options, "--json", str(path)], "carry_over") == 0
    found = json.loads(path.read_text())
    assert [(row["policy"], row["condition"], row["runs"]) for row in found["rows"]] == [
        ("a", "truth", 4),
        ("a", "truth, faults", 4),
        ("b", "truth", 4),
        ("b", "truth, faults", 4),
    ]
    assert {Run(**one).seed for one in found["runs"]["a"]["truth"]} == {1_000_400, 1_000_401}
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n<!-- carry_over -->\nold\n<!-- end -->\n\nmore\n")
    write_page(page, found)
    text = page.read_text()
    assert page_table(found) in text
    assert "old" not in text
    assert text.startswith("# A page\n\n<!-- carry_over -->\nRuns of 5 s from 20, 32 m/s")
    assert text.endswith("<!-- end -->\n\nmore\n")
    page.write_text("nothing")
    with pytest.raises(FileFormatError, match="expected the marks"):
        write_page(page, found)
    assert "lives lost per 100" in " ".join(capsys.readouterr().out.split())


def test_without_a_name_the_policy_in_models_rides_and_knows_nothing_of_the_condition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = []

    def noted(spec: str, config: Config) -> Player:
        known.append((spec, config.delays))
        return make_player(spec, config)

    monkeypatch.setattr(carry_over, "MODELS", tmp_path)  # where nothing was trained
    monkeypatch.setattr(carry_over, "make_player", noted)
    options = ["--courses", "1", "--seconds", "2", "--jobs", "1", "--speeds", "20"]
    options += ["--folder", str(tmp_path / "kept")]
    late = ["--only", "truth, late touches", "--json", str(tmp_path / "found.json")]
    assert run_command(carry_over.CarryOver, [*options, *late], "carry_over") == 0
    assert {spec for spec, _ in known} == {"rule"}
    assert {delays for _, delays in known} == {Config().delays}


def test_a_run_is_kept_and_made_again_only_where_something_differs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ridden: list[Any] = []
    original = ride_courses

    def counted(*task: Any) -> list[Run]:
        ridden.append(task)
        return original(*task)

    monkeypatch.setattr(carry_over, "ride_courses", counted)

    def played(policy: str, courses: int = 1) -> Any:
        path = tmp_path / "found.json"
        options = ["--policies", f"x={policy}", "--seconds", "2", "--jobs", "1", "--speeds", "20"]
        options += ["--courses", str(courses), "--only", "truth, faults", "--json", str(path)]
        options += ["--folder", str(tmp_path / "kept")]
        assert run_command(carry_over.CarryOver, options, "carry_over") == 0
        return json.loads(path.read_text())["runs"]

    first = played("rule")
    assert len(ridden) == 2
    assert played("rule") == first
    assert len(ridden) == 2
    assert played("rule", courses=2)["x"]["truth"][:1] == first["x"]["truth"]
    assert len(ridden) == 4
    played("idle")
    assert len(ridden) == 6


def test_those_named_ride_on_the_wall_clock_too_each_course_kept_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Riding itself is left out here: it takes as long as it says."""
    ridden: list[tuple[str, str, float, tuple[int, ...]]] = []

    def noted(
        spec: str, condition: carry_over.Condition, speed: float, seeds: tuple[int, ...], _: float
    ) -> list[Run]:
        ridden.append((spec, condition.name, speed, seeds))
        return [Run(seed, speed, 2.0, 10, 1, {"gap": 1}, 67, "") for seed in seeds]

    monkeypatch.setattr(carry_over, "ride_courses", noted)
    path = tmp_path / "found.json"
    options = ["--policies", "a=rule", "b=idle", "--jobs", "1", "--speeds", "20", "32", "--courses", "3"]
    options += ["--wall-courses", "2", "--wall-only", "b", "--only", "vision", "--json", str(path)]
    options += ["--folder", str(tmp_path / "kept")]
    assert run_command(carry_over.CarryOver, options, "carry_over") == 0
    walls = [(spec, speed, seeds) for spec, name, speed, seeds in ridden if name == carry_over.WALL.name]
    assert walls == [("idle", speed, (2_000_000 + i,)) for speed in (20.0, 32.0) for i in range(2)]
    rows = {(row["policy"], row["condition"]): row for row in json.loads(path.read_text())["rows"]}
    assert ("a", carry_over.WALL.name) not in rows
    assert rows["b", carry_over.WALL.name]["runs"] == 4
    assert rows["b", carry_over.WALL.name]["ratio"]["pairs"] == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "dreams"], "--only: expected some of vision, truth, faults"),
        (["--courses", "0"], "--courses: expected 1 or more"),
        (["--speeds", "10"], "--speeds: expected some of 20 m/s or more"),
        (["--policies", "x=no/such/file.zip"], "unknown policy 'no/such/file.zip'"),
        (["--wall-courses", "-1"], "--wall-courses: expected 0 or more"),
        (["--wall-only", "rule"], "--wall-only: expected --wall-courses above 0"),
        (
            ["--wall-courses", "1", "--wall-only", "nobody"],
            "--wall-only: expected some of rule; found 'nobody'",
        ),
        (["--first-seed", "-1"], "--first-seed: expected 0 to"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_ridden(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = [] if "--policies" in options else ["--policies", "rule"]
    assert run_command(carry_over.CarryOver, [*policies, *options], "carry_over") == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_the_page_shows_the_figures_that_are_committed_and_no_others(repo_root: Path) -> None:
    """If not: python benchmarks/carry_over.py, or write_page with the committed file."""
    page = (repo_root / "docs" / "carry-over.md").read_text(encoding="utf-8")
    published = carry_over.RESULT.exists()
    shown = page_table(json.loads(carry_over.RESULT.read_text())) if published else ""
    assert f"{BEGIN}\n{shown}{END}" in page
