"""What PPO learns on the standard course: every row over training seeds 0, 8 and 16, beside all players.

    python benchmarks/learning.py --processes 2

writes benchmarks/learning.json, docs/learning.md and docs/images/learning.png. With `--report` it trains
nothing and writes what is there; without `--only` that, too, is what is published.

A row is a preset, a number of steps, perhaps a warm start or a variant of the course. It is trained by the
same code as `train_ppo.py`, through truth eyes; validation courses choose its best policy, which then rides
the test courses, and so does the final one. Every training run that has finished is kept in `--folder` and
not repeated while its settings stay as they are: the command may be stopped and started again. A run with
other settings is put aside and trained anew; whoever changes the code names another folder. Main thread;
runs side by side are processes.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from rich.console import Console

from benchmarks.learning_curve import CurveCallback, points_of
from benchmarks.learning_page import draw_curves, summaries, write_page
from benchmarks.learning_rows import ROWS, Row
from config import GREAT_WALL
from greatwall.assembly import build_env, check_seed, make_config, parse_variants
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, check_output_folder, write_json
from greatwall.contracts import Player
from greatwall.errors import ConfigError
from greatwall.game.rules import Game
from greatwall.game.view import Thing
from greatwall.learning.changes import changes_between
from greatwall.learning.evaluation import play_episodes
from greatwall.learning.kept_files import newest_state, put_broken_aside
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.run_lock import RunLock
from greatwall.learning.saving import ValidationCallback
from greatwall.learning.seeds import TEST_START
from greatwall.learning.training_state import TrainingState
from greatwall.metrics.statistics import summarise
from greatwall.players import make_player
from greatwall.players.oracle import OraclePlayer

ROOT = Path(__file__).resolve().parent.parent
RESULT = Path(__file__).with_suffix(".json")
PAGE, PICTURE = ROOT / "docs" / "learning.md", ROOT / "docs" / "images" / "learning.png"
FOLDER = ROOT / "models" / "learning"
MAX_M = 60_000  # an end for what never falls
PLAYERS_FILE = Path(__file__).with_name("players.json")  # the standard course's players
PLAYERS = {"random": 100, "rule": 50, "oracle": 10}  # courses of a variant: the oracle thinks longer
SCREEN, SCREEN_COURSES = "screen-oracle", 20

Scores = dict[str, list[float]]  # distance_m and return of each course


@dataclass(frozen=True)
class Learning:
    """Train and test what has not been yet, then write the table, its picture and its JSON."""

    seeds: tuple[int, ...] = (0, 8, 16)
    """of the training runs"""
    episodes: int = 100
    """test courses of each policy"""
    only: tuple[str, ...] = ()
    """names of rows, or of their groups: main, low_delay, ablation; screen-oracle; none is all"""
    processes: int = 1
    """training runs side by side"""
    folder: Path = FOLDER
    """finished runs are kept here"""
    report: bool = False
    """train nothing: write what is there"""
    shorten: int = 1
    """divide the steps of every row by this, to try the command out; writes no published file"""

    def run(self) -> int:
        rows = self._rows()
        check_output_folder(self.folder, "--folder")
        published = self.shorten == 1 and self.episodes == Learning.episodes and self.seeds == Learning.seeds
        for path, flag in ((RESULT, "learning.json"), (PAGE, "learning.md"), (PICTURE, "learning.png")):
            if published:
                check_output(path, flag)
        console = Console()
        if not console.is_terminal:
            console = Console(width=110)
        if not self.report:
            work(self, rows, console)
        result = collected(self, console)
        write_json(self.folder / "learning.json", result)
        page, picture = self.folder / "learning.md", self.folder / "learning.png"
        if published and not self.only:
            write_json(RESULT, result)
            page, picture = PAGE, PICTURE
        write_page(page, result)
        draw_curves(result, picture)
        console.print(f"wrote {page} and {picture}", highlight=False)
        return 0

    def _rows(self) -> list[Row]:
        known = dict.fromkeys([row.group for row in ROWS] + [row.name for row in ROWS] + [SCREEN])
        for name in self.only:
            if name not in known:
                raise ConfigError(f"--only: expected some of {', '.join(known)}; found {name!r}; change it")
        for option, value in (
            ("--episodes", self.episodes),
            ("--processes", self.processes),
            ("--shorten", self.shorten),
        ):
            if value < 1:
                raise ConfigError(f"{option}: expected 1 or more, found {value}; change the number")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"--seeds: expected some, each once, found {self.seeds}; change them")
        for seed in self.seeds:
            check_seed(seed, flag="--seeds")
        return [row for row in ROWS if not self.only or {row.name, row.group} & set(self.only)]


@dataclass(frozen=True)
class Task:
    """One training run with its test, or one hand-written player's test."""

    row: Row | None
    seed: int
    player: str
    variant: str
    folder: Path
    episodes: int
    shorten: int

    @property
    def result(self) -> Path:
        if self.row is None:
            return self.folder / f"player-{self.player}-{self.variant or 'standard'}.json"
        return self.folder / f"{self.row.name}-{self.seed}" / "result.json"

    @property
    def courses(self) -> int:
        """How many test courses are ridden."""
        return min(PLAYERS.get(self.player, SCREEN_COURSES), self.episodes) if self.player else self.episodes

    def finished(self) -> dict[str, Any] | None:
        """Its result; None where there is none yet, or one of other settings."""
        if not self.result.exists():
            return None
        found: dict[str, Any] = json.loads(self.result.read_text(encoding="utf-8"))
        fits = len(found["test"]["return"]) == self.courses
        if self.row is not None:
            of = (self.row.resolved(), self.seed, settings_of(self.row, self).timesteps)
            fits = fits and (found["row"], found["seed"], found["timesteps"]) == of
        return found if fits else None


def tasks(options: Learning, rows: list[Row]) -> Iterator[Task]:
    """Everything to be done, seed by seed, so that all rows have something early."""
    rest = (options.folder, options.episodes, options.shorten)
    for seed in options.seeds:
        for row in rows:
            yield Task(row, seed, "", row.variant, *rest)
    for variant in dict.fromkeys(row.variant for row in rows if row.variant):
        for player in PLAYERS:
            yield Task(None, 0, player, variant, *rest)
    if not options.only or SCREEN in options.only:
        yield Task(None, 0, SCREEN, "", *rest)


def work(options: Learning, rows: list[Row], console: Console) -> None:
    """Do what has no result yet, `processes` at a time."""
    todo = [task for task in tasks(options, rows) if task.finished() is None]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, mp_context=context) as pool:
        for done in as_completed([pool.submit(do, task) for task in todo]):
            console.print(done.result(), highlight=False)


def do(task: Task) -> str:
    """One task, to its result file; returns a line about it. Runs in a process of its own."""
    torch.set_num_threads(1)
    task.result.parent.mkdir(parents=True, exist_ok=True)
    found = trained(task) if task.row is not None else played(task)
    write_json(task.result, found)
    distances = found["test"]["distance_m"]
    return f"{task.result.stem} {task.result.parent.name}: {sum(distances) / len(distances):,.0f} m"


class ScreenOracle(OraclePlayer):
    """The oracle's exact search over what is on the screen alone: about as far as anybody comes who does
    not see beyond it."""

    name = SCREEN

    def _ahead(self, game: Game) -> list[Thing]:
        """Without what lay beyond the right edge of the frame that was perceived."""
        age_s = sum(self._delays.capture_to_perceived_s) / 2
        edge = game.x + GREAT_WALL.frame_size[0] - age_s * game.speed_px_s
        now = game.tick
        return [thing for thing in super()._ahead(game) if thing.x_at(now) < edge]


def played(task: Task) -> dict[str, Any]:
    """A hand-written player on the test courses."""
    config = make_config(variants=parse_variants(task.variant), max_distance_m=MAX_M)
    env = build_env(config)
    try:
        player = ScreenOracle(config) if task.player == SCREEN else make_player(task.player, config)
        return {"test": ride(env, player, task.courses)}
    finally:
        env.close()


def ride(env: Any, player: Player, count: int) -> Scores:
    """Distances and returns on the first `count` test courses, with the standard reward."""
    results = play_episodes(env, player, range(TEST_START, TEST_START + count))
    return {
        "distance_m": [one.distance_m for one in results],
        "return": [round(one.episode_return, 2) for one in results],
    }


def trained(task: Task) -> dict[str, Any]:
    """Train, or go on with what was begun; then both policies on the test courses."""
    row = task.row
    assert row is not None
    settings = settings_of(row, task)
    place = task.result.parent
    files = RunFiles(place / "models", place / "logs")
    curve, spent = place / "curve.jsonl", place / "spent.json"
    files.prepare()
    with RunLock(files.models):
        before = newest_state(files)
        if before is not None and is_other(before.state, settings):
            put_aside(place, files, curve, spent)
            before = None
        elif before is not None:
            put_broken_aside(files, before)
        cpu_s = learnt(settings, files, None if before is None else before.state, curve, spent)
    config = make_config(variants=settings.config.variants, max_distance_m=MAX_M)
    env = build_env(config)
    try:
        best = ride(env, make_player(str(files.eval_best), config), task.courses)
        policies = {"test": best}
        if row.group != "ablation":  # of these the final policy is of no interest: its courses are spared
            policies["final"] = ride(env, make_player(str(files.final), config), task.courses)
    finally:
        env.close()
    return {
        "row": row.resolved(),
        "seed": task.seed,
        "timesteps": settings.timesteps,
        "cpu_minutes": round(cpu_s / 60, 2),
        "curve": points_of(curve),
        **policies,
    }


def is_other(state: TrainingState, settings: RunSettings) -> bool:
    """Whether the run in a folder is not the one that is wanted there."""
    changes = changes_between(state, settings.config, settings.preset, settings.run_seed)
    ends_elsewhere = state.counters.target_timesteps != settings.timesteps
    return bool(changes.refused or changes.accepted) or ends_elsewhere


def put_aside(place: Path, files: RunFiles, *others: Path) -> None:
    """Move a run with what belongs to it into `models/old-<time>/`."""
    old = files.set_aside()
    assert old is not None
    for path in (*others, place / "result.json"):
        if path.exists():
            path.rename(old / path.name)


def learnt(
    settings: RunSettings, files: RunFiles, state: TrainingState | None, curve: Path, spent: Path
) -> float:
    """Learn what is left to learn; CPU seconds so far, over all sessions."""
    before_s = float(json.loads(spent.read_text())["cpu_s"]) if spent.exists() else 0.0
    began_s = time.process_time()
    run = TrainingRun(settings, files, Console(quiet=True), state)
    for at, one in enumerate(run.callbacks):
        if isinstance(one, ValidationCallback):
            run.callbacks.insert(at + 1, CurveCallback(curve, one))  # before the state says it was validated
            break
    try:
        if state is None or state.counters.timesteps < settings.timesteps:
            run.learn()
    finally:
        run.close()
        cpu_s = before_s + time.process_time() - began_s
        write_json(spent, {"cpu_s": round(cpu_s, 1)})
    return cpu_s


def settings_of(row: Row, task: Task) -> RunSettings:
    preset = row.preset
    timesteps = row.timesteps
    if task.shorten > 1:
        timesteps = max(500, timesteps // task.shorten)
        if preset.warm_start:
            preset = dataclasses.replace(preset, demonstration_steps=timesteps // 2)
    config = preset.apply(make_config(eyes="truth", variants=parse_variants(row.variant)))
    return RunSettings(config, preset, task.seed, timesteps, processes=1)


def standard_players() -> tuple[dict[str, Any], str]:
    """What `benchmarks/players.py` measured on the test courses; the command for it."""
    players = json.loads(PLAYERS_FILE.read_text(encoding="utf-8"))["players"]
    found = {
        name: {
            "courses": one["test"]["episodes"],
            **{value: one["test"][value] for value in ("distance_m", "return")},
        }
        for name, one in players.items()
    }
    counts = f"--episodes {found['rule']['courses']} --oracle-episodes {found['oracle']['courses']}"
    return found, f"python benchmarks/players.py {counts} --json benchmarks/{PLAYERS_FILE.name}"


def collected(options: Learning, console: Console) -> dict[str, Any]:
    """All results that are there, of all rows; what is missing is left out and said in one line."""
    standard, players_command = standard_players()
    players = {"": standard}
    rows: dict[str, Any] = {}
    missing: list[Task] = []
    for task in tasks(dataclasses.replace(options, only=()), list(ROWS)):
        found = task.finished()
        if found is None:
            missing.append(task)
        elif task.row is None:
            scores = found["test"]
            players.setdefault(task.variant, {})[task.player] = {
                "courses": len(scores["return"]),
                **{value: summarise(scores[value]).as_json() for value in scores},
            }
        else:
            about = {"about": task.row.about, "group": task.row.group} | found["row"]
            rows.setdefault(task.row.name, about | {"runs": []})["runs"].append(
                {name: value for name, value in found.items() if name != "row"}
            )
    if not rows:
        raise ConfigError(
            f"--folder: expected a finished training run in {options.folder}, found none; train first"
        )
    left_out = names_of(missing, {row["variant"] for row in rows.values()}, len(options.seeds))
    if left_out:
        console.print(f"not there yet, left out: {', '.join(left_out)}", highlight=False)
    return {
        "command": "python benchmarks/learning.py",
        "players_command": players_command,
        "seeds": list(options.seeds),
        "test_courses": [TEST_START, TEST_START + options.episodes - 1],
        "machine": machine(),
        "not_there_yet": left_out,
        "players": players,
        "rows": {
            row.name: rows[row.name] | summaries(rows[row.name]["runs"], options.seeds)
            for row in ROWS
            if row.name in rows
        },
    }


def names_of(missing: list[Task], variants: set[str], seeds: int) -> list[str]:
    """Rows, with their seeds where others are there; players of the standard course and of these variants."""
    by_row: dict[str, list[str]] = {}
    for task in missing:
        if task.row is not None:
            by_row.setdefault(task.row.name, []).append(str(task.seed))
    names = [
        f"`{name}`" if len(those) == seeds else f"`{name}` with seed {' and '.join(those)}"
        for name, those in by_row.items()
    ]
    for task in missing:
        if task.row is None and task.variant in variants | {""}:
            names.append(f"player `{task.player}`" + f" on `{task.variant}`" * bool(task.variant))
    return names


if __name__ == "__main__":
    sys.exit(run_command(Learning, sys.argv[1:], "benchmarks/learning.py"))
