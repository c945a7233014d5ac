"""Does training with a phone's own delays pay on it? Paired courses on the stand-in phone, in real time.

    python benchmarks/like_device.py [--pairs 100] [--limit-s 40] [--folder FOLDER] [--json FILE]
    python benchmarks/like_device.py --on simulator                  the same on the simulator, in minutes

The stand-in's touches take 100 to 150 ms; the usual delays are 300 to 500 ms. Each step leaves its result
in the folder, and is not done again: `doctor --save-profile` measures the stand-in; `train_ppo.py` trains
one policy with `--like-device` on that profile and one on the usual delays, alike in all else; then both
play the same courses, the order changing from pair to pair. A run is cut off after `--limit-s`: how far it
came by then is the measure, told by the stand-in itself. Real time on one phone, so 100 pairs take up to
100 x 2 x limit; Ctrl-C at any time: pairs played so far are kept, and the next call goes on. Main thread.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from config import Config, DelayConfig, PhoneConfig, replace_in
from game_env import GreatWallEnv
from greatwall.assembly import build_device, build_env, make_config
from greatwall.commands import run_command
from greatwall.commands.bench import load_1min, machine
from greatwall.commands.output import check_output, write_between, write_json
from greatwall.contracts import INTERRUPTIONS, Device, Frame, WaitingDevice
from greatwall.device.device_profile import read_device_profile
from greatwall.errors import ConfigError, DeviceError, FileFormatError
from greatwall.learning.evaluation import play_episode
from greatwall.learning.seeds import TEST_START
from greatwall.metrics.statistics import bootstrap_ci95, mean, summarise
from greatwall.players import make_player
from tests.rigs.adb import debian_adb, start_adb_server
from tests.rigs.phone import PhoneSettings, StandInPhone

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).with_suffix(".json")
DOCUMENT = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- like_device: begin -->", "<!-- like_device: end -->"
TOUCH_S = (0.1, 0.15)  # the stand-in's, finger down to effect
ARMS = ("like", "usual")
TRAIN_S, DOCTOR_S = 3600.0, 300.0


class SeededPhone:
    """The phone with one thing no real one has: the stand-in starts a game from a seed when asked."""

    def __init__(self, device: Device, stand_in: StandInPhone) -> None:
        self.wrapped = device
        self._stand_in = stand_in
        self.tap, self.swipe, self.frame = device.tap, device.swipe, device.frame
        self.pause, self.resume, self.facts = device.pause, device.resume, device.facts
        self.health, self.close = device.health, device.close
        if isinstance(device, WaitingDevice):
            self.wait_newer = device.wait_newer

    frame: Callable[[], Frame]

    @property
    def size(self) -> tuple[int, int]:
        return self.wrapped.size

    def new_game(self, seed: int) -> bool:
        self._stand_in.reset(seed=seed, playing=True)
        return True


class Place:
    """Where a pair is played: an env, and the truth about how far a run came."""

    def __init__(self, config: Config, env: GreatWallEnv, truth: Callable[[], Mapping[str, Any]]) -> None:
        self.config, self.env, self._truth = config, env, truth

    def play(self, policy: Path, seed: int) -> dict[str, Any]:
        """One run: metres and lives by the game's own account, and what ended it."""
        found = play_episode(self.env, make_player(str(policy), self.config), seed)
        truth = self._truth()
        return {
            "distance_m": round(float(truth["distance_m"]), 1),
            "death": found.death if found.death in ("limit", *INTERRUPTIONS) else "fell",
            "steps": found.steps,
            "return": round(found.episode_return, 3),
        }


@contextlib.contextmanager
def phone_place(folder: Path, limit_s: float, extras: tuple[str, ...]) -> Iterator[Place]:
    """The stand-in behind the real adb: wall clock, vision, scrcpy."""
    with stand_in(folder) as (phone, _):
        config = make_config(
            device="phone", clock="wall", eyes="vision",
            phone=PhoneConfig(serial=phone.serial, capture="scrcpy", touch="scrcpy"),
        )  # fmt: skip
        config = replace_in(config, "env", max_seconds=limit_s, extras=extras)
        env = build_env(config, device=SeededPhone(build_device(config), phone))
        try:
            yield Place(config, env, lambda: phone.facts("game")["game"])
        finally:
            env.close()


@contextlib.contextmanager
def simulator_place(profile: Path, limit_s: float, extras: tuple[str, ...]) -> Iterator[Place]:
    """The simulator with the touch delay that the stand-in was given, and the frame age measured on it."""
    config = make_config()
    measured = read_device_profile(profile).delays
    config = dataclasses.replace(config, delays=dataclasses.replace(measured, touch_to_effect_s=TOUCH_S))
    config = replace_in(config, "env", max_seconds=limit_s, extras=extras)
    env = build_env(config)

    def truth() -> Mapping[str, Any]:
        facts = env.worker.facts()
        assert facts is not None
        return facts

    try:
        yield Place(config, env, truth)
    finally:
        env.close()


@contextlib.contextmanager
def stand_in(folder: Path) -> Iterator[tuple[StandInPhone, dict[str, str]]]:
    """A stand-in phone with quick touches, connected, and the environment that finds it."""
    program = debian_adb()
    if program is None:
        raise DeviceError("expected adb on the path, found none; install it (Debian: apt install adb)")
    home = folder / "adb"
    home.mkdir(exist_ok=True)
    server = start_adb_server(program, home)
    before = os.environ.get("ANDROID_ADB_SERVER_PORT")
    os.environ["ANDROID_ADB_SERVER_PORT"] = str(server.port)
    try:
        with StandInPhone(PhoneSettings(touch_delay_s=TOUCH_S, playing=True)) as phone:
            server.connect(phone.serial)
            yield phone, server.environment
    finally:
        server.stop()
        if before is None:
            del os.environ["ANDROID_ADB_SERVER_PORT"]
        else:
            os.environ["ANDROID_ADB_SERVER_PORT"] = before


def measured_profile(folder: Path, console: Console) -> Path:
    """What `doctor` measures on the stand-in, once a folder."""
    profile = folder / "stand_in.json"
    if not profile.exists():
        console.print("doctor measures the stand-in", highlight=False)
        with stand_in(folder) as (phone, environment):
            call(
                "-m", "greatwall", "doctor", "--device", "phone", "--serial", phone.serial,
                "--save-profile", str(profile),
                log=folder / "doctor.log", limit_s=DOCTOR_S, environment=environment, fine=(0, 1),
            )  # fmt: skip
        if not profile.exists():
            raise DeviceError(
                f"expected doctor to write {profile}, found no such file; see {folder / 'doctor.log'}"
            )
    read_device_profile(profile)
    return profile


def trained_policy(arm: str, folder: Path, profile: Path, asked: LikeDevice, console: Console) -> Path:
    """The policy of one arm, trained once a folder: the best by validation under its own delays."""
    models = folder / arm
    policy = models / "ppo_greatwall_eval_best.zip"
    if not (models / "ppo_greatwall_final.zip").exists():
        console.print(f"training: {arm}", highlight=False)
        like = ("--like-device", str(profile)) if arm == "like" else ()
        call(
            str(ROOT / "train_ppo.py"), "--models", str(models), "--logs", str(folder / f"{arm}-logs"),
            "--preset", asked.preset, "--timesteps", str(asked.timesteps), "--seed", str(asked.train_seed),
            "--exam-episodes", "0", *like, log=folder / f"{arm}.log", limit_s=TRAIN_S,
        )  # fmt: skip
    if not policy.exists():
        raise FileFormatError(f"expected {policy} after training, found none; see {folder / arm}.log")
    return policy


def call(
    *words: str,
    log: Path,
    limit_s: float,
    environment: Mapping[str, str] | None = None,
    fine: tuple[int, ...] = (0,),
) -> None:
    """Run one of our programs to its end; `DeviceError` with the place of its words where it fails."""
    with log.open("ab") as out:
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out,
            stderr=out, timeout=limit_s, check=False,
        )  # fmt: skip
    if done.returncode not in fine:
        raise DeviceError(
            f"expected {' '.join(words[:3])} to succeed, found status {done.returncode}; see {log}"
        )


class Pairs:
    """The pairs played so far, in a file that is replaced after each. Those of other policies are refused."""

    def __init__(self, path: Path, key: dict[str, Any]) -> None:
        self._path, self._key = path, key
        self.played: list[dict[str, Any]] = []
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["key"] != key:
                raise ConfigError(
                    f"{path}: expected pairs of these policies and this limit, found others; move it away or "
                    "name another --folder"
                )
            self.played = found["pairs"]

    def add(self, pair: dict[str, Any]) -> None:
        self.played.append(pair)
        write_json(self._path, {"key": self._key, "pairs": self.played})


@dataclass(frozen=True)
class LikeDevice:
    """Compare a policy trained with a phone's delays with one trained on the usual ones, on that phone."""

    pairs: int = 100
    """Courses, each played by both."""
    limit_s: float = 40.0
    """A run is cut off after this."""
    on: Literal["phone", "simulator"] = "phone"
    """phone: the stand-in, real time, vision; simulator: truth, with the stand-in's delays."""
    preset: str = "default"
    """Of both trainings."""
    timesteps: int = 100_000
    """Of both trainings."""
    train_seed: int = 0
    """Of both trainings."""
    folder: Path = Path("logs/like_device")
    """Where profile, policies and pairs are kept between calls."""
    json: Path = RESULT
    """Where the figures go."""
    document: Path | None = None
    """The page whose table is filled, docs/performance.md say."""

    def run(self) -> int:
        if self.pairs < 1 or self.limit_s <= 0:
            raise ConfigError(
                f"expected 1 pair or more and a limit above 0 s, found {self.pairs} and {self.limit_s:g}; "
                "change them"
            )
        check_output(self.json, "--json")
        console = Console(width=110)
        folder = self.folder.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        profile = measured_profile(folder, console)
        policies = {arm: trained_policy(arm, folder, profile, self, console) for arm in ARMS}
        digests = {arm: hashlib.sha256(path.read_bytes()).hexdigest() for arm, path in policies.items()}
        key = {"policies": digests, "limit_s": self.limit_s, "touch_s": list(TOUCH_S)}
        pairs = Pairs(folder / f"pairs_{self.on}.json", key)
        try:
            self._play(pairs, policies, profile, folder, console)
        except KeyboardInterrupt:
            console.print(f"stopped after {len(pairs.played)} pairs; run it again to go on", highlight=False)
            if not pairs.played:
                return 130
        result = self._result(pairs.played[: self.pairs], profile)
        write_json(self.json, result)
        table = table_of(result)
        console.print(table, highlight=False, markup=False)
        if self.document is not None:
            write_between(self.document, BEGIN, END, table)
        return 0 if len(pairs.played) >= self.pairs else 130

    def _play(
        self, pairs: Pairs, policies: dict[str, Path], profile: Path, folder: Path, console: Console
    ) -> None:
        first = len(pairs.played)
        if first >= self.pairs:
            return
        extras = extras_of(policies)
        where = (
            phone_place(folder, self.limit_s, extras)
            if self.on == "phone"
            else simulator_place(profile, self.limit_s, extras)
        )
        with where as place:
            for number in range(first, self.pairs):
                order = ARMS if number % 2 == 0 else ARMS[::-1]
                pair: dict[str, Any] = {"seed": TEST_START + number, "first": order[0]}
                for arm in order:
                    pair[arm] = self._whole_run(place, policies[arm], TEST_START + number)
                pairs.add(pair)
                console.print(
                    f"{number + 1:4} of {self.pairs}  like {pair['like']['distance_m']:7,.0f} m   "
                    f"usual {pair['usual']['distance_m']:7,.0f} m",
                    highlight=False,
                )

    @staticmethod
    def _whole_run(place: Place, policy: Path, seed: int) -> dict[str, Any]:
        """A run that the machine did not break: an interrupted one is played again, and counted."""
        for again in range(5):
            found = place.play(policy, seed)
            if found["death"] not in INTERRUPTIONS:
                return {**found, "played_again": again}
        raise DeviceError(
            f"expected a whole run in 5 tries, found {found['death']} each time; free the machine"
        )

    def _result(self, played: list[dict[str, Any]], profile: Path) -> dict[str, Any]:
        differences = [one["like"]["distance_m"] - one["usual"]["distance_m"] for one in played]
        low, high = bootstrap_ci95(differences, mean)
        measured = read_device_profile(profile)
        usual = DelayConfig()
        return {
            "command": (
                f"python benchmarks/like_device.py --pairs {len(played)} --limit-s {self.limit_s:g} "
                f"--on {self.on} --preset {self.preset} --timesteps {self.timesteps} "
                f"--train-seed {self.train_seed}"
            ),
            "machine": machine(),
            "load_1min": load_1min(),
            "on": self.on,
            "limit_s": self.limit_s,
            "true_touch_s": list(TOUCH_S),
            "measured_delays": dataclasses.asdict(measured.delays),
            "usual_delays": dataclasses.asdict(usual),
            "pairs": played,
            **{
                arm: {
                    "distance_m": summarise([one[arm]["distance_m"] for one in played]).as_json(),
                    "cut_off": sum(one[arm]["death"] == "limit" for one in played),
                    "played_again": sum(one[arm]["played_again"] for one in played),
                }
                for arm in ARMS
            },
            "difference_m": {
                "mean": round(mean(differences), 1),
                "ci95": [round(low, 1), round(high, 1)],
                "like_farther": sum(one > 0 for one in differences),
                "equal": sum(one == 0 for one in differences),
            },
        }


def extras_of(policies: dict[str, Path]) -> tuple[str, ...]:
    """What both policies see beside the 207 numbers; `ConfigError` where they differ."""
    from greatwall.policies.policy_file import load_policy

    found = {arm: tuple(load_policy(path).spec.extras) for arm, path in policies.items()}
    if len(set(found.values())) != 1:
        raise ConfigError(f"expected two policies with the same extras, found {found}; train both alike")
    return found[ARMS[0]]


def table_of(result: dict[str, Any]) -> str:
    """The result as the page shows it."""
    low, high = result["difference_m"]["ci95"]
    delay = "{0[0]:.3f}-{0[1]:.3f} s".format
    count = len(result["pairs"])
    where = (
        "the stand-in phone in real time, through vision and scrcpy"
        if result["on"] == "phone"
        else "**the simulator** through truth, with the delays the stand-in was given"
    )
    head = (
        f"{count} courses, each played by both on {where}; a run is cut off after {result['limit_s']:g} s. "
        f"Touches take {delay(result['true_touch_s'])} there; `doctor` measured "
        f"{delay(result['measured_delays']['touch_to_effect_s'])}."
    )
    machine_line = f"{result['machine']['cores']} cores, 1-minute load {result['load_1min']}."
    lines = [
        f"`{result['command']}`: {machine_line}",
        head,
        "",
        "| trained on | m, mean | m, IQM (95 %) | cut off |",
        "|---|---|---|---|",
    ]
    names = {"like": "`--like-device` with that profile", "usual": "the usual delays, 0.3-0.5 s"}
    for arm in ARMS:
        found = result[arm]["distance_m"]
        ends = "{0[0]:,.0f}-{0[1]:,.0f}".format(found["ci95"])
        row = names[arm], f"{found['mean']:,.0f}", f"{found['iqm']:,.0f} ({ends})", result[arm]["cut_off"]
        lines.append("| " + " | ".join(map(str, row)) + " |")
    difference = result["difference_m"]
    tail = (
        f"Difference a course: {difference['mean']:+,.0f} m, 95 % interval of the mean {low:+,.0f} to "
        f"{high:+,.0f} m; farther on {difference['like_farther']} of {count}, equal on {difference['equal']}."
    )
    return "\n".join([*lines, "", tail])


if __name__ == "__main__":
    sys.exit(run_command(LikeDevice, sys.argv[1:], "benchmarks/like_device.py"))
