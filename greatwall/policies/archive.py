"""A zip of one JSON document and named `.npy` tensors: the only file format this project reads back.

Nothing here unpickles. Everything read is bounded before it is allocated, and whatever is wrong with
a file becomes one `FileFormatError` line. Writing is atomic: a temporary name beside the target, then
`os.replace`; the file that was there before can be kept beside it. Runs on the caller's thread.
"""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import math
import os
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greatwall.errors import ConfigError, FileFormatError

Tensor = NDArray[Any]

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_TENSOR_BYTES = 16 * 1024 * 1024
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
MAX_MEMBERS = 512
DTYPES = ("float32", "float64", "int64", "uint32", "uint8")

PICKLE_STARTS = (b"\x80", b"c", b"(")  # protocol 2 and later; a global; a mark

_TENSOR_NAME = re.compile(r"tensors/([A-Za-z0-9_.]{1,120})\.npy")
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others are parsers that nothing needs
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    LookupError,
    OverflowError,
)


def previous_of(path: Path) -> Path:
    """The name under which the file that `path` replaced is kept."""
    return path.with_name(f"{path.stem}.previous{path.suffix}")


def write_archive(
    path: Path,
    document_name: str,
    document: Any,
    tensors: Mapping[str, Tensor],
    *,
    keep_previous: bool = False,
) -> None:
    """Write atomically; an existing file is whole until the new one is. Raises `ConfigError`.

    `keep_previous`: the file that was there before stays, as `previous_of(path)`.
    """
    text = json.dumps(document, indent=1, allow_nan=False)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr(document_name, text)
                for name, tensor in tensors.items():
                    archive.writestr(f"tensors/{name}.npy", _to_npy(tensor))
            file.flush()
            os.fsync(file.fileno())
        if keep_previous and path.exists():
            _keep(path)
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: expected a writable folder with room, found {error.strerror or error}; "
            "free space, change its permissions or name another folder"
        ) from error
    finally:  # Ctrl-C comes through here too; after a whole write there is nothing of that name
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _keep(path: Path) -> None:
    """Give the file its second name; at every moment one of both names is that of a whole file."""
    previous = previous_of(path)
    link = previous.with_name(f".{previous.name}.{os.getpid()}.tmp")
    try:
        link.unlink(missing_ok=True)
        os.link(path, link)
    except OSError:  # a file system without hard links (FAT, some shares): for a moment there is no `path`
        os.replace(path, previous)
        return
    try:
        os.replace(link, previous)
    finally:  # renaming one of two names of the same file does nothing
        link.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Have the names on disk too, where the system can: else a power cut may undo a rename."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_archive(
    path: Path, document_name: str, what: str, remedy: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The JSON document and the tensors of a file. `what` is its name for people ("policy file").

    Raises `FileFormatError` for anything that `write_archive` would not have written.
    """

    def refuse(found: str) -> FileFormatError:
        return FileFormatError(f"{path}: expected a {what}, found {found}; {remedy}")

    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_FILE_BYTES:
                raise refuse(f"{size:,} bytes, more than {MAX_FILE_BYTES:,}")
            data = file.read(MAX_FILE_BYTES)
    except FileNotFoundError:
        raise refuse("nothing there") from None
    except IsADirectoryError:
        raise refuse("a folder") from None
    except OSError as error:
        raise refuse(f"that it cannot be read ({error.strerror})") from None
    if not data.startswith(b"PK\x03\x04"):
        raise refuse(_foreign(data))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read_members(archive, document_name, refuse)
    except _BROKEN as error:
        raise refuse(f"a truncated or corrupt file ({_first_line(error)})") from None


def _read_members(
    archive: zipfile.ZipFile, document_name: str, refuse: Any
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    members = archive.infolist()
    names = [one.filename for one in members]
    if len(members) > MAX_MEMBERS or len(set(names)) != len(names):
        raise refuse(f"{len(members)} members, or one twice")
    if document_name not in names:
        sb3 = "data" in names and "policy.pth" in names
        raise refuse(
            "a Stable-Baselines3 file, which holds pickles" if sb3 else f"a zip without {document_name}"
        )
    document: Any = None
    tensors: dict[str, Tensor] = {}
    total = 0
    for member in members:
        match = _TENSOR_NAME.fullmatch(member.filename)
        if match is None and member.filename != document_name:
            raise refuse(f"an unknown member {member.filename[:60]!r}")
        if member.compress_type not in _COMPRESSIONS:
            raise refuse(f"a member {member.filename[:60]!r} compressed in a way it never is")
        limit = MAX_DOCUMENT_BYTES if match is None else MAX_TENSOR_BYTES
        total += member.file_size
        if member.file_size > limit or total > MAX_FILE_BYTES:
            raise refuse(f"a member {member.filename[:60]!r} of {member.file_size:,} bytes, too large")
        with archive.open(member) as file:
            data = file.read(limit)
        if match is None:
            document = _document(data, refuse)
        else:
            tensors[match.group(1)] = _from_npy(data, match.group(1), refuse)
    return document, tensors


def _document(data: bytes, refuse: Any) -> dict[str, Any]:
    try:
        document = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise refuse("a document that is not JSON") from None
    if not isinstance(document, dict):
        raise refuse("a document that is not a JSON object")
    return document


def _to_npy(tensor: Tensor) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(tensor, order="C"), allow_pickle=False)
    return buffer.getvalue()


def _from_npy(data: bytes, name: str, refuse: Any) -> Tensor:
    """The tensor in `data`; its declared size is compared with its bytes before anything is made."""
    stream = io.BytesIO(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if np.lib.format.read_magic(stream) != (1, 0):
                raise ValueError("unknown npy version")
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.hasobject:
            raise refuse(f"a pickle in tensor {name}")
        if dtype.name not in DTYPES:
            raise refuse(f"tensor {name} of type {dtype.name[:40]}")
        if min(shape, default=1) < 0 or math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
            raise refuse(f"tensor {name} whose size is not the one it declares")
        stream.seek(0)
        tensor: Tensor = np.load(stream, allow_pickle=False)
    except (ValueError, TypeError, EOFError, SyntaxError, RecursionError, MemoryError, UserWarning):
        raise refuse(f"tensor {name} that cannot be read") from None
    if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
        raise refuse(f"tensor {name} with values that are not finite")
    return tensor


def _foreign(data: bytes) -> str:
    if not data:
        return "an empty file"
    if data.startswith(PICKLE_STARTS):
        return "a pickle, which could run code"
    return "some other kind of file"


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:100]
