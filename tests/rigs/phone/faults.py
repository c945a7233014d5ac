"""What the phone is told to do wrong: switches with a name, asked by the parts they concern."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

# Name -> what a host sees of it, and the arguments it takes with their defaults.
FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "unauthorized": ("connections end; new ones stay unauthorized until it is over", {}),
    "offline": ("connections end; new ones are taken and never answered", {}),
    "disconnect": ("connections end; nobody listens until it is over", {}),
    "hang": ("the link stays up, nothing is answered until it is over", {}),
    "delay": ("everything the phone says comes `by_s` later", {"by_s": 0.5}),
    "drop": (
        """a share is lost: `frames` whole video packets, `touches` scrcpy's touches,
        `bytes` payloads of the link, which breaks what was framed""",
        {"share": 0.2, "of": "frames"},
    ),
    "rotate": ("the screen turns upright, at once or amid the next swipe", {"mid_swipe": False}),
    "popup": (
        """a window before the game, closed by Back or by its button (`stubborn`: by its button alone);
        with the game's own package only the picture tells""",
        {"package": "com.android.systemui", "stubborn": False},
    ),
    "other_app": ("another app in front, the game halts behind it", {"package": "com.android.settings"}),
    "cut_frame": (
        """the next picture ends early: a `video` packet half as long as announced, then the end of the
        stream; a `payload` of video cut and announced as such; a `screen`shot cut in half""",
        {"of": "video"},
    ),
    "garbage": ("random bytes for the next `video` packet, `screen`shot or `shell` answer", {"of": "video"}),
    "stop_video": ("no more video comes, touches go on", {}),
}
CHOICES = {
    "drop": ("frames", "touches", "bytes"),
    "cut_frame": ("video", "payload", "screen"),
    "garbage": ("video", "screen", "shell"),
}


class Faults:
    """The faults of one phone. Switched on its event loop; asked from any thread."""

    def __init__(self, seed: int) -> None:
        self._on: dict[str, dict[str, Any]] = {}
        self._random = random.Random(f"faults {seed}")
        self._moving = asyncio.Event()  # cleared while the phone hangs
        self._moving.set()
        self.counts: dict[str, int] = {}  # how often each was begun

    def begin(self, name: str, how: Mapping[str, Any]) -> dict[str, Any]:
        """Switch a fault on; its arguments in full. ValueError for an unknown name or argument."""
        if name not in FAULTS:
            raise ValueError(f"expected a fault out of {', '.join(FAULTS)}, found {name!r}")
        defaults = FAULTS[name][1]
        unknown = set(how) - set(defaults)
        if unknown:
            known = ", ".join(defaults) or "no arguments"
            raise ValueError(f"{name}: expected {known}, found {sorted(unknown)}")
        full = {**defaults, **how}
        if name in CHOICES and full["of"] not in CHOICES[name]:
            raise ValueError(f"{name}: expected of= one of {', '.join(CHOICES[name])}, found {full['of']!r}")
        self._on[name] = full
        self.counts[name] = self.counts.get(name, 0) + 1
        if name == "hang":
            self._moving.clear()
        return full

    def end(self, name: str) -> None:
        """Switch it off; one that is off stays off."""
        self._on.pop(name, None)
        if name == "hang":
            self._moving.set()

    def active(self) -> list[str]:
        return sorted(self._on)

    def on(self, name: str) -> dict[str, Any] | None:
        """The arguments of a fault that is on, else None."""
        return self._on.get(name)

    def take(self, name: str, of: str) -> bool:
        """Whether a one-shot fault waits for this; it is spent then."""
        how = self._on.get(name)
        if how is None or how["of"] != of:
            return False
        self.end(name)
        return True

    def loses(self, what: str) -> bool:
        """Whether this one of `what` is lost (`drop`)."""
        how = self._on.get("drop")
        return how is not None and how["of"] == what and self._random.random() < how["share"]

    def noise(self, size: int) -> bytes:
        return self._random.randbytes(size)

    async def moving(self) -> None:
        """Wait while the phone hangs."""
        await self._moving.wait()
