"""The Worker as the Master and the person at the keyboard know it."""

import json

import pytest

import ppo_acting
from config import GREAT_WALL
from greatwall.contracts import Action, HudRead, WorkerPrimitives
from greatwall.errors import ConfigError
from tests.rigs.workers import make_rig


@pytest.fixture
def rig():
    made = make_rig()
    made.worker.start()
    made.worker.new_game(1)
    return made


def test_the_user_s_names_are_views_of_the_newest_perception(rig):
    worker = rig.worker
    worker.rest(5.0)
    perception = worker.perception
    for name in ("horse_pos", "danger_list", "enemy_list", "soul_list", "coin_list", "shoot_target"):
        assert getattr(worker, name) == getattr(perception, name)
    assert worker.shared_distance == worker.hud.distance > 50
    assert (worker.shared_lives, worker.shared_arrows, worker.shared_coins) == worker.hud[:3]
    assert worker._latest_frame is worker.latest_frame is not None


def test_the_names_have_harmless_values_before_the_first_frame():
    worker = make_rig().worker
    assert worker.horse_pos == (180, 730, 310, 880)
    assert worker.danger_list == ()
    assert worker.shoot_target is None
    assert worker.shared_lives is None
    assert worker.perception is None
    assert worker.result is None


def test_the_worker_has_every_primitive(rig):
    for name in WorkerPrimitives.__annotations__:
        assert hasattr(rig.worker, name)
    for name in ("_death_check_enabled", "_stats_lock", "_frame_lock", "cooldown_until", "pending_signal"):
        assert hasattr(rig.worker, name)


def test_a_jump_is_the_profile_s_tap_and_a_shot_its_swipe(rig):
    rig.act(Action.SHOOT, 1)
    rig.act(Action.JUMP, 2)
    swipe, tap = rig.device.touches
    assert tap[1:] == GREAT_WALL.jump_tap
    _, x1, y1, x2, y2 = swipe
    assert (x1, y1) == (245.0, 805.0)
    assert (x2 - x1) ** 2 + (y2 - y1) ** 2 >= 280**2


def test_touches_are_scaled_to_the_device_s_real_size_in_one_place():
    made = make_rig(size=(960, 540))
    made.worker.adb_tap(300, 300)
    made.worker.adb_swipe(960, 540, 1920, 1080)
    assert [touch[1:] for touch in made.device.touches] == [(150, 150), (480, 270, 960, 540)]


def test_a_shot_before_anything_was_seen_goes_straight_ahead():
    made = make_rig()
    made.worker._hands.act(Action.SHOOT, None)
    assert made.device.touches[0][1:] == (245.0, 805.0, 545.0, 805.0)


def test_every_result_carries_the_id_of_its_order(rig):
    for action_id in (5, 9, 14):
        result = rig.act(Action.WAIT, action_id)
        assert (result.action_id, result.action) == (action_id, Action.WAIT)


def test_the_game_clock_needs_a_device_that_can_be_held():
    made = make_rig()

    class Phone:
        size = (1920, 1080)

    with pytest.raises(ConfigError, match="use --clock wall"):
        ppo_acting.Worker(made.worker.config, Phone(), made.eyes)


def test_a_read_begun_in_an_earlier_run_is_dropped(rig):
    run = rig.worker.slot.run
    rig.worker.new_game(2)
    before = rig.worker.hud
    rig.worker.publish_hud(HudRead(1, 1, 1, 999), 5.0, run)
    assert rig.worker.hud is before


def test_a_device_that_cannot_start_a_game_leaves_the_worker_as_it_is(rig):
    rig.worker.rest(1.0)
    rig.device.can_start_games = False
    before = rig.worker.perception
    assert not rig.worker.new_game(3)
    assert rig.worker.perception is before


def test_a_recovered_worker_has_no_orders_left(rig):
    worker = rig.worker
    worker.env_restart_order.set()
    worker.rest(0.5)
    worker.recover()
    assert not worker.env_restart_order.is_set()
    assert worker._death_check_enabled
    assert worker.pending_signal is None
    assert worker.env_action_queue.empty()


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--device", "toaster"], "toaster"),
        (["--policy", "nobody"], "nobody"),
        (["--seconds", "-3"], "--seconds: expected 0 or more, found -3"),
        (["--json", "/no/such/folder/x.json"], "--json: expected a folder"),
        (["--trace", "/no/such/folder/x.json"], "--trace: expected a folder"),
        (["--variant", "moon"], "moon"),
        (["--seed", "-1"], "seed: expected 0 to"),
        (["--seed", str(2**32)], "seed: expected 0 to"),
    ],
)
def test_bad_input_is_one_line_and_status_two(arguments, line, capsys):
    status = ppo_acting.main(["--eyes", "truth", "--headless", "--seconds", "1", *arguments])
    error = capsys.readouterr().err
    assert status == 2
    assert len(error.strip().splitlines()) == 1
    assert line in error


@pytest.mark.parametrize("clock", ["wall", "game"])
def test_watching_writes_figures_and_pictures(clock, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    report = tmp_path / "report.json"
    arguments = f"--eyes truth --clock {clock} --policy random --seed 3 --seconds 2".split()
    arguments += ["--json", str(report), "--screenshot", str(tmp_path / "shots"), "--headless"]
    assert ppo_acting.main(arguments) == 0
    figures = json.loads(report.read_text())
    assert figures["seconds"] == pytest.approx(2.0, abs=0.7)
    assert figures["frames"] > 20
    assert figures["cpu_ms_per_frame"] > 0
    if clock == "wall":
        assert 15 < figures["loop_fps"] < 32
        assert figures["frame_age_ms"]["p50"] < 100
    assert sorted(path.name for path in (tmp_path / "shots").iterdir()) == [
        "ground.png",
        "panel.png",
        "sight.png",
        "windows.png",
    ]


def test_without_a_display_it_says_so_once_and_goes_on(monkeypatch, capsys):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert ppo_acting.main("--eyes truth --policy idle --seconds 1".split()) == 0
    assert capsys.readouterr().err.count("no windows: DISPLAY is not set") == 1
