"""The ground scan on hand-made rows and on frames of the game."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import GREAT_WALL, GROUND_COLORS, Config, ScreenConfig
from greatwall.contracts import Gap
from greatwall.data.frames import labelled_frames, played_frames
from greatwall.eyes.terrain import TerrainScanner, find_gaps

SKY = (200, 180, 160)


def frame_with(*gaps: tuple[int, int], size: tuple[int, int] = (1920, 1080), noise: int = 0) -> np.ndarray:
    width, height = size
    frame = np.empty((height, width, 3), np.uint8)
    frame[:] = SKY
    colors = np.array(GROUND_COLORS, np.int16)[np.arange(width) // 40 % 2]
    jitter = np.random.default_rng(0).integers(-noise, noise + 1, colors.shape) if noise else 0
    frame[int(height * 0.81) :] = (colors + jitter).astype(np.uint8)
    for x1, x2 in gaps:
        frame[int(height * 0.81) :, x1:x2] = SKY
    return frame


@pytest.mark.parametrize(
    ("missing", "found"),
    [
        ((), ()),
        (((400, 560),), ((400, 560),)),
        (((401, 433), (800, 1000)), ((401, 433), (800, 1000))),
        (((400, 429),), ()),  # 29 px: noise
        (((400, 430),), ((400, 430),)),
        (((0, 7),), ((0, 7),)),  # cut by the frame: the rest of it is outside
        (((1911, 1920),), ((1911, 1920),)),
        (((300, 340), (344, 400)), ((300, 400),)),  # a speck of ground inside
        (((300, 340), (350, 400)), ((300, 340), (350, 400))),
        (((0, 1920),), ()),  # no wall at all: a page
    ],
)
@pytest.mark.parametrize("noise", [0, GREAT_WALL.ground_tolerance])
def test_gaps_are_found_to_the_pixel(missing: tuple, found: tuple, noise: int) -> None:
    ground = TerrainScanner(GREAT_WALL).scan(frame_with(*missing, noise=noise), 310)
    assert ground.gaps == tuple(Gap(*one) for one in found)


def test_colour_just_beyond_the_tolerance_is_no_ground() -> None:
    scanner = TerrainScanner(GREAT_WALL)
    row = np.array([[GROUND_COLORS[0]] * 3], np.int16)
    row[0, 1, 0] += GREAT_WALL.ground_tolerance
    row[0, 2, 1] += GREAT_WALL.ground_tolerance + 1
    assert scanner.is_ground(row.astype(np.uint8)).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("gap", "zeros"),
    [((310, 340), range(10)), ((312, 342), range(1, 11)), ((313, 343), range(1, 11)), ((100, 200), ())],
)
def test_cells_are_sampled_every_three_px_from_the_rider(gap: tuple[int, int], zeros: range) -> None:
    cells = TerrainScanner(GREAT_WALL).scan(frame_with(gap), 310).cells
    assert np.flatnonzero(cells == 0).tolist() == list(zeros)
    assert cells.shape == (200,)
    assert cells.dtype == np.float32


def test_cells_beyond_the_frame_are_ground() -> None:
    cells = TerrainScanner(GREAT_WALL).scan(frame_with((1800, 1920)), 1700).cells
    assert np.flatnonzero(cells == 0).tolist() == list(range(34, 74))


def test_a_smaller_frame_is_scanned_at_its_own_scale() -> None:
    ground = TerrainScanner(GREAT_WALL).scan(frame_with((200, 215), (400, 480), size=(960, 540)), 155)
    assert ground.gaps == (Gap(200, 215), Gap(400, 480))
    assert ground.step_px == 2


def nearly(levels: int) -> tuple[int, int, int]:
    """A colour that many levels beyond the brick's tolerance in one channel."""
    b, g, r = GROUND_COLORS[0]
    return b, g, r + GREAT_WALL.ground_tolerance + levels


@pytest.mark.parametrize(
    ("smeared", "found"),
    [
        ([(397, 400)], (400, 560)),  # at the left edge
        ([(560, 562), (565, 566)], (400, 560)),  # at the right edge, and ringing beyond it
        ([(1000, 1028)], (400, 560)),  # far from every gap, too short to be one
        ([(391, 400)], (391, 560)),  # longer than an edge is smeared
    ],
)
def test_columns_that_are_nearly_ground_do_not_move_a_gaps_edges(
    smeared: list[tuple[int, int]], found: tuple[int, int]
) -> None:
    frame = frame_with((400, 560))
    for x1, x2 in smeared:
        frame[900:, x1:x2] = nearly(8)
    assert TerrainScanner(GREAT_WALL).scan(frame, 310).gaps == (Gap(*found),)


def test_a_gap_of_a_colour_that_is_nearly_grounds_is_still_seen_whole() -> None:
    frame = frame_with()
    frame[900:, 400:560] = nearly(3)
    assert TerrainScanner(GREAT_WALL).scan(frame, 310).gaps == (Gap(400, 560),)


@pytest.mark.parametrize("compress", ["jpeg", "h264"])
def test_compression_moves_no_edge_by_more_than_four_px(compress: str) -> None:
    config = Config(screen=ScreenConfig(compress=compress))
    scanner = TerrainScanner(config.profile)
    errors = []
    for one in played_frames(config, 200, 1_000_000):
        truth = one.frame.scene.gaps
        if not truth:
            continue
        found = scanner.scan(one.frame.bgr, 310).gaps
        assert len(found) == len(truth)
        errors += [
            abs(a - b) for f, t in zip(found, truth, strict=True) for a, b in zip(f[:2], t[:2], strict=True)
        ]
    assert len(errors) > 30
    assert max(errors) <= 4


@given(st.lists(st.integers(7, 200), min_size=2, max_size=12), st.booleans())
def test_found_gaps_are_ordered_disjoint_and_long_enough(runs: list[int], starts: bool) -> None:
    kinds = itertools.cycle([starts, not starts])
    ground = np.concatenate([np.full(length, kind) for length, kind in zip(runs, kinds, strict=False)])
    gaps = find_gaps(ground, 30, 6)
    edges = [edge for gap in gaps for edge in gap[:2]]
    assert edges == sorted(edges)
    for gap in gaps:
        assert not ground[int(gap.x1) : int(gap.x2)].any()
        assert gap.x2 - gap.x1 >= 30 or gap.x1 == 0 or gap.x2 == len(ground)


def test_gaps_of_the_game_are_found_exactly() -> None:
    config = Config()
    scanner = TerrainScanner(config.profile)
    seen = 0
    for frame in labelled_frames(config, 60, 1_000_000):
        if frame.scene.hud is None:
            continue
        found = scanner.scan(frame.bgr, 310).gaps
        assert [one[:2] for one in found] == [one[:2] for one in frame.scene.gaps]
        seen += len(found)
    assert seen > 3


@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720), (2400, 1080)])
def test_a_hailstone_makes_no_gap_and_a_spark_fills_none(size: tuple[int, int]) -> None:
    width, height = size
    frame = frame_with((width // 2, width // 2 + 200), size=size)
    row = TerrainScanner(GREAT_WALL).row_of(height)
    frame[row : row + 4, 300:340] = (250, 250, 250)  # over the scanned row, four px high
    frame[row - 1 : row + 2, width // 2 + 60 : width // 2 + 90] = GROUND_COLORS[0]
    assert TerrainScanner(GREAT_WALL).scan(frame, 310).gaps == (Gap(width // 2, width // 2 + 200),)
