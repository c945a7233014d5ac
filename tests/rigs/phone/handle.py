"""The host's end of a stand-in phone: starts it as a process of its own, asks it, ends it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.rigs.phone.settings import GAME_PACKAGE, PhoneSettings

START_S, ANSWER_S, STOP_S = 90.0, 20.0, 5.0
ROOT = Path(__file__).resolve().parents[3]


class PhoneError(RuntimeError):
    """The stand-in did not start, did not answer, or refused."""


class StandInPhone:
    """A phone behind `adb connect`. Use as a context, or `start` and `stop`; any thread may ask."""

    def __init__(self, settings: PhoneSettings | None = None) -> None:
        self.settings = settings if settings is not None else PhoneSettings()
        self.port = 0
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._numbers = itertools.count(1)
        self._asking = threading.Lock()
        self._reader: threading.Thread | None = None

    @property
    def serial(self) -> str:
        """As adb names it once connected."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> StandInPhone:
        """Start it and wait until it listens; PhoneError otherwise."""
        settings = json.dumps(dataclasses.asdict(self.settings))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.rigs.phone", "--controlled", settings],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, name="stand-in phone's answers", daemon=True)
        self._reader.start()
        try:
            self.port = self._answer(START_S)["port"]
        except PhoneError:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End it; twice is once."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()  # its sign to end
        try:
            process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=STOP_S)
        if self._reader is not None:
            self._reader.join(timeout=STOP_S)
        assert process.stdout is not None
        process.stdout.close()

    def __enter__(self) -> StandInPhone:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- asking -------------------------------------------------------------------------------

    def facts(self, *only: str) -> dict[str, Any]:
        """What the phone knows (see `Phone.facts`), or the named parts of it. Times are monotonic s."""
        result: dict[str, Any] = self._ask("facts", only=list(only))
        return result

    def misbehave(self, name: str, for_s: float | None = None, **how: Any) -> None:
        """Begin a fault of `faults.FAULTS`, for a time or until `behave`."""
        self._ask("misbehave", name=name, for_s=for_s, **how)

    def behave(self, name: str | None = None) -> None:
        """End a fault, or all."""
        self._ask("behave", name=name)

    def foreground(self, package: str = GAME_PACKAGE) -> None:
        """Bring an app to the front, as its user would."""
        self._ask("foreground", package=package)

    def reset(self, **changes: Any) -> None:
        """No faults, nothing remembered, the game anew; `changes` of its first settings last until the
        next reset. A new `shell_v2` is seen by new connections; `look` and `port` stay."""
        self._ask("reset", **changes)

    def key(self, code: int) -> None:
        """Press a key on the phone itself."""
        self._ask("key", code=code)

    def turn(self, *, upright: bool) -> None:
        """Hold it the other way until told again."""
        self._ask("turn", upright=upright)

    def battery(self, **values: Any) -> None:
        """Set `level` (percent), `celsius`, `usb` (bool)."""
        self._ask("battery", **values)

    def _ask(self, call: str, **values: Any) -> Any:
        with self._asking:
            process = self._running()
            number = next(self._numbers)
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps({"id": number, "call": call, "with": values}) + "\n")
                process.stdin.flush()
            except BrokenPipeError as error:
                raise PhoneError("the stand-in phone has ended") from error
            answer = self._answer(ANSWER_S)
        if answer.get("id") != number:
            raise PhoneError(f"expected the answer to call {number}, found {answer}")
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["result"]

    def _answer(self, timeout_s: float) -> dict[str, Any]:
        try:
            answer = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            raise PhoneError(f"expected an answer of the stand-in phone within {timeout_s:.0f} s") from None
        if answer is None:
            raise PhoneError("the stand-in phone has ended; its last words are above")
        return answer

    def _read(self) -> None:
        process = self._running()
        assert process.stdout is not None
        for line in process.stdout:
            self._answers.put(json.loads(line))
        self._answers.put(None)

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise PhoneError("the stand-in phone is not running; call start() first")
        return self._process
