"""The rows of `benchmarks/carry_over.py`: rates, ratios with intervals, and docs/carry-over.md. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from greatwall.commands.output import write_between

PAGE = Path(__file__).resolve().parents[1] / "docs" / "carry-over.md"
BEGIN, END = "<!-- carry_over -->", "<!-- end -->"
RESAMPLES = 4000
Runs = Sequence[dict[str, Any]]
HEADINGS = (
    "policy",
    "condition",
    "runs",
    "hazards",
    "lives lost per 100",
    "times truth (95 %)",
    "frame age",
    "lost to",
)


def rows_of(runs: dict[str, dict[str, Runs]], base: str) -> list[dict[str, Any]]:
    """One row for each policy and condition; ratios are to the condition `base` on the same courses."""
    rows = []
    for policy, by_condition in runs.items():
        for condition, these in by_condition.items():
            row: dict[str, Any] = {
                "policy": policy,
                "condition": condition,
                "runs": len(these),
                "hazards": sum(one["hazards"] for one in these),
                "lives": sum(one["lives"] for one in these),
                "per_100": loss_per_100(these),
                "lost_to": _lost_to(these),
                "frame_age_ms": median(one["frame_age_ms"] for one in these),
                "cut_short": sum(one["ended"] != "" for one in these),
                "by_speed": {
                    f"{speed:g}": loss_per_100([one for one in these if one["speed_m_s"] == speed])
                    for speed in sorted({one["speed_m_s"] for one in these})
                },
            }
            if condition != base:
                row["ratio"] = ratio_of(by_condition[base], these)
            rows.append(row)
    return rows


def loss_per_100(runs: Runs) -> float | None:
    """Lives lost per 100 hazards met, all runs together; None where none was met."""
    hazards = sum(one["hazards"] for one in runs)
    return round(100.0 * sum(one["lives"] for one in runs) / hazards, 3) if hazards else None


def ratio_of(base: Runs, other: Runs, seed: int = 0, resamples: int = RESAMPLES) -> dict[str, Any]:
    """How many times as many lives `other` lost per hazard as `base`, on the courses they share.

    `ci95`: percentile bootstrap over courses, drawn within each start speed. None is a ratio to nothing,
    or an end of the interval that has none because no life was lost in some resamples of `base`.
    """
    pairs: dict[float, list[tuple[int, int, int, int]]] = defaultdict(list)
    bases = {(one["seed"], one["speed_m_s"]): one for one in base}
    for one in other:
        first = bases.get((one["seed"], one["speed_m_s"]))
        if first is not None:
            pairs[one["speed_m_s"]].append((first["lives"], first["hazards"], one["lives"], one["hazards"]))
    groups = [np.array(group, np.float64) for group in pairs.values()]
    count = sum(len(group) for group in groups)
    lost = sum(group[:, [0, 2]].sum() for group in groups)
    if not lost:
        return {"ratio": None, "ci95": [None, None], "pairs": count}
    rng = np.random.default_rng(seed)
    sums = np.zeros((resamples, 4))
    for group in groups:
        sums += group[rng.integers(len(group), size=(resamples, len(group)))].sum(1)
    low, high = np.percentile(_ratios(sums), [2.5, 97.5], method="inverted_cdf")
    ratio = _ratios(np.sum([group.sum(0) for group in groups], 0)[None])[0]
    return {"ratio": _finite(ratio), "ci95": [_finite(low), _finite(high)], "pairs": count}


def _ratios(sums: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """From lives and hazards of base and other, (N, 4). No loss on either side is as good as equal."""
    lives, hazards, other_lives, other_hazards = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (other_lives / other_hazards) / (lives / hazards)
    equal = (lives == 0) & (other_lives == 0)
    return np.asarray(np.where(equal, 1.0, np.nan_to_num(found, nan=np.inf, posinf=np.inf)))


def _finite(value: float) -> float | None:
    return round(float(value), 3) if np.isfinite(value) else None


def _lost_to(runs: Runs) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for one in runs:
        for kind, count in one["lost_to"].items():
            found[kind] += count
    return dict(found)


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """One row as the table and the page show it."""
    ratio = row.get("ratio")
    if ratio is None:
        compared = ""
    else:
        low, high = (("-" if end is None else f"{end:.2f}") for end in ratio["ci95"])
        middle = "-" if ratio["ratio"] is None else f"{ratio['ratio']:.2f}"
        compared = f"{middle} ({low} to {high})"
    loss = "-" if row["per_100"] is None else f"{row['per_100']:.2f}"
    short = f", {row['cut_short']} cut short" if row["cut_short"] else ""
    lost_to = ", ".join(f"{kind} {count}" for kind, count in row["lost_to"].items() if count)
    runs = f"{row['runs']}{short}"
    age = f"{row['frame_age_ms']:.0f} ms"
    hazards = f"{row['hazards']:,}"
    return row["policy"], row["condition"], runs, hazards, loss, compared, age, lost_to or "nothing"


def show(result: dict[str, Any], console: Console) -> None:
    table = Table(title=_title(result))
    for heading in HEADINGS:
        table.add_column(heading)
    for row in result["rows"]:
        table.add_row(*cells(row))
    console.print(table)


def _title(result: dict[str, Any]) -> str:
    first, last = result["courses"]
    speeds = ", ".join(f"{speed:g}" for speed in result["speeds_m_s"])
    return f"runs of {result['seconds']:g} s from {speeds} m/s, courses {first:,} to {last:,}"


def page_table(result: dict[str, Any]) -> str:
    """The results in Markdown."""
    lines = [f"{_title(result)[0].upper()}{_title(result)[1:]}.", ""]
    lines += [f"| {' | '.join(HEADINGS)} |", "|" + " --- |" * len(HEADINGS)]
    lines += [f"| {' | '.join(cells(row))} |" for row in result["rows"]]
    lines += ["", "Lives lost per 100, by start speed:", ""]
    speeds = [f"{speed:g}" for speed in result["speeds_m_s"]]
    lines += [f"| policy | condition | {' | '.join(f'{speed} m/s' for speed in speeds)} |"]
    lines += ["|" + " --- |" * (2 + len(speeds))]
    for row in result["rows"]:
        found = (row["by_speed"].get(speed) for speed in speeds)
        by_speed = " | ".join("-" if one is None else f"{one:.2f}" for one in found)
        lines.append(f"| {row['policy']} | {row['condition']} | {by_speed} |")
    return "\n".join(lines) + "\n"


def write_page(page: Path, result: dict[str, Any]) -> None:
    """Put the results between the page's marks; `FileFormatError` where it has none."""
    write_between(page, BEGIN, END, page_table(result).rstrip("\n"))
