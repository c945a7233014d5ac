"""One frame of a phone, for those who only look. Any thread; touches nothing."""

from __future__ import annotations

from config import PhoneConfig
from greatwall.contracts import Frame
from greatwall.device.phone.captures import CAPTURES
from greatwall.device.phone.link import AdbLink
from greatwall.device.phone.parts import make_capture
from greatwall.device.phone.scrcpy_server import ScrcpyServer
from greatwall.errors import DeviceError

START_S = 8.0


def picture_by(link: AdbLink, phone: PhoneConfig, capture_name: str) -> Frame:
    """What the phone shows now, decoded, by that capture. `DeviceError` when none comes."""
    server = None
    if capture_name == "scrcpy":
        server = ScrcpyServer(link, phone, video=True, control=True)
    capture = make_capture(capture_name, link, phone, server)
    try:
        if server is not None:
            server.start(START_S)
        capture.start(START_S)
        frame = capture.newest()
        _ = frame.bgr  # decoded before the capture is closed
        return frame
    finally:
        capture.close()
        if server is not None:
            server.close()


def phone_picture(phone: PhoneConfig) -> Frame:
    """What the phone that `phone` names shows, by the first capture that works; `DeviceError` without any."""
    link = AdbLink.choose(phone.serial, phone.adb_port)
    names = CAPTURES if phone.capture == "auto" else (phone.capture,)
    for name in names[:-1]:
        try:
            return picture_by(link, phone, name)
        except DeviceError:
            link.check()  # a phone that is gone is not asked again
    return picture_by(link, phone, names[-1])
