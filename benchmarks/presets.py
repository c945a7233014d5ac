"""Which training settings learn best in 100,000 steps: candidates over seeds 0, 8 and 16.

    python benchmarks/presets.py     # writes benchmarks/presets.json and docs/images/learning.png; 15 minutes

Each candidate is trained by the same code as `train_ppo.py`, through truth eyes on the standard course.
The policy that validation chose, and the final one, play the same unseen test courses. Figures are
interquartile means with 95 % bootstrap intervals over all episodes of all seeds.
"""

from __future__ import annotations

import csv
import dataclasses
import json
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
import tyro
from rich.console import Console
from rich.table import Table

from greatwall.assembly import build_env, make_config
from greatwall.commands.bench import machine
from greatwall.learning.evaluation import play_episodes
from greatwall.learning.presets import PRESETS, Preset
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.seeds import TEST_START
from greatwall.metrics.statistics import summarise
from greatwall.players import make_player
from greatwall.policies.network import NetworkSpec

MAX_DISTANCE_M = 20_000
RESULT = Path(__file__).with_suffix(".json")
PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "learning.png"
CURVE_STEPS = 5_000  # training episodes are averaged over this many steps


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
    """Train every candidate on every seed, and let the results play unseen courses."""

    timesteps: int = 100_000
    """env steps of each training run"""
    seeds: tuple[int, ...] = (0, 8, 16)
    """of the training runs"""
    episodes: int = 30
    """test courses of each policy"""
    only: tuple[str, ...] = ()
    """names of candidates; none is all"""
    json: Path = RESULT
    """where the result goes"""
    picture: Path = PICTURE
    """where the learning curves go"""


def train_and_test(name: str, preset: Preset, seed: int, options: Benchmark) -> dict[str, Any]:
    """One training run and the test episodes of its two policies."""
    config = preset.apply(make_config(eyes="truth"))
    test = make_config(eyes="truth", max_distance_m=MAX_DISTANCE_M)
    env = build_env(preset.apply(test))
    found: dict[str, Any] = {"candidate": name, "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        files = RunFiles(Path(folder) / "models", Path(folder) / "logs")
        files.prepare()
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        settings = RunSettings(config, preset, seed, options.timesteps)
        run = TrainingRun(settings, files, Console(quiet=True), None)
        try:
            run.learn()
        finally:
            run.close()
        found["seconds"] = round(time.perf_counter() - began_s, 1)
        found["cpu_seconds"] = round(time.process_time() - began_cpu_s, 1)
        found["curve"] = learning_curve(files.episodes, options.timesteps)
        for policy, path in (("validated", files.eval_best), ("final", files.final)):
            player = make_player(str(path), config)
            results = play_episodes(env, player, range(TEST_START, TEST_START + options.episodes))
            found[policy] = {
                "distance_m": [one.distance_m for one in results],
                "return": [round(one.episode_return, 2) for one in results],
            }
    env.close()
    return found


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
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Over all seeds of one candidate."""
    found: dict[str, Any] = {}
    for policy in ("validated", "final"):
        for value in ("distance_m", "return"):
            pooled = [number for run in runs for number in run[policy][value]]
            found[f"{policy}_{value}"] = summarise(pooled).as_json()
    found["cpu_seconds"] = round(sum(run["cpu_seconds"] for run in runs) / len(runs), 1)
    return found


def main() -> None:
    options = tyro.cli(Benchmark)
    torch.set_num_threads(1)
    console = Console()
    runs: list[dict[str, Any]] = []
    chosen = {n: p for n, p in candidates().items() if not options.only or n in options.only}
    for name, preset in chosen.items():
        for seed in options.seeds:
            runs.append(train_and_test(name, preset, seed, options))
            distance = summarise(runs[-1]["validated"]["distance_m"])
            console.print(f"{name} seed {seed}: {distance.iqm:,.0f} m", highlight=False)
    table = Table(
        title=f"{options.timesteps:,} steps, seeds {options.seeds}, {options.episodes} test courses"
    )
    for column in ("candidate", "validated m (IQM)", "95 %", "final m (IQM)", "return (IQM)", "CPU s"):
        table.add_column(column)
    summaries = {name: summary([run for run in runs if run["candidate"] == name]) for name in chosen}
    for name, one in summaries.items():
        low, high = one["validated_distance_m"]["ci95"]
        table.add_row(
            name,
            f"{one['validated_distance_m']['iqm']:,.0f}",
            f"{low:,.0f}-{high:,.0f}",
            f"{one['final_distance_m']['iqm']:,.0f}",
            f"{one['validated_return']['iqm']:+,.0f}",
            f"{one['cpu_seconds']:.0f}",
        )
    console.print(table)
    result = {
        "timesteps": options.timesteps,
        "seeds": list(options.seeds),
        "test_episodes": options.episodes,
        "max_distance_m": MAX_DISTANCE_M,
        "machine": machine(),
        "presets": {name: preset.resolved() for name, preset in chosen.items()},
        "summary": summaries,
        "runs": runs,
    }
    draw_curves(runs, options.picture)
    options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
