"""The simulator's screen: looks, sizes, compression. The game below it stays the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from config import Config, replace_in
from greatwall.assembly import make_config, parse_size
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import ConfigError
from greatwall.eyes.terrain import TerrainScanner
from greatwall.game.view import Page

SIZES = [(1280, 720), (2400, 1080), (1600, 900)]


def held(config: Config, seed: int = 1) -> SimulatedDevice:
    device = SimulatedDevice(config)
    device.hold()
    device.new_game(seed)
    return device


def undelayed(**screen: object) -> Config:
    return make_config(variants=("no_delay",), **screen)


@pytest.mark.parametrize("size", SIZES)
def test_frames_and_truth_have_the_size_asked_for(size: tuple[int, int]):
    device, plain = held(undelayed(size=size)), held(undelayed())
    for one in (device, plain):
        one.advance(90)
    assert device.size == size
    frame, drawn = device.frame(), plain.frame()
    assert frame.size == size
    assert frame.bgr.shape == (size[1], size[0], 3)
    across, down = size[0] / 1920, size[1] / 1080
    assert frame.scene is not None
    assert drawn.scene is not None
    assert len(frame.scene.objects) == len(drawn.scene.objects) > 1
    for small, large in zip(frame.scene.objects, drawn.scene.objects, strict=True):
        assert (small.x, small.x2) == pytest.approx((large.x * across, large.x2 * across))
        assert (small.y, small.y2) == pytest.approx((large.y * down, large.y2 * down))
        assert small.visible == large.visible
    assert frame.scene.hud == drawn.scene.hud


@pytest.mark.parametrize("size", SIZES)
def test_touches_are_px_of_the_screen(size: tuple[int, int]):
    across, down = size[0] / 1920, size[1] / 1080
    device, plain = held(undelayed(size=size)), held(undelayed())
    device.tap(300 * across, 300 * down)
    plain.tap(300, 300)
    for one in (device, plain):
        one.advance(3)
    device.swipe(245 * across, 805 * down, 545 * across, 760 * down, 100)
    plain.swipe(245, 805, 545, 760, 100)
    for one in (device, plain):
        one.advance(6)
    assert plain.view().height > 50
    assert len(plain.view().flying) == 1
    assert device.view().height == plain.view().height
    assert device.view().flying[0] == pytest.approx(plain.view().flying[0])


def test_the_title_page_starts_at_the_button_of_a_smaller_screen():
    device = SimulatedDevice(undelayed(size=(1280, 720)))
    device.hold()
    device.tap(640, 667)
    device.advance(60)
    assert device.view().page is Page.PLAYING


@pytest.mark.parametrize(
    ("look", "size", "compress"),
    [
        ("standard", (1280, 720), "none"),
        ("standard", (2400, 1080), "h264"),
        ("train:1", (1600, 900), "h264"),
        ("unseen:1", (1920, 1080), "h264"),
        ("dusk", (1280, 720), "jpeg"),
    ],
)
def test_the_terrain_scan_finds_the_truths_gaps_on_every_screen(
    look: str, size: tuple[int, int], compress: str
):
    config = undelayed(look=look, size=size, compress=compress)
    config = replace_in(config, "course", feature_weights=(0.0, 0.0, 1.0, 0.0, 0.0), lives=9)
    device = held(config)
    scanner = TerrainScanner(config.profile)
    found = 0
    for _ in range(8):
        device.advance(20)
        frame = device.frame()
        assert frame.scene is not None
        if not frame.scene.gaps:
            continue
        truth = [gap for gap in frame.scene.gaps if gap.x2 - gap.x1 >= 40]
        seen = [gap for gap in scanner.scan(frame.bgr, 310).gaps if gap.x2 - gap.x1 >= 40]
        assert len(seen) == len(truth)
        for one, other in zip(seen, truth, strict=True):
            assert max(abs(one.x1 - other.x1), abs(one.x2 - other.x2)) <= 12
        found += len(truth)
    assert found >= 4


def test_a_look_changes_pixels_but_not_the_game():
    shown, plain = held(undelayed(look="train:1", compress="jpeg")), held(undelayed())
    for one in (shown, plain):
        one.tap(300, 300)
        one.advance(20)
    assert (shown.frame().bgr != plain.frame().bgr).any()
    assert shown.get_state()["game"] == plain.get_state()["game"]


def test_equal_runs_through_h264_are_equal_to_the_pixel():
    config = undelayed(look="shaky", size=(640, 360), compress="h264")
    first, second = held(config), held(config)
    first.advance(7)
    _ = first.frame().bgr  # an earlier run leaves nothing behind
    first.new_game(1)
    for _ in range(4):
        frames = []
        for device in (first, second):
            device.advance(3)
            frames.append(device.frame().bgr)
        assert np.array_equal(*frames)


def test_settings_end_up_in_the_config():
    config = make_config(look="night", size=(1280, 720), compress="jpeg")
    assert (config.screen.look, config.screen.size, config.screen.compress) == ("night", (1280, 720), "jpeg")
    assert config.profile != make_config().profile
    assert config.profile.hud[0][1].box != make_config().profile.hud[0][1].box


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"look": "nonsense"}, "train:N"),
        ({"size": (3, 3)}, "320x180"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], words: str):
    with pytest.raises(ConfigError, match=words):
        make_config(**settings)


@pytest.mark.parametrize(
    "text", ["", "1280", "1280x", "x720", "-1x5", "1280x720x3", "axb", "9" * 5000 + "x1"]
)
def test_a_size_that_is_none_is_refused(text: str):
    with pytest.raises(ConfigError, match="WIDTHxHEIGHT"):
        parse_size(text)


def test_truth_of_a_look_needs_no_opencv(repo_root: Path):
    program = (
        "import sys; from config import Config, ScreenConfig\n"
        "from greatwall.device.simulator import SimulatedDevice\n"
        "device = SimulatedDevice(Config(screen=ScreenConfig('unseen:3', (1280, 720), 'h264')))\n"
        "device.hold(); device.new_game(1); device.advance(40)\n"
        "assert device.frame().scene.objects\n"
        "assert 'cv2' not in sys.modules and 'av' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=repo_root, check=True, timeout=60)
