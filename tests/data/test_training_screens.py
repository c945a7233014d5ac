"""Screens and wear of training frames: seeded, and never what scores are published for."""

from __future__ import annotations

import numpy as np

from benchmarks.perception import SCREENS
from greatwall.data.training_screens import SIZES, TrainingScreens, Wear

TRAINED = [TrainingScreens(3, 20)(run) for run in range(300)]


def test_no_published_look_or_size_beside_the_standard_one_is_trained_on() -> None:
    looks = {screen.look for screen in TRAINED}
    assert all(look == "standard" or look.startswith("train:") for look in looks)
    assert len(looks) == 21
    assert {screen.size for screen in SCREENS} & set(SIZES) == {(1920, 1080)}
    assert {screen.compress for screen in TRAINED} == {"none", "jpeg", "h264"}


def test_equal_seeds_give_equal_screens_and_wear() -> None:
    assert [TrainingScreens(3, 20)(run) for run in range(300)] == TRAINED
    picture = np.random.default_rng(0).integers(0, 255, (96, 320, 3), np.uint8)
    first, second = Wear(5), Wear(5)
    worn = [first.worn(picture) for _ in range(10)]
    assert all(np.array_equal(one, second.worn(picture)) for one in worn)
    assert 0 < sum(one is picture for one in worn) < 10
    assert all(one.shape == picture.shape and one.dtype == np.uint8 for one in worn)
