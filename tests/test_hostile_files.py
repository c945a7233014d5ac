"""A file from a stranger cannot run code: hostile pickles go to every path that takes a user's file.

Each file, once unpickled, would leave a mark. None may; and each is one line for the user.
"""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from config import GREAT_WALL, Config, EyesConfig
from greatwall.__main__ import main
from greatwall.assembly import make_config
from greatwall.commands.human_scores import read_runs
from greatwall.commands.profile import read_profile
from greatwall.data.detector_training import TrainingPlan, start_facts
from greatwall.data.labelled_folder import read_labelled_folder, write_strips
from greatwall.data.recording import read_recording
from greatwall.device.video import read_picture
from greatwall.errors import GreatWallError
from greatwall.eyes.detector import Detector
from greatwall.learning.training_state import read_state
from greatwall.players import make_player
from greatwall.policies.network import NetworkSpec, build_policy
from greatwall.policies.policy_file import load_policy, save_policy


class Payload:
    """Unpickled, it writes a file: what a stranger's code could do, and more."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self._mark, "ran")


def plain(payload: Payload, protocol: int) -> bytes:
    return pickle.dumps(payload, protocol)


def saved_by_torch(payload: Payload) -> bytes:
    buffer = io.BytesIO()
    torch.save({"policy": payload}, buffer)
    return buffer.getvalue()


def saved_by_torch_of_old(payload: Payload) -> bytes:
    buffer = io.BytesIO()
    torch.save({"policy": payload}, buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def array_of_objects(payload: Payload) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([payload], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def arrays_of_objects(payload: Payload) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, tensor=np.array([payload], dtype=object))
    return buffer.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def saved_by_sb3(payload: Payload) -> bytes:
    told = {"policy_class": {":type:": "x", ":serialized:": pickle.dumps(payload).hex()}}
    return zipped({"data": json.dumps(told).encode(), "policy.pth": saved_by_torch(payload)})


def policy_with_a_pickled_tensor(payload: Payload) -> bytes:
    """A real policy file in all but one tensor."""
    path = payload._mark.with_name("real.zip")
    spec = NetworkSpec("flat", {}, (4,))
    save_policy(path, build_policy(spec), spec, "x", {})
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["tensors/action_net.bias.npy"] = array_of_objects(payload)
    return zipped(members)


def state_with_a_pickled_tensor(payload: Payload) -> bytes:
    document = b'{"format": "greatwall-state", "version": 1}'
    return zipped({"state.json": document, "tensors/x.npy": array_of_objects(payload)})


def object_in_yaml(payload: Payload) -> bytes:
    return f"names: !!python/object/apply:pathlib.Path.write_text ['{payload._mark}', ran]\n".encode()


def code_in_json(payload: Payload) -> bytes:
    return json.dumps({"__reduce__": ["pathlib.Path.write_text", [str(payload._mark), "ran"]]}).encode()


HOSTILE: dict[str, Callable[[Payload], bytes]] = {
    **{f"pickle {number}": partial(plain, protocol=number) for number in (0, 2, 4, 5)},
    "torch": saved_by_torch,
    "old torch": saved_by_torch_of_old,
    "npy": array_of_objects,
    "npz": arrays_of_objects,
    "sb3": saved_by_sb3,
    "policy": policy_with_a_pickled_tensor,
    "state": state_with_a_pickled_tensor,
    "yaml": object_in_yaml,
    "json": code_in_json,
}


def as_labels(path: Path, data: bytes, name: str) -> None:
    """A folder of one real picture, in which the file `name` is `data`, is read and cut to strips."""
    folder = path.parent / "data"
    for one in ("images", "labels"):
        (folder / one).mkdir(parents=True)
    cv2.imwrite(str(folder / "images" / "a.png"), np.zeros((1080, 1920, 3), np.uint8))
    (folder / "labels" / "a.txt").write_text("0 0.5 0.6 0.1 0.1\n")
    (folder / name).write_bytes(data)
    labelled = read_labelled_folder(folder, GREAT_WALL)
    write_strips(labelled.train, GREAT_WALL, (640, 192), path.parent / "strips")


def with_weights(path: Path, runtime: str) -> None:
    Detector(GREAT_WALL, EyesConfig(weights=str(path), runtime=runtime))  # type: ignore[arg-type]


def plan_from(weights: Path) -> TrainingPlan:
    return TrainingPlan(1, 1, 0, 1, (640, 192), start=str(weights))


# What takes a user's file, the name such a file has, and how it is read.
PATHS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "policy file": ("p.zip", load_policy),
    "player": ("p.zip", lambda path: make_player(str(path), Config())),
    "resume state": ("ppo_greatwall_state.zip", read_state),
    "detector on onnxruntime": ("d.onnx", lambda path: with_weights(path, "onnx")),
    "detector on openvino": ("d.onnx", lambda path: with_weights(path, "openvino")),
    "detector named .pt": ("d.pt", lambda path: with_weights(path, "auto")),
    "detector named .xml": ("d.xml", lambda path: with_weights(path, "openvino")),
    "weights to start from": ("d.onnx", lambda path: start_facts(plan_from(path))),
    "profile": ("p.json", read_profile),
    "recording": ("r.json", read_recording),
    "human scores": ("h.json", read_runs),
    "picture": ("a.png", read_picture),
    "class names": ("x", lambda path: as_labels(path, path.read_bytes(), "data.yaml")),
    "label rows": ("x", lambda path: as_labels(path, path.read_bytes(), "labels/a.txt")),
    "data set picture": ("x", lambda path: as_labels(path, path.read_bytes(), "images/a.png")),
}


@pytest.fixture
def payload(tmp_path: Path) -> Payload:
    return Payload(tmp_path / "mark")


def test_the_payload_would_run_if_anybody_unpickled_it(payload: Payload) -> None:
    pickle.loads(plain(payload, 4))  # noqa: S301 - that it runs is the point
    assert payload._mark.read_text() == "ran"
    payload._mark.unlink()
    torch.load(io.BytesIO(saved_by_torch(payload)), weights_only=False)
    assert payload._mark.exists()


CASES = [pytest.param(taken_by, kind) for taken_by in PATHS for kind in HOSTILE]


@pytest.mark.parametrize(("taken_by", "kind"), CASES)
def test_no_file_runs_code_and_each_is_one_line(
    taken_by: str, kind: str, payload: Payload, tmp_path: Path
) -> None:
    name, read = PATHS[taken_by]
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / name
    path.write_bytes(HOSTILE[kind](payload))
    with pytest.raises(GreatWallError) as refused:
        read(path)
    assert "\n" not in str(refused.value)
    assert not payload._mark.exists()


def test_a_cache_beside_labels_is_not_looked_at(payload: Payload, tmp_path: Path) -> None:
    """ultralytics unpickles `labels.cache` where it finds one; it is never let into a user's folder."""
    (tmp_path / "in").mkdir()
    as_labels(tmp_path / "in" / "x", array_of_objects(payload), "labels.cache")
    written = [path.name for path in (tmp_path / "in" / "strips").rglob("*")]
    assert "000000.png" in written
    assert not [name for name in written if name.endswith(".cache")]
    assert not payload._mark.exists()


COMMANDS: dict[str, tuple[str, ...]] = {
    "evaluate": ("evaluate", "--policy", "FILE"),
    "compare": ("evaluate", "--compare", "idle", "FILE"),
    "human": ("evaluate", "--policy", "idle", "--episodes", "1", "--human", "FILE"),
    "policy info": ("policy", "info", "FILE"),
    "policy export": ("policy", "export", "FILE"),
    "replay": ("replay", "FILE"),
    "detector": ("detector", "train", "--start", "FILE", "--frames", "1", "--epochs", "1"),
}


@pytest.mark.parametrize("kind", ["pickle 4", "torch", "npz", "sb3", "policy"])
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_it_in_one_line(
    command: str, kind: str, payload: Payload, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ("r.json" if command == "replay" else "p.zip")
    path.write_bytes(HOSTILE[kind](payload))
    assert main([str(path) if word == "FILE" else word for word in COMMANDS[command]]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not payload._mark.exists()


def test_nothing_of_ours_unpickles(repo_root: Path) -> None:
    """Whoever adds a reader that can run a file's code has to come by here."""
    words = "pickle.load pickle.Unpickler torch.load( allow_pickle=True joblib PPO.load( yaml.load( ".split()
    words += "yaml.unsafe_load marshal.load shelve.open eval( exec(".split()
    found = []
    for path in sorted([*repo_root.glob("*.py"), *(repo_root / "greatwall").rglob("*.py")]):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            code = line.replace(".eval()", "").replace("YAML.load(", "")
            found += [f"{path.name}:{number} {word}" for word in words if word in code]
    assert not found
    assert make_config().eyes.weights == "", "the detector that is used unasked is the committed one"
