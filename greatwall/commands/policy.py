"""`python -m greatwall policy info|export FILE`: what a policy file holds, and the policy as ONNX.

Main thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from config import replace_in
from greatwall.assembly import build_env, make_config
from greatwall.commands.output import check_output
from greatwall.contracts import OBSERVATION_SIZE, FloatArray
from greatwall.errors import GreatWallError
from greatwall.extras import extras_size
from greatwall.players import make_player
from greatwall.policies.network import policy_tensors
from greatwall.policies.onnx_file import TOLERANCE, largest_difference, to_onnx, write_onnx
from greatwall.policies.policy_file import ACTION_NAMES, FORMAT, VERSION, Policy, load_policy

RANDOM_OBSERVATIONS = 256
REAL_OBSERVATIONS = 256
CHECK_STREAM = 71  # purpose tag of the generator
CHECK_SEED = 1_000_000  # a validation course
TABLE_WIDTH = 110


@dataclass(frozen=True)
class Info:
    """Say what a policy file holds: network, training, tensors. Nothing in it is run."""

    file: tyro.conf.Positional[Path]
    """the policy file"""

    def run(self) -> int:
        policy = load_policy(self.file)
        console = Console()
        if not console.is_terminal:
            console = Console(width=TABLE_WIDTH)
        console.print(info_table(self.file, policy))
        return 0


@dataclass(frozen=True)
class Export:
    """Write a policy as ONNX (observation -> logits, action) and check that it plays the same."""

    file: tyro.conf.Positional[Path]
    """the policy file"""
    out: Path | None = None
    """the ONNX file; beside the policy under its name by default"""

    def run(self) -> int:
        out = self.out or self.file.with_suffix(".onnx")
        check_output(out, "--out")
        policy = load_policy(self.file)
        model = to_onnx(policy)
        observations = check_observations(policy.spec.extras)
        difference, other_actions = largest_difference(policy, model, observations)
        if difference > TOLERANCE or other_actions:
            raise GreatWallError(
                f"{self.file}: expected an ONNX model that plays the same, found log probabilities "
                f"{difference:.1g} apart and {other_actions} other actions; report it, nothing was written"
            )
        write_onnx(out, model)
        Console(soft_wrap=True).print(
            f"wrote {out}: {len(model):,} bytes; {len(observations)} observations, the same actions, log "
            f"probabilities at most {difference:.1g} apart",
            highlight=False,
        )
        return 0


COMMAND = Annotated[Info, tyro.conf.subcommand("info")] | Annotated[Export, tyro.conf.subcommand("export")]


def info_table(path: Path, policy: Policy) -> Table:
    """Network, training facts and tensors of a policy, a row each."""
    table = Table("what", "value", title=_shown(path.name))
    spec = policy.spec
    settings = ", ".join(f"{name} {value:g}" for name, value in spec.settings.items())
    shape = policy.network.observation_space.shape
    tensors = policy_tensors(policy.network)
    numbers = sum(tensor.size for tensor in tensors.values())
    for name, value in (
        ("format", f"{FORMAT} {VERSION}"),
        ("trained on", policy.profile),
        ("observation", f"{shape[0] if shape else 0} numbers"),
        ("extras", ", ".join(spec.extras) or "none"),
        ("actions", ", ".join(ACTION_NAMES)),
        ("features", spec.extractor + (f" ({settings})" if settings else "")),
        ("layers", " x ".join(map(str, spec.net_arch)) + f", {spec.activation}"),
        ("tensors", f"{len(tensors)}, {numbers:,} numbers"),
    ):
        table.add_row(name, _shown(value))
    table.add_section()
    for name, value in _flat(policy.training):
        table.add_row(_shown(name), _shown(value))
    table.add_section()
    for name, tensor in tensors.items():
        size = " x ".join(map(str, tensor.shape)) or "1"
        table.add_row(_shown(name), f"{tensor.dtype} {size}, {tensor.min():.3g} to {tensor.max():.3g}")
    return table


def check_observations(extras: tuple[str, ...] = ()) -> np.ndarray[Any, Any]:
    """float32 (N, 207 + extras): random ones over the whole space, and real ones of courses."""
    size = OBSERVATION_SIZE + extras_size(extras)
    rng = np.random.default_rng(CHECK_STREAM)
    found = rng.random((RANDOM_OBSERVATIONS, size)).astype(np.float32)
    half = found[: RANDOM_OBSERVATIONS // 2]
    half[:, :200] = half[:, :200] > 0.1  # real terrain is 0 or 1
    config = replace_in(make_config(), "env", extras=extras)
    env = build_env(config)
    real: list[FloatArray] = []
    try:
        player = make_player("random", config)
        observation, info = env.reset(seed=CHECK_SEED)
        while len(real) < REAL_OBSERVATIONS:
            real.append(observation)
            action = player.act(observation, info["perception"])
            observation, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                observation, info = env.reset(seed=CHECK_SEED + len(real))
    finally:
        env.close()
    return np.concatenate([found, np.stack(real)])


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested facts as dotted names, in their own order."""
    rows: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        else:
            rows.append((f"{prefix}{name}", value))
    return rows


def _shown(value: object) -> Text:
    """A stranger's text, harmless: no control character, no markup, one line's length."""
    return Text("".join(one if one.isprintable() else "?" for one in str(value))[:80])
