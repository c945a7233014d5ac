"""A real disk that is full: a small file system in memory, which root may mount on Linux."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

SIZE_KB = 4096


class SmallDisk:
    """`fill` leaves no byte of room in `folder`, `free` gives it back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """To the last byte: small files would fit in what a large write leaves."""
        with open(self._filler, "ab", buffering=0) as file:
            for size in (65536, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def free(self) -> None:
        self._filler.unlink()


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mounted for the length of the context; the test is skipped where that is not allowed."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k", "none", str(folder)],
        capture_output=True,
        check=False,
        timeout=30,
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=30)
