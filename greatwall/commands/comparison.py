"""Players side by side: deaths by cause, and two of them paired on courses. Main thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from greatwall.commands.human_scores import HumanRun
from greatwall.learning.evaluation import EpisodeResult
from greatwall.metrics.statistics import Summary, summarise

Results = Sequence[EpisodeResult]


def deaths_table(players: Mapping[str, Results]) -> Table:
    """How each player's runs ended: episodes and share by cause, the commonest cause first."""
    counts = {name: Counter(one.death for one in results) for name, results in players.items()}
    total: Counter[str] = Counter()
    for count in counts.values():
        total.update(count)
    table = Table(title="how runs ended")
    table.add_column("player")
    causes = [cause for cause, _ in sorted(total.items(), key=lambda item: (-item[1], item[0]))]
    for cause in causes:
        table.add_column(cause, justify="right")
    for name, count in counts.items():
        runs = count.total()
        shares = (f"{count[cause]} ({100 * count[cause] / runs:.0f} %)" for cause in causes)
        table.add_row(Text(name), *shares)
    return table


def paired(first: Results, second: Results) -> dict[str, Summary]:
    """First minus second, course by course: mean, IQM and the bootstrap interval of the IQM of the
    differences in distance and in return. ValueError unless both played the same courses."""
    if [one.seed for one in first] != [one.seed for one in second]:
        raise ValueError("paired: expected equal courses in equal order, found others; play the same seeds")
    pairs = list(zip(first, second, strict=True))
    return {
        "distance_m": summarise([a.distance_m - b.distance_m for a, b in pairs]),
        "return": summarise([a.episode_return - b.episode_return for a, b in pairs]),
    }


def ahead(first: Results, second: Results) -> float:
    """Share of courses on which the first came farther; a tie counts half."""
    pairs = [(a.distance_m, b.distance_m) for a, b in zip(first, second, strict=True)]
    return sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs)


def comparison_table(names: tuple[str, str], first: Results, second: Results) -> Table:
    """The differences and what may be said of them."""
    a, b = names
    share = 100 * ahead(first, second)
    title = f"{a} minus {b} on the same {len(first)} courses; farther on {share:.0f} % of them"
    table = Table(title=Text(title))
    table.add_column("")
    for column in ("mean", "IQM", "95 % of IQM"):
        table.add_column(column, justify="right")
    table.add_column("so")
    for label, found in paired(first, second).items():
        low, high = found.ci95
        verdict = f"{a} is better" if low > 0 else f"{b} is better" if high < 0 else "no difference shown"
        table.add_row(
            label.replace("_", " "),
            f"{found.mean:+,.1f}",
            f"{found.iqm:+,.1f}",
            f"{low:+,.1f} to {high:+,.1f}",
            Text(verdict),
        )
    return table


def comparison_json(names: tuple[str, str], first: Results, second: Results) -> dict[str, Any]:
    """The differences as `--json` has them."""
    differences = {name: found.as_json() for name, found in paired(first, second).items()}
    return {"first": names[0], "second": names[1], "ahead": round(ahead(first, second), 3), **differences}


def add_human_row(table: Table, runs: Sequence[HumanRun]) -> None:
    """A person's runs as a row of `learning.exam.results_table`; what `play` does not know is a dash."""
    distance = summarise([float(one.distance_m) for one in runs])
    deaths = Counter(one.death or "unknown" for one in runs)
    table.add_row(
        "human",
        "own",
        str(len(runs)),
        f"{distance.mean:,.0f}",
        f"{distance.iqm:,.0f}",
        f"{distance.ci95[0]:,.0f}-{distance.ci95[1]:,.0f}",
        "-",
        "-",
        "-",
        f"{sum(one.coins for one in runs) / len(runs):.1f}",
        f"{sum(one.kills for one in runs) / len(runs):.1f}",
        Text(" ".join(f"{cause} {count}" for cause, count in sorted(deaths.items()))),
    )
