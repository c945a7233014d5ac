"""`python -m greatwall score`: how right vision is against the game's truth, in any look and size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from config import Config, ScreenConfig, replace_in
from greatwall.assembly import check_seed, parse_size
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_json
from greatwall.commands.perception_page import write_tables
from greatwall.data.frames import with_screen
from greatwall.data.perception_scoring import TEST_SEEDS, score_perception
from greatwall.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "perception"
PAGE = ROOT / "docs" / "perception.md"


@dataclass(frozen=True)
class Score:
    """Score vision (detector, terrain, HUD) against the game's truth on frames of unseen seeds."""

    frames: int = 1000
    """Perceived frames to score: ten a second, in runs of five seconds."""
    seed: int = TEST_SEEDS
    """First course seed; each run takes the next."""
    look: str = "standard"
    """How the game is drawn: standard, another look's name, train:N, valid:N or unseen:N."""
    size: str = "1920x1080"
    """Frame size, WIDTHxHEIGHT px."""
    compress: Literal["none", "jpeg", "h264"] = "none"
    """What the frames go through on their way."""
    weights: str = ""
    """Detector file; empty is the committed one."""
    json: Path | None = None
    """Write the scores here, too."""
    docs: bool = False
    """Score nothing: write the tables of docs/perception.md from the results in benchmarks/perception."""

    def run(self) -> int:
        if self.docs:
            write_tables(PAGE, RESULTS)
            Console().print(f"wrote the tables of {PAGE.name} from {RESULTS.parent.name}/{RESULTS.name}")
            return 0
        if self.frames < 1:
            raise ConfigError(f"frames: expected 1 or more, found {self.frames}; raise it")
        check_seed(self.seed, self.frames)
        check_output(self.json, "--json")
        scores = score_screen(
            self.look, parse_size(self.size), self.compress, self.frames, self.seed, self.weights
        )
        show(scores)
        if self.json is not None:
            write_json(self.json, scores)
        return 0


COMMAND = Score


def score_screen(
    look: str,
    size: tuple[int, int],
    compress: Literal["none", "jpeg", "h264"],
    frames: int,
    seed: int = TEST_SEEDS,
    weights: str = "",
) -> dict[str, Any]:
    """Scores of vision on one screen, with the machine they were made on; JSON-able."""
    try:
        config = with_screen(Config(), ScreenConfig(look, size, compress))
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(str(error)) from error
    config = replace_in(config, "eyes", weights=weights)
    return score_perception(config, frames, seed) | {"machine": machine()}


def show(scores: dict[str, Any]) -> None:
    """The scores as tables: objects by class, HUD by field, and the rest."""
    console = Console()
    objects, ground, hud = scores["objects"], scores["ground"], scores["hud"]
    screen = scores["screen"]
    width, height = screen["size"]
    table = Table(
        title=f"{objects['frames']} frames, {screen['look']} {width}x{height} {screen['compress']}: "
        f"mAP50 {objects['map50']:.3f}, mAP50-95 {objects['map50_95']:.3f}, "
        f"mean IoU {objects['mean_iou']}, in the part that decides {objects['mean_iou_part']}"
    )
    for column in (
        "class",
        "truth",
        "precision",
        "recall",
        "F1 at 5 px",
        "IoU",
        "IoU part",
        "AP50",
        "AP50-95",
    ):
        table.add_column(column, justify="left" if column == "class" else "right")
    for name, row in objects["classes"].items():
        columns = ("truth", "precision", "recall", "f1", "mean_iou", "mean_iou_part", "ap50", "ap50_95")
        table.add_row(name, *(str(row[key]) for key in columns))
    console.print(table)
    table = Table(title=f"HUD, {hud['reads']} reads")
    for column in ("field", "raw exact", "wrong", "none", "believed exact", "age p50 s", "age p95 s"):
        table.add_column(column, justify="left" if column == "field" else "right")
    for name, row in hud["fields"].items():
        keys = ("raw_exact", "raw_wrong", "raw_none", "believed_exact")
        ages = (row["age_s"]["p50"], row["age_s"]["p95"])
        table.add_row(name, *(str(row[key]) for key in keys), *map(str, ages))
    console.print(table)
    table = Table(title="terrain and distances")
    table.add_column("what")
    table.add_column("value", justify="right")
    for name, value in (
        ("non-ground cells agree", ground["non_ground_agree"]),
        ("ground cells agree", ground["ground_agree"]),
        ("non-ground cells agree, scan alone", ground["scan_alone"]["non_ground_agree"]),
        ("ground cells agree, scan alone", ground["scan_alone"]["ground_agree"]),
        ("gap edges within 4 px", ground["edges_within_4_px"]),
        ("gaps: never seen / all", f"{ground['gaps_never_seen']} / {ground['gaps']}"),
        ("gaps invented (frames)", ground["gaps_invented"]),
        ("first seen px ahead, least", ground["first_seen_px_ahead"]["least"]),
        ("wide gaps seen 400 px ahead", ground["wide_gaps_seen_400_px_ahead"]),
        ("cliff flag agrees", ground["cliff_flag_agrees"]),
        ("nearest distances within 5 px", scores["nearest_under_500_px"]["within_5_px"]),
        ("seeing, ms a frame (p50)", scores["see_ms"]["p50"]),
        ("reading the HUD, ms (p50)", scores["hud_ms"]["p50"]),
    ):
        table.add_row(name, str(value))
    console.print(table)
