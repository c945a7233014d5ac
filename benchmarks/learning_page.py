"""docs/learning.md and its picture, from what `benchmarks/learning.py` measured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from greatwall.commands.output import write_text
from greatwall.metrics.statistics import bootstrap_ci95, bootstrap_over_seeds_ci95, iqm

Figures = dict[str, Any]
VALUES = ("distance_m", "return")
PLAYERS = ("random", "rule207", "rule", "screen-oracle", "oracle")
TICKS_M = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
REACH_M = 2_000  # what the issue asks for within 100,000 steps
COLUMNS = (
    "who",
    "steps",
    "CPU min",
    "distance m: median seed (95 %)",
    "each seed (95 % over seeds)",
    "return: median seed (95 %)",
    "normalised distance, return",
    "final / best",
    "steps to 2,000 m",
)

INTRO = """# Learning

Written from `benchmarks/learning.json`; every figure is that of the first command. The second trains
nothing and writes this page anew from the runs that are kept in `models/learning/`.

```
{command}
{command} --report
```

Training is through truth eyes, with seeds {seeds}. Ten validation courses choose a run's best policy; that
one then rides the test courses {first:,} to {last:,}, to the end, with the standard reward. On the standard
course the built-in players, in italics, rode as many of them as stands beside their names, from the first on:

```
{players_command}
```

{columns}
"""

COLUMNS_ABOUT = """\
| column | what it is |
|---|---|
| steps, CPU min | of one training run; steps of demonstrations count as steps. Minutes of one core, \
validation included; a run uses one. Rows were run on machines that are not equally fast |
| distance m, return: median seed (95 %) | interquartile mean (IQM) over the test courses, of the training \
seed whose IQM is the median; its 95 % bootstrap interval over courses |
| each seed (95 % over seeds) | IQM of distance of each training seed, a dash where one is not trained yet; \
the interval of the IQM of all their courses when seeds are drawn too. Three seeds cannot show their whole \
spread |
| normalised distance, return | random is 0; 1 is the oracle, who searches among copies of the game and sees \
the course beyond the screen |
| final / best | mean distance of the policy at the end against that of the best by validation, on the same \
test courses, median seed |
| steps to 2,000 m | the first validation whose IQM is at least that, median seed |"""

ABOUT = {
    "main": """## The standard course

What a policy sees: `plain` and `paper` the 207 numbers of now; `memory` the 207 numbers, which it remembers
with its own touches (extra `recall`: nothing that the 207 and its own actions do not give); `default` and
`scratch` also its own motion and the hazards of the whole frame (extras `touches`, `motion`, `ahead`).
`rule207` may use what `memory` may, `rule` what `default` may. A row that is warm-started spends 80,000 of
its steps on demonstrations: first the hand-written player plays, then the policy plays and is told what that
player would have done.
""",
    "low_delay": """## The course `low_delay`

Touches take 50 to 80 ms, as through a resident touch agent.
""",
    "ablation": """## What each part is for

`scratch` with one thing changed.
""",
}
SCREEN_ORACLE = """`screen-oracle` searches as the oracle does, over what is on the screen alone: about as
far as anybody comes who does not see beyond it.
"""


def summary(groups: Sequence[Sequence[float] | None]) -> Figures:
    """Of each training seed's courses, None for a seed not trained: the IQM of each; that of the median
    seed with its interval; the interval when seeds are drawn too. Rounded to 3 places, JSON-able."""
    each = [None if group is None else iqm(group) for group in groups]
    known = {at: value for at, value in enumerate(each) if value is not None}
    middle = sorted(known, key=known.__getitem__)[(len(known) - 1) // 2]
    trained = [group for group in groups if group is not None]
    return {
        "iqm": round(known[middle], 3),
        "ci95": [round(end, 3) for end in bootstrap_ci95(groups[middle] or ())],
        "iqm_of_seeds": [None if value is None else round(value, 3) for value in each],
        "ci95_over_seeds": [round(end, 3) for end in bootstrap_over_seeds_ci95(trained)],
    }


def summaries(runs: list[Figures], seeds: Sequence[int]) -> Figures:
    """`summary` of the distances and returns of a row's best policies, seed by seed."""
    tests = {run["seed"]: run["test"] for run in runs}
    return {
        value: summary([tests[seed][value] if seed in tests else None for seed in seeds]) for value in VALUES
    }


def kept_ratio(run: Figures) -> float | None:
    """Mean distance of the final policy against that of the validated best, on the same courses; None
    where the final one was not tested."""
    if "final" not in run:
        return None
    return float(np.mean(run["final"]["distance_m"]) / np.mean(run["test"]["distance_m"]))


def steps_to(run: Figures, distance_m: float) -> int | None:
    """Steps at the first validation whose IQM is at least that; None where there is none."""
    for point in run["curve"]:
        if iqm(point["distance_m"]) >= distance_m:
            return int(point["steps"])
    return None


def normalised(value: float, players: Figures, name: str) -> float | None:
    """0 for random, 1 for the oracle; None where these are not measured."""
    if not {"random", "oracle"} <= players.keys():
        return None
    low, high = (players[one][name]["iqm"] for one in ("random", "oracle"))
    return (value - low) / (high - low)


def write_page(path: Path, result: Figures) -> None:
    """Atomically; `ConfigError` where it cannot be written."""
    first, last = result["test_courses"]
    intro = INTRO.format(
        command=result["command"],
        players_command=result["players_command"],
        seeds=", ".join(map(str, result["seeds"])),
        first=first,
        last=last,
        columns=COLUMNS_ABOUT,
    )
    parts = [intro]
    for group, about in ABOUT.items():
        rows = {name: row for name, row in result["rows"].items() if row["group"] == group}
        if not rows:
            continue
        if group == "main" and "screen-oracle" in result["players"].get("", {}):
            about = about.rstrip() + " " + SCREEN_ORACLE
        parts += [about, table(rows, result["players"]), ""]
        if group == "main":
            parts += ["![validation distance against steps](images/learning.png)", ""]
    if result["not_there_yet"]:
        parts += [f"Not there yet, and left out: {', '.join(result['not_there_yet'])}.", ""]
    write_text(path, "\n".join(parts).rstrip() + "\n")


def table(rows: dict[str, Figures], players: Figures) -> str:
    """The players of the rows' course, then the rows."""
    variant = next(iter(rows.values()))["variant"]
    known = players.get(variant, {})
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    if next(iter(rows.values()))["group"] != "ablation":
        lines += [_player(name, known) for name in PLAYERS if name in known]
    lines += [_row(row, known) for row in rows.values()]
    return "\n".join(lines)


def _player(name: str, known: Figures) -> str:
    found = {value: known[name][value] for value in VALUES}
    courses = known[name]["courses"]
    cells = (f"*{name}* ({courses} courses)", "", "", _span(found["distance_m"]), "")
    return _line(*cells, _span(found["return"], "+"), shares(found, known), "", "")


def _row(row: Figures, known: Figures) -> str:
    runs = row["runs"]
    each = ", ".join("-" if one is None else f"{one:,.0f}" for one in row["distance_m"]["iqm_of_seeds"])
    low, high = row["distance_m"]["ci95_over_seeds"]
    minutes = f"{median(run['cpu_minutes'] for run in runs):.1f}"
    ratios = sorted(ratio for ratio in map(kept_ratio, runs) if ratio is not None)
    reached = [steps_to(run, REACH_M) for run in runs]
    known_steps = sorted(steps for steps in reached if steps is not None)
    middle = (len(runs) - 1) // 2
    reach = f"{known_steps[middle]:,}" if len(known_steps) > middle else "never"
    steps = f"{runs[0]['timesteps']:,}"
    return _line(
        row["about"],
        steps,
        minutes,
        _span(row["distance_m"]),
        f"{each} ({low:,.0f} to {high:,.0f})" if len(runs) > 1 else each,
        _span(row["return"], "+"),
        shares(row, known),
        f"{ratios[middle]:.2f}" if len(ratios) == len(runs) else "",
        reach,
    )


def _span(found: Figures, sign: str = "") -> str:
    low, high = found["ci95"]
    return f"{found['iqm']:{sign},.0f} ({low:{sign},.0f} to {high:{sign},.0f})"


def shares(found: Figures, known: Figures) -> str:
    """Normalised distance and return among these players; a question mark where random or oracle is not
    measured."""
    both = [normalised(found[value]["iqm"], known, value) for value in VALUES]
    return ", ".join("?" if share is None else f"{share:z.2f}" for share in both)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def draw_curves(result: Figures, path: Path) -> None:
    """IQM of the validation distances of all seeds against steps, with its 95 % bootstrap interval."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.5, 4.8), dpi=130)
    for row in result["rows"].values():
        if row["group"] != "main":
            continue
        points: dict[int, list[list[float]]] = {}
        for run in row["runs"]:
            for point in run["curve"]:
                points.setdefault(point["steps"], []).append(point["distance_m"])
        steps = [at for at in sorted(points) if len(points[at]) == len(row["runs"])]
        middle = [iqm([one for group in points[at] for one in group]) for at in steps]
        spans = [bootstrap_over_seeds_ci95(points[at], resamples=500) for at in steps]
        label = row["about"].replace("`", "") + f", {row['timesteps']:,} steps"
        axes.plot([at / 1000 for at in steps], middle, label=label)
        axes.fill_between(
            [at / 1000 for at in steps], [low for low, _ in spans], [high for _, high in spans], alpha=0.15
        )
    for name in PLAYERS:
        known = result["players"].get("", {}).get(name)
        if known is not None:
            height = known["distance_m"]["iqm"]
            axes.axhline(height, color="grey", linestyle=":", linewidth=1)
            axes.annotate(f"{name} (test courses)", (0, height), color="grey", fontsize=8, va="bottom")
    axes.set_xlabel("environment steps, thousands")
    axes.set_ylabel("distance on validation courses, m (IQM, 95 %)")
    axes.set_yscale("log")
    axes.set_yticks(TICKS_M, [f"{tick:,}" for tick in TICKS_M])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.png")
    figure.savefig(temporary)
    temporary.replace(path)
    plt.close(figure)
