"""`python -m greatwall doctor`: what it says of this machine and of a stand-in phone, and measures."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from config import GREAT_WALL, Config, DelayConfig, EyesConfig
from greatwall.__main__ import main
from greatwall.assembly import build_env, make_config
from greatwall.commands import doctor_desk
from greatwall.commands.checkup import Check, State, attempt, failed, summary, table_of
from greatwall.commands.doctor import play_check
from greatwall.commands.doctor_desk import (
    disk_check,
    display_check,
    folder_check,
    packages_check,
    processor_check,
    python_check,
    tesseract_check,
)
from greatwall.commands.doctor_phone import ground_check, hud_check
from greatwall.commands.doctor_play import PlayFigures, device_profile, measure_play
from greatwall.contracts import TICK_S
from greatwall.device.device_profile import DeviceProfile, read_device_profile
from greatwall.errors import ConfigError, DeviceError
from tests.rigs.adb import AdbServer, adb_server, phone, phone_process
from tests.rigs.phone import StandInPhone
from tests.rigs.phone.settings import GAME_PACKAGE

__all__ = ["adb_server", "phone", "phone_process"]


# --- this machine ---------------------------------------------------------------------------------------


def test_the_machine_that_runs_the_tests_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    models, logs = tmp_path / "models", tmp_path / "logs"
    assert main(["doctor", "--json", str(report), "--models", str(models), "--logs", str(logs)]) == 0
    checks = {one["name"]: one for one in json.loads(report.read_text())["checks"]}
    assert {"Python", "packages", "Tesseract", "detector", "display", "models/", "logs/", "disk"} <= set(
        checks
    )
    assert checks["detector"]["figures"]["ms_p50"] > 0
    assert not models.exists(), "looking makes no folder"
    assert "Tesseract" in capsys.readouterr().out


def test_a_failed_check_is_exit_status_1_and_names_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--weights", str(tmp_path / "none.onnx")]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "1 fail" in said
    assert "greatwall detector train" in said


@pytest.mark.parametrize(
    ("lines", "state", "words"),
    [
        ("numpy>=1\n# words\n-r other.txt\n", State.OK, "1 as requirements.txt"),
        ("numpy>=1,<2\n", State.WARN, "instead of"),
        ("no-such-package-here>=1\n", State.FAIL, "not installed: no-such-package-here"),
        ("no-such-package-here>=1 ; sys_platform == 'never'\n", State.OK, "0 as"),
        ("???\n", State.WARN, "cannot be read"),
    ],
)
def test_packages_are_held_against_requirements(tmp_path: Path, lines: str, state: State, words: str) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(lines)
    check = packages_check(path)
    assert check.state is state
    assert words in check.found
    assert bool(check.remedy) == (state is not State.OK)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert packages_check(tmp_path / "none.txt").state is State.WARN
    assert folder_check(Path("/proc/models")).state is State.FAIL
    assert folder_check(tmp_path).state is State.OK
    monkeypatch.setattr(doctor_desk, "PYTHON", (99, 0))
    assert python_check().state is State.FAIL
    monkeypatch.setattr(doctor_desk, "FREE_BYTES_FAIL", 1 << 62)
    assert disk_check(tmp_path).state is State.FAIL
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(doctor_desk, "missing_display", lambda: "DISPLAY is not set")
    assert "xvfb" in display_check().remedy
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 99.0, 99.0))
    assert processor_check().state is State.WARN


def test_tesseract_that_misreads_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, scene = doctor_desk._game_frame()
    assert tesseract_check(EyesConfig()).state is not State.FAIL
    monkeypatch.setattr(doctor_desk, "_game_frame", lambda: (np.zeros_like(frame), scene))
    assert tesseract_check(EyesConfig()).state is State.FAIL


def test_errors_of_ours_are_failures_with_their_remedy() -> None:
    def broken() -> Check:
        raise DeviceError("expected a phone, found none; plug one in")

    check = attempt("phone", broken)
    assert (check.state, check.found, check.remedy) == (
        State.FAIL,
        "expected a phone, found none",
        "plug one in",
    )
    assert failed([check])
    assert summary([check, Check("a", State.OK, "")]) == "1 ok, 1 fail"
    assert table_of([check], "t").row_count == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--save-profile", "p.json"), "found --device none"),
        (("--save-profile", "p.json", "--device", "simulator", "--no-play"), "found --no-play"),
        (("--seconds", "1"), "--seconds: expected 5 to 600"),
        (("--jumps", "1"), "--jumps: expected 8 to 500"),
        (("--json", "/no/such/folder/a.json"), "--json: expected a folder that exists"),
        (("--package", "a; reboot"), "phone.package"),
        (("--profile", "none.json"), "--profile: expected a JSON file"),
    ],
)
def test_a_bad_option_is_one_line(
    options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", *options]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


# --- measuring ------------------------------------------------------------------------------------------


def test_the_measurement_finds_the_delay_that_the_simulator_was_given() -> None:
    """Touches there take effect 3 or 4 whole ticks after the tick they fall into, in a frame that shows a
    tick of motion: so 1 to 3 ticks pass from the finger to the first motion."""
    like = DeviceProfile("known", DelayConfig(touch_to_effect_s=(0.1, 0.134)))
    config = make_config(eyes="truth", clock="wall", like_device=like, variants=("no_enemies",))
    env = build_env(config)
    try:
        figures = measure_play(env, env.worker, 40.0, wanted=6)  # type: ignore[arg-type]
    finally:
        env.close()
    assert len(figures.touch_to_effect_s) == 6
    assert all(TICK_S - 0.01 <= one <= 3 * TICK_S + 0.02 for one in figures.touch_to_effect_s)
    assert figures.touches_lost == 0
    assert len(figures.decision_to_touch_s) >= 6
    assert figures.perceived_age_s
    assert play_check("touch", figures).state is State.OK


def test_on_the_games_clock_nothing_is_measured() -> None:
    env = build_env(make_config(eyes="truth"))
    try:
        with pytest.raises(ConfigError, match="nothing takes time"):
            measure_play(env, env.worker, 5.0)  # type: ignore[arg-type]
    finally:
        env.close()


def figures_of(count: int) -> PlayFigures:
    return PlayFigures(
        touch_to_effect_s=[0.1 + 0.05 * i / max(1, count - 1) for i in range(count)],
        decision_to_touch_s=[0.001] * count,
        perceived_age_s=[0.05] * 10,
        timing={"hud_ms": {"p50": 20.0, "p95": 40.0}, "grab_fps": 30.0},
    )


def test_what_was_measured_becomes_the_simulators_delays() -> None:
    made = device_profile(
        figures_of(21), "Pixel", frames_per_s=60.0, capture="scrcpy", touch="scrcpy", measured_at=""
    )
    assert made.delays.touch_to_effect_s == pytest.approx((0.1 + TICK_S, 0.15 + TICK_S), abs=1e-3)
    assert made.delays.capture_to_perceived_s == (0.05, 0.05)
    assert made.delays.hud_read_s == (0.02, 0.04)
    assert len(made.samples["touch_to_effect_s"]) == 21


def test_too_few_jumps_make_no_profile() -> None:
    with pytest.raises(ConfigError, match="expected 8 jumps that were seen, found 3"):
        device_profile(figures_of(3), "Pixel", frames_per_s=0.0, capture="", touch="", measured_at="")


def test_lost_touches_and_an_early_end_are_warned_of() -> None:
    lost = figures_of(5)
    lost.touches_lost = 5
    assert "5 touches had no effect" in play_check("touch", lost).found
    ended = figures_of(5)
    ended.ended = "phone_lost: gone"
    assert "phone_lost: gone" in play_check("touch", ended).found
    assert play_check("touch", PlayFigures(ended="left")).state is State.FAIL


# --- what the eyes make of a picture --------------------------------------------------------------------


def test_hud_and_ground_are_judged_on_a_picture() -> None:
    frame, _ = doctor_desk._game_frame()
    config = Config()
    assert hud_check(frame, config).state is State.OK
    assert ground_check(frame, GREAT_WALL).state is State.OK
    blank = np.full_like(frame, 77)
    assert hud_check(blank, config).state is State.FAIL
    ground = ground_check(blank, GREAT_WALL)
    assert ground.state is State.WARN
    assert "(77, 77, 77)" in ground.found, "the measured colour is named"
    assert "calibrate" in ground.remedy
    half = frame.copy()
    half[:130, :600] = 0
    assert "lives, arrows cannot be read" in hud_check(half, config).found


# --- the phone ------------------------------------------------------------------------------------------


def examine(
    server: AdbServer, serial: str, report: Path, *options: str
) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit status and checks by name; only the quickest capture and touch unless told otherwise."""
    usual = () if "--capture" in options else ("--capture", "raw", "--touch", "shell")
    where = ("--device", "phone", "--adb-port", str(server.port), "--serial", serial, "--json", str(report))
    status = main(["doctor", *where, *usual, *options])
    return status, {one["name"]: one for one in json.loads(report.read_text())["checks"]}


def test_a_phone_with_a_live_run_is_described(
    adb_server: AdbServer, phone: StandInPhone, tmp_path: Path
) -> None:
    phone.reset(seed=3, playing=True)
    status, checks = examine(adb_server, phone.serial, tmp_path / "r.json", "--no-play")
    assert status == 0
    assert "Android 14" in checks["phone"]["found"]
    assert checks["screen"]["figures"]["size"] == [1280, 720]
    assert checks["game in front"]["figures"]["front"] == GAME_PACKAGE
    assert checks["capture"]["figures"]["captures"][0]["works"]
    assert checks["touch"]["figures"]["touch"] == "shell"
    assert checks["ground"]["state"] == "ok"
    assert checks["HUD"]["state"] == "ok"
    assert checks["stay awake"]["state"] == "warn"
    assert checks["touch to screen"]["state"] == "skipped"
    assert phone.facts("touches")["touches"] == [], "looking touches nothing"


def test_while_another_app_is_in_front_nothing_is_touched(
    adb_server: AdbServer, phone: StandInPhone, tmp_path: Path
) -> None:
    phone.foreground("com.example.shop")
    options = ("--package", GAME_PACKAGE)
    status, checks = examine(adb_server, phone.serial, tmp_path / "r.json", *options)
    phone.foreground()
    assert status == 1
    assert checks["game in front"]["found"] == f"expected {GAME_PACKAGE}, found com.example.shop"
    assert checks["touch to screen"]["state"] == "skipped"
    assert phone.facts("touches")["touches"] == []


def test_heat_charge_and_an_upright_screen_are_named(
    adb_server: AdbServer, phone: StandInPhone, tmp_path: Path
) -> None:
    phone.battery(level=9, celsius=44.0, usb=False)
    phone.turn(upright=True)
    _, checks = examine(adb_server, phone.serial, tmp_path / "r.json", "--no-play")
    phone.turn(upright=False)
    phone.battery(level=85, celsius=31.0, usb=True)
    assert "low, not charging, hot" in checks["battery"]["found"]
    assert "held upright" in checks["screen"]["found"]
    assert "upright" in checks["picture"]["found"]


def test_a_phone_that_is_not_there_fails_with_a_remedy(
    adb_server: AdbServer, phone: StandInPhone, tmp_path: Path
) -> None:
    status, checks = examine(adb_server, "no-such-phone", tmp_path / "r.json")
    assert status == 1
    assert "no-such-phone" in checks["phone"]["found"]
    assert checks["phone"]["remedy"]
    assert "HUD" not in checks


def test_playing_a_phone_measures_it_and_taps_only_where_the_profile_does(
    adb_server: AdbServer, phone: StandInPhone, tmp_path: Path
) -> None:
    profile = tmp_path / "phone.json"
    phone.reset(seed=3, playing=True)
    options = (
        "--capture",
        "scrcpy",
        "--touch",
        "scrcpy",
        "--seconds",
        "75",
        "--jumps",
        "8",
        "--save-profile",
        str(profile),
    )
    status, checks = examine(adb_server, phone.serial, tmp_path / "r.json", *options)
    assert status == 0
    assert checks["touch to screen"]["figures"]["play"]["touches"] >= 8
    made = read_device_profile(profile)
    assert "Stand-in" in made.device
    assert 0 < made.delays.touch_to_effect_s[0] < made.delays.touch_to_effect_s[1] < 0.5
    allowed = {(200.0, 200.0), (640.0, 667.0)}
    # an open touch begins by lifting fingers that an earlier one may have left: ups without a down
    touched = {(t["x"], t["y"]) for t in phone.facts("touches")["touches"] if t["action"] == "down"}
    assert touched
    assert touched <= allowed
