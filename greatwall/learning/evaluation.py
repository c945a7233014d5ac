"""Whole episodes of a player on stated course seeds, and what came of them. Runs on the caller's thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from game_env import GreatWallEnv
from greatwall.contracts import Action, Perception, Player
from greatwall.metrics.statistics import summarise
from greatwall.players import give_truth

Watcher = Callable[[Perception, Action, float], None]  # what was seen, what was done, its reward


@dataclass(frozen=True)
class EpisodeResult:
    """One episode. `death` is what took the last life, or why it ended otherwise (`limit`, ...)."""

    seed: int
    distance_m: float
    episode_return: float
    steps: int
    coins: int
    obstacles: int
    cliffs: int
    shots: int
    kills: int | None
    death: str

    def as_json(self) -> dict[str, Any]:
        found = asdict(self)
        found["return"] = round(found.pop("episode_return"), 3)
        return found


def play_episode(env: GreatWallEnv, player: Player, seed: int, watch: Watcher | None = None) -> EpisodeResult:
    """Play the course of that seed to its end. `watch` is called after every step."""
    give_truth(player, env.save_game)
    observation, info = env.reset(seed=seed)
    player.reset(seed)
    total, done = 0.0, False
    while not done:
        perception = info["perception"]
        action = player.act(observation, perception)
        observation, reward, terminated, truncated, info = env.step(action)
        total += reward
        done = terminated or truncated
        if watch is not None:
            watch(info["perception"], action, reward)
    run = info["run"]
    ended = "limit" if info.get("TimeLimit.truncated") else info.get("interruption", "")
    return EpisodeResult(
        seed=seed,
        distance_m=float(run["distance_m"]),
        episode_return=total,
        steps=int(run["steps"]),
        coins=int(run["coins"]),
        obstacles=int(run["obstacles"]),
        cliffs=int(run["cliffs"]),
        shots=int(run["shots"]),
        kills=run["kills"],
        death=ended or run["death"] or "unknown",
    )


def play_episodes(
    env: GreatWallEnv,
    player: Player,
    seeds: Sequence[int],
    on_episode: Callable[[EpisodeResult], None] | None = None,
) -> list[EpisodeResult]:
    """One episode a seed, in order."""
    results = []
    for seed in seeds:
        results.append(play_episode(env, player, seed))
        if on_episode is not None:
            on_episode(results[-1])
    return results


def report(policy: str, eyes: str, seed: int, results: Sequence[EpisodeResult]) -> dict[str, Any]:
    """What `evaluate --json` writes."""
    return {
        "policy": policy,
        "eyes": eyes,
        "seed": seed,
        "episodes": [one.as_json() for one in results],
        "distance_m": summarise([one.distance_m for one in results]).as_json(),
        "return": summarise([one.episode_return for one in results]).as_json(),
        "deaths": dict(Counter(one.death for one in results)),
    }
