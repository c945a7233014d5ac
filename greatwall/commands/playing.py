"""How far an evaluation has come: a bar, or now and then a line where there is no terminal. Main thread."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from greatwall.learning.evaluation import EpisodeResult
from greatwall.metrics.statistics import mean

LINE_S = 20.0  # between lines


class Playing:
    """Collects episodes, player by player, and shows how many there are; a context."""

    def __init__(self, console: Console, names: tuple[str, ...], episodes: int) -> None:
        self._console, self._names = console, names
        self._total = episodes * len(names)
        self._found: list[list[EpisodeResult]] = [[] for _ in names]
        self._said_s = time.monotonic()
        self._bar = Progress(
            TextColumn("playing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[numbers]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=self._total, numbers="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._bar.stop()

    def add(self, player: int, result: EpisodeResult) -> None:
        """An episode ended."""
        self._found[player].append(result)
        self._bar.update(self._task, advance=1, numbers=self._numbers())
        now_s = time.monotonic()
        if not self._console.is_terminal and now_s - self._said_s > LINE_S:
            self._said_s = now_s
            played = sum(map(len, self._found))
            self._console.print(f"played {played} of {self._total}  {self._numbers()}", highlight=False)

    def found(self) -> list[list[EpisodeResult]]:
        """What was played, each player's in the order of the courses."""
        return [sorted(one, key=lambda result: result.seed) for one in self._found]

    def _numbers(self) -> str:
        means = (
            f"{name} {mean([one.distance_m for one in results]):,.0f} m"
            for name, results in zip(self._names, self._found, strict=True)
            if results
        )
        return ", ".join(means)
