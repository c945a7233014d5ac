"""`python -m greatwall calibrate`: options and a finger make the same profile; a bad mark is a line."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from config import GREAT_WALL, Config, CourseConfig, ScreenConfig
from greatwall.__main__ import main
from greatwall.commands.calibrate_window import STEPS, WINDOW, Finger, Marks, draw_window, scale_for
from greatwall.commands.calibration import GROUND_MISSING, Calibration, color_at, ground_colors_seen
from greatwall.commands.profile import read_profile
from greatwall.contracts import Frame, FrameArray
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import ConfigError

SIZE = (1280, 720)
SEED = 3


def frame_with_a_gap(size: tuple[int, int]) -> Frame:
    """A live run's frame that shows a whole gap ahead of the rider."""
    course = CourseConfig(feature_weights=(0.0, 0.0, 1.0, 0.0, 0.0), lives=9)
    device = SimulatedDevice(Config(course=course, screen=ScreenConfig(size=size)))
    device.hold()
    device.new_game(SEED)
    for _ in range(300):
        device.advance(2)
        frame = device.frame()
        assert frame.scene is not None
        if any(gap.x1 > size[0] / 4 and gap.x2 < size[0] for gap in frame.scene.gaps):
            return frame
    raise AssertionError("no gap came")


@pytest.fixture(scope="module")
def frame() -> Frame:
    return frame_with_a_gap(SIZE)


@pytest.fixture(scope="module")
def shot(frame: Frame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shot") / "shot.png"
    cv2.imwrite(str(path), frame.bgr)
    return path


def calibrate(shot: Path, out: Path, *marks: str) -> int:
    return main(["calibrate", "--image", str(shot), "--out", str(out), *marks])


def test_marks_on_the_command_line_become_the_profile(
    shot: Path, tmp_path: Path, frame: Frame, capsys: pytest.CaptureFixture[str]
) -> None:
    out, show = tmp_path / "game.json", tmp_path / "show.png"
    marks = [
        *("--name", "Mine", "--row", "708", "--ground", "30,708", "--ground", "1200,708"),
        *("--hud", "lives=86,22,74,52", "--hud", "coins=none", "--rider", "120,487,87,100"),
        *("--band", "240,615", "--button", "jump=210,200", "--button", "restart2=640,660,1.5"),
        *("--tolerance", "20", "--show", str(show)),
    ]
    assert calibrate(shot, out, *marks) == 0
    profile = read_profile(out)
    assert profile.name == "Mine"
    assert profile.ground_row_from_bottom == 1080 - 1062
    assert profile.ground_tolerance == 20
    assert dict(profile.hud)["lives"].box == (129, 33, 111, 78)
    assert [name for name, _ in profile.hud] == ["lives", "arrows", "distance"]
    assert profile.rider_box == (180, 730, 130, 150)
    assert profile.play_band == (360, 922)
    assert profile.jump_tap == (315, 300)
    assert (profile.restart[1].x, profile.restart[1].y, profile.restart[1].wait_s) == (960, 990, 1.5)
    assert profile.restart[0] == GREAT_WALL.restart[0]
    said = capsys.readouterr().out
    scene = frame.scene
    assert scene is not None
    assert scene.hud is not None
    assert f"lives {scene.hud.lives}, arrows {scene.hud.arrows}, distance {scene.hud.distance}" in said
    assert cv2.imread(str(show)).shape == (720, 1280, 3)


def test_ground_that_was_marked_is_seen_and_the_gap_is_not(frame: Frame) -> None:
    calibration = Calibration(frame.bgr, GREAT_WALL)
    reading = calibration.read()
    scene = frame.scene
    assert scene is not None
    gap = next(one for one in scene.gaps if one.x1 > 320)
    assert any(abs(x1 - gap.x1) < 8 and abs(x2 - gap.x2) < 8 for x1, x2 in reading.gaps)
    drawn = calibration.draw(reading)
    assert tuple(drawn[reading.row, round((gap.x1 + gap.x2) / 2)]) == GROUND_MISSING


def test_ground_of_another_colour_is_named_as_measured() -> None:
    picture = np.full((720, 1280, 3), (200, 40, 10), np.uint8)
    picture[:, 900:] = (20, 200, 30)
    assert ground_colors_seen(picture, GREAT_WALL) == ((200, 40, 10), (20, 200, 30))
    calibration = Calibration(picture, GREAT_WALL)
    assert calibration.read().ground_share == 0
    calibration.mark_ground(100, 700)
    calibration.mark_ground(101, 700)
    assert calibration.profile.ground_colors == ((200, 40, 10),), "the same colour twice is one"
    calibration.mark_ground(1000, 700)
    assert calibration.read().ground_share == 1
    assert color_at(picture, 0, 0) == (200, 40, 10)


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        (("--ground", "9"), "--ground: expected X,Y"),
        (("--ground", "9000,3"), "a point in the picture of 1280x720"),
        (("--hud", "gold=1,2,30,40"), "hud: expected one of lives"),
        (("--hud", "lives=1,2,3"), "--hud lives: expected X,Y,W,H"),
        (("--hud", "lives=1,2,3,4"), "at least 4 px a side"),
        (("--hud", "lives"), "--hud: expected FIELD=X,Y,W,H"),
        (("--hud", "coins=none", "--hud", "coins=none"), "expected one of lives, arrows, distance"),
        (("--button", "restart9=1,2"), "jump or restart1 to restart3"),
        (("--button", "jump=a,b"), "--button jump: expected X,Y"),
        (("--button", "buy=1,2"), "expected jump or restart1"),
        (("--rider", "0,0,9000,90"), "outside the frame"),
        (("--row", "9999"), "ground_row_from_bottom"),
        (("--tolerance", "300"), "ground_tolerance 300"),
        (("--band", "3,3"), "play_band"),
        (("--row", "700", "--show", "a.jpg"), "--show: expected a .png"),
        (("--row", "700", "--video", "a.mp4"), "found --image and --video"),
        (("--row", "700", "--device", "phone"), "found --image and --device phone"),
    ],
)
def test_a_mark_that_cannot_be_is_one_line_and_writes_nothing(
    shot: Path, tmp_path: Path, marks: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "game.json"
    assert calibrate(shot, out, *marks) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not out.exists()


def test_a_file_that_is_no_profile_is_not_written_over(
    shot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "notes.txt"
    out.write_text("mine")
    assert calibrate(shot, out, "--row", "700") == 2
    assert "expected a new file or a profile" in capsys.readouterr().err
    assert out.read_text() == "mine"
    again = tmp_path / "game.json"
    assert calibrate(shot, again, "--row", "700") == 0
    assert calibrate(shot, again, "--row", "701", "--profile", str(again)) == 0


def test_a_moment_of_a_video_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.rigs.recordings import plain_video

    video, out = tmp_path / "run.mp4", tmp_path / "game.json"
    plain_video(video, size=(640, 360))
    assert (
        main(["calibrate", "--video", str(video), "--at", "0.2", "--out", str(out), "--tolerance", "9"]) == 0
    )
    assert read_profile(out).ground_tolerance == 9
    assert (
        main(["calibrate", "--video", str(video), "--at", "900", "--out", str(out), "--tolerance", "9"]) == 2
    )
    assert "--at: expected a moment within" in capsys.readouterr().err


def test_a_picture_of_another_shape_is_warned_of() -> None:
    assert Calibration(np.zeros((720, 1280, 3), np.uint8), GREAT_WALL).warning == ""
    assert "2400x1080" in Calibration(np.zeros((1080, 2400, 3), np.uint8), GREAT_WALL).warning


# --- the window -----------------------------------------------------------------------------------------


def finger_on(picture: FrameArray) -> tuple[Marks, Finger]:
    marks = Marks(Calibration(picture, GREAT_WALL))
    return marks, Finger(marks, scale_for(picture))


def drag(finger: Finger, x1: int, y1: int, x2: int, y2: int) -> None:
    finger(cv2.EVENT_LBUTTONDOWN, x1, y1, 0, None)
    finger(cv2.EVENT_MOUSEMOVE, x2, y2, 0, None)
    finger(cv2.EVENT_LBUTTONUP, x2, y2, 0, None)


def test_a_finger_marks_what_options_mark() -> None:
    frame = frame_with_a_gap((1920, 1080))
    marks, finger = finger_on(frame.bgr)
    drag(finger, 600, 705, 600, 705)
    assert marks.calibration.profile.ground_row_from_bottom == 1080 - 1058
    marks.press("2")
    drag(finger, 20, 705, 20, 705)
    assert marks.calibration.profile.ground_colors == (color_at(frame.bgr, 30, 1058),)
    marks.press("3")
    drag(finger, 160, 74, 90, 24)
    assert dict(marks.calibration.profile.hud)["lives"].box == (135, 36, 105, 75)
    marks.press("9")
    drag(finger, 200, 210, 200, 210)
    assert marks.calibration.profile.jump_tap == (300, 315)
    assert marks.calibration.profile != GREAT_WALL
    for _ in range(4):
        marks.press("u")
    assert marks.calibration.profile == GREAT_WALL, "every mark can be undone"


def test_a_mark_that_cannot_be_is_said_and_changes_nothing() -> None:
    marks, finger = finger_on(np.full((1080, 1920, 3), 90, np.uint8))
    marks.press("3")
    drag(finger, 10, 10, 10, 10)
    assert not marks.fine
    drag(finger, 1200, 700, 1400, 720)
    assert not marks.fine
    assert "outside the frame" in marks.said
    marks.press("d")
    assert "lives" not in dict(marks.calibration.profile.hud)
    with pytest.raises(ConfigError):
        marks.calibration.set_hud("gold", (1, 1, 9, 9))


def test_every_step_is_reached_and_drawn() -> None:
    marks, _ = finger_on(np.full((1080, 1920, 3), 90, np.uint8))
    reading = marks.calibration.read()
    seen = []
    for _ in STEPS:
        seen.append(marks.step.name)
        assert draw_window(marks, reading, (5, 5, 50, 50)).shape == (720 + 96, 1280, 3)
        marks.press("n")
    assert seen == [step.name for step in STEPS]
    assert marks.step is STEPS[0]


@pytest.fixture
def screen() -> Iterator[str]:
    """A display of its own, whose pointer nobody else moves."""
    program, pointer = shutil.which("Xvfb"), shutil.which("xdotool")
    if program is None or pointer is None:
        pytest.skip("needs Xvfb and xdotool: sudo apt-get install xvfb xdotool")
    reader, writer = os.pipe()
    server = subprocess.Popen(
        [program, "-displayfd", str(writer), "-screen", "0", "1400x900x24", "-nolisten", "tcp"],
        pass_fds=(writer,), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writer)
    try:
        with os.fdopen(reader) as stream:
            assert select.select([stream], [], [], 20)[0]
            yield f":{stream.readline().strip()}"
    finally:
        server.terminate()
        server.wait(timeout=5)


def test_real_clicks_and_keys_in_the_real_window(
    shot: Path, tmp_path: Path, screen: str, repo_root: Path
) -> None:
    out = tmp_path / "game.json"
    environment = {**os.environ, "DISPLAY": screen}

    def point(*words: str) -> str:
        done = subprocess.run(
            ["xdotool", *words], env=environment, capture_output=True, text=True, timeout=20, check=False
        )
        return done.stdout

    command = [sys.executable, "-m", "greatwall", "calibrate", "--image", str(shot), "--out", str(out)]
    with subprocess.Popen(command, env=environment, cwd=repo_root, stdout=subprocess.DEVNULL) as program:
        try:
            window = ""
            until_s = time.monotonic() + 60
            while not window and time.monotonic() < until_s:
                window = point("search", "--sync", "--onlyvisible", "--name", f"^{WINDOW}$").strip()
            assert window
            while "1280x816" not in point("getwindowgeometry", window) and time.monotonic() < until_s:
                assert program.poll() is None
            while not out.exists() and time.monotonic() < until_s and program.poll() is None:
                point("mousemove", "600", "700", "sleep", "0.3", "click", "1", "sleep", "0.3")
                point("windowfocus", window, "key", "--window", window, "s", "sleep", "0.3")
            assert program.wait(timeout=20) == 0
        finally:
            program.kill()
    assert read_profile(out) == dataclasses.replace(GREAT_WALL, ground_row_from_bottom=1080 - 1050)
    assert json.loads(out.read_text())["name"] == GREAT_WALL.name
