"""Where a run keeps its files, and how earlier ones are put aside. Main thread."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from greatwall.errors import ConfigError

PREFIX = "ppo_greatwall"


@dataclass(frozen=True)
class RunFiles:
    """The files of the one run that a models folder and a logs folder hold (SPEC 7)."""

    models: Path
    logs: Path

    @property
    def best(self) -> Path:
        """The policy as it was when an episode's return was a record."""
        return self.models / f"{PREFIX}_best.zip"

    @property
    def eval_best(self) -> Path:
        """The best policy by evaluation on validation seeds."""
        return self.models / f"{PREFIX}_eval_best.zip"

    @property
    def final(self) -> Path:
        return self.models / f"{PREFIX}_final.zip"

    @property
    def interrupt(self) -> Path:
        return self.models / f"{PREFIX}_interrupt.zip"

    @property
    def state(self) -> Path:
        """What resuming needs."""
        return self.models / f"{PREFIX}_state.zip"

    @property
    def episodes(self) -> Path:
        """One row an episode, in the format of SB3's Monitor."""
        return self.logs / "monitor.csv"

    @property
    def board(self) -> Path:
        """TensorBoard's events."""
        return self.logs / PREFIX

    @property
    def film(self) -> Path:
        """The end of the best validation episode, beside what TensorBoard shows of it."""
        return self.board / "best_episode.mp4"

    def checkpoint(self, steps: int) -> Path:
        return self.models / f"{PREFIX}_{steps}_steps.zip"

    def prepare(self) -> None:
        """Make both folders and see that they can be written; `ConfigError` when not."""
        for folder, option in ((self.models, "--models"), (self.logs, "--logs")):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                probe = folder / f".write-test-{os.getpid()}"
                probe.touch()
                probe.unlink()
            except OSError as error:
                raise ConfigError(
                    f"cannot write to {folder}: expected a writable folder, found "
                    f"{(error.strerror or str(error)).lower()}; change its permissions or use {option}"
                ) from error

    def sweep(self) -> None:
        """Remove what killed trainers left half-written. Hold the folder's lock: others are at work else."""
        for folder, pattern in ((self.models, f".{PREFIX}_*.tmp"), (self.logs, f".{self.episodes.name}.tmp")):
            for path in folder.glob(pattern):
                path.unlink(missing_ok=True)

    def expect_logs_of(self, run_id: str | None) -> None:
        """See that the logs folder holds this run's logs or none; None for a run that is not there.

        Raises `ConfigError`: another run's curves are neither moved nor written into.
        """
        found = [path for path in (self.episodes, self.board) if path.exists()]
        if not found:
            return
        owner = self.run_of_logs()
        if run_id is None or (owner is not None and owner != run_id):
            raise ConfigError(
                f"{self.logs}: expected no logs but those of the run in {self.models}, found {found[0].name} "
                "of another run; name another folder with --logs, or move those away"
            )

    def run_of_logs(self) -> str | None:
        """The id in the first line of monitor.csv, empty where there is none; None without that file."""
        try:
            with open(self.episodes, encoding="utf-8") as file:
                header = json.loads(file.readline(500).lstrip("#"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return ""
        found = header.get("run") if isinstance(header, dict) else None
        return found if isinstance(found, str) else ""

    def set_aside(self) -> Path | None:
        """Move every file of an earlier run into `models/old-<time>/`; None when there is none.

        Logs are moved with it: see that they are its own first, by `expect_logs_of`.
        """
        ours = sorted(self.models.glob(f"{PREFIX}_*.zip"))
        logs = [path for path in (self.episodes, self.board) if path.exists()]
        if not ours and not logs:
            return None
        stamp = time.strftime("%Y%m%d-%H%M%S")
        old = self.models / f"old-{stamp}"
        number = 1
        while old.exists():
            number += 1
            old = self.models / f"old-{stamp}-{number}"
        try:
            old.mkdir()
            for path in ours:
                path.rename(old / path.name)
            for path in logs:
                shutil.move(path, old / path.name)
        except OSError as error:
            raise ConfigError(
                f"cannot move earlier files to {old}: expected a writable folder, found {error.strerror}; "
                "change its permissions or use --models"
            ) from error
        return old
