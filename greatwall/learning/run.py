"""One training run from its settings to its files: begin or resume, learn, save, leave. Main thread."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from config import Config
from greatwall.assembly import build_env, make_config
from greatwall.errors import ConfigError
from greatwall.learning.board import board_logger
from greatwall.learning.changes import Changes, changes_between
from greatwall.learning.demonstrations import Progress, warm_start
from greatwall.learning.disk import WAIT_S, Disk
from greatwall.learning.episode_log import EpisodeLog
from greatwall.learning.hyperparameters import HyperparametersCallback
from greatwall.learning.kept_files import newest_policy
from greatwall.learning.parallel import usual_processes
from greatwall.learning.presets import Preset
from greatwall.learning.reins import Gaps, PausingCallback, ReleasingCallback
from greatwall.learning.reporting import (
    BoardCallback,
    EpisodeCallback,
    ProgressCallback,
)
from greatwall.learning.rollout_buffer import ExtractedRolloutBuffer
from greatwall.learning.run_files import RunFiles
from greatwall.learning.saving import (
    CHECKPOINT_STEPS,
    BestModelCallback,
    Checkpoints,
    FinalCallback,
    PolicySaver,
    StateCallback,
    ValidationCallback,
)
from greatwall.learning.schedules import EntropyCallback, FallingRate, NormalisationCallback, RateCallback
from greatwall.learning.seeds import VALIDATION_START
from greatwall.learning.timed_buffer import TimedRolloutBuffer
from greatwall.learning.training_envs import LearningReward, build_training_envs
from greatwall.learning.training_state import Counters, TrainingState, capture, restore_model
from greatwall.learning.validator import Validator
from greatwall.policies.network import ExtractedPolicy

VALIDATION_EPISODES = 10
VALIDATION_MAX_M = 60_000  # far beyond what anybody reaches: an end for what never falls
SHARED_FROM_STEPS = 10_000  # a process needs seconds to begin
VALIDATIONS = 10  # in a run, at most: a policy that rides for 20 km takes its time


@dataclass(frozen=True)
class RunSettings:
    """What a run is: the game, the preset, the seed, how far."""

    config: Config
    preset: Preset
    run_seed: int
    timesteps: int
    validation_episodes: int | None = None  # None: the usual number
    processes: int = 0  # that play games, this one too; 0 is `usual_processes()`, or one for a short run

    @property
    def game_processes(self) -> int:
        """Processes in which training games and demonstrations are played; validation has its own measure."""
        if self.processes:
            return self.processes
        return 1 if self.timesteps < SHARED_FROM_STEPS else usual_processes()


def build_model(settings: RunSettings, envs: LearningReward, remaining_steps: int) -> PPO:
    """SB3's PPO with the preset's numbers, on the CPU: for a network this small a GPU is slower.

    A rollout is hardly longer than what remains, so that a short run does not overshoot by much.
    """
    preset = settings.preset
    n_steps, batch_size = preset.rollout(remaining_steps)
    rate = preset.learning_rate

    def extract(observations: torch.Tensor) -> torch.Tensor:
        policy = model.policy
        assert isinstance(policy, ExtractedPolicy)
        return policy.extract(observations)

    rollouts: dict[str, Any] = {"extract": extract}
    if preset.gamma_by_time:
        rollouts |= {"durations": lambda: envs.durations, "rewards": lambda: envs.rewards}
    model = PPO(
        ExtractedPolicy,
        envs,
        learning_rate=FallingRate(rate) if preset.falls_to_zero else rate,
        n_steps=n_steps,
        batch_size=batch_size,
        n_epochs=preset.n_epochs,
        gamma=preset.gamma,
        gae_lambda=preset.gae_lambda,
        clip_range=preset.clip_range,
        ent_coef=preset.ent_coef,
        vf_coef=preset.vf_coef,
        target_kl=preset.target_kl or None,
        policy_kwargs=preset.network.policy_kwargs(),
        seed=settings.run_seed,
        device="cpu",
        rollout_buffer_class=TimedRolloutBuffer if preset.gamma_by_time else ExtractedRolloutBuffer,
        rollout_buffer_kwargs=rollouts,
    )
    return model


class TrainingRun:
    """Builds everything a run needs; `learn` may end in KeyboardInterrupt, `close` always follows.

    Raises `ConfigError` for a change that the run in `state` cannot take; `changes` are those it took.
    """

    def __init__(
        self, settings: RunSettings, files: RunFiles, console: Console, state: TrainingState | None
    ) -> None:
        self._settings, self._files = settings, files
        self._console = console
        self.disk = Disk(self._warn)
        self.changes = self._accepted(state)
        self.counters = self._begin_counters(state)
        self.saver = PolicySaver(settings.config, settings.preset, settings.run_seed, self.disk)
        first, replays = self._games_under_way(state)
        # SB3 resets the envs once more before it collects: that reset begins the counted episode.
        self._envs = build_training_envs(
            settings.config, settings.preset, settings.run_seed, first, replays, settings.game_processes
        )
        try:
            self._build(state)
        except BaseException:
            self._envs.close()
            raise

    def _build(self, state: TrainingState | None) -> None:
        """Everything that stands on the envs."""
        settings, files, done = self._settings, self._files, self.counters.timesteps
        self._demonstrates = settings.preset.warm_start != "" and done == 0
        demonstrated = settings.preset.demonstration_steps if self._demonstrates else 0
        self._remaining = max(0, settings.timesteps - done - demonstrated)
        self.model = build_model(settings, self._envs, self._rollout_steps(state))
        self.counters.target_timesteps, self.counters.n_steps = settings.timesteps, self.model.n_steps
        if state is not None:
            restore_model(self.model, state, files.state)
        else:
            self._save_beginning()  # from here on the logs have an owner
        self._log = EpisodeLog(files.episodes, done, self.counters.run_id, self.disk)
        self.model.set_logger(board_logger(files.board, self.disk, done))
        self._progress = ProgressCallback(self._console, settings.timesteps, self.counters.window)
        self._pausing = PausingCallback(settings.config)
        self._state_callback = StateCallback(
            files, self.counters, settings.preset.resolved(), settings.config.resolved(), state, self.disk
        )
        self._validation_env = self._build_validation_env()
        self._validator = None if self._validation_env is None else self._build_validator()
        self.callbacks = self._build_callbacks()

    def _warn(self, line: str) -> None:
        """Loudly, between the other lines."""
        self._console.print(line, style="bold red", markup=False, highlight=False)

    @property
    def saved_at(self) -> int:
        """The step that the state on disk goes on from."""
        return self._state_callback.saved_at

    def _accepted(self, state: TrainingState | None) -> Changes:
        if state is None:
            return Changes()
        settings = self._settings
        changes = changes_between(state, settings.config, settings.preset, settings.run_seed)
        if changes.refused:
            raise ConfigError(
                f"expected the preset, network and seed of the run in {self._files.models}, found "
                f"{'; '.join(changes.refused)}; leave them as they were, or start over with --fresh"
            )
        return changes

    def _begin_counters(self, state: TrainingState | None) -> Counters:
        """The run's own; scores of another game are forgotten."""
        if state is None:
            counters = Counters(self._settings.run_seed, run_id=uuid.uuid4().hex)
        else:
            counters = state.counters
        if self.changes.of_the_game:
            counters.best_return = counters.best_eval_m = None
            counters.next_eval_at = 0
        elif state is not None:
            self._heed_files(counters)
        return counters

    def _heed_files(self, counters: Counters) -> None:
        """The files may hold newer records than the state: what was saved after the last boundary."""
        best = newest_policy(self._files.best, self._warn)
        if best is not None:
            counters.best_return = _higher(counters.best_return, best[0].training.get("episode_return"))
        eval_best = newest_policy(self._files.eval_best, self._warn)
        if eval_best is not None:
            validation = eval_best[0].training.get("validation")
            found = validation.get("distance_m") if isinstance(validation, dict) else None
            counters.best_eval_m = _higher(counters.best_eval_m, found)

    def _games_under_way(self, state: TrainingState | None) -> tuple[list[int], list[list[int]]]:
        """With which episode each env begins, and what was done in it already.

        Through truth on the game's clock that is done again: it takes a moment and ends exactly where
        the run was interrupted. Elsewhere, and in a game that was changed, the next episode begins.
        """
        if state is None:
            return [], []
        counters, config = state.counters, self._settings.config
        if config.eyes.kind == "truth" and config.worker.clock == "game" and not self.changes.of_the_config:
            replays = state.episode_actions()
        else:
            replays = []
        first = []
        for index, number in enumerate(counters.episodes):
            begun = index >= len(counters.episode_steps) or counters.episode_steps[index] > 0
            first.append(number + (begun and index >= len(replays)))
        return first, replays

    def _rollout_steps(self, state: TrainingState | None) -> int:
        """What is asked of one rollout, all envs together: as long as it was where the target still is,
        so that a resumed run takes the very rollouts it would have taken uninterrupted."""
        if state is not None and self.counters.target_timesteps == self._settings.timesteps:
            return self.counters.n_steps * int(state.preset["n_envs"])
        return self._remaining

    def _save_beginning(self) -> None:
        settings, counters = self._settings, self.counters
        counters.episodes = [0] * settings.preset.n_envs
        none_yet: list[list[int]] = [[] for _ in counters.episodes]
        preset, config = settings.preset.resolved(), settings.config.resolved()
        capture(self.model, counters, preset, config, none_yet).save(self._files.state)

    @property
    def _validation_episodes(self) -> int:
        asked = self._settings.validation_episodes
        return VALIDATION_EPISODES if asked is None else asked

    def _build_validation_env(self) -> Any:
        config = self._settings.config
        if config.device != "simulator" or self._validation_episodes == 0:
            return None
        truth = make_config(
            eyes="truth", variants=config.variants, max_distance_m=VALIDATION_MAX_M, faults=config.faults
        )
        truth = replace(truth, delays=config.delays, like_device=config.like_device)
        return build_env(self._settings.preset.apply(truth))

    def _build_validator(self) -> Validator:
        seeds = range(VALIDATION_START, VALIDATION_START + self._validation_episodes)
        return Validator(self._validation_env, seeds, self._settings.processes)

    def _build_callbacks(self) -> list[BaseCallback]:
        """In the order they act: what changes the learner, what reports, what saves; the state last,
        and then the game goes on."""
        settings, files = self._settings, self._files
        callbacks: list[BaseCallback] = [
            self._pausing,
            NormalisationCallback(),
            RateCallback(settings.timesteps),
            HyperparametersCallback(settings.config, settings.preset, settings.run_seed),
            EpisodeCallback(self._log),
            Checkpoints(files, self.saver),
            BestModelCallback(files, self.saver, self.counters),
            BoardCallback(self.counters.window),
            self._progress,
        ]
        if settings.preset.entropy_falls_to_zero:
            callbacks.append(EntropyCallback(settings.preset.ent_coef, settings.timesteps))
        if self._validator is not None:
            callbacks.append(
                ValidationCallback(
                    files,
                    self.saver,
                    self.counters,
                    self._validator,
                    max(CHECKPOINT_STEPS, settings.timesteps // VALIDATIONS),
                )
            )
        callbacks.append(FinalCallback(files, self.saver))
        callbacks.append(self._state_callback)
        callbacks.append(ReleasingCallback(self._pausing))
        return callbacks

    def learn(self) -> None:
        """Train to the target and write `ppo_greatwall_final.zip`.

        Raises `ConfigError` when the disk stays full to the end and for `disk.WAIT_S` beyond it.
        """
        torch.set_flush_denormal(True)  # Adam's moments of what is never seen decay into slow numbers
        try:
            if self._demonstrates:  # interrupted, it begins again: the state is still that of step 0
                self._demonstrate()
            self.model.learn(
                self._remaining,
                callback=self.callbacks,
                reset_num_timesteps=self.model.num_timesteps == 0,
            )
        finally:
            torch.set_flush_denormal(False)  # it holds for the whole thread, and others need small numbers
        if self.disk.pending:
            self._warn(f"trained; waiting up to {WAIT_S / 60:.0f} minutes for room to write the last files")
        if not self.disk.wait_for_room():
            raise ConfigError(
                f"expected room to write {', '.join(str(path) for path in self.disk.pending)}, found none; "
                f"free some space and run it again: it goes on from step {self.saved_at:,}"
            )

    def _demonstrate(self) -> None:
        settings = self._settings
        preset = settings.preset

        def say(progress: Progress) -> None:
            self._console.print(
                f"demonstrations by {preset.warm_start}: {progress.steps:,} of "
                f"{preset.demonstration_steps:,} steps, agrees in {progress.agreement:.1%} of what matters",
                highlight=False,
            )
            self.model.logger.record("warm_start/agreement", progress.agreement)
            self.model.logger.record("warm_start/loss", progress.loss)
            self.model.logger.dump(progress.steps)

        policy = self.model.policy
        assert isinstance(policy, ExtractedPolicy)
        warm_start(policy, settings.config, preset, settings.run_seed, say, settings.game_processes)
        self.model.num_timesteps = preset.demonstration_steps

    def save_interrupted(self) -> list[Path]:
        """`ppo_greatwall_interrupt.zip`; the state on disk is that of the last rollout boundary. Returns
        the files that a full disk did not take."""
        self.saver.save(self._files.interrupt, self.model.policy, self.model.num_timesteps)
        self.disk.retry()
        return self.disk.pending

    @property
    def validation_config(self) -> Config | None:
        """What the best policy was chosen on; None where nothing is validated."""
        return None if self._validation_env is None else self._validation_env.config

    @property
    def gaps(self) -> Gaps:
        """What happened while weights were updated, on the wall clock."""
        return self._pausing.gaps

    def close(self) -> None:
        """Let everything go, in whatever state it is; a stand-in that is stuck keeps nothing else."""
        with contextlib.ExitStack() as rest:  # from the last to the first
            if self._validator is not None:
                rest.callback(self._validation_env.close)
                rest.callback(self._validator.close)
            rest.callback(self._envs.close)
            rest.callback(self.model.logger.close)
            rest.callback(self._log.close)
            rest.callback(self._pausing.release)
            rest.callback(self._progress.close)


def _higher(one: float | None, other: Any) -> float | None:
    if not isinstance(other, (int, float)):
        return one
    return float(other) if one is None else max(one, float(other))
