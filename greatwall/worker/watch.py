"""A player plays on a thread of its own; the main thread shows the windows and hears Ctrl-C.

The player's thread alone drives the env and writes the board. It ends when told to stop, or by an
exception, which `watch` raises on the main thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from config import Config
from greatwall.contracts import Action, Clock, FloatArray, Frame, Hud, Perception, Player
from greatwall.errors import RecordingEnded, WorkerError
from greatwall.metrics.timing import WorkerTiming
from greatwall.worker.board import Board
from greatwall.worker.display import FPS, Shown, Windows, missing_display
from greatwall.worker.trace import Trace

LOG = logging.getLogger("greatwall.watch")
STOP_S = 15.0  # a restart procedure may still be under way
Reset = tuple[FloatArray, dict[str, Any]]
Step = tuple[FloatArray, float, bool, bool, dict[str, Any]]


class WatchedWorker(Protocol):
    """What is shown of a Worker."""

    clock: Clock
    timing: WorkerTiming | None
    shown: tuple[Frame, Perception] | None
    trace: Trace | None

    @property
    def hud(self) -> Hud: ...

    @property
    def turns(self) -> int: ...


class WatchedEnv(Protocol):
    """An env as its player knows it; `GreatWallEnv` is one."""

    def reset(self, *, seed: int | None = None) -> Reset: ...

    def step(self, action: int) -> Step: ...

    def close(self) -> None: ...


class Play:
    """The player's thread: episode after episode until `stop`."""

    def __init__(
        self, env: WatchedEnv, player: Player, board: Board, seed: int, trace: Trace | None = None
    ) -> None:
        self._env = env
        self._player = player
        self._board = board
        self._seed = seed
        self._trace = trace
        self.stop = threading.Event()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="player", daemon=True)

    def _run(self) -> None:
        try:
            observation, info = self._env.reset(seed=self._seed)
            while not self.stop.is_set():
                self._episode(observation, info)
                if not self.stop.is_set():
                    observation, info = self._env.reset()
        except BaseException as error:  # noqa: BLE001 - told to whoever watches
            self.error = error

    def _episode(self, observation: FloatArray, info: dict[str, Any]) -> None:
        board, player = self._board, self._player
        player.reset(self._seed + board.episodes)
        board.begin()
        while not self.stop.is_set():
            began_s = time.perf_counter()
            action = Action(int(player.act(observation, info["perception"])))
            if self._trace is not None:
                self._trace.decided(began_s, time.perf_counter())
            observation, reward, terminated, truncated, info = self._env.step(int(action))
            board.step(action, reward, info["reward_terms"], info["hud"].distance)
            if terminated or truncated:
                interruption = info.get("interruption", "")
                if interruption:
                    LOG.warning("interrupted: %s %s", interruption, info.get("interruption_detail", ""))
                board.end(info.get("run", {}), interruption or "restart 重新开始")
                return


def watch(
    env: WatchedEnv,
    worker: WatchedWorker,
    player: Player,
    config: Config,
    *,
    seed: int = 0,
    seconds: float = 0.0,
    headless: bool = False,
    screenshot: Path | None = None,
    say: Callable[[str], None] = LOG.info,
    hands_off: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Play for `seconds` (0: until Ctrl-C, or q in a window) and return the figures of SPEC's `--json`.

    `hands_off` is called when the space bar is pressed in a window. Runs on the main thread. Closes
    the env. Raises what ended the player, `WorkerError` with its cause.
    """
    why = "" if headless else missing_display()
    if why:
        say(f"no windows: {why}; going on headless (set DISPLAY, or pass --headless)")
    visible = not headless and not why
    windows = None
    if visible or screenshot:
        windows = Windows(config.profile, worker.clock, visible=visible, hands_off=hands_off)
    board = Board(player.name)
    play = Play(env, player, board, seed, worker.trace)
    began_s, cpu_s = time.perf_counter(), time.process_time()
    play.thread.start()
    try:
        _look_on(play, worker, board, windows, began_s + seconds if seconds > 0 else None)
    except KeyboardInterrupt:
        say("stopped")
    finally:
        elapsed_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
        figures = summary(worker, board, elapsed_s, cpu_s)
        play.stop.set()
        try:
            if windows is not None and screenshot is not None:
                _save(windows, worker, board, screenshot, say)
        finally:
            play.thread.join(STOP_S)
            env.close()
            if windows is not None:
                windows.close()
    if isinstance(play.error, RecordingEnded):
        say(str(play.error))
    elif play.error is not None:
        raise play.error
    if play.thread.is_alive():
        raise WorkerError(f"expected the player to stop within {STOP_S:g} s, found it busy; start again")
    return figures


def _look_on(
    play: Play, worker: WatchedWorker, board: Board, windows: Windows | None, until_s: float | None
) -> None:
    """Until the time is up, the person presses q or Esc in a window, or the player ends."""
    while play.thread.is_alive():
        if until_s is not None and time.perf_counter() >= until_s:
            return
        next_s = time.perf_counter() + 1.0 / FPS
        shown = worker.shown
        if windows is not None and windows.visible and shown is not None:
            windows.draw(Shown(*shown, worker.hud, board, worker.timing))
        pause_s = min(next_s, until_s or next_s) - time.perf_counter()
        if windows is None or not windows.visible or not windows.pictures:
            play.stop.wait(max(0.0, pause_s))
        elif not windows.show(pause_s):
            return


def _save(
    windows: Windows, worker: WatchedWorker, board: Board, folder: Path, say: Callable[[str], None]
) -> None:
    shown = worker.shown
    if shown is not None:
        windows.draw(Shown(*shown, worker.hud, board, worker.timing))
    saved = windows.save(folder)
    say(f"saved {', '.join(path.name for path in saved)} in {folder}" if saved else "nothing seen to save")


def summary(worker: WatchedWorker, board: Board, elapsed_s: float, cpu_s: float) -> dict[str, Any]:
    """What `--json` writes; figures of timing are absent values where the clock is the game's."""
    timing = worker.timing if worker.timing is not None else WorkerTiming()
    frames = worker.turns
    return {
        **timing.summary(worker.clock.now_s()),
        "seconds": round(elapsed_s, 2),
        "episodes": board.episodes,
        "steps": board.all_steps,
        "best_m": board.best_m,
        "frames": frames,
        "cpu_ms_per_frame": round(1000 * cpu_s / frames, 2) if frames else None,
        "player": board.player,
    }
