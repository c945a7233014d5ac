"""`python -m greatwall play`: a person plays the embedded game in a window, at 30 frames/s.

Main thread only, because OpenCV's windows belong there. The game runs in real time on its own clock;
this loop draws whatever tick it has come to, and what it cannot draw in time is skipped.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2

from config import TICK_HZ, Config, GameProfile
from greatwall.assembly import STANDARD_COURSE, course_name, make_config, parse_size, parse_variants
from greatwall.commands.human_scores import SCORES, add_run, read_runs, run_of
from greatwall.device.device_profile import profile_named
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import GreatWallError
from greatwall.game.scene import scene_of
from greatwall.game.view import Page, View
from greatwall.worker.display import missing_display

WINDOW = "Great Wall Run"
USUAL_VARIANT = "low_delay"  # as people expect of a touch
BUTTON = (960, 1000)  # px: the middle of Start and of Play again
KEYS = "space jumps, f shoots, p pauses, Enter or r starts, q or Esc leaves; a mouse is a finger"
ENTER, ESCAPE = (10, 13), 27


@dataclass(frozen=True)
class Play:
    """Play the game yourself: space jumps, f shoots, p pauses, Enter or r starts, q or Esc leaves."""

    seed: int = 0
    """of the course; later runs' courses follow from it"""
    variant: str | None = None
    """named changes of the game, separated by commas; standard is none; low_delay unless given"""
    like_device: str = ""
    """instead: touches as slow as doctor --save-profile FILE measured them on a phone"""
    look: str = "standard"
    """how the game is drawn: a named look, train:N, valid:N or unseen:N"""
    size: str = "1920x1080"
    """of its frames, WIDTHxHEIGHT px"""
    compress: Literal["none", "jpeg", "h264"] = "none"
    """what its frames go through: h264 shows what a phone's stream does to them"""
    scores: Path = SCORES
    """every finished run is added to this file; evaluate --human FILE puts them into its table"""

    def run(self) -> int:
        like_device = profile_named(self.like_device)
        usual = USUAL_VARIANT if like_device is None else STANDARD_COURSE
        names = parse_variants(usual if self.variant is None else self.variant)
        config = make_config(
            seed=self.seed,
            variants=names,
            like_device=like_device,
            look=self.look,
            size=parse_size(self.size),
            compress=self.compress,
        )
        missing = missing_display()
        if missing:
            raise GreatWallError(
                f"no display: expected one to open a window on, found none ({missing}); "
                "run it on a desktop, or under xvfb-run"
            )
        low, high = config.delays.touch_to_effect_s
        if self.scores.exists():
            read_runs(self.scores)  # a foreign file is refused before the game, not after it
        print(f"{WINDOW}: {KEYS}.")
        print(f"Touches take {1000 * low:.0f}-{1000 * high:.0f} ms here ({course_name(config)}).")
        _play(config, Scorer(self.scores, course_name(config)))
        return 0


COMMAND = Play


def _play(config: Config, scorer: Scorer) -> None:
    """Show, wait, touch, until the person leaves."""
    device = SimulatedDevice(config)
    finger = _Finger(device)
    cv2.namedWindow(WINDOW, cv2.WINDOW_NORMAL | cv2.WINDOW_GUI_NORMAL | cv2.WINDOW_KEEPRATIO)
    cv2.resizeWindow(WINDOW, 1280, 720)
    cv2.setMouseCallback(WINDOW, finger)
    paused = False
    shown: View | None = None
    next_s = time.perf_counter()
    try:
        while True:
            view = device.view()
            scorer.see(view.page, device)
            if paused:
                view = view._replace(page=Page.PAUSED)
            if view != shown:
                cv2.imshow(WINDOW, device.show(view))
                shown = view
            now_s = time.perf_counter()
            if now_s >= next_s:
                next_s = max(next_s + 1 / TICK_HZ, now_s)  # late frames are not made up for
            key = _wait_until(next_s)
            if key in (ord("q"), ESCAPE) or cv2.getWindowProperty(WINDOW, cv2.WND_PROP_VISIBLE) < 1:
                return
            if key == ord("p") and (paused or view.page is Page.PLAYING):
                paused = not paused
                if paused:
                    device.pause()
                else:
                    device.resume()
            elif not paused:
                _press(key, device, view, config)
    finally:
        cv2.destroyAllWindows()
        device.close()


def _wait_until(due_s: float) -> int:
    """Let the window work until `due_s`; the key that came first, or -1."""
    left_ms = round((due_s - time.perf_counter()) * 1000)
    key = cv2.waitKey(max(1, left_ms))
    return key & 0xFF if key >= 0 else -1


def _press(key: int, device: SimulatedDevice, view: View, config: Config) -> None:
    """What a key does on this page."""
    profile = config.profile
    across, down = (have / drawn for have, drawn in zip(device.size, profile.frame_size, strict=True))
    if view.page is Page.PLAYING:
        if key == ord(" "):
            x, y = profile.jump_tap
            device.tap(x * across, y * down)
        elif key == ord("f"):
            x1, y1, x2, y2 = _swipe_at_enemy(view, config)
            device.swipe(x1 * across, y1 * down, x2 * across, y2 * down, profile.swipe_ms)
    elif key == ord("r") or key in ENTER or key == ord(" "):
        x, y = profile.jump_tap if view.page is Page.FALLEN else BUTTON
        device.tap(x * across, y * down)


def _swipe_at_enemy(view: View, config: Config) -> tuple[float, float, float, float]:
    """From the rider towards the nearest enemy ahead, straight ahead where there is none."""
    profile: GameProfile = config.profile
    objects = scene_of(view, config.course, profile).objects
    x, y = objects[0].center
    ahead = [thing.center for thing in objects if thing.category == "enemy" and thing.center[0] > x]
    if not ahead:
        return x, y, x + profile.shoot_offset_px, y
    far_x, far_y = min(ahead)[0] - x, min(ahead)[1] - y
    far = (far_x**2 + far_y**2) ** 0.5
    scale = profile.shoot_offset_px / far
    lift = profile.shoot_y_offset_px if far > profile.distance_switch_px else 0
    return x, y, x + far_x * scale, y + far_y * scale + lift


class Scorer:
    """Adds a run to the file of scores when it ends."""

    def __init__(self, path: Path, course: str) -> None:
        self._path, self._course = path, course
        self._page = Page.TITLE

    def see(self, page: Page, device: SimulatedDevice) -> None:
        """Told the page of every frame; a run ends where PLAYING gives way to FALLEN."""
        if page is Page.FALLEN and self._page is Page.PLAYING:
            run = run_of(self._course, device.facts())
            add_run(self._path, run)
            print(f"{run.distance_m:,} m, {run.coins} coins, {run.kills} kills; added to {self._path}")
        self._page = page


class _Finger:
    """The mouse: pressed and let go in one place is a tap, drawn is a swipe."""

    def __init__(self, device: SimulatedDevice) -> None:
        self._device = device
        self._down: tuple[int, int, float] | None = None

    def __call__(self, event: int, x: int, y: int, flags: int, param: object) -> None:
        if event == cv2.EVENT_LBUTTONDOWN:
            self._down = x, y, time.perf_counter()
        elif event == cv2.EVENT_LBUTTONUP and self._down is not None:
            x1, y1, since_s = self._down
            self._down = None
            self._device.swipe(x1, y1, x, y, round((time.perf_counter() - since_s) * 1000))
