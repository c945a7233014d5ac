"""Episodes over several processes: each builds its own env and players, and plays the courses it is given.

An episode is a function of its player and its seed, so it does not matter who plays it, or when. Main
thread; processes are spawned, never forked, so that no thread or lock is inherited half-way.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from multiprocessing import connection

from config import Config
from game_env import GreatWallEnv
from greatwall.assembly import build_env
from greatwall.contracts import Player
from greatwall.errors import GreatWallError
from greatwall.learning.evaluation import EpisodeResult, play_episode
from greatwall.players import make_player

LOOK_S = 1.0
MOST_PROCESSES = 4  # unless more are asked for

OnEpisode = Callable[[int, EpisodeResult], None]  # which player's, and what came of it


class EvaluationError(GreatWallError):
    """A process that played ended without a word."""


class Stage:
    """One env and the players who take turns in it."""

    def __init__(self, env: GreatWallEnv, players: Sequence[Player]) -> None:
        self.env, self._players = env, players

    def play(self, player: int, seed: int) -> EpisodeResult:
        return play_episode(self.env, self._players[player], seed)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usual_processes() -> int:
    """To play games in, this one too: one a core, up to `MOST_PROCESSES`."""
    return min(cores(), MOST_PROCESSES)


def play_here(stage: Stage, players: int, seeds: Sequence[int], on_episode: OnEpisode) -> None:
    """Course by course, each player in turn: whatever ends it early, pairs are whole but for the last."""
    for seed in seeds:
        for player in range(players):
            on_episode(player, stage.play(player, seed))


def play_apart(
    config: Config, players: Sequence[str], seeds: Sequence[int], jobs: int, on_episode: OnEpisode
) -> None:
    """The same in `jobs` processes; `on_episode` is called here, in the order in which episodes end.

    What a player or the game raises is raised; `EvaluationError` when a process died.
    """
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(config, tuple(players)),
    )
    try:
        with ctrl_c_waits():
            todo: set[Future[tuple[int, EpisodeResult]]] = {
                pool.submit(_play, player, seed) for seed in seeds for player in range(len(players))
            }
        while todo:
            done, todo = wait(todo, timeout=LOOK_S, return_when=FIRST_COMPLETED)
            for one in done:
                on_episode(*one.result())
    except BrokenExecutor as error:
        raise EvaluationError(
            "expected every process to play its courses, found one that ended without a word; memory may "
            "have run out: use fewer --jobs"
        ) from error
    finally:
        for process in list((pool._processes or {}).values()):  # noqa: SLF001 - no other way to stop an episode
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


_stage: Stage | None = None


def _begin(config: Config, players: Sequence[str]) -> None:
    """In each process, once."""
    global _stage
    prepare_process()
    _stage = Stage(build_env(config), [make_player(name, config) for name in players])


@contextlib.contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """Processes started meanwhile hear nothing of Ctrl-C until `prepare_process`: while they import they
    would die of it with a traceback each. Here it is heard a moment later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def prepare_process() -> None:
    """What every process that plays for another does first. Ctrl-C goes to all of them; the one that was
    started by a person heeds it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    threading.Thread(target=_leave_with_parent, name="parent watch", daemon=True).start()
    _one_thread()


def _leave_with_parent() -> None:
    """A process whose parent was killed would wait for courses for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    while not connection.wait([parent.sentinel], LOOK_S):
        pass
    os._exit(1)


def _one_thread() -> None:
    """Several processes share the cores: a second thread each would only take another's time."""
    import torch

    torch.set_num_threads(1)


def _play(player: int, seed: int) -> tuple[int, EpisodeResult]:
    assert _stage is not None
    return player, _stage.play(player, seed)
