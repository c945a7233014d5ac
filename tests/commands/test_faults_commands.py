"""`--faults` on evaluate and training, and `bench faults`: what they write, and one line for each mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import pytest

import train_ppo
from greatwall.__main__ import main
from greatwall.commands import bench
from greatwall.commands.fault_curves import MIX, RATES, draw_curves, faults_at
from greatwall.learning.training_state import read_state


def evaluate(folder: Path, *options: str) -> list[dict[str, Any]]:
    path = folder / "result.json"
    common = ["--policy", "rule", "--episodes", "2", "--max-distance", "1500", "--json", str(path)]
    assert main(["evaluate", *common, *options]) == 0
    found: list[dict[str, Any]] = json.loads(path.read_text())["episodes"]
    return found


def test_evaluate_plays_with_faults_and_repeats_itself(tmp_path: Path) -> None:
    faults = "miss=0.6,mislabel=0.1,jitter=8"
    first = evaluate(tmp_path, "--faults", faults)
    assert first == evaluate(tmp_path, "--faults", faults)
    plain = evaluate(tmp_path)
    assert sum(one["return"] for one in first) < sum(one["return"] for one in plain)
    assert evaluate(tmp_path, "--faults", "miss=0") == plain


def train(folder: Path, *options: str) -> int:
    folders = ["--models", str(folder / "models"), "--logs", str(folder / "logs"), "--exam-episodes", "0"]
    return train_ppo.main([*folders, "--n-envs", "2", *options])


def test_training_keeps_its_faults_and_says_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("greatwall.learning.run.VALIDATION_EPISODES", 1)
    monkeypatch.setattr("greatwall.learning.presets.Preset.n_steps", property(lambda self: 50))
    assert train(tmp_path, "--timesteps", "100", "--faults", "miss=0.2,drop=0.05,seed=4") == 0
    path = tmp_path / "models" / "ppo_greatwall_state.zip"
    saved = read_state(path).config["faults"]
    assert (saved["miss"], saved["drop"], saved["seed"], saved["hud"]) == (0.2, 0.05, 4, 0.0)

    capsys.readouterr()
    assert train(tmp_path, "--timesteps", "200") == 0
    assert "faults." not in capsys.readouterr().out
    assert read_state(path).config["faults"] == saved

    assert train(tmp_path, "--timesteps", "300", "--faults", "miss=0.1") == 0
    assert "faults.miss 0.2 -> 0.1" in capsys.readouterr().out
    state = read_state(path)
    assert state.counters.timesteps == 300
    assert (state.config["faults"]["miss"], state.config["faults"]["drop"]) == (0.1, 0.0)


@pytest.mark.parametrize("command", ["evaluate", "train"])
def test_mistakes_in_the_flag_are_one_line(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "train":
        assert train(tmp_path, "--faults", "miss=2") == train_ppo.USER_ERROR
    else:
        assert main(["evaluate", "--policy", "rule", "--faults", "miss=2"]) == 2
    said = capsys.readouterr().err
    assert "faults.miss: expected a share from 0 to 1" in said
    assert said.count("\n") == 1


def test_bench_faults_writes_curves_and_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "MODELS", tmp_path)
    monkeypatch.setitem(RATES, "miss", (0.5, 0.9))
    path, plot = tmp_path / "faults.json", tmp_path / "faults.png"
    options = ["--episodes", "2", "--fault", "miss", "--policy", "random"]
    assert main(["bench", "faults", *options, "--json", str(path), "--plot", str(plot)]) == 0
    found = json.loads(path.read_text())
    assert found["machine"]["cores"] >= 1
    assert found["seeds_from"] >= 2_000_000
    assert found["players"].keys() == {"rule", "random"}
    rule = found["players"]["rule"]
    assert [one["rate"] for one in rule["miss"]] == [0.5, 0.9]
    for one in (rule["none"], *rule["miss"]):
        low, high = one["distance_m"]["ci95"]
        assert low <= one["distance_m"]["iqm"] <= high
    assert rule["miss"][1]["distance_m"]["iqm"] < rule["none"]["distance_m"]["iqm"]
    picture = cv2.imread(str(plot))
    assert picture is not None
    assert picture.std() > 5
    assert "rule: miss" in capsys.readouterr().out


def test_bench_faults_says_when_there_is_no_trained_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "MODELS", tmp_path)
    monkeypatch.setitem(RATES, "miss", (1.0,))
    assert main(["bench", "faults", "--episodes", "1", "--fault", "miss"]) == 0
    assert "no trained policy" in capsys.readouterr().out


def test_all_together_is_the_usual_mix_times_its_rate() -> None:
    assert faults_at("all", 1.0) == MIX
    assert faults_at("all", 2.0).jitter == 4.0
    assert faults_at("jitter", 5.0).jitter == 5.0
    for kind, rates in RATES.items():
        assert [faults_at(kind, rate) for rate in rates]


BAD: list[tuple[str, list[str]]] = [
    ("fault: expected some of miss", ["--fault", "blur"]),
    ("--episodes: expected 1 or more", ["--episodes", "0"]),
    ("--json: expected a folder", ["--json", "no/such/folder/x.json"]),
    ("--plot: expected a folder", ["--plot", "no/such/folder/x.png"]),
    ("unknown policy", ["--policy", "nobody"]),
]


@pytest.mark.parametrize(("words", "options"), BAD, ids=[" ".join(one[1]) for one in BAD])
def test_mistakes_of_bench_faults_are_one_line_and_status_2(
    words: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "faults", *options]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_a_picture_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    point = {"distance_m": {"iqm": 1.0, "ci95": [0.5, 1.5]}}
    curves = {"rule": {"none": point, "miss": [{"rate": 0.1, **point}]}}
    with pytest.raises(bench.ConfigError, match="cannot write"):
        draw_curves(curves, tmp_path, "")
