"""Callbacks that report: the CSV, TensorBoard, the progress bar; and the one that holds the game still.

Main thread.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from torch.utils.tensorboard import SummaryWriter

from config import Config
from greatwall.learning.episode_log import EpisodeLog

WINDOW = 100  # episodes that means are taken over
RUN_VALUES = ("distance_m", "coins", "obstacles", "cliffs", "shots", "steps")
DEATHS = ("obstacle", "enemy", "gap")
LINE_EVERY = 10_000  # steps between lines where there is no terminal to draw a bar on


class PurgingBoard(TensorBoardOutputFormat):
    """SB3's TensorBoard writer; hides what an earlier session wrote after the step resumed from."""

    def __init__(self, folder: Path, first_step: int) -> None:
        self.writer = SummaryWriter(log_dir=str(folder), purge_step=first_step)
        self._is_closed = False


def board_logger(folder: Path, first_step: int) -> Logger:
    """An SB3 logger that writes TensorBoard events and nothing else."""
    return Logger(str(folder), [PurgingBoard(folder, first_step)])


class EpisodeCallback(BaseCallback):
    """One CSV row an episode."""

    def __init__(self, log: EpisodeLog) -> None:
        super().__init__()
        self._log = log

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info:
                self._log.write(self.num_timesteps, info)
        return True


class BoardCallback(BaseCallback):
    """Means over the last 100 episodes, step and update times, once a rollout."""

    def __init__(self) -> None:
        super().__init__()
        self._episodes: deque[dict[str, Any]] = deque(maxlen=WINDOW)
        self._since_s = time.perf_counter()
        self._update_s: float | None = None
        self._updating = False  # between the end of a rollout and the start of the next
        self._steps_before = 0

    def _on_step(self) -> bool:
        self._episodes.extend(info for info in self.locals["infos"] if "episode" in info)
        return True

    def _on_rollout_start(self) -> None:
        now_s = time.perf_counter()
        if self._updating:
            self._update_s = now_s - self._since_s
            self._updating = False
        self._since_s = now_s
        self._steps_before = self.num_timesteps

    def _on_rollout_end(self) -> None:
        now_s = time.perf_counter()
        steps = max(1, self.num_timesteps - self._steps_before)
        self.logger.record("time/step_ms", 1000 * (now_s - self._since_s) / steps)
        if self._update_s is not None:
            self.logger.record("time/update_s", self._update_s)
        self._since_s = now_s
        self._updating = True
        if self._episodes:
            self._record_episodes(list(self._episodes))

    def _record_episodes(self, episodes: list[dict[str, Any]]) -> None:
        def mean(values: list[float]) -> float:
            return sum(values) / len(values)

        for name in RUN_VALUES:
            self.logger.record(f"episode/{name}", mean([one["run"][name] for one in episodes]))
        for term in episodes[0]["terms"]:
            self.logger.record(f"reward/{term}", mean([one["terms"].get(term, 0.0) for one in episodes]))
        shots = sum(one["run"]["shots"] for one in episodes)
        kills = [one["run"]["kills"] for one in episodes if one["run"]["kills"] is not None]
        if shots and kills:
            self.logger.record("episode/kills", mean(kills))
            self.logger.record("episode/accuracy", sum(kills) / shots)
        for cause in DEATHS:
            share = mean([float(one["run"]["death"] == cause) for one in episodes])
            self.logger.record(f"deaths/{cause}", share)


class ProgressCallback(BaseCallback):
    """A bar with rate, mean distance and mean return; plain lines where there is no terminal."""

    def __init__(self, console: Console, target: int) -> None:
        super().__init__()
        self._console, self._target = console, target
        self._recent: deque[tuple[float, float]] = deque(maxlen=WINDOW)
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._first = 0
        self._started_s = self._drawn_s = 0.0
        self._next_line = 0

    def _on_training_start(self) -> None:
        self._first = self.num_timesteps
        self._started_s = time.perf_counter()
        self._next_line = self._first + min(LINE_EVERY, max(1, self._target // 10))
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("training"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[numbers]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task("", total=self._target, completed=self._first, numbers="")
            self._bar.start()

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info:
                self._recent.append((float(info["run"]["distance_m"]), float(info["episode"]["r"])))
        now_s = time.perf_counter()
        if self._bar is not None and now_s - self._drawn_s > 0.2:
            self._drawn_s = now_s
            self._bar.update(self._task, completed=self.num_timesteps, numbers=self._numbers(now_s))
        elif self._bar is None and self.num_timesteps >= self._next_line:
            self._next_line += min(LINE_EVERY, max(1, self._target // 10))
            self._console.print(f"{self.num_timesteps:,}/{self._target:,} steps  {self._numbers(now_s)}")
        return True

    def _numbers(self, now_s: float) -> str:
        rate = (self.num_timesteps - self._first) / max(1e-6, now_s - self._started_s)
        text = f"{rate:,.0f} steps/s"
        if self._recent:
            distance = sum(one[0] for one in self._recent) / len(self._recent)
            score = sum(one[1] for one in self._recent) / len(self._recent)
            text += f"  mean {distance:,.0f} m, return {score:+.1f}"
        return text

    def close(self) -> None:
        """Leave the terminal as it was; safe to call twice."""
        if self._bar is not None:
            self._bar.update(self._task, completed=self.num_timesteps)
            self._bar.stop()
            self._bar = None


class PausingCallback(BaseCallback):
    """On the wall clock, holds the game still while weights are updated, where the device can."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._wanted = config.worker.clock == "wall"
        self._paused: list[Any] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self._wanted:
            assert self.training_env is not None
            workers = self.training_env.get_attr("worker")
            self._paused = [worker for worker in workers if worker.pause()]

    def _on_rollout_start(self) -> None:
        self.release()

    def release(self) -> None:
        """Let the game go on; safe to call at any time."""
        for worker in self._paused:
            worker.resume()
        self._paused = []
