"""The child's end of the rig's own wire: JSON lines in on stdin, one answer each on stdout.

When stdin ends the phone ends: it never outlives who started it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from tests.rigs.phone.phone import Phone

LINE_LIMIT = 1024 * 1024


def tupled(values: dict[str, Any]) -> dict[str, Any]:
    """Values of settings out of JSON, lists made tuples again."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


async def obey(phone: Phone) -> None:
    """Answer calls until stdin ends or `stop` is called."""
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        asked = json.loads(line)
        try:
            answer = {"result": call(phone, asked["call"], asked["with"])}
        except (ValueError, TypeError) as error:
            answer = {"error": str(error)}
        say({"id": asked["id"], **answer})
        if asked["call"] == "stop":
            return


def call(phone: Phone, name: str, values: dict[str, Any]) -> Any:
    """One call of the handle's."""
    match name:
        case "facts":
            facts, only = phone.facts(), values["only"]
            return {one: facts[one] for one in only} if only else facts
        case "misbehave":
            phone.misbehave(values.pop("name"), values.pop("for_s"), **values)
        case "behave":
            phone.behave(values["name"])
        case "reset":
            phone.reset(tupled(values))
        case "foreground":
            phone.launch(values["package"])
        case "key":
            phone.apps.press_key(values["code"])
        case "turn":
            phone.turn(values["upright"])
        case "battery":
            phone.battery.update(values)
        case "stop":
            pass
        case _:
            raise ValueError(f"the phone knows no call {name!r}")
    return None


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
