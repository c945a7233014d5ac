"""`benchmarks/learning.py` in small, and what its page says of scripted results."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from benchmarks import learning, learning_page
from benchmarks.learning_rows import LONG, ROWS, SHORT, Row
from greatwall.commands import run_command
from greatwall.errors import ConfigError
from greatwall.learning.presets import PRESETS
from greatwall.learning.run_lock import RunLock
from greatwall.learning.seeds import TEST_START

SMALL = Row("paper", "`paper`: the user's settings", PRESETS["paper"], SHORT)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """One validation course."""
    monkeypatch.setattr("greatwall.learning.run.VALIDATION_EPISODES", 1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row, on short courses."""
    monkeypatch.setattr(learning, "ROWS", (SMALL,))
    monkeypatch.setattr(learning, "MAX_M", 200)


def done_here(options: learning.Learning) -> None:
    """What the processes would do, in this one: they would not know of the small course."""
    for task in learning.tasks(options, list(learning.ROWS)):
        if task.finished() is None:
            learning.do(task)


def test_a_row_is_trained_validated_and_its_best_and_final_policies_are_tested(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = learning.Learning(seeds=(3,), episodes=2, folder=tmp_path, shorten=200)
    done_here(options)
    found = json.loads((tmp_path / "paper-3" / "result.json").read_text())
    assert found["timesteps"] == 500
    assert [point["steps"] for point in found["curve"]] == sorted({256, 512})
    assert all(len(point["distance_m"]) == 10 for point in found["curve"])
    for policy in ("test", "final"):
        assert len(found[policy]["distance_m"]) == len(found[policy]["return"]) == 2
    report = ["--seeds", "3", "--episodes", "2", "--folder", str(tmp_path), "--shorten", "200", "--report"]
    assert run_command(learning.Learning, report, "learning") == 0
    page = (tmp_path / "learning.md").read_text()
    assert "`paper`" in page
    assert f"{TEST_START:,} to {TEST_START + 1:,}" in page
    assert cv2.imread(str(tmp_path / "learning.png")) is not None
    assert "not there yet" not in capsys.readouterr().out


def test_what_is_done_is_not_repeated(
    small: None, few: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = learning.Learning(seeds=(3,), episodes=1, folder=tmp_path, shorten=200)
    done_here(options)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    monkeypatch.setattr(learning, "ProcessPoolExecutor", NoPool)
    options.run()
    assert NoPool.given == []
    assert {path: path.stat().st_mtime_ns for path in before if path.name != "learning.json"} == {
        path: at for path, at in before.items() if path.name != "learning.json"
    }


def test_what_was_trained_with_other_settings_is_put_aside_and_trained_anew(
    small: None, few: None, tmp_path: Path
) -> None:
    options = learning.Learning(seeds=(3,), episodes=1, folder=tmp_path, shorten=200)
    done_here(options)
    (task,) = (one for one in learning.tasks(options, [SMALL]) if one.row is not None)
    before = task.finished()
    assert before is not None
    assert dataclasses.replace(task, episodes=2).finished() is None, "tested on fewer courses"
    assert dataclasses.replace(task, shorten=100).finished() is None, "trained for less"
    changed = dataclasses.replace(SMALL, preset=dataclasses.replace(SMALL.preset, n_epochs=1))
    task = dataclasses.replace(task, row=changed)
    assert task.finished() is None
    (task.result.parent / "curve.jsonl").write_text('{"steps": 1')  # another's, cut short by a kill
    learning.do(task)
    after = task.finished()
    assert after is not None
    assert after["row"]["preset"]["n_epochs"] == 1
    assert [point["steps"] for point in after["curve"]] == [256, 512]
    (old,) = (task.result.parent / "models").glob("old-*")
    assert json.loads((old / "result.json").read_text()) == before
    assert {"ppo_greatwall_state.zip", "monitor.csv", "curve.jsonl"} <= {one.name for one in old.iterdir()}


def test_one_that_was_interrupted_goes_on_and_two_at_once_are_refused(
    small: None, few: None, tmp_path: Path
) -> None:
    options = learning.Learning(seeds=(3,), episodes=1, folder=tmp_path, shorten=200)
    (task,) = (one for one in learning.tasks(options, [SMALL]) if one.row is not None)
    place = task.result.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning.CurveCallback, "_on_training_end", interrupt)
        with pytest.raises(KeyboardInterrupt):
            learning.do(task)
    with open(place / "curve.jsonl", "a", encoding="utf-8") as file:
        file.write('{"steps": 5')  # cut short by a kill
    with RunLock(place / "models"), pytest.raises(ConfigError, match="no other trainer"):
        learning.do(task)
    learning.do(task)
    found = task.finished()
    assert found is not None
    assert next(point["steps"] for point in found["curve"]) == 256
    assert not list((place / "models").glob("old-*"))


def interrupt(_callback: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("only", "rows"),
    [
        (("ablation",), {row.name for row in ROWS if row.group == "ablation"}),
        (("paper", "low_delay"), {"paper", "low_delay"}),
        ((), {row.name for row in ROWS}),
    ],
)
def test_rows_are_asked_for_by_name_or_group(only: tuple[str, ...], rows: set[str]) -> None:
    assert {row.name for row in learning.Learning(only=only)._rows()} == rows


class NoPool:
    """Stands in for the processes and notes what they would have to do."""

    given: list[Any] = []  # noqa: RUF012 - one list for all is what is wanted

    def __init__(self, *_: Any, **__: Any) -> None:
        NoPool.given = []

    def __enter__(self) -> NoPool:
        return self

    def __exit__(self, *_: Any) -> None:
        """Nothing was begun."""

    def submit(self, _do: Any, task: Any) -> None:
        NoPool.given.append(task)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--only", "default", "fast"],
            "--only: expected some of main, low_delay, ablation, default, scratch",
        ),
        (["--seeds", "1", "1"], "--seeds: expected some, each once"),
        (["--seeds", "-1"], "--seeds: expected 0 to"),
        (["--episodes", "0"], "--episodes: expected 1 or more"),
        (["--processes", "0"], "--processes: expected 1 or more"),
        (["--folder", "/proc/none/x"], "--folder: expected a folder"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_trained(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(learning.Learning, options, "learning") == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files that are committed would go."""
    place = tmp_path / "published"
    place.mkdir()
    for name, file in (("RESULT", "learning.json"), ("PAGE", "learning.md"), ("PICTURE", "learning.png")):
        monkeypatch.setattr(learning, name, place / file)
    return place


def keep_result(folder: Path, row: Row, seed: int) -> None:
    """What a run of this row leaves when it has finished; the seed says how far it came."""
    scores = {"distance_m": [1_000.0 + seed] * 100, "return": [100.0 + seed] * 100}
    found = {
        "row": row.resolved(),
        "seed": seed,
        "timesteps": row.timesteps,
        "cpu_minutes": 1.0,
        "curve": [{"steps": 10_000, "distance_m": [900.0, 1_100.0]}],
        "test": scores,
        "final": scores,
    }
    place = folder / f"{row.name}-{seed}"
    place.mkdir(parents=True)
    (place / "result.json").write_text(json.dumps(found))


def test_a_report_publishes_what_is_there_and_says_in_one_line_what_is_not(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_name = {row.name: row for row in ROWS}
    for seed in (0, 8, 16):
        keep_result(tmp_path, by_name["default"], seed)
    keep_result(tmp_path, by_name["paper"], 8)
    assert run_command(learning.Learning, ["--report", "--folder", str(tmp_path)], "learning") == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ("not there yet, left out: `scratch`", "`paper` with seed 0 and 16", "`screen-oracle`"):
        assert words in said
    assert "on `low_delay`" not in said, "its players are nobody's company where no row of it is trained"
    result = json.loads((published / "learning.json").read_text())
    assert list(result["rows"]) == ["default", "paper"]
    assert result["rows"]["default"]["distance_m"]["iqm"] == 1_008.0
    assert result["rows"]["paper"]["distance_m"]["iqm_of_seeds"] == [None, 1_008.0, None]
    page = (published / "learning.md").read_text()
    assert "| -, 1,008, - |" in page
    assert "low_delay`\n\nTouches" not in page
    assert page.count("`screen-oracle`") == 1, "named as left out, not explained"
    assert cv2.imread(str(published / "learning.png")) is not None


@pytest.mark.parametrize("options", [["--only", "default"], ["--seeds", "0"], ["--shorten", "2"]], ids=str)
def test_what_is_published_is_of_all_rows_seeds_and_steps(
    options: list[str], published: Path, tmp_path: Path
) -> None:
    (row,) = (one for one in ROWS if one.name == "default")
    keep_result(tmp_path, row, 0)
    path = tmp_path / "default-0" / "result.json"
    if "--shorten" in options:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"timesteps": row.timesteps // 2}))
    report = ["--report", "--folder", str(tmp_path), *options]
    assert run_command(learning.Learning, report, "learning") == 0
    assert not list(published.iterdir())
    assert json.loads((tmp_path / "learning.json").read_text())["rows"].keys() == {"default"}


def test_a_report_of_nothing_publishes_nothing(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(learning.Learning, ["--report", "--folder", str(tmp_path)], "learning") == 2
    assert "--folder: expected a finished training run in" in capsys.readouterr().err
    assert not list(published.iterdir())


def test_rows_have_names_of_their_own_and_every_preset_is_among_them() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert {row.preset.name for row in ROWS} == set(PRESETS)
    assert all(row.timesteps in (SHORT, LONG) for row in ROWS)
    assert all(row.preset.demonstration_steps < row.timesteps for row in ROWS)


def scripted(distances: list[list[float]], finals: list[list[float]], reached: list[int]) -> dict[str, Any]:
    """A row of several seeds with these test distances; the curve passes 2,000 m at `reached`."""
    runs = [
        {
            "seed": number,
            "timesteps": 100_000,
            "cpu_minutes": 1.0 + number,
            "curve": [
                {"steps": 10_000, "distance_m": [100.0] * 4},
                {"steps": steps, "distance_m": [2_500.0] * 4},
            ],
            "test": {"distance_m": test, "return": [one / 10 for one in test]},
            "final": {"distance_m": final, "return": final},
        }
        for number, (test, final, steps) in enumerate(zip(distances, finals, reached, strict=True))
    ]
    about = {"about": "`mine`", "group": "main", "variant": "", "runs": runs, "timesteps": 100_000}
    return about | learning_page.summaries(runs, range(len(runs)))


def known(distance_m: float, score: float) -> dict[str, Any]:
    """A player's figures, all courses alike."""
    return {
        "courses": 4,
        "distance_m": {"iqm": distance_m, "ci95": [distance_m, distance_m]},
        "return": {"iqm": score, "ci95": [score, score]},
    }


def test_the_page_shows_the_median_seed_normalised_between_random_and_oracle() -> None:
    players = {
        "": {
            "random": known(1_000.0, 0.0),
            "oracle": known(11_000.0, 1_000.0),
        }
    }
    row = scripted(
        [[2_000.0] * 4, [9_000.0] * 4, [6_000.0] * 4],
        [[1_000.0] * 4, [9_000.0] * 4, [5_400.0] * 4],
        [30_000, 40_000, 20_000],
    )
    lines = learning_page.table({"mine": row}, players).splitlines()
    cells = [cell.strip() for cell in lines[-1].strip("|").split("|")]
    each = "2,000, 9,000, 6,000 (2,000 to 9,000)"
    assert cells[:5] == ["`mine`", "100,000", "2.0", "6,000 (6,000 to 6,000)", each]
    assert cells[5:] == ["+600 (+600 to +600)", "0.50, 0.60", "0.90", "30,000"]
    assert lines[2].startswith("| *random* (4 courses) |")


def test_a_row_that_never_reaches_2000_m_says_so() -> None:
    row = scripted([[500.0] * 4], [[500.0] * 4], [20_000])
    row["runs"][0]["curve"] = [{"steps": 10_000, "distance_m": [500.0] * 4}]
    assert learning_page.table({"mine": row}, {}).endswith("| ?, ? | 1.00 | never |")


def test_the_interval_over_seeds_is_wider_than_that_of_one_seed() -> None:
    rng = np.random.default_rng(0)
    groups = [list(rng.normal(at, 50.0, 40)) for at in (1_000.0, 2_000.0, 3_000.0)]
    found = learning_page.summary(groups)
    assert found["iqm"] == pytest.approx(2_000, abs=40)
    low, high = found["ci95"]
    wide_low, wide_high = found["ci95_over_seeds"]
    assert wide_low < low < high < wide_high
