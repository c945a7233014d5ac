"""The benchmarks as a person calls them, in small; and the READMEs, which show what they measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import eyes_agreement, readme_results, trackers
from greatwall.commands import run_command
from greatwall.contracts import Passing
from greatwall.errors import FileFormatError


def test_a_run_too_short_to_meet_anything_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "agreement.json"
    options = ["--steps", "5", "--json", str(path)]
    assert run_command(eyes_agreement.EyesAgreement, options, "eyes_agreement") == 0
    found = json.loads(path.read_text())
    assert found["gaps"]["edges_within_6_px"] is None
    assert found["gaps"]["edge_error_max_px"] is None
    assert "none seen" in capsys.readouterr().out
    assert run_command(eyes_agreement.EyesAgreement, ["--steps", "0"], "eyes_agreement") == 2


@pytest.mark.parametrize("words", [readme_results.ENGLISH, readme_results.CHINESE], ids=["en", "zh"])
def test_the_readme_shows_the_figures_that_are_committed(
    words: readme_results.Words, repo_root: Path
) -> None:
    """If not: python benchmarks/readme_results.py"""
    document = (repo_root / words.document).read_text(encoding="utf-8")
    figures = readme_results.read_figures()
    assert document == readme_results.written(document, readme_results.results(figures, words))
    trained = figures["learning"]["rows"]
    for name in words.policies.keys() & trained.keys():
        assert f"{trained[name]['distance_m']['iqm']:,.0f}" in document


def known(distance_m: float) -> dict[str, Any]:
    """A player's or a policy's figures."""
    value = {
        "iqm": distance_m,
        "ci95": [distance_m - 10, distance_m + 10],
        "iqm_of_seeds": [None, distance_m],
    }
    return {"courses": 4, "timesteps": 100_000, "distance_m": value, "return": value}


def test_rows_that_are_not_trained_are_left_out_of_the_readme_and_seeds_are_a_dash() -> None:
    players = {"random": known(0.0), "rule207": known(400.0), "rule": known(700.0), "oracle": known(1_000.0)}
    figures = {
        "command": "a", "players_command": "b", "seeds": [0, 8], "test_courses": [1, 2],
        "players": {"": players}, "rows": {"paper": known(100.0), "default": known(500.0)},
    }  # fmt: skip
    text = readme_results.learning(figures, readme_results.ENGLISH)
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert [row.split(" | ")[0] for row in rows] == [
        "| `default`, shown first by `rule`", "| `paper`", *(f"| *{name}* (4 courses)" for name in players)
    ]  # fmt: skip
    assert rows[0].endswith("| 100,000 | 500 (490-510) | -, 500 | +500 | 0.50, 0.50 |")
    assert "by distance: `rule`, `oracle`. A dash" in text


def test_a_document_without_its_marks_is_refused() -> None:
    with pytest.raises(FileFormatError, match="results:begin"):
        readme_results.written("# A page", "text")


def test_our_tracker_changes_no_id_where_a_tenth_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "trackers.json"
    options = ["--frames", "500", "--only", "ours", "--json", str(path)]
    assert run_command(trackers.Trackers, options, "trackers") == 0
    rows = json.loads(path.read_text())["rows"]
    assert [(row["hz"], row["jitter_px"]) for row in rows] == [(10, 0.0), (10, 2.0), (30, 0.0), (30, 2.0)]
    for row in rows:
        assert row["boxes"] > 500
        assert row["things"] > 5
        assert row["id_switches"] == row["ids_of_several_things"] == 0


def test_changed_and_shared_ids_are_counted_thing_by_thing_and_run_by_run() -> None:
    def coin(x: float) -> tuple[str, float, float, float, float]:
        return ("coin", x, 700.0, 44.0, 44.0)

    ids = trackers.Ids()
    truth = [(coin(500.0), 1), (coin(560.0), 2)]
    ids.add(0, truth, [(coin(500.0), 7), (coin(563.0), 8), (coin(700.0), 9)])  # the last is nobody's
    ids.add(0, truth, [(coin(560.0), 7)])
    ids.add(0, truth, [(coin(500.0), 7)])
    ids.add(1, truth, [(coin(500.0), 8)])  # another run's ids are its own
    assert ids.summary() == {
        "boxes": 5,
        "things": 3,
        "id_switches": 1,
        "things_with_several_ids": 1,
        "ids_of_several_things": 1,
    }


def test_a_passing_is_right_once_and_only_near_its_time() -> None:
    def passing(kind: str, at_s: float) -> Passing:
        return Passing(1, kind, 1, at_s, at_s)

    found = trackers.Passings()
    found.add(
        [passing("cliff", 1.0), passing("cliff", 5.0), passing("obstacle", 2.0)],
        [passing("cliff", 1.2), passing("cliff", 1.3), passing("obstacle", 9.0)],
    )
    assert found.found == {
        ("cliff", "right"): 1, ("cliff", "missed"): 1, ("cliff", "invented"): 1,
        ("obstacle", "missed"): 1, ("obstacle", "invented"): 1,
    }  # fmt: skip


def test_an_unknown_tracker_and_no_frames_are_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for options, words in ((["--frames", "0"], "--frames"), (["--only", "sort"], "--only: expected")):
        assert run_command(trackers.Trackers, options, "trackers") == 2
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1


def test_byte_track_follows_behind_the_same_methods() -> None:
    pytest.importorskip("lap")
    tracker = trackers.ByteTracks()
    given = [tracker.assign([("coin", 900.0 - 5 * n, 700.0, 44.0, 44.0)], n / 30) for n in range(5)]
    assert len({one[0] for one in given}) == 1
    assert tracker.assign([], 0.2) == []
    assert tracker.expected_gaps([], 0.2) == []
