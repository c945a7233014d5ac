"""The window of `calibrate`: click points, draw boxes, see at once what the eyes make of it.

Main thread only, because OpenCV's windows belong there. What a mark does is in `Marks`, which knows
no window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import cv2
import numpy as np

from config import GameProfile
from greatwall.commands.calibration import Calibration, Reading
from greatwall.contracts import HUD_FIELDS, FrameArray
from greatwall.errors import ConfigError
from greatwall.worker.lettering import BOLD, label, width_px, write

WINDOW = "calibrate"
LARGEST = (1280, 720)  # px of the picture on the screen
BAR_PX = 96  # of words under it
BACK, WORDS, GOOD, BAD = (32, 30, 28), (235, 235, 235), (120, 220, 110), (90, 110, 250)
DRAWN = (255, 255, 255)
LEAST_DRAG_PX = 3
WAIT_MS = 30
ENTER, ESCAPE = (10, 13), 27


class Step(NamedTuple):
    """One thing to mark: its key, what it is called, and how it is marked."""

    key: str
    name: str
    chinese: str
    english: str
    boxed: bool  # drawn as a box, or clicked as a point


STEPS = (
    Step("1", "row", "点击扫描行（地面上的一行）", "click the row to scan for ground", False),
    Step("2", "ground", "点击地面颜色，可点几处", "click ground colours, several if need be", False),
    Step("3", "lives", "框住生命数字", "draw a box round the lives", True),
    Step("4", "arrows", "框住箭数", "draw a box round the arrows", True),
    Step("5", "coins", "框住金币数", "draw a box round the coins", True),
    Step("6", "distance", "框住距离", "draw a box round the distance", True),
    Step("7", "rider", "框住站在地上的骑手", "draw a box round the rider, standing", True),
    Step("8", "band", "框住物体出现的上下范围", "draw from the highest to the lowest row of things", True),
    Step("9", "jump", "点击跳跃的位置", "click where a jump is tapped", False),
    Step("0", "restart1", "点击死亡后的第一处", "click the first tap after a death", False),
    Step("-", "restart2", "点击“再玩一次”", "click play again", False),
)
KEYS = label(
    "n 下一步  u 撤销  d 无此项  r 新画面  s 保存  q 放弃",
    "n next  u undo  d none  r new frame  s save  q leave",
)


class Marks:
    """What fingers and keys do to a calibration, one step after the other; `said` is the last word.

    `dirty` asks for a new reading. Points and boxes are px of the picture.
    """

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration
        self.step = STEPS[0]
        self.said, self.fine = calibration.warning, not calibration.warning
        self.dirty = True
        self._before: list[GameProfile] = []

    def point(self, x: float, y: float) -> None:
        """A click."""
        calibration, name = self.calibration, self.step.name
        if self.step.boxed:
            self._say("hold the button and draw a box", fine=False)
        elif name == "ground":
            self._mark(lambda: calibration.mark_ground(x, y), f"({x:.0f}, {y:.0f}) is ground")
        elif name == "row":
            self._mark(lambda: calibration.set_row(y), f"row {y:.0f}")
        else:
            self._mark(lambda: calibration.set_button(name, x, y), f"{name} ({x:.0f}, {y:.0f})")

    def box(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """A box drawn from one corner to the other."""
        calibration, name = self.calibration, self.step.name
        (left, right), (top, bottom) = sorted((x1, x2)), sorted((y1, y2))
        box = round(left), round(top), round(right - left), round(bottom - top)
        if not self.step.boxed:
            self.point(x2, y2)
        elif name == "rider":
            self._mark(lambda: calibration.set_rider(box), f"rider {box}")
        elif name == "band":
            self._mark(lambda: calibration.set_band(top, bottom), f"rows {top:.0f} to {bottom:.0f}")
        else:
            self._mark(lambda: calibration.set_hud(name, box), f"{name} {box}")

    def press(self, key: str) -> None:
        """A key that is not for the window itself."""
        keys = {step.key: step for step in STEPS}
        if key in keys:
            self._go(keys[key])
        elif key in ("n", " "):
            self._go(STEPS[(STEPS.index(self.step) + 1) % len(STEPS)])
        elif key == "u" and self._before:
            self.calibration.profile = self._before.pop()
            self.dirty = True
            self._say("undone")
        elif key == "d" and self.step.name in HUD_FIELDS:
            name = self.step.name
            self._mark(lambda: self.calibration.drop_hud(name), f"no {name} in this game")

    def new_picture(self, picture: FrameArray) -> None:
        """Go on with the same facts on another picture."""
        profile = self.calibration.profile
        self.calibration = Calibration(picture, profile)
        self.dirty = True
        self._say("a new picture")

    def _go(self, step: Step) -> None:
        self.step = step
        if step.name == "ground":
            self.calibration.clear_ground()
        self._say("")

    def _mark(self, change: Callable[[], object], said: str) -> None:
        before = self.calibration.profile
        try:
            change()
        except ConfigError as error:
            self._say(str(error), fine=False)
            return
        self._before.append(before)
        self.dirty = True
        self._say(said)

    def _say(self, said: str, *, fine: bool = True) -> None:
        self.said, self.fine = said, fine


class Finger:
    """The mouse of the window: a press and a release in one place is a point, else a box."""

    def __init__(self, marks: Marks, scale: float) -> None:
        self._marks = marks
        self._scale = scale  # px of the window a px of the picture
        self._down: tuple[int, int] | None = None
        self.drawn: tuple[int, int, int, int] | None = None  # the box under the finger, px of the window

    def __call__(self, event: int, x: int, y: int, flags: int, param: object) -> None:
        if event == cv2.EVENT_LBUTTONDOWN:
            self._down = x, y
        elif event == cv2.EVENT_MOUSEMOVE and self._down is not None:
            self.drawn = (*self._down, x, y)
        elif event == cv2.EVENT_LBUTTONUP and self._down is not None:
            x1, y1 = self._down
            self._down = self.drawn = None
            if max(abs(x - x1), abs(y - y1)) < LEAST_DRAG_PX:
                self._marks.point(x / self._scale, y / self._scale)
            else:
                self._marks.box(*(one / self._scale for one in (x1, y1, x, y)))


def scale_for(picture: FrameArray) -> float:
    """How much smaller the picture is shown, so that it fits on a screen; at most 1."""
    height, width = picture.shape[:2]
    return float(min(1.0, LARGEST[0] / width, LARGEST[1] / height))


def draw_window(marks: Marks, reading: Reading, drawn: tuple[int, int, int, int] | None = None) -> FrameArray:
    """The picture with its marks, and under it what is to be done, what was said, what was read."""
    calibration = marks.calibration
    picture = calibration.draw(reading)
    scale = scale_for(picture)
    if scale < 1:
        smaller = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        picture = np.asarray(smaller, np.uint8)
    if drawn is not None:
        cv2.rectangle(picture, drawn[:2], drawn[2:], DRAWN, 2)
    height, width = picture.shape[:2]
    shown = np.full((height + BAR_PX, width, 3), BACK, np.uint8)
    shown[:height] = picture
    step = marks.step
    number = f"{step.key}  {label(step.chinese, step.english)}"
    end = write(shown, number, (10, height + 24), 18, WORDS, BOLD)
    write(shown, marks.said, (end + 24, height + 24), 16, GOOD if marks.fine else BAD)
    write(shown, "   ".join(reading.lines(calibration.profile)), (10, height + 54), 16, WORDS)
    write(shown, KEYS, (max(10, width - width_px(KEYS, 16) - 10), height + 84), 16, WORDS)
    return shown


def mark_in_window(
    calibration: Calibration, grab: Callable[[], FrameArray] | None = None
) -> Calibration | None:
    """Let a person mark; the calibration when saved, None when left. `grab` gives another picture."""
    marks = Marks(calibration)
    finger = Finger(marks, scale_for(calibration.picture))
    reading = calibration.read()
    cv2.namedWindow(WINDOW, cv2.WINDOW_AUTOSIZE | cv2.WINDOW_GUI_NORMAL)
    cv2.setMouseCallback(WINDOW, finger)
    try:
        while True:
            if marks.dirty:
                reading = marks.calibration.read()
                marks.dirty = False
            cv2.imshow(WINDOW, draw_window(marks, reading, finger.drawn))
            key = cv2.waitKey(WAIT_MS)
            if cv2.getWindowProperty(WINDOW, cv2.WND_PROP_VISIBLE) < 1:
                return None
            if key < 0:
                continue
            key &= 0xFF
            if key in (ord("q"), ESCAPE):
                return None
            if key == ord("s") or key in ENTER:
                return marks.calibration
            if key == ord("r") and grab is not None:
                marks.new_picture(grab())
            else:
                marks.press(chr(key))
    finally:
        cv2.destroyAllWindows()
