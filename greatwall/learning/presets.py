"""Named sets of training settings; what each comes to is in docs/learning.md.

`scratch` sees the extras touches, motion and ahead beside the 207 numbers and learns from nothing. `default`
sees the same and is first shown what the rule player would do. `memory` sees the 207 alone and remembers: its
speed, its touches. `plain` sees the 207 alone and remembers nothing. `paper` is the user's own (SPEC 7): one
env, raw numbers, both switches of the reward off.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from config import Config, replace_in
from greatwall.errors import ConfigError
from greatwall.policies.network import NetworkSpec

TEACHERS = ("rule", "rule207", "oracle")  # greatwall/learning/demonstrations.py
# What follows demonstrations is gentler: a policy that plays well already has more to lose.
WARM_RATE, WARM_ENTROPY, WARM_CLIP, WARM_KL = 0.2, 0.1, 0.1, 0.01


@dataclass(frozen=True)
class Preset:
    """Everything that decides how a policy is trained, apart from the game itself."""

    name: str
    n_envs: int
    rollout_steps: int  # env steps of one rollout, all envs together
    batch_size: int
    n_epochs: int
    learning_rate: float
    falls_to_zero: bool  # linearly, over the whole run
    gamma: float  # a step
    gae_lambda: float
    clip_range: float
    ent_coef: float
    vf_coef: float
    network: NetworkSpec
    entropy_falls_to_zero: bool = False  # linearly, over the whole run
    reward_scale: float = 1.0  # a fixed factor, so that the critic's targets are of order 1
    gamma_by_time: bool = False  # gamma and gae_lambda are a decision period's, not a step's
    furthest_start_m: float = 0.0  # training episodes begin anywhere up to here ...
    starts_at_0: float = 0.25  # ... but for this share of them
    episode_s: float = 0.0  # training episodes are cut off after that long; 0: never
    life_penalty: float = 0.0  # taken off for each life lost, for learning only; reports stay SPEC 5's
    passing_waits_for_hud: bool = True
    no_arrows_no_duty: bool = True
    target_kl: float = 0.0  # an update ends early where it moves the policy farther; 0 is no such guard
    warm_start: str = ""  # the teacher whose play the policy is fitted to first; empty is none
    demonstration_steps: int = 0  # of the run's steps, those that this takes

    def warmed(self, teacher: str, steps: int) -> Preset:
        """The same after a start from that teacher's demonstrations: learning on without unlearning."""
        if not teacher:
            return self
        if teacher not in TEACHERS:
            raise ConfigError(
                f"--warm-start: expected one of {', '.join(TEACHERS)}; found {teacher!r}; "
                "use --warm-start rule"
            )
        if self.warm_start:  # it is gentle already
            return dataclasses.replace(self, warm_start=teacher, demonstration_steps=steps)
        return dataclasses.replace(
            self,
            warm_start=teacher,
            demonstration_steps=steps,
            learning_rate=self.learning_rate * WARM_RATE,
            ent_coef=self.ent_coef * WARM_ENTROPY,
            clip_range=WARM_CLIP,
            target_kl=WARM_KL,
        )

    def with_envs(self, n_envs: int) -> Preset:
        """As many envs as asked for; the length of a rollout, in all, stays as it is."""
        return dataclasses.replace(self, n_envs=n_envs)

    @property
    def n_steps(self) -> int:
        """Steps of one env in a rollout."""
        return max(2, self.rollout_steps // self.n_envs)

    def rollout(self, remaining_steps: int) -> tuple[int, int]:
        """(steps of one env, batch size) of a rollout: the preset's, or what remains where that is less.

        The batch divides the rollout and is at most the preset's but more than half of it; where no
        such divisor exists (a prime number of steps) the rollout grows by a few steps.
        """
        n_steps = max(2, min(self.n_steps, -(-remaining_steps // self.n_envs)))
        while True:
            total = n_steps * self.n_envs
            wanted = min(self.batch_size, total)
            batch = max(size for size in range(1, wanted + 1) if total % size == 0)
            if 2 * batch > wanted:
                return n_steps, batch
            n_steps += 1

    def apply(self, config: Config) -> Config:
        """`config` with this preset's reward switches and the extras its network wants."""
        config = replace_in(
            config,
            "reward",
            passing_waits_for_hud=self.passing_waits_for_hud,
            no_arrows_no_duty=self.no_arrows_no_duty,
        )
        return replace_in(config, "env", extras=self.network.extras)

    def resolved(self) -> dict[str, Any]:
        """All settings as JSON-able values."""
        found = dataclasses.asdict(self)
        found["network"]["net_arch"] = list(self.network.net_arch)
        found["network"]["extras"] = list(self.network.extras)
        return found


def _by_time(name: str, network: NetworkSpec, furthest_start_m: float) -> Preset:
    """What `scratch`, `default` and `memory` share: discounting by time, and training at the speeds of the
    far course as well."""
    return Preset(
        name=name,
        n_envs=32,
        rollout_steps=2048,
        batch_size=256,
        n_epochs=6,
        learning_rate=7e-4,
        falls_to_zero=True,
        gamma=0.98,
        gae_lambda=0.96,
        clip_range=0.2,
        ent_coef=0.01,
        vf_coef=0.5,
        network=network,
        entropy_falls_to_zero=True,
        reward_scale=0.1,
        life_penalty=40.0,
        gamma_by_time=True,
        furthest_start_m=furthest_start_m,
        episode_s=60.0,
    )


_ALL_EXTRAS = NetworkSpec("timed", {}, (128, 128), extras=("touches", "motion", "ahead"))

PRESETS: dict[str, Preset] = {
    "default": _by_time("default", _ALL_EXTRAS, 26_000.0).warmed("rule", 80_000),
    "scratch": _by_time("scratch", _ALL_EXTRAS, 8_000.0),
    "memory": _by_time("memory", NetworkSpec("timed", {}, (64, 64), extras=("recall",)), 10_000.0),
    "plain": Preset(
        name="plain",
        n_envs=16,
        rollout_steps=2000,
        batch_size=250,
        n_epochs=5,
        learning_rate=5e-4,
        falls_to_zero=True,
        gamma=0.97,
        gae_lambda=0.95,
        clip_range=0.2,
        ent_coef=0.01,
        vf_coef=0.5,
        network=NetworkSpec("radial", {"spacing_px": 25.0}, (64, 64)),
        entropy_falls_to_zero=True,
        reward_scale=0.1,
        life_penalty=40.0,
    ),
    "paper": Preset(
        name="paper",
        n_envs=1,
        rollout_steps=256,
        batch_size=64,
        n_epochs=5,
        learning_rate=3e-4,
        falls_to_zero=False,
        gamma=0.99,
        gae_lambda=0.95,
        clip_range=0.2,
        ent_coef=0.05,
        vf_coef=0.5,
        network=NetworkSpec("flat", {}, (64, 64)),
        passing_waits_for_hud=False,
        no_arrows_no_duty=False,
    ),
}


def preset_named(name: str) -> Preset:
    """Raises `ConfigError` for a name there is not."""
    if name not in PRESETS:
        raise ConfigError(
            f"unknown preset: expected one of {', '.join(PRESETS)}; found {name!r}; use --preset default"
        )
    return PRESETS[name]
