"""Shows the three windows. Belongs to the main thread of the process: OpenCV windows live there
(opencv #8407). Draws the newest perception whenever asked, never faster than `FPS`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from config import GameProfile
from greatwall.contracts import Clock, Frame, FrameArray, Hud, Perception
from greatwall.errors import ConfigError
from greatwall.metrics.timing import WorkerTiming
from greatwall.worker.board import Board
from greatwall.worker.panel import PANEL_SIZE, draw_panel
from greatwall.worker.windows import BACK, GROUND_SIZE, SIGHT_SIZE, GroundScans, draw_sight

FPS = 10.0  # the windows are for people; two cores also carry detector and OCR
GAP = 4
SCREEN = (1920, 1080)
PLACES = {  # window -> x, y on the screen
    "sight": (4, 2),
    "ground": (4, 2 + SIGHT_SIZE[1] + GAP),
    "panel": (4 + SIGHT_SIZE[0] + GAP, 2),
}
SIZES = {"sight": SIGHT_SIZE, "ground": GROUND_SIZE, "panel": PANEL_SIZE}
TITLES = {"sight": "1 sight", "ground": "2 ground", "panel": "3 panel"}
PROBE_S = 20.0
SETTLE_MS = 60
PAINT_MS = 12


class Shown(NamedTuple):
    """What one drawing of the windows is made from."""

    frame: Frame
    perception: Perception
    hud: Hud
    board: Board
    timing: WorkerTiming | None


def missing_display() -> str:
    """Why no window can be opened, or "" if one can. OpenCV ends the whole process when it cannot
    reach the display, so another process tries first."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "DISPLAY is not set"
    probe = "import cv2; cv2.namedWindow('probe'); cv2.destroyAllWindows()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", probe], capture_output=True, timeout=PROBE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"opening a window took longer than {PROBE_S:g} s"
    if done.returncode != 0:
        return "OpenCV cannot open a window on this display"
    return ""


class Windows:
    """Draws, shows and saves the three pictures. Without a display it only draws, when asked to save."""

    def __init__(
        self,
        profile: GameProfile,
        clock: Clock,
        *,
        visible: bool,
        hands_off: Callable[[], None] = lambda: None,
    ) -> None:
        self._profile = profile
        self._clock = clock
        self.visible = visible
        self._hands_off = hands_off
        self._scans = GroundScans()
        self._opened = False
        self.pictures: dict[str, FrameArray] = {}

    def draw(self, shown: Shown) -> None:
        """All three pictures of one perception."""
        now_s = self._clock.now_s()
        timing = {} if shown.timing is None else shown.timing.summary(now_s)
        self.pictures = {
            "sight": draw_sight(shown.frame, shown.perception, self._profile),
            "ground": self._scans.draw(shown.frame, shown.perception, self._profile),
            "panel": draw_panel(shown.perception, shown.hud, shown.board, timing, now_s),
        }

    def show(self, for_s: float) -> bool:
        """Put the pictures on the screen and let the toolkit paint and listen for that long; False when
        the person pressed q or Escape; the space bar is hands off. Each window gets `PAINT_MS` at least:
        less may leave it unpainted."""
        if not self._opened:
            self._open()
        share_ms = max(PAINT_MS, round(for_s * 1000 / len(self.pictures)))
        goes_on = True
        for name, picture in self.pictures.items():
            cv2.imshow(TITLES[name], picture)
            key = cv2.waitKey(share_ms) & 0xFF
            if key == ord(" "):
                self._hands_off()
            goes_on = goes_on and key not in (ord("q"), 27)
        return goes_on

    def _open(self) -> None:
        """One after the other, letting the toolkit settle between: without a window manager the place
        or the size given to a window that is not on the screen yet is lost."""
        self._opened = True
        for name, picture in self.pictures.items():
            cv2.namedWindow(TITLES[name], cv2.WINDOW_NORMAL | cv2.WINDOW_GUI_NORMAL | cv2.WINDOW_KEEPRATIO)
            cv2.imshow(TITLES[name], picture)
            cv2.waitKey(SETTLE_MS)
            cv2.resizeWindow(TITLES[name], *SIZES[name])
            cv2.waitKey(SETTLE_MS)
            cv2.moveWindow(TITLES[name], *PLACES[name])
            cv2.waitKey(SETTLE_MS)

    def save(self, folder: Path) -> list[Path]:
        """The three pictures and all of them as they lie on the screen, as PNG."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"screenshots: expected a folder that can be written, found {folder} ({error.strerror}); "
                "name another"
            ) from error
        screen = np.full((SCREEN[1], SCREEN[0], 3), BACK, np.uint8)
        saved = []
        for name, picture in self.pictures.items():
            x, y = PLACES[name]
            height, width = picture.shape[:2]
            screen[y : y + height, x : x + width] = picture[: SCREEN[1] - y, : SCREEN[0] - x]
            saved.append(_write(folder / f"{name}.png", picture))
        if saved:
            saved.append(_write(folder / "windows.png", screen))
        return saved

    def close(self) -> None:
        if self._opened:
            cv2.destroyAllWindows()
            self._opened = False


def _write(path: Path, picture: FrameArray) -> Path:
    done, data = cv2.imencode(".png", picture)
    assert done
    path.write_bytes(data.tobytes())
    return path
