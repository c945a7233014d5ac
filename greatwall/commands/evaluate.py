"""`python -m greatwall evaluate`: policies or hand-written players on many courses, tables and JSON.

Main thread; on the game clock it runs the Worker's stages, on the wall clock the Worker has its own.
Many courses are played in several processes (`learning/parallel.py`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from config import Config
from game_env import GreatWallEnv
from greatwall.assembly import (
    build_device,
    build_env,
    build_eyes,
    check_seed,
    course_name,
    make_config,
    parse_size,
    parse_variants,
)
from greatwall.commands.comparison import add_human_row, comparison_json, comparison_table, deaths_table
from greatwall.commands.human_scores import HumanRun, read_runs
from greatwall.commands.other_game import with_game
from greatwall.commands.output import check_output, write_json
from greatwall.commands.playing import Playing
from greatwall.contracts import Frame, Player, TickedDevice
from greatwall.device.device_profile import profile_named
from greatwall.device.phone.guard import stop_signals
from greatwall.device.phone.options import phone_options
from greatwall.errors import ConfigError
from greatwall.eyes.faults import parse_faults
from greatwall.learning.evaluation import EpisodeResult, report
from greatwall.learning.exam import add_row, results_table
from greatwall.learning.parallel import Stage, cores, play_apart, play_here
from greatwall.players import make_player
from ppo_acting import Worker

TABLE_WIDTH = 160
INTERRUPTED = 130  # what a shell reports for Ctrl-C
EPISODES_A_JOB = 10  # a process takes seconds to begin: it is worth that from about here on


@dataclass(frozen=True)
class Evaluate:
    """Let a policy file or a built-in player play courses of consecutive seeds, or two play the same ones."""

    policy: str = ""
    """policy file, or rule, rule207, random, idle, oracle"""
    compare: tuple[str, str] | None = None
    """instead: two of these, on the same courses; their differences are judged course by course"""
    human: Path | None = None
    """add a person's scores on this course to the table, from the file that play wrote"""
    eyes: Literal["truth", "vision"] = "truth"
    """truth: the game's own state; vision: detector, ground scan and OCR"""
    episodes: int = 20
    """how many courses"""
    seed: int = 2_000_000
    """of the first course; tests begin at 2,000,000, validation at 1,000,000"""
    device: str = "simulator"
    """what is played on: simulator, or phone: the one that adb lists"""
    serial: str | None = None
    """which phone, as adb devices lists it"""
    capture: Literal["auto", "scrcpy", "screenrecord", "raw", "png"] | None = None
    """how the phone's screen is looked at; auto: the best, as measured"""
    touch: Literal["auto", "scrcpy", "shell", "adb"] | None = None
    """how it is touched"""
    package: str | None = None
    """the game's app there, as in com.example.game; the one in front at the start unless given"""
    profile: Path | None = None
    """the profile of the phone's game, as calibrate writes it; the embedded game's unless given"""
    weights: str | None = None
    """the detector of the phone's game; the one in models/ unless given"""
    clock: Literal["game", "wall"] = "game"
    """game: deterministic and as fast as it goes; wall: real threads, real time"""
    max_distance: int = 0
    """end each run at this many m; 0 is no limit"""
    variant: str = ""
    """named changes of the game, separated by commas; standard is none"""
    look: str = "standard"
    """how the embedded game is drawn: a named look, train:N, valid:N or unseen:N"""
    size: str = "1920x1080"
    """of its frames, WIDTHxHEIGHT px"""
    compress: Literal["none", "jpeg", "h264"] = "none"
    """what its frames go through before they are looked at: h264 is a phone's stream"""
    faults: str = ""
    """faults of perception made on purpose, as in miss=0.1,jitter=2,stale=0.02,hud=0.02,drop=0.01"""
    like_device: str = ""
    """delays as doctor --save-profile FILE measured them on a phone"""
    jobs: int = 0
    """processes that play at once; 0: one a core, where there are courses enough to play"""
    json: Path | None = None
    """write the result here as JSON"""
    video: Path | None = None
    """write an MP4 of all episodes here (game clock only)"""

    def run(self) -> int:
        """Play, print the table, write the files; raises `GreatWallError` for a user's mistake."""
        check_output(self.json, "--json")
        check_output(self.video, "--video")
        config = self._config()
        players = [(name, make_player(name, config)) for name in self._names()]
        people = self._human_runs(config)
        console = Console()
        if not console.is_terminal:
            console = Console(width=TABLE_WIDTH)
        names = _row_names([player.name for _, player in players])
        by_hand = stop_signals() if self.device == "phone" else contextlib.nullcontext()
        with by_hand, Playing(console, names, self.episodes) as playing:
            try:
                self._play([player for _, player in players], config, playing)
            except KeyboardInterrupt:
                interrupted = True
            else:
                interrupted = False
        found = playing.found()
        if any(found):
            self._show(console, dict(zip(names, found, strict=True)), people)
        if interrupted:
            played = sum(map(len, found))
            console.print(f"interrupted: {played} of {len(names) * self.episodes} episodes were played")
            return INTERRUPTED
        if self.json is not None:
            write_json(self.json, self._report(found))
        return 0

    def _names(self) -> tuple[str, ...]:
        """The players asked for: one, or the two to compare."""
        if bool(self.policy) == (self.compare is not None):
            both = f"--policy {self.policy} and --compare" if self.policy else "neither"
            raise ConfigError(f"expected --policy PLAYER or --compare A B, found {both}; give one of them")
        return self.compare or (self.policy,)

    def _show(self, console: Console, found: dict[str, list[EpisodeResult]], people: list[HumanRun]) -> None:
        """The tables; of what was interrupted, what there is."""
        like = f" like {Path(self.like_device).name}" if self.like_device else ""
        table = results_table(
            f"{' and '.join(self._names())} on {self.device}{like}, seeds from {self.seed:,}"
        )
        for name, results in found.items():
            if results:
                add_row(table, name, self.eyes, results, self.max_distance)
        if people:
            add_human_row(table, people)
        console.print(table)
        console.print(deaths_table({name: results for name, results in found.items() if results}))
        if self.compare is not None:
            (a, first), (b, second) = found.items()
            both = {one.seed for one in first} & {one.seed for one in second}
            if both:
                pairs = [[one for one in results if one.seed in both] for results in (first, second)]
                console.print(comparison_table((a, b), *pairs))

    def _play(self, players: list[Player], config: Config, playing: Playing) -> None:
        seeds = range(self.seed, self.seed + self.episodes)
        jobs = self._processes(len(seeds) * len(players))
        if jobs > 1:
            play_apart(config, self._names(), seeds, jobs, playing.add)
            return
        with self._env(config) as env:
            play_here(Stage(env, players), len(players), seeds, playing.add)

    def _processes(self, episodes: int) -> int:
        """As many as asked for; else one a core where there is enough to play, and only one of what has a
        screen, or a clock, of its own."""
        alone = self.device != "simulator" or self.clock != "game" or self.video is not None
        if self.jobs > 1 and alone:
            raise ConfigError(
                f"--jobs: expected 1 with --video, --clock wall or a device outside, found {self.jobs}; "
                "leave it out"
            )
        if self.jobs:
            return min(self.jobs, episodes)
        return 1 if alone else max(1, min(cores(), episodes // EPISODES_A_JOB))

    def _human_runs(self, config: Config) -> list[HumanRun]:
        if self.human is None:
            return []
        course = course_name(config)
        runs = [run for run in read_runs(self.human) if run.course == course]
        if not runs:
            how = (
                f"--like-device {self.like_device}"
                if self.like_device
                else f"--variant {self.variant or course}"
            )
            raise ConfigError(
                f"--human: expected runs on the course {course}, found none in {self.human}; play one: "
                f"python -m greatwall play {how}"
            )
        return runs

    def _report(self, found: list[list[EpisodeResult]]) -> dict[str, Any]:
        reports = [
            report(name, self.eyes, self.seed, results)
            for name, results in zip(self._names(), found, strict=True)
        ]
        if self.compare is None:
            return reports[0]
        return {"players": reports, "difference": comparison_json(self.compare, found[0], found[1])}

    def _config(self) -> Config:
        for name, value, low in (
            ("--episodes", self.episodes, 1),
            ("--max-distance", self.max_distance, 0),
            ("--jobs", self.jobs, 0),
        ):
            if value < low:
                raise ConfigError(f"{name}: expected {low} or more, found {value}; change the number")
        check_seed(self.seed, self.episodes)
        if self.video is not None and self.compare is not None:
            raise ConfigError("--video: expected --policy PLAYER, found --compare; film one player at a time")
        if self.video is not None and self.clock != "game":
            raise ConfigError("--video: expected --clock game, found wall; films are taken tick by tick")
        config = make_config(
            eyes=self.eyes,
            clock=self.clock,
            device=self.device,
            variants=parse_variants(self.variant),
            max_distance_m=self.max_distance,
            look=self.look,
            size=parse_size(self.size),
            compress=self.compress,
            faults=parse_faults(self.faults),
            phone=phone_options(
                self.device,
                serial=self.serial,
                capture=self.capture,
                touch=self.touch,
                package=self.package,
            ),
            like_device=profile_named(self.like_device),
        )
        return with_game(config, self.profile, self.weights)

    @contextlib.contextmanager
    def _env(self, config: Config) -> Iterator[GreatWallEnv]:
        """The env to play in, closed afterwards; its film is there only when all went well."""
        if self.video is None:
            env = build_env(config)
            try:
                yield env
            finally:
                env.close()
            return
        from greatwall.commands.film import Film, FilmedDevice, seen

        device = build_device(config)
        if not isinstance(device, TickedDevice):
            raise ConfigError(f"--video: expected --device simulator, found {self.device!r}; leave it out")

        def watch(frame: Frame) -> None:
            film.add(seen(frame, worker.perception, config.profile))

        worker = Worker(config, FilmedDevice(device, watch), build_eyes(config))
        env = GreatWallEnv(config, worker)
        try:
            with Film(self.video) as film:  # opened last: what fails before leaves an earlier film alone
                yield env
        finally:
            env.close()


def _row_names(names: list[str]) -> tuple[str, ...]:
    """Names that differ: two files of one name are numbered."""
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(f"{name} {number}" for number, name in enumerate(names, 1))


COMMAND = Evaluate
