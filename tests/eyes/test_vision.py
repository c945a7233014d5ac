"""Both halves of vision on frames of the game."""

from __future__ import annotations

import threading

import pytest

from config import GREAT_WALL, Config, EyesConfig
from greatwall.contracts import Eyes, Frame, HudRead, Sight
from greatwall.data.frames import labelled_frames
from greatwall.eyes.vision import VisionEyes


@pytest.fixture(scope="module")
def eyes() -> VisionEyes:
    return VisionEyes(GREAT_WALL, EyesConfig())


@pytest.fixture(scope="module")
def frames() -> list[tuple[Frame, HudRead]]:
    made = [one for one in labelled_frames(Config(), 16, 1_000_300) if one.scene.hud is not None]
    return [
        (Frame(number, number / 10, (1920, 1080), bgr=one.bgr), one.scene.hud)
        for number, one in enumerate(made)
    ]


def test_a_sight_holds_untracked_objects_and_the_ground(
    eyes: Eyes, frames: list[tuple[Frame, HudRead]]
) -> None:
    for frame, _ in frames:
        objects, ground = eyes.see(frame)
        assert [one.category for one in objects].count("horse") == 1
        assert {one.track_id for one in objects} == {-1}
        assert (ground.from_x, ground.width, ground.step_px) == (310, 1920, 3)


def test_seeing_and_reading_at_once_on_two_threads_gives_the_same(
    eyes: Eyes, frames: list[tuple[Frame, HudRead]]
) -> None:
    alone = [eyes.see(frame) for frame, _ in frames]
    reads: list[HudRead] = []
    reader = threading.Thread(target=lambda: reads.extend(eyes.read_hud(frame) for frame, _ in frames * 3))
    reader.start()
    together: list[Sight] = []
    while reader.is_alive():
        together += [eyes.see(frame) for frame, _ in frames]
    reader.join(timeout=10)
    assert reads == [hud for _, hud in frames] * 3
    assert len(together) >= len(frames)
    for number, sight in enumerate(together):
        assert sight.objects == alone[number % len(frames)].objects
        assert sight.ground.gaps == alone[number % len(frames)].ground.gaps
