"""Of each file and the one it replaced, the newest that is good: a broken file costs a little, not the run.

Main thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from greatwall.errors import FileFormatError
from greatwall.learning.run_files import PREFIX, RunFiles
from greatwall.learning.training_state import TrainingState, read_state
from greatwall.policies.archive import previous_of
from greatwall.policies.policy_file import Policy, load_policy

Say = Callable[[str], None]


@dataclass(frozen=True)
class FoundState:
    """A state to go on from, the file it is in, and what is wrong with a newer one; "" for nothing."""

    state: TrainingState
    path: Path
    trouble: str = ""


def newest_state(files: RunFiles) -> FoundState | None:
    """None where a run has never saved; raises `FileFormatError` where no file is good."""
    previous = previous_of(files.state)
    if not files.state.exists() and not previous.exists():
        return None
    try:
        return FoundState(read_state(files.state), files.state)
    except FileFormatError as error:
        if not previous.exists():
            raise
        trouble = error
    try:
        state = read_state(previous)
    except FileFormatError:
        raise trouble from None
    return FoundState(
        state, previous, f"{_found(trouble)}; the one before it is used: step {state.counters.timesteps:,}"
    )


def put_broken_aside(files: RunFiles, found: FoundState) -> Path | None:
    """Rename a broken state, so that the next save cannot push the good one out. None: there is none."""
    if not found.trouble or not files.state.exists():
        return None
    broken = files.state.with_name(f"{files.state.stem}.broken{files.state.suffix}")
    files.state.replace(broken)
    return broken


def newest_policy(path: Path, say: Say) -> tuple[Policy, Path] | None:
    """The policy in `path`, else in the file it replaced; None when neither is there and good."""
    return first_good((path, previous_of(path)), say)


def first_good(paths: Iterable[Path], say: Say) -> tuple[Policy, Path] | None:
    """The first file that is there and a policy; `say` gets a line for each that is broken."""
    for path in paths:
        if path.is_file():
            try:
                return load_policy(path), path
            except FileFormatError as error:
                say(f"{_found(error)}; the next older one is tried")
    return None


def playable(models: Path) -> list[Path]:
    """Where a trained policy may be, the one to play first: the best by evaluation, by return, the last,
    each with the one it replaced, then the checkpoints from the newest on."""
    files = [models / f"{PREFIX}_{name}.zip" for name in ("eval_best", "best", "final", "interrupt")]
    found = [one for path in files for one in (path, previous_of(path))]
    steps = {}
    for path in models.glob(f"{PREFIX}_*_steps.zip"):
        number = path.stem.removeprefix(f"{PREFIX}_").removesuffix("_steps")
        if number.isdigit():
            steps[path] = int(number)
    return found + sorted(steps, key=steps.__getitem__, reverse=True)


def policy_to_play(models: Path, say: Say) -> str:
    """What is played unless something is named: the first good file of `playable`, else the rule player."""
    found = first_good(playable(models), say)
    return "rule" if found is None else str(found[1])


def _found(error: FileFormatError) -> str:
    """The line without its remedy, which is not what is done about it."""
    return str(error).rpartition("; ")[0]
