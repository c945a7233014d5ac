"""Where a member lives changes nothing but who computes; whoever ends or fails says so at once."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial

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

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class AwkwardError(Exception):
    """Cannot be made from its text."""

    def __init__(self, _text: str, detail: Callable[[], None] = lambda: None) -> None:
        super().__init__(detail)


def counters(*firsts: int) -> list[partial[Counter]]:
    return [partial(Counter, first) for first in firsts]


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
    assert len(three) == 5
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


def test_a_call_broken_off_leaves_no_answer_to_the_next(three: Crew[Counter]) -> None:
    before = three.call("add", [(0,)] * 5)
    three._ask(1, ("add", [(0, (7,)), (1, (0,))]))  # as where Ctrl-C comes before the answer
    found = three.call("add", [(0,)] * 5)
    assert found[1][0] == before[1][0] + 7
    assert found[2:] == before[2:]


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
        with pytest.raises(CrewError, match=r"ended without a word.*--processes 1"):
            crew.call("die", [()], [1])
        with pytest.raises(CrewError, match="ended without a word"):
            crew.call("add", [(0,)] * 2)
        assert time.monotonic() - began_s < 10
    finally:
        crew.close()
        crew.close()


def test_a_process_that_falls_silent_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    crew = Crew(counters(0, 1), 2)
    try:
        crew.call("add", [(0,)] * 2)
        monkeypatch.setattr(crew_module, "SILENT_S", 0.2)
        with pytest.raises(CrewError, match="was silent for"):
            crew.call("sleep", [(30.0,)], [1])
    finally:
        began_s = time.monotonic()
        crew.close()
        assert time.monotonic() - began_s < 10, "it does not wait for who sleeps"


def test_without_room_for_another_process_one_does_it_all(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_room(_self: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", no_room)
    crew = Crew(counters(0, 10, 20), 3)
    assert crew.call("add", [(1,)] * 3) == [(number, os.getpid()) for number in (1, 11, 21)]
    assert "Cannot allocate memory" in caplog.text
    crew.close()


def test_one_process_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", None)
    crew = Crew([lambda: Counter(7)], 4)
    assert crew.call("add", [(1,)]) == [(8, os.getpid())]
    crew.close()
