"""Kill a training run again and again, and see that nothing it had saved is lost.

    python benchmarks/kills.py [--kills 50] [--timesteps 20000] [--json FILE] [--document FILE]

The real `train_ppo.py` in a (forked) process of its own gets SIGKILL at random moments: while it starts,
while it plays and learns, and between the begin and the end of a save. It reports both through a pipe, so
that what was saved whole is known from outside. After each kill every file must be readable and the state at
least as new as the last completed save; then the run is started again. A run that reaches its end is
compared with one that nobody disturbed: equal to the last bit. Then another seed's begins. Writes JSON,
and the lines of docs/training.md between its markers. Linux and macOS. Main thread.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import select
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

RESULT = Path(__file__).with_suffix(".json")
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "training.md"
BEGIN, END = "<!-- kills: begin -->", "<!-- kills: end -->"
MOMENTS = ("any time", "at work", "in a save")  # what a kill is aimed at; where it struck is recorded
STARTUP_S, WORK_S, SAVE_S = 2.0, 4.0, 0.012  # a kill comes within this long of the start, the work, the save
PATIENCE_S = 300.0  # for a trainer that says nothing


@dataclass
class Kill:
    """One kill and what was found after it."""

    aimed: str
    struck: str  # starting, at work, saving the state, saving a policy
    last_completed: int  # step of the last state that was saved whole, as the trainer said
    found: int  # step of the state on disk
    from_previous: bool  # because the newest was broken
    unreadable: list[str]  # files of the run that cannot be read

    @property
    def lost_nothing(self) -> bool:
        return self.found >= self.last_completed and not self.unreadable


@dataclass
class Session:
    """One trainer process and what it said."""

    process: Any  # of multiprocessing
    pipe: int
    words: list[tuple[str, str, int]] = field(default_factory=list)  # begin or done, of what, at which step
    aim: str = ""  # one of MOMENTS, once it is killed
    _rest: bytes = b""

    def hear(self, timeout_s: float) -> bool:
        """Take in what comes within that time; False once the trainer has gone."""
        ready, _, _ = select.select([self.pipe], [], [], max(0.0, timeout_s))
        if not ready:
            return True
        data = os.read(self.pipe, 65536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            verb, what, step = line.decode().split()
            self.words.append((verb, what, int(step)))
        return bool(data)

    def hear_until(self, verb: str, what: str, count: int) -> bool:
        """Listen until that was said so often; False when the trainer is gone before."""
        ends_s = time.monotonic() + PATIENCE_S
        while sum(one[:2] == (verb, what) for one in self.words) < count:
            if time.monotonic() > ends_s:
                raise TimeoutError(f"expected a word of the trainer in {PATIENCE_S:.0f} s, found none")
            if not self.hear(1.0):
                return False
        return True

    def hear_for(self, seconds: float) -> bool:
        ends_s = time.monotonic() + seconds
        while (left_s := ends_s - time.monotonic()) > 0:
            if not self.hear(left_s):
                return False
        return True

    def kill(self) -> None:
        self.process.kill()
        self.process.join(30)
        while self.hear(0.0) and select.select([self.pipe], [], [], 0.0)[0]:
            pass
        os.close(self.pipe)

    def ended(self) -> int:
        """Exit status of a trainer that is left alone."""
        ends_s = time.monotonic() + PATIENCE_S * 4
        while self.hear(1.0) and time.monotonic() < ends_s:
            pass
        os.close(self.pipe)
        self.process.join(60)
        return int(self.process.exitcode)

    @property
    def struck(self) -> str:
        """What the trainer was at when its last word came."""
        if not self.words:
            return "starting"
        verb, what, _ = self.words[-1]
        return f"saving {'the state' if what == 'state' else 'a policy'}" if verb == "begin" else "at work"


@dataclass(frozen=True)
class Kills:
    """Kill a training run at random moments and see what is left of it."""

    kills: int = 50
    """how many"""
    timesteps: int = 20_000
    """of each run; when one is through, the next begins"""
    n_envs: int = 4
    """of each run"""
    preset: str = "scratch"
    """of each run; demonstrations begin anew when they are interrupted, and few kills would come later"""
    seed: int = 0
    """of the first run, and of the moments"""
    compare: bool = True
    """train each run that reached its end once more without kills, and compare"""
    json: Path | None = RESULT
    """where the result goes"""
    document: Path | None = DOCUMENT
    """whose lines between the markers are written"""

    def run(self) -> int:
        """Kill, check, report; 1 when anything was lost."""
        from greatwall.commands.bench import machine
        from greatwall.commands.output import check_output, write_between, write_json

        if self.json is not None:
            check_output(self.json, "--json")
        with tempfile.TemporaryDirectory(prefix="greatwall-kills-") as folder:
            found = self._measure(Path(folder))
        command = shlex.join(["python", "benchmarks/kills.py", *sys.argv[1:]])
        result = {"command": command, "machine": machine(), **found}
        print(summary(result))
        if self.json is not None:
            write_json(self.json, result)
        if self.document is not None:
            write_between(self.document, BEGIN, END, summary(result))
        return 0 if result["lost"] == 0 and result["equal_runs"] == result["finished_runs"] else 1

    @property
    def options(self) -> list[str]:
        """Of `train_ppo.py`."""
        run = ["--preset", self.preset, "--timesteps", str(self.timesteps), "--n-envs", str(self.n_envs)]
        return [*run, "--exam-episodes", "0", "--no-film"]

    def _measure(self, folder: Path) -> dict[str, Any]:
        rng = random.Random(self.seed)
        kills: list[Kill] = []
        resumed = finished = equal = number = 0
        while True:
            place, seed = folder / str(number), self.seed + number
            completed = 0
            while True:
                expected = found_step(place)
                session = start(place, self.options, seed)
                done = len(kills) >= self.kills
                killed = not done and strike(session, rng)
                first = next((step for verb, what, step in session.words if what == "state"), None)
                if first is not None and expected is not None:
                    resumed += 1
                    if expected > 0 and first != expected:  # what is demonstrated is not saved on the way
                        raise SystemExit(f"expected a run that goes on from {expected}, found {first}")
                if not killed:
                    status = session.ended()
                    if status != 0:
                        raise SystemExit((place / "trainer.log").read_text()[-2000:])
                    break
                completed = max([completed, *(s for v, w, s in session.words if (v, w) == ("done", "state"))])
                kills.append(look(place, session, completed))
                print(f"kill {len(kills)} of {self.kills}: {kills[-1]}", flush=True)
            finished += 1
            if self.compare:
                undisturbed = folder / f"{number}-undisturbed"
                if start(undisturbed, self.options, seed).ended() != 0:
                    raise SystemExit((undisturbed / "trainer.log").read_text()[-2000:])
                equal += same_state(place, undisturbed)
            number += 1
            if len(kills) >= self.kills:
                break
        return {
            "kills": len(kills),
            "struck": dict(Counter(one.struck for one in kills)),
            "resumed_sessions": resumed,
            "lost": sum(not one.lost_nothing for one in kills),
            "from_previous": sum(one.from_previous for one in kills),
            "finished_runs": finished,
            "compared": self.compare,
            "equal_runs": equal if self.compare else finished,
            "timesteps": self.timesteps,
            "preset": self.preset,
            "each": [asdict(one) for one in kills],
        }


def start(place: Path, options: Sequence[str], seed: int) -> Session:
    """`train_ppo.py` in a process of its own, which says when it saves. Forked, so that the imports, which
    write nothing, are paid once and kills fall on what follows."""
    place.mkdir(exist_ok=True)
    reads, writes = os.pipe()
    folders = ["--models", str(place / "models"), "--logs", str(place / "logs")]
    # A run that was killed before its first save begins again: it is told its seed each time.
    arguments = [*folders, *options, "--seed", str(seed)]
    process = multiprocessing.get_context("fork").Process(
        target=train_and_say, args=(reads, writes, place / "trainer.log", arguments)
    )
    process.start()
    os.close(writes)
    return Session(process, reads)


def strike(session: Session, rng: random.Random) -> bool:
    """Kill it at a moment drawn anew; False when it came to its end before."""
    aim = rng.choice(MOMENTS)
    if aim == "any time":
        alive = session.hear_for(rng.uniform(0.0, STARTUP_S))
    elif aim == "at work":
        alive = session.hear_until("done", "state", 1) and session.hear_for(rng.uniform(0.0, WORK_S))
    else:
        what = rng.choice(("state", "state", "policy"))
        alive = session.hear_until("begin", what, rng.randint(1, 3))
        alive = alive and session.hear_for(rng.uniform(0.0, SAVE_S))
    if not alive or session.process.exitcode is not None:
        return False
    session.aim = aim
    session.kill()
    return True


def look(place: Path, session: Session, completed: int) -> Kill:
    """What is on disk after a kill."""
    from greatwall.errors import FileFormatError
    from greatwall.learning.kept_files import newest_state
    from greatwall.learning.run_files import PREFIX, RunFiles
    from greatwall.policies.policy_file import load_policy

    files = RunFiles(place / "models", place / "logs")
    unreadable = []
    for path in sorted(files.models.glob(f"{PREFIX}_*.zip")):
        if "_state" not in path.name:
            try:
                load_policy(path)
            except FileFormatError as error:
                unreadable.append(str(error))
    try:
        found = newest_state(files)
    except FileFormatError as error:
        unreadable.append(str(error))
        found = None
    step = -1 if found is None else found.state.counters.timesteps
    previous = found is not None and bool(found.trouble)
    return Kill(session.aim, session.struck, completed, max(step, 0), previous, unreadable)


def found_step(place: Path) -> int | None:
    from greatwall.learning.kept_files import newest_state
    from greatwall.learning.run_files import RunFiles

    found = newest_state(RunFiles(place / "models", place / "logs"))
    return None if found is None else found.state.counters.timesteps


def same_state(one: Path, other: Path) -> bool:
    """Whether two finished runs ended with equal weights, optimiser, generators and games under way."""
    import numpy as np

    from greatwall.learning.run_files import RunFiles
    from greatwall.learning.training_state import read_state

    states = [read_state(RunFiles(place / "models", place / "logs").state) for place in (one, other)]
    tensors = [state.tensors for state in states]
    return (
        tensors[0].keys() == tensors[1].keys()
        and all(np.array_equal(tensor, tensors[1][name]) for name, tensor in tensors[0].items())
        and states[0].rng == states[1].rng
        and states[0].counters.best_return == states[1].counters.best_return
    )


def summary(result: dict[str, Any]) -> str:
    """The lines of docs/training.md that this command writes."""
    where = ", ".join(f"{count} {what}" for what, count in sorted(result["struck"].items()))
    resumed, equal, finished = result["resumed_sessions"], result["equal_runs"], result["finished_runs"]
    lines = [
        f"`{result['command']}`: {result['kills']} SIGKILLs; what the run was at: {where}.",
        "",
        "| figure | wanted | measured |",
        "|---|---|---|",
        f"| kills after which a completed save was lost, or a file unreadable | 0 | {result['lost']} |",
        f"| runs started again that went on from the step on disk | all | {resumed} of {resumed} |",
        f"| kills after which the kept previous state was needed | | {result['from_previous']} |",
    ]
    if result["compared"]:
        lines.append(f"| runs that ended as an undisturbed one, bit for bit | all | {equal} of {finished} |")
    return "\n".join(lines)


def train_and_say(reads: int, pipe: int, log: Path, arguments: list[str]) -> None:
    """In the trainer's process: `train_ppo.py`, telling of each save through the pipe."""
    os.close(reads)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(out, 1)
    os.dup2(out, 2)
    import train_ppo
    from greatwall.learning.saving import PolicySaver, StateCallback

    save_state, save_policy = StateCallback._save, PolicySaver.save  # noqa: SLF001

    def say(verb: str, what: str, step: int) -> None:
        os.write(pipe, f"{verb} {what} {step}\n".encode())

    def state(self: StateCallback) -> None:
        say("begin", "state", self.num_timesteps)
        save_state(self)
        say("done", "state", self.saved_at)

    def policy(self: PolicySaver, path: Path, network: Any, timesteps: int, **facts: Any) -> bool:
        say("begin", "policy", timesteps)
        done = save_policy(self, path, network, timesteps, **facts)
        say("done", "policy", timesteps)
        return done

    StateCallback._save = state  # type: ignore[method-assign]  # noqa: SLF001
    PolicySaver.save = policy  # type: ignore[method-assign]
    sys.exit(train_ppo.main(arguments))


if __name__ == "__main__":
    import train_ppo  # noqa: F401 - before the first fork
    from greatwall.commands import run_command

    sys.exit(run_command(Kills, sys.argv[1:], "benchmarks/kills.py"))
