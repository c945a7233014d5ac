"""Train or resume: `python train_ppo.py`. Builds, learns, saves, resumes, then sits the exam.

Run again, it goes on with the unfinished run in the models folder. Main thread; Ctrl-C saves and leaves.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Literal

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read once, when torch is imported

import torch
import tyro
from rich.console import Console

from config import FaultConfig
from greatwall.assembly import DEVICES, build_eyes, make_config
from greatwall.errors import ConfigError, GreatWallError, WorkerError
from greatwall.eyes.faults import parse_faults
from greatwall.learning.exam import sit_exam
from greatwall.learning.presets import Preset, preset_named
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.training_state import TrainingState, read_state
from greatwall.players import make_player

DEFAULT_TIMESTEPS = 100_000
INTERRUPTED = 130  # what a shell reports for Ctrl-C
USER_ERROR = 2
VISION_ENVS = 4
LINE_WIDTH = 160  # where there is no terminal to ask


@dataclass(frozen=True)
class Arguments:
    """Train a policy, or go on with the unfinished run in the models folder.

    Settings that are left out are those of the run that is resumed, else the preset's.
    """

    device: str | None = None
    """What is played on: simulator."""
    eyes: Literal["truth", "vision"] | None = None
    """truth: the game's own state, fast; vision: detector, ground scan and OCR."""
    n_envs: int | None = None
    """Games played at once, in this one process."""
    timesteps: int | None = None
    """Env steps in all, earlier sessions included. A larger number continues a finished run."""
    seed: int | None = None
    """Of the run: courses, weights, actions."""
    preset: str | None = None
    """Named set of training settings: default, paper."""
    variant: str | None = None
    """Named changes of the game, separated by commas."""
    faults: str | None = None
    """Faults of perception made on purpose, as in miss=0.1,jitter=2,stale=0.02,hud=0.02,drop=0.01."""
    fresh: bool = False
    """Start over: earlier files are moved into models/old-<time>/, never deleted."""
    models: Path = Path("models")
    """Folder of the policy files and of the state to resume from."""
    logs: Path = Path("logs")
    """Folder of monitor.csv and TensorBoard's events."""
    exam_episodes: int = 20
    """Test episodes of each player after training; 0 for no exam."""


def resolve(arguments: Arguments, state: TrainingState | None) -> RunSettings:
    """Options, else the resumed run's settings, else the defaults. Raises `ConfigError`."""
    for name, value, low in (
        ("--timesteps", arguments.timesteps, 1),
        ("--n-envs", arguments.n_envs, 1),
        ("--seed", arguments.seed, 0),
        ("--exam-episodes", arguments.exam_episodes, 0),
    ):
        if value is not None and value < low:
            raise ConfigError(f"{name}: expected {low} or more, found {value}; change the number")
    saved = {} if state is None else state.config
    saved_preset = {} if state is None else state.preset
    device = arguments.device or str(saved.get("device", "simulator"))
    eyes = arguments.eyes or saved.get("eyes", {}).get("kind", "truth")
    preset = preset_named(arguments.preset or str(saved_preset.get("name", "default")))
    n_envs = arguments.n_envs or saved_preset.get("n_envs") or _usual_envs(preset, device, eyes)
    if arguments.variant is None:
        variants = tuple(saved.get("variants", ()))
    else:
        variants = tuple(name for name in arguments.variant.split(",") if name)
    if device not in DEVICES:
        raise ConfigError(
            f"unknown device: expected one of {', '.join(DEVICES)}; found {device!r}; use --device simulator"
        )
    if arguments.faults is None:
        faults = FaultConfig(**saved.get("faults", {}))
    else:
        faults = parse_faults(arguments.faults)
    config = make_config(
        eyes=eyes,
        clock="game" if device == "simulator" else "wall",
        device=device,
        variants=variants,
        faults=faults,
    )
    seed, timesteps = arguments.seed, arguments.timesteps
    if state is not None:
        seed = state.counters.run_seed if seed is None else seed
        timesteps = state.counters.target_timesteps if timesteps is None else timesteps
    return RunSettings(
        config=preset.apply(config),
        preset=preset.with_envs(int(n_envs)),
        run_seed=seed or 0,
        timesteps=timesteps or DEFAULT_TIMESTEPS,
    )


def _usual_envs(preset: Preset, device: str, eyes: str) -> int:
    """A device outside is one game; through vision each env has a detector and an OCR engine of its own."""
    if device != "simulator":
        return 1
    return preset.n_envs if eyes == "truth" else min(VISION_ENVS, preset.n_envs)


def train(arguments: Arguments, console: Console) -> int:
    """Begin or resume, learn, sit the exam. Returns the exit status; raises `GreatWallError`."""
    files = RunFiles(arguments.models, arguments.logs)
    if arguments.fresh:
        resolve(arguments, None)  # a mistake in the options moves no file
    files.prepare()
    if arguments.fresh:
        old = files.set_aside()
        if old is not None:
            console.print(f"earlier files are in {old}", highlight=False)
    state = read_state(files.state) if files.state.exists() else None
    if state is None and (strays := files.set_aside()) is not None:
        console.print(f"policies without a state to resume from: moved to {strays}", highlight=False)
    settings = resolve(arguments, state)
    if settings.config.eyes.kind == "vision":
        build_eyes(settings.config).close()  # missing weights are said before anything else is begun
    if state is not None:
        done = state.counters.timesteps
        if done >= settings.timesteps:
            return _say_finished(done, settings, files, console)
        _say_resumed(state, settings, files, console)
    else:
        _say_begun(settings, files, console)
    run = TrainingRun(settings, files, console, state)
    try:
        run.learn()
    except KeyboardInterrupt:
        run.save_interrupted()
        console.print(
            f"\ninterrupted at {run.model.num_timesteps:,} steps: saved {files.interrupt} and "
            f"{files.state}; the same command goes on from step {run.counters.timesteps:,}",
            highlight=False,
        )
        return INTERRUPTED
    finally:
        run.close()
    console.print(
        f"trained {run.model.num_timesteps:,} steps in {run.counters.seconds:,.0f} s: {files.final}",
        highlight=False,
    )
    if arguments.exam_episodes:
        trained = files.eval_best if files.eval_best.exists() else files.final
        players = [
            ("trained", make_player(str(trained), settings.config)),
            ("rule", make_player("rule", settings.config)),
            ("random", make_player("random", settings.config)),
        ]
        sit_exam(settings.config, players, arguments.exam_episodes, console)
    return 0


def _say_begun(settings: RunSettings, files: RunFiles, console: Console) -> None:
    preset = settings.preset
    console.print(
        f"training {settings.timesteps:,} steps: preset {preset.name}, {preset.n_envs} envs, "
        f"{settings.config.eyes.kind} eyes, seed {settings.run_seed}; files in {files.models}, "
        f"curves: tensorboard --logdir {files.logs}",
        highlight=False,
    )


def _say_resumed(state: TrainingState, settings: RunSettings, files: RunFiles, console: Console) -> None:
    counters = state.counters
    best = "none yet" if counters.best_return is None else f"{counters.best_return:+.1f}"
    console.print(
        f"resuming from {files.state}: step {counters.timesteps:,} of {settings.timesteps:,}, "
        f"preset {settings.preset.name}, seed {settings.run_seed}, best return {best}; "
        "to start over: --fresh",
        highlight=False,
    )


def _say_finished(done: int, settings: RunSettings, files: RunFiles, console: Console) -> int:
    console.print(
        f"this run is finished: {done:,} of {settings.timesteps:,} steps, policy {files.final}; "
        f"go on with --timesteps {2 * done}, start over with --fresh, "
        f"or look at it: python -m greatwall evaluate --policy {files.eval_best} --eyes truth",
        highlight=False,
    )
    return 0


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    """The command line. A user's mistake is one line on stderr and exit status 2."""
    arguments = tyro.cli(Arguments, prog="train_ppo.py", args=argv)
    torch.set_num_threads(1)  # measured: 5 times faster than two on two cores, for a network this small
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGINT, _terminated)  # also where a shell without job control had it ignored
    console = Console()
    if not console.is_terminal:
        console = Console(width=LINE_WIDTH)
    try:
        return train(arguments, console)
    except WorkerError:
        raise  # not a user's mistake: the traceback of the failing stage is wanted
    except GreatWallError as error:
        print(error, file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
