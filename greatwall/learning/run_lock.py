"""One trainer a folder: an advisory lock on a file, which the operating system frees however its owner dies.

Main thread.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path
from typing import Self

from greatwall.errors import ConfigError

NAME = ".ppo_greatwall.lock"
_TAKEN = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)


class RunLock:
    """A models folder as one process's own, for the length of a `with`.

    Raises `ConfigError` when another holds it: its process id and since when. A file system that knows
    no locks (some network shares) grants it unasked; `held` says which it was. The file itself stays,
    empty; a process that was killed leaves its own words in it, and no lock.
    """

    def __init__(self, models: Path) -> None:
        self._models, self._path = models, models / NAME
        self.held = False

    def __enter__(self) -> Self:
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ConfigError(
                f"cannot open {self._path}: expected a lock file of one's own, found "
                f"{(error.strerror or str(error)).lower()}; change its permissions or use --models"
            ) from error
        try:
            _lock(self._file)
            self.held = True
        except OSError as error:
            if error.errno in _TAKEN:
                owner = self._owner()
                os.close(self._file)
                raise ConfigError(
                    f"{self._models}: expected no other trainer in this folder, found {owner}; wait for it, "
                    "stop it, or name another folder with --models"
                ) from None
        self._sign(f"process {os.getpid()}, training since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        return self

    def __exit__(self, *_: object) -> None:
        if self.held:
            self._sign("")
        os.close(self._file)  # which frees it
        self.held = False

    def _sign(self, text: str) -> None:
        """Say whose it is. On a full disk nobody learns that; the lock holds all the same."""
        if not self.held:
            return
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, text.encode(), 0)
        except OSError:
            return

    def _owner(self) -> str:
        words = os.pread(self._file, 200, 0).decode(errors="replace").split("\n")[0]
        return words or "another process that trains there"


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        """The byte far behind the words, which stay readable for others."""
        os.lseek(file, 1 << 20, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
