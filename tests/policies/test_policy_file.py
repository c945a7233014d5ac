"""A policy file is complete in itself, and only what a policy may be is made from it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from greatwall.contracts import OBSERVATION_SIZE
from greatwall.errors import FileFormatError
from greatwall.extras import extras_size
from greatwall.policies.network import NetworkSpec, build_policy, load_tensors, policy_tensors
from greatwall.policies.policy_file import load_policy, save_policy

SPECS = [
    NetworkSpec("flat", {}, (64, 64)),
    NetworkSpec("normalised", {"clip": 5.0}, (32,), "relu"),
    NetworkSpec("radial", {"spacing_px": 30.0}, (16, 8)),
    NetworkSpec("timed", {"spacing_s": 0.1}, (16,), extras=("touches", "motion", "ahead")),
    NetworkSpec("normalised", {}, (16,), extras=("recall",)),
]


def observations(n: int = 8, extras: tuple[str, ...] = ()) -> np.ndarray[Any, np.dtype[np.float32]]:
    size = OBSERVATION_SIZE + extras_size(extras)
    return np.random.default_rng(0).random((n, size), np.float32)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: "-".join((spec.extractor, *spec.extras)))
def test_a_loaded_policy_plays_the_same(spec: NetworkSpec, tmp_path: Path) -> None:
    torch.manual_seed(1)
    network = build_policy(spec)
    save_policy(tmp_path / "p.zip", network, spec, "Great Wall Run", {"timesteps": 7})
    policy = load_policy(tmp_path / "p.zip")
    assert policy.spec == spec
    assert policy.profile == "Great Wall Run"
    assert policy.training == {"timesteps": 7}
    for name, tensor in policy_tensors(network).items():
        np.testing.assert_array_equal(tensor, policy_tensors(policy.network)[name])
    for one in observations(extras=spec.extras):
        expected, _ = network.predict(one, deterministic=True)
        chances = policy.probabilities(one)
        assert chances.argmax() == expected
        assert chances.sum() == pytest.approx(1.0, abs=1e-5)


def test_normalisation_travels_in_the_file(tmp_path: Path) -> None:
    spec = SPECS[1]
    network = build_policy(spec)
    network.features_extractor.absorb(torch.from_numpy(observations(100) * 0.3))
    save_policy(tmp_path / "p.zip", network, spec, "x", {})
    loaded = load_policy(tmp_path / "p.zip").network.features_extractor
    assert float(loaded.count) == 100.0
    torch.testing.assert_close(loaded.mean, network.features_extractor.mean)


def test_loading_does_not_disturb_the_torch_generator_of_training(tmp_path: Path) -> None:
    save_policy(tmp_path / "p.zip", build_policy(SPECS[0]), SPECS[0], "x", {})
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    load_policy(tmp_path / "p.zip")
    assert torch.rand(1) == expected


def altered(path: Path, change: Any, tensors: Any = None) -> Path:
    """A copy of a policy file with its document changed and, if asked, other tensors."""
    out = path.with_name("altered.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "policy.json":
                document = json.loads(data)
                change(document)
                data = json.dumps(document).encode()
            elif tensors is not None and tensors(name) is None:
                continue
            new.writestr(name, data)
    return out


BAD_DOCUMENTS: list[tuple[str, Any]] = [
    ("format", lambda d: d.update(format="other")),
    ("version", lambda d: d.update(version=99)),
    ("observation_size", lambda d: d.update(observation_size=10)),
    ("observation_size", lambda d: d.update(extras=["touches"])),
    ("extras", lambda d: d.update(extras="touches")),
    ("extras", lambda d: d.update(extras=[7])),
    ("extras", lambda d: d.update(extras=["touches", "touches"])),
    ("extras", lambda d: d.update(extras=["everything"])),
    ("actions", lambda d: d.update(actions=["wait", "jump"])),
    ("extractor", lambda d: d.update(extractor={"kind": "os.system", "settings": {}})),
    ("extractor", lambda d: d.update(extractor="radial")),
    ("setting", lambda d: d["extractor"].update(settings={"secret": 1})),
    ("spacing_px", lambda d: d["extractor"].update(settings={"spacing_px": 1e-9})),
    ("spacing_px", lambda d: d["extractor"].update(settings={"spacing_px": "25"})),
    ("layers", lambda d: d.update(net_arch=[10**9])),
    ("layers", lambda d: d.update(net_arch=[8] * 99)),
    ("layers", lambda d: d.update(net_arch=["a"])),
    ("net_arch", lambda d: d.update(net_arch={})),
    ("activation", lambda d: d.update(activation="eval")),
    ("tensor", lambda d: d.update(net_arch=[17, 8])),
    ("training", lambda d: d.update(training=None)),
    ("profile", lambda d: d.pop("profile")),
]


@pytest.mark.parametrize(("word", "change"), BAD_DOCUMENTS, ids=lambda value: str(value)[:12])
def test_a_document_that_no_policy_has_is_refused_in_one_line(word: str, change: Any, tmp_path: Path) -> None:
    save_policy(tmp_path / "p.zip", build_policy(SPECS[2]), SPECS[2], "x", {})
    with pytest.raises(FileFormatError) as caught:
        load_policy(altered(tmp_path / "p.zip", change))
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    save_policy(tmp_path / "p.zip", build_policy(SPECS[2]), SPECS[2], "x", {})
    path = altered(
        tmp_path / "p.zip", lambda d: None, lambda name: None if "action_net.bias" in name else name
    )
    with pytest.raises(FileFormatError, match=r"no tensor action_net\.bias"):
        load_policy(path)


def test_tensors_of_another_type_are_refused() -> None:
    policy = build_policy(SPECS[0])
    tensors = policy_tensors(policy)
    tensors["value_net.bias"] = tensors["value_net.bias"].astype(np.float64)
    with pytest.raises(ValueError, match="float64"):
        load_tensors(policy, tensors)


def test_a_file_from_before_there_were_extras_has_none(tmp_path: Path) -> None:
    save_policy(tmp_path / "p.zip", build_policy(SPECS[2]), SPECS[2], "x", {})
    old = altered(tmp_path / "p.zip", lambda document: document.pop("extras"))
    assert load_policy(old).spec == SPECS[2]
