"""How long training takes: through truth eyes, demonstrating, learning, validating and saving included.

    python benchmarks/training_speed.py [--timesteps 100000] [--presets scratch default]

One preset after another, as `train_ppo.py` runs it, without its exam and its film. CPU time is of the process
that learns: those that share its games are not in it. Writes JSON and the lines of docs/performance.md
between its markers. On a machine that others use too, `chrt -r 1 python benchmarks/training_speed.py` (Linux,
as root) gives it a core when it wants one; the result says so. Main thread.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from rich.console import Console
from stable_baselines3 import PPO

from greatwall.assembly import make_config
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, write_between, write_json
from greatwall.errors import ConfigError
from greatwall.learning.presets import Preset, preset_named
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.saving import StateCallback, ValidationCallback

RESULT = Path(__file__).with_suffix(".json")
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- training_speed: begin -->", "<!-- training_speed: end -->"
# What takes the time: whose method, its name, what it is called in the table.
PARTS: tuple[tuple[Any, str, str], ...] = (
    (TrainingRun, "_demonstrate", "demonstrations"),
    (PPO, "train", "updates"),
    (ValidationCallback, "_validate", "validation"),
    (StateCallback, "_save", "saving the state"),
)
ASIDE = ("validation", "saving the state")  # what is neither stepping nor learning
WANTED_S = 120.0  # for 100,000 steps on two cores


@dataclass(frozen=True)
class TrainingSpeed:
    """Time one training run."""

    timesteps: int = 100_000
    """env steps, all envs together"""
    presets: tuple[str, ...] = ("scratch", "default")
    """which training settings"""
    seed: int = 0
    """of the run"""
    json: Path | None = RESULT
    """where the result goes"""
    document: Path | None = DOCUMENT
    """whose lines between the markers are written"""

    def run(self) -> int:
        """Train, time, report."""
        if self.json is not None:
            check_output(self.json, "--json")
        torch.set_num_threads(1)
        runs = []
        for name in self.presets:
            preset = preset_named(name)
            if preset.demonstration_steps >= self.timesteps:
                raise ConfigError(
                    f"--timesteps: expected more than the {preset.demonstration_steps:,} steps that {name} "
                    f"is shown, found {self.timesteps:,}; change it, or --presets"
                )
            with tempfile.TemporaryDirectory(prefix="greatwall-speed-") as folder:
                runs.append(self._measure(preset, Path(folder)))
        result = {
            "command": shlex.join(["python", "benchmarks/training_speed.py", *sys.argv[1:]]),
            "machine": machine(),
            "runs": runs,
        }
        print(lines(result))
        if self.json is not None:
            write_json(self.json, result)
        if self.document is not None:
            write_between(self.document, BEGIN, END, lines(result))
        return 0

    def _measure(self, preset: Preset, folder: Path) -> dict[str, Any]:
        files = RunFiles(folder / "models", folder / "logs")
        files.prepare()
        config = preset.apply(make_config(eyes="truth"))
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        run = TrainingRun(
            RunSettings(config, preset, self.seed, self.timesteps), files, Console(quiet=True), None
        )
        try:
            with stopwatches() as parts:
                run.learn()
        finally:
            run.close()
        seconds, cpu_seconds = time.perf_counter() - began_s, time.process_time() - began_cpu_s
        goes_first = hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) != os.SCHED_OTHER
        return {
            "preset": preset.name,
            "n_envs": preset.n_envs,
            "timesteps": run.model.num_timesteps,
            "seconds": round(seconds, 1),
            "cpu_seconds": round(cpu_seconds, 1),
            "seconds_of": {name: round(wall_s, 1) for name, (wall_s, _) in parts.items()},
            "cpu_seconds_of": {name: round(cpu_s, 1) for name, (_, cpu_s) in parts.items()},
            "steps_per_s": round(run.model.num_timesteps / seconds, 1),
            "load_average_1min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
            "goes_first": goes_first,
        }


@contextlib.contextmanager
def stopwatches() -> Iterator[dict[str, tuple[float, float]]]:
    """Seconds and CPU seconds by part, while the context lasts."""
    spent = dict.fromkeys((name for _, _, name in PARTS), (0.0, 0.0))

    def timed(method: Callable[..., Any], name: str) -> Callable[..., Any]:
        def measured(*arguments: Any, **options: Any) -> Any:
            began_s, began_cpu_s = time.perf_counter(), time.process_time()
            try:
                return method(*arguments, **options)
            finally:
                wall_s, cpu_s = spent[name]
                wall_s += time.perf_counter() - began_s
                spent[name] = wall_s, cpu_s + time.process_time() - began_cpu_s

        return measured

    with contextlib.ExitStack() as stack:
        for owner, method, name in PARTS:
            original = getattr(owner, method)
            stack.callback(setattr, owner, method, original)
            setattr(owner, method, timed(original, name))
        yield spent


def lines(result: dict[str, Any]) -> str:
    """The part of docs/performance.md that this command writes."""
    machine_, runs = result["machine"], result["runs"]
    where = f"{machine_['cores']} cores ({machine_['processor']}), Python {machine_['python']}"
    loads = ", ".join(str(run["load_average_1min"]) for run in runs)
    stood_back = ", others had to stand back" if any(run["goes_first"] for run in runs) else ""

    def row(name: str, wanted: str, cells: list[str]) -> str:
        return f"| {name} | {wanted} | {' | '.join(cells)} |"

    limit = f"at most {WANTED_S:.0f} s" if all(run["timesteps"] <= 110_000 for run in runs) else ""
    seconds = [f"{run['seconds']:.0f} s" for run in runs]
    without = [f"{run['seconds'] - sum(run['seconds_of'][part] for part in ASIDE):.0f} s" for run in runs]
    parts = [name for _, _, name in PARTS if any(run["cpu_seconds_of"][name] for run in runs)]
    return "\n".join(
        [
            f"`{result['command']}`: {where}; 1-minute load at the end {loads}{stood_back}.",
            "",
            row("figure", "wanted", [f"preset {run['preset']}, {run['n_envs']} envs" for run in runs]),
            "|---|---|" + "---|" * len(runs),
            row("steps", "", [f"{run['timesteps']:,}" for run in runs]),
            row("time", limit, seconds),
            row("time without validation and saving the state", "", without),
            row("CPU time of the process that learns", "", [f"{run['cpu_seconds']:.0f} s" for run in runs]),
            *(
                row(f"of that, {name}", "", [f"{run['cpu_seconds_of'][name]:.0f} s" for run in runs])
                for name in parts
            ),
            row("steps/s", "", [f"{run['steps_per_s']:,.0f}" for run in runs]),
        ]
    )


if __name__ == "__main__":
    sys.exit(run_command(TrainingSpeed, sys.argv[1:], "benchmarks/training_speed.py"))
