"""What `doctor` checks of a phone by asking and looking; nothing on its screen is touched here.

Main thread; every question has a time limit of its own. One check stands for one remedy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from config import Config, GameProfile, PhoneConfig
from greatwall.commands.calibration import ground_colors_seen
from greatwall.commands.checkup import Check, State, attempt, judged
from greatwall.commands.phone_picture import picture_by
from greatwall.contracts import Frame, FrameArray
from greatwall.device.phone.captures import CAPTURES
from greatwall.device.phone.display import parse_display_size
from greatwall.device.phone.foreground import DUMP, front_of, may_be_a_game
from greatwall.device.phone.link import AdbLink, AdbServer, adb_program
from greatwall.device.phone.probe import CaptureProbe, TouchProbe, probe_capture, probe_touch
from greatwall.device.phone.touches import TOUCHES
from greatwall.errors import DeviceError
from greatwall.eyes.hud import HudReader
from greatwall.eyes.terrain import TerrainScanner

PROTOCOL = 41  # of adb's server, since 2018
ASK_S = 5.0
CAPTURE_S = 1.0  # each capture is watched for
ANDROID_LEAST = 7  # its shell says how commands ended, and scrcpy's server runs well
RATE_LEAST = 20.0  # frames/s; the Worker wants 30
AGE_MOST_MS = 70.0
CALL_MOST_MS = 2.0
GROUND_LEAST = 0.5  # of the scanned row on a picture of a live game
BATTERY_LEAST, HOT_C = 20, 40.0


def phone_checks(config: Config) -> Iterator[Check]:
    """One after the other; ends early when there is no phone to ask."""
    phone = config.phone
    yield attempt("adb", lambda: _adb(phone))
    found: list[AdbLink] = []
    check = attempt("phone", lambda: _phone(phone, found))
    yield check
    if not found:
        return
    link = found[0]
    yield attempt("screen", lambda: _screen(link))
    yield attempt("stay awake", lambda: _stays_awake(link))
    yield attempt("battery", lambda: _battery(link))
    yield attempt("game in front", lambda: _front(link, phone))
    captures = [probe_capture(name, link, phone, CAPTURE_S) for name in _asked(phone.capture, CAPTURES)]
    yield _captures(captures)
    touches = [probe_touch(name, link, phone) for name in _asked(phone.touch, TOUCHES)]
    yield _touches(touches)
    best = next((one for one in _best_first(captures) if one.works), None)
    if best is None:
        yield Check("HUD", State.SKIPPED, "no capture works")
        yield Check("ground", State.SKIPPED, "no capture works")
        return
    frames: list[Frame] = []
    yield attempt("picture", lambda: _picture(link, phone, best.name, frames))
    if frames:
        bgr = frames[0].bgr
        yield attempt("HUD", lambda: hud_check(bgr, config))
        yield attempt("ground", lambda: ground_check(bgr, config.profile))


def _asked(asked: str, known: tuple[str, ...]) -> tuple[str, ...]:
    return known if asked == "auto" else (asked,)


# --- the way to it ------------------------------------------------------------------------------------


def _adb(phone: PhoneConfig) -> Check:
    server = AdbServer(phone.adb_port)
    server.start()
    version = server.version()
    found = f"{adb_program()}, protocol {version}, port {server.port}"
    old = version < PROTOCOL
    return judged(
        "adb", found, bad="old" if old else "", remedy="install a newer adb (platform-tools)", adb=version
    )


def _phone(phone: PhoneConfig, found: list[AdbLink]) -> Check:
    link = AdbLink.choose(phone.serial, phone.adb_port)
    names = ("ro.product.manufacturer", "ro.product.model", "ro.build.version.release")
    maker, model, release = (link.shell(["getprop", name], ASK_S).strip()[:40] for name in names)
    name = f"{maker} {model}".strip() or link.model or link.serial
    text = f"{name}, Android {release or '?'}, serial {link.serial}"
    found.append(link)
    major = re.match(r"\d+", release)
    old = major is not None and int(major[0]) < ANDROID_LEAST
    return judged(
        "phone", text, bad=f"older than Android {ANDROID_LEAST}" if old else "",
        remedy="use --touch shell --capture screenrecord if the others fail",
        phone=f"{name}, Android {release}", serial=link.serial,
    )  # fmt: skip


def _screen(link: AdbLink) -> Check:
    """Size as built, and how it lies now: the game is played sideways."""
    width, height = parse_display_size(link.shell(["wm", "size"], ASK_S))
    dump = link.shell(["dumpsys", "window", "displays"], ASK_S)
    current = re.search(r"\bcur=(\d+)x(\d+)", dump)
    now = (int(current[1]), int(current[2])) if current else None
    text = f"{max(width, height)}x{min(width, height)}"
    upright = now is not None and now[0] < now[1]
    asleep = "mAwake=false" in dump or "mWakefulness=Asleep" in dump
    bad = "it is off" if asleep else "it is held upright" if upright else ""
    remedy = "unlock it" if asleep else "open the game, which turns it sideways"
    return judged("screen", text, bad=bad, remedy=remedy, size=[max(width, height), min(width, height)])


def _stays_awake(link: AdbLink) -> Check:
    """Whether the screen stays on while plugged in, and notifications stay away."""
    awake = _setting(link, "global", "stay_on_while_plugged_in")
    silent = _setting(link, "global", "zen_mode")
    wrong, todo = [], []
    if awake in ("0", ""):
        wrong.append("the screen may go off")
        todo.append("adb shell svc power stayon usb (or Developer options: Stay awake)")
    if silent in ("0", ""):
        wrong.append("notifications may cover the game")
        todo.append("turn on Do Not Disturb")
    found = "the screen stays on while plugged in, notifications are off"
    return judged(
        "stay awake", "" if wrong else found, bad=", ".join(wrong), remedy="; ".join(todo),
        stay_on=awake, zen_mode=silent,
    )  # fmt: skip


def _setting(link: AdbLink, table: str, name: str) -> str:
    """A value of Android's settings; "" for one that is not set."""
    value = link.shell(["settings", "get", table, name], ASK_S).strip()
    return "" if value == "null" or len(value) > 40 else value


def _battery(link: AdbLink) -> Check:
    """Charge and heat: a hot phone slows down, and its touches with it."""
    dump = link.shell(["dumpsys", "battery"], ASK_S)
    values = dict(re.findall(r"^\s*(level|temperature): (-?\d{1,6})$", dump, re.MULTILINE))
    if "level" not in values:
        raise DeviceError(
            f"dumpsys battery: expected its level, found {' '.join(dump.split())[:60]!r}; look at the phone"
        )
    level, heat_c = int(values["level"]), int(values.get("temperature", 0)) / 10
    fed = re.search(r"powered: true", dump) is not None
    bad, todo = [], []
    if level < BATTERY_LEAST:
        bad.append("low")
        todo.append("charge it first")
    if not fed:
        bad.append("not charging")
        todo.append("use a port that feeds it")
    if heat_c >= HOT_C:
        bad.append("hot")
        todo.append("take it out of its case, cool it, dim the screen")
    text = f"{level} %, {heat_c:.1f} C, {'charging' if fed else 'on battery'}"
    return judged("battery", text, bad=", ".join(bad), remedy="; ".join(todo), level=level, heat_c=heat_c)


def _front(link: AdbLink, phone: PhoneConfig) -> Check:
    """What a touch would reach now."""
    name = "game in front"
    front = front_of(link.shell(DUMP, ASK_S))
    if phone.package and front != phone.package:
        return Check(
            name, State.FAIL, f"expected {phone.package}, found {front or 'no window'}",
            "open the game, or correct --package", {"front": front},
        )  # fmt: skip
    if phone.package:
        return Check(name, State.OK, front, "", {"front": front})
    if not may_be_a_game(front):
        return Check(
            name, State.FAIL, f"{front or 'no window'} is in front", "open the game", {"front": front}
        )
    return judged(name, front, bad="taken for the game", remedy=f"name it: --package {front}", front=front)


# --- looking and touching -----------------------------------------------------------------------------


def _best_first(probes: list[CaptureProbe]) -> list[CaptureProbe]:
    return sorted(probes, key=lambda one: (not one.works, one.age_p50_ms))


def _captures(probes: list[CaptureProbe]) -> Check:
    """Every way of looking, a line each. Ages count from when the picture could be had from the phone."""
    lines = [
        f"{one.name}: {one.frames_per_s:.0f} frames/s of {one.size[0]}x{one.size[1]}, "
        f"age {one.age_p50_ms:.0f} ms (p95 {one.age_p95_ms:.0f}), first after {one.start_s:.1f} s"
        if one.works
        else f"{one.name}: {one.error}"
        for one in probes
    ]
    best = _best_first(probes)[0]
    figures: dict[str, Any] = {
        "captures": [one.__dict__ for one in probes],
        "capture": best.name if best.works else "",
        "capture_fps": round(best.frames_per_s, 1),
    }
    text = "\n".join(lines)
    if not best.works:
        return Check(
            "capture", State.FAIL, text, "see the first line; another cable, another USB port", figures
        )
    slow = best.frames_per_s < RATE_LEAST
    aged = best.age_p50_ms > AGE_MOST_MS
    remedy = ""
    if slow or aged:
        remedy = (
            f"{best.name} is the best here: "
            + ("few frames come (a screen that stands still sends few; start a run). " if slow else "")
            + ("frames are old: use USB instead of Wi-Fi, a smaller picture, fewer programs" if aged else "")
        ).strip()
    return Check("capture", State.WARN if slow or aged else State.OK, text, remedy, figures)


def _touches(probes: list[TouchProbe]) -> Check:
    """Every way of touching, a line each; tried with the key that means nothing."""
    lines = []
    for one in probes:
        done = f", done on the phone after {one.done_p50_ms:.0f} ms" if one.done_p50_ms else ""
        lines.append(
            f"{one.name}: call {one.call_p50_ms:.2f} ms (p95 {one.call_p95_ms:.2f}){done}"
            if one.works
            else f"{one.name}: {one.error}"
        )
    best = next((one for one in probes if one.works), None)
    figures: dict[str, Any] = {
        "touches": [one.__dict__ for one in probes],
        "touch": best.name if best else "",
    }
    text = "\n".join(lines)
    if best is None:
        return Check(
            "touch", State.FAIL, text, "Xiaomi and others: allow USB debugging (Security settings)", figures
        )
    slow = best.call_p95_ms > CALL_MOST_MS
    remedy = f"{best.name} is the best here, but its calls are slow: close other programs" if slow else ""
    return Check("touch", State.WARN if slow else State.OK, text, remedy, figures)


def _picture(link: AdbLink, phone: PhoneConfig, name: str, frames: list[Frame]) -> Check:
    """One frame, kept in `frames`, and whether it lies as the game does."""
    frame = picture_by(link, phone, name)
    frames.append(frame)
    width, height = frame.size
    upright = width < height
    return judged(
        "picture", f"{width}x{height} by {name}", bad="upright" if upright else "",
        remedy="open the game, which turns it sideways",
    )  # fmt: skip


# --- what the eyes make of it -------------------------------------------------------------------------


def hud_check(bgr: FrameArray, config: Config) -> Check:
    """Whether the profile's HUD boxes hold digits that are read."""
    reader = HudReader(config.profile, config.eyes)
    try:
        read = reader.read(bgr)
    finally:
        reader.close()
    names = [name for name, _ in config.profile.hud]
    values = {name: getattr(read, name) for name in names}
    missing = [name for name, value in values.items() if value is None]
    text = ", ".join(f"{name} {'not read' if value is None else value}" for name, value in values.items())
    remedy = "start a run on the phone; then set the boxes: python -m greatwall calibrate --device phone"
    if len(missing) == len(names):
        return Check("HUD", State.FAIL, f"no field can be read ({', '.join(names)})", remedy, {"hud": values})
    bad = f"{', '.join(missing)} cannot be read" if missing else ""
    return judged("HUD", text, bad=bad, remedy=remedy, hud=values)


def ground_check(bgr: FrameArray, profile: GameProfile) -> Check:
    """Whether the profile's ground colours are on the scanned row; what is there, where they are not."""
    scanner = TerrainScanner(profile)
    height = bgr.shape[0]
    share = float(scanner.is_ground(bgr[scanner.rows_of(height)]).mean())
    seen = ground_colors_seen(bgr, profile)
    text = f"{share:.0%} of row {scanner.row_of(height)} has the profile's ground colours"
    named = ", ".join(str(color) for color in seen)
    wrong = share < GROUND_LEAST
    bad = f"the commonest there (B, G, R) are {named or 'none'}, the profile has {_colors(profile)}"
    return judged(
        "ground", text, bad=bad if wrong else "",
        remedy="start a run; then click the ground: python -m greatwall calibrate --device phone",
        ground_share=round(share, 3), ground_colors=[list(color) for color in seen],
    )  # fmt: skip


def _colors(profile: GameProfile) -> str:
    return ", ".join(str(color) for color in profile.ground_colors)
