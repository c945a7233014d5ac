"""`train_ppo.py --device phone` on the stand-in phone behind the real adb: faults, an end, a stop by hand."""

from __future__ import annotations

import csv
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import train_ppo
from config import PhoneConfig
from greatwall.contracts import INTERRUPTIONS
from greatwall.device.phone import guard
from greatwall.learning.reporting import ProgressCallback
from greatwall.learning.run_files import RunFiles
from greatwall.learning.training_state import read_state
from greatwall.policies.policy_file import load_policy
from tests.rigs.phone import StandInPhone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]
WAIT_S = 100.0
LOOK_S = 0.1


class Training:
    """The command with what a test does to the phone meanwhile, on a thread of its own."""

    def __init__(self, phone: StandInPhone, files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> None:
        self.phone, self.files = phone, files
        self.error: BaseException | None = None
        self.on_step: Callable[[Any], None] = lambda callback: None
        plain = ProgressCallback._on_step

        def step(callback: Any) -> bool:
            self.on_step(callback)
            return plain(callback)

        monkeypatch.setattr(ProgressCallback, "_on_step", step)

    def run(self, meanwhile: Callable[[Training], None] | None = None) -> int:
        """The exit status. `meanwhile` runs on a thread of its own, and may fail the test."""
        thread = threading.Thread(target=self._act, args=(meanwhile,), daemon=True)
        thread.start()
        status = train_ppo.main(
            [
                "--device", "phone", "--serial", self.phone.serial,
                "--capture", "scrcpy", "--touch", "scrcpy",
                "--preset", "paper", "--timesteps", "100000",
                "--models", str(self.files.models), "--logs", str(self.files.logs),
            ]
        )  # fmt: skip
        thread.join(WAIT_S)
        if self.error is not None:
            raise self.error
        return status

    def _act(self, meanwhile: Callable[[Training], None] | None) -> None:
        try:
            if meanwhile is not None:
                meanwhile(self)
        except BaseException as error:  # noqa: BLE001 - raised by `run`
            self.error = error
            os.kill(os.getpid(), signal.SIGINT)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait on real time for what another process does."""
        pause = threading.Event()
        for _ in range(int(WAIT_S / LOOK_S)):
            if holds():
                return
            pause.wait(LOOK_S)
        pytest.fail(f"expected {what} within {WAIT_S:g} s, found none")

    def touches(self) -> int:
        return int(self.phone.facts("downs_kept")["downs_kept"])

    def until_it_plays(self) -> None:
        """Until it touches the phone, and again."""
        before = self.touches()
        self.until(lambda: self.touches() > before + 1, "touches")

    def episodes(self) -> list[dict[str, str]]:
        if not self.files.episodes.exists():
            return []
        with self.files.episodes.open(encoding="utf-8", newline="") as file:
            file.readline()
            return list(csv.DictReader(file))

    def words(self) -> list[str]:
        return [row["interruption"] for row in self.episodes() if row["interruption"]]


@pytest.fixture
def training(phone: StandInPhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Training]:
    phone.reset(seed=3, playing=True)
    yield Training(phone, RunFiles(tmp_path / "models", tmp_path / "logs"), monkeypatch)
    guard.STOP._why = ""  # a test may have thrown the switch of this process


class FaultByFault:
    """Gives the phone one fault after the other, each amid an episode, until each has ended one; then
    Ctrl-C. An episode that ends in a fall first gets the fault again."""

    def __init__(self, phone: StandInPhone, faults: list[tuple[str, dict[str, Any], float | None]]) -> None:
        self._phone, self._left = phone, list(faults)
        self._steps = 0  # of this episode
        self._given = False
        self.tries = 0
        self.ended: list[tuple[str, str]] = []  # fault, the word for it

    def __call__(self, callback: Any) -> None:
        info = callback.locals["infos"][0]
        self._steps += 1
        if callback.locals["dones"][0]:
            self._steps = 0
            if self._given:
                self._given = False
                word = info.get("interruption", "")
                if word:
                    self.ended.append((self._left.pop(0)[0], word))
                else:
                    self._phone.behave()
        elif not self._left and self._steps == 3:
            raise KeyboardInterrupt
        elif self._left and self._steps == 3:
            name, how, for_s = self._left[0]
            self._phone.misbehave(name, for_s, **how)
            self._given = True
            self.tries += 1
            assert self.tries < 20


def test_training_goes_on_through_faults_and_every_one_is_labelled(training, capfd):
    training.on_step = faults = FaultByFault(
        training.phone,
        [
            ("disconnect", {}, 2.0),
            ("popup", {}, None),
            ("cut_frame", {"of": "video"}, None),
            ("stop_video", {}, 3.0),
        ],
    )
    assert training.run() == 130
    assert faults.ended == [
        ("disconnect", "phone_lost"),
        ("popup", "game_left"),
        ("cut_frame", "phone_lost"),
        ("stop_video", "frames_stopped"),
    ]
    words = training.words()
    assert set(words) <= set(INTERRUPTIONS)
    facts = training.phone.facts()
    assert not facts["fingers_down"]
    assert len(training.episodes()) - len(words) <= len(facts["runs"]), "a death that was none"
    read_state(training.files.state)
    load_policy(training.files.interrupt)
    assert "interrupted at" in capfd.readouterr().out


def test_a_phone_that_stays_away_ends_it_with_one_line_and_all_is_saved(training, monkeypatch, capfd):
    monkeypatch.setattr(train_ppo, "saved_phone", lambda saved: PhoneConfig(give_up_s=4.0))

    def unplug(run: Training) -> None:
        run.until_it_plays()
        run.phone.misbehave("disconnect")

    assert training.run(unplug) == 2
    said = capfd.readouterr().err.strip().splitlines()
    assert len(said) == 1, said
    assert "expected the phone back within 4 s" in said[0]
    assert f"saved {training.files.interrupt}, run it again to go on from step 0" in said[0]
    load_policy(training.files.interrupt)
    assert read_state(training.files.state).counters.timesteps == 0


def test_a_signal_stops_all_touches_at_once_and_ends_it_with_one_line(training, capfd):
    stopped_s: list[float] = []

    def stop(run: Training) -> None:
        run.until_it_plays()
        os.kill(os.getpid(), signal.SIGUSR1)
        stopped_s.append(time.monotonic())

    assert training.run(stop) == 2
    said = capfd.readouterr().err.strip().splitlines()
    assert len([line for line in said if "all touches stopped by SIGUSR1; run it again" in line]) == 1
    facts = training.phone.facts()
    assert not facts["fingers_down"]
    downs = [one["at_s"] for one in facts["touches"] if one["action"] == "down"]
    assert max(downs) < stopped_s[0] + 0.3
    load_policy(training.files.interrupt)
