"""What `doctor` says: one check a line, its state, what was found, and what to do about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rich.table import Table
from rich.text import Text

from greatwall.errors import GreatWallError


class State(StrEnum):
    """How a check went; `SKIPPED` could not be made because of another one."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIPPED = "skipped"


STYLES = {State.OK: "green", State.WARN: "yellow", State.FAIL: "bold red", State.SKIPPED: "dim"}


@dataclass(frozen=True)
class Check:
    """One line: `found` for people, `remedy` where something is wrong, `figures` for the JSON."""

    name: str
    state: State
    found: str
    remedy: str = ""
    figures: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"state": self.state.value}


def attempt(name: str, check: Callable[[], Check]) -> Check:
    """The check's result; an error of ours is its failure, with the remedy the error names."""
    try:
        return check()
    except GreatWallError as error:
        line = " ".join(str(error).split())
        found, _, remedy = line.partition("; ")
        return Check(name, State.FAIL, found, remedy)


def judged(name: str, found: str, *, bad: str = "", remedy: str = "", **figures: Any) -> Check:
    """A check that is fine, or, with `bad` said, one to be warned of."""
    if not bad:
        return Check(name, State.OK, found, "", figures)
    return Check(name, State.WARN, f"{found}: {bad}" if found else bad, remedy, figures)


def table_of(checks: Sequence[Check], title: str) -> Table:
    """All of it on one screen."""
    table = Table(title=title, expand=False, pad_edge=False)
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("found, and what to do", overflow="fold")
    for check in checks:
        text = Text(check.found)
        if check.remedy:
            text.append(f"\n-> {check.remedy}", style="bold")
        table.add_row(check.name, Text(check.state.value, style=STYLES[check.state]), text)
    return table


def failed(checks: Sequence[Check]) -> bool:
    return any(check.state is State.FAIL for check in checks)


def summary(checks: Sequence[Check]) -> str:
    """`12 ok, 1 warn`."""
    counts = {state: sum(check.state is state for check in checks) for state in State}
    return ", ".join(f"{count} {state.value}" for state, count in counts.items() if count)
