"""Frames of the embedded game with their truth: raw material for data sets and for scores.

`labelled_frames` are seeded random moments, for learning; `played_frames` are what a Worker perceives,
ten consecutive frames a second of many short runs. Runs are played by a mix of sense and chance, so that
jumps, falls, rescues, arrows in flight and the pages between runs all occur. Equal arguments give equal
frames. Runs on the caller's thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from config import GREAT_WALL, Config, CourseConfig, DelayConfig, ScreenConfig
from greatwall.contracts import Frame, FrameArray, Scene
from greatwall.device.simulator import SimulatedDevice
from greatwall.game.scene import WITH_WORLD, scene_of
from greatwall.game.view import Page

FRAMES_STREAM = 11  # purpose tag of the generator of moments and touches
PLAYED_STREAM = 13  # of the exam's runs
FRAMES_PER_RUN = 40
PAUSE_TICKS = (6, 90)  # between two frames of a run
DECISION_TICKS = 3
PAGE_SHARE = 0.3  # of the moments on the death page, these are kept: pictures without objects
AT_ONCE = DelayConfig((0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
PLAYED_PER_RUN = 50  # frames: 5 s
WARM_UP_TICKS = (0, 1800)  # played unseen, so that runs are joined anywhere in their first minute
EVENED_WEIGHTS = (0.3, 0.2, 0.16, 0.16, 0.18)  # obstacle, enemy, gap, soul, coin row
EVENED_LIVES = 9


class LabelledFrame(NamedTuple):
    """One frame, uint8 BGR in the screen's size, its truth in the same px, and the seed of its run."""

    bgr: FrameArray
    scene: Scene
    seed: int


class PlayedFrame(NamedTuple):
    """One perceived frame with its truth inside, the number of its run, and whether it opens that run."""

    frame: Frame
    run: int
    first: bool


def evened(course: CourseConfig) -> CourseConfig:
    """The course as it is, but for how often each thing comes: so every class is learnt and examined.

    Lives are many, so that a run that goes wrong goes on.
    """
    return dataclasses.replace(course, feature_weights=EVENED_WEIGHTS, lives=EVENED_LIVES)


def with_screen(config: Config, screen: ScreenConfig) -> Config:
    """`config` with another screen, and the profile as that screen's look shows it."""
    if screen.look == "standard":
        return dataclasses.replace(config, screen=screen)
    from greatwall.game.looks import look_named

    return dataclasses.replace(config, screen=screen, profile=look_named(screen.look).profile(GREAT_WALL))


def labelled_frames(
    config: Config,
    count: int,
    seed: int,
    screens: Callable[[int], ScreenConfig] | None = None,
    per_run: int = FRAMES_PER_RUN,
) -> Iterator[LabelledFrame]:
    """`count` frames from runs with the seeds `seed`, `seed` + 1, ..., `per_run` frames each.

    `screens` says, by the number of the run, how its screen looks; without it all are `config.screen`.
    """
    made = 0
    run_seed = seed
    while made < count:
        shown = config if screens is None else with_screen(config, screens(run_seed - seed))
        for frame in _moments(shown, run_seed, min(per_run, count - made)):
            scene = frame.scene
            assert scene is not None
            yield LabelledFrame(frame.bgr, scene, run_seed)
            made += 1
        run_seed += 1


def played_frames(
    config: Config, count: int, seed: int, per_run: int = PLAYED_PER_RUN, each_tick: bool = False
) -> Iterator[PlayedFrame]:
    """`count` perceived frames, ten a second of game, in runs with the seeds `seed`, `seed` + 1, ...

    The course is `evened`. Each run is joined somewhere in its first minute and left when it ends. With
    `each_tick` every tick is a frame, thirty a second, of the same runs.
    """
    steps = DECISION_TICKS if each_tick else 1
    course = evened(config.course)
    made = run = 0
    while made < count:
        rng = np.random.default_rng([PLAYED_STREAM, seed + run])
        device = _new_run(config, course, seed + run)
        sense = float(rng.choice([0.85, 1.0]))
        unseen = int(rng.integers(*WARM_UP_TICKS)) // DECISION_TICKS
        for number in range(unseen + min(per_run, count - made)):
            if number < unseen or (number - unseen) % steps == 0:
                _touch(device, config, course, sense, rng)
            device.advance(DECISION_TICKS if number < unseen else DECISION_TICKS // steps)
            page = device.view().page
            if page not in WITH_WORLD:
                break
            if number >= unseen:
                made += 1
                yield PlayedFrame(device.frame(), run, number == unseen)
        device.close()
        run += 1


def _new_run(config: Config, course: CourseConfig, seed: int) -> SimulatedDevice:
    device = SimulatedDevice(dataclasses.replace(config, course=course, delays=AT_ONCE, seed=seed))
    device.hold()
    device.new_game(seed)
    return device


def _moments(config: Config, seed: int, count: int) -> Iterator[Frame]:
    """Frames of one run, each at a moment worth a picture."""
    rng = np.random.default_rng([FRAMES_STREAM, seed])
    course = evened(config.course)
    device = _new_run(config, course, seed)
    sense = float(rng.choice([0.0, 0.9, 1.0], p=[0.3, 0.3, 0.4]))
    due = device.tick + int(rng.integers(*PAUSE_TICKS))
    while count:
        _touch(device, config, course, sense, rng)
        device.advance(max(1, min(DECISION_TICKS, due - device.tick)))
        if device.tick >= due:
            due = device.tick + int(rng.integers(*PAUSE_TICKS))
            page = device.view().page
            if page in WITH_WORLD or (page is Page.DEATH and rng.random() < PAGE_SHARE):
                count -= 1
                yield device.frame()
    device.close()


def _touch(
    device: SimulatedDevice, config: Config, course: CourseConfig, sense: float, rng: np.random.Generator
) -> None:
    """Touch as somebody who plays well this often, and without thinking otherwise."""
    profile = config.profile
    across = device.size[0] / profile.frame_size[0]
    down = device.size[1] / profile.frame_size[1]
    view = device.view()
    if view.page is not Page.PLAYING:
        if rng.random() < 0.1:
            tap = profile.restart[0 if view.page is Page.FALLEN else 1]
            device.tap(tap.x * across, tap.y * down)
        return
    jump = (profile.jump_tap[0] * across, profile.jump_tap[1] * down)
    if rng.random() >= sense:
        if rng.random() < 0.08:
            device.tap(*jump)
        if rng.random() < 0.06:
            _shoot(device, across, down, float(rng.uniform(-200, 60)))
        return
    scene = scene_of(view, course, profile)
    x2 = profile.rider_box[0] + profile.rider_box[2]
    hazards = [thing.x for thing in scene.objects if thing.category == "obstacle"]
    hazards += [gap.x1 for gap in scene.gaps]
    if any(0 < x - x2 < rng.uniform(60, 220) for x in hazards):
        device.tap(*jump)
    for thing in scene.objects:
        if thing.category == "enemy" and 0 < thing.x - x2 < 700 and rng.random() < 0.15:
            _shoot(device, across, down, -50.0 * (thing.x - x2 > 240))
            break


def _shoot(device: SimulatedDevice, across: float, down: float, rise: float) -> None:
    device.swipe(245 * across, 805 * down, 545 * across, (805 + rise) * down, 100)
