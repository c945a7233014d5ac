"""`python -m greatwall policy`: what a file holds, and the same play as ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from greatwall.__main__ import main
from greatwall.assembly import build_env, make_config
from greatwall.commands.policy import check_observations
from greatwall.players.trained import PolicyPlayer
from greatwall.policies.network import NetworkSpec, build_policy
from greatwall.policies.onnx_file import largest_difference, to_onnx
from greatwall.policies.policy_file import load_policy, save_policy

SPECS = {
    "radial": NetworkSpec("radial", {"spacing_px": 25.0}, (64, 64)),
    "flat": NetworkSpec("flat", {}, (8,), "relu"),
    "normalised": NetworkSpec("normalised", {"clip": 5.0}, (16, 16)),
    "timed": NetworkSpec("timed", {}, (16,), extras=("touches", "motion", "ahead")),
    "recall": NetworkSpec("timed", {}, (16,), extras=("recall",)),
}


def made(folder: Path, kind: str = "radial") -> Path:
    """A policy file whose weights are far enough from 0 that it chooses all three actions."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build_policy(SPECS[kind])
        network.action_net.weight.data.normal_(0.0, 3.0)
    path = folder / "mine.zip"
    save_policy(path, network, SPECS[kind], "Great Wall Run", {"preset": "default", "a": {"b": 7}})
    return path


def test_info_says_what_a_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "info", str(made(tmp_path))]) == 0
    shown = capsys.readouterr().out
    for word in ("mine.zip", "radial", "spacing_px 25", "64 x 64", "207 numbers", "a.b", "action_net.weight"):
        assert word in shown


def test_a_strangers_words_are_shown_as_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = SPECS["flat"]
    facts = {"[red]x[/red]": "\x1b[31mred\n[/]"}
    save_policy(tmp_path / "p.zip", build_policy(spec), spec, "[bold]", facts)
    assert main(["policy", "info", str(tmp_path / "p.zip")]) == 0
    shown = capsys.readouterr().out
    assert "[red]x[/red]" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("kind", SPECS)
def test_the_onnx_model_answers_as_the_policy_does(kind: str, tmp_path: Path) -> None:
    policy = load_policy(made(tmp_path, kind))
    model = to_onnx(policy)
    observations = check_observations(policy.spec.extras)
    assert len(observations) == 512
    difference, other_actions = largest_difference(policy, model, observations)
    assert difference < 1e-4
    assert other_actions == 0


def test_another_policys_model_is_not_the_same(tmp_path: Path) -> None:
    policy = load_policy(made(tmp_path))
    other = load_policy(made(tmp_path, "flat"))
    difference, other_actions = largest_difference(policy, to_onnx(other), check_observations())
    assert difference > 0.1
    assert other_actions > 0


def test_the_exported_model_plays_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path)
    assert main(["policy", "export", str(path)]) == 0
    assert "512 observations, the same actions" in " ".join(capsys.readouterr().out.split())
    session = onnxruntime.InferenceSession(str(tmp_path / "mine.onnx"), providers=["CPUExecutionProvider"])
    player = PolicyPlayer.from_file(path, make_config())
    env = build_env(make_config(max_distance_m=200))
    observation, info = env.reset(seed=1_000_003)
    done, actions = False, []
    while not done:
        logits, action = session.run(None, {"observation": observation[None]})
        assert logits.shape == (1, 3)
        actions.append(int(action[0]))
        assert actions[-1] == player.act(observation, info["perception"])
        observation, _, terminated, truncated, info = env.step(actions[-1])
        done = terminated or truncated
    env.close()
    assert len(set(actions)) > 1


def test_the_model_says_what_it_is(tmp_path: Path) -> None:
    model = onnx.load_from_string(to_onnx(load_policy(made(tmp_path))))
    facts = {one.key: one.value for one in model.metadata_props}
    assert facts["actions"] == "wait,jump,shoot"
    assert facts["profile"] == "Great Wall Run"
    assert [one.name for one in model.graph.input] == ["observation"]
    assert [one.name for one in model.graph.output] == ["logits", "action"]


def test_an_export_that_does_not_play_the_same_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path)
    other = to_onnx(load_policy(made(tmp_path, "flat")))
    path = made(tmp_path)
    monkeypatch.setattr("greatwall.commands.policy.to_onnx", lambda _policy: other)
    assert main(["policy", "export", str(path)]) == 2
    assert not path.with_suffix(".onnx").exists()


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("nothing there", ["info", "no/such.zip"]),
        ("nothing there", ["export", "no-such.zip"]),
        ("--out: expected a folder", ["export", "FILE", "--out", "no/such/x.onnx"]),
    ],
)
def test_mistakes_are_one_line(
    words: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(made(tmp_path))
    assert main(["policy", *(file if one == "FILE" else one for one in options)]) == 2
    line = capsys.readouterr().err
    assert words in line
    assert line.count("\n") == 1


def test_observations_to_check_with_are_of_both_kinds_and_in_range() -> None:
    found = check_observations()
    assert found.dtype == np.float32
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert found.shape == (512, 207)
    assert check_observations(("recall", "ahead")).shape == (512, 207 + 11 + 32)
