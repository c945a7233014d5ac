"""Plays the validation courses of a policy in training, on all cores where that is worth a process.

An episode is a function of its policy and its seed, so it does not matter which process plays it. Main
thread; the others are spawned processes that end with the one that started them.
"""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing.sharedctypes import Synchronized
from typing import Any

import numpy as np
import torch

from config import Config
from game_env import GreatWallEnv
from greatwall.assembly import build_env
from greatwall.learning.evaluation import EpisodeResult, play_episode
from greatwall.learning.parallel import ctrl_c_waits, prepare_process, usual_processes
from greatwall.players.trained import PolicyPlayer
from greatwall.policies.network import NetworkSpec, build_policy, load_tensors, policy_tensors
from greatwall.policies.policy_file import Policy

SHARED_FROM_S = (
    2.0  # a validation that takes longer is shared the next time: a process needs seconds to begin
)

Tensors = dict[str, "np.ndarray[Any, Any]"]
Results = dict[int, EpisodeResult]  # by seed


class Validator:
    """Courses for one env and its copies in other processes. `processes` counts this one too; 0 is
    `usual_processes()`. `close` it; the env is the caller's. As wherever processes are spawned,
    the program is one that can be imported: what it does stands under `if __name__ == "__main__"`."""

    def __init__(self, env: GreatWallEnv, seeds: Sequence[int], processes: int = 0) -> None:
        self._env, self._seeds = env, tuple(seeds)
        self._others = min(processes or usual_processes(), len(self._seeds)) - 1
        self._pool: ProcessPoolExecutor | None = None
        self._next: Synchronized[int] | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        """The courses, in their order."""
        return self._seeds

    @property
    def is_shared(self) -> bool:
        """Whether other processes take part."""
        return self._pool is not None

    def play(self, policy: Policy, *, is_last: bool = False) -> list[EpisodeResult]:
        """One episode a seed, in order. After the last no process is started for another."""
        began_s = time.monotonic()
        results = self._play_together(policy) if self._pool is not None else {}
        if len(results) < len(self._seeds):  # alone, or a process that ended leaves its courses
            player = PolicyPlayer(policy, self._env.config)
            results |= {s: play_episode(self._env, player, s) for s in self._seeds if s not in results}
        takes_long = time.monotonic() - began_s > SHARED_FROM_S
        if takes_long and not is_last and self._pool is None and self._others > 0:
            self._start_others()
        return [results[seed] for seed in self._seeds]

    def close(self) -> None:
        """End the other processes, whatever they are at."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in list((pool._processes or {}).values()):  # noqa: SLF001 - no other way to stop an episode
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)

    def _start_others(self) -> None:
        """They begin while the learner goes on learning; where there is no room for them it goes on alone."""
        context = multiprocessing.get_context("spawn")
        try:
            self._next = context.Value("i", 0)
            self._pool = ProcessPoolExecutor(
                self._others, context, _begin, (self._env.config, self._seeds, self._next)
            )
            with ctrl_c_waits():
                for _ in range(self._others):
                    self._pool.submit(_nothing)
        except (OSError, BrokenExecutor) as error:
            self._go_on_alone(f"no process could be started to share validation with ({error})")

    def _go_on_alone(self, why: str) -> None:
        logging.warning("%s; one process validates from now on", why)
        self._others = 0
        self.close()

    def _play_together(self, policy: Policy) -> Results:
        """Whoever is free takes the next course; what is played when a process ends is kept."""
        pool, counter = self._pool, self._next
        assert pool is not None
        assert counter is not None
        counter.value = 0
        tensors = policy_tensors(policy.network)
        results: Results = {}
        try:
            calls: list[Future[Results]] = [
                pool.submit(_play, policy.spec, tensors, policy.profile) for _ in range(self._others)
            ]
            results |= _take_turns(self._env, PolicyPlayer(policy, self._env.config), self._seeds, counter)
            for call in calls:
                results |= call.result()
        except BrokenExecutor:
            self._go_on_alone("a process that shared validation ended without a word")
        return results


def _take_turns(
    env: GreatWallEnv, player: PolicyPlayer, seeds: Sequence[int], counter: Synchronized[int]
) -> Results:
    results: Results = {}
    while True:
        with counter.get_lock():
            index = counter.value
            counter.value = index + 1
        if index >= len(seeds):
            return results
        results[seeds[index]] = play_episode(env, player, seeds[index])


_here: tuple[GreatWallEnv, Sequence[int], Synchronized[int]] | None = None


def _begin(config: Config, seeds: Sequence[int], counter: Synchronized[int]) -> None:
    """In each of the others, once."""
    global _here
    prepare_process()
    torch.set_flush_denormal(True)  # as in the process that learns
    _here = build_env(config), seeds, counter


def _nothing() -> None:
    """What a process is started with."""


def _play(spec: NetworkSpec, tensors: Tensors, profile: str) -> Results:
    assert _here is not None
    env, seeds, counter = _here
    network = build_policy(spec)
    load_tensors(network, tensors)
    return _take_turns(env, PolicyPlayer(Policy(network, spec, profile, {}), env.config), seeds, counter)
