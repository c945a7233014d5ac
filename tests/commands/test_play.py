"""`python -m greatwall play`: keys and fingers reach the game; without a display it says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from config import DelayConfig
from greatwall.assembly import make_config
from greatwall.commands.play import WINDOW, _press, _swipe_at_enemy
from greatwall.device.simulator import SimulatedDevice
from greatwall.game.view import Kind, Page, Thing, View

CONFIG = make_config(variants=("no_delay",))


def command(*arguments: str, display: str | None) -> tuple[list[str], dict[str, str]]:
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    if display is not None:
        environment["DISPLAY"] = display
    return [sys.executable, "-u", "-m", "greatwall", "play", *arguments], environment


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux runs without a desktop")
@pytest.mark.parametrize("display", [None, ":7654"])
def test_without_a_display_it_ends_with_one_clear_line(repo_root: Path, display: str | None):
    line, environment = command(display=display)
    done = subprocess.run(
        line, env=environment, cwd=repo_root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no display" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(("--variant", "nonsense"), "variant"), (("--seed", "-1"), "seed"), (("--seed", str(2**32)), "seed")],
)
def test_bad_settings_end_with_one_clear_line(repo_root: Path, arguments: tuple[str, ...], word: str):
    line, environment = command(*arguments, display=None)
    done = subprocess.run(
        line, env=environment, cwd=repo_root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert word in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the display of the tests is Linux's")
def test_it_opens_its_window_and_leaves_at_once_on_ctrl_c(repo_root: Path, display: str):
    line, environment = command(display=display)
    with subprocess.Popen(line, env=environment, cwd=repo_root, stdout=subprocess.PIPE, text=True) as game:
        try:
            assert game.stdout is not None
            assert game.stdout.readline().startswith(WINDOW)
            assert "50-80 ms" in game.stdout.readline(), "low_delay is the default, and is named"
            with pytest.raises(subprocess.TimeoutExpired):
                game.wait(timeout=4)
            game.send_signal(signal.SIGINT)
            assert game.wait(timeout=10) == 130
        finally:
            game.kill()


def held(seed: int = 3) -> SimulatedDevice:
    device = SimulatedDevice(CONFIG)
    device.hold()
    device.new_game(seed)
    return device


def test_space_jumps_and_f_shoots():
    device = held()
    _press(ord(" "), device, device.view(), CONFIG)
    device.advance(5)
    assert device.view().height > 50
    _press(ord("f"), device, device.view(), CONFIG)
    device.advance(2)
    assert device.view().arrows == CONFIG.course.arrows - 1
    assert len(device.view().flying) == 1


@pytest.mark.parametrize("key", [ord("r"), 13, 10])
def test_r_and_enter_start_from_the_title_page(key: int):
    device = SimulatedDevice(CONFIG)
    device.hold()
    assert device.view().page is Page.TITLE
    _press(key, device, device.view(), CONFIG)
    device.advance(60)
    assert device.view().page is Page.PLAYING


def test_r_leads_from_a_fall_to_the_next_run():
    device = held()
    state = device.get_state()
    state["game"]["page"], state["game"]["since"], state["game"]["lives"] = int(Page.FALLEN), 0, 0
    device.set_state(state)
    device.advance(60)
    _press(ord("r"), device, device.view(), CONFIG)
    device.advance(2)
    assert device.view().page is Page.DEATH
    _press(ord("r"), device, device.view(), CONFIG)
    device.advance(60)
    assert device.view().page is Page.PLAYING
    assert device.view().lives == CONFIG.course.lives


def moment(*enemies_x: float) -> View:
    things = tuple(Thing(i, Kind.ENEMY, x, 86, 160, 0, 0, 0, x, 0.0) for i, x in enumerate(enemies_x))
    return View(0, Page.PLAYING, 0, 0.0, 0.0, 0.0, 3, 20, 0, 0, 0, "", 0, things, ())


@pytest.mark.parametrize(
    ("enemies_x", "end"),
    [
        ((), (545, 805)),
        ((100.0,), (545, 805)),  # behind
        ((400.0,), (545, 797)),  # near: straight at it
        ((1500.0, 800.0), (545, 752)),  # the nearer one, far: raised, because the arrow drops
    ],
)
def test_f_aims_at_the_nearest_enemy_ahead(enemies_x: tuple[float, ...], end: tuple[float, float]):
    swipe = _swipe_at_enemy(moment(*enemies_x), CONFIG)
    assert swipe[:2] == (245, 805)
    assert swipe[2:] == pytest.approx(end, abs=1.5)


def test_people_get_a_touch_delay_that_can_be_switched_off():
    assert CONFIG.delays == DelayConfig((0, 0), (0, 0), (0, 0), (0, 0))
