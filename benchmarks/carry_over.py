"""What of a policy's skill carries over: from truth to vision, to the wall clock, to faults and other delays.

    python benchmarks/carry_over.py --policies plain=FILE randomised=FILE    # hours: vision draws every frame

A run lasts 120 s of the game from a set start speed; whoever loses a life is given it back, so that it lasts
that long. What counts is lives lost per 100 hazards met, by the game's own account, because distances
scatter too much. Every condition rides the same courses, so that ratios are of pairs; their intervals are
95 % bootstraps over courses, drawn within each start speed. Each run is kept in `--folder` under what it
follows from, policy and settings, and is not made again: the command may be stopped and started again;
whoever changes the code names another folder. Main thread; on the game's clock `--jobs` processes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from rich.console import Console

from benchmarks.carry_over_page import PAGE, loss_per_100, rows_of, show, write_page
from config import Config, CourseConfig, FaultConfig, replace_in
from game_env import GreatWallEnv
from greatwall.assembly import build_device, build_env, check_seed, make_config
from greatwall.commands import run_command
from greatwall.commands.bench import machine
from greatwall.commands.output import check_output, check_output_folder, write_json
from greatwall.contracts import Player, TickedDevice
from greatwall.errors import ConfigError
from greatwall.game.rules import HAZARDS
from greatwall.game.view import Kind, Thing
from greatwall.learning.kept_files import policy_to_play
from greatwall.learning.seeds import TEST_START
from greatwall.learning.starts import moved_to
from greatwall.players import make_player

RESULT = Path(__file__).with_suffix(".json")
MODELS = Path(__file__).resolve().parents[1] / "models"
FOLDER = Path(__file__).resolve().parents[1] / "logs" / "carry_over"
FAULTS = FaultConfig(miss=0.05, mislabel=0.02, jitter=3.0, stale=0.05, hud=0.02, drop=0.05)
TABLE_WIDTH = 130  # where there is no terminal to ask
LATE_S = 0.06  # how much later touches work than whoever plays was trained for


class Condition(NamedTuple):
    """How the same courses are seen and touched."""

    name: str
    eyes: Literal["truth", "vision"] = "truth"
    clock: Literal["game", "wall"] = "game"
    faults: FaultConfig = FaultConfig()
    late_s: float = 0.0

    def config(self) -> Config:
        config = make_config(eyes=self.eyes, clock=self.clock, faults=self.faults)
        low, high = config.delays.touch_to_effect_s
        return replace_in(config, "delays", touch_to_effect_s=(low + self.late_s, high + self.late_s))


TRUTH = Condition("truth")
CONDITIONS = (
    TRUTH,
    Condition("vision", eyes="vision"),
    Condition("truth, faults", faults=FAULTS),
    Condition("truth, late touches", late_s=LATE_S),
)
WALL = Condition("vision, wall clock", eyes="vision", clock="wall")


@dataclass(frozen=True)
class Run:
    """One run: what it met and what that cost, by the game's own account."""

    seed: int
    speed_m_s: float
    seconds: float
    hazards: int
    lives: int
    lost_to: dict[str, int]
    frame_age_ms: int  # median at the decisions: what a busy machine does to the wall clock
    ended: str  # "" when it lasted to its end


@dataclass(frozen=True)
class CarryOver:
    """Lives lost per 100 hazards, under one condition after another, on the same courses."""

    policies: tuple[str, ...] = ()
    """NAME=FILE, or a built-in player; the best policy in models/ unless given"""
    speeds: tuple[float, ...] = (20.0, 26.0, 32.0)
    """m/s at which runs begin; the course gets faster by a quarter within two minutes"""
    courses: int = 4
    """of each speed, on the game's clock"""
    wall_courses: int = 0
    """of each speed, through vision on the wall clock: two minutes each, on a machine that is else quiet"""
    wall_only: tuple[str, ...] = ()
    """names of policies that ride there; none is all"""
    only: tuple[str, ...] = ()
    """names of conditions beside truth; none is all"""
    seconds: float = 120.0
    """how long a run lasts, s of the game"""
    first_seed: int = TEST_START
    """of the courses"""
    jobs: int = 2
    """processes at once, on the game's clock"""
    folder: Path = FOLDER
    """runs are kept here"""
    json: Path | None = None
    """write everything here; the published file, after a run with every option but these as it is"""

    def run(self) -> int:
        self._check()
        check_output_folder(self.folder, "--folder")
        asked = self.policies or (f"trained={policy_to_play(MODELS, print)}",)
        policies = dict(_named(one) for one in asked)
        free = CarryOver(self.policies, jobs=self.jobs, json=self.json, folder=self.folder)
        full = dataclasses.replace(self, wall_courses=0, wall_only=()) == free
        path = self.json or (RESULT if full else None)
        check_output(path, "--json")
        for name in self.wall_only:
            if name not in policies:
                raise ConfigError(
                    f"--wall-only: expected some of {', '.join(policies)}; found {name!r}; change it"
                )
        for spec in policies.values():
            make_player(spec, TRUTH.config())  # a file that is no policy is said before hours are spent
        console = Console()
        if not console.is_terminal:
            console = Console(width=TABLE_WIDTH)
        result = self._measure(policies, console)
        show(result, console)
        if path is not None:
            write_json(path, result)
        if path == RESULT:
            write_page(PAGE, result)
        elif path is None:
            console.print("not a full run: the published figures stay; name a file with --json")
        return 0

    def _check(self) -> None:
        known = [one.name for one in CONDITIONS[1:]]
        for name in self.only:
            if name not in known:
                raise ConfigError(f"--only: expected some of {', '.join(known)}; found {name!r}; change it")
        for flag, value in (("--courses", self.courses), ("--jobs", self.jobs), ("--seconds", self.seconds)):
            if value < 1:
                raise ConfigError(f"{flag}: expected 1 or more, found {value:g}; change the number")
        if self.wall_courses < 0:
            raise ConfigError(f"--wall-courses: expected 0 or more, found {self.wall_courses}; change it")
        if self.wall_only and not self.wall_courses:
            raise ConfigError("--wall-only: expected --wall-courses above 0 beside it, found 0; add it")
        slowest = TRUTH.config().course.start_speed_m_s
        if not self.speeds or min(self.speeds) < slowest or len(set(self.speeds)) < len(self.speeds):
            raise ConfigError(
                f"--speeds: expected some of {slowest:g} m/s or more, each once, found {self.speeds}; "
                "change them"
            )
        check_seed(self.first_seed, max(self.courses, self.wall_courses), flag="--first-seed")

    def _measure(self, policies: dict[str, str], console: Console) -> dict[str, Any]:
        asked = [one for one in CONDITIONS if one == TRUTH or not self.only or one.name in self.only]
        courses = range(self.first_seed, self.first_seed + self.courses)
        tasks = [
            (name, spec, condition, speed, (seed,), self.seconds, self.folder)
            for name, spec in policies.items()
            for condition in asked
            for speed in self.speeds
            for seed in courses
        ]
        found: dict[tuple[str, str], list[Run]] = {}
        for (name, _, condition, *_), runs in _in_parallel(tasks, self.jobs):
            found.setdefault((name, condition.name), []).extend(runs)
            if len(found[name, condition.name]) == len(self.speeds) * self.courses:
                loss = loss_per_100([dataclasses.asdict(one) for one in found[name, condition.name]])
                console.print(f"{name}, {condition.name}: {loss} lost per 100", highlight=False)
        on_the_wall = [
            (name, spec, WALL, speed, (seed,), self.seconds, self.folder)
            for name, spec in policies.items()
            if not self.wall_only or name in self.wall_only
            for speed in self.speeds
            for seed in range(self.first_seed, self.first_seed + self.wall_courses)
        ]
        for number, task in enumerate(on_the_wall, 1):
            found.setdefault((task[0], WALL.name), []).extend(_kept(task))
            console.print(f"{WALL.name}: {number} of {len(on_the_wall)}, {task[0]}", highlight=False)
        runs_by_name = {
            name: {
                condition: [dataclasses.asdict(one) for one in runs]
                for (policy, condition), runs in found.items()
                if policy == name
            }
            for name in policies
        }
        return {
            "command": "python benchmarks/carry_over.py",
            "policies": policies,
            "seconds": self.seconds,
            "speeds_m_s": list(self.speeds),
            "courses": [courses.start, courses.stop - 1],
            "wall_courses": self.wall_courses,
            "wall_only": list(self.wall_only),
            "faults": dataclasses.asdict(FAULTS),
            "late_s": LATE_S,
            "machine": machine(),
            "rows": rows_of(runs_by_name, TRUTH.name),
            "runs": runs_by_name,
        }


Task = tuple[str, str, Condition, float, tuple[int, ...], float, Path]


def _in_parallel(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, list[Run]]]:
    """Each task and its runs, in the order of the tasks."""
    if jobs == 1:
        for task in tasks:
            yield task, _kept(task)
        return
    context = multiprocessing.get_context("spawn")  # torch and OpenVINO do not survive a fork
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for task, runs in zip(tasks, pool.map(_kept, tasks), strict=True):
            yield task, runs


def _kept(task: Task) -> list[Run]:
    """The runs of a task, from the folder where they were made before."""
    _, spec, condition, speed, seeds, seconds, folder = task
    policy = Path(spec)
    of = hashlib.sha256(policy.read_bytes()).hexdigest() if policy.is_file() else spec
    key = {
        "policy": of,
        "condition": condition.name,
        "config": condition.config().resolved(),
        "speed_m_s": speed,
        "seeds": list(seeds),
        "seconds": seconds,
    }
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:24]
    path = folder / f"{name}.json"
    if path.exists():
        return [Run(**one) for one in json.loads(path.read_text(encoding="utf-8"))["runs"]]
    runs = ride_courses(spec, condition, speed, seeds, seconds)
    write_json(path, {"key": key, "runs": [dataclasses.asdict(one) for one in runs]})
    return runs


def ride_courses(
    spec: str, condition: Condition, speed_m_s: float, seeds: Sequence[int], seconds: float
) -> list[Run]:
    """The runs of one player under one condition from one start speed."""
    torch.set_num_threads(1)
    config = condition.config()
    device = build_device(config)
    assert isinstance(device, TickedDevice)
    env = build_env(config, device=device)
    try:
        player = make_player(spec, TRUTH.config())  # who rides knows nothing of the condition
        return [ride(env, device, player, seed, speed_m_s, seconds) for seed in seeds]
    finally:
        env.close()


def ride(
    env: GreatWallEnv, device: TickedDevice, player: Player, seed: int, speed_m_s: float, seconds: float
) -> Run:
    """One run of that length. Lives that are lost are given back before the next decision."""
    course = env.config.course
    env.reset(seed=seed)
    start_m = (speed_m_s - course.start_speed_m_s) / course.speed_gain_per_m
    saved = moved_to(env.save_game(), start_m, course.px_per_m)
    observation, info = env.reset(options={"state": saved})
    player.reset(seed)
    began_s = info["perception"].captured_at_s
    elapsed_s, ended = 0.0, ""
    ages_s = []
    while elapsed_s < seconds and not ended:
        ages_s.append(info["perception"].frame_age_s)
        action = player.act(observation, info["perception"])
        observation, _, terminated, truncated, info = env.step(int(action))
        elapsed_s = info["perception"].captured_at_s - began_s
        give_back_lives(device, course.lives)
        if terminated or truncated:
            ended = str(info.get("interruption", "death" if terminated else "limit"))
    game = device.get_state()["game"]
    lost_to = {kind: int(count) for kind, count in game["hits"].items()}
    hazards, age_ms = hazards_met(game, course), round(1000 * median(ages_s))
    return Run(seed, speed_m_s, round(elapsed_s, 2), hazards, sum(lost_to.values()), lost_to, age_ms, ended)


def hazards_met(game: dict[str, Any], course: CourseConfig) -> int:
    """Obstacles, enemies and gaps that have reached the rider or were shot, from a game's state.

    What is hit stays on the course and passes, but for an enemy, which is gone like one that was shot.
    """
    front = game["x"] + course.rider_x + course.rider_w
    things = [Thing(one[0], Kind(one[1]), *one[2:]) for one in game["things"]]
    here = sum(one.kind in HAZARDS and one.x_at(game["tick"]) < front for one in things)
    return int(sum(game["passed"].values()) + game["hits"]["enemy"] + game["kills"] + here)


def give_back_lives(device: TickedDevice, lives: int) -> None:
    """As many lives as a run begins with. In real time the game stands still meanwhile.

    A step lasts at most as long as one is safe after a loss, so that the last life is never at stake.
    """
    facts = device.facts()
    assert facts is not None
    if not sum(facts["hits"].values()):
        return
    device.pause()
    state = device.get_state()
    if state["game"]["lives"] < lives:
        state["game"]["lives"] = lives
        device.set_state(state)
    device.resume()


def _named(policy: str) -> tuple[str, str]:
    name, equals, spec = policy.partition("=")
    return (name, spec) if equals else (policy, policy)


if __name__ == "__main__":
    started_s = time.perf_counter()
    status = run_command(CarryOver, sys.argv[1:], "benchmarks/carry_over.py")
    print(f"{time.perf_counter() - started_s:,.0f} s")
    sys.exit(status)
