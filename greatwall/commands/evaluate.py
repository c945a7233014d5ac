"""`python -m greatwall evaluate`: policies or hand-written players on many courses, tables and JSON.

Main thread; on the game clock it runs the Worker's stages, on the wall clock the Worker has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from config import Config
from game_env import GreatWallEnv
from greatwall.assembly import (
    STANDARD_COURSE,
    build_device,
    build_env,
    build_eyes,
    check_seed,
    make_config,
    parse_size,
    parse_variants,
)
from greatwall.commands.comparison import add_human_row, comparison_json, comparison_table, deaths_table
from greatwall.commands.human_scores import HumanRun, read_runs
from greatwall.commands.output import check_output, write_json
from greatwall.contracts import Frame, Player, TickedDevice
from greatwall.errors import ConfigError
from greatwall.eyes.faults import parse_faults
from greatwall.learning.evaluation import EpisodeResult, play_episode, report
from greatwall.learning.exam import add_row, results_table
from greatwall.players import make_player
from ppo_acting import Worker

TABLE_WIDTH = 110


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
    """what is played on"""
    clock: Literal["game", "wall"] = "game"
    """game: deterministic and as fast as it goes; wall: real threads, real time"""
    max_distance: int = 0
    """end each run at this many m; 0 is no limit"""
    variant: str = ""
    """named changes of the game, separated by commas; standard is none"""
    look: str = "standard"
    """how the embedded game is drawn: a named look, train:N or unseen:N"""
    size: str = "1920x1080"
    """of its frames, WIDTHxHEIGHT px"""
    compress: Literal["none", "jpeg", "h264"] = "none"
    """what its frames go through before they are looked at: h264 is a phone's stream"""
    faults: str = ""
    """faults of perception made on purpose, as in miss=0.1,jitter=2,stale=0.02,hud=0.02,drop=0.01"""
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
        people = self._human_runs()
        console = Console()
        if not console.is_terminal:
            console = Console(width=TABLE_WIDTH)
        found = [self._play(config, player, console) for _, player in players]
        specs = self._names()
        table = results_table(f"{' and '.join(specs)} on {self.device}, seeds from {self.seed:,}")
        names = _row_names([player.name for _, player in players])
        for name, results in zip(names, found, strict=True):
            add_row(table, name, self.eyes, results, self.max_distance)
        if people:
            add_human_row(table, people)
        console.print(table)
        console.print(deaths_table(dict(zip(names, found, strict=True))))
        if self.compare is not None:
            console.print(comparison_table((names[0], names[1]), found[0], found[1]))
        if self.json is not None:
            write_json(self.json, self._report(found))
        return 0

    def _names(self) -> tuple[str, ...]:
        """The players asked for: one, or the two to compare."""
        if bool(self.policy) == (self.compare is not None):
            both = f"--policy {self.policy} and --compare" if self.policy else "neither"
            raise ConfigError(f"expected --policy PLAYER or --compare A B, found {both}; give one of them")
        return self.compare or (self.policy,)

    def _play(self, config: Config, player: Player, console: Console) -> list[EpisodeResult]:
        results: list[EpisodeResult] = []
        with self._env(config) as env, console.status("") as status:
            for seed in range(self.seed, self.seed + self.episodes):
                status.update(f"{player.name}: episode {len(results) + 1} of {self.episodes}")
                results.append(play_episode(env, player, seed))
        return results

    def _human_runs(self) -> list[HumanRun]:
        if self.human is None:
            return []
        course = ",".join(parse_variants(self.variant)) or STANDARD_COURSE
        runs = [run for run in read_runs(self.human) if run.course == course]
        if not runs:
            raise ConfigError(
                f"--human: expected runs on the course {course}, found none in {self.human}; play one: "
                f"python -m greatwall play --variant {course}"
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
        ):
            if value < low:
                raise ConfigError(f"{name}: expected {low} or more, found {value}; change the number")
        check_seed(self.seed, self.episodes)
        if self.video is not None and self.compare is not None:
            raise ConfigError("--video: expected --policy PLAYER, found --compare; film one player at a time")
        if self.video is not None and self.clock != "game":
            raise ConfigError("--video: expected --clock game, found wall; films are taken tick by tick")
        return make_config(
            eyes=self.eyes,
            clock=self.clock,
            device=self.device,
            variants=parse_variants(self.variant),
            max_distance_m=self.max_distance,
            look=self.look,
            size=parse_size(self.size),
            compress=self.compress,
            faults=parse_faults(self.faults),
        )

    @contextmanager
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


def _row_names(names: list[str]) -> list[str]:
    """Names that differ: two files of one name are numbered."""
    if len(set(names)) == len(names):
        return names
    return [f"{name} {number}" for number, name in enumerate(names, 1)]


COMMAND = Evaluate
