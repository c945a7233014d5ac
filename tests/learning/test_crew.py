"""Where a member lives changes nothing but who computes; whoever ends or fails says so at once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from greatwall.errors import ConfigError
from greatwall.learning import crew as crew_module
from greatwall.learning.crew import Crew, CrewError


class Counter:
    """Counts, tells where it lives, fails when told to."""

    def __init__(self, first: int) -> None:
        if first < 0:
            raise ConfigError(f"first: expected 0 or more, found {first}; change it")
        self.number = first

    def add(self, some: int) -> tuple[int, int]:
        self.number += some
        return self.number, os.getpid()

    def fail(self, kind: type[Exception]) -> None:
        self.number += 1
        raise kind("expected nothing, found this; go on")

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def lock(self) -> object:
        return threading.Lock()

    def sleep(self, seconds: float) -> None:
        threading.Event().wait(seconds)


class AwkwardError(Exception):
    """Cannot be made from its text."""

    def __init__(self, _text: str, detail: Callable[[], None] = lambda: None) -> None:
        super().__init__(detail)


def counters(*firsts: int) -> list[partial[Counter]]:
    return [partial(Counter, first) for first in firsts]


ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import multiprocessing, os, time
from functools import partial
from greatwall.learning.crew import Crew

class Member:
    def pid(self): return os.getpid()

if __name__ == "__main__":
    crew = Crew([Member, Member], 2)
    before = len(multiprocessing.active_children())
    other = crew.call("pid", [(), ()])[1]
    try:
        print("before", before, other, flush=True)
        while True:
            crew.call("pid", [(), ()])
    except KeyboardInterrupt:
        pass
    crew.close()
    assert not multiprocessing.active_children()
    print("closed", flush=True)
"""


@pytest.fixture(scope="module")
def three() -> Iterator[Crew[Counter]]:
    crew = Crew(counters(0, 100, 200, 300, 400), 3)
    yield crew
    crew.close()


def test_members_live_in_equal_shares_and_answer_in_the_order_asked(three: Crew[Counter]) -> None:
    before = [number for number, _ in three.call("add", [(0,)] * 5)]
    found = three.call("add", [(3,), (4,), (1,)], [3, 4, 1])
    assert [number for number, _ in found] == [before[3] + 3, before[4] + 4, before[1] + 1]
    pids = [pid for _, pid in three.call("add", [(0,)] * 5)]
    assert len(set(pids)) == 3
    assert pids[0] == os.getpid()
    assert pids[1] == pids[2] != pids[3] == pids[4]
    assert len(three.here) == 1


@pytest.mark.parametrize("member", [0, 4])
@pytest.mark.parametrize("kind", [ConfigError, ValueError, AwkwardError])
def test_what_a_member_raises_is_raised_when_all_have_answered(
    three: Crew[Counter], member: int, kind: type[Exception]
) -> None:
    numbers = [number for number, _ in three.call("add", [(0,)] * 5)]
    ours = kind is ConfigError or member == 0
    with pytest.raises(kind if ours else CrewError) as raised:
        three.call("fail", [(kind,)] * 2, [member, 2])
    if kind is ConfigError:
        assert str(raised.value) == "expected nothing, found this; go on"
    elif not ours:
        assert f"found {kind.__name__}" in str(raised.value)
    again = [number for number, _ in three.call("add", [(0,)] * 5)]
    assert [one - other for one, other in zip(again, numbers, strict=True)] == [
        index in (member, 2) for index in range(5)
    ]


def test_members_after_one_that_fails_are_not_called(three: Crew[Counter]) -> None:
    before = three.call("add", [(0,)] * 5)
    with pytest.raises(ConfigError):
        three.call("fail", [(ConfigError,)] * 2, [3, 4])
    after = three.call("add", [(0,)] * 5)
    assert [one[0] - other[0] for one, other in zip(after, before, strict=True)] == [0, 0, 0, 1, 0]


def test_what_cannot_be_sent_back_is_one_line_and_the_crew_goes_on(three: Crew[Counter]) -> None:
    with pytest.raises(CrewError, match=r"expected a call to succeed, found .*pickle"):
        three.call("lock", [()], [4])
    assert three.call("add", [(0,)] * 5)


def test_a_call_broken_off_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """No later one may take its answers for its own."""
    crew = Crew(counters(0, 1), 2)
    try:
        crew.call("add", [(0,)] * 2)

        def struck(*_arguments: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("multiprocessing.connection.Connection.recv", struck)
            with pytest.raises(KeyboardInterrupt):
                crew.call("add", [(7,)] * 2)
        with pytest.raises(CrewError, match="broken off"):
            crew.call("add", [(0,)] * 2)
    finally:
        crew.close()


def test_processes_begin_with_the_first_call_and_end_with_the_crew_or_its_process(tmp_path: Path) -> None:
    """Ctrl-C, which goes to the whole group, is for the first process alone; SIGKILL ends all."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    for number, last in ((signal.SIGINT, "closed"), (signal.SIGKILL, "")):
        process = subprocess.Popen(
            [sys.executable, str(script)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[:2] == ["before", "0"], words
        other = int(words[2])
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.kill()
        out, errors = process.communicate(timeout=30)
        assert (out.strip(), errors) == (last, "")
        deadline_s = time.monotonic() + 15
        while is_there(other) and time.monotonic() < deadline_s:
            threading.Event().wait(0.05)
        assert not is_there(other)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.parametrize("processes", [1, 2])
def test_what_a_maker_raises_is_raised(processes: int) -> None:
    def make() -> None:
        with contextlib.closing(Crew(counters(5, -1), processes)) as crew:
            crew.call("add", [(0,)] * 2)

    with pytest.raises(ConfigError, match="first: expected 0 or more"):
        make()


def test_a_process_that_ends_is_said_at_once_and_close_still_works() -> None:
    crew = Crew(counters(0, 1), 2)
    try:
        crew.call("add", [(0,)] * 2)
        began_s = time.monotonic()
        with pytest.raises(CrewError, match=r"ended by SIGKILL; memory may have run out: use --processes 1"):
            crew.call("die", [()], [1])
        with pytest.raises(CrewError, match="ended by SIGKILL"):
            crew.call("add", [(0,)] * 2)
        assert time.monotonic() - began_s < 10
    finally:
        crew.close()
        crew.close()


def test_a_process_that_falls_silent_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    crew = Crew(counters(0, 1), 2)
    try:
        crew.call("add", [(0,)] * 2)
        monkeypatch.setattr(crew_module, "LOOKS", 2)
        monkeypatch.setattr(crew_module, "LOOK_S", 0.1)
        with pytest.raises(CrewError, match="one silent for"):
            crew.call("sleep", [(30.0,)], [1])
    finally:
        began_s = time.monotonic()
        crew.close()
        assert time.monotonic() - began_s < 10, "it does not wait for who sleeps"


@pytest.mark.parametrize("room", [0, 1])
def test_without_room_for_all_processes_one_does_it_all(
    room: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started = []
    original = SpawnProcess.start

    def no_more_room(self: SpawnProcess) -> None:
        if len(started) == room:
            raise OSError(12, "Cannot allocate memory")
        started.append(self)
        original(self)

    monkeypatch.setattr(SpawnProcess, "start", no_more_room)
    crew = Crew(counters(0, 10, 20), 3)
    assert crew.call("add", [(1,)] * 3) == [(number, os.getpid()) for number in (1, 11, 21)]
    assert "Cannot allocate memory" in caplog.text
    crew.close()
    assert [one.is_alive() for one in started] == [False] * room


def test_one_process_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", None)
    crew = Crew([lambda: Counter(7)], 4)
    assert crew.call("add", [(1,)]) == [(8, os.getpid())]
    crew.close()
