"""`python -m greatwall bench phone`: what it measures on a stand-in phone, where it taps, what it writes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from config import GREAT_WALL, PhoneConfig, RestartTap
from greatwall.__main__ import main
from greatwall.commands.bench_phone import (
    BEGIN,
    COLUMNS,
    END,
    PhoneBench,
    phone_tables,
    rows_of,
    write_phone_page,
)
from greatwall.errors import DeviceError, FileFormatError, GameLeft
from tests.rigs.adb import AdbServer, adb_server, phone, phone_process
from tests.rigs.phone import StandInPhone
from tests.rigs.phone.settings import GAME_PACKAGE

__all__ = ["adb_server", "phone", "phone_process"]

QUICK = dataclasses.replace(GREAT_WALL, restart=(RestartTap(300, 300, 0.1), RestartTap(960, 1000, 0.1)))
RESULT: dict[str, Any] = {
    "phone": "Stand-in, Android 14",
    "machine": {"cores": 2, "processor": "x86_64", "python": "3.11"},
    "load_1min_before": 0.5,
    "captures": [
        {
            "name": "scrcpy", "p50_ms": 5.0, "p95_ms": None, "frames": 30, "frames_per_s": 30.0,
            "cpu_ms": 3.0, "size": [1280, 720],
        },
        {"name": "raw", "error": "no | pixels"},
    ],
    "touches": [
        {"name": "scrcpy", "p50_ms": 0.3, "p95_ms": 0.5, "calls": 50, "cpu_ms": 0.2},
        {"name": "adb", "error": "refused"},
    ],
}  # fmt: skip


def bench_of(server: AdbServer, phone: StandInPhone, package: str = GAME_PACKAGE) -> PhoneBench:
    return PhoneBench(PhoneConfig(serial=phone.serial, adb_port=server.port, package=package), QUICK)


def test_a_capture_and_a_touch_are_measured_and_taps_lie_where_the_profile_has_them(
    adb_server: AdbServer, phone: StandInPhone
) -> None:
    bench = bench_of(adb_server, phone)
    look = bench.measure_capture("scrcpy", 1.5)
    assert look["frames"] > 0
    assert look["size"] == [1280, 720]
    assert 0 < look["p50_ms"] <= look["p95_ms"]
    assert look["cpu_ms"] > 0
    tap = bench.measure_touch("shell", 3)
    assert tap["calls"] == 3
    assert 0 < tap["p50_ms"] <= tap["p95_ms"]
    touched = {(one["x"], one["y"]) for one in phone.facts("touches")["touches"]}
    assert touched == {(200.0, 200.0), (640.0, 667.0)}
    assert phone.facts("fingers_down")["fingers_down"] == []
    assert "Stand-in" in bench.about()


def test_nothing_is_tapped_while_another_app_is_in_front(adb_server: AdbServer, phone: StandInPhone) -> None:
    bench = bench_of(adb_server, phone)
    phone.foreground("com.example.shop")
    with pytest.raises(GameLeft, match=r"found com\.example\.shop"):
        bench.measure_touch("shell", 1)
    with pytest.raises(GameLeft):
        bench.measure_capture("raw", 0.1)
    phone.foreground()
    assert phone.facts("touches")["touches"] == []


def test_a_way_that_does_not_work_is_a_row_with_its_reason(
    adb_server: AdbServer, phone: StandInPhone
) -> None:
    def broken() -> dict[str, Any]:
        raise DeviceError("no pixels; look at the phone")

    assert bench_of(adb_server, phone)._tried("raw", broken) == {
        "name": "raw",
        "error": "no pixels; look at the phone",
    }


def test_no_phone_is_one_line(
    adb_server: AdbServer, phone: StandInPhone, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "phone", "--adb-port", str(adb_server.port), "--serial", "nobody"]) == 2
    said = capsys.readouterr().err
    assert "nobody" in said
    assert said.count("\n") == 1


def test_tables_stand_between_the_marks_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_phone_page(page, RESULT, "python -m greatwall bench phone --docs")
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert "`python -m greatwall bench phone --docs` on Stand-in, Android 14: 2 cores" in text
    assert "| scrcpy | 5.0 / - | 30.0 | 3.0 | 1280x720 |" in text
    assert "| raw | - | - | - | no / pixels |" in text
    page.write_text("no marks")
    with pytest.raises(FileFormatError, match="put them back"):
        write_phone_page(page, RESULT, "x")


def test_the_terminal_shows_every_way() -> None:
    rows = rows_of(json.loads(json.dumps(RESULT)))
    assert [row[0] for row in rows] == ["look: scrcpy", "look: raw", "touch: scrcpy", "touch: adb"]
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert phone_tables(RESULT).count("\n") == 9


def test_the_page_has_the_marks(repo_root: Path) -> None:
    text = (repo_root / "docs" / "performance.md").read_text(encoding="utf-8")
    assert BEGIN in text
    assert END in text
