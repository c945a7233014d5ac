"""What reached the phone, for tests and reports: services, commands, touches. Bounded."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

KEPT = 4000


class Log:
    """Filled on the phone's loop, copied out as plain JSON-able values."""

    def __init__(self) -> None:
        self.services: deque[str] = deque(maxlen=KEPT)
        self.commands: deque[list[str]] = deque(maxlen=KEPT)
        self.touches: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self.notes: deque[str] = deque(maxlen=KEPT)
        self.errors: deque[str] = deque(maxlen=KEPT)  # of the stand-in itself: always empty
        self.counts = {"kept": 0, "lost": 0, "dropped": 0}
        self.downs = 0  # that were kept

    def opened(self, service: str) -> None:
        self.services.append(service)

    def ran(self, argv: list[str]) -> None:
        self.commands.append(argv)

    def noted(self, text: str) -> None:
        self.notes.append(text)

    def touched(
        self, action: str, *, pointer: str, x: float, y: float, size: tuple[int, int], via: str, fate: str
    ) -> None:
        """One touch event as it came; `at_s` is monotonic, x and y px of the display."""
        self.counts[fate] += 1
        self.downs += (action, fate) == ("down", "kept")
        self.touches.append(
            {"at_s": time.monotonic(), "action": action, "pointer": pointer, "x": x, "y": y,
             "size": list(size), "via": via, "fate": fate}
        )  # fmt: skip

    def facts(self) -> dict[str, Any]:
        return {
            "services": list(self.services),
            "commands": [list(argv) for argv in self.commands],
            "touches": list(self.touches),
            "touches_dropped": self.counts["dropped"],
            "touches_lost": self.counts["lost"],
            "touches_kept": self.counts["kept"],
            "downs_kept": self.downs,
            "notes": list(self.notes),
            "errors": list(self.errors),
        }
