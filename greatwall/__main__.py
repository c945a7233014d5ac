"""`python -m greatwall COMMAND`: each command is one module in `commands/`."""

from __future__ import annotations

import importlib
import sys

from greatwall.commands import run_command

COMMANDS = {
    "play": ("greatwall.commands.play", "play the game yourself, in a window"),
    "evaluate": ("greatwall.commands.evaluate", "let a policy or a hand-written player play many seeds"),
    "bench": ("greatwall.commands.bench", "measure the speed of the game, the env and the worker"),
    "score": ("greatwall.commands.score", "score vision against the game's truth, in any look and size"),
    "dataset": ("greatwall.commands.dataset", "write pictures, YOLO labels and truth, or auto-label a video"),
    "profile": ("greatwall.commands.profile", "write the facts of a game as JSON, or show them in a picture"),
    "replay": ("greatwall.commands.replay", "play a recording's touches again and compare the game"),
    "policy": ("greatwall.commands.policy", "say what a policy file holds, or export it as ONNX"),
    "doctor": ("greatwall.commands.doctor", "check this machine and a phone, and measure how quick it is"),
    "calibrate": ("greatwall.commands.calibrate", "set ground colours, HUD boxes, buttons on a picture"),
    "detector": ("greatwall.commands.detector", "train the detector, or score it on unseen seeds"),
}


USAGE = "usage: python -m greatwall COMMAND [OPTIONS]   (--help after a command shows its options)"


def _help() -> str:
    return "\n".join([USAGE, "", *(f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items())])


def main(arguments: list[str]) -> int:
    """Run one command; its exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_help())
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        print(
            f"unknown command: expected one of {', '.join(COMMANDS)}; found {name!r}; see --help",
            file=sys.stderr,
        )
        return 2
    command = importlib.import_module(COMMANDS[name][0]).COMMAND
    return run_command(command, arguments[1:], f"python -m greatwall {name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
