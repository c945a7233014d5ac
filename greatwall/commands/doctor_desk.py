"""What `doctor` checks of this machine, phone or none. Main thread; each check is bounded in time."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from config import GREAT_WALL, Config, EyesConfig, GameProfile
from greatwall.commands.checkup import Check, State, attempt, judged
from greatwall.contracts import FrameArray, Scene
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import ConfigError
from greatwall.eyes.detector import Detector
from greatwall.eyes.hud import HudReader, find_tessdata
from greatwall.metrics.timing import percentile
from greatwall.worker.display import missing_display

ROOT = Path(__file__).resolve().parents[2]
PYTHON = (3, 11)
SHOWN_SEED, SHOWN_TICKS = 3, 60
LOOKS = 12  # at one frame, for the detector's speed
FRAME_MS = 1000 / 30
FREE_BYTES_FAIL, FREE_BYTES_WARN = 200_000_000, 2_000_000_000
BUSY_SHARE = 1.0  # programs that want a core, for each core there is
RIDER_PX = 40.0  # how far the box of a detector that works may be off


def desk_checks(profile: GameProfile, eyes: EyesConfig, folders: tuple[Path, ...]) -> Iterator[Check]:
    """One after the other, as they are made."""
    yield python_check()
    yield packages_check(ROOT / "requirements.txt")
    yield attempt("Tesseract", lambda: tesseract_check(eyes))
    yield attempt("detector", lambda: detector_check(profile, eyes))
    yield display_check()
    yield processor_check()
    for folder in folders:
        yield folder_check(folder)
    yield disk_check(folders[0] if folders else Path())


def python_check() -> Check:
    """The interpreter, against what pyproject.toml asks for."""
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info[:2] < PYTHON:
        wanted = ".".join(map(str, PYTHON))
        return Check("Python", State.FAIL, found, f"make a .venv with Python {wanted} or newer")
    return Check("Python", State.OK, found)


def packages_check(requirements: Path) -> Check:
    """Every line of requirements.txt that holds on this system, against what is installed."""
    try:
        lines = requirements.read_text(encoding="utf-8").splitlines()
    except OSError:
        return Check("packages", State.WARN, f"no {requirements}", "run it from a copy of the project")
    missing, other, versions = [], [], {}
    for line in lines:
        text = line.partition("#")[0].strip()
        if not text or text.startswith("-"):
            continue
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            other.append(f"{text!r} cannot be read")
            continue
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        try:
            found = versions[wanted.name] = version(wanted.name)
        except PackageNotFoundError:
            missing.append(wanted.name)
            continue
        if not wanted.specifier.contains(found, prereleases=True):
            other.append(f"{wanted.name} {found} instead of {wanted.specifier}")
    figures = {"versions": versions}
    remedy = "pip install -r requirements.txt"
    if missing:
        return Check("packages", State.FAIL, f"not installed: {', '.join(missing)}", remedy, figures)
    if other:
        return Check("packages", State.WARN, "; ".join(other), remedy, figures)
    return Check("packages", State.OK, f"{len(versions)} as requirements.txt wants them", "", figures)


def tesseract_check(eyes: EyesConfig) -> Check:
    """The engine reads the digits of a frame that the embedded game draws, and how long it takes."""
    frame, scene = _game_frame()
    reader = HudReader(GREAT_WALL, eyes)
    try:
        reader.read(frame)
        began_s = time.perf_counter()
        read = reader.read(frame)
        took_ms = 1000 * (time.perf_counter() - began_s)
    finally:
        reader.close()
    shown = scene.hud
    data = find_tessdata() or "its own folder"
    found = f"{reader.engine.name}, data in {data}, 4 fields in {took_ms:.0f} ms"
    figures = {"engine": reader.engine.name, "read_ms": round(took_ms, 1)}
    if read != shown:
        return Check(
            "Tesseract", State.FAIL, f"{found}: read {tuple(read)} where {tuple(shown or ())} stand",
            "install the eng data of Tesseract 5 (tessdata_fast or tessdata)", figures,
        )  # fmt: skip
    slow = took_ms > 1000 * Config().worker.hud_period_s
    return judged(
        "Tesseract", found, bad="slower than the HUD is to be read" if slow else "",
        remedy="pip install tesserocr", **figures,
    )  # fmt: skip


def detector_check(profile: GameProfile, eyes: EyesConfig) -> Check:
    """The detector finds the rider of a drawn frame, and its speed against 30 frames a second."""
    frame, scene = _game_frame()
    detector = Detector(profile, eyes)
    times_ms: list[float] = []
    objects = detector.detect(frame)
    for _ in range(LOOKS):
        began_s = time.perf_counter()
        objects = detector.detect(frame)
        times_ms.append(1000 * (time.perf_counter() - began_s))
    runtime, p50 = detector.network.name, percentile(times_ms, 0.5)
    found = f"{runtime}, {p50:.1f} ms a frame of 1920x1080 (best {min(times_ms):.1f})"
    figures = {"runtime": runtime, "ms_p50": round(p50, 2), "ms_best": round(min(times_ms), 2)}
    truth = next(one for one in scene.objects if one.category == "horse")
    near = [one for one in objects if one.category == "horse" and abs(one.x - truth.x) < RIDER_PX]
    if not near and not eyes.weights:
        return Check(
            "detector", State.FAIL, f"{found}: the rider of the embedded game is not found",
            "fetch models/detector.onnx again, or train it: python -m greatwall detector train", figures,
        )  # fmt: skip
    slow = min(times_ms) > FRAME_MS
    return judged(
        "detector", found, bad="too slow for 30 frames/s" if slow else "",
        remedy=f"{'' if runtime == 'openvino' else 'pip install openvino, '}close other programs, or use a "
        "faster machine", **figures,
    )  # fmt: skip


def display_check() -> Check:
    """Whether windows can be opened; nobody needs them to train."""
    missing = missing_display()
    found = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or platform.system()
    if not missing:
        return Check("display", State.OK, f"{found}: windows can be opened")
    remedy = "train and evaluate need none; for windows run it on a desktop, or under xvfb-run"
    return Check("display", State.WARN, missing, remedy)


def processor_check() -> Check:
    """Cores, and what else wants them now."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = f"{cores} cores"
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    if load is not None:
        found += f", load {load:.1f}"
    if cores < 2:
        return judged(
            "processor", found, bad="capture, eyes and OCR want two", remedy="free or rent another core"
        )
    busy = load is not None and load > BUSY_SHARE * cores + 0.5
    bad = "other programs want them too, so the figures below are slower than they need be" if busy else ""
    return judged("processor", found, bad=bad, remedy="close other programs and look again", load=load)


def folder_check(folder: Path) -> Check:
    """Whether a file can be written there, or the folder be made."""
    name = f"{folder.name}/"
    home = folder if folder.is_dir() else folder.absolute().parent
    try:
        with tempfile.NamedTemporaryFile(dir=home, prefix=".doctor-"):
            pass
    except OSError as error:
        remedy = f"give yourself the right to write there, or name another with --{folder.name}"
        return Check(name, State.FAIL, f"{home}: {error.strerror}", remedy)
    made = "can be written" if folder.is_dir() else "will be made when it is needed"
    return Check(name, State.OK, f"{folder} {made}")


def disk_check(folder: Path) -> Check:
    """Room for policies, logs and recordings."""
    home = folder if folder.is_dir() else folder.absolute().parent
    try:
        free = shutil.disk_usage(home).free
    except OSError as error:
        raise ConfigError(f"disk: expected a folder at {home}, found {error.strerror}; make it") from error
    found = f"{free / 1e9:.1f} GB free"
    remedy = "delete old runs (models/old-*, logs/) or name a folder on another disk"
    if free < FREE_BYTES_FAIL:
        return Check("disk", State.FAIL, found, remedy, {"free_bytes": free})
    little = free < FREE_BYTES_WARN
    return judged("disk", found, bad="little" if little else "", remedy=remedy, free_bytes=free)


def _game_frame() -> tuple[FrameArray, Scene]:
    """A moment of the embedded game, the same always, with its truth."""
    device = SimulatedDevice(Config())
    device.hold()
    device.new_game(SHOWN_SEED)
    device.advance(SHOWN_TICKS)
    frame = device.frame()
    scene = frame.scene
    assert scene is not None
    return frame.bgr, scene
