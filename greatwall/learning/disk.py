"""A disk that is full or failing for a while: training goes on, says so, and writes later what it could not.

Main thread.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from greatwall.errors import ConfigError
from greatwall.worker.clocks import WallClock

# full; over a quota; failing; gone read-only after a failure; over a size limit; a share that went away
_NAMES = ("ENOSPC", "EDQUOT", "EIO", "EROFS", "EFBIG", "ESTALE", "ETIMEDOUT")  # not every system has all
REFUSALS = frozenset(getattr(errno, name) for name in _NAMES if hasattr(errno, name))
REPEAT_S = 60.0  # between two complaints
WAIT_S = 600.0  # for room, once nothing else is left to do
LOOK_S = 2.0

Write = Callable[[], None]


def refusal(error: BaseException) -> str | None:
    """What the disk said, where `error` is its doing and may pass; else None."""
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) and cause.errno in REFUSALS:
        return (cause.strerror or str(cause)).lower()
    return None


class Disk:
    """Tries writes, and keeps what a full disk refused until it takes it. `say` gets one line at a time."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._pending: dict[Path, Write] = {}
        self._appending: dict[Path, PatientFile] = {}
        self._said_s = -REPEAT_S
        self.refusals = 0

    @property
    def pending(self) -> list[Path]:
        """Files that are not on disk as they should be."""
        return [*self._pending, *(path for path, file in self._appending.items() if file.waiting)]

    def attempt(self, path: Path, write: Write, keep: Callable[[], Write]) -> bool:
        """Write a whole file now; False when the disk refuses. `keep` makes a write of what it was to
        hold, whatever happens to its parts meanwhile: tried again by `retry`, unless a newer one comes.

        Errors that no free space would cure are raised.
        """
        try:
            write()
        except (OSError, ConfigError) as error:
            reason = refusal(error)
            if reason is None:
                raise
            self._pending[path] = keep()
            self.complain(path, reason)
            return False
        self._pending.pop(path, None)
        return True

    def retry(self) -> bool:
        """Try once more what was refused; whether nothing is left."""
        missing = self.pending
        for path, write in list(self._pending.items()):
            self.attempt(path, write, lambda write=write: write)  # type: ignore[misc]
        for file in self._appending.values():
            file.flush()
        if missing and not self.pending:
            self._said_s = -REPEAT_S
            self._say(f"there is room again: wrote {_names(missing)}")
        return not self.pending

    def wait_for_room(self, limit_s: float = WAIT_S) -> bool:
        """The same until it works, for `limit_s` at most: at the end of a run there is nothing else to do."""
        ends_s = self._clock() + limit_s
        if self.pending and self.retry():
            return True
        while self.pending and self._clock() < ends_s:
            WallClock().sleep(LOOK_S)
            self.retry()
        return not self.pending

    def append_to(self, path: Path) -> PatientFile:
        """A file that only grows; what the disk refuses is kept in its order and written later."""
        self._appending[path] = file = PatientFile(path, self)
        return file

    def complain(self, path: Path, reason: str) -> None:
        """Loudly, but not more often than once in `REPEAT_S`."""
        self.refusals += 1
        now_s = self._clock()
        if now_s - self._said_s >= REPEAT_S:
            self._said_s = now_s
            self._say(
                f"cannot write {path}: expected room for it, found {reason}; training goes on and writes it "
                "later: free some space"
            )


class PatientFile:
    """Bytes to the end of a file, unbuffered; `waiting` counts those that are not there yet."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self._path, self._disk = path, disk
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._unwritten = bytearray()
        self.closed = False

    @property
    def waiting(self) -> int:
        return len(self._unwritten)

    def write(self, data: bytes) -> int:
        """Never raises what a full disk says; a part that was written is not written again."""
        self._unwritten += data
        self.flush()
        return len(data)

    def flush(self) -> None:
        while self._unwritten and not self.closed:
            try:
                written = os.write(self._file, self._unwritten)
            except OSError as error:
                reason = refusal(error)
                if reason is None:
                    raise
                self._disk.complain(self._path, reason)
                return
            del self._unwritten[:written]

    def close(self) -> None:
        """Safe to call twice; what the disk still refuses is lost."""
        if not self.closed:
            self.flush()
            self.closed = True
            with contextlib.suppress(OSError):
                os.close(self._file)


class PatientStream(io.TextIOBase):
    """A text stream that may lead to a file on a full disk: lines are dropped then, and nobody dies of it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except OSError as error:
            if refusal(error) is None:
                raise
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            if refusal(error) is None:
                raise

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding


def _names(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths)
