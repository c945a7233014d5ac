"""Who can play: rule, random, idle, a trained policy. All run on the Master's thread.

`make_player` turns what a command line says into a player.
"""

from __future__ import annotations

from pathlib import Path

from config import Config
from greatwall.contracts import Player
from greatwall.errors import ConfigError

__all__ = ["BUILT_IN", "make_player"]

BUILT_IN = ("rule", "random", "idle")


def make_player(spec: str, config: Config) -> Player:
    """The player named `rule`, `random` or `idle`, else the policy in the file of that path.

    Raises `ConfigError` for a name that is neither, `FileFormatError` for a file that is no policy.
    """
    from greatwall.players.rule import RulePlayer
    from greatwall.players.simple import IdlePlayer, RandomPlayer

    if spec == "rule":
        return RulePlayer(config)
    if spec == "random":
        return RandomPlayer()
    if spec == "idle":
        return IdlePlayer()
    path = Path(spec)
    if not path.exists():
        raise ConfigError(
            f"unknown policy {spec!r}: expected {', '.join(BUILT_IN)} or a policy file; found neither; "
            "train one with python train_ppo.py, or use --policy rule"
        )
    from greatwall.players.trained import PolicyPlayer  # torch only when a policy plays

    return PolicyPlayer.from_file(path, config.profile.name)
