"""`python -m greatwall bench env|game|worker|faults|phone`: how fast things are here, and what faults cost.

Rates are given per second of wall time and per CPU-second of this process; trust ratios between
machines, not figures. Main thread.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from config import Config, PhoneConfig
from greatwall.assembly import build_env, check_seed, make_config
from greatwall.commands.output import check_output, write_json
from greatwall.commands.profile import read_profile
from greatwall.contracts import Action
from greatwall.errors import ConfigError
from greatwall.game.rules import Game
from greatwall.game.view import Page, View
from greatwall.players import make_player
from greatwall.worker.watch import watch

Measurement = dict[str, Any]
PACKAGES = ("numpy", "opencv-python", "torch", "stable-baselines3", "openvino", "onnxruntime", "tesserocr")


@dataclass(frozen=True)
class Bench:
    """Measure the speed of the game, the env or the worker on this machine, or the score against faults."""

    what: Annotated[Literal["env", "game", "worker", "faults", "phone"], tyro.conf.Positional]
    """env: env steps through truth and vision; game: ticks and drawing; worker: frames perceived;
    faults: how far players come as perception gets worse; phone: ways of looking and touching"""
    json: Path | None = None
    """write the result here as JSON"""
    seed: int = 0
    """of the course and of the random actions"""
    seconds: float = 10.0
    """how long each measurement runs (phone: each capture); not of faults"""
    policy: str = ""
    """faults: the trained policy beside the rule player; the best in models/ unless given"""
    episodes: int = 20
    """faults: courses played at each rate"""
    fault: tuple[str, ...] = ()
    """faults: which of miss, mislabel, jitter, stale, hud, drop, all; every one unless given"""
    plot: Path | None = None
    """faults: draw the curves into this PNG"""
    serial: str = ""
    """phone: which one, as adb lists it; the only one unless given"""
    adb_port: int = 0
    """phone: of adb's server; ANDROID_ADB_SERVER_PORT, or 5037, unless given"""
    package: str = ""
    """phone: the game's app; the one in front unless given. Its jump and restart taps are made"""
    profile: Path | None = None
    """phone: the game's profile; the embedded game's unless given"""
    docs: bool = False
    """phone: write the tables into docs/performance.md"""

    def run(self) -> int:
        check_output(self.json, "--json")
        check_output(self.plot, "--plot")
        if self.seconds <= 0:
            raise ConfigError(f"--seconds: expected more than 0, found {self.seconds:g}; change the number")
        if self.what == "faults":
            return self._run_faults()
        if self.what == "phone":
            return self._run_phone()
        check_seed(self.seed)
        measure: dict[str, Callable[[int, float], Measurement]] = {
            "env": _measure_env,
            "game": _measure_game,
            "worker": _measure_worker,
        }
        about = {"bench": self.what, "machine": machine(), "load_1min_before": load_1min()}
        result = {**about, **measure[self.what](self.seed, self.seconds)}
        _show(result)
        if self.json is not None:
            write_json(self.json, result)
        return 0

    def _run_phone(self) -> int:
        """Each capture and each touch by itself; raises `GreatWallError` for a phone that is not there."""
        from greatwall.commands.bench_phone import COLUMNS, TAPS, PhoneBench, rows_of, write_phone_page

        try:
            phone = PhoneConfig(serial=self.serial, adb_port=self.adb_port, package=self.package)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        console = Console()
        bench = PhoneBench(phone, read_profile(self.profile))
        about = {"bench": self.what, "machine": machine(), "load_1min_before": load_1min()}
        with console.status("") as status:
            result = {**about, **bench.run(self.seconds, TAPS, status.update)}
        table = Table(*COLUMNS, title=f"bench phone: {result['phone']}")
        for row in rows_of(result):
            table.add_row(*row)
        console.print(table)
        if self.json is not None:
            write_json(self.json, result)
        if self.docs:
            command = f"python -m greatwall bench phone --seconds {self.seconds:g} --docs"
            write_phone_page(PERFORMANCE_PAGE, result, command)
        return 0

    def _run_faults(self) -> int:
        """Curves of the rule player and a trained policy; raises `ConfigError` for a user's mistake."""
        from greatwall.commands.fault_curves import FIRST_SEED, RATES, draw_curves, measure_curves
        from greatwall.learning.kept_files import policy_to_play

        if self.episodes < 1:
            raise ConfigError(f"--episodes: expected 1 or more, found {self.episodes}; change the number")
        check_seed(self.seed, FIRST_SEED + self.episodes)
        console = Console()
        policies = {"rule": "rule"}
        trained = self.policy or policy_to_play(MODELS, console.print)
        if trained != "rule":
            policies["trained" if trained.endswith(".zip") else trained] = trained
        else:
            console.print("no trained policy in models/: the rule player alone; name one with --policy FILE")
        kinds = self.fault or tuple(RATES)
        curves = measure_curves(policies, self.episodes, self.seed, kinds, console.print)
        first = FIRST_SEED + self.seed
        if self.json is not None:
            about = {
                "bench": "faults",
                "machine": machine(),
                "episodes": self.episodes,
                "seeds_from": first,
                "policies": {name: Path(policy).name for name, policy in policies.items()},
            }
            write_json(self.json, {**about, "players": curves})
        if self.plot is not None:
            draw_curves(curves, self.plot, f"{self.episodes} courses a point\nIQM and its 95 % interval")
        return 0


COMMAND = Bench
MODELS = Path(__file__).resolve().parents[2] / "models"
PERFORMANCE_PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"


def machine() -> Measurement:
    """What the figures were measured on: processor, cores, versions."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def load_1min() -> float | None:
    """Programs that wanted a core in the last minute; None where the system does not say (Windows)."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except ImportError:
        return None


def _measure_env(seed: int, seconds: float) -> Measurement:
    """Uniform random actions, no policy, restarts included, through each pair of eyes."""
    return {
        "truth": _step_randomly(make_config(eyes="truth", seed=seed), seconds),
        "vision": _step_randomly(make_config(eyes="vision", seed=seed), seconds),
    }


def _step_randomly(config: Config, seconds: float) -> Measurement:
    env = build_env(config)
    actions = np.random.default_rng(config.seed).integers(len(Action), size=100_000).tolist()
    try:
        env.reset(seed=config.seed)
        steps = episodes = 0
        ticks, began_tick = 0, round(env.worker.clock.now_s() * 30)
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        while time.perf_counter() - wall_s < seconds:
            for action in actions[steps % 90_000 :][:50]:
                _, _, terminated, truncated, _ = env.step(action)
                steps += 1
                if terminated or truncated:
                    env.reset()
                    episodes += 1
        ticks = round(env.worker.clock.now_s() * 30) - began_tick
        wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    finally:
        env.close()
    return {
        "steps": steps,
        "episodes": episodes,
        "steps_per_s": steps / wall_s,
        "steps_per_cpu_s": steps / cpu_s,
        "ticks_per_s": ticks / wall_s,
    }


def _measure_game(seed: int, seconds: float) -> Measurement:
    """Ticks of the bare rules under random touches, and the time to draw one 1080p frame."""
    from greatwall.game.draw import Painter

    config = Config()
    game = Game(config.course, config.delays, seed)
    rng = np.random.default_rng(seed)
    game.new_game(seed)
    views: list[View] = []
    ticks = run = 0
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    while time.perf_counter() - wall_s < seconds / 2:
        if game.page is not Page.PLAYING:
            run += 1
            game.new_game(seed + run)
        if rng.random() < 0.1:
            game.tap(300, 300)
        game.advance(15)
        ticks += 15
        if len(views) < 2000:
            views.append(game.view())
    ticks_per_cpu_s = ticks / (time.process_time() - cpu_s)
    painter = Painter(config.course, config.profile)
    times_ms: list[float] = []
    wall_s = time.perf_counter()
    while time.perf_counter() - wall_s < seconds / 2:
        start_s = time.perf_counter()
        painter.draw(views[len(times_ms) % len(views)])
        times_ms.append(1000 * (time.perf_counter() - start_s))
    p50, p95 = np.percentile(times_ms, [50, 95])
    return {
        "rules": {"ticks_per_cpu_s": ticks_per_cpu_s},
        "drawing": {"frames": len(times_ms), "ms_p50": float(p50), "ms_p95": float(p95)},
    }


def _measure_worker(seed: int, seconds: float) -> Measurement:
    """The whole Worker on the wall clock through vision, the rule player playing, windows closed."""
    config = make_config(eyes="vision", clock="wall", seed=seed)
    env = build_env(config)
    player = make_player("rule", config)
    return {
        "worker": watch(env, env.worker, player, config, seed=seed, seconds=seconds, headless=True)  # type: ignore[arg-type]
    }


def _show(result: Measurement) -> None:
    table = Table(title=f"bench {result['bench']}, {result['machine']['cores']} cores")
    table.add_column("what")
    table.add_column("measure")
    table.add_column("value", justify="right")
    for part, values in result.items():
        if part in ("bench", "machine", "load_1min_before"):
            continue
        for name, value in values.items():
            shown = f"{value:,.1f}" if isinstance(value, float) else str(value)
            table.add_row(part, name, shown)
    Console().print(table)
