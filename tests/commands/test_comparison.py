"""Two players on the same courses, how their runs ended, and a person beside them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from greatwall.__main__ import main
from greatwall.commands.comparison import ahead, comparison_json, comparison_table, deaths_table, paired
from greatwall.commands.human_scores import HumanRun, add_run
from greatwall.learning.evaluation import EpisodeResult


def results(*metres: float, deaths: tuple[str, ...] = (), first: int = 0) -> list[EpisodeResult]:
    ends = deaths or ("enemy",) * len(metres)
    return [
        EpisodeResult(first + i, one, one / 10 - 50, 1, 0, 0, 0, 0, 0, end)
        for i, (one, end) in enumerate(zip(metres, ends, strict=True))
    ]


def text_of(table: object) -> str:
    console = Console(width=200, file=io.StringIO())
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_differences_are_taken_course_by_course() -> None:
    """Courses differ by far more than the players do, and still the difference is seen."""
    first = results(*(1000.0 * i + 10 for i in range(20)))
    second = results(*(1000.0 * i for i in range(20)))
    found = paired(first, second)
    assert found["distance_m"].mean == pytest.approx(10)
    assert found["distance_m"].ci95 == pytest.approx((10, 10))
    assert found["return"].mean == pytest.approx(1)
    assert ahead(first, second) == 1.0
    assert "A is better" in text_of(comparison_table(("A", "B"), first, second))
    assert "A is better" in text_of(comparison_table(("B", "A"), second, first))


def test_equal_players_are_not_told_apart() -> None:
    one = results(100, 300, 200, 500)
    other = results(300, 100, 500, 200)
    assert ahead(one, one) == 0.5
    assert "no difference shown" in text_of(comparison_table(("A", "B"), one, other))


def test_other_courses_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="expected equal courses"):
        paired(results(1, 2), results(1, 2, first=5))


def test_the_json_holds_both_intervals() -> None:
    found = comparison_json(("A", "B"), results(1, 2, 3), results(3, 2, 1))
    assert (found["first"], found["second"], found["ahead"]) == ("A", "B", 0.5)
    assert found["distance_m"].keys() == found["return"].keys() == {"mean", "iqm", "ci95"}


def test_deaths_are_counted_by_cause_the_commonest_first() -> None:
    shown = text_of(
        deaths_table(
            {
                "A": results(1, 2, 3, 4, deaths=("gap", "enemy", "enemy", "enemy")),
                "B": results(1, 2, deaths=("limit", "enemy")),
            }
        )
    )
    assert shown.index("enemy") < shown.index("gap")
    rows = {line.split("│")[1].strip(): line.split("│")[2:-1] for line in shown.splitlines() if "│" in line}
    assert [one.strip() for one in rows["A"]] == ["3 (75 %)", "1 (25 %)", "0 (0 %)"]
    assert [one.strip() for one in rows["B"]] == ["1 (50 %)", "0 (0 %)", "1 (50 %)"]


def test_evaluate_compares_two_players_on_the_same_courses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "both.json"
    options = ["--episodes", "3", "--seed", "1000000", "--max-distance", "600", "--json", str(path)]
    assert main(["evaluate", "--compare", "rule207", "idle", *options]) == 0
    shown = capsys.readouterr().out
    assert "rule207 minus idle on the same 3 courses; farther on 100 % of them" in shown
    assert "how runs ended" in shown
    found = json.loads(path.read_text())
    seeds = [[one["seed"] for one in player["episodes"]] for player in found["players"]]
    assert seeds == [[1_000_000, 1_000_001, 1_000_002]] * 2
    assert found["difference"]["distance_m"]["mean"] > 0


def test_evaluate_lets_the_oracle_play(tmp_path: Path) -> None:
    path = tmp_path / "oracle.json"
    options = ["--episodes", "1", "--max-distance", "400", "--json", str(path)]
    assert main(["evaluate", "--policy", "oracle", *options]) == 0
    assert json.loads(path.read_text())["deaths"] == {"limit": 1}


def test_a_person_stands_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = tmp_path / "human.json"
    add_run(scores, HumanRun("standard", 1, 1234, 5, 6, 4, "gap"))
    add_run(scores, HumanRun("low_delay", 1, 9999, 5, 6, 4, "gap"))
    options = ["--policy", "idle", "--episodes", "1", "--human", str(scores)]
    assert main(["evaluate", *options]) == 0
    shown = capsys.readouterr().out
    assert "human" in shown
    assert "1,234" in shown
    assert "9,999" not in shown, "another course's runs are not mixed in"


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("expected --policy PLAYER or --compare A B, found neither", []),
        ("found --policy rule and --compare", ["--policy", "rule", "--compare", "rule", "idle"]),
        ("film one player at a time", ["--compare", "rule", "idle", "--video", "x.mp4"]),
        (
            "expected runs on the course one_life",
            ["--policy", "idle", "--variant", "one_life", "--human", "H"],
        ),
    ],
)
def test_mistakes_are_one_line(
    words: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = tmp_path / "human.json"
    add_run(scores, HumanRun("standard", 1, 1234, 5, 6, 4, "gap"))
    assert main(["evaluate", *(str(scores) if one == "H" else one for one in options)]) == 2
    line = capsys.readouterr().err
    assert words in line
    assert line.count("\n") == 1
