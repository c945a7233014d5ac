"""The exam after training: trained policy, rule and random on test seeds, in one table. Main thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from config import Config, replace_in
from greatwall.assembly import build_env
from greatwall.contracts import Player
from greatwall.errors import GreatWallError
from greatwall.learning.evaluation import EpisodeResult, play_episodes
from greatwall.learning.seeds import TEST_START
from greatwall.metrics.statistics import mean, summarise

VISION_EPISODES = 3
VISION_MAX_M = 1_500
_NUMBERS = ("episodes", "distance m", "IQM", "95 %", "return", "IQM", "95 %", "coins", "kills")


@dataclass(frozen=True)
class ExamPart:
    """One pair of eyes: how many episodes, and how far at most (0: no limit)."""

    eyes: str
    episodes: int
    max_distance_m: int


def exam_parts(episodes: int) -> tuple[ExamPart, ...]:
    """`episodes` through truth, and at most 3 of at most 1,500 m through vision."""
    return (
        ExamPart("truth", episodes, 0),
        ExamPart("vision", min(VISION_EPISODES, episodes), VISION_MAX_M),
    )


def sit_exam(
    config: Config, players: Sequence[tuple[str, Player]], episodes: int, console: Console
) -> dict[tuple[str, str], list[EpisodeResult]]:
    """Play and print the table. Eyes that cannot be had are said in one line, and left out.

    Whatever ends it early, Ctrl-C too, the table of what was played is printed first. Returns the
    episodes by (player, eyes).
    """
    found: dict[tuple[str, str], list[EpisodeResult]] = {}
    table = results_table(f"exam: test seeds from {TEST_START:,}")
    try:
        for part in exam_parts(episodes):
            if part.episodes:
                _sit_part(part, config, players, console, table, found)
    finally:
        if found:
            console.print(table)
    return found


def _sit_part(
    part: ExamPart,
    config: Config,
    players: Sequence[tuple[str, Player]],
    console: Console,
    table: Table,
    found: dict[tuple[str, str], list[EpisodeResult]],
) -> None:
    asked = replace_in(replace_in(config, "worker", clock="game"), "eyes", kind=part.eyes)
    asked = replace_in(asked, "env", max_distance_m=part.max_distance_m)
    seeds = range(TEST_START, TEST_START + part.episodes)
    try:
        env = build_env(asked)
    except GreatWallError as error:
        console.print(f"no exam through {part.eyes}: {error}", style="yellow", markup=False)
        return
    try:
        with console.status(f"exam through {part.eyes}") as status:
            for name, player in players:
                status.update(f"exam through {part.eyes}: {name}")
                results: list[EpisodeResult] = []
                try:
                    play_episodes(env, player, seeds, results.append)
                finally:
                    if results:
                        found[(name, part.eyes)] = results
                        add_row(table, name, part.eyes, results, part.max_distance_m)
                if not console.is_terminal:
                    distance_m = mean([one.distance_m for one in results])
                    console.print(
                        f"exam through {part.eyes}: {name} {distance_m:,.0f} m, {len(results)} episodes",
                        highlight=False,
                    )
    finally:
        env.close()


def results_table(title: str) -> Table:
    """An empty table of players."""
    table = Table(title=title)
    for column in ("player", "eyes"):
        table.add_column(column)
    for column in (*_NUMBERS, "deaths"):
        table.add_column(column, justify="right")
    return table


def add_row(
    table: Table, name: str, eyes: str, results: Sequence[EpisodeResult], max_distance_m: int = 0
) -> None:
    """One player's episodes as a row."""
    distance = summarise([one.distance_m for one in results])
    score = summarise([one.episode_return for one in results])
    causes = sorted({one.death for one in results})
    deaths = " ".join(f"{cause} {sum(one.death == cause for one in results)}" for cause in causes)
    kills = [one.kills for one in results if one.kills is not None]
    table.add_row(
        name,
        eyes + (f" <= {max_distance_m:,} m" if max_distance_m else ""),
        str(len(results)),
        f"{distance.mean:,.0f}",
        f"{distance.iqm:,.0f}",
        f"{distance.ci95[0]:,.0f}-{distance.ci95[1]:,.0f}",
        f"{score.mean:+,.1f}",
        f"{score.iqm:+,.1f}",
        f"{score.ci95[0]:+,.1f} to {score.ci95[1]:+,.1f}",
        f"{sum(one.coins for one in results) / len(results):.1f}",
        f"{sum(kills) / len(kills):.1f}" if kills else "-",
        deaths,
    )
