"""Film an evaluation on the game clock: every tick one frame, as a 30 frames/s MP4. Main thread.

The film is taken between the Worker and its device, so that a filmed run is the run itself: drawing
changes no state, and time moves by the same ticks.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, cast

import av
import cv2
import numpy as np
from PIL import Image

from config import TICK_HZ, Config, GameProfile
from game_env import GreatWallEnv
from greatwall.assembly import build_device, build_env, build_eyes
from greatwall.contracts import Frame, FrameArray, Perception, Player, TickedDevice
from greatwall.errors import ConfigError
from greatwall.learning.evaluation import play_episode
from greatwall.worker.game_clock import ticked
from greatwall.worker.windows import SIGHT_SIZE, draw_sight
from ppo_acting import Worker

FILM_SIZE = SIGHT_SIZE
GIF_SIZE = (372, 222)  # px: TensorBoard keeps images in memory
GIF_EVERY = 5  # of the film's frames


class Film:
    """An H.264 file of BGR frames, as a context: written under a temporary name, and renamed at its end.

    What is interrupted, or fails, leaves nothing behind and an earlier file of that name alone.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._unfinished = path, path.with_name(f".{path.name}.part")
        try:
            self._container = av.open(str(self._unfinished), "w", format="mp4")
            self._stream = self._container.add_stream("libx264", rate=TICK_HZ)
            self._stream.width, self._stream.height = FILM_SIZE
            self._stream.pix_fmt = "yuv420p"
            self._stream.time_base = Fraction(1, TICK_HZ)
            self._stream.options = {"preset": "veryfast", "crf": "26"}
            self._container.start_encoding()
        except OSError as error:
            raise ConfigError(
                f"cannot write the video {path}: expected a writable place, found {error.strerror}; "
                "name another file"
            ) from error
        self.frames = 0

    def add(self, picture: FrameArray) -> None:
        frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
        frame.pts = self.frames
        self.frames += 1
        self._container.mux(self._stream.encode(frame))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._container.mux(self._stream.encode(None))
            self._container.close()
            if kind is None:
                self._unfinished.replace(self._path)
        except OSError as error:
            raise ConfigError(
                f"expected to write the video {self._path}, found {error.strerror}; choose another place"
            ) from error
        finally:
            self._unfinished.unlink(missing_ok=True)


class FilmedDevice:
    """A ticked device that shows every tick's frame to `watch`; everything else is the device's own."""

    def __init__(self, device: TickedDevice, watch: Callable[[Frame], None]) -> None:
        self._device, self._watch = device, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    @property
    def tick(self) -> int:
        return self._device.tick

    def advance(self, ticks: int) -> None:
        for _ in range(ticks):
            self._device.advance(1)
            self._watch(self._device.frame())


def seen(frame: Frame, perception: Perception | None, profile: GameProfile) -> FrameArray:
    """The frame with the newest perception drawn into it, as the first debug window shows it."""
    if perception is None:
        return np.asarray(cv2.resize(frame.bgr, FILM_SIZE, interpolation=cv2.INTER_AREA), np.uint8)
    return draw_sight(frame, perception, profile)


def film_end(config: Config, player: Player, seed: int, path: Path, seconds: float) -> bytes:
    """Film the last `seconds` of an episode, and return them as an animated GIF of `GIF_SIZE` besides.

    It is played twice, and is the same both times: first to learn when it ends, since drawing all of a
    long ride would take minutes. On the game's clock; raises `ConfigError`.
    """
    env = build_env(config)
    try:
        play_episode(env, player, seed)
        ends_at = ticked(cast("Worker", env.worker).device).tick
    finally:
        env.close()
    device = ticked(build_device(config))
    begins_at = ends_at - round(seconds * TICK_HZ)
    small: list[Image.Image] = []

    def watch(frame: Frame) -> None:
        if device.tick > begins_at:
            picture = seen(frame, worker.perception, config.profile)
            film.add(picture)
            if film.frames % GIF_EVERY == 0:
                shrunk = cv2.resize(picture, GIF_SIZE, interpolation=cv2.INTER_AREA)
                small.append(Image.fromarray(cv2.cvtColor(shrunk, cv2.COLOR_BGR2RGB)))

    worker = Worker(config, FilmedDevice(device, watch), build_eyes(config))
    env = GreatWallEnv(config, worker)
    try:
        with Film(path) as film:
            play_episode(env, player, seed)
    finally:
        env.close()
    return _animated(small)


def _animated(pictures: list[Image.Image]) -> bytes:
    """One palette for all, made from the last: what does not move then does not flicker either."""
    palette = pictures[-1].quantize(64)
    frames = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures]
    out = io.BytesIO()
    duration_ms = round(1000 * GIF_EVERY / TICK_HZ)
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=duration_ms, loop=0)
    return out.getvalue()
