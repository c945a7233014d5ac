"""Objects of one kind in several processes, called all at once: games played side by side on all cores.

What a member does is a function of its maker and its calls, so it does not matter where it lives. Main
thread; processes are spawned, as in `parallel.py`, and end with the one that started them.
"""

from __future__ import annotations

import logging
import multiprocessing
import traceback
from collections.abc import Callable, Sequence
from itertools import pairwise
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

import torch

from greatwall.errors import GreatWallError, WorkerError
from greatwall.learning.parallel import LOOK_S, cores, ctrl_c_waits, prepare_process

MOST_PROCESSES = 4
SILENT_S = 300.0  # a resumed game that is played again to where it was is silent for long

T = TypeVar("T")
Answer = tuple[list[Any], Exception | None]  # what calls returned, what one raised
Call = tuple[int, tuple[Any, ...]]  # which of its members, and with what


class CrewError(GreatWallError):
    """A process in which members lived ended, or fell silent."""


def usual_processes(members: int) -> int:
    """One a core, up to `MOST_PROCESSES`, and none without a member."""
    return max(1, min(cores(), MOST_PROCESSES, members))


class Crew(Generic[T]):
    """Members made by `makers`, in equal shares over `processes`, the first share in this one; `close` it.

    With one process there is no other, and makers need not be picklable. Raises what a maker raises; those of
    other processes are heard of at the first call, so that they begin while this one goes on.
    """

    def __init__(self, makers: Sequence[Callable[[], T]], processes: int) -> None:
        self._size = len(makers)
        self._starts: list[int] = []  # of the other processes' members
        self._connections: list[Connection] = []
        self._processes: list[BaseProcess] = []
        self._here: list[T] = []
        self._unheard: list[int] = []  # processes with an answer to come
        try:
            self._start(makers, max(1, min(processes, len(makers))))
            self._here = [maker() for maker in makers[: self._starts[0] if self._starts else None]]
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return self._size

    @property
    def here(self) -> list[T]:
        """The members of this process, the first ones."""
        return self._here

    def call(
        self, method: str, arguments: Sequence[tuple[Any, ...]], members: Sequence[int] | None = None
    ) -> list[Any]:
        """`method` of these members (all unless given), each with its own arguments; what they return, in
        that order. Members of one process are called in that order too.

        Raises what a member raised once all have been called; `CrewError` when a process ended.
        """
        members = range(self._size) if members is None else members
        calls: list[list[Call]] = [[] for _ in range(len(self._connections) + 1)]
        places = []
        for member, given in zip(members, arguments, strict=True):
            number = sum(start <= member for start in self._starts)
            places.append((number, len(calls[number])))
            first = self._starts[number - 1] if number else 0
            calls[number].append((member - first, given))
        self._raise_failures(self._hear())  # of the making, or of a call that Ctrl-C broke off
        for number, some in enumerate(calls):
            if number and some:
                self._ask(number, (method, some))
        found = {0: _called(self._here, method, calls[0])} | self._hear()
        self._raise_failures(found)
        return [found[number][0][index] for number, index in places]

    def close(self) -> None:
        """Close every member that can be closed, and end the other processes."""
        for one in self._connections:
            one.close()  # they hear of it and leave
        here, self._here = self._here, []
        try:
            for member in here:
                _close(member)
        finally:
            for process in self._processes:
                process.join(LOOK_S)
                if process.is_alive():
                    process.terminate()
                    process.join()
            self._processes, self._connections, self._unheard = [], [], []

    def _start(self, makers: Sequence[Callable[[], T]], count: int) -> None:
        """The other processes; where there is no room for them this one does without."""
        bounds = [len(makers) * part // count for part in range(count + 1)]
        context = multiprocessing.get_context("spawn")  # torch and OpenVINO do not survive a fork
        try:
            with ctrl_c_waits():
                for low, high in pairwise(bounds[1:]):
                    ours, theirs = context.Pipe()
                    self._connections.append(ours)
                    process = context.Process(
                        target=_live, args=(theirs, list(makers[low:high])), daemon=True
                    )
                    process.start()
                    theirs.close()
                    self._processes.append(process)
                    self._unheard.append(len(self._connections))
        except OSError as error:
            logging.warning("no process could be started to play games in (%s); one plays them all", error)
            self.close()
            return
        self._starts = bounds[1:-1]

    @staticmethod
    def _raise_failures(found: dict[int, Answer]) -> None:
        for _, failure in found.values():
            if failure is not None:
                raise failure

    def _ask(self, number: int, question: Any) -> None:
        try:
            self._connections[number - 1].send(question)
        except OSError as error:
            raise self._lost("ended without a word") from error
        self._unheard.append(number)

    def _hear(self) -> dict[int, Answer]:
        """Every answer that is to come, by process."""
        found = {}
        while self._unheard:
            number = self._unheard[0]
            ours = self._connections[number - 1]
            if not connection.wait([ours, self._processes[number - 1].sentinel], SILENT_S):
                raise self._lost(f"was silent for {SILENT_S:.0f} s")
            try:
                found[number] = ours.recv()
            except (EOFError, OSError) as gone:
                raise self._lost("ended without a word") from gone
            del self._unheard[0]
        return found

    def _lost(self, what: str) -> CrewError:
        return CrewError(
            f"expected every process to play its games, found one that {what}; memory may have run out: "
            "use --processes 1"
        )


def _called(members: Sequence[Any], method: str, calls: Sequence[Call]) -> Answer:
    try:
        return [getattr(members[member], method)(*given) for member, given in calls], None
    except Exception as error:  # noqa: BLE001 - raised by `call` when the others have answered
        return [], error


def _live(theirs: Connection, makers: Sequence[Callable[[], Any]]) -> None:
    """One of the other processes: makes its members and does what is asked until nobody asks any more."""
    prepare_process()
    torch.set_flush_denormal(True)  # as in the process that learns
    members: list[Any] = []
    try:
        try:
            members += [maker() for maker in makers]
        except Exception as error:  # noqa: BLE001 - raised there
            theirs.send(([], _portable(error)))
            return
        theirs.send(([], None))
        while True:
            method, calls = theirs.recv()
            found, failure = _called(members, method, calls)
            theirs.send((found, failure and _portable(failure)))
    except (EOFError, OSError):
        return
    finally:
        for member in members:
            _close(member)


def _portable(error: Exception) -> Exception:
    """One of ours as it is; of others their text, and what leads to them on the terminal, for they may not
    survive the way."""
    is_ours = isinstance(error, GreatWallError) and error.args == (str(error),)
    if not is_ours or isinstance(error, WorkerError):
        traceback.print_exception(error)
    if is_ours:
        return error
    return CrewError(f"expected a call to succeed, found {type(error).__name__}: {error}; report it")


def _close(member: Any) -> None:
    close = getattr(member, "close", None)
    if close is not None:
        close()
