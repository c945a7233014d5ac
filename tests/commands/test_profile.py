"""`python -m greatwall profile`: the facts of a game as a file that people edit, and its checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from config import GREAT_WALL
from greatwall.__main__ import main
from greatwall.commands.profile import read_profile
from greatwall.errors import FileFormatError

FIELD = {"box": [1, 1, 9, 9], "low": 0, "high": 9, "max_rise_per_s": 1.0, "may_fall": True}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    assert main(["profile", "write", str(path)]) == 0
    assert read_profile(path) == GREAT_WALL
    assert read_profile(None) is GREAT_WALL


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"play_band": [900, 300]}, "play_band"),
        ({"rider_box": [1900, 730, 130, 150]}, "rider_box"),
        ({"roles": [["horse", "rider"]]}, "one role a class"),
        ({"classes": ["cow"], "roles": [["cow", "danger"]]}, "rider among them"),
        ({"hud": [["gold", FIELD]]}, "hud ['gold']"),
        ({"hud": 3}, "expected the profile"),
        ({"restart": [{"x": 1}]}, "expected the profile"),
        ({"ground_colors": []}, "ground_colors"),
        ({"speed": 3}, "speed"),
        ({"name": None, "frame_size": "big"}, "expected the profile"),
        ({"frame_size": ["a", 1080]}, "frame_size 'a' instead of a whole number"),
        ({"frame_size": [1920.5, 1080]}, "frame_size '1920.5' instead of a whole number"),
        ({"frame_size": [1920]}, "frame_size of 1 values instead of 2"),
        ({"frame_size": [3, 3]}, "frame_size 3 instead of 160"),
        ({"classes": "horse"}, "classes 'horse' instead of a list"),
        ({"classes": [["horse"]]}, "instead of text"),
        ({"roles": [3]}, "roles '3' instead of a list"),
        ({"rider_x_fixed": 1}, "rider_x_fixed '1' instead of true or false"),
        ({"swipe_ms": True}, "swipe_ms 'True' instead of a whole number"),
        ({"swipe_ms": -5}, "swipe_ms -5 instead of 1"),
        ({"terrain_step_px": 0}, "terrain_step_px 0 instead of 1"),
        ({"ground_tolerance": "wide"}, "ground_tolerance 'wide'"),
        ({"ground_colors": [[300, 0, 0]]}, "ground_colors"),
        ({"ground_colors": [[1, 2]]}, "ground_colors of 2 values instead of 3"),
        ({"jump_cooldown_s": float("nan")}, "jump_cooldown_s 'nan' instead of a number"),
        ({"jump_tap": [5000, 3]}, "jump_tap (5000, 3) outside the frame"),
        ({"restart": [{"x": 1, "y": 1, "wait_s": "long"}]}, "wait_s 'long' instead of a number"),
        ({"hud": [["coins", FIELD | {"box": [1, 1, 2, 9]}]]}, "hud coins (1, 1, 2, 9) smaller than 4 px"),
        ({"hud": [["coins", FIELD | {"low": 9, "high": 1}]]}, "hud coins: low 9 and high 1"),
        ({"hud": [["coins", FIELD], ["coins", FIELD]]}, "a name twice"),
    ],
)
def test_a_profile_that_cannot_be_is_one_line(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = tmp_path / "game.json"
    main(["profile", "write", str(path)])
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FileFormatError) as caught:
        read_profile(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_places_are_drawn_into_a_screenshot_of_any_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, shot, out = tmp_path / "game.json", tmp_path / "shot.png", tmp_path / "out.png"
    main(["profile", "write", str(path)])
    cv2.imwrite(str(shot), np.full((720, 1280, 3), 100, np.uint8))
    assert main(["profile", "show", str(path), "--picture", str(shot), "--out", str(out)]) == 0
    drawn = cv2.imread(str(out))
    assert drawn.shape == (720, 1280, 3)
    x, y, _, h = dict(GREAT_WALL.hud)["lives"].box
    assert tuple(drawn[round((y + h / 2) * 2 / 3), round(x * 2 / 3)]) != (100, 100, 100)
    capsys.readouterr()
    nowhere = str(tmp_path / "no" / "a.png")
    for place, words in (("/proc/look.png", "can be written"), (nowhere, "a .png file")):
        assert main(["profile", "show", str(path), "--picture", str(shot), "--out", place]) == 2
        told = capsys.readouterr()
        assert words in told.err
        assert "wrote" not in told.out
    assert main(["profile", "show", str(path), "--picture", "no.png", "--out", str(out)]) == 2
    assert "expected an image file" in capsys.readouterr().err
    assert main(["profile", "show", str(path), "--picture", str(path), "--out", str(out)]) == 2
    assert "expected an image" in capsys.readouterr().err
    assert main(["profile", "write", str(path)]) == 2
    assert "expected a new file" in capsys.readouterr().err
