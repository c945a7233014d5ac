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
from signal import Signals
from typing import Any, Generic, TypeVar

import torch

from greatwall.errors import GreatWallError, WorkerError
from greatwall.learning.parallel import LOOK_S, ctrl_c_waits, prepare_process

LOOKS = 300  # of `LOOK_S` each: a resumed game that is played again to where it was is silent for long
BROKEN_OFF = "expected a crew whose calls were heard to their end, found one broken off; make another"

T = TypeVar("T")
Call = tuple[int, tuple[Any, ...]]  # which of its members, and with what
Answer = tuple[list[Any], Exception | None]  # what calls returned, what one raised


class CrewError(GreatWallError):
    """A process in which members live ended, or fell silent."""


class Crew(Generic[T]):
    """Members made by `makers`, in equal shares over `processes`, the first share in this one; `close` it.

    The other processes begin with the first call. With one process there is no other, and makers need not be
    picklable. As wherever processes are spawned, the program is one that can be imported: what it does stands
    under `if __name__ == "__main__"`. Raises what a maker raises.
    """

    def __init__(self, makers: Sequence[Callable[[], T]], processes: int) -> None:
        count = max(1, min(processes, len(makers)))
        bounds = [len(makers) * part // count for part in range(count + 1)]
        self._size = len(makers)
        self._starts = bounds[1:-1]  # of the other processes' members
        self._shares = [list(makers[low:high]) for low, high in pairwise(bounds[1:])]  # not begun yet
        self._connections: list[Connection] = []
        self._processes: list[BaseProcess] = []
        self._unheard: list[int] = []  # processes with an answer to come
        self._broken = ""  # why no call is possible any more
        self._here: list[T] = []
        try:
            for maker in makers[: bounds[1]]:
                self._here.append(maker())
        except BaseException:
            self.close()
            raise

    @property
    def here(self) -> list[T]:
        """The members of this process, the first ones."""
        return self._here

    def call(
        self, method: str, arguments: Sequence[tuple[Any, ...]], members: Sequence[int] | None = None
    ) -> list[Any]:
        """`method` of these members (all unless given), each with its own arguments; what they return, in
        that order. Members of one process are called in that order too.

        When every process has answered, raises what a member raised; those after it in its process were not
        called. `CrewError` when a process ended or fell silent, and at every call after such a one.
        """
        if self._broken:
            raise CrewError(self._broken)
        self._broken = BROKEN_OFF  # by Ctrl-C, say: no later call may take this one's answers for its own
        try:
            if self._shares:
                self._start()
                self._raise_failures(self._hear())
            members = range(self._size) if members is None else members
            calls: list[list[Call]] = [[] for _ in range(len(self._connections) + 1)]
            places = []
            for member, given in zip(members, arguments, strict=True):
                number = sum(start <= member for start in self._starts)
                places.append((number, len(calls[number])))
                first = self._starts[number - 1] if number else 0
                calls[number].append((member - first, given))
            for number, some in enumerate(calls):
                if number and some:
                    self._ask(number, (method, some))
            own = _called(self._here, method, calls[0])
            try:
                found = {0: own} | self._hear()
            except CrewError as error:
                raise error from own[1]
        except CrewError as error:
            self._broken = str(error)
            raise
        self._broken = ""
        self._raise_failures(found)
        return [found[number][0][index] for number, index in places]

    def close(self) -> None:
        """Close every member that can be closed, and end the other processes."""
        self._broken = self._broken or BROKEN_OFF
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
                    process.kill()
                    process.join(LOOK_S)
            self._processes, self._connections = [], []

    def _start(self) -> None:
        """The other processes; where there is no room for them all, this one does without any."""
        context = multiprocessing.get_context("spawn")  # torch and OpenVINO do not survive a fork
        shares, self._shares = self._shares, []
        try:
            with ctrl_c_waits():
                for makers in shares:
                    ours, theirs = context.Pipe()
                    self._connections.append(ours)
                    process = context.Process(target=_live, args=(theirs, makers), daemon=True)
                    process.start()
                    theirs.close()
                    self._processes.append(process)
                    self._unheard.append(len(self._connections))
        except OSError as error:
            logging.warning("not all processes to play games in could be started (%s); one plays all", error)
            for one in self._connections:
                one.close()
            self._starts, self._connections, self._unheard = [], [], []
            self._here += [maker() for makers in shares for maker in makers]

    @staticmethod
    def _raise_failures(found: dict[int, Answer]) -> None:
        for _, failure in found.values():
            if failure is not None:
                raise failure

    def _ask(self, number: int, question: Any) -> None:
        try:
            self._connections[number - 1].send(question)
        except OSError as error:
            raise self._ended(number) from error
        self._unheard.append(number)

    def _hear(self) -> dict[int, Answer]:
        """Every answer that is to come, by process."""
        found = {}
        while self._unheard:
            number = self._unheard[0]
            ours, process = self._connections[number - 1], self._processes[number - 1]
            for _ in range(LOOKS):  # not one long wait: time also passes while all of them are stopped
                ready = connection.wait([ours, process.sentinel], LOOK_S)
                if ready:
                    break
            else:
                raise CrewError(
                    f"expected an answer from every process that plays games, found one silent for "
                    f"{LOOKS * LOOK_S:.0f} s; see what the machine is busy with, or use --processes 1"
                )
            try:
                if ours not in ready and not ours.poll():
                    raise EOFError
                found[number] = ours.recv()
            except (EOFError, OSError) as gone:
                raise self._ended(number) from gone
            del self._unheard[0]
        return found

    def _ended(self, number: int) -> CrewError:
        process = self._processes[number - 1]
        process.join(LOOK_S)
        code = process.exitcode
        if code is not None and code < 0:
            how = f"that was ended by {Signals(-code).name}"
        else:
            how = f"that ended with status {code}"
        why = "memory may have run out: " if code == -9 else ""
        return CrewError(f"expected every process to play its games, found one {how}; {why}use --processes 1")


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
            for maker in makers:
                members.append(maker())
        except Exception as error:  # noqa: BLE001 - raised there
            theirs.send(([], _portable(error)))
            return
        theirs.send(([], None))
        while True:
            method, calls = theirs.recv()
            found, failure = _called(members, method, calls)
            try:
                theirs.send((found, failure and _portable(failure)))
            except (OSError, EOFError):
                raise
            except Exception as error:  # noqa: BLE001 - what cannot be sent is refused before a byte of it is
                theirs.send(([], _portable(error)))
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
    text = " ".join(str(error).split())
    return CrewError(f"expected a call to succeed, found {type(error).__name__}: {text}; report it")


def _close(member: Any) -> None:
    close = getattr(member, "close", None)
    if close is not None:
        close()
