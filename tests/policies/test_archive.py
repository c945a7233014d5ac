"""Files from strangers: everything that is not ours is refused in one line, and nothing runs."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from greatwall.errors import ConfigError, FileFormatError
from greatwall.policies import archive as module
from greatwall.policies.archive import read_archive, write_archive

RAN: list[str] = []


def note_that_code_ran() -> str:
    RAN.append("ran")
    return "ran"


class Hostile:
    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return note_that_code_ran, ()


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return read_archive(path, "a.json", "thing", "make one")


def zip_of(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def npy(array: np.ndarray[Any, Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def header_only(shape: str, descr: str = "'<f4'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    tensors = {
        "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "scalar": np.array(3.5),
        "rng": np.arange(9, dtype=np.uint8),
    }
    write_archive(tmp_path / "f.zip", "a.json", {"x": [1, None, "ä"]}, tensors)
    document, found = read(tmp_path / "f.zip")
    assert document == {"x": [1, None, "ä"]}
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name], tensor)
        assert found[name].dtype == tensor.dtype
    assert [path.name for path in tmp_path.iterdir()] == ["f.zip"]


def hostile_files(folder: Path) -> dict[str, Path]:
    ok = json.dumps({}).encode()
    plain = folder / "plain"
    plain.write_bytes(pickle.dumps(Hostile()))
    old = folder / "old"
    old.write_bytes(pickle.dumps(Hostile(), protocol=0))
    empty = folder / "empty"
    empty.touch()
    text = folder / "text"
    text.write_text("hello")
    whole = zip_of(folder / "whole", {"a.json": ok, "tensors/w.npy": npy(np.ones(500, np.float32))})
    cut = folder / "cut"
    cut.write_bytes(whole.read_bytes()[:-200])
    flipped = bytearray(whole.read_bytes())
    flipped[whole.read_bytes().index(b"tensors/w.npy") + 20] ^= 0xFF
    corrupt = folder / "corrupt"
    corrupt.write_bytes(bytes(flipped))
    pickled = npy(np.array([Hostile()], dtype=object), allow_pickle=True)
    names = {
        "a pickle": plain,
        "a pickle ": old,
        "an empty file": empty,
        "some other kind": text,
        "truncated or corrupt": cut,
        "truncated or corrupt ": corrupt,
        "a folder": folder,
        "nothing there": folder / "missing",
    }
    members: dict[str, dict[str, bytes]] = {
        "Stable-Baselines3": {"data": ok, "policy.pth": pickle.dumps(Hostile())},
        "without a.json": {"b.json": ok},
        "unknown member": {"a.json": ok, "../x": b""},
        "unknown member ": {"a.json": ok, "tensors/x.pkl": pickle.dumps(Hostile())},
        "not JSON": {"a.json": b"\xff{"},
        "not JSON ": {"a.json": b"[" * 100_000},
        "not a JSON object": {"a.json": b"[]"},
        "a pickle in tensor": {"a.json": ok, "tensors/w.npy": pickled},
        "cannot be read": {"a.json": ok, "tensors/w.npy": b"\x93NUMPY\x01\x00\x05\x00hello"},
        "cannot be read ": {"a.json": ok, "tensors/w.npy": pickle.dumps(Hostile())},
        "not the one it declares": {"a.json": ok, "tensors/w.npy": header_only("(999999999999,)")},
        "not the one it declares ": {"a.json": ok, "tensors/w.npy": header_only("(-1,)") + b"abcd"},
        "of type": {"a.json": ok, "tensors/w.npy": npy(np.ones(2, np.complex128))},
        "not finite": {"a.json": ok, "tensors/w.npy": npy(np.array([np.nan], np.float32))},
        "too large": {"a.json": ok, "tensors/w.npy": bytes(module.MAX_TENSOR_BYTES + 1)},
    }
    for number, (name, content) in enumerate(members.items()):
        names[name] = zip_of(folder / f"zip{number}", content)
    for number, compression in enumerate((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)):
        names["compressed in a way it never is" + " " * number] = folder / f"squeezed{number}"
        with zipfile.ZipFile(folder / f"squeezed{number}", "w", compression) as file:
            file.writestr("a.json", ok)
    return names


def test_every_hostile_file_is_one_line_and_runs_nothing(tmp_path: Path) -> None:
    for expected, path in hostile_files(tmp_path).items():
        with pytest.raises(FileFormatError) as caught:
            read(path)
        message = str(caught.value)
        assert "\n" not in message
        assert expected.strip() in message, message
        assert "expected a thing" in message
        assert message.endswith("make one")
    assert RAN == []


def test_a_file_with_any_byte_changed_is_read_or_refused(tmp_path: Path) -> None:
    tensors = {"w": np.arange(40, dtype=np.float32), "v": np.ones((2, 2))}
    write_archive(tmp_path / "whole", "a.json", {"x": 1}, tensors)
    whole, changed = (tmp_path / "whole").read_bytes(), tmp_path / "changed"
    rng = np.random.default_rng(0)
    refused = 0
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] = int(rng.integers(256))
        changed.write_bytes(bytes(data))
        try:
            read(changed)
        except FileFormatError:
            refused += 1
    assert refused > len(whole) / 2


def test_a_failed_write_leaves_the_old_file_whole_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "f.zip"
    write_archive(path, "a.json", {"version": 1}, {})
    target = tmp_path / "no" / "such" / "folder.zip"
    with pytest.raises(ConfigError, match="cannot write"):
        write_archive(target, "a.json", {}, {})
    with pytest.raises(ValueError, match="JSON"):
        write_archive(path, "a.json", {"x": float("nan")}, {})
    assert read(path)[0] == {"version": 1}
    assert [one.name for one in tmp_path.iterdir()] == ["f.zip"]


def test_a_write_that_breaks_midway_leaves_the_old_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.zip"
    write_archive(path, "a.json", {"version": 1}, {})

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    def ctrl_c(_descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left"):
        write_archive(path, "a.json", {"version": 2}, {"w": np.ones(3)})
    monkeypatch.setattr(module.os, "fsync", ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        write_archive(path, "a.json", {"version": 2}, {"w": np.ones(3)})
    monkeypatch.undo()
    assert read(path)[0] == {"version": 1}
    assert [one.name for one in tmp_path.iterdir()] == ["f.zip"]
