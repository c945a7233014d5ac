"""One capture and one touch, opened together and closed together: any of each."""

from __future__ import annotations

import contextlib
import logging
from typing import NamedTuple

from config import PhoneConfig
from greatwall.device.phone.capture_scrcpy import ScrcpyCapture
from greatwall.device.phone.capture_screencap import png_capture, raw_capture
from greatwall.device.phone.capture_screenrecord import ScreenrecordCapture
from greatwall.device.phone.captures import CAPTURES, FIRST_FRAME_S, Capture
from greatwall.device.phone.display import display_size
from greatwall.device.phone.link import AdbLink
from greatwall.device.phone.scrcpy_server import ScrcpyServer
from greatwall.device.phone.touch_scrcpy import ScrcpyTouch
from greatwall.device.phone.touch_shell import AdbTouch, ShellTouch
from greatwall.device.phone.touches import TOUCHES, Touch
from greatwall.errors import ConfigError, DeviceError

LOG = logging.getLogger("greatwall.phone")
AUTO = "auto"
TRY_S = 4.0  # a touch may take so long: `input` starts a program on the phone


class Parts(NamedTuple):
    """What a phone is played with; closed in the order that leaves no finger down."""

    capture: Capture
    touch: Touch
    server: ScrcpyServer | None

    def close(self) -> None:
        with contextlib.ExitStack() as stack:  # each is closed whatever the one before it raises
            if self.server is not None:
                stack.callback(self.server.close)
            stack.callback(self.capture.close)
            stack.callback(self.touch.close)


def open_parts(
    link: AdbLink, config: PhoneConfig, capture: str, touch: str, timeout_s: float = FIRST_FRAME_S
) -> Parts:
    """Both by name, with the first frame there; touch `auto` is the first of the usual order that works.

    `DeviceError` when one does not come up; none stays open.
    """
    with contextlib.ExitStack() as stack:
        server = None
        if "scrcpy" in (capture, touch):
            server = ScrcpyServer(link, config, video=capture == "scrcpy", control=True)
            server.start(timeout_s)
            stack.callback(server.close)
        looking = make_capture(capture, link, config, server)
        stack.callback(looking.close)
        looking.start(timeout_s)
        if touch == AUTO:
            hand, server = _open_best_touch(link, config, server, timeout_s)
            if capture != "scrcpy" and server is not None:
                stack.callback(server.close)
        else:
            hand = make_touch(touch, link, server, with_video=capture == "scrcpy")
        stack.callback(hand.close)
        if touch != AUTO:  # the best was tried when it was chosen
            hand.try_out(TRY_S)
        looking.resized = hand.resized
        size = (0, 0)
        while size != looking.size:  # it may change between the two
            size = looking.size
            hand.resized(size)
        stack.pop_all()
    return Parts(looking, hand, server)


def _open_best_touch(
    link: AdbLink, config: PhoneConfig, server: ScrcpyServer | None, timeout_s: float
) -> tuple[Touch, ScrcpyServer | None]:
    """The first of the usual order that the phone allows: their order is that of their cost on every phone.

    `server` is one that sends the video; where there is none, one without video is started.
    """
    last: DeviceError | None = None
    for name in TOUCHES:
        own = None
        touch = None
        try:
            if name == "scrcpy" and server is None:
                own = ScrcpyServer(link, config, video=False, control=True)
                own.start(timeout_s)
            touch = make_touch(name, link, server or own, with_video=server is not None)
            touch.try_out(TRY_S)
            return touch, server or own
        except DeviceError as error:
            LOG.info("touch %s: %s", name, error)
            last = error
            for one in (touch, own):
                if one is not None:
                    one.close()
            link.check()
    assert last is not None
    raise last


def make_capture(name: str, link: AdbLink, config: PhoneConfig, server: ScrcpyServer | None) -> Capture:
    """A capture, not started."""
    if name == "scrcpy":
        assert server is not None
        return ScrcpyCapture(link, server)
    if name == "screenrecord":
        return ScreenrecordCapture(link, config)
    if name == "raw":
        return raw_capture(link, config)
    if name == "png":
        return png_capture(link, config)
    raise ConfigError(f"--capture: expected auto or one of {', '.join(CAPTURES)}, found {name!r}; choose one")


def make_touch(name: str, link: AdbLink, server: ScrcpyServer | None, with_video: bool) -> Touch:
    """A touch, open. Where scrcpy sends no video, and for `input`, points are px of the screen itself."""
    if name == "scrcpy":
        assert server is not None
        return ScrcpyTouch(server, None if with_video else display_size(link))
    if name == "shell":
        return ShellTouch(link, display_size(link))
    if name == "adb":
        return AdbTouch(link, display_size(link))
    raise ConfigError(f"--touch: expected auto or one of {', '.join(TOUCHES)}, found {name!r}; choose one")
