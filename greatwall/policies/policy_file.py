"""The policy file: a zip of `policy.json` and one `.npy` per tensor, complete in itself, no pickle.

`policy.json` holds format, version, observation size, extras, action names, network, the game profile it was
trained on, and facts about the training. Runs on the caller's thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from greatwall.contracts import OBSERVATION_SIZE, Action, FloatArray
from greatwall.errors import ConfigError, FileFormatError
from greatwall.extras import extras_size
from greatwall.policies.archive import read_archive, write_archive
from greatwall.policies.network import NetworkSpec, build_policy, load_tensors, policy_tensors

FORMAT = "greatwall-policy"
VERSION = 1
DOCUMENT = "policy.json"
ACTION_NAMES = [action.name.lower() for action in Action]
_REMEDY = "use a file that train_ppo.py wrote, or train one: python train_ppo.py"


@dataclass(frozen=True)
class Policy:
    """A trained policy as read from a file: weights, what they are, and where they come from."""

    network: ActorCriticPolicy
    spec: NetworkSpec
    profile: str
    training: dict[str, Any]

    def probabilities(self, observation: FloatArray) -> np.ndarray[Any, Any]:
        """Probability of each action for one observation, float32 (3,)."""
        with torch.no_grad():
            batch = torch.from_numpy(np.ascontiguousarray(observation, np.float32)).unsqueeze(0)
            features: Any = self.network.extract_features(batch)
            logits = self.network.action_net(self.network.mlp_extractor.forward_actor(features))
            found: np.ndarray[Any, Any] = torch.softmax(logits, 1)[0].numpy()
            return found


def save_policy(
    path: Path,
    network: ActorCriticPolicy,
    spec: NetworkSpec,
    profile: str,
    training: dict[str, Any],
    *,
    keep_previous: bool = False,
) -> None:
    """Write a policy file atomically. `training` is any JSON object; raises `ConfigError`.

    `keep_previous`: the file of that name before it stays beside it (`archive.previous_of`).
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "observation_size": OBSERVATION_SIZE + extras_size(spec.extras),
        "extras": list(spec.extras),
        "actions": ACTION_NAMES,
        "extractor": {"kind": spec.extractor, "settings": dict(spec.settings)},
        "net_arch": list(spec.net_arch),
        "activation": spec.activation,
        "profile": profile,
        "training": training,
    }
    write_archive(path, DOCUMENT, document, policy_tensors(network), keep_previous=keep_previous)


def load_policy(path: Path) -> Policy:
    """Read a policy file. Raises `FileFormatError`, one line, for anything that is not one."""
    document, tensors = read_archive(path, DOCUMENT, "policy file", _REMEDY)

    def refuse(found: str) -> FileFormatError:
        return FileFormatError(f"{path}: expected a policy file, found {found}; {_REMEDY}")

    for name, expected in (
        ("format", FORMAT),
        ("version", VERSION),
        ("actions", ACTION_NAMES),
    ):
        if document.get(name) != expected:
            raise refuse(f"{name} {str(document.get(name))[:60]!r} instead of {expected!r}")
    extractor, layers = document.get("extractor"), document.get("net_arch")
    extras = document.get("extras", [])  # files from before there were any have none
    if not isinstance(extras, list) or not all(isinstance(one, str) for one in extras):
        raise refuse(f"extras {str(extras)[:60]!r} instead of names")
    profile, training = document.get("profile"), document.get("training")
    if not (isinstance(extractor, dict) and isinstance(layers, list) and isinstance(profile, str)):
        raise refuse("no extractor, net_arch or profile")
    if not (isinstance(extractor.get("settings"), dict) and isinstance(training, dict)):
        raise refuse("no extractor settings or training facts")
    kind, activation = extractor.get("kind"), document.get("activation")
    try:
        settings = dict(extractor["settings"])
        spec = NetworkSpec(str(kind), settings, tuple(layers), str(activation), tuple(extras))
    except ConfigError as error:
        raise refuse(f"a network it cannot have ({error})") from None
    size = OBSERVATION_SIZE + extras_size(spec.extras)
    if document.get("observation_size") != size:
        raise refuse(f"observation_size {str(document.get('observation_size'))[:60]!r} instead of {size}")
    network = build_policy(spec)
    try:
        load_tensors(network, tensors)
    except ValueError as error:
        raise refuse(str(error)) from None
    return Policy(network, spec, profile, training)
