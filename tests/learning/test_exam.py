"""The exam after training: one table, whatever ends it."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from greatwall.assembly import make_config
from greatwall.errors import ConfigError
from greatwall.learning.exam import exam_parts, sit_exam
from greatwall.players import make_player


@pytest.fixture
def truth_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greatwall.learning.exam.exam_parts", lambda n: exam_parts(n)[:1])


@pytest.mark.usefixtures("truth_only")
def test_the_exam_is_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert [(part.eyes, part.episodes, part.max_distance_m) for part in exam_parts(20)] == [
        ("truth", 20, 0),
        ("vision", 3, 1500),
    ]
    config = make_config(eyes="truth")
    players = [(name, make_player(name, config)) for name in ("random", "idle")]
    found = sit_exam(config, players, 2, Console(width=120))
    assert [one.seed for one in found[("random", "truth")]] == [2_000_000, 2_000_001]
    out = capsys.readouterr().out
    assert out.count("exam: ") == 1
    lines = [line for line in out.splitlines() if line.startswith("exam through truth: ")]
    assert [line.split()[3] for line in lines] == ["random", "idle"]


class Leaves:
    """Plays an episode, then something ends it."""

    name = "leaves"

    def __init__(self, error: BaseException) -> None:
        self._error, self._episodes = error, 0

    def reset(self, seed: int) -> None:
        self._episodes += 1
        if self._episodes == 3:
            raise self._error

    def act(self, observation: Any, perception: Any) -> int:
        return 0


@pytest.mark.usefixtures("truth_only")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ConfigError("x")], ids=repr)
def test_an_exam_that_ends_early_still_shows_its_table(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config(eyes="truth")
    players: list[Any] = [("random", make_player("random", config)), ("leaves", Leaves(error))]
    with pytest.raises(type(error)):
        sit_exam(config, players, 4, Console(width=120))
    table = capsys.readouterr().out.split("exam: ")[1]
    assert "random" in table
    assert "leaves" in table
