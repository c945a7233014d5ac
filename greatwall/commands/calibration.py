"""A game's profile adjusted on a picture of it: each mark changes one fact, in px of the picture.

Pure but for the HUD reader; any thread, one at a time.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import cv2
import numpy as np

from config import EyesConfig, GameProfile, HudField, RestartTap
from greatwall.commands.profile import draw_profile
from greatwall.commands.profile_checks import SMALLEST_BOX, check_profile
from greatwall.contracts import HUD_FIELDS, FrameArray, HudRead
from greatwall.errors import ConfigError
from greatwall.eyes.hud import HudReader
from greatwall.eyes.terrain import TerrainScanner

Box = tuple[int, int, int, int]  # x, y, w, h
Color = tuple[int, int, int]  # BGR
PATCH_PX = 4  # a colour is the median of a square of twice this and one
COLORS_MOST = 6
USUAL_WAIT_S = 2.0  # after a new restart button
ASPECT_SLACK = 0.02
USUAL_FIELDS = {  # for a field that the profile at hand does not have
    "lives": HudField((0, 0, 0, 0), 0, 10, 0.0, True),
    "arrows": HudField((0, 0, 0, 0), 0, 99, 10.0, True),
    "coins": HudField((0, 0, 0, 0), 0, 9_999, 13.0, False),
    "distance": HudField((0, 0, 0, 0), 0, 99_999, 60.0, False),
}
GROUND_SEEN, GROUND_MISSING = (90, 220, 90), (60, 60, 240)
TEXT_BACK, TEXT = (20, 20, 20), (255, 255, 255)


@dataclass(frozen=True)
class Reading:
    """What the eyes make of the picture with a profile: HUD values, and where ground is."""

    hud: HudRead
    ground_share: float  # of the scanned row's columns
    gaps: tuple[tuple[int, int], ...]  # x1, x2 px of the picture
    row: int  # px from the top

    def lines(self, profile: GameProfile) -> list[str]:
        """For people."""
        shown = ", ".join(f"{name} {_said(getattr(self.hud, name))}" for name, _ in profile.hud)
        gaps = ", ".join(f"{x1}-{x2}" for x1, x2 in self.gaps) or "none"
        return [
            f"HUD: {shown or 'no field'}",
            f"ground: {self.ground_share:.0%} of row {self.row}, gaps: {gaps}",
        ]


class Calibration:
    """One picture, and the profile as it is so far. Every change is checked: `ConfigError` says what
    cannot be, and the profile stays as it was."""

    def __init__(self, picture: FrameArray, profile: GameProfile) -> None:
        self.picture = picture
        self.profile = profile
        self._marked_ground = False
        height, width = picture.shape[:2]
        self._across, self._down = profile.frame_size[0] / width, profile.frame_size[1] / height

    @property
    def warning(self) -> str:
        """That the picture has another shape than the profile's frame, or ""."""
        if abs(self._across / self._down - 1) <= ASPECT_SLACK:
            return ""
        height, width = self.picture.shape[:2]
        across, down = self.profile.frame_size
        return (
            f"the picture is {width}x{height}, the profile's frame {across}x{down}: px are stretched by "
            f"{self._across / self._down:.2f} across, which px distances of the profile should allow for"
        )

    # --- marks --------------------------------------------------------------------------------

    def mark_ground(self, x: float, y: float) -> Color:
        """The colour there is ground. The first mark takes the place of the colours there were."""
        height, width = self.picture.shape[:2]
        if not (0 <= x < width and 0 <= y < height):
            raise ConfigError(
                f"ground: expected a point in the picture of {width}x{height} px, found ({x:g}, {y:g}); "
                "choose another"
            )
        color = color_at(self.picture, round(x), round(y))
        known = self.profile.ground_colors if self._marked_ground else ()
        if not any(_alike(color, one, self.profile.ground_tolerance // 2) for one in known):
            if len(known) >= COLORS_MOST:
                raise ConfigError(
                    f"ground: expected at most {COLORS_MOST} colours, found one more; "
                    "clear them, or widen the tolerance"
                )
            known = (*known, color)
        self._change(ground_colors=known)
        self._marked_ground = True
        return color

    def clear_ground(self) -> None:
        """The next mark is the first again."""
        self._marked_ground = False

    def set_tolerance(self, tolerance: int) -> None:
        self._change(ground_tolerance=tolerance)

    def set_hud(self, name: str, box: Box) -> None:
        """Where a field's digits stand, with a little margin."""
        if name not in HUD_FIELDS:
            raise ConfigError(f"hud: expected one of {', '.join(HUD_FIELDS)}, found {name!r}; name one")
        fields = dict(self.profile.hud)
        field = dataclasses.replace(fields.get(name, USUAL_FIELDS[name]), box=self._box(box))
        self._change(hud=_in_order(fields | {name: field}))

    def drop_hud(self, name: str) -> None:
        """The game has no such field."""
        fields = dict(self.profile.hud)
        if fields.pop(name, None) is None:
            raise ConfigError(f"hud: expected one of {', '.join(fields)}, found {name!r}; name one")
        self._change(hud=_in_order(fields))

    def set_button(self, name: str, x: float, y: float, wait_s: float | None = None) -> None:
        """`jump`, or `restart1`, `restart2`, ...: the taps that begin a new run, in order, with the
        seconds to wait after each."""
        at = round(x * self._across), round(y * self._down)
        if name == "jump":
            self._change(jump_tap=at)
            return
        number = name.removeprefix("restart")
        taps = list(self.profile.restart)
        if name == number or not number.isdecimal() or not 1 <= int(number) <= len(taps) + 1:
            raise ConfigError(
                f"button: expected jump or restart1 to restart{len(taps) + 1}, found {name!r}; name one"
            )
        i = int(number) - 1
        usual_s = taps[i].wait_s if i < len(taps) else USUAL_WAIT_S
        taps[i : i + 1] = [RestartTap(*at, usual_s if wait_s is None else wait_s)]
        self._change(restart=tuple(taps))

    def set_rider(self, box: Box) -> None:
        """The rider's box while he stands on the ground."""
        self._change(rider_box=self._box(box))

    def set_band(self, y1: float, y2: float) -> None:
        """The rows between which things appear: the detector looks only there."""
        low, high = sorted((round(y1 * self._down), round(y2 * self._down)))
        self._change(play_band=(low, high))

    def set_row(self, y: float) -> None:
        """The row that is scanned for ground."""
        self._change(ground_row_from_bottom=self.profile.frame_size[1] - round(y * self._down))

    def set_name(self, name: str) -> None:
        self._change(name=name)

    def _box(self, box: Box) -> Box:
        x, y, w, h = box
        x1, y1 = round(x * self._across), round(y * self._down)
        return x1, y1, round((x + w) * self._across) - x1, round((y + h) * self._down) - y1

    def _change(self, **settings: object) -> None:
        changed = dataclasses.replace(self.profile, **settings)  # type: ignore[arg-type]
        try:
            check_profile(changed)
        except ValueError as error:
            raise ConfigError(f"expected a mark that can be, found {error}; mark it again") from error
        self.profile = changed

    # --- looking ------------------------------------------------------------------------------

    def read(self) -> Reading:
        """What the eyes read with the profile as it is."""
        reader = HudReader(self.profile, EyesConfig())
        try:
            hud = reader.read(self.picture)
        finally:
            reader.close()
        scanner = TerrainScanner(self.profile)
        height = self.picture.shape[0]
        ground = scanner.is_ground(self.picture[scanner.rows_of(height)])
        gaps = scanner.scan(self.picture, 0.0).gaps
        return Reading(
            hud, float(ground.mean()), tuple((round(one.x1), round(one.x2)) for one in gaps),
            scanner.row_of(height),
        )  # fmt: skip

    def draw(self, reading: Reading) -> FrameArray:
        """A copy of the picture with everything marked in it: green ground, red where it is missing, and
        each HUD value beside its box."""
        picture = draw_profile(self.picture, self.profile)
        height = picture.shape[0]
        scanner = TerrainScanner(self.profile)
        ground = scanner.is_ground(self.picture[scanner.rows_of(height)])
        thick = max(3, height // 180)
        strip = np.where(ground[:, None], GROUND_SEEN, GROUND_MISSING).astype(np.uint8)
        top = min(height - thick, max(0, reading.row - thick // 2))
        picture[top : top + thick] = strip[None]
        scale = height / 1080
        for name, field in self.profile.hud:
            x, y, w, _ = field.box
            at = round((x + w) / self._across) + 6, round((y + 34) / self._down)
            _write(picture, _said(getattr(reading.hud, name)), at, scale)
        return picture


def color_at(picture: FrameArray, x: int, y: int) -> Color:
    """The median colour, B, G, R, of the square around a pixel: no single one decides."""
    patch = picture[max(0, y - PATCH_PX) : y + PATCH_PX + 1, max(0, x - PATCH_PX) : x + PATCH_PX + 1]
    b, g, r = np.median(patch.reshape(-1, 3), axis=0).round().astype(int).tolist()
    return b, g, r


def ground_colors_seen(picture: FrameArray, profile: GameProfile, most: int = 2) -> tuple[Color, ...]:
    """The commonest colours of the scanned rows, B, G, R, the commonest first: what the ground may be."""
    scanner = TerrainScanner(profile)
    pixels = picture[scanner.rows_of(picture.shape[0])].reshape(-1, 3).astype(np.int32)
    step = max(4, profile.ground_tolerance)
    found: list[Color] = []
    left = pixels
    while len(left) * 20 > len(pixels) and len(found) < most:
        cells, counts = np.unique(left // step, axis=0, return_counts=True)
        near = (np.abs(left // step - cells[counts.argmax()]) <= 0).all(axis=1)
        b, g, r = np.median(left[near], axis=0).round().astype(int).tolist()
        found.append((b, g, r))
        left = left[(np.abs(left - (b, g, r)) > profile.ground_tolerance).any(axis=1)]
    return tuple(found)


def parse_box(text: str, flag: str) -> Box:
    """`X,Y,W,H` px; `ConfigError` for anything else, and for a box too small to hold a digit."""
    numbers = parse_numbers(text, 4, flag, "X,Y,W,H")
    x, y, w, h = (round(one) for one in numbers)
    if w < SMALLEST_BOX or h < SMALLEST_BOX:
        raise ConfigError(f"{flag}: expected a box of at least {SMALLEST_BOX} px a side, found {text}")
    return x, y, w, h


def parse_numbers(text: str, count: int, flag: str, form: str) -> tuple[float, ...]:
    """`count` numbers, 0 or more, separated by commas."""
    parts = [one.strip() for one in text.split(",")]
    if len(parts) != count or not all(one.replace(".", "", 1).isdecimal() and len(one) <= 8 for one in parts):
        raise ConfigError(f"{flag}: expected {form}, px of the picture, found {text!r}; change it")
    return tuple(float(one) for one in parts)


def _alike(one: Color, other: Color, tolerance: int) -> bool:
    return all(abs(a - b) <= tolerance for a, b in zip(one, other, strict=True))


def _in_order(fields: dict[str, HudField]) -> tuple[tuple[str, HudField], ...]:
    return tuple((name, fields[name]) for name in HUD_FIELDS if name in fields)


def _said(value: int | None) -> str:
    return "not read" if value is None else str(value)


def _write(picture: FrameArray, text: str, at: tuple[int, int], scale: float) -> None:
    (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.9 * scale, 2)
    x, y = at
    cv2.rectangle(picture, (x - 3, y - height - 4), (x + width + 3, y + 5), TEXT_BACK, -1)
    cv2.putText(picture, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.9 * scale, TEXT, 2, cv2.LINE_AA)
