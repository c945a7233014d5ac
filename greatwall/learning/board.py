"""What TensorBoard shows: an event file that a full disk does not break, and SB3's logger on top of it.

TensorBoard's own writer ends its thread at the first refusal, and the training with it. Main thread.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter
from torch.utils.tensorboard import SummaryWriter

from greatwall.learning.disk import Disk, PatientFile

_made = 0  # event files of this process: part of their names, as TensorBoard's own count is


class EventFile:
    """One new event file, with the methods of torch's `FileWriter` that `SummaryWriter` needs here."""

    def __init__(self, folder: Path, file: PatientFile) -> None:
        self._folder, self._file = folder, file
        self._records = RecordWriter(file)
        self.add_event(Event(file_version="brain.Event:2"))

    def get_logdir(self) -> str:
        return str(self._folder)

    def add_event(self, event: Any, step: float | None = None, walltime: float | None = None) -> None:
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self._records.write(event.SerializeToString())

    def add_summary(
        self, summary: Any, global_step: float | None = None, walltime: float | None = None
    ) -> None:
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class BoardWriter(SummaryWriter):
    """torch's writer on an `EventFile`; hides what an earlier session wrote from step `purge_step` on."""

    def __init__(self, folder: Path, disk: Disk, purge_step: int) -> None:
        global _made
        folder.mkdir(parents=True, exist_ok=True)
        _made += 1
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{_made}"
        self._events = EventFile(folder, disk.append_to(folder / name))
        super().__init__(log_dir=str(folder), purge_step=purge_step)

    def _get_file_writer(self) -> EventFile:
        """torch asks here for whatever it writes to."""
        if self.file_writer is None:
            self.file_writer = self._events  # type: ignore[assignment]
            self.all_writers = {self._events.get_logdir(): self._events}  # type: ignore[assignment]
            self._events.add_event(
                Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START))
            )
        return self._events

    def add_animation(self, tag: str, gif: bytes, size: tuple[int, int], step: int) -> None:
        """An animated GIF of `size` (width, height) px, which the Images page plays."""
        image = Summary.Image(height=size[1], width=size[0], colorspace=3, encoded_image_string=gif)
        self._events.add_summary(Summary(value=[Summary.Value(tag=tag, image=image)]), step)


class PurgingBoard(TensorBoardOutputFormat):
    """SB3's TensorBoard writer on a `BoardWriter`."""

    def __init__(self, folder: Path, disk: Disk, first_step: int) -> None:
        self.writer = BoardWriter(folder, disk, first_step)
        self._is_closed = False


def board_logger(folder: Path, disk: Disk, done: int) -> Logger:
    """An SB3 logger that writes TensorBoard events and nothing else, after `done` steps.

    What was written at that step stays: it was complete before the state was saved.
    """
    return Logger(str(folder), [PurgingBoard(folder, disk, done + 1 if done else 0)])
