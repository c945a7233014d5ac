"""`python -m greatwall bench phone`: what each way of looking at a phone and of touching it costs here.

Main thread; every wait has a limit. A run of the game is begun before each capture, because a screen that
stands still sends no frames; touched is only where the game's profile taps, with the game in front.
"""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from config import GREAT_WALL, EyesConfig, GameProfile, PhoneConfig
from greatwall.commands.phone_picture import phone_picture
from greatwall.contracts import Frame
from greatwall.device.phone.captures import CAPTURES, Capture
from greatwall.device.phone.foreground import DUMP, front_of, may_be_a_game
from greatwall.device.phone.guard import STOP, stop_signals
from greatwall.device.phone.link import AdbLink
from greatwall.device.phone.parts import make_capture, make_touch
from greatwall.device.phone.scrcpy_server import ScrcpyServer
from greatwall.device.phone.touches import TOUCHES, HandBusy, Point, Touch
from greatwall.errors import DeviceError, FileFormatError, GameLeft, HandsOff
from greatwall.eyes.hud import HudReader
from greatwall.metrics.timing import percentile

START_S = 8.0
LOOK_S = 0.001
RUN_S = 40.0  # a run that nobody steers is over by then
STILL_S = 0.5  # a live run's distance has risen by then
WARM_UP_S = 0.5  # of a capture: its first frames wait for its start
TAPS = 50
TAP_EVERY_S = 0.1
LOOK_EVERY = 20  # taps: what is in front is asked again
ASK_S = 5.0
BEGIN, END = "<!-- phone: begin -->", "<!-- phone: end -->"
COLUMNS = ("method", "p50 ms", "p95 ms", "CPU ms", "")
Row = dict[str, Any]


class PhoneBench:
    """Measures one phone. Raises `DeviceError`, and `GameLeft` when another app is in front."""

    def __init__(self, phone: PhoneConfig, profile: GameProfile = GREAT_WALL) -> None:
        self.phone = phone
        self.profile = profile
        self.link = AdbLink.choose(phone.serial, phone.adb_port)
        self._pause = threading.Event()
        self._game = phone.package or self._game_in_front()

    def run(self, seconds: float, taps: int, say: Callable[[str], object]) -> dict[str, Any]:
        """Both tables, JSON-able; a method that does not work has its `error`."""
        captures, touches = [], []
        with stop_signals():
            for name in CAPTURES:
                say(f"capture {name}")
                captures.append(self._tried(name, functools.partial(self.measure_capture, name, seconds)))
            for name in TOUCHES:
                say(f"touch {name}")
                touches.append(self._tried(name, functools.partial(self.measure_touch, name, taps)))
        return {"phone": self.about(), "captures": captures, "touches": touches}

    def about(self) -> str:
        """Model and Android version, for people."""
        model, release = (
            self.link.shell(["getprop", name], ASK_S).strip()[:40]
            for name in ("ro.product.model", "ro.build.version.release")
        )
        return f"{model or self.link.serial}, Android {release or '?'}"

    def _tried(self, name: str, measure: Callable[[], Row]) -> Row:
        try:
            return {"name": name, **measure()}
        except (GameLeft, HandsOff):
            raise
        except DeviceError as error:
            self.link.check()
            return {"name": name, "error": str(error)}

    # --- looking ------------------------------------------------------------------------------

    def measure_capture(self, name: str, seconds: float) -> Row:
        """Age of each new frame when it can first be had, ms; new frames/s; CPU of this process a frame,
        pixels included."""
        self.begin_run()
        server = ScrcpyServer(self.link, self.phone, video=True, control=True) if name == "scrcpy" else None
        capture = make_capture(name, self.link, self.phone, server)
        try:
            if server is not None:
                server.start(START_S)
            capture.start(START_S)
            self._watch(capture, WARM_UP_S)
            cpu_s, began_s = time.process_time(), time.perf_counter()
            ages_s = self._watch(capture, seconds)
            cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - began_s
            size = capture.size
        finally:
            capture.close()
            if server is not None:
                server.close()
        return {
            "p50_ms": _ms(percentile(ages_s, 0.5)),
            "p95_ms": _ms(percentile(ages_s, 0.95)),
            "frames": len(ages_s),
            "frames_per_s": round(len(ages_s) / wall_s, 1),
            "cpu_ms": _ms(cpu_s / max(1, len(ages_s))),
            "size": list(size),
        }

    def _watch(self, capture: Capture, seconds: float) -> list[float]:
        """Ages, s, of the frames that come meanwhile; each is turned into pixels, as the eyes would."""
        until_s = time.perf_counter() + seconds
        last: Frame = capture.newest()
        ages_s: list[float] = []
        while time.perf_counter() < until_s:
            frame = capture.newest()
            if frame.frame_id != last.frame_id:
                _ = frame.bgr
                ages_s.append(time.perf_counter() - frame.captured_at_s)
                last = frame
            self._pause.wait(LOOK_S)
        return ages_s

    # --- touching -----------------------------------------------------------------------------

    def measure_touch(self, name: str, taps: int) -> Row:
        """What a tap's call costs here, ms, and its CPU; when it shows is what doctor measures. `withheld`
        are taps that a phone still at the last ones would have made too late."""
        calls_s: list[float] = []
        withheld = 0
        server, touch = self._hand(name)
        try:
            cpu_s, waited_cpu_s = time.process_time(), 0.0
            for number in range(taps):
                idle_s = time.thread_time()
                if number % LOOK_EVERY == 0:
                    self.expect_game()
                waited_cpu_s += time.thread_time() - idle_s
                STOP.check()
                began_s = time.perf_counter()
                try:
                    touch.tap(self._jump())
                    calls_s.append(time.perf_counter() - began_s)
                except HandBusy:
                    withheld += 1
                idle_s = time.thread_time()
                self._pause.wait(TAP_EVERY_S)
                waited_cpu_s += time.thread_time() - idle_s
            cpu_s = time.process_time() - cpu_s - waited_cpu_s
            touch.lift_all()
        finally:
            touch.close()
            if server is not None:
                server.close()
        return {
            "p50_ms": _ms(percentile(calls_s, 0.5)),
            "p95_ms": _ms(percentile(calls_s, 0.95)),
            "calls": len(calls_s),
            "withheld": withheld,
            "cpu_ms": _ms(cpu_s / taps),
        }

    def begin_run(self) -> None:
        """The profile's restart taps, once the last run is over: in a live run they would be jumps, and
        it would end while it is watched."""
        self.expect_game()
        self._wait_for_the_end()
        server, touch = self._hand(self._usual_touch())
        try:
            for tap in self.profile.restart:
                STOP.check()
                touch.tap(self._share(tap.x, tap.y))
                self._pause.wait(tap.wait_s)
        finally:
            touch.close()
            if server is not None:
                server.close()

    def _wait_for_the_end(self) -> None:
        """Until the distance no longer moves, or is not there: nobody steers, so a run is soon over. At
        most `RUN_S`."""
        until_s = time.perf_counter() + RUN_S
        reader = HudReader(self.profile, EyesConfig())
        try:
            before = reader.read(phone_picture(self.phone).bgr).distance
            while time.perf_counter() < until_s:
                self._pause.wait(STILL_S)
                now = reader.read(phone_picture(self.phone).bgr).distance
                if now is None or now == before:
                    return
                before = now
        finally:
            reader.close()

    def expect_game(self) -> None:
        """`GameLeft` unless the game is in front now."""
        front = self._front()
        if front != self._game:
            raise GameLeft(
                f"bench phone: expected {self._game} in front, found {front or 'no window'}; open the game"
            )

    def _game_in_front(self) -> str:
        """What is in front, where that may be the game."""
        front = self._front()
        if not may_be_a_game(front):
            raise GameLeft(
                f"bench phone: expected the game in front, found {front or 'no window'}; open the game, or "
                "name it with --package"
            )
        return front

    def _front(self) -> str:
        return front_of(self.link.shell(DUMP, ASK_S))

    def _usual_touch(self) -> str:
        return "shell" if self.phone.touch == "auto" else self.phone.touch

    def _hand(self, name: str) -> tuple[ScrcpyServer | None, Touch]:
        server = ScrcpyServer(self.link, self.phone, video=False, control=True) if name == "scrcpy" else None
        if server is not None:
            server.start(START_S)
        return server, make_touch(name, self.link, server, with_video=False)

    def _jump(self) -> Point:
        return self._share(*self.profile.jump_tap)

    def _share(self, x: float, y: float) -> Point:
        width, height = self.profile.frame_size
        return x / width, y / height


def phone_tables(result: dict[str, Any]) -> str:
    """Both tables as Markdown."""
    lines = [
        "| capture | age of a new frame, ms p50 / p95 | new frames/s | CPU ms a frame | picture |",
        "|---|---:|---:|---:|---|",
        *(_capture_row(row) for row in result["captures"]),
        "",
        "| touch | call, ms p50 / p95 | CPU ms a call |",
        "|---|---:|---:|",
        *(_touch_row(row) for row in result["touches"]),
    ]
    return "\n".join(lines) + "\n"


def write_phone_page(page: Path, result: dict[str, Any], command: str) -> None:
    """Put the tables between the marks of docs/performance.md; `FileFormatError` where there are none."""
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if pattern.search(text) is None:
        raise FileFormatError(f"{page}: expected the marks {BEGIN} and {END}, found none; put them back")
    machine = result["machine"]
    load = "" if result.get("load_1min_before") is None else f", load {result['load_1min_before']}"
    about = (
        f"`{command}` on {result['phone']}: {machine['cores']} cores ({machine['processor']}), "
        f"Python {machine['python']}{load}.\n\n"
    )
    filled = f"{BEGIN}\n{about}{phone_tables(result)}{END}"
    page.write_text(pattern.sub(lambda _: filled, text, count=1), encoding="utf-8")


def _capture_row(row: Row) -> str:
    if "error" in row:
        return f"| {row['name']} | - | - | - | {_cell(row['error'])} |"
    size = "x".join(map(str, row["size"]))
    ages = f"{_shown(row['p50_ms'])} / {_shown(row['p95_ms'])}"
    return f"| {row['name']} | {ages} | {row['frames_per_s']:.1f} | {_shown(row['cpu_ms'])} | {size} |"


def _touch_row(row: Row) -> str:
    if "error" in row:
        return f"| {row['name']} | {_cell(row['error'])} | - |"
    return f"| {row['name']} | {row['p50_ms']:.2f} / {row['p95_ms']:.2f} | {row['cpu_ms']:.2f} |"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _cell(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")


def _ms(seconds: float) -> float | None:
    """To 0.01 ms; None of no values."""
    return None if seconds != seconds else round(1000 * seconds, 2)


def rows_of(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """For the terminal's table, under `COLUMNS`."""
    rows: list[tuple[str, ...]] = []
    for kind, rate in (("captures", "frames_per_s"), ("touches", "")):
        for row in result[kind]:
            name = f"{'look' if kind == 'captures' else 'touch'}: {row['name']}"
            if "error" in row:
                rows.append((name, "-", "-", "-", row["error"]))
                continue
            values = (
                f"{row[key]:.2f}" if row[key] is not None else "-" for key in ("p50_ms", "p95_ms", "cpu_ms")
            )
            rows.append((name, *values, f"{row[rate]:.1f} frames/s" if rate else ""))
    return rows
