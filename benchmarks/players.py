"""How far the built-in players come, and whether the oracle's look-ahead is long enough.

    python benchmarks/players.py --json benchmarks/players.json

Distances are the game's own. Players ride the standard course from its start, through truth eyes, on
validation or test seeds. The oracle's look-ahead is doubled on runs that begin at `--start` m, where speed
has made it hard, so that they are short: a saved game is moved there before it begins. Main thread.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console
from rich.table import Table

from config import Config
from game_env import GreatWallEnv
from greatwall.assembly import STANDARD_COURSE, build_env, make_config, parse_variants
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_json
from greatwall.contracts import Player
from greatwall.learning.seeds import TEST_START, VALIDATION_START
from greatwall.learning.starts import moved_to
from greatwall.metrics.statistics import mean, summarise
from greatwall.players import give_truth, make_player
from greatwall.players.oracle import OraclePlayer, OracleSettings


@dataclass(frozen=True)
class Players:
    """Measure players of the standard course, or of a variant."""

    players: tuple[str, ...] = ("random", "rule207", "rule", "oracle")
    """built-in players or policy files"""
    episodes: int = 100
    """courses for each, of validation seeds and of test seeds"""
    oracle_episodes: int = 20
    """as many for the oracle, which thinks longer"""
    lookahead: tuple[float, ...] = (4.0, 8.0)
    """s that the oracle looks ahead, side by side; none leaves this part out"""
    lookahead_episodes: int = 20
    """courses for that, validation seeds"""
    start: int = 20_000
    """m at which those begin"""
    variant: str = ""
    """named changes of the game, separated by commas; standard is none"""
    json: Path | None = None
    """write everything here"""

    def run(self) -> int:
        """Ride, print the table, write the file."""
        check_output(self.json, "--json")
        config = make_config(variants=parse_variants(self.variant))
        env = build_env(config)
        console = Console()
        if not console.is_terminal:
            console = Console(width=110)
        table = Table(title=f"players on the course {self.variant or STANDARD_COURSE}")
        for column in ("player", "seeds", "distance m", "IQM", "95 % of IQM", "return", "deaths", "s each"):
            table.add_column(column)
        found: dict[str, Any] = {"machine": machine(), "variant": self.variant, "players": {}}
        try:
            for name in self.players:
                player = make_player(name, config)
                for kind, first in (("validation", VALIDATION_START), ("test", TEST_START)):
                    count = self.oracle_episodes if name == "oracle" else self.episodes
                    one = measure(env, player, range(first, first + count))
                    found["players"].setdefault(name, {})[kind] = one
                    add_row(table, name, kind, one)
                    console.print(f"{name}, {kind}: {one['distance_m']['mean']:,.0f} m", highlight=False)
            if self.lookahead:
                found["lookahead"] = look_ahead(self, config, env, table)
        finally:
            env.close()
            console.print(table)
        if self.json is not None:
            write_json(self.json, found)
        return 0


def ride(env: GreatWallEnv, player: Player, seed: int, start_m: int = 0) -> tuple[int, float, str]:
    """Play one course to its end: distance in m, return, and what took the last life."""
    observation, info = env.reset(seed=seed)
    if start_m:
        saved = moved_to(env.save_game(), start_m, env.config.course.px_per_m)
        observation, info = env.reset(options={"state": saved})
    give_truth(player, env.save_game)
    player.reset(seed)
    total, done = 0.0, False
    while not done:
        action = player.act(observation, info["perception"])
        observation, reward, terminated, truncated, info = env.step(action)
        total += reward
        done = terminated or truncated
    facts = env.worker.facts()
    assert facts is not None
    return int(facts["distance_m"]), total, str(facts["death"])


def measure(env: GreatWallEnv, player: Player, seeds: Sequence[int], start_m: int = 0) -> dict[str, Any]:
    """All courses of one player: summaries, deaths, and seconds a course."""
    began_s = time.perf_counter()
    rides = [ride(env, player, seed, start_m) for seed in seeds]
    return {
        "episodes": len(rides),
        "first_seed": seeds[0],
        "distance_m": summarise([float(one[0]) for one in rides]).as_json(),
        "return": summarise([one[1] for one in rides]).as_json(),
        "deaths": dict(Counter(one[2] for one in rides)),
        "distances_m": [one[0] for one in rides],
        "seconds_each": round((time.perf_counter() - began_s) / len(rides), 2),
    }


def look_ahead(asked: Players, config: Config, env: GreatWallEnv, table: Table) -> dict[str, Any]:
    """The oracle with one look-ahead after another, on the same courses."""
    seeds = range(VALIDATION_START + 100, VALIDATION_START + 100 + asked.lookahead_episodes)
    found: dict[str, Any] = {}
    for seconds in asked.lookahead:
        oracle = OraclePlayer(config, OracleSettings(seconds))
        one = measure(env, oracle, seeds, asked.start)
        found[f"{seconds:g}"] = one
        add_row(table, f"oracle, {seconds:g} s ahead", f"from {asked.start:,} m", one)
    values = [mean(one["distances_m"]) for one in found.values()]
    changes = [round(after / before - 1, 4) for before, after in pairwise(values)]
    return {"start_m": asked.start, "by_lookahead_s": found, "change_of_mean": changes}


def add_row(table: Table, name: str, seeds: str, one: dict[str, Any]) -> None:
    distance, score = one["distance_m"], one["return"]
    low, high = distance["ci95"]
    deaths = " ".join(f"{cause} {count}" for cause, count in sorted(one["deaths"].items()))
    table.add_row(
        name,
        seeds,
        f"{distance['mean']:,.0f}",
        f"{distance['iqm']:,.0f}",
        f"{low:,.0f}-{high:,.0f}",
        f"{score['mean']:+,.0f}",
        deaths,
        f"{one['seconds_each']:.1f}",
    )


if __name__ == "__main__":
    sys.exit(run_command(Players, sys.argv[1:], "python benchmarks/players.py"))
