"""The subcommands of `python -m greatwall`: one module each, with `COMMAND`, the type of its arguments."""

from __future__ import annotations

import sys
from typing import Any

import tyro

from greatwall.errors import GreatWallError


def run_command(command: Any, arguments: list[str], prog: str) -> int:
    """Parse `arguments` into the dataclass (or union of them) `command` and run it.

    A user's mistake is one line on stderr and status 2; Ctrl-C is 130.
    """
    try:
        return int(tyro.cli(command, args=arguments, prog=prog).run())
    except GreatWallError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
