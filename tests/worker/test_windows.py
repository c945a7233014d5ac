"""The three windows: drawn from values alone, in both languages, and really shown on a display."""

import math
from dataclasses import replace

import cv2
import numpy as np
import pytest

from config import GREAT_WALL
from greatwall.contracts import Action, Frame, GameObject, Gap, Ground
from greatwall.errors import ConfigError
from greatwall.metrics.timing import WorkerTiming
from greatwall.worker import lettering
from greatwall.worker.board import Board
from greatwall.worker.display import PLACES, SCREEN, SIZES, Shown, Windows, missing_display
from greatwall.worker.lettering import label, width_px, write
from greatwall.worker.panel import PANEL_SIZE, TERMS, draw_panel
from greatwall.worker.windows import BAD, GOOD, GROUND_SIZE, SIGHT_SIZE, GroundScans, draw_sight
from tests.rigs.scripted_worker import ScriptedClock, make_hud, make_perception


def make_frame(size=(1920, 1080)):
    return Frame(1, 0.0, size, bgr=np.full((size[1], size[0], 3), 90, np.uint8))


def busy():
    """A perception with one of everything."""
    return make_perception(
        danger_list=(GameObject("obstacle", 700, 780, 90, 100, 0.93, 4),),
        enemy_list=(GameObject("enemy", 1850, 720, 86, 160, 1.0, 5),),
        soul_list=(GameObject("soul", 900, 600, 60, 60, 1.0, 6),),
        coin_list=(GameObject("coin", 1000, 700, 44, 44, 1.0, 7),),
        nearest_danger=390.0,
        nearest_enemy=1540.0,
        ground=Ground((Gap(400.0, 600.0, 9),), 310.0, 1920),
        cliff=True,
    )


def has_color(picture, color):
    return bool((picture == np.array(color, np.uint8)).all(axis=2).any())


@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720)])
@pytest.mark.parametrize("seen", [make_perception(), busy()])
def test_every_window_has_its_size_whatever_is_seen(seen, size):
    frame = make_frame(size)
    assert draw_sight(frame, seen, GREAT_WALL).shape == (SIGHT_SIZE[1], SIGHT_SIZE[0], 3)
    assert GroundScans().draw(frame, seen, GREAT_WALL).shape == (GROUND_SIZE[1], GROUND_SIZE[0], 3)
    panel = draw_panel(seen, seen.hud, Board("rule"), {}, 1.0)
    assert panel.shape == (PANEL_SIZE[1], PANEL_SIZE[0], 3)


def test_drawing_does_not_touch_the_frame():
    frame = make_frame()
    draw_sight(frame, busy(), GREAT_WALL)
    GroundScans().draw(frame, busy(), GREAT_WALL)
    assert (frame.bgr == 90).all()


def test_missing_ground_is_red_in_the_cells_and_under_the_picture():
    scans = GroundScans()
    clear = scans.draw(make_frame(), make_perception(), GREAT_WALL)
    assert has_color(clear, GOOD)
    assert not has_color(clear, BAD)
    assert has_color(scans.draw(make_frame(), busy(), GREAT_WALL), BAD)
    row = scans.draw(make_frame(), busy(), GREAT_WALL)[150]
    first = scans.LEFT + math.ceil((400 - 310) / 3) * scans.CELL
    assert tuple(row[first - 1]) == GOOD
    assert tuple(row[first]) == BAD


def test_the_panel_names_every_reward_term_of_the_env():
    from greatwall.reward import REWARD_TERMS

    assert tuple(TERMS) == REWARD_TERMS


def test_the_panel_shows_unread_values_figures_and_the_last_run():
    board = Board("rule")
    timing = WorkerTiming()
    empty = draw_panel(make_perception(), make_hud()._replace(lives=None), board, timing.summary(0.0), 0.0)
    board.begin()
    board.step(Action.SHOOT, 1.5, {"distance": 1.5, "death": -50.0}, 120)
    board.end({"distance_m": 120, "death": "gap", "obstacles": 3}, "restart")
    timing.detector.add_s(0.02)
    full = draw_panel(make_perception(), make_hud(), board, timing.summary(0.0), 0.0)
    assert (empty != full).any()
    assert (board.episodes, board.best_m, board.last_return) == (1, 120, 1.5)


def test_labels_are_in_both_languages():
    assert label("悬崖", "cliff") == ("悬崖 cliff" if lettering.HAS_CHINESE else "cliff")


def test_an_old_opencv_draws_the_english_half(monkeypatch):
    monkeypatch.setattr(lettering, "HAS_CHINESE", False)
    width_px.cache_clear()
    image = np.zeros((60, 300, 3), np.uint8)
    assert label("悬崖", "cliff") == "cliff"
    assert write(image, "悬崖 cliff", (5, 40), 24, (255, 255, 255)) > 30
    assert image.any()
    width_px.cache_clear()


def test_the_windows_fit_side_by_side_on_the_screen():
    boxes = [(*PLACES[name], *SIZES[name]) for name in PLACES]
    for i, (x, y, w, h) in enumerate(boxes):
        assert x + w <= SCREEN[0]
        assert y + h <= SCREEN[1]
        for x2, y2, w2, h2 in boxes[i + 1 :]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def shown(**changes):
    return Shown(make_frame(), replace(busy(), **changes), make_hud(), Board("rule"), None)


def test_saving_writes_three_pictures_and_the_screen(tmp_path):
    windows = Windows(GREAT_WALL, ScriptedClock(), visible=False)
    windows.draw(shown())
    names = [path.name for path in windows.save(tmp_path / "new")]
    assert names == ["sight.png", "ground.png", "panel.png", "windows.png"]
    screen = cv2.imread(str(tmp_path / "new" / "windows.png"))
    assert screen.shape == (1080, 1920, 3)
    x, y = PLACES["panel"]
    assert (screen[y : y + 100, x : x + 100] == windows.pictures["panel"][:100, :100]).all()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    windows = Windows(GREAT_WALL, ScriptedClock(), visible=False)
    with pytest.raises(ConfigError, match="screenshots: expected a folder"):
        windows.save(tmp_path / "file" / "under")


def test_without_a_display_the_reason_is_known(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert missing_display() == "DISPLAY is not set"


def test_a_display_that_is_not_there_does_not_end_the_process(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":4242")
    monkeypatch.setattr("sys.platform", "linux")
    assert "cannot open a window" in missing_display()


def test_three_windows_open_on_a_display(display):
    assert missing_display() == ""
    windows = Windows(GREAT_WALL, ScriptedClock(), visible=True)
    windows.draw(shown())
    try:
        assert windows.show(0.1)
        for title, size in (("1 sight", SIGHT_SIZE), ("2 ground", GROUND_SIZE), ("3 panel", PANEL_SIZE)):
            assert cv2.getWindowImageRect(title)[2:] == size
    finally:
        windows.close()
