"""What is counted over frames: objects, ground and HUD, by hand-made cases."""

from __future__ import annotations

import numpy as np
import pytest

from greatwall.contracts import Gap, Hud, HudRead
from greatwall.metrics.detection import as_boxes, without_bystanders
from greatwall.metrics.ground import GroundTally
from greatwall.metrics.hud import HudTally
from greatwall.metrics.objects import ObjectTally

COIN = ("coin", 100.0, 100.0, 140.0, 140.0)


@pytest.mark.parametrize(
    ("found", "iou"),
    [
        ([], 0.0),
        ([(*COIN, 0.9)], 1.0),
        ([("coin", 104.0, 100.0, 144.0, 140.0, 0.9)], 36 / 44),
        ([("coin", 106.0, 100.0, 146.0, 140.0, 0.9)], 0.0),  # 6 px: a missed one, however much they overlap
        ([("coin", 100.0, 100.0, 140.0, 152.0, 0.9)], 0.0),  # its centre is 6 px too low
        ([("coin", 100.0, 100.0, 140.0, 140.0, 0.3)], 0.0),  # not sure
        ([("soul", *COIN[1:], 0.9)], 0.0),
        # two near it: the pair is the one whose centres are closest, though the other overlaps more
        ([("coin", 103.0, 100.0, 143.0, 140.0, 0.9), ("coin", 90.0, 90.0, 150.0, 150.0, 0.9)], 1600 / 3600),
    ],
)
def test_overlap_is_that_of_the_pair_and_0_for_a_missed_object(found: list, iou: float) -> None:
    tally = ObjectTally(("coin", "soul"), 0.35, (0, 1000))
    tally.add([COIN], [], found)
    summary = tally.summary()
    assert summary["mean_iou"] == summary["mean_iou_part"] == pytest.approx(iou, abs=1e-4)
    assert summary["classes"]["coin"]["mean_iou"] == pytest.approx(iou, abs=1e-4)


@pytest.mark.parametrize(
    ("truth", "found", "kept"),
    [
        ([], [(0, 0, 10, 10)], []),  # it lies in the bystander
        ([], [(16, 0, 28, 10)], [0]),  # a third of it does
        ([(0, 0, 10, 10)], [(0, 0, 10, 10)], [0]),  # it is the truth's, wherever it lies
        ([(90, 0, 99, 10)], [(0, 0, 10, 10), (90, 0, 99, 10)], [1]),
    ],
)
def test_a_find_among_bystanders_does_not_count(truth: list, found: list, kept: list) -> None:
    rest = without_bystanders(as_boxes(truth), as_boxes(found), as_boxes([(0, 0, 20, 20)]))
    assert rest.tolist() == kept


@pytest.mark.parametrize(
    ("found", "right", "missed", "invented"),
    [
        ([], 0, 1, 0),
        ([(*COIN, 0.9)], 1, 0, 0),
        ([(*COIN, 0.2)], 0, 1, 0),  # not sure: for mAP alone
        ([("coin", 105.0, 100.0, 145.0, 140.0, 0.9)], 1, 0, 0),  # 5 px
        ([("coin", 106.0, 100.0, 146.0, 140.0, 0.9)], 0, 1, 1),
        ([(*COIN, 0.9), (*COIN, 0.8)], 1, 0, 1),  # one box is never matched twice
        ([("soul", *COIN[1:], 0.9)], 0, 1, 0),
    ],
)
def test_objects_are_right_within_5_px(found: list, right: int, missed: int, invented: int) -> None:
    tally = ObjectTally(("coin", "soul"), 0.35, (0, 1000))
    tally.add([COIN], [], found)
    row = tally.summary()["classes"]["coin"]
    assert (row["right"], row["missed"], row["invented"]) == (right, missed, invented)


def test_the_part_that_decides_is_scored_apart() -> None:
    tally = ObjectTally(("coin",), 0.35, (0, 1000))
    far = ("coin", 1500.0, 100.0, 1540.0, 140.0)
    tally.add([COIN, far], [], [(*COIN, 0.9)])
    summary = tally.summary()
    assert (summary["mean_iou"], summary["mean_iou_part"]) == (0.5, 1.0)
    assert (summary["classes"]["coin"]["f1"], summary["classes"]["coin"]["f1_part"]) == (0.6667, 1.0)


def test_ground_counts_cells_edges_and_when_a_gap_was_first_seen() -> None:
    tally = GroundTally()
    ground, none = np.ones(200, np.float32), np.ones(200, np.float32)
    none[100:150] = 0
    gap = [Gap(1800, 1920, 7)]
    tally.add(gap, [], 310, (ground, ground, ground), (False, False))
    tally.add([Gap(1700, 1900, 7)], [Gap(1703, 1900)], 310, (none, none, none), (False, False))
    tally.add([], [Gap(500, 600)], 310, (none, ground, none), (True, False))
    found = tally.summary()
    assert (found["non_ground_agree"], found["ground_agree"]) == (0.5, 1.0)
    assert (found["scan_alone"]["non_ground_agree"], found["scan_alone"]["non_ground_cells"]) == (1.0, 100)
    assert (found["gap_views"], found["gap_views_missed"], found["gaps_invented"]) == (2, 1, 1)
    assert (found["edge_error_max_px"], found["edges_within_4_px"]) == (3.0, 1.0)
    assert found["each_gap"] == [{"shown_px": 1490, "seen_px": 1390, "width_px": 200}]
    assert found["wide_gaps_seen_400_px_ahead"] == 1.0
    assert found["cliff_flag_agrees"] == pytest.approx(2 / 3, abs=1e-4)
    tally.new_run()
    tally.add(gap, gap, 310, (none, none, none), (True, True))
    assert tally.summary()["gaps"] == 2


def test_hud_beliefs_are_held_against_the_frame_they_come_from() -> None:
    tally = HudTally()
    truth = HudRead(3, 20, 5, 100)
    tally.add_read(truth, truth, Hud(3, 20, 5, 100, 1.0, 1.0, 1.0, 1.0, 1, 1.0))
    tally.add_frame(Hud(3, 20, 5, 100, 1.0, 1.0, 1.0, 1.0, 1, 1.0), 1.2)
    later = HudRead(3, 19, 5, 106)
    read = HudRead(3, 79, None, 108)
    tally.add_read(later, read, Hud(3, 20, 5, 108, 1.3, 1.0, 1.0, 1.3, 2, 1.3))  # 108 let through
    fields = tally.summary()["fields"]
    assert [fields[name]["raw_exact"] for name in ("lives", "arrows", "coins", "distance")] == [
        1,
        0.5,
        0.5,
        0.5,
    ]
    assert (fields["arrows"]["raw_wrong"], fields["arrows"]["believed_wrong"]) == (1, 0)
    assert (fields["coins"]["raw_none"], fields["coins"]["believed_exact"]) == (1, 1.0)
    assert (fields["distance"]["believed_wrong"], fields["distance"]["believed_exact"]) == (1, 0.5)
    differing = {name: (row["differs"], row["compared"]) for name, row in fields.items()}
    assert differing == {"lives": (0, 2), "arrows": (1, 2), "coins": (0, 2), "distance": (1, 2)}
    assert fields["lives"]["age_s"]["p50"] == pytest.approx(0.2)
