"""Callbacks that save: checkpoints, the record, the best by validation, the state to resume from.

They act at rollout boundaries (after an update, before the next collection) or when an episode ends,
never between a collection and its update. Main thread.
"""

from __future__ import annotations

import logging
import time
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from config import Config
from greatwall.learning.disk import Disk
from greatwall.learning.evaluation import EpisodeResult
from greatwall.learning.presets import Preset
from greatwall.learning.run_files import RunFiles
from greatwall.learning.training_envs import episode_actions, episode_numbers
from greatwall.learning.training_state import Counters, TrainingState, capture, restore_generators
from greatwall.learning.validator import Validator
from greatwall.metrics.statistics import mean
from greatwall.policies.network import build_policy, load_tensors, policy_tensors
from greatwall.policies.policy_file import Policy, save_policy

CHECKPOINT_STEPS = 10_000


class PolicySaver:
    """Writes the policy being trained, with the facts that a file of it carries."""

    def __init__(self, config: Config, preset: Preset, run_seed: int, disk: Disk | None = None) -> None:
        self._disk = disk or Disk(logging.warning)
        self._profile = config.profile.name
        self._spec = preset.network
        self._facts: dict[str, Any] = {
            "preset": preset.name,
            "seed": run_seed,
            "eyes": config.eyes.kind,
            "variants": list(config.variants),
            **({"randomise": config.randomise} if config.randomise else {}),
        }
        if preset.warm_start:
            self._facts["warm_start"] = {"teacher": preset.warm_start, "steps": preset.demonstration_steps}

    def policy(self, network: Any) -> Policy:
        """The policy in training as a player would load it; it shares the weights."""
        return Policy(network, self._spec, self._profile, dict(self._facts))

    def save(self, path: Path, network: Any, timesteps: int, **facts: Any) -> bool:
        """Write it now, the file of that name before it kept; False where the disk is full, and then it
        is written later, as it is now."""
        told = {**self._facts, "timesteps": timesteps, **facts}

        def write(of: Any) -> None:
            save_policy(path, of, self._spec, self._profile, told, keep_previous=True)

        return self._disk.attempt(path, partial(write, network), lambda: partial(write, self._copy(network)))

    def _copy(self, network: Any) -> Any:
        """The policy as it is now; a module in training can hold what cannot be copied deeply."""
        copied = build_policy(self._spec)
        load_tensors(copied, policy_tensors(network))
        return copied


class Checkpoints(BaseCallback):
    """`ppo_greatwall_<N>_steps.zip` each time the env steps of all envs together cross N = k * 10,000."""

    def __init__(self, files: RunFiles, saver: PolicySaver, every: int = CHECKPOINT_STEPS) -> None:
        super().__init__()
        self._files, self._saver, self._every = files, saver, every
        self._done = 0

    def _on_training_start(self) -> None:
        self._done = self.num_timesteps // self._every

    def _on_step(self) -> bool:
        if self.num_timesteps // self._every > self._done:
            self._done = self.num_timesteps // self._every
            path = self._files.checkpoint(self._done * self._every)
            self._saver.save(path, self.model.policy, self.num_timesteps)
        return True


class BestModelCallback(BaseCallback):
    """Saves the policy when an episode's return is a record (from Monitor's `info["episode"]`)."""

    def __init__(self, files: RunFiles, saver: PolicySaver, counters: Counters) -> None:
        super().__init__()
        self._files, self._saver, self._counters = files, saver, counters

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info and "interruption" not in info:
                score = float(info["episode"]["r"])
                best = self._counters.best_return
                if best is None or score > best:
                    self._counters.best_return = score
                    self._saver.save(
                        self._files.best,
                        self.model.policy,
                        self.num_timesteps,
                        episode_return=score,
                        distance_m=info["run"]["distance_m"],
                    )
        return True


class FinalCallback(BaseCallback):
    """`ppo_greatwall_final.zip`, before the state says that the run is finished."""

    def __init__(self, files: RunFiles, saver: PolicySaver) -> None:
        super().__init__()
        self._files, self._saver = files, saver

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self._saver.save(self._files.final, self.model.policy, self.num_timesteps)


class ValidationCallback(BaseCallback):
    """Plays validation courses every so many steps; keeps the policy that got farthest on the mean."""

    def __init__(
        self,
        files: RunFiles,
        saver: PolicySaver,
        counters: Counters,
        validator: Validator,
        every: int = CHECKPOINT_STEPS,
    ) -> None:
        super().__init__()
        self._files, self._saver, self._counters = files, saver, counters
        self._validator, self._every = validator, every
        self.results: list[EpisodeResult] = []  # of the last validation, and when it was
        self.validated_at = -1

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self._counters.next_eval_at and self.num_timesteps > 0:
            self._validate()

    def _on_training_end(self) -> None:
        self._validate(is_last=True)

    def _validate(self, *, is_last: bool = False) -> None:
        self._counters.next_eval_at = self.num_timesteps - self.num_timesteps % self._every + self._every
        self.model.policy.set_training_mode(False)
        results = self._validator.play(self._saver.policy(self.model.policy), is_last=is_last)
        self.results, self.validated_at = results, self.num_timesteps
        distance_m = mean([one.distance_m for one in results])
        score = mean([one.episode_return for one in results])
        self.logger.record("validation/distance_m", distance_m)
        self.logger.record("validation/return", score)
        best = self._counters.best_eval_m
        if best is None or distance_m > best:
            self._counters.best_eval_m = distance_m
            self._saver.save(
                self._files.eval_best,
                self.model.policy,
                self.num_timesteps,
                validation={
                    "distance_m": distance_m,
                    "return": score,
                    "episodes": len(results),
                    "first_seed": self._validator.seeds[0],
                    "best_seed": max(results, key=lambda one: one.distance_m).seed,
                },
            )


class StateCallback(BaseCallback):
    """Writes the training state at every rollout boundary, the last thing that is written there.

    What was recorded of the update and the validation goes to TensorBoard first, at this very step,
    so that a resumed run's curves miss nothing.
    """

    def __init__(
        self,
        files: RunFiles,
        counters: Counters,
        preset: dict[str, Any],
        config: dict[str, Any],
        resumed: TrainingState | None,
        disk: Disk | None = None,
    ) -> None:
        super().__init__()
        self._disk = disk or Disk(logging.warning)
        self._files, self._counters = files, counters
        self._preset, self._config = preset, config
        self._resumed = resumed
        self.saved_at = counters.timesteps  # the step that the file on disk goes on from
        self._seconds_before = counters.seconds
        self._started_s = time.monotonic()

    def _on_training_start(self) -> None:
        if self._resumed is not None:
            restore_generators(self._resumed)  # after the envs were reset, before anything is drawn
            self._resumed = None
            under_way = [len(actions) > 0 for actions in episode_actions(self.training_env)]
            self.model._last_episode_starts = ~np.array(under_way)  # type: ignore[attr-defined]  # noqa: SLF001

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._save()

    def _on_training_end(self) -> None:
        self._save()

    def _save(self) -> None:
        self._disk.retry()  # what a full disk refused is older, and goes first
        self.logger.dump(self.num_timesteps)
        counters, envs = self._counters, self.model.env
        assert isinstance(self.model, PPO)
        assert envs is not None
        counters.seconds = self._seconds_before + time.monotonic() - self._started_s
        unused = counters.episodes[envs.num_envs :]  # of envs that an earlier session had besides
        counters.episodes = episode_numbers(envs) + unused
        actions = episode_actions(envs)
        state = capture(self.model, counters, self._preset, self._config, actions)
        self._disk.attempt(
            self._files.state, lambda: self._write(state), lambda: partial(self._write, deepcopy(state))
        )

    def _write(self, state: TrainingState) -> None:
        state.save(self._files.state)
        self.saved_at = state.counters.timesteps
