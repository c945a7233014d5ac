"""Where a run keeps its files, and how earlier ones are put aside. Main thread."""

from __future__ import annotations

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

    def set_aside(self) -> Path | None:
        """Move every file of an earlier run into `models/old-<time>/`; None when there is none."""
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
