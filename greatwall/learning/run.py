"""One training run from its settings to its files: begin or resume, learn, save, leave. Main thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from config import Config
from greatwall.assembly import build_env, make_config
from greatwall.errors import ConfigError
from greatwall.learning.episode_log import EpisodeLog
from greatwall.learning.presets import Preset
from greatwall.learning.reporting import (
    BoardCallback,
    EpisodeCallback,
    PausingCallback,
    ProgressCallback,
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
from greatwall.learning.schedules import EntropyCallback, NormalisationCallback
from greatwall.learning.training_envs import LearningReward, build_training_envs
from greatwall.learning.training_state import (
    Counters,
    TrainingState,
    differences,
    filled,
    restore_model,
)
from greatwall.policies.policy_file import load_policy

VALIDATION_EPISODES = 10


@dataclass(frozen=True)
class RunSettings:
    """What a run is: the game, the preset, the seed, how far."""

    config: Config
    preset: Preset
    run_seed: int
    timesteps: int
    validation_episodes: int = VALIDATION_EPISODES


def build_model(settings: RunSettings, envs: LearningReward, remaining_steps: int) -> PPO:
    """SB3's PPO with the preset's numbers, on the CPU: for a network this small a GPU is slower.

    A rollout is never longer than what remains, so that a short run does not overshoot.
    """
    preset = settings.preset
    n_steps = max(2, min(preset.n_steps, -(-remaining_steps // preset.n_envs)))
    rate = preset.learning_rate
    return PPO(
        "MlpPolicy",
        envs,
        learning_rate=(lambda remaining: rate * remaining) if preset.falls_to_zero else rate,
        n_steps=n_steps,
        batch_size=preset.fitting_batch(n_steps),
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


def changed_since(state: TrainingState, settings: RunSettings) -> list[str]:
    """What of game, preset and seed differs from the run on disk."""
    saved = filled(state.config, Config().resolved())
    changes = differences(saved, settings.config.resolved())
    changes += differences(state.preset, settings.preset.resolved(), "preset.")
    if state.counters.run_seed != settings.run_seed:
        changes.append(f"seed {state.counters.run_seed} -> {settings.run_seed}")
    return changes


class TrainingRun:
    """Builds everything a run needs; `learn` may end in KeyboardInterrupt, `close` always follows."""

    def __init__(
        self, settings: RunSettings, files: RunFiles, console: Console, state: TrainingState | None
    ) -> None:
        self._settings, self._files = settings, files
        done = 0 if state is None else state.counters.timesteps
        if state is not None:
            changes = changed_since(state, settings)
            if changes:
                raise ConfigError(
                    f"settings changed since the unfinished run in {files.models}: {'; '.join(changes)}; "
                    "go on with the old ones, or start over with --fresh"
                )
        self.counters = Counters(settings.run_seed) if state is None else state.counters
        self.counters.target_timesteps = settings.timesteps
        self.counters.finished = False
        self._heed_files()
        self.saver = PolicySaver(settings.config, settings.preset, settings.run_seed)
        self._log = EpisodeLog(files.episodes, done)
        # SB3 resets the envs once more before it collects: that reset begins the counted episode.
        self._envs = build_training_envs(
            settings.config, settings.preset, settings.run_seed, self._first_episodes(state)
        )
        remaining = settings.timesteps - done
        self.model = build_model(settings, self._envs, remaining)
        if state is not None:
            restore_model(self.model, state, files.state)
            self.model._current_progress_remaining = remaining / settings.timesteps  # noqa: SLF001 - no other way
        self.model.set_logger(board_logger(files.board, done))
        self._progress = ProgressCallback(console, settings.timesteps)
        self._pausing = PausingCallback(settings.config)
        self._validation_env = self._build_validation_env()
        self._callbacks = self._build_callbacks(state)
        self._remaining = remaining

    def _heed_files(self) -> None:
        """The files may hold newer records than the state: what was saved after the last boundary."""
        if self._files.best.exists():
            score = load_policy(self._files.best).training.get("episode_return")
            self.counters.best_return = _higher(self.counters.best_return, score)
        if self._files.eval_best.exists():
            validation = load_policy(self._files.eval_best).training.get("validation", {})
            self.counters.best_eval_m = _higher(self.counters.best_eval_m, validation.get("distance_m"))

    def _first_episodes(self, state: TrainingState | None) -> list[int]:
        if state is None:
            return []
        return [number + 1 for number in state.counters.episodes]  # what was under way is not repeated

    def _build_validation_env(self) -> Any:
        config = self._settings.config
        if config.device != "simulator" or self._settings.validation_episodes == 0:
            return None
        truth = make_config(
            eyes="truth", variants=config.variants, max_distance_m=20_000, faults=config.faults
        )
        return build_env(self._settings.preset.apply(truth))

    def _build_callbacks(self, state: TrainingState | None) -> list[BaseCallback]:
        settings, files = self._settings, self._files
        callbacks: list[BaseCallback] = [
            self._pausing,
            NormalisationCallback(),
            EpisodeCallback(self._log),
            Checkpoints(files, self.saver),
            BestModelCallback(files, self.saver, self.counters),
            BoardCallback(),
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
                    settings.validation_episodes,
                    CHECKPOINT_STEPS,
                )
            )
        callbacks.append(FinalCallback(files, self.saver))
        callbacks.append(
            StateCallback(files, self.counters, settings.preset.resolved(), settings.config.resolved(), state)
        )
        return callbacks

    def learn(self) -> None:
        """Train to the target and write `ppo_greatwall_final.zip`."""
        self.model.learn(
            self._remaining,
            callback=self._callbacks,
            reset_num_timesteps=self.counters.timesteps == 0,
        )
        self.model.logger.dump(self.model.num_timesteps)  # what the last update and validation recorded

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
