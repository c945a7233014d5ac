"""One training run from its settings to its files: begin or resume, learn, save, leave. Main thread."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from config import Config
from greatwall.assembly import build_env, make_config
from greatwall.errors import ConfigError, GreatWallError
from greatwall.learning.changes import Changes, changes_between
from greatwall.learning.episode_log import EpisodeLog
from greatwall.learning.presets import Preset
from greatwall.learning.reporting import (
    BoardCallback,
    EpisodeCallback,
    PausingCallback,
    ProgressCallback,
    ReleasingCallback,
    board_logger,
)
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
from greatwall.learning.training_envs import LearningReward, build_training_envs
from greatwall.learning.training_state import Counters, TrainingState, capture, restore_model
from greatwall.policies.policy_file import load_policy

VALIDATION_EPISODES = 10


@dataclass(frozen=True)
class RunSettings:
    """What a run is: the game, the preset, the seed, how far."""

    config: Config
    preset: Preset
    run_seed: int
    timesteps: int
    validation_episodes: int | None = None  # None: the usual number


def build_model(settings: RunSettings, envs: LearningReward, remaining_steps: int) -> PPO:
    """SB3's PPO with the preset's numbers, on the CPU: for a network this small a GPU is slower.

    A rollout is hardly longer than what remains, so that a short run does not overshoot by much.
    """
    preset = settings.preset
    n_steps, batch_size = preset.rollout(remaining_steps)
    rate = preset.learning_rate
    return PPO(
        "MlpPolicy",
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
        policy_kwargs=preset.network.policy_kwargs(),
        seed=settings.run_seed,
        device="cpu",
    )


class TrainingRun:
    """Builds everything a run needs; `learn` may end in KeyboardInterrupt, `close` always follows.

    Raises `ConfigError` for a change that the run in `state` cannot take; `changes` are those it took.
    """

    def __init__(
        self, settings: RunSettings, files: RunFiles, console: Console, state: TrainingState | None
    ) -> None:
        self._settings, self._files = settings, files
        self.changes = self._accepted(state)
        self.counters = self._begin_counters(state)
        done = self.counters.timesteps
        self.saver = PolicySaver(settings.config, settings.preset, settings.run_seed)
        first, replays = self._games_under_way(state)
        # SB3 resets the envs once more before it collects: that reset begins the counted episode.
        self._envs = build_training_envs(settings.config, settings.preset, settings.run_seed, first, replays)
        self._remaining = max(0, settings.timesteps - done)
        self.model = build_model(settings, self._envs, self._rollout_steps(state))
        self.counters.target_timesteps, self.counters.n_steps = settings.timesteps, self.model.n_steps
        try:
            if state is not None:
                restore_model(self.model, state, files.state)
            else:
                self._save_beginning()  # from here on the logs have an owner
            self._log = EpisodeLog(files.episodes, done, self.counters.run_id)
        except GreatWallError:
            self._envs.close()
            raise
        self.model.set_logger(board_logger(files.board, done))
        self._progress = ProgressCallback(console, settings.timesteps, self.counters.window)
        self._pausing = PausingCallback(settings.config)
        self._state_callback = StateCallback(
            files, self.counters, settings.preset.resolved(), settings.config.resolved(), state
        )
        self._validation_env = self._build_validation_env()
        self.callbacks = self._build_callbacks()

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
        if self._files.best.exists():
            score = load_policy(self._files.best).training.get("episode_return")
            counters.best_return = _higher(counters.best_return, score)
        if self._files.eval_best.exists():
            validation = load_policy(self._files.eval_best).training.get("validation")
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
            eyes="truth", variants=config.variants, max_distance_m=20_000, faults=config.faults
        )
        return build_env(self._settings.preset.apply(truth))

    def _build_callbacks(self) -> list[BaseCallback]:
        """In the order they act: what changes the learner, what reports, what saves; the state last,
        and then the game goes on."""
        settings, files = self._settings, self._files
        callbacks: list[BaseCallback] = [
            self._pausing,
            NormalisationCallback(),
            RateCallback(settings.timesteps),
            EpisodeCallback(self._log),
            Checkpoints(files, self.saver),
            BestModelCallback(files, self.saver, self.counters),
            BoardCallback(self.counters.window),
            self._progress,
        ]
        if settings.preset.entropy_falls_to_zero:
            callbacks.append(EntropyCallback(settings.preset.ent_coef, settings.timesteps))
        if self._validation_env is not None:
            callbacks.append(
                ValidationCallback(
                    files,
                    self.saver,
                    self.counters,
                    self._validation_env,
                    self._validation_episodes,
                    CHECKPOINT_STEPS,
                )
            )
        callbacks.append(FinalCallback(files, self.saver))
        callbacks.append(self._state_callback)
        callbacks.append(ReleasingCallback(self._pausing))
        return callbacks

    def learn(self) -> None:
        """Train to the target and write `ppo_greatwall_final.zip`."""
        self.model.learn(
            self._remaining,
            callback=self.callbacks,
            reset_num_timesteps=self.counters.timesteps == 0,
        )

    def save_interrupted(self) -> None:
        """`ppo_greatwall_interrupt.zip`; the state on disk is that of the last rollout boundary."""
        self.saver.save(self._files.interrupt, self.model.policy, self.model.num_timesteps)

    def close(self) -> None:
        """Let everything go, in whatever state it is."""
        self._progress.close()
        self._pausing.release()
        self._log.close()
        self.model.logger.close()
        self._envs.close()
        if self._validation_env is not None:
            self._validation_env.close()


def _higher(one: float | None, other: Any) -> float | None:
    if not isinstance(other, (int, float)):
        return one
    return float(other) if one is None else max(one, float(other))
