"""The benchmarks as a person calls them, in small; and the READMEs, which show what they measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import pytest

from benchmarks import eyes_agreement, presets, readme_results
from greatwall.commands import run_command
from greatwall.errors import FileFormatError
from greatwall.learning.run import VALIDATION_EPISODES
from greatwall.learning.seeds import VALIDATION_START


def test_candidates_are_ranked_on_validation_and_the_winner_alone_is_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(presets, "MAX_DISTANCE_M", 200)
    monkeypatch.setattr(presets, "CURVE_STEPS", 200)
    path, picture = tmp_path / "presets.json", tmp_path / "learning.png"
    options = ["--timesteps", "400", "--episodes", "2", "--seeds", "3", "4", "--only", "default", "paper"]
    files = ["--json", str(path), "--picture", str(picture)]
    assert run_command(presets.Benchmark, [*options, *files], "presets") == 0
    found = json.loads(path.read_text())
    first, last = found["validation_courses"]
    assert VALIDATION_START + VALIDATION_EPISODES <= first <= last < found["test_courses"][0]
    assert found["validation"].keys() == {"default", "paper"}
    assert found["test"].keys() == {"trained", "rule", "random"}
    best = max(found["validation"], key=lambda name: found["validation"][name]["distance_m"]["iqm"])
    assert found["winner"] == best
    trained = found["test"]["trained"]
    assert trained["episodes"].keys() == {"3", "4"}
    assert len(trained["distance_m"]["iqm_of_seeds"]) == 2
    assert all(len(run["validation"]["distance_m"]) == 2 for run in found["runs"])
    assert cv2.imread(str(picture)) is not None
    assert "validation courses 1,000,100-1,000,101" in capsys.readouterr().out


def test_every_candidate_is_ranked_with_the_standard_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    rewards = []

    def note(env: Any, *_: object) -> presets.Scores:
        rewards.append(env.config.reward)
        return {"distance_m": [1.0], "return": [1.0]}

    def no_training(*_: object) -> tuple[dict[str, Any], Path]:
        return {"candidate": "paper", "seed": 0, "cpu_seconds": 1.0, "curve": []}, Path("p")

    monkeypatch.setattr(presets, "play", note)
    monkeypatch.setattr(presets, "train", no_training)
    monkeypatch.setattr(presets, "make_player", lambda *_: None)
    options = presets.Benchmark(only=("paper",), seeds=(0,))
    presets.measure({"paper": presets.PRESETS["paper"]}, options, Path(), presets.Console(quiet=True))
    assert rewards
    assert all(one == presets.make_config().reward for one in rewards)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "default", "fast"], "--only: expected some of default, normalised"),
        (["--seeds", "1", "1"], "--seeds: expected some, each once"),
        (["--seeds", "-1"], "--seeds: expected 0 to"),
        (["--timesteps", "0"], "--timesteps: expected 1 or more"),
        (["--json", "no/such/folder/x.json"], "--json: expected a folder that exists"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_trained(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(presets.Benchmark, options, "presets") == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_published_files_are_for_full_runs_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(presets, "draw_curves", lambda _, path: path.write_bytes(b"png"))
    monkeypatch.setattr(presets, "RESULT", tmp_path / "published.json")
    monkeypatch.setattr(presets, "PICTURE", tmp_path / "published.png")
    monkeypatch.setattr(presets, "measure", lambda *_: {"runs": [], "winner": "default"})
    monkeypatch.setattr(presets, "ranking_table", lambda _: "")
    monkeypatch.setattr(presets, "test_table", lambda _: "")
    for options in (["--timesteps", "5000"], ["--only", "default"], ["--episodes", "3"], ["--seeds", "0"]):
        assert run_command(presets.Benchmark, options, "presets") == 0
        assert not list(tmp_path.iterdir()), options
    assert run_command(presets.Benchmark, [], "presets") == 0
    assert {one.name for one in tmp_path.iterdir()} == {"published.json", "published.png"}


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
    assert f"{figures['presets']['test']['trained']['distance_m']['iqm']:,.0f}" in document


def test_a_document_without_its_marks_is_refused() -> None:
    with pytest.raises(FileFormatError, match="results:begin"):
        readme_results.written("# A page", "text")
