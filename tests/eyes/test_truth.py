"""The game's own state as facts."""

from __future__ import annotations

import numpy as np
import pytest

from config import GREAT_WALL
from greatwall.contracts import Eyes, Frame, GameObject, Gap, HudRead, Scene
from greatwall.errors import ConfigError
from greatwall.eyes.truth import TruthEyes

COIN = GameObject("coin", 500, 700, 44, 44, 1.0, 7)


class Source:
    def __init__(self, scene: Scene | None) -> None:
        self._scene = scene

    def draw(self) -> np.ndarray:
        raise AssertionError("truth looks at no pixels")

    def scene(self) -> Scene | None:
        return self._scene


def frame_of(scene: Scene | None) -> Frame:
    return Frame(1, 0.5, (1920, 1080), source=Source(scene))


def test_objects_gaps_and_hud_come_as_they_are() -> None:
    eyes: Eyes = TruthEyes(GREAT_WALL)
    frame = frame_of(Scene((COIN,), (Gap(400, 600, 3),), HudRead(3, 20, 4, 99), "playing"))
    objects, ground = eyes.see(frame)
    assert objects == (COIN,)
    assert ground.gaps == (Gap(400, 600, 3),)
    assert (ground.from_x, ground.width) == (310, 1920)
    assert eyes.read_hud(frame) == HudRead(3, 20, 4, 99)


def test_a_page_without_hud_reads_as_nothing() -> None:
    assert TruthEyes(GREAT_WALL).read_hud(frame_of(Scene((), (), None, "death"))) == HudRead()


def test_frames_without_truth_are_refused() -> None:
    eyes = TruthEyes(GREAT_WALL)
    pixels = Frame(1, 0.0, (1920, 1080), bgr=np.zeros((1080, 1920, 3), np.uint8))
    for look in (eyes.see, eyes.read_hud):
        with pytest.raises(ConfigError, match=r"expected a frame of the embedded game.*--eyes vision"):
            look(pixels)
