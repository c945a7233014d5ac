"""`python -m greatwall bench faults`: how far players come as perception gets worse, one fault at a time.

Truth eyes on the game clock, so that what is measured is the faults' doing alone. All players play the
same courses with the same faults. Main thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from config import FaultConfig
from greatwall.assembly import build_env, make_config
from greatwall.contracts import Player
from greatwall.errors import ConfigError
from greatwall.learning.evaluation import EpisodeResult, play_episodes, report
from greatwall.players import make_player

FIRST_SEED = 2_000_000  # test courses
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
RATES: dict[str, tuple[float, ...]] = {
    "miss": SHARES,
    "mislabel": SHARES,
    "jitter": (1.0, 2.0, 5.0, 10.0, 20.0),
    "stale": SHARES,
    "hud": SHARES,
    "drop": SHARES,
    "all": (0.25, 0.5, 1.0, 2.0, 4.0),
}
MIX = FaultConfig(miss=0.1, mislabel=0.05, jitter=2.0, stale=0.02, hud=0.02, drop=0.01)  # "all" at 1
LABELS = {
    "miss": "miss: share of objects not found",
    "mislabel": "mislabel: share taken for another class",
    "jitter": "jitter: px of each edge",
    "stale": "stale: share of looks that show the last",
    "hud": "hud: share of fields misread",
    "drop": "drop: share of frames that never arrive",
    "all": "all together, times the usual mix",
}
COLORS = ("#1f5f99", "#c8501e", "#3c8a3c")


def faults_at(kind: str, rate: float) -> FaultConfig:
    """One kind of fault at that rate; "all" is `MIX` times it."""
    if kind == "all":
        scaled = {name: value * rate for name, value in dataclasses.asdict(MIX).items() if name != "seed"}
        return FaultConfig(**scaled)
    return dataclasses.replace(FaultConfig(), **{kind: rate})  # type: ignore[arg-type]


def measure_curves(
    policies: dict[str, str], episodes: int, seed: int, kinds: tuple[str, ...], say: Callable[[str], None]
) -> dict[str, Any]:
    """For each named policy: the score without faults, and for each kind one entry a rate.

    An entry is `{"rate", "distance_m", "return", "deaths"}` over the same `episodes` courses; the return
    is what the agent was paid, by what it perceived.
    """
    unknown = [kind for kind in kinds if kind not in RATES]
    if unknown:
        raise ConfigError(
            f"fault: expected some of {', '.join(RATES)}; found {unknown[0]!r}; change the name"
        )
    config = make_config(eyes="truth")
    players = {name: make_player(policy, config) for name, policy in policies.items()}
    found: dict[str, Any] = {}
    for name, player in players.items():
        curves: dict[str, Any] = {"none": _score(player, FaultConfig(), episodes, seed)}
        say(f"{name}: no faults {curves['none']['distance_m']['iqm']:,.0f} m")
        for kind in kinds:
            curves[kind] = [
                {"rate": rate, **_score(player, faults_at(kind, rate), episodes, seed)}
                for rate in RATES[kind]
            ]
            reached = ", ".join(f"{one['rate']:g} {one['distance_m']['iqm']:,.0f}" for one in curves[kind])
            say(f"{name}: {kind} {reached} m")
        found[name] = curves
    return found


def _score(player: Player, faults: FaultConfig, episodes: int, seed: int) -> dict[str, Any]:
    """How far they came is the game's own account: what was perceived may be misread."""
    env = build_env(make_config(eyes="truth", faults=faults))
    first = FIRST_SEED + seed
    results: list[EpisodeResult] = []

    def keep(result: EpisodeResult) -> None:
        facts = env.worker.facts()
        assert facts is not None
        results.append(dataclasses.replace(result, distance_m=float(facts["distance_m"])))

    try:
        play_episodes(env, player, range(first, first + episodes), keep)
    finally:
        env.close()
    whole = report(player.name, "truth", first, results)
    return {name: whole[name] for name in ("distance_m", "return", "deaths")}


def draw_curves(curves: dict[str, Any], path: Path, title: str) -> None:
    """One panel a fault: IQM of the distance against the rate, with its 95 % interval. A PNG.

    No `pyplot`: it would look for a display.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kinds = [kind for kind in RATES if all(kind in one for one in curves.values())]
    rows = -(-(len(kinds) + 1) // 4)
    figure = Figure(figsize=(15, 3.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, 4, squeeze=False).flat
    lines: list[Any] = []
    for kind, axis in zip(kinds, axes, strict=False):
        lines = []
        for (name, curve), color in zip(curves.items(), COLORS, strict=False):
            points = [{"rate": 0.0, **curve["none"]}, *curve[kind]]
            rates = [one["rate"] for one in points]
            low, high = zip(*(one["distance_m"]["ci95"] for one in points), strict=True)
            axis.fill_between(
                rates, [one / 1000 for one in low], [one / 1000 for one in high], alpha=0.2, color=color
            )
            lines += axis.plot(
                rates,
                [one["distance_m"]["iqm"] / 1000 for one in points],
                "o-",
                color=color,
                label=name,
                ms=4,
            )
        axis.set_xlabel(LABELS[kind])
        axis.set_ylabel("distance, km")
        axis.set_xlim(left=0)
        axis.set_yscale("log")  # a rule may ride ten times as far as a policy
        axis.set_ylim(0.1, 50.0)
        axis.set_yticks([0.1, 0.3, 1, 3, 10, 30], ["0.1", "0.3", "1", "3", "10", "30"])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    for axis in list(figure.axes)[len(kinds) :]:
        axis.set_axis_off()
    figure.axes[-1].legend(handles=lines, loc="center", title=title, fontsize=11)
    try:
        figure.savefig(path, dpi=80, format="png")
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: expected a writable place, found {error.strerror}; name another file"
        ) from error
