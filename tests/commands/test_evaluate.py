"""`python -m greatwall evaluate`: table, JSON, film, and one line for each mistake."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import pytest

from config import Config
from greatwall.__main__ import main
from greatwall.assembly import make_config
from greatwall.commands.film import FILM_SIZE
from greatwall.contracts import Eyes
from greatwall.errors import ConfigError
from greatwall.learning.evaluation import EpisodeResult, play_episode
from greatwall.learning.parallel import EvaluationError, play_apart

FIELDS = {
    "seed",
    "distance_m",
    "return",
    "steps",
    "coins",
    "obstacles",
    "cliffs",
    "shots",
    "kills",
    "death",
}


def evaluate(folder: Path, *options: str) -> dict[str, Any]:
    path = folder / "result.json"
    assert main(["evaluate", "--json", str(path), *options]) == 0
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_the_json_has_the_agreed_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluate(
        tmp_path, "--policy", "random", "--eyes", "truth", "--episodes", "3", "--seed", "2000000"
    )
    assert (found["policy"], found["eyes"], found["seed"]) == ("random", "truth", 2_000_000)
    assert [one["seed"] for one in found["episodes"]] == [2_000_000, 2_000_001, 2_000_002]
    assert all(one.keys() >= FIELDS for one in found["episodes"])
    for name in ("distance_m", "return"):
        assert found[name].keys() == {"mean", "iqm", "ci95"}
        values = [one[name] for one in found["episodes"]]
        assert found[name]["mean"] == pytest.approx(sum(values) / 3, abs=0.01)
    assert "random" in capsys.readouterr().out


def test_the_same_seeds_give_the_same_numbers(tmp_path: Path) -> None:
    options = ("--policy", "random", "--episodes", "2", "--seed", "1000500")
    assert evaluate(tmp_path, *options) == evaluate(tmp_path, *options)


def test_a_distance_limit_ends_the_run(tmp_path: Path) -> None:
    found = evaluate(tmp_path, "--policy", "rule", "--episodes", "1", "--max-distance", "150")
    (episode,) = found["episodes"]
    assert episode["death"] == "limit"
    assert 150 <= episode["distance_m"] < 180


def test_a_filmed_run_is_the_run_itself_and_shows_every_tick(tmp_path: Path) -> None:
    options = ("--policy", "idle", "--episodes", "1", "--max-distance", "60")
    plain = evaluate(tmp_path, *options)
    filmed = evaluate(tmp_path, *options, "--video", str(tmp_path / "run.mp4"))
    assert filmed == plain
    with av.open(str(tmp_path / "run.mp4")) as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height) == FILM_SIZE
        assert stream.average_rate == 30
        frames = sum(1 for _ in film.decode(video=0))
    assert frames >= plain["episodes"][0]["steps"] * 3


def test_several_processes_play_what_one_does(tmp_path: Path) -> None:
    options = ("--compare", "random", "rule", "--episodes", "3", "--max-distance", "300")
    alone = evaluate(tmp_path, *options, "--jobs", "1")
    assert evaluate(tmp_path, *options, "--jobs", "2") == alone
    assert [one["seed"] for one in alone["players"][0]["episodes"]] == [2_000_000, 2_000_001, 2_000_002]


def test_ctrl_c_shows_what_was_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    played: list[int] = []

    def strike(env: Any, player: Any, seed: int) -> EpisodeResult:
        if len(played) == 5:  # the third course, of which the first player alone has been
            raise KeyboardInterrupt
        played.append(seed)
        return play_episode(env, player, seed)

    monkeypatch.setattr("greatwall.learning.parallel.play_episode", strike)
    path = tmp_path / "result.json"
    options = ["--compare", "random", "idle", "--episodes", "4", "--json", str(path)]
    assert main(["evaluate", *options]) == 130
    out = capsys.readouterr().out
    assert "interrupted: 5 of 8 episodes were played" in out
    assert "on the same 2 courses" in out
    assert not path.exists()


def test_processes_leave_with_the_one_that_started_them() -> None:
    code = (
        "from greatwall.__main__ import main\nfrom greatwall.commands import playing\nplaying.LINE_S = 0\n"
        "main('evaluate --policy rule --episodes 4000 --max-distance 200 --jobs 2'.split())"
    )
    first = subprocess.Popen(
        [sys.executable, "-u", "-c", code], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    line = first.stdout.readline()  # players are at work
    first.kill()
    assert line.startswith("played")
    first.communicate(timeout=60)  # its pipe is theirs too: it ends when the last of them is gone


def test_a_process_that_dies_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EvaluationError, match="fewer --jobs"):
        play_apart(make_config(), ("rule", "no such player"), [1], 2, lambda *_: None)


def test_what_fails_leaves_an_earlier_film_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    film = tmp_path / "run.mp4"
    film.write_bytes(b"an earlier film")
    played = ["--policy", "idle", "--episodes", "1", "--max-distance", "30"]
    options = ["evaluate", *played, "--video", str(film)]

    def lack(_config: Config) -> Eyes:
        raise ConfigError("expected weights, found none; train them")

    with monkeypatch.context() as patched:
        patched.setattr("greatwall.commands.evaluate.build_eyes", lack)
        assert main(options) == 2
    assert film.read_bytes() == b"an earlier film"

    def strike(*_: object) -> EpisodeResult:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("greatwall.learning.parallel.play_episode", strike)
        assert main(options) == 130
    assert film.read_bytes() == b"an earlier film"
    assert main(options) == 0
    with av.open(str(film)) as whole:
        assert whole.streams.video[0].average_rate == 30
    assert list(tmp_path.iterdir()) == [film]


BAD: list[tuple[str, list[str]]] = [
    ("unknown policy", ["--policy", "nobody"]),
    ("unknown device", ["--policy", "rule", "--device", "toaster"]),
    ("--episodes", ["--policy", "rule", "--episodes", "0"]),
    ("--seed", ["--policy", "rule", "--seed", "-1"]),
    ("--seed", ["--policy", "rule", "--seed", str(2**32 - 1), "--episodes", "2"]),
    ("variant", ["--policy", "rule", "--variant", "moon"]),
    ("--video", ["--policy", "rule", "--clock", "wall", "--video", "x.mp4"]),
    ("--jobs: expected 0", ["--policy", "rule", "--jobs", "-1"]),
    ("--jobs: expected 1", ["--policy", "rule", "--clock", "wall", "--jobs", "2"]),
    ("--json: expected a folder", ["--policy", "idle", "--json", "no/such/folder/x.json"]),
    ("--video: expected a folder", ["--policy", "idle", "--video", "no/such/folder/x.mp4"]),
]


@pytest.mark.parametrize(("words", "options"), BAD, ids=[" ".join(one[1][-2:]) for one in BAD])
def test_mistakes_are_one_line_and_status_2(
    words: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *options]) == 2
    line = capsys.readouterr().err
    assert words in line
    assert line.count("\n") == 1


def test_a_corrupt_policy_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.zip").write_bytes(b"PK\x03\x04 cut short")
    assert main(["evaluate", "--policy", str(tmp_path / "p.zip")]) == 2
    assert "policy file" in capsys.readouterr().err
