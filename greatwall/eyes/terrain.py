"""The ground scan: where along one row of the frame the wall is missing (SPEC 3).

A gap is missing ground, which no detector sees. Rows just above and below vote with the scanned one, so
that a snowflake or a spark over it neither makes a gap nor fills one. Next to an edge a compressed picture
bends the wall's colours a little beyond the tolerance; such columns are nearly ground, and neither begin nor
end a gap where clearly other ones are near (hysteresis). Stateless; runs on the perceiving thread.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from config import GameProfile
from greatwall.contracts import FrameArray, Gap, Ground

VOTES_PX = (-8, -4, 0, 4, 8)  # the rows that vote, from the scanned one
SPECK_PX = 6  # ground-coloured runs up to this long inside a gap are scenery
NEARLY = 1.75  # times the tolerance: nearly ground; what gaps of the game show is 2.4 times away
SMEAR_PX = 8  # how far a compressed edge reaches: one block of JPEG's and H.264's transforms
Levels = tuple[int, ...]  # B, G, R


class TerrainScanner:
    """Finds gaps over the whole width of a frame, to the pixel."""

    def __init__(self, profile: GameProfile) -> None:
        self._ranges = _ranges(profile, profile.ground_tolerance)
        self._near_ranges = _ranges(profile, round(profile.ground_tolerance * NEARLY))
        self._profile = profile

    def scan(self, bgr: FrameArray, from_x: float) -> Ground:
        """Gaps of the frame, and 200 cells from column `from_x` on (made when asked for).

        A row without any ground is no gap: it is a page without the wall.
        """
        height, width = bgr.shape[:2]
        profile = self._profile
        scale_x = width / profile.frame_size[0]
        rows = bgr[self.rows_of(height)]
        ground = self.is_ground(rows)
        if not ground.all():
            nearly = _most_are_in(rows, self._near_ranges)
            ground = without_smear(ground, nearly, profile.gap_min_px * scale_x, SMEAR_PX)
        gaps = find_gaps(ground, profile.gap_min_px * scale_x, SPECK_PX * scale_x)
        return Ground(gaps, from_x, width, step_px=max(1, round(profile.terrain_step_px * scale_x)))

    def row_of(self, height: int) -> int:
        """The scanned row of a frame that is `height` px high."""
        profile = self._profile
        return height - max(1, round(profile.ground_row_from_bottom * height / profile.frame_size[1]))

    def rows_of(self, height: int) -> list[int]:
        """The rows that vote, the scanned one among them."""
        row = self.row_of(height)
        scale_y = height / self._profile.frame_size[1]
        return [min(height - 1, max(0, row + round(vote * scale_y))) for vote in VOTES_PX]

    def is_ground(self, rows: FrameArray) -> NDArray[np.bool_]:
        """In which columns of (N, W, 3) rows most pixels are close to one of the ground colours; (W,)."""
        return _most_are_in(rows, self._ranges)


def _ranges(profile: GameProfile, tolerance: int) -> list[tuple[Levels, Levels]]:
    """Lowest and highest levels of each ground colour."""
    return [
        (
            tuple(max(0, channel - tolerance) for channel in color),
            tuple(min(255, channel + tolerance) for channel in color),
        )
        for color in profile.ground_colors
    ]


def _most_are_in(rows: FrameArray, ranges: list[tuple[Levels, Levels]]) -> NDArray[np.bool_]:
    """In which columns of (N, W, 3) rows most pixels are in one of the ranges; (W,)."""
    found = np.zeros(rows.shape[:2], np.uint8)
    for low, high in ranges:
        found |= np.asarray(cv2.inRange(rows, low, high), np.uint8)
    return np.asarray((found > 0).sum(axis=0) * 2 > len(found))


def without_smear(
    ground: NDArray[np.bool_], nearly: NDArray[np.bool_], gap_min_px: float, smear_px: int
) -> NDArray[np.bool_]:
    """`ground`, and columns that are `nearly` ground where they are only the smear of an edge.

    That is: short runs of missing ground that are nearly ground throughout, and the ends of all others up
    to `smear_px`, if something clearly other comes within that reach. So a gap that shows hardly another
    colour than the ground is still seen, whole.
    """
    filled = ground.copy()
    edges = np.flatnonzero(np.diff(ground, prepend=True, append=True))
    for x1, x2 in edges.reshape(-1, 2).tolist():
        clear = np.flatnonzero(~nearly[x1:x2])
        if not len(clear):
            if x2 - x1 < gap_min_px and x1 > 0 and x2 < len(ground):
                filled[x1:x2] = True
            continue
        if clear[0] <= smear_px:
            filled[x1 : x1 + clear[0]] = True
        if x2 - x1 - 1 - clear[-1] <= smear_px:
            filled[x1 + clear[-1] + 1 : x2] = True
    return filled


def find_gaps(ground: NDArray[np.bool_], gap_min_px: float, speck_px: float) -> tuple[Gap, ...]:
    """Runs of missing ground, left to right.

    Specks of ground inside a run do not end it; runs shorter than `gap_min_px` are noise unless the
    frame's edge cuts them.
    """
    width = len(ground)
    edges = np.flatnonzero(np.diff(ground, prepend=True, append=True))
    if not len(edges):
        return ()
    runs: list[list[int]] = []
    for x1, x2 in edges.reshape(-1, 2).tolist():
        if runs and x1 - runs[-1][1] <= speck_px:
            runs[-1][1] = x2
        else:
            runs.append([x1, x2])
    return tuple(
        Gap(x1, x2)
        for x1, x2 in runs
        if (x2 - x1 >= gap_min_px or x1 == 0 or x2 == width) and x2 - x1 < width
    )
