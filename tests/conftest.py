"""What every test stands on: quiet libraries, one thread each, and a display that is real."""

from __future__ import annotations

import os

# Before anything imports these libraries: they read the variables once.
os.environ["YOLO_OFFLINE"] = "true"
os.environ["YOLO_AUTOINSTALL"] = "false"
os.environ["OMP_THREAD_LIMIT"] = "1"  # Tesseract is many times slower with more (tesseract #3109)
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cv2
import pytest
import torch

torch.set_num_threads(1)
cv2.setNumThreads(1)

XVFB_WAIT_S = 20.0


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The folder that holds the project."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """A display to open windows on: the one there is, or an Xvfb of our own. Its name, as in `:99`."""
    if sys.platform != "linux" or os.environ.get("DISPLAY"):
        yield os.environ.get("DISPLAY", "")
        return
    program = shutil.which("Xvfb")
    if program is None:
        pytest.fail(
            "no display for the windows: expected DISPLAY or Xvfb, found neither; "
            "install it with: sudo apt-get install xvfb",
            pytrace=False,
        )
    reader, writer = os.pipe()
    server = subprocess.Popen(
        [program, "-displayfd", str(writer), "-screen", "0", "1920x1080x24", "-nolisten", "tcp"],
        pass_fds=(writer,),
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    try:
        name = _name_of_display(reader)
        os.environ["DISPLAY"] = name
        yield name
    finally:
        os.environ.pop("DISPLAY", None)
        server.terminate()
        try:
            server.wait(timeout=5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(timeout=5)


def _name_of_display(reader: int) -> str:
    """What Xvfb writes once it takes clients; fails when it ends or stays silent."""
    with os.fdopen(reader) as stream:
        ready, _, _ = select.select([stream], [], [], XVFB_WAIT_S)
        number = stream.readline().strip() if ready else ""
    if not number:
        pytest.fail(f"Xvfb did not start: expected a display within {XVFB_WAIT_S:.0f} s", pytrace=False)
    return f":{number}"
