"""Which way of looking and of touching is best on this phone: each is tried for a moment and measured.

Trying touches nothing on the screen: it presses the key that means nothing.
"""

from __future__ import annotations

import logging
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from config import PhoneConfig
from greatwall.contracts import Frame
from greatwall.device.phone.captures import CAPTURES, STREAMS, Capture
from greatwall.device.phone.link import AdbLink
from greatwall.device.phone.parts import AUTO, Parts, make_capture, make_touch, open_parts
from greatwall.device.phone.scrcpy_server import ScrcpyServer
from greatwall.errors import DeviceError

LOG = logging.getLogger("greatwall.phone")
PROBE_S = 0.7
START_S = 6.0
LOOK_S = 0.001  # how often a probe looks for a new frame
GOOD_AGE_MS = 100.0  # a capture this quick is taken without trying the rest
CALLS = 5
ANSWER_S = 4.0  # a touch may take so long


@dataclass(frozen=True)
class CaptureProbe:
    """How one capture did. Ages, ms, are those of frames when they could first be had; where nothing came
    after the first frame, because the screen stood still, they are that frame's alone."""

    name: str
    works: bool
    error: str = ""
    start_s: float = 0.0
    frames: int = 0
    frames_per_s: float = 0.0
    age_p50_ms: float = 0.0
    age_p95_ms: float = 0.0
    size: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class TouchProbe:
    """How one touch did: what the call costs here, and when the phone had done it (0: it does not say)."""

    name: str
    works: bool
    error: str = ""
    call_p50_ms: float = 0.0
    call_p95_ms: float = 0.0
    done_p50_ms: float = 0.0


def probe_capture(name: str, link: AdbLink, config: PhoneConfig, seconds: float = PROBE_S) -> CaptureProbe:
    """Try one capture for that long. A phone that cannot do it is an answer, not an error."""
    server = ScrcpyServer(link, config, video=True, control=True) if name == "scrcpy" else None
    capture = make_capture(name, link, config, server)
    try:
        began_s = time.perf_counter()
        if server is not None:
            server.start(START_S)
        capture.start(START_S)
        start_s = time.perf_counter() - began_s
        ages = _ages(capture, seconds)
        rate = (len(ages) - 1) / seconds
        return CaptureProbe(
            name, True, "", start_s, len(ages), rate,
            percentile(ages, 50) * 1e3, percentile(ages, 95) * 1e3, capture.size,
        )  # fmt: skip
    except DeviceError as error:
        return CaptureProbe(name, False, str(error))
    finally:
        capture.close()
        if server is not None:
            server.close()


def _ages(capture: Capture, seconds: float) -> list[float]:
    """Of each frame, s, when it was first there; at least one."""
    pause = threading.Event()
    until_s = time.perf_counter() + seconds
    last: Frame | None = None
    ages: list[float] = []
    while not ages or time.perf_counter() < until_s:
        frame = capture.newest()
        if last is None or frame.frame_id != last.frame_id:
            ages.append(time.perf_counter() - frame.captured_at_s)
            last = frame
        pause.wait(LOOK_S)
    return ages


def percentile(values: Sequence[float], percent: int) -> float:
    """Of at least one value."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def probe_touch(name: str, link: AdbLink, config: PhoneConfig, calls: int = CALLS) -> TouchProbe:
    """Try one touch. What the phone does not allow is an answer, not an error."""
    server = ScrcpyServer(link, config, video=False, control=True) if name == "scrcpy" else None
    touch = None
    try:
        if server is not None:
            server.start(START_S)
        touch = make_touch(name, link, server, with_video=False)
        call_s, done_s = zip(*(touch.try_out(ANSWER_S) for _ in range(calls)), strict=True)
        return TouchProbe(
            name, True, "",
            percentile(call_s, 50) * 1e3, percentile(call_s, 95) * 1e3, percentile(done_s, 50) * 1e3,
        )  # fmt: skip
    except DeviceError as error:
        return TouchProbe(name, False, str(error))
    finally:
        if touch is not None:
            touch.close()
        if server is not None:
            server.close()


def open_best(link: AdbLink, config: PhoneConfig) -> Parts:
    """What `config` asks for, open. A capture `auto` is the first of the usual order whose frames are young
    enough, or a stream of a screen that stands still, or of those that work the one whose frames are
    youngest. `DeviceError` if none works."""
    if config.capture != AUTO:
        return open_parts(link, config, config.capture, config.touch)
    works: list[tuple[float, str]] = []
    last: DeviceError | None = None
    for name in CAPTURES:
        try:
            parts = open_parts(link, config, name, config.touch)
        except DeviceError as error:
            LOG.info("capture %s: %s", name, error)
            last = error
            link.check()
            continue
        try:
            ages = _ages(parts.capture, PROBE_S)
        except DeviceError as error:
            last = error
            parts.close()
            continue
        age_ms = percentile(ages, 50) * 1e3
        LOG.info("capture %s: %d frames, %.0f ms old", name, len(ages), age_ms)
        # one frame alone: the screen stands still, which only a stream notices, and its age says nothing
        if age_ms <= GOOD_AGE_MS or (len(ages) == 1 and name in STREAMS):
            return parts
        parts.close()
        works.append((age_ms, name))
    if not works:
        assert last is not None
        raise last
    return open_parts(link, config, min(works)[1], config.touch)
