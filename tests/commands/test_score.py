"""`python -m greatwall score` as a person calls it, and the tables it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from greatwall.commands import run_command
from greatwall.commands.perception_page import write_tables
from greatwall.commands.score import COMMAND, PAGE, RESULTS
from greatwall.errors import ConfigError, FileFormatError

PROG = "python -m greatwall score"
NAMES = ("objects", "classes", "ground", "hud")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("perception")
    path = folder / "standard.json"
    assert run_command(COMMAND, ["--frames", "60", "--json", str(path)], PROG) == 0
    return folder


def test_scores_hold_everything_that_is_asked(kept: Path) -> None:
    scores = json.loads((kept / "standard.json").read_text(encoding="utf-8"))
    assert scores["screen"] == {"look": "standard", "size": [1920, 1080], "compress": "none"}
    assert scores["seed"] == 2_000_000
    objects, ground, hud = scores["objects"], scores["ground"], scores["hud"]
    assert objects["frames"] == 60
    assert objects["center_px"] == 5
    assert objects["classes"]["horse"]["f1"] >= 0.97
    assert objects["mean_iou_part"] >= 0.9
    assert objects["map50"] >= objects["map50_95"] > 0.8
    assert ground["ground_agree"] >= 0.9995
    assert ground["gaps_invented"] == 0
    assert hud["reads"] == 21  # 50 frames of one run, 10 of the next: 17 and 4
    assert hud["raw_exact_min"] == hud["believed_exact_min"] == 1.0
    assert hud["fields"]["distance"]["age_s"]["p95"] == pytest.approx(0.3)


def test_tables_are_written_between_their_marks_and_the_rest_stays(kept: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = "\n".join(f"about {name}\n<!-- {name} -->\nold\n<!-- end -->" for name in NAMES)
    page.write_text(f"# Title\n{marks}\nlast words\n", encoding="utf-8")
    write_tables(page, kept)
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.startswith("# Title\nabout objects\n<!-- objects -->\n| screen |")
    assert text.endswith("<!-- end -->\nlast words\n")
    assert text.count("| standard, 1920x1080, none |") == 3
    write_tables(page, kept)
    assert page.read_text(encoding="utf-8") == text


def test_a_page_without_marks_and_results_that_are_no_json_are_one_line(kept: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing", encoding="utf-8")
    with pytest.raises(FileFormatError, match="<!-- objects -->"):
        write_tables(page, kept)
    with pytest.raises(ConfigError, match="found none"):
        write_tables(page, tmp_path)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"broken\.json"):
        write_tables(page, tmp_path)


def tables_of(text: str) -> dict[str, str]:
    """What stands between each mark and its end."""
    return dict(re.findall(r"<!-- (\w+) -->\n(.*?)<!-- end -->", text, re.DOTALL))


def test_the_published_page_is_filled_from_the_published_results_and_no_table_is_empty(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.md"
    published = PAGE.read_text(encoding="utf-8")
    marks = tables_of(published)
    page.write_text(
        re.sub(r"(<!-- \w+ -->\n).*?(<!-- end -->)", r"\1\2", published, flags=re.DOTALL), "utf-8"
    )
    write_tables(page, RESULTS)
    filled = tables_of(page.read_text(encoding="utf-8"))
    assert filled.keys() == marks.keys() >= {
        *NAMES, "detector_runtimes", "hud_cost", "hud_soak", "trackers",
    }  # fmt: skip
    for name in marks:
        assert filled[name].count("\n| ") + filled[name].startswith("| ") >= 2, name  # a head and a row
        assert marks[name].strip(), name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hud_cost", '{"rows": [{"how": "x", "wall_ms": {"p95": 1.0}, "cpu_ms": {}}]}'),  # an older one's
        ("hud_cost", '{"rows": 3}'),
        ("hud_soak", "[]"),
        ("trackers", '{"rows": [], "seed": 1}'),
        ("detector_runtimes", '{"rows": [{"input": [640]}]}'),
        ("perception/standard", "{}"),
        ("perception/standard", "[1]"),
    ],
)
def test_a_result_with_other_figures_is_named_in_one_line(
    name: str, text: str, kept: Path, tmp_path: Path
) -> None:
    results = tmp_path / "perception"
    results.mkdir()
    (results / "a.json").write_bytes((kept / "standard.json").read_bytes())
    (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_bytes(PAGE.read_bytes())
    with pytest.raises(
        FileFormatError, match=rf"{name}\.json: expected the figures of this version"
    ) as error:
        write_tables(page, results)
    assert "\n" not in str(error.value)
    assert page.read_bytes() == PAGE.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--frames", "0"], "frames: expected 1 or more, found 0"),
        (["--seed", "-4"], "--seed: expected 0 to"),
        (["--size", "big"], "--size: expected WIDTHxHEIGHT such as 1280x720, found 'big'"),
        (["--json", "no/such/folder/x.json"], "--json: expected a folder that exists"),
        (["--size", "3x3"], "screen.size: expected 320x180"),
        (["--look", "pretty"], "look: expected one of standard"),
        (["--weights", "none.onnx"], "found none; train them with"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(COMMAND, arguments, PROG) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert "\n" not in error
