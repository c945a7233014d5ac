"""The tables of docs/perception.md, written from kept results: one JSON file a screen, or a benchmark.

What people wrote stays; each table stands between two marks, `<!-- NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from greatwall.data.perception_scoring import TEST_SEEDS
from greatwall.errors import ConfigError, FileFormatError

Result = dict[str, Any]
MARKED = "<!-- {name} -->\n"
END = "<!-- end -->"
CLASSES = ("horse", "obstacle", "enemy", "soul", "coin")
FIELDS = ("lives", "arrows", "coins", "distance")


def write_tables(page: Path, results: Path) -> None:
    """Fill the page's tables; `ConfigError` without results, `FileFormatError` for one that is damaged."""
    kept = sorted(results.glob("*.json"))
    if not kept:
        raise ConfigError(
            f"{results}: expected results (*.json), found none; run: python benchmarks/perception.py"
        )
    screens = [(path, _load(path)) for path in kept]
    for path, screen in screens:
        with _blaming(path):
            for table in SCREEN_TABLES.values():
                table([screen])
            _order(screen)
    ordered = sorted((screen for _, screen in screens), key=_order)
    text = page.read_text(encoding="utf-8")
    for name, table in SCREEN_TABLES.items():
        text = _fill(text, name, table(ordered))
    for name, filled in RESULT_TABLES.items():
        path = results.parent / f"{name}.json"
        if path.is_file():
            result = _load(path)
            with _blaming(path):
                text = _fill(text, name, filled(result))
    page.write_text(text, encoding="utf-8")


def _load(path: Path) -> Result:
    try:
        result: Result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(
            f"{path}: expected the JSON of a result, found something else; make it again"
        ) from error
    return result


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """A figure that is missing or of another kind is the file's fault."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(
            f"{path}: expected the figures of this version, found {type(error).__name__}: {error}; "
            "make it again"
        ) from error


def _fill(text: str, name: str, table: str) -> str:
    pattern = re.compile(re.escape(MARKED.format(name=name)) + ".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(text):
        raise FileFormatError(f"perception page: expected the mark <!-- {name} -->, found none; put it back")
    filled = MARKED.format(name=name) + table + END
    return pattern.sub(lambda _: filled, text, count=1)


def _order(result: Result) -> tuple[bool, bool, str, str]:
    """The standard screen first, then its sizes and compressions, then other looks."""
    screen = result["screen"]
    changed = screen["compress"] != "none" or tuple(screen["size"]) != (1920, 1080)
    return screen["look"] != "standard", changed, screen["look"], str(screen["size"]) + screen["compress"]


def _name(result: Result) -> str:
    screen = result["screen"]
    return f"{screen['look']}, {screen['size'][0]}x{screen['size'][1]}, {screen['compress']}"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _number(value: float | None, places: int = 4) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def _objects(screens: list[Result]) -> str:
    rows = []
    for one in screens:
        found = one["objects"]
        f1 = [_number(found["classes"].get(name, {}).get("f1"), 3) for name in CLASSES]
        numbers = (found["mean_iou"], found["mean_iou_part"], found["map50"], found["map50_95"])
        near = _percent(one["nearest_under_500_px"]["within_5_px"])
        rows.append((_name(one), *f1, *(_number(value, 3) for value in numbers), near))
    head = ("screen", *(f"F1 {name}" for name in CLASSES), "IoU", "IoU part", "mAP50", "mAP50-95", "nearest")
    return _table(head, rows)


def _classes(screens: list[Result]) -> str:
    found = screens[0]["objects"]["classes"]
    keys = ("precision", "recall", "f1", "f1_part", "mean_iou", "mean_iou_part", "ap50", "ap50_95")
    rows = [(name, str(row["truth"]), *(_number(row[key]) for key in keys)) for name, row in found.items()]
    head = ("class", "truth", "precision", "recall", "F1", "F1 part", "IoU", "IoU part", "AP50", "AP50-95")
    return _table(head, rows)


def _ground(screens: list[Result]) -> str:
    rows = []
    for one in screens:
        found = one["ground"]
        rows.append(
            (
                _name(one),
                _number(found["non_ground_agree"], 5),
                _number(found["ground_agree"], 5),
                _pair(found.get("scan_alone", {})),
                _number(found["edge_error_max_px"], 1),
                f"{found['gaps_never_seen']} of {found['gaps']}",
                str(found["gaps_invented"]),
                f"{_number(found['first_seen_px_ahead']['least'], 0)} ({found['wide_gaps_judged']})",
                _percent(found["cliff_flag_agrees"]),
            )
        )
    cells = ("non-ground", "ground", "scan alone: non-ground / ground")
    head = ("screen", *cells, "edge error, max px", "gaps never seen", "gaps invented")
    return _table((*head, "first seen, least px (gaps)", "cliff flag"), rows)


def _pair(cells: Result) -> str:
    return " / ".join(_number(cells.get(key), 5) for key in ("non_ground_agree", "ground_agree"))


def _hud(screens: list[Result]) -> str:
    rows = []
    for one in screens:
        fields = one["hud"]["fields"]
        pairs = [f"{fields[name]['raw_exact']:.2%} / {fields[name]['believed_exact']:.2%}" for name in FIELDS]
        age = max(fields[name]["age_s"]["p95"] or 0.0 for name in FIELDS)
        rows.append((_name(one), str(one["hud"]["reads"]), *pairs, _differing(fields), _number(age, 2)))
    head = ("screen", "reads", *(f"{name}, raw / believed" for name in FIELDS))
    return _table((*head, "beliefs that differ", "age p95, s"), rows)


def _differing(fields: Result) -> str:
    """How many beliefs, fresh or old, were not what the frame read showed; older results did not count."""
    counts = [(row["differs"], row["compared"]) for row in fields.values() if "differs" in row]
    return f"{sum(one for one, _ in counts)} of {sum(all_ for _, all_ in counts)}" if counts else "-"


def _runtimes(result: Result) -> str:
    rows = [
        (
            f"{row['input'][0]}x{row['input'][1]}",
            "a short plan" if row["weights"].startswith("short") else "the committed",
            f"{row['runtime']} {row['numbers']}",
            f"{row['network_ms']['p10']:.1f} / {row['network_ms']['p50']:.1f}",
            f"{row['detect_ms']['p10']:.1f} / {row['detect_ms']['p50']:.1f}",
            _number(row["f1_min"], 3),
            _number(row["mean_iou_part"], 3),
            _number(row["map50_95"], 3),
            _number(row["megabytes"], 2),
        )
        for row in result["rows"]
    ]
    head = (
        "input",
        "weights",
        "runtime",
        "network, ms p10 / p50",
        "whole detection, ms p10 / p50",
        "least F1",
        "IoU part",
        "mAP50-95",
        "MB",
    )
    about = f"{result['frames']} frames of seeds from {result.get('seed', TEST_SEEDS):,}."
    if plan := result.get("widths_plan"):
        about += (
            f" The short plan: {plan['frames']} frames, {plan['epochs']} epochs, from the committed weights."
        )
    return about + "\n\n" + _table(head, rows)


def _cost(result: Result) -> str:
    keys = ("wall_ms", "cpu_ms")
    rows = [
        (row["how"], *(f"{row[key]['p10']:.1f} / {row[key]['p50']:.1f}" for key in keys))
        for row in result["rows"]
    ]
    return _table(("four fields through", "ms p10 / p50", "CPU ms p10 / p50, children included"), rows)


def _soak(result: Result) -> str:
    rows = [
        (
            name,
            _percent(row["raw_exact"]),
            str(row["raw_wrong"]),
            str(row["raw_none"]),
            _percent(row["believed_exact"]),
            str(row["believed_wrong"]),
            _differing({name: row}),
        )
        for name, row in result["fields"].items()
    ]
    head = ("field", "raw exact", "misread", "not read", "believed exact", "misreads let through")
    table = _table((*head, "beliefs that differ"), rows)
    return f"{result['reads']:,} reads, {result['looks']} looks.\n\n" + table


def _trackers(result: Result) -> str:
    rows = []
    for row in result["rows"]:
        paid = [
            " / ".join(str(row["passings"][kind][what]) for what in ("right", "missed", "invented"))
            for kind in ("obstacle", "cliff")
        ]
        rows.append(
            (
                row["tracker"],
                str(row["hz"]),
                _number(row["jitter_px"], 0),
                str(row["id_switches"]),
                f"{row['things_with_several_ids']} of {row['things']}",
                str(row["ids_of_several_things"]),
                *paid,
                _number(row["cpu_ms_a_frame"], 3),
            )
        )
    ids = ("ids that changed", "things with several ids", "ids of several things")
    head = ("tracker", "frames/s", "jitter, px", *ids, "R3 noted / missed / invented", "R4", "CPU ms a frame")
    first = result["rows"][0]
    about = f"{first['frames']:,} frames a row, of seeds from {result['seed']:,}"
    return f"{about}; {first['miss']:.0%} missed.\n\n" + _table(head, rows)


SCREEN_TABLES: dict[str, Callable[[list[Result]], str]] = {
    "objects": _objects,
    "classes": _classes,
    "ground": _ground,
    "hud": _hud,
}
RESULT_TABLES: dict[str, Callable[[Result], str]] = {
    "detector_runtimes": _runtimes,
    "hud_cost": _cost,
    "hud_soak": _soak,
    "trackers": _trackers,
}
