"""The third window: HUD values, last action, reward terms, frame age, rates, run statistics.

Pure drawing: values in, a picture out.
"""

from __future__ import annotations

from typing import Any

import cv2

from greatwall.contracts import Action, FrameArray, Hud, Perception
from greatwall.worker.board import Board
from greatwall.worker.lettering import BOLD, Color, label, write, write_right
from greatwall.worker.windows import AMBER, BAD, DIM, GOOD, HEADER_PX, INK, ROLES, TILE, canvas

PANEL_SIZE = (664, 1076)
EDGE = 16
ACTIONS: dict[Action, tuple[Color, str, str]] = {
    Action.WAIT: (DIM, "等待", "wait"),
    Action.JUMP: (GOOD, "跳跃", "jump"),
    Action.SHOOT: (ROLES["enemy"][0], "射箭", "shoot"),
}
TERMS: dict[str, tuple[str, str]] = {
    "step": ("每步", "step"),
    "distance": ("前进", "distance"),
    "coins": ("金币", "coins"),
    "obstacle": ("越过障碍", "obstacle passed"),
    "cliff": ("越过悬崖", "cliff passed"),
    "wasted_shot": ("空射", "wasted shot"),
    "ignored_enemy": ("未射敌人", "ignored enemy"),
    "death": ("死亡", "death"),
}


def draw_panel(
    perception: Perception, hud: Hud, board: Board, timing: dict[str, Any], now_s: float
) -> FrameArray:
    """Everything in figures. `timing` is `WorkerTiming.summary`, empty where nothing is timed."""
    image = canvas(PANEL_SIZE, "面板", "Panel")
    write_right(image, f"{label('玩家', 'player')}: {board.player}", (PANEL_SIZE[0] - EDGE, 28), 18, AMBER)
    _draw_hud(image, hud, now_s)
    _draw_actions(image, board)
    _draw_rewards(image, board)
    _draw_rates(image, perception, timing)
    _draw_runs(image, board)
    return image


def _heading(image: FrameArray, y: int, chinese: str, english: str) -> None:
    x = write(image, label(chinese, english), (EDGE, y), 18, AMBER, BOLD)
    cv2.line(image, (x + 12, y - 6), (PANEL_SIZE[0] - EDGE, y - 6), TILE, 2)


def _draw_hud(image: FrameArray, hud: Hud, now_s: float) -> None:
    """Four tiles; under each how old its frame is."""
    y, tall, gap = HEADER_PX + 8, 104, 10
    wide = (PANEL_SIZE[0] - 2 * EDGE - 3 * gap) // 4
    tiles = (
        ("生命", "lives", hud.lives, hud.lives_at_s, ""),
        ("箭", "arrows", hud.arrows, hud.arrows_at_s, ""),
        ("金币", "coins", hud.coins, hud.coins_at_s, ""),
        ("距离", "distance", hud.distance, hud.distance_at_s, " m"),
    )
    for i, (chinese, english, value, at_s, unit) in enumerate(tiles):
        x = EDGE + i * (wide + gap)
        cv2.rectangle(image, (x, y), (x + wide, y + tall), TILE, -1)
        write(image, label(chinese, english), (x + 10, y + 24), 16, DIM)
        text = "-" if value is None else f"{value}{unit}"
        color = BAD if english == "lives" and value is not None and value <= 1 else INK
        write(image, text, (x + 10, y + 68), 38 if len(text) < 6 else 30, color, BOLD)
        age = "" if value is None else f"{max(0.0, now_s - at_s):.1f} s"
        write(image, age, (x + 10, y + 94), 14, DIM)


def _draw_actions(image: FrameArray, board: Board) -> None:
    y = HEADER_PX + 150
    _heading(image, y, "动作", "Action")
    if board.note:
        write(image, board.note, (EDGE, y + 44), 26, AMBER, BOLD)
    elif board.action is not None:
        color, chinese, english = ACTIONS[board.action]
        write(image, label(chinese, english), (EDGE, y + 44), 30, color, BOLD)
    wide = 16
    x = PANEL_SIZE[0] - EDGE
    for action in reversed(tuple(board.actions)):
        x -= wide
        height = 10 if action is Action.WAIT else 32
        cv2.rectangle(image, (x, y + 50 - height), (x + wide - 3, y + 50), ACTIONS[action][0], -1)
    write_right(image, label("最近动作", "newest right"), (PANEL_SIZE[0] - EDGE, y + 70), 13, DIM)


def _draw_rewards(image: FrameArray, board: Board) -> None:
    y = HEADER_PX + 252
    _heading(image, y, "奖励", "Reward")
    x_step, x_sum, bar_x = 430, PANEL_SIZE[0] - EDGE, 240
    write_right(image, label("本步", "step"), (x_step, y + 24), 14, DIM)
    write_right(image, label("本局累计", "episode"), (x_sum, y + 24), 14, DIM)
    for i, (name, (chinese, english)) in enumerate(TERMS.items()):
        line = y + 52 + i * 29
        now, total = board.terms.get(name, 0.0), board.sums.get(name, 0.0)
        write(image, label(chinese, english), (EDGE, line), 17, INK)
        length = round(min(1.0, abs(now) / 2.0) * 90)
        if length:
            cv2.rectangle(image, (bar_x, line - 13), (bar_x + length, line), GOOD if now > 0 else BAD, -1)
        write_right(image, f"{now:+.3f}" if now else "0", (x_step, line), 17, _sign(now))
        write_right(image, f"{total:+.1f}" if total else "0", (x_sum, line), 17, _sign(total))
    line = y + 52 + len(TERMS) * 29 + 8
    cv2.line(image, (EDGE, line - 24), (PANEL_SIZE[0] - EDGE, line - 24), TILE, 2)
    write(image, label("回报", "return"), (EDGE, line + 2), 20, INK, BOLD)
    write_right(
        image, f"{board.episode_return:+.1f}", (x_sum, line + 2), 24, _sign(board.episode_return), BOLD
    )


def _sign(value: float) -> Color:
    return GOOD if value > 0 else BAD if value < 0 else DIM


def _draw_rates(image: FrameArray, perception: Perception, timing: dict[str, Any]) -> None:
    y = HEADER_PX + 592
    _heading(image, y, "速度", "Rates")
    age = f"{perception.frame_age_s * 1000:.0f} ms"
    rows: list[tuple[str, str]] = [(label("当前帧龄", "frame age now"), age)]
    if timing:
        rows += [
            (label("采集", "grabbed"), f"{timing['grab_fps']:.1f} {label('帧/秒', 'fps')}"),
            (label("感知", "perceived"), f"{timing['loop_fps']:.1f} {label('帧/秒', 'fps')}"),
            (label("帧龄", "frame age"), _percentiles(timing["frame_age_ms"])),
            (label("检测", "detector"), _percentiles(timing["detector_ms"])),
            (label("读数", "HUD read"), _percentiles(timing["hud_ms"])),
            (label("读数周期", "HUD period"), _seconds(timing["hud_period_s"])),
            (label("超时步", "overruns"), f"{timing['overruns']}"),
        ]
    _draw_table(image, y + 28, rows)


def _draw_runs(image: FrameArray, board: Board) -> None:
    y = HEADER_PX + 848
    _heading(image, y, "统计", "Run statistics")
    run = board.last_run
    rows = [
        (label("本局步数", "steps this run"), f"{board.steps}"),
        (label("已完成局数", "episodes"), f"{board.episodes}"),
        (label("最佳距离", "best distance"), f"{board.best_m} m"),
    ]
    if run:
        rows += [
            (
                label("上局", "last run"),
                f"{run.get('distance_m', 0)} m, {label('回报', 'return')} {board.last_return or 0.0:+.1f}",
            ),
            (
                label("上局障碍/悬崖/金币", "last obstacles/cliffs/coins"),
                f"{run.get('obstacles', 0)} / {run.get('cliffs', 0)} / {run.get('coins', 0)}",
            ),
        ]
        if run.get("death"):
            rows.append((label("死因", "death by"), str(run["death"])))
    _draw_table(image, y + 28, rows)


def _draw_table(image: FrameArray, y: int, rows: list[tuple[str, str]]) -> None:
    for i, (name, value) in enumerate(rows):
        write(image, name, (EDGE, y + i * 28), 17, INK)
        write_right(image, value, (PANEL_SIZE[0] - EDGE, y + i * 28), 17, INK)


def _percentiles(values: dict[str, float | None]) -> str:
    if values["p50"] is None or values["p95"] is None:
        return "-"
    return f"p50 {values['p50']:.0f} ms   p95 {values['p95']:.0f} ms"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"
