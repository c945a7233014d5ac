"""Train or resume: `python train_ppo.py`. Builds, learns, saves, resumes, then sits the exam.

Run again, it goes on with the unfinished run in the models folder. Main thread; Ctrl-C saves and leaves.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal, TextIO, cast

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read once, when torch is imported
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the imports take seconds: Ctrl-C just leaves
import torch
import tyro
from rich.console import Console

from config import GREAT_WALL, Config, FaultConfig
from greatwall.assembly import DEVICES, build_eyes, check_seed, make_config, parse_size, parse_variants
from greatwall.commands.other_game import with_game
from greatwall.device.device_profile import profile_named, saved_profile
from greatwall.device.phone.guard import stop_signals
from greatwall.device.phone.options import phone_options, saved_phone
from greatwall.errors import ConfigError, DeviceError, FileFormatError, GreatWallError, WorkerError
from greatwall.eyes.faults import parse_faults
from greatwall.learning.board import BoardWriter
from greatwall.learning.changes import changes_between
from greatwall.learning.disk import Disk, PatientStream
from greatwall.learning.exam import sit_exam
from greatwall.learning.kept_files import first_good, newest_policy, newest_state, put_broken_aside
from greatwall.learning.presets import Preset, preset_named
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.run_lock import RunLock
from greatwall.learning.state_checks import is_count
from greatwall.learning.training_state import TrainingState
from greatwall.players import make_player
from greatwall.players.trained import PolicyPlayer
from greatwall.policies.archive import previous_of

DEFAULT_TIMESTEPS = 100_000
DEFAULT_EXAM_EPISODES = 20
FILM_S = 20.0  # of the game
DEFAULT_DEMONSTRATION_STEPS = 80_000  # where the preset is not warm-started by itself
DEMONSTRATION_SHARE = 0.8  # of a run that is shorter than its demonstrations are meant to be
INTERRUPTED = 130  # what a shell reports for Ctrl-C
USER_ERROR = 2
VISION_ENVS = 4
LINE_WIDTH = 160  # where there is no terminal to ask


@dataclass(frozen=True)
class Arguments:
    """Train a policy, or go on with the unfinished run in the models folder.

    Settings that are left out are those of the run that is resumed, else the preset's. A run may go on
    with other settings, but for its preset and seed: what changes is listed.
    """

    device: str | None = None
    """What is played on: simulator, or phone: the one that adb lists."""
    serial: str | None = None
    """Which phone, as adb devices lists it."""
    capture: Literal["auto", "scrcpy", "screenrecord", "raw", "png"] | None = None
    """How the phone's screen is looked at; auto: the best, as measured."""
    touch: Literal["auto", "scrcpy", "shell", "adb"] | None = None
    """How it is touched."""
    package: str | None = None
    """The game's app, as in com.example.game; the one in front at the start unless given."""
    profile: Path | None = None
    """The profile of the phone's game, as calibrate writes it; the embedded game's unless given."""
    weights: str | None = None
    """The detector of the phone's game; the one in models/ unless given."""
    relaunch_every: int | None = None
    """Episodes after which the phone's game is started afresh, for long runs; 0 is never."""
    eyes: Literal["truth", "vision"] | None = None
    """truth: the game's own state, fast; vision: detector, ground scan and OCR."""
    n_envs: int | None = None
    """Games played at once."""
    processes: int | None = None
    """Processes that play, demonstrate and validate. Unless given: one a core, up to four; below 10,000 steps
    games are played in one. What is learnt is the same; 1 takes the least memory. Not kept for the next
    start."""
    timesteps: int | None = None
    """Env steps in all, earlier sessions included. A larger number continues a finished run."""
    seed: int | None = None
    """Of the run: courses, weights, actions."""
    preset: str | None = None
    """Named set of training settings: default, scratch, memory, plain, paper (docs/learning.md)."""
    variant: str | None = None
    """Named changes of the game, separated by commas; standard is none."""
    faults: str | None = None
    """Faults of perception made on purpose, as in miss=0.1,jitter=2,stale=0.02,hud=0.02,drop=0.01."""
    like_device: str | None = None
    """Delays as doctor --save-profile FILE measured them on a phone; none: the usual ones again."""
    randomise: float | None = None
    """Strength of the faults and delays drawn anew for each training episode: 1 is usual, 0 none."""
    warm_start: Literal["rule", "rule207", "oracle"] | None = None
    """Begin from demonstrations by that player, as `default` does by rule's; the oracle's take long."""
    demonstration_steps: int | None = None
    """Of the run's steps, those that demonstrations take (80,000, in shorter runs 80 %)."""
    look: str | None = None
    """How the game looks to vision: standard, or a look of docs/looks.md."""
    size: str | None = None
    """Size of the frames that vision sees, as in 1280x720."""
    fresh: bool = False
    """Start over: earlier files are moved into models/old-<time>/, never deleted."""
    models: Path = Path("models")
    """Folder of the policy files and of the state to resume from."""
    logs: Path = Path("logs")
    """Folder of monitor.csv and TensorBoard's events."""
    film: bool = True
    """Film the end of the best validation episode when training is over; TensorBoard shows it too."""
    exam_episodes: int | None = None
    """Test episodes of each player after training (20); 0 for no exam. Sits it again when finished."""


def resolve(arguments: Arguments, state: TrainingState | None) -> RunSettings:
    """Options, else the resumed run's settings, else the defaults. Raises `ConfigError`."""
    for name, value, low in (
        ("--timesteps", arguments.timesteps, 1),
        ("--n-envs", arguments.n_envs, 1),
        ("--processes", arguments.processes, 1),
        ("--exam-episodes", arguments.exam_episodes, 0),
        ("--demonstration-steps", arguments.demonstration_steps, 1),
    ):
        if value is not None and value < low:
            raise ConfigError(f"{name}: expected {low} or more, found {value}; change the number")
    check_seed(arguments.seed or 0)
    saved = {} if state is None else state.config
    saved_preset = {} if state is None else state.preset
    device = arguments.device or str(saved.get("device", "simulator"))
    if device not in DEVICES:
        raise ConfigError(
            f"unknown device: expected one of {', '.join(DEVICES)}; found {device!r}; use --device simulator"
        )
    eyes = arguments.eyes or _usual_eyes(device, saved)
    usual = "default" if device == "simulator" else "scratch"  # a warm start needs the simulator
    preset = preset_named(arguments.preset or str(saved_preset.get("name", usual)))
    timesteps = arguments.timesteps or DEFAULT_TIMESTEPS
    if state is not None and arguments.timesteps is None:
        timesteps = state.counters.target_timesteps
    preset = _warmed(preset, arguments, state, device, timesteps)
    n_envs = arguments.n_envs or saved_preset.get("n_envs")
    moved = state is not None and (device, eyes) != (saved["device"], saved["eyes"]["kind"])
    if n_envs is None or (arguments.n_envs is None and moved):
        n_envs = _usual_envs(preset, device, eyes)
    if device == "phone" and n_envs != 1:
        raise ConfigError(
            f"--n-envs: expected 1 on a phone, which plays one game, found {n_envs}; leave it out"
        )
    if device == "phone" and arguments.processes is not None:
        raise ConfigError(
            f"--processes: expected none on a phone, which plays one game, found {arguments.processes}; "
            "leave it out"
        )
    if arguments.variant is None:
        variants = tuple(saved.get("variants", ()))
    else:
        variants = parse_variants(arguments.variant)
    if arguments.faults is None:
        faults = FaultConfig(**saved.get("faults", {}))
    else:
        faults = parse_faults(arguments.faults)
    screen = saved.get("screen", {})
    config = make_config(
        eyes=eyes,
        look=arguments.look or str(screen.get("look", "standard")),
        size=parse_size(arguments.size)
        if arguments.size
        else tuple(screen.get("size", GREAT_WALL.frame_size)),
        clock="game" if device == "simulator" else "wall",
        device=device,
        variants=variants,
        faults=faults,
        phone=phone_options(
            device,
            serial=arguments.serial,
            capture=arguments.capture,
            touch=arguments.touch,
            package=arguments.package,
            relaunch_every=arguments.relaunch_every,
            base=saved_phone(saved),
        ),
        like_device=saved_profile(saved)
        if arguments.like_device is None
        else profile_named(arguments.like_device),
    )
    config = with_game(config, arguments.profile, arguments.weights, saved)
    seed = arguments.seed
    if state is not None:
        seed = state.counters.run_seed if seed is None else seed
    if timesteps <= preset.demonstration_steps:
        raise ConfigError(
            f"--timesteps: expected more than the {preset.demonstration_steps:,} steps of demonstrations, "
            f"found {timesteps:,}; change it, or --demonstration-steps"
        )
    randomise = float(saved.get("randomise", 0.0)) if arguments.randomise is None else arguments.randomise
    if randomise and device != "simulator":
        raise ConfigError(
            f"--randomise: expected the simulator, found device {device!r}, whose delays are its own; "
            "leave it out"
        )
    try:
        config = dataclasses.replace(config, randomise=randomise)
    except ValueError as error:
        raise ConfigError(f"--{error}") from error
    return RunSettings(
        config=preset.apply(config),
        preset=preset.with_envs(int(n_envs)),
        run_seed=seed or 0,
        timesteps=timesteps,
        processes=arguments.processes or 0,
    )


def _warmed(
    preset: Preset, arguments: Arguments, state: TrainingState | None, device: str, timesteps: int
) -> Preset:
    """The preset with its warm start: as asked for, else the resumed run's, else the preset's own. Raises
    `ConfigError`."""
    usual = preset.demonstration_steps or DEFAULT_DEMONSTRATION_STEPS
    usual = min(usual, max(1, int(timesteps * DEMONSTRATION_SHARE)))
    if state is None:
        done, teacher, steps = 0, preset.warm_start, usual
    else:
        done = state.counters.timesteps
        teacher = str(state.preset.get("warm_start", ""))
        is_as_before = done > 0 or timesteps == state.counters.target_timesteps
        steps = int(state.preset.get("demonstration_steps", 0)) if is_as_before else usual
    teacher = arguments.warm_start or teacher
    asked = arguments.demonstration_steps
    if (teacher or asked) and not done and device != "simulator":
        instead = "--preset scratch" if state is None else "--fresh --preset scratch"
        raise ConfigError(
            f"--warm-start: expected the simulator, where courses begin at any speed, found device "
            f"{device!r}; start there and go on from it here, or learn by {instead}"
        )
    if asked and not teacher:
        raise ConfigError(
            "--demonstration-steps: expected --warm-start besides, found none; add --warm-start rule"
        )
    return preset.warmed(teacher, asked or steps)


def _usual_eyes(device: str, saved: Mapping[str, Any]) -> Literal["truth", "vision"]:
    """The resumed run's, where it played on that device; a phone has its screen and nothing else."""
    if device == "phone":
        return "vision"
    kind: Literal["truth", "vision"] = saved.get("eyes", {}).get("kind", "truth")
    return kind


def _usual_envs(preset: Preset, device: str, eyes: str) -> int:
    """A device outside is one game; through vision each env has a detector and an OCR engine of its own."""
    if device != "simulator":
        return 1
    return preset.n_envs if eyes == "truth" else min(VISION_ENVS, preset.n_envs)


def train(arguments: Arguments, console: Console) -> int:
    """Begin or resume, learn, sit the exam. Returns the exit status; raises `GreatWallError`."""
    files = RunFiles(arguments.models, arguments.logs)
    settings = resolve(arguments, _state_of(arguments, files))
    if settings.config.eyes.kind == "vision":  # a mistake in the options, or missing weights, move no file
        build_eyes(settings.config).close()
    files.prepare()
    by_hand = stop_signals() if settings.config.device == "phone" else contextlib.nullcontext()
    with RunLock(arguments.models), by_hand:
        files.sweep()
        return _train_alone(arguments, files, console)


def _state_of(arguments: Arguments, files: RunFiles) -> TrainingState | None:
    found = None if arguments.fresh else newest_state(files)
    return None if found is None else found.state


def _train_alone(arguments: Arguments, files: RunFiles, console: Console) -> int:
    """The same as the one trainer in these folders: what is in them is read now, and stays."""
    found = None if arguments.fresh else newest_state(files)
    state = None if found is None else found.state
    settings = resolve(arguments, state)
    if found is not None and found.trouble:
        console.print(found.trouble, style="bold red", highlight=False, markup=False)
        broken = put_broken_aside(files, found)
        if broken is not None:
            console.print(f"the broken file is {broken} now", highlight=False)
    if state is None:
        _clear_the_way(arguments, files, console)
        _say_begun(settings, files, console)
    else:
        files.expect_logs_of(state.counters.run_id)
        if state.counters.timesteps >= settings.timesteps:
            return _finished(arguments, state, settings, files, console)
    run = TrainingRun(settings, files, console, state)
    try:
        if state is not None:
            _say_resumed(state, settings, run.changes.accepted, files, console)
        run.learn()
    except KeyboardInterrupt:
        missing = run.save_interrupted()
        _say_interrupted(run, arguments, files, missing, console)
        return INTERRUPTED
    except GreatWallError as error:
        missing = run.save_interrupted()
        if isinstance(error, WorkerError):
            raise
        kept = f"no room for {', '.join(map(str, missing))}" if missing else f"saved {files.interrupt}"
        again = "run it again without --fresh" if arguments.fresh else "run it again"
        raise DeviceError(f"{error}; {kept}, {again} to go on from step {run.saved_at:,}") from error
    finally:
        run.close()
    if run.gaps.gaps:
        console.print(run.gaps.report(), highlight=False)
    console.print(
        f"trained {run.model.num_timesteps:,} steps in {run.counters.seconds:,.0f} s: {files.final}",
        highlight=False,
    )
    if arguments.film and run.validation_config is not None:
        _film(run.validation_config, run.model.num_timesteps, files, console)
    _exam(arguments, settings, files, console)
    return 0


def _film(config: Config, steps: int, files: RunFiles, console: Console) -> None:
    """The best policy on the course it was best on. What is wrong with that is said, and is no failure."""
    from greatwall.commands.film import GIF_SIZE, film_end

    def warn(line: str) -> None:
        console.print(line, style="yellow", markup=False, highlight=False)

    found = newest_policy(files.eval_best, warn)
    validation = None if found is None else found[0].training.get("validation")
    seed = validation.get("best_seed") if isinstance(validation, dict) else None
    if found is None or not is_count(seed):
        return
    with console.status("filming the best validation episode"):
        try:
            player = PolicyPlayer(found[0], config, found[1].stem)
            animation = film_end(config, player, cast("int", seed), files.film, FILM_S)
            board = BoardWriter(files.board, Disk(warn), steps + 1)
            board.add_animation("best_episode", animation, GIF_SIZE, steps)
            board.close()
        except ConfigError as error:
            warn(f"no film of the best episode: {error}")
            return
    console.print(f"the end of the best validation episode: {files.film}", highlight=False)


def _clear_the_way(arguments: Arguments, files: RunFiles, console: Console) -> None:
    """Put earlier files of this models folder aside, with the logs of their run and no other's."""
    owner = None
    try:
        found = newest_state(files)
        owner = None if found is None else found.state.counters.run_id
    except FileFormatError:  # starting over is what is advised for such a file
        owner = files.run_of_logs() or ""
    files.expect_logs_of(owner)
    old = files.set_aside()
    if old is not None:
        what = "earlier files" if arguments.fresh else "policies without a state to resume from"
        console.print(f"{what} were moved to {old}", highlight=False)


def _finished(
    arguments: Arguments, state: TrainingState, settings: RunSettings, files: RunFiles, console: Console
) -> int:
    """No step is left: sit the exam where it is asked for, else say so. Raises `ConfigError` for
    settings that only further steps could heed."""
    done, target = state.counters.timesteps, state.counters.target_timesteps
    as_it_was = resolve(Arguments(), state)
    before = changes_between(state, as_it_was.config, as_it_was.preset, as_it_was.run_seed)
    now = changes_between(state, settings.config, settings.preset, settings.run_seed)
    asked = [one for one in (*now.refused, *now.accepted) if one not in (*before.refused, *before.accepted)]
    if asked and now.refused:
        raise ConfigError(
            f"expected the preset, network and seed of the finished run in {files.models}, found "
            f"{'; '.join(now.refused)}; start over with --fresh, or name another folder with --models"
        )
    if asked:
        raise ConfigError(
            f"expected the settings of the run that finished at {done:,} steps, found {'; '.join(asked)}; "
            f"go on with --timesteps {2 * done} besides, or start over with --fresh"
        )
    if done < target:
        raise ConfigError(
            f"--timesteps: expected more than the {done:,} steps that the run in {files.models} has gone, "
            f"found {settings.timesteps:,}; leave it out to go on to {target:,}"
        )
    if arguments.exam_episodes:
        _exam(arguments, settings, files, console)
        return 0
    policy = files.eval_best if files.eval_best.exists() else files.final
    console.print(
        f"this run is finished: {done:,} of {target:,} steps, policy {files.final}; "
        f"go on with --timesteps {2 * done}, start over with --fresh, sit the exam with --exam-episodes, "
        f"or look at it: python -m greatwall evaluate --policy {policy} --eyes truth",
        highlight=False,
    )
    return 0


def _exam(arguments: Arguments, settings: RunSettings, files: RunFiles, console: Console) -> None:
    episodes = DEFAULT_EXAM_EPISODES if arguments.exam_episodes is None else arguments.exam_episodes
    if episodes == 0:
        return
    if settings.config.device != "simulator":
        device, policy = settings.config.device, files.final
        console.print(
            "no exam, as there was no validation: courses cannot be chosen there. Play it there: "
            f"python ppo_acting.py --device {device} --policy {policy}; on the simulator's test courses: "
            f"python -m greatwall evaluate --policy {policy} --eyes vision",
            highlight=False,
        )
        return
    wanted = [one for path in (files.eval_best, files.final) for one in (path, previous_of(path))]
    found = first_good(wanted, lambda line: console.print(line, style="yellow", markup=False))
    trained = files.final if found is None else found[1]
    players = [
        ("trained", make_player(str(trained), settings.config)),
        ("rule", make_player("rule", settings.config)),
        ("random", make_player("random", settings.config)),
    ]
    sit_exam(settings.config, players, episodes, console)


def _say_begun(settings: RunSettings, files: RunFiles, console: Console) -> None:
    preset = settings.preset
    console.print(
        f"training {settings.timesteps:,} steps: preset {preset.name}, {preset.n_envs} envs, "
        f"{settings.config.eyes.kind} eyes, seed {settings.run_seed}; files in {files.models}, "
        f"curves: tensorboard --logdir {files.logs}",
        highlight=False,
    )


def _say_resumed(
    state: TrainingState,
    settings: RunSettings,
    changed: Sequence[str],
    files: RunFiles,
    console: Console,
) -> None:
    counters = state.counters
    best = "none yet" if counters.best_return is None else f"{counters.best_return:+.1f}"
    console.print(
        f"resuming from {files.state}: step {counters.timesteps:,} of {settings.timesteps:,}, "
        f"preset {settings.preset.name}, seed {settings.run_seed}, best return {best}; "
        "to start over: --fresh",
        highlight=False,
    )
    if changed:
        console.print(f"changed since: {'; '.join(changed)}", highlight=False, markup=False)


def _say_interrupted(
    run: TrainingRun, arguments: Arguments, files: RunFiles, missing: Sequence[Path], console: Console
) -> None:
    again = "run it again without --fresh" if arguments.fresh else "run it again"
    if missing:
        console.print(
            f"\ninterrupted at {run.model.num_timesteps:,} steps; no room for "
            f"{', '.join(str(path) for path in missing)}: {again} to go on from step {run.saved_at:,}",
            style="bold red",
            highlight=False,
        )
        return
    console.print(
        f"\ninterrupted at {run.model.num_timesteps:,} steps: saved {files.interrupt} and {files.state}; "
        f"{again} to go on from step {run.saved_at:,}",
        highlight=False,
    )


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    """The command line. A user's mistake is one line on stderr and exit status 2."""
    arguments = tyro.cli(Arguments, prog="train_ppo.py", args=argv)
    torch.set_num_threads(1)  # measured: 5 times faster than two on two cores, for a network this small
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGINT, _terminated)  # also where a shell without job control had it ignored
    out = cast("TextIO", PatientStream(sys.stdout))
    console = Console(file=out)
    if not console.is_terminal:
        console = Console(file=out, width=LINE_WIDTH)
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
