"""The phone's files, and `sync:`, by which adb pushes and pulls them (AOSP adb, SYNC.TXT)."""

from __future__ import annotations

import posixpath
import struct
import time
from typing import NamedTuple

from tests.rigs.phone.transport import Stream

FOLDERS = ("/", "/data", "/data/local", "/data/local/tmp", "/sdcard", "/system", "/system/bin")
FOLDER_MODE, FILE_MODE = 0o40755, 0o100644
CHUNK = 64 * 1024
_REQUEST = struct.Struct("<4sI")


class Stored(NamedTuple):
    """One file: its bytes, mode and time of change in s of the epoch."""

    data: bytes
    mode: int
    changed_s: int


class Storage:
    """Files by absolute path, in memory."""

    def __init__(self) -> None:
        self.files: dict[str, Stored] = {}

    def write(self, path: str, data: bytes, mode: int = FILE_MODE) -> None:
        self.files[posixpath.normpath(path)] = Stored(data, mode, int(time.time()))

    def read(self, path: str) -> bytes | None:
        found = self.files.get(posixpath.normpath(path))
        return None if found is None else found.data

    def remove(self, path: str) -> bool:
        return self.files.pop(posixpath.normpath(path), None) is not None

    def is_folder(self, path: str) -> bool:
        return posixpath.normpath(path) in FOLDERS

    def listed(self, folder: str) -> list[tuple[str, Stored]]:
        """(name, file) of what lies in a folder, by name."""
        folder = posixpath.normpath(folder)
        inside = [(path, file) for path, file in self.files.items() if posixpath.dirname(path) == folder]
        return sorted((posixpath.basename(path), file) for path, file in inside)

    def stat(self, path: str) -> tuple[int, int, int]:
        """(mode, size, time of change); zeros when there is no such thing."""
        found = self.files.get(posixpath.normpath(path))
        if found is not None:
            return found.mode, len(found.data), found.changed_s
        return (FOLDER_MODE, 4096, 1) if self.is_folder(path) else (0, 0, 0)


async def serve_sync(storage: Storage, stream: Stream) -> None:
    """Answer STAT, LIST, SEND and RECV until QUIT."""
    while True:
        word, length = _REQUEST.unpack(await stream.read_exactly(_REQUEST.size))
        if word == b"QUIT":
            return
        path = (await stream.read_exactly(length)).decode("utf-8", "replace") if length else ""
        if word == b"STAT":
            await stream.write(b"STAT" + struct.pack("<3I", *storage.stat(path)))
        elif word == b"LIST":
            for name, file in storage.listed(path):
                facts = struct.pack("<4I", file.mode, len(file.data), file.changed_s, len(name.encode()))
                await stream.write(b"DENT" + facts + name.encode())
            await stream.write(b"DONE" + bytes(16))
        elif word == b"SEND":
            await _receive(storage, stream, path)
        elif word == b"RECV":
            await _send(storage, stream, path)
        else:
            await _fail(stream, f"unknown sync request {word!r}")
            return


async def _receive(storage: Storage, stream: Stream, target: str) -> None:
    path, _, mode = target.rpartition(",")
    data = bytearray()
    while True:
        word, length = _REQUEST.unpack(await stream.read_exactly(_REQUEST.size))
        if word == b"DONE":
            break
        if word != b"DATA" or length > CHUNK:
            await _fail(stream, "expected DATA of at most 64 KiB")
            return
        data += await stream.read_exactly(length)
    if not storage.is_folder(posixpath.dirname(path)):
        await _fail(stream, f"couldn't create file: No such file or directory: {path}")
        return
    storage.write(path, bytes(data), 0o100000 | (int(mode) & 0o777))
    await stream.write(b"OKAY" + bytes(4))


async def _send(storage: Storage, stream: Stream, path: str) -> None:
    data = storage.read(path)
    if data is None:
        await _fail(stream, "No such file or directory")
        return
    for start in range(0, len(data), CHUNK):
        piece = data[start : start + CHUNK]
        await stream.write(_REQUEST.pack(b"DATA", len(piece)) + piece)
    await stream.write(b"DONE" + bytes(4))


async def _fail(stream: Stream, reason: str) -> None:
    await stream.write(_REQUEST.pack(b"FAIL", len(reason.encode())) + reason.encode())
