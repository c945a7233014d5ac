"""Two of the three windows: what the machine sees, and the ground scan with the cliff's state.

Pure drawing: values in, a picture out. Sizes fit three windows side by side on a 1920x1080 screen.
"""

from __future__ import annotations

from collections import deque

import cv2
import numpy as np

from config import GameProfile
from greatwall.contracts import TERRAIN_SAMPLES, Frame, FrameArray, GameObject, Perception
from greatwall.worker.lettering import BOLD, HAS_CHINESE, Color, label, width_px, write, write_right

SIGHT_SIZE = (1240, 742)  # px, width and height
GROUND_SIZE = (1240, 326)
HEADER_PX = 44
INK: Color = (236, 232, 228)
DIM: Color = (150, 144, 138)
BACK: Color = (34, 30, 28)
TILE: Color = (52, 46, 43)
GOOD: Color = (120, 200, 110)
BAD: Color = (86, 92, 240)
AMBER: Color = (60, 180, 250)
ROLES: dict[str, tuple[Color, str, str]] = {
    "rider": ((240, 200, 90), "骑手", "rider"),
    "danger": ((70, 90, 245), "障碍", "obstacle"),
    "enemy": ((210, 90, 220), "敌人", "enemy"),
    "soul": ((230, 220, 120), "魂", "soul"),
    "coin": ((70, 210, 250), "金币", "coin"),
}


def canvas(size: tuple[int, int], chinese: str, english: str) -> FrameArray:
    """An empty window with its title."""
    image = np.full((size[1], size[0], 3), BACK, np.uint8)
    cv2.rectangle(image, (0, 0), (size[0], HEADER_PX - 4), TILE, -1)
    cv2.rectangle(image, (0, 0), (6, HEADER_PX - 4), AMBER, -1)
    write(image, label(chinese, english), (18, 28), 22, INK, BOLD)
    return image


# --- what the machine sees ------------------------------------------------------------------------


def draw_sight(frame: Frame, perception: Perception, profile: GameProfile) -> FrameArray:
    """The perceived frame with boxes, track ids, distances, the shoot target and the scanned row."""
    image = canvas(SIGHT_SIZE, "机器所见", "What the machine sees")
    width, height = SIGHT_SIZE[0], SIGHT_SIZE[1] - HEADER_PX
    picture = image[HEADER_PX:]
    picture[:] = cv2.resize(frame.bgr, (width, height), interpolation=cv2.INTER_LINEAR)
    sx, sy = width / profile.frame_size[0], height / profile.frame_size[1]
    row = profile.frame_size[1] - profile.ground_row_from_bottom
    surface = profile.rider_box[1] + profile.rider_box[3]
    _draw_scanned_row(picture, perception, row, surface, sx, sy)
    for role, things in (
        ("coin", perception.coin_list),
        ("soul", perception.soul_list),
        ("enemy", perception.enemy_list),
        ("danger", perception.danger_list),
    ):
        for thing in things:
            _draw_box(picture, thing, role, sx, sy)
    _draw_rider(picture, perception, surface, sx, sy)
    write_right(
        image,
        f"{label('帧', 'frame')} {perception.frame_id}   {label('帧龄', 'age')} "
        f"{perception.frame_age_s * 1000:.0f} ms",
        (width - 16, 28),
        18,
        DIM,
    )
    if perception.cliff:
        _draw_banner(image, label("前方悬崖", "CLIFF AHEAD"))
    return image


def _draw_box(picture: FrameArray, thing: GameObject, role: str, sx: float, sy: float) -> None:
    color, chinese, english = ROLES[role]
    x1, y1 = round(thing.x * sx), round(thing.y * sy)
    x2, y2 = round(thing.x2 * sx), round(thing.y2 * sy)
    cv2.rectangle(picture, (x1, y1), (x2, y2), color, 2, cv2.LINE_AA)
    text = f"#{thing.track_id}"
    if role != "coin":  # coins stand in rows: their plates would cover each other
        text = f"{label(chinese, english)} {text}"
        if thing.score < 1.0:
            text += f" {thing.score:.2f}"
    _draw_tag(picture, text, (x1, y1), color)


def _draw_tag(picture: FrameArray, text: str, at: tuple[int, int], color: Color) -> None:
    """Dark letters on a plate above the corner `at`."""
    size = 15
    wide = width_px(text, size) + 10
    x = min(max(0, at[0] - 1), picture.shape[1] - wide)
    y = max(20, at[1])
    cv2.rectangle(picture, (x, y - 20), (x + wide, y), color, -1)
    write(picture, text, (x + 5, y - 5), size, (20, 16, 16))


def _draw_rider(picture: FrameArray, perception: Perception, surface: float, sx: float, sy: float) -> None:
    color, chinese, english = ROLES["rider"]
    x1, y1, x2, y2 = perception.horse_pos
    corner = (round(x1 * sx), round(y1 * sy))
    cv2.rectangle(picture, corner, (round(x2 * sx), round(y2 * sy)), color, 2, cv2.LINE_AA)
    _draw_tag(picture, label(chinese, english), corner, color)
    cx, cy = perception.horse_center
    tx, ty = perception.shoot_target
    start, end = (round(cx * sx), round(cy * sy)), (round(tx * sx), round(ty * sy))
    aims = perception.nearest_enemy < float("inf")
    aim_color = ROLES["enemy"][0] if aims else DIM
    cv2.arrowedLine(picture, start, end, aim_color, 2, cv2.LINE_AA, tipLength=0.08)
    cv2.circle(picture, end, 9, aim_color, 2, cv2.LINE_AA)
    if aims:
        write(picture, label("射击点", "target"), (end[0] + 14, end[1] + 5), 15, INK)
    if perception.nearest_danger < float("inf"):
        y = round((surface + 14) * sy)
        left, right = round(x2 * sx), round((x2 + perception.nearest_danger) * sx)
        cv2.arrowedLine(picture, (left, y), (right, y), ROLES["danger"][0], 2, cv2.LINE_AA, tipLength=0.02)
        write(picture, f"{perception.nearest_danger:.0f} px", ((left + right) // 2 - 24, y + 20), 16, INK)


def _draw_scanned_row(
    picture: FrameArray, perception: Perception, row: int, surface: float, sx: float, sy: float
) -> None:
    y = round(row * sy)
    cv2.line(picture, (0, y), (picture.shape[1], y), GOOD, 3)
    for gap in perception.ground.gaps:
        x1, x2 = round(gap.x1 * sx), round(gap.x2 * sx)
        cv2.line(picture, (x1, y), (x2, y), BAD, 5)
        cv2.rectangle(picture, (x1, round(surface * sy)), (x2, y), BAD, 2, cv2.LINE_AA)
    write(picture, label("扫描行", f"scanned row y={row}"), (12, y - 8), 15, INK)


def _draw_banner(image: FrameArray, text: str) -> None:
    wide = width_px(text, 30, BOLD) + 48
    x = (image.shape[1] - wide) // 2
    y = HEADER_PX + image.shape[0] // 5
    cv2.rectangle(image, (x, y), (x + wide, y + 50), BAD, -1)
    write(image, text, (x + 24, y + 36), 30, (255, 255, 255), BOLD)


# --- the ground scan ------------------------------------------------------------------------------


class GroundScans:
    """Draws the newest ground scan and those before it. Remembers the last `ROWS` of them."""

    ROWS = 40
    LEFT = 130
    CELL = 5  # px of the window a cell is wide

    def __init__(self) -> None:
        self._rows: deque[np.ndarray[tuple[int], np.dtype[np.float32]]] = deque(maxlen=self.ROWS)
        self._last_id = -1

    def draw(self, frame: Frame, perception: Perception, profile: GameProfile) -> FrameArray:
        """The strip of the frame that is scanned, its 200 cells, the scans before it, the cliff flag."""
        if perception.frame_id < self._last_id:
            self._rows.clear()
        if perception.frame_id != self._last_id:
            self._rows.append(perception.ground.cells)
            self._last_id = perception.frame_id
        image = canvas(GROUND_SIZE, "地面扫描与悬崖", "Ground scan and cliff")
        left, wide = self.LEFT, TERRAIN_SAMPLES * self.CELL
        self._draw_strip(image, frame, perception, profile)
        cells = perception.ground.cells
        self._draw_row(image, cells, 138, 26)
        write(image, label("地面", "cells"), (14, 156), 16, INK)
        history = np.ones((self.ROWS, TERRAIN_SAMPLES), np.float32)
        for i, row in enumerate(reversed(self._rows)):
            history[i] = row
        shade = np.where(history[:, :, None] > 0, np.array((74, 92, 70)), np.array(BAD)).astype(np.uint8)
        shade[len(self._rows) :] = TILE
        tall = cv2.resize(shade, (wide, 80), interpolation=cv2.INTER_NEAREST)
        image[170:250, left : left + wide] = tall
        write(image, label("以往", "earlier"), (14, 214), 16, DIM)
        self._draw_scale(image, profile)
        self._draw_state(image, perception, profile)
        return image

    def _draw_strip(
        self, image: FrameArray, frame: Frame, perception: Perception, profile: GameProfile
    ) -> None:
        """The picture around the scanned row, right above the cells that come from it."""
        sx, sy = frame.size[0] / profile.frame_size[0], frame.size[1] / profile.frame_size[1]
        row = profile.frame_size[1] - profile.ground_row_from_bottom
        x1 = round(perception.ground.from_x * sx)
        x2 = x1 + round(TERRAIN_SAMPLES * perception.ground.step_px * sx)
        part = frame.bgr[round((row - 90) * sy) :, x1 : min(x2, frame.size[0])]
        wide = round(TERRAIN_SAMPLES * self.CELL * part.shape[1] / (x2 - x1))
        picture = cv2.resize(part, (wide, 78), interpolation=cv2.INTER_AREA)
        y = round(78 * 90 / (90 + profile.ground_row_from_bottom))
        cv2.line(picture, (0, y), (wide, y), AMBER, 1)
        image[54:132, self.LEFT : self.LEFT + wide] = picture
        write(image, label("画面", "frame"), (14, 98), 16, INK)

    def _draw_row(
        self, image: FrameArray, cells: np.ndarray[tuple[int], np.dtype[np.float32]], y: int, height: int
    ) -> None:
        colors = np.where(cells[:, None] > 0, np.array(GOOD), np.array(BAD)).astype(np.uint8)
        row = np.repeat(colors, self.CELL, axis=0)
        image[y : y + height, self.LEFT : self.LEFT + len(row)] = row

    def _draw_scale(self, image: FrameArray, profile: GameProfile) -> None:
        for px in range(0, TERRAIN_SAMPLES * profile.terrain_step_px + 1, 100):
            x = self.LEFT + px * self.CELL // profile.terrain_step_px
            cv2.line(image, (x, 250), (x, 256), DIM, 1)
            write(image, f"{px}", (x - width_px(f"{px}", 13) // 2, 270), 13, DIM)
        write(image, label("距骑手", "px ahead"), (14, 270), 14, DIM)

    def _draw_state(self, image: FrameArray, perception: Perception, profile: GameProfile) -> None:
        color = BAD if perception.cliff else GOOD
        x1, x2 = self.LEFT + TERRAIN_SAMPLES * self.CELL + 10, GROUND_SIZE[0] - 8
        cv2.rectangle(image, (x1, 54), (x2, 250), color, -1)
        lines = ("悬崖", "CLIFF") if perception.cliff else ("平路", "clear")
        for i, text in enumerate(lines if HAS_CHINESE else lines[1:]):
            at = ((x1 + x2 - width_px(text, 26, BOLD)) // 2, 142 + 36 * i)
            write(image, text, at, 26, (24, 20, 20), BOLD)
        rider = perception.horse_pos[2]
        ahead = [gap for gap in perception.ground.gaps if gap.x2 > perception.horse_pos[0]]
        if ahead:
            text = (
                f"{label('下一缺口', 'next gap')} #{ahead[0].track_id}  "
                f"{label('距离', 'in')} {ahead[0].x1 - rider:.0f} px  "
                f"{label('宽', 'width')} {ahead[0].x2 - ahead[0].x1:.0f} px"
            )
        else:
            text = label("视野内无缺口", "no gap in sight")
        write(image, text, (self.LEFT, 306), 18, INK)
        passed = sum(1 for one in perception.passings if one.kind == "cliff")
        if passed:
            write_right(
                image, label("刚越过悬崖", "cliff passed"), (GROUND_SIZE[0] - 16, 306), 18, AMBER, BOLD
            )
        limit = self.LEFT + profile.cliff_ahead_px * self.CELL // profile.terrain_step_px
        cv2.line(image, (limit, 134), (limit, 250), AMBER, 1, cv2.LINE_AA)
