"""Who can play: rule, rule207, random, idle, oracle, a trained policy. All run on the Master's thread.

`make_player` turns what a command line says into a player; `give_truth` hands the game's own state to
the one kind of player that may look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from config import Config
from greatwall.contracts import Action, FloatArray, Perception, Player
from greatwall.errors import ConfigError

__all__ = ["BUILT_IN", "WITH_TRUTH", "Teacher", "TruthPlayer", "WeighingTeacher", "give_truth", "make_player"]

BUILT_IN = ("rule", "random", "idle", "rule207")
WITH_TRUTH = ("oracle",)  # these look through the screen: bounds, for `evaluate` alone


@runtime_checkable
class TruthPlayer(Player, Protocol):
    """A player that sees through the screen: an upper bound, never a competitor."""

    def attach(self, save_game: Callable[[], Mapping[str, Any]]) -> None:
        """Where the game's state comes from, from the next `act` on: `GreatWallEnv.save_game`."""


@runtime_checkable
class Teacher(Player, Protocol):
    """A player that can be asked what it would do while another plays. `act` is `advise`, then `took`."""

    def advise(self, observation: FloatArray, perception: Perception) -> Action:
        """What it would do now. It looks, but takes nothing to be done."""

    def took(self, action: Action) -> None:
        """What was really done upon the perception just advised on."""


@runtime_checkable
class WeighingTeacher(Teacher, Protocol):
    """A teacher that knows how much depends on its advice."""

    def weigh(self, perception: Perception) -> tuple[Action, float]:
        """The advice, and how many lives more other actions would cost on average, 0 to 1."""


def give_truth(player: Player, save_game: Callable[[], Mapping[str, Any]]) -> None:
    """Attach a player that needs the game's state; all others get nothing."""
    if isinstance(player, TruthPlayer):
        player.attach(save_game)


def make_player(spec: str, config: Config) -> Player:
    """The player of that name, else the policy in the file of that path.

    Raises `ConfigError` for a name that is neither, `FileFormatError` for a file that is no policy.
    """
    from greatwall.players.rule import RulePlayer
    from greatwall.players.rule207 import Rule207Player
    from greatwall.players.simple import IdlePlayer, RandomPlayer

    if spec == "rule":
        return RulePlayer(config)
    if spec == "rule207":
        return Rule207Player(config)
    if spec == "random":
        return RandomPlayer()
    if spec == "idle":
        return IdlePlayer()
    if spec == "oracle":
        from greatwall.players.oracle import OraclePlayer

        return OraclePlayer(config)
    path = Path(spec)
    if not path.exists():
        raise ConfigError(
            f"unknown policy {spec!r}: expected {', '.join(BUILT_IN + WITH_TRUTH)} or a policy file; "
            "found neither; train one with python train_ppo.py, or use --policy rule"
        )
    from greatwall.players.trained import PolicyPlayer  # torch only when a policy plays

    return PolicyPlayer.from_file(path, config)
