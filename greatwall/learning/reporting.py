"""Callbacks that report: the CSV, TensorBoard, the progress bar. Main thread."""

from __future__ import annotations

import time
from collections.abc import Sequence
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

from greatwall.learning.episode_log import EpisodeLog
from greatwall.learning.episode_window import RUN_VALUES, remember

DEATHS = ("obstacle", "enemy", "gap")
LINE_EVERY = 10_000  # steps between lines where there is no terminal to draw a bar on


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
    """Means over the last 100 episodes, step and update times, once a rollout.

    `window` is the list that `remember` fills; this callback is the one that fills it. A rollout's
    clock starts when its first step is over: what callbacks do before it belongs to the update.
    """

    def __init__(self, window: list[dict[str, Any]]) -> None:
        super().__init__()
        self._window = window
        self._ended_s: float | None = None  # the last rollout
        self._first_s: float | None = None  # the first step of this one was over
        self._first_steps = 0

    def _on_step(self) -> bool:
        remember(self._window, self.locals["infos"])
        if self._first_s is None:
            self._first_s, self._first_steps = time.perf_counter(), self.num_timesteps
            if self._ended_s is not None:
                self.logger.record("time/update_s", self._first_s - self._ended_s)
        return True

    def _on_rollout_end(self) -> None:
        self._ended_s = time.perf_counter()
        steps = self.num_timesteps - self._first_steps
        if self._first_s is not None and steps > 0:
            self.logger.record("time/step_ms", 1000 * (self._ended_s - self._first_s) / steps)
        self._first_s = None
        if self._window:
            self._record_episodes(self._window)

    def _record_episodes(self, episodes: Sequence[dict[str, Any]]) -> None:
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
    """A bar with rate, mean distance and mean return; plain lines where there is no terminal.

    The means are over `window`, which `BoardCallback` fills.
    """

    def __init__(self, console: Console, target: int, window: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self._console, self._target, self._window = console, target, window
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
        if self._window:
            distance = sum(one["run"]["distance_m"] for one in self._window) / len(self._window)
            score = sum(one["return"] for one in self._window) / len(self._window)
            text += f"  mean {distance:,.0f} m, return {score:+.1f}"
        return text

    def close(self) -> None:
        """Leave the terminal as it was; safe to call twice."""
        if self._bar is not None:
            self._bar.update(self._task, completed=self.num_timesteps)
            self._bar.stop()
            self._bar = None
