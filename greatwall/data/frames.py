"""Frames of the embedded game at seeded random moments, with their truth: raw material for data sets.

Runs are played by a mix of sense and chance, so that jumps, falls, rescues, arrows in flight and the
pages between runs all occur. Equal seeds give equal frames. Runs on the caller's thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from config import Config, DelayConfig
from greatwall.contracts import FrameArray, Scene
from greatwall.game.draw import Painter
from greatwall.game.rules import Game
from greatwall.game.scene import WITH_WORLD, scene_of
from greatwall.game.view import Page

FRAMES_STREAM = 11  # purpose tag of the generator of moments and touches
FRAMES_PER_RUN = 40
PAUSE_TICKS = (6, 90)  # between two frames of a run
DECISION_TICKS = 3
PAGE_SHARE = 0.3  # of the moments on the death page, these are kept: pictures without objects
AT_ONCE = DelayConfig((0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))


class LabelledFrame(NamedTuple):
    """One drawn frame, uint8 BGR in the profile's size, its truth, and the seed of its run."""

    bgr: FrameArray
    scene: Scene
    seed: int


def labelled_frames(config: Config, count: int, seed: int) -> Iterator[LabelledFrame]:
    """`count` frames from runs with the seeds `seed`, `seed` + 1, ..., about 40 frames each."""
    painter = Painter(config.course, config.profile)
    made = 0
    run_seed = seed
    while made < count:
        for game in _moments(config, run_seed, min(FRAMES_PER_RUN, count - made)):
            view = game.view()
            scene = scene_of(view, config.course, config.profile)
            yield LabelledFrame(painter.draw(view), scene, run_seed)
            made += 1
        run_seed += 1


def _moments(config: Config, seed: int, count: int) -> Iterator[Game]:
    """One run's game, `count` times, each time at a moment worth a picture."""
    rng = np.random.default_rng([FRAMES_STREAM, seed])
    course = dataclasses.replace(
        config.course,
        start_speed_m_s=float(rng.uniform(0.9, 1.7)) * config.course.start_speed_m_s,
        lives=int(rng.integers(2, 10)),
        arrows=int(rng.integers(config.course.arrows, config.course.arrows_max)),
    )
    game = Game(course, AT_ONCE, seed)
    game.new_game(seed)
    sense = float(rng.choice([0.0, 0.9, 1.0], p=[0.3, 0.3, 0.4]))
    due = game.tick + int(rng.integers(*PAUSE_TICKS))
    while count:
        _touch(game, config, sense, rng)
        ticks = max(1, min(DECISION_TICKS, due - game.tick))
        game.advance(ticks)
        if game.tick >= due:
            due = game.tick + int(rng.integers(*PAUSE_TICKS))
            if game.page in WITH_WORLD or (game.page is Page.DEATH and rng.random() < PAGE_SHARE):
                count -= 1
                yield game


def _touch(game: Game, config: Config, sense: float, rng: np.random.Generator) -> None:
    """Touch as somebody who plays well this often, and without thinking otherwise."""
    profile = config.profile
    if game.page is not Page.PLAYING:
        if rng.random() < 0.1:
            tap = profile.restart[0 if game.page is Page.FALLEN else 1]
            game.tap(tap.x, tap.y)
        return
    if rng.random() >= sense:
        if rng.random() < 0.08:
            game.tap(*profile.jump_tap)
        if rng.random() < 0.06:
            game.swipe(245, 805, 245 + 300, 805 + float(rng.uniform(-200, 60)))
        return
    scene = scene_of(game.view(), config.course, profile)
    x2 = profile.rider_box[0] + profile.rider_box[2]
    hazards = [thing.x for thing in scene.objects if thing.category == "obstacle"]
    hazards += [gap.x1 for gap in scene.gaps]
    if any(0 < x - x2 < rng.uniform(60, 220) for x in hazards):
        game.tap(*profile.jump_tap)
    for thing in scene.objects:
        if thing.category == "enemy" and 0 < thing.x - x2 < 700 and rng.random() < 0.15:
            game.swipe(245, 805, 545, 805 - 50 * float(thing.x - x2 > 240))
            break
