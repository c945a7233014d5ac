"""Which training settings learn best in 100,000 steps: candidates over seeds 0, 8 and 16.

    python benchmarks/presets.py     # writes benchmarks/presets.json and docs/images/learning.png; 15 minutes

Each candidate is trained by the same code as `train_ppo.py`, through truth eyes on the standard course.
Its best policy plays validation courses that the training's own validation did not use, with the standard
reward for all: the candidate with the largest IQM of distance wins. The winner alone then plays the test
courses, beside the rule player and random. Intervals are 95 % bootstrap over seeds, then episodes.
"""

from __future__ import annotations

import csv
import dataclasses
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from rich.console import Console
from rich.table import Table

from game_env import GreatWallEnv
from greatwall.assembly import build_env, check_seed, make_config
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_json
from greatwall.contracts import Player
from greatwall.errors import ConfigError
from greatwall.learning.evaluation import play_episodes
from greatwall.learning.presets import PRESETS, Preset
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.seeds import TEST_START, VALIDATION_START
from greatwall.metrics.statistics import iqm, summarise_over_seeds
from greatwall.players import make_player
from greatwall.policies.network import NetworkSpec

MAX_DISTANCE_M = 20_000
RANKING_START = VALIDATION_START + 100  # the training's own validation plays those before
RESULT = Path(__file__).with_suffix(".json")
PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "learning.png"
CURVE_STEPS = 5_000  # training episodes are averaged over this many steps
TABLE_WIDTH = 110  # where there is no terminal to ask
HAND_WRITTEN = ("rule", "random")

Scores = dict[str, list[float]]  # distance_m and return of each episode


def candidates() -> dict[str, Preset]:
    """The default; running mean and variance instead of the radial code, at the rate that suits it
    better; the default without its penalty for lost lives; the user's own."""
    default = PRESETS["default"]
    return {
        "default": default,
        "normalised": dataclasses.replace(
            default,
            name="normalised",
            learning_rate=1e-3,
            network=NetworkSpec("normalised", {}, default.network.net_arch),
        ),
        "no_life_penalty": dataclasses.replace(default, name="no_life_penalty", life_penalty=0.0),
        "paper": PRESETS["paper"],
    }


@dataclass(frozen=True)
class Benchmark:
    """Train every candidate on every seed; rank them on validation courses; test the winner."""

    timesteps: int = 100_000
    """env steps of each training run"""
    seeds: tuple[int, ...] = (0, 8, 16)
    """of the training runs"""
    episodes: int = 30
    """validation courses of each policy, and test courses of the winner's"""
    only: tuple[str, ...] = ()
    """names of candidates; none is all"""
    json: Path | None = None
    """where the result goes; the published file, after a run with every option as it is"""
    picture: Path | None = None
    """where the learning curves go; the published picture, likewise"""

    def run(self) -> int:
        chosen = self._chosen()
        full = dataclasses.replace(self, json=None, picture=None) == Benchmark()
        result_path, picture_path = self.json, self.picture
        if full:
            result_path, picture_path = result_path or RESULT, picture_path or PICTURE
        check_output(result_path, "--json")
        check_output(picture_path, "--picture")
        torch.set_num_threads(1)
        console = Console()
        if not console.is_terminal:
            console = Console(width=TABLE_WIDTH)
        with tempfile.TemporaryDirectory() as folder:
            result = measure(chosen, self, Path(folder), console)
        console.print(ranking_table(result))
        console.print(test_table(result))
        if result_path is not None:
            write_json(result_path, result)
        if picture_path is not None:
            draw_curves(result["runs"], picture_path)
        if not full and self.json is None and self.picture is None:
            console.print("not a full run: the published figures stay; name a file with --json")
        return 0

    def _chosen(self) -> dict[str, Preset]:
        every = candidates()
        for name in self.only:
            if name not in every:
                raise ConfigError(f"--only: expected some of {', '.join(every)}; found {name!r}; change it")
        for option, value in (("--timesteps", self.timesteps), ("--episodes", self.episodes)):
            if value < 1:
                raise ConfigError(f"{option}: expected 1 or more, found {value}; change the number")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"--seeds: expected some, each once, found {self.seeds}; change them")
        for seed in self.seeds:
            check_seed(seed, flag="--seeds")
        return {name: preset for name, preset in every.items() if not self.only or name in self.only}


def measure(chosen: dict[str, Preset], options: Benchmark, folder: Path, console: Console) -> dict[str, Any]:
    """Train, rank, test: everything that is published. Policies stay in `folder`."""
    env = build_env(make_config(eyes="truth", max_distance_m=MAX_DISTANCE_M))
    ranking = range(RANKING_START, RANKING_START + options.episodes)
    tested = range(TEST_START, TEST_START + options.episodes)
    runs: list[dict[str, Any]] = []
    try:
        for name, preset in chosen.items():
            for seed in options.seeds:
                found, policy = train(name, preset, seed, options.timesteps, folder)
                found["validation"] = play(env, make_player(str(policy), env.config), ranking)
                runs.append(found)
                distance = iqm(found["validation"]["distance_m"])
                console.print(f"{name} seed {seed}: {distance:,.0f} m", highlight=False)
        summary = {name: summary_of([run for run in runs if run["candidate"] == name]) for name in chosen}
        winner = max(chosen, key=lambda name: summary[name]["distance_m"]["iqm"])
        test = {}
        scores = {
            seed: play(env, make_player(str(policy_of(folder, winner, seed)), env.config), tested)
            for seed in options.seeds
        }
        test["trained"] = over_seeds(scores) | {"episodes": scores}
        for name in HAND_WRITTEN:
            one = play(env, make_player(name, env.config), tested)
            test[name] = over_seeds({0: one}) | {"episodes": one}
    finally:
        env.close()
    return {
        "command": "python benchmarks/presets.py",
        "timesteps": options.timesteps,
        "seeds": list(options.seeds),
        "validation_courses": [ranking.start, ranking.stop - 1],
        "test_courses": [tested.start, tested.stop - 1],
        "max_distance_m": MAX_DISTANCE_M,
        "machine": machine(),
        "presets": {name: preset.resolved() for name, preset in chosen.items()},
        "validation": summary,
        "winner": winner,
        "test": test,
        "runs": runs,
    }


def policy_of(folder: Path, name: str, seed: int) -> Path:
    """The best policy, by the training's own validation, of one run."""
    return run_files(folder, name, seed).eval_best


def run_files(folder: Path, name: str, seed: int) -> RunFiles:
    place = folder / f"{name}-{seed}"
    return RunFiles(place / "models", place / "logs")


def train(name: str, preset: Preset, seed: int, timesteps: int, folder: Path) -> tuple[dict[str, Any], Path]:
    """One training run: its costs and curve, and the policy that it thinks its best."""
    files = run_files(folder, name, seed)
    files.prepare()
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    settings = RunSettings(preset.apply(make_config(eyes="truth")), preset, seed, timesteps)
    run = TrainingRun(settings, files, Console(quiet=True), None)
    try:
        run.learn()
    finally:
        run.close()
    found = {
        "candidate": name,
        "seed": seed,
        "seconds": round(time.perf_counter() - began_s, 1),
        "cpu_seconds": round(time.process_time() - began_cpu_s, 1),
        "curve": learning_curve(files.episodes, timesteps),
    }
    return found, files.eval_best


def play(env: GreatWallEnv, player: Player, seeds: range) -> Scores:
    """Distances and returns of one player on these courses."""
    results = play_episodes(env, player, seeds)
    return {
        "distance_m": [one.distance_m for one in results],
        "return": [round(one.episode_return, 2) for one in results],
    }


def over_seeds(scores: dict[int, Scores]) -> dict[str, Any]:
    """Mean, IQM and interval over all training seeds, and each seed's own IQM beside them."""
    found: dict[str, Any] = {}
    for value in ("distance_m", "return"):
        found[value] = summarise_over_seeds([one[value] for one in scores.values()]).as_json()
        found[value]["iqm_of_seeds"] = [round(iqm(one[value]), 3) for one in scores.values()]
    return found


def summary_of(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One candidate's validation scores over its seeds, and what a run costs."""
    cpu_seconds = round(sum(run["cpu_seconds"] for run in runs) / len(runs), 1)
    return over_seeds({run["seed"]: run["validation"] for run in runs}) | {"cpu_seconds": cpu_seconds}


def learning_curve(episodes: Path, timesteps: int) -> list[tuple[int, float | None]]:
    """(steps, mean distance in m of the training episodes that ended in the `CURVE_STEPS` before)."""
    with open(episodes, newline="", encoding="utf-8") as file:
        file.readline()
        rows = [(int(row["timesteps"]), float(row["distance_m"])) for row in csv.DictReader(file)]
    curve: list[tuple[int, float | None]] = []
    for end in range(CURVE_STEPS, timesteps + 1, CURVE_STEPS):
        distances = [distance for steps, distance in rows if end - CURVE_STEPS < steps <= end]
        curve.append((end, round(sum(distances) / len(distances), 1) if distances else None))
    return curve


def draw_curves(runs: list[dict[str, Any]], path: Path) -> None:
    """Mean over seeds, and the span from the worst to the best seed, of every candidate."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4.2), dpi=130)
    for name in dict.fromkeys(run["candidate"] for run in runs):
        points: dict[int, list[float]] = {}
        for run in runs:
            if run["candidate"] == name:
                for steps, distance in run["curve"]:
                    if distance is not None:
                        points.setdefault(steps, []).append(distance)
        steps = sorted(points)
        axes.plot(steps, [sum(points[at]) / len(points[at]) for at in steps], label=name)
        axes.fill_between(
            steps, [min(points[at]) for at in steps], [max(points[at]) for at in steps], alpha=0.15
        )
    axes.set_xlabel("environment steps")
    axes.set_ylabel("distance of training episodes, m (actions drawn)")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def ranking_table(result: dict[str, Any]) -> Table:
    """The candidates on the validation courses."""
    first, last = result["validation_courses"]
    table = Table(
        title=f"{result['timesteps']:,} steps, seeds {result['seeds']}, validation courses {first:,}-{last:,}"
    )
    for column in ("candidate", "distance m (IQM)", "95 %", "each seed", "return (IQM)", "CPU s"):
        table.add_column(column)
    for name, one in result["validation"].items():
        table.add_row(name + " *" * (name == result["winner"]), *_cells(one), f"{one['cpu_seconds']:.0f}")
    return table


def test_table(result: dict[str, Any]) -> Table:
    """The winner and the hand-written players on the test courses."""
    first, last = result["test_courses"]
    table = Table(title=f"test courses {first:,}-{last:,}")
    for column in ("player", "distance m (IQM)", "95 %", "each seed", "return (IQM)"):
        table.add_column(column)
    for name, one in result["test"].items():
        table.add_row(f"{result['winner']}, trained" if name == "trained" else name, *_cells(one))
    return table


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    distance = one["distance_m"]
    low, high = distance["ci95"]
    seeds = " ".join(f"{value:,.0f}" for value in distance["iqm_of_seeds"])
    return f"{distance['iqm']:,.0f}", f"{low:,.0f}-{high:,.0f}", seeds, f"{one['return']['iqm']:+,.0f}"


if __name__ == "__main__":
    sys.exit(run_command(Benchmark, sys.argv[1:], "benchmarks/presets.py"))
