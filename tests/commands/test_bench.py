"""`python -m greatwall bench`: what it writes. How fast things are is no test's business."""

import json

import pytest

from greatwall.__main__ import main


@pytest.mark.parametrize(
    ("what", "parts"),
    [("env", ("truth", "vision")), ("game", ("rules", "drawing")), ("worker", ("worker",))],
)
def test_bench_writes_its_figures_with_the_machine(what, parts, tmp_path):
    path = tmp_path / "bench.json"
    assert main(["bench", what, "--seconds", "1", "--json", str(path)]) == 0
    result = json.loads(path.read_text())
    assert result["machine"]["cores"] >= 1
    for part in parts:
        assert result[part]
    if what == "env":
        for part in parts:
            assert all(result[part][rate] > 0 for rate in ("steps_per_s", "steps_per_cpu_s", "ticks_per_s"))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--seconds", "0"], "--seconds: expected more than 0, found 0"),
        (["--seed", "-1"], "--seed: expected 0 to 4294967295, found -1"),
        (["--seed", "4294967296"], "--seed: expected 0 to 4294967295, found 4294967296"),
        (["--json", "no/such/folder/x.json"], "--json: expected a folder that exists"),
        (["--json", "."], "--json: expected a file, found the folder"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_measured(options, found, capsys):
    assert main(["bench", "game", *options]) == 2
    assert found in capsys.readouterr().err


def test_unknown_commands_are_one_line(capsys):
    assert main(["fly"]) == 2
    assert "unknown command: expected one of play" in capsys.readouterr().err


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in ("play", "evaluate", "bench", "detector"):
        assert name in shown
