"""What a policy's network is, as plain values, and the SB3 `MlpPolicy` those values make.

Only the extractors and activations named here can be asked for, by a preset or by a file.
Runs on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from config import EXTRA_GROUPS
from greatwall.contracts import OBSERVATION_SIZE, Action
from greatwall.errors import ConfigError
from greatwall.extras import extras_size
from greatwall.policies.features import EXTRACTOR_SETTINGS, EXTRACTORS, READS_EXTRAS

ACTIVATIONS: dict[str, type[torch.nn.Module]] = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}
MAX_LAYERS, MAX_WIDTH = 4, 1024
ROWS_AT_ONCE = 512  # of observations to extract: their radial bases are many


def observation_space(extras: Sequence[str] = ()) -> spaces.Box:
    """SPEC 3's space, with these extras appended."""
    return spaces.Box(0.0, 1.0, (OBSERVATION_SIZE + extras_size(extras),), np.float32)


def action_space() -> spaces.Discrete:
    """SPEC 4's space."""
    return spaces.Discrete(len(Action))


@dataclass(frozen=True)
class NetworkSpec:
    """Extractor, its settings, layer widths (actor and critic alike), activation, and which extras
    (`greatwall/extras.py`) it wants beside the 207 numbers."""

    extractor: str = "radial"
    settings: dict[str, float] = field(default_factory=dict)
    net_arch: tuple[int, ...] = (64, 64)
    activation: str = "tanh"
    extras: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        def refuse(name: str, expected: str, found: object) -> None:
            raise ConfigError(f"network {name}: expected {expected}, found {found!r}; change the network")

        if self.extractor not in EXTRACTORS:
            refuse("extractor", f"one of {', '.join(EXTRACTORS)}", self.extractor)
        allowed = EXTRACTOR_SETTINGS[self.extractor]
        for name, value in self.settings.items():
            if name not in allowed:
                refuse("setting", f"one of {', '.join(allowed) or 'none'}", name)
            low, high = allowed[name]
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
                refuse(name, f"{low} to {high}", value)
        widths_ok = all(
            isinstance(w, int) and not isinstance(w, bool) and 1 <= w <= MAX_WIDTH for w in self.net_arch
        )
        if not widths_ok or len(self.net_arch) > MAX_LAYERS:
            refuse("layers", f"at most {MAX_LAYERS} of 1 to {MAX_WIDTH}", self.net_arch)
        if self.activation not in ACTIVATIONS:
            refuse("activation", f"one of {', '.join(ACTIVATIONS)}", self.activation)
        if not set(self.extras) <= set(EXTRA_GROUPS) or len(set(self.extras)) < len(self.extras):
            refuse("extras", f"some of {', '.join(EXTRA_GROUPS)}, each once", self.extras)

    def policy_kwargs(self) -> dict[str, Any]:
        """What SB3 needs to make this network; one features extractor serves actor and critic."""
        settings: dict[str, Any] = dict(self.settings)
        if self.extractor in READS_EXTRAS:
            settings["extras"] = self.extras
        return {
            "features_extractor_class": EXTRACTORS[self.extractor],
            "features_extractor_kwargs": settings,
            "net_arch": list(self.net_arch),
            "activation_fn": ACTIVATIONS[self.activation],
        }


class ExtractedPolicy(ActorCriticPolicy):
    """An `MlpPolicy` whose `evaluate_actions` and `forward` also take what its extractor has already made of
    observations. SB3's other methods go round `extract_features` and take observations only.

    No extractor learns: features need computing once, not anew in every epoch.
    """

    def extract(self, observations: torch.Tensor) -> torch.Tensor:
        """(N, size) observations -> (N, features), to be handed in instead of them."""
        if self._is_told_apart:
            with torch.no_grad():
                parts = [self.features_extractor(some) for some in observations.split(ROWS_AT_ONCE)]
            return torch.cat(parts)
        return observations

    def extract_features(  # type: ignore[override]
        self, obs: torch.Tensor, features_extractor: BaseFeaturesExtractor | None = None
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """SB3's; features pass as they are."""
        if torch.jit.is_tracing():  # an exported network is shown observations only
            return super().extract_features(obs, features_extractor)
        if self._is_told_apart and obs.shape[-1] == self.features_dim:
            return obs
        return super().extract_features(obs, features_extractor)

    @property
    def _is_told_apart(self) -> bool:
        """Whether features and observations differ in length; else all are taken for observations."""
        shape = self.observation_space.shape
        return shape is not None and shape[-1] != self.features_dim


def build_policy(spec: NetworkSpec) -> ExtractedPolicy:
    """A fresh policy in evaluation mode on the CPU. Draws from no global generator."""
    with torch.random.fork_rng(devices=[]):
        policy = ExtractedPolicy(
            observation_space(spec.extras), action_space(), lambda _remaining: 0.0, **spec.policy_kwargs()
        )
    policy.set_training_mode(False)
    return policy


# SB3 lists the one shared extractor three times; a file keeps it once.
_COPIES = ("pi_features_extractor.", "vf_features_extractor.")


def policy_tensors(policy: ActorCriticPolicy) -> dict[str, np.ndarray[Any, Any]]:
    """Every tensor of the policy by name, each once, as arrays of their own."""
    return {
        name: tensor.detach().cpu().numpy().copy()
        for name, tensor in policy.state_dict().items()
        if not name.startswith(_COPIES)
    }


def load_tensors(policy: ActorCriticPolicy, tensors: dict[str, np.ndarray[Any, Any]]) -> None:
    """Put tensors into a policy; raises ValueError naming the first that is missing, strange or misfits."""
    wanted = policy_tensors(policy)
    for name in sorted(wanted.keys() ^ tensors.keys()):
        raise ValueError(f"{'no' if name in wanted else 'an unknown'} tensor {name}")
    for name, own in wanted.items():
        found = tensors[name]
        if found.shape != own.shape or found.dtype != own.dtype:
            raise ValueError(
                f"tensor {name} of {found.dtype}{list(found.shape)} instead of {own.dtype}{list(own.shape)}"
            )
    state = {name: torch.from_numpy(array.copy()) for name, array in tensors.items()}
    for name in policy.state_dict():
        for copy in _COPIES:
            if name.startswith(copy):
                state[name] = state["features_extractor." + name.removeprefix(copy)]
    policy.load_state_dict(state)
