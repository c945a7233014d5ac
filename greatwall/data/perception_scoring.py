"""How right vision is against the game's truth, on consecutive frames of played runs: everything it says.

Objects, terrain, gaps, cliff flag, HUD and nearest distances are judged together, each as the Worker uses
it: through a rule engine and a HUD filter of its own. All px are those of a 1920x1080 frame. Runs on the
caller's thread; equal arguments give equal scores.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from config import Config, GameProfile
from greatwall.contracts import Frame, GameObject, Gap, Ground, Hud, HudRead, Perception, Scene, Sight
from greatwall.data.frames import PlayedFrame, played_frames
from greatwall.data.visibility import ASKED_RULE, LabelBox, rider_class, sort_boxes
from greatwall.eyes.hud_filter import HudFilter
from greatwall.eyes.vision import VisionEyes
from greatwall.metrics.ground import Cells, GroundTally
from greatwall.metrics.hud import HudTally
from greatwall.metrics.objects import FoundRow, ObjectTally
from greatwall.metrics.timing import percentile
from rule_engine import RuleEngine

TEST_SEEDS = 2_000_000
CONFIDENCE_FLOOR = 0.01  # average precision wants the unsure boxes too
BEHIND_PX, AHEAD_PX = 100.0, 700.0  # the part that decides, from the rider's x1 and x2
NEAR_PX = 500.0  # nearest distances are compared where the truth is closer than this
NEAR_TOLERANCE_PX = 5.0
FRAMES_PER_READ = 3  # 0.3 s at ten perceptions a second
KINDS = ("danger", "enemy", "soul", "coin")


def score_perception(config: Config, frames: int, seed: int = TEST_SEEDS) -> dict[str, Any]:
    """Scores of the configured vision on `frames` perceived frames of runs from `seed` on, JSON-able."""
    exam = Exam(config)
    try:
        exam.take(played_frames(config, frames, seed))
        return exam.summary() | {"seed": seed, "screen": dataclasses.asdict(config.screen)}
    finally:
        exam.close()


class Exam:
    """Shows played frames to vision and counts what it makes of them."""

    def __init__(self, config: Config) -> None:
        profile = config.profile
        self._profile = profile
        self._confidence = config.eyes.confidence
        self._eyes = VisionEyes(profile, dataclasses.replace(config.eyes, confidence=CONFIDENCE_FLOOR))
        self._rider = rider_class(profile)
        x, _, w, _ = profile.rider_box
        self._rider_x2 = float(x + w)
        part = (x - BEHIND_PX, x + w + AHEAD_PX)
        self._objects = ObjectTally(profile.classes, config.eyes.confidence, part)
        self._ground = GroundTally()
        self._hud = HudTally()
        self._nearest: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self._see_ms: list[float] = []
        self._read_ms: list[float] = []
        self._runs = 0
        self._new_run()

    def close(self) -> None:
        self._eyes.close()

    def take(self, frames: Iterable[PlayedFrame]) -> None:
        """All frames, in order; HUD reads come every third, and are published one frame later."""
        number = 0
        late: Hud | None = None
        for frame, _, first in frames:
            if first:
                self._new_run()
                number, late = 0, None
            if late is not None:
                self._published = late
                late = None
            self._look(frame)
            if number % FRAMES_PER_READ == 0:
                late = self._read(frame)
            number += 1

    def _new_run(self) -> None:
        self._runs += 1
        self._truth_engine = RuleEngine(self._profile)
        self._seen_engine = RuleEngine(self._profile)
        self._filter = HudFilter(self._profile)
        self._published = Hud()
        self._ground.new_run()

    def _read(self, frame: Frame) -> Hud:
        scene = scene_of_frame(frame)
        begun_s = time.perf_counter()
        raw = self._eyes.read_hud(frame)
        self._read_ms.append((time.perf_counter() - begun_s) * 1e3)
        hud = self._filter.update(raw, frame.captured_at_s)
        self._hud.add_read(scene.hud or HudRead(), raw, hud)
        return hud

    def _look(self, frame: Frame) -> None:
        _ = frame.bgr  # drawing is not seeing: it stays out of the time
        begun_s = time.perf_counter()
        sight = self._eyes.see(frame)
        self._see_ms.append((time.perf_counter() - begun_s) * 1e3)
        scene = scene_of_frame(frame)
        true = in_profile_px(scene.objects, scene.gaps, frame.size, self._profile)
        seen = in_profile_px(sight.objects, sight.ground.gaps, frame.size, self._profile)
        width = float(self._profile.frame_size[0])
        asked, bystanders = sort_boxes(true[0], self._profile.play_band, width, self._rider)
        self._objects.add(asked, bystanders, [_found(one) for one in seen[0]])
        sure = tuple(one for one in seen[0] if one.score >= self._confidence)
        truth = self._perceive(self._truth_engine, frame, true[0], true[1])
        vision = self._perceive(self._seen_engine, frame, sure, seen[1])
        self._ground.add(
            truth.ground.gaps,
            vision.ground.gaps,
            truth.horse_pos[2],
            (truth.ground.cells, vision.ground.cells, self._scanned(seen[1], truth)),
            (truth.cliff, vision.cliff),
        )
        self._compare_nearest(truth, vision, asked)
        self._hud.add_frame(self._published, frame.captured_at_s)

    def _perceive(
        self, engine: RuleEngine, frame: Frame, objects: tuple[GameObject, ...], gaps: tuple[Gap, ...]
    ) -> Perception:
        profile = self._profile
        ground = Ground(gaps, self._rider_x2, profile.frame_size[0], step_px=profile.terrain_step_px)
        at_s = frame.captured_at_s
        return engine.perceive(frame, Sight(objects, ground), self._published, at_s)

    def _scanned(self, gaps: tuple[Gap, ...], truth: Perception) -> Cells:
        """The cells of the gaps seen, counted from where the rider truly stands: the scan alone."""
        width, step_px = self._profile.frame_size[0], self._profile.terrain_step_px
        return Ground(gaps, truth.horse_pos[2], width, step_px=step_px).cells

    def _compare_nearest(self, truth: Perception, vision: Perception, asked: list[LabelBox]) -> None:
        """Distances of what is asked for: a nearest thing that is mostly hidden is nobody's mistake."""
        for kind in KINDS:
            true, seen = getattr(truth, f"nearest_{kind}"), getattr(vision, f"nearest_{kind}")
            if true >= NEAR_PX or not _is_asked(kind, true, truth, asked, self._profile):
                continue
            self._nearest[kind].append(NEAR_PX if math.isinf(seen) else min(abs(seen - true), NEAR_PX))

    def summary(self) -> dict[str, Any]:
        """Everything counted, JSON-able."""
        near = np.array([one for kind in KINDS for one in self._nearest[kind]] or [0.0])
        return {
            "runs": self._runs - 1,
            "rule": ASKED_RULE,
            "part_px": [-BEHIND_PX, AHEAD_PX],
            "objects": self._objects.summary(),
            "ground": self._ground.summary(),
            "hud": self._hud.summary(),
            "nearest_under_500_px": {
                "compared": sum(map(len, self._nearest.values())),
                "within_5_px": round(float((near <= NEAR_TOLERANCE_PX).mean()), 5),
                "each": {
                    kind: {
                        "compared": len(errors),
                        "within_5_px": round(float((np.array(errors) <= NEAR_TOLERANCE_PX).mean()), 5)
                        if errors
                        else None,
                    }
                    for kind, errors in self._nearest.items()
                },
            },
            "see_ms": {f"p{p}": round(percentile(self._see_ms, p / 100), 2) for p in (50, 95)},
            "hud_ms": {f"p{p}": round(percentile(self._read_ms, p / 100), 2) for p in (50, 95)},
            "runtime": self._eyes.runtime,
            "hud_engine": self._eyes.hud_engine,
        }


def scene_of_frame(frame: Frame) -> Scene:
    """The frame's truth; only the embedded game's frames are examined."""
    scene = frame.scene
    assert scene is not None
    return scene


def in_profile_px(
    objects: tuple[GameObject, ...], gaps: tuple[Gap, ...], size: tuple[int, int], profile: GameProfile
) -> tuple[tuple[GameObject, ...], tuple[Gap, ...]]:
    """Objects and gaps of a frame of any size in px of the profile's frame."""
    if size == profile.frame_size:
        return objects, gaps
    across, down = profile.frame_size[0] / size[0], profile.frame_size[1] / size[1]
    return (
        tuple(
            one._replace(x=one.x * across, y=one.y * down, w=one.w * across, h=one.h * down)
            for one in objects
        ),
        tuple(gap._replace(x1=gap.x1 * across, x2=gap.x2 * across) for gap in gaps),
    )


def _found(one: GameObject) -> FoundRow:
    return one.category, one.x, one.y, one.x2, one.y2, one.score


def _is_asked(
    kind: str, distance: float, truth: Perception, asked: list[LabelBox], profile: GameProfile
) -> bool:
    """Whether one of the things at this distance is asked for, by its class and its right edge."""
    x1, _, x2, _ = truth.horse_pos
    rights = {
        one.x2 for one in getattr(truth, f"{kind}_list") if one.x2 > x1 and max(0.0, one.x - x2) == distance
    }
    classes = {name for name, role in profile.roles if role == kind}
    return any(box[0] in classes and box[3] in rights for box in asked)
