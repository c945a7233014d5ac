"""How large a phone's screen is, and how large it is in a video. Pure but for one question to the phone."""

from __future__ import annotations

import re

from greatwall.device.phone.link import AdbLink
from greatwall.errors import DeviceError

Size = tuple[int, int]
_SIZE = re.compile(r"(Physical|Override) size: (\d{2,5})x(\d{2,5})")


def parse_display_size(text: str) -> Size:
    """What `wm size` says, px: the size in force, as the phone is built (portrait for most)."""
    found = {kind: (int(width), int(height)) for kind, width, height in _SIZE.findall(text)}
    size = found.get("Override") or found.get("Physical")
    if size is None:
        said = " ".join(text.split())[:80]
        raise DeviceError(
            f"wm size: expected Physical size: WxH, found {said!r}; wait until the phone has started"
        )
    return size


def display_size(link: AdbLink) -> Size:
    """Of the phone's screen, px, landscape: the game is."""
    width, height = parse_display_size(link.shell(["wm", "size"]))
    return max(width, height), min(width, height)


def oriented(size: Size, like: Size) -> Size:
    """`size` turned so that it lies as `like` does."""
    return size if (size[0] >= size[1]) == (like[0] >= like[1]) else (size[1], size[0])


def fitted(size: Size, longest: int) -> Size:
    """`size` made smaller until its longer side is at most `longest` (0: any), in multiples of 8 as encoders
    want them."""
    scale = min(1.0, longest / max(size)) if longest else 1.0
    width, height = (max(16, round(side * scale) // 8 * 8) for side in size)
    return width, height
