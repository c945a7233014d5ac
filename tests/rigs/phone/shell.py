"""A small shell: as much of Android's `sh` as a host asks of it. Words and operators first, then running.

Quotes, backslashes, `$?`, `NAME=value` before a command, `;`, `&&`, `||`, `|` and output redirects.
Anything else of a real shell is refused aloud rather than half done.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

Write = Callable[[bytes], Awaitable[None]]


class ShellError(Exception):
    """A line that the shell does not understand; its text goes to stderr."""


class Word(NamedTuple):
    """One argument, quotes taken off; `is_plain` when nothing in it was quoted."""

    text: str
    is_plain: bool


class Operator(NamedTuple):
    """`;`, `&&`, `||`, `|`, or a redirect like `>`, `2>&1`."""

    text: str


@dataclass(frozen=True)
class Io:
    """What a program reads and writes, and the variables set before it."""

    out: Write
    err: Write
    given: bytes = b""  # what a pipe brought
    variables: Mapping[str, str] = field(default_factory=dict)


Program = Callable[[list[str], Io], Awaitable[int]]

_OPERATOR = re.compile(r"2>&1|1>&2|[12]?>>|[12]?>|&&|\|\||;|\||\n|&|<|\(|\)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_VARIABLE = re.compile(r"\$(\?|[A-Za-z_]\w*|\{\w+\})")


def split_line(line: str, variables: Mapping[str, str]) -> list[Word | Operator]:
    """A line's words and operators; ShellError for what this shell cannot do."""
    found: list[Word | Operator] = []
    text, started, plain, at = "", False, True, 0

    def end_word() -> None:
        nonlocal text, started, plain
        if started:
            found.append(Word(text, plain))
        text, started, plain = "", False, True

    while at < len(line):
        char = line[at]
        if char in " \t\r":
            end_word()
            at += 1
        elif char == "#" and not started:
            end = line.find("\n", at)
            at = len(line) if end < 0 else end
        elif char in "'\"":
            inner, at = _quoted(line, at, variables)
            text, started, plain = text + inner, True, False
        elif char == "\\":
            text, started, plain, at = text + line[at + 1 : at + 2], True, False, at + 2
        elif char == "`" or line.startswith("$(", at):
            raise ShellError("syntax error: this shell runs no command inside another")
        elif match := _VARIABLE.match(line, at):
            text, started, at = text + variables.get(match[1].strip("{}"), ""), True, match.end()
        elif (match := _OPERATOR.match(line, at)) and not (char in "12" and started):
            end_word()
            found.append(Operator(match[0]))
            at = match.end()
        else:
            text, started, at = text + char, True, at + 1
    end_word()
    return found


def _quoted(line: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    """What the quotes that open at `at` hold, and where the line goes on."""
    quote, text, at = line[at], "", at + 1
    while at < len(line):
        char = line[at]
        if char == quote:
            return text, at + 1
        if quote == '"' and char == "\\" and line[at + 1 : at + 2] in ('"', "\\", "$", "`"):
            text, at = text + line[at + 1], at + 2
        elif quote == '"' and (match := _VARIABLE.match(line, at)):
            text, at = text + variables.get(match[1].strip("{}"), ""), match.end()
        elif quote == '"' and (char == "`" or line.startswith("$(", at)):
            raise ShellError("syntax error: this shell runs no command inside another")
        else:
            text, at = text + char, at + 1
    raise ShellError(f"syntax error: {quote} without its partner")


class Shell:
    """Runs lines with a table of programs; `status` is the last exit code."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self._programs = programs
        self.status = 0

    async def run(self, line: str, out: Write, err: Write) -> int:
        """Run a line; its exit code."""
        try:
            await self._run(line, Io(out, err))
        except ShellError as error:
            await err(f"/system/bin/sh: {error}\n".encode())
            self.status = 1
        return self.status

    async def _run(self, line: str, io: Io) -> None:
        joint = ";"  # what stands before the part that follows
        for joint_after, part in _parts(line, self.status):
            if joint in (";", "\n") or (joint == "&&") == (self.status == 0):
                # `$?` is the status when the part is reached, so its words are made only now.
                words = split_line(part, {"?": str(self.status)})
                if words:
                    self.status = await self._pipeline(words, io)
            joint = joint_after

    async def _pipeline(self, words: list[Word | Operator], io: Io) -> int:
        stages: list[list[Word | Operator]] = [[]]
        for word in words:
            if isinstance(word, Operator) and word.text == "|":
                stages.append([])
            else:
                stages[-1].append(word)
        status, given = 0, io.given
        for number, stage in enumerate(stages, 1):
            if number == len(stages):
                return await self._command(stage, replace(io, given=given))
            held = bytearray()
            status = await self._command(stage, Io(_into(held), io.err, given))
            given = bytes(held)
        return status

    async def _command(self, words: list[Word | Operator], io: Io) -> int:
        argv: list[str] = []
        variables: dict[str, str] = {}
        queue = list(words)
        while queue:
            word = queue.pop(0)
            if isinstance(word, Operator):
                io = _redirected(io, word.text, queue)
            elif not argv and _ASSIGNMENT.match(word.text) and word.is_plain:
                name, _, value = word.text.partition("=")
                variables[name] = value
            else:
                argv.append(word.text)
        if not argv:
            return 0
        program = self._programs.get(argv[0].rpartition("/")[2])
        if program is None:
            await io.err(f"/system/bin/sh: {argv[0]}: inaccessible or not found\n".encode())
            return 127
        return await program(argv, replace(io, variables=variables))


def _parts(line: str, status: int) -> list[tuple[str, str]]:
    """A line cut at `;`, `&&`, `||` and line ends, quotes respected: (operator after it, text)."""
    parts, start, at = [], 0, 0
    while at < len(line):
        char = line[at]
        if char in "'\"":
            _, at = _quoted(line, at, {"?": str(status)})
        elif char == "\\":
            at += 2
        elif line.startswith(("&&", "||"), at):
            parts.append((line[at : at + 2], line[start:at]))
            start = at = at + 2
        elif char in ";\n":
            parts.append((char, line[start:at]))
            start = at = at + 1
        else:
            at += 1
    parts.append((";", line[start:]))
    return parts


def _into(held: bytearray) -> Write:
    async def write(data: bytes) -> None:
        held.extend(data)

    return write


async def _nowhere(data: bytes) -> None:
    """/dev/null."""


def _redirected(io: Io, operator: str, queue: list[Word | Operator]) -> Io:
    if operator == "2>&1":
        return replace(io, err=io.out)
    if operator == "1>&2":
        return replace(io, out=io.err)
    if operator.strip("12") == ">" and queue and isinstance(queue[0], Word):
        target = queue.pop(0)
        if isinstance(target, Word) and target.text == "/dev/null":
            return replace(io, err=_nowhere) if operator == "2>" else replace(io, out=_nowhere)
        raise ShellError(f"can't create {target.text}: Permission denied")
    raise ShellError(f"syntax error: unexpected '{operator}'")
