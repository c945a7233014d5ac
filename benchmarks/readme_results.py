"""Writes the results of README.md and README.zh-CN.md from the figures that are committed. Main thread.

    python benchmarks/readme_results.py

Every figure stands under the command that makes its file; run that first, then this.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.learning_page import shares
from greatwall.commands import run_command
from greatwall.errors import FileFormatError

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
Figures = dict[str, Any]
PLAYERS = ("random", "rule207", "rule", "oracle")

FILES = {
    "learning": "benchmarks/learning.json",
    "rule": "benchmarks/eyes_agreement.json",
    "random": "benchmarks/eyes_agreement_random.json",
    "detector": "models/detector.json",
    "worker": "benchmarks/worker.json",
    "env": "benchmarks/env.json",
}


@dataclass(frozen=True)
class Words:
    """One language's words for what the tables say. `{}` are the figures."""

    document: str
    learning: str
    learning_columns: tuple[str, ...]
    policies: dict[str, str]
    courses: str
    untrained: str
    sees: str
    ahead: str
    seeing: str
    seeing_columns: tuple[str, ...]
    frames: str
    ground: str
    missing_ground: str
    edges: str
    nearest: tuple[tuple[str, str], ...]
    hud: str
    of: str
    invented: str
    detector: str
    speed: str
    speed_columns: tuple[str, ...]
    perceived: str
    age: str
    period: str
    truth_steps: str
    vision_steps: str
    machine: str


ENGLISH = Words(
    document="README.md",
    learning="**Learning.** Trained through truth on the standard course with seeds {seeds}; the best policy "
    "of each run, by validation, rides test courses {first:,} to {last:,} to the end, built-in players the "
    "first of them. IQM: interquartile mean over courses, of the training seed whose IQM is the median, with "
    "its 95 % bootstrap interval. Three seeds cannot show their whole spread.",
    learning_columns=(
        "player",
        "steps",
        "distance m, IQM (95 %)",
        "each training seed",
        "return, IQM",
        "normalised distance, return (random 0, oracle 1)",
    ),
    policies={
        "default": "`default`, shown first by `rule`",
        "scratch": "`scratch`",
        "scratch-long": "`scratch`",
        "memory": "`memory`",
        "memory-warm": "`memory`, shown first by `rule207`",
        "plain": "`plain`",
        "plain-warm": "`plain`, shown first by `rule207`",
        "paper": "`paper`",
    },
    courses="*{}* ({} courses)",
    untrained="A dash: not trained yet with that seed. ",
    sees="`default` and `scratch` see the 207 numbers and extras (own touches, own motion, the hazards of "
    "the whole frame); `memory` the 207, which it remembers with its own touches; `plain` and `paper` the "
    "207 of now. "
    "`rule207` may use what `memory` may, `rule` what `default` may; `oracle` searches among copies of the "
    "game and sees beyond the screen. More in [docs/learning.md](docs/learning.md).",
    ahead="Ahead of every policy in this table, by distance: {}. ",
    seeing="**Seeing.** Both pairs of eyes on the same frames: {steps:,} steps of the rule player, and of "
    "random, who lets enemies come close. What vision found, of what is true:",
    seeing_columns=("figure", "rule player's run", "random's run"),
    frames="frames compared",
    ground="ground cells",
    missing_ground="cells without ground",
    edges="gap edges, within 6 px",
    nearest=(
        ("danger", "nearest obstacle under 500 px, within 10 px"),
        ("enemy", "nearest enemy, likewise"),
        ("soul", "nearest soul, likewise"),
        ("coin", "nearest coin, likewise"),
    ),
    hud="HUD values, as read",
    of="{share} of {count:,}",
    invented="; {} invented",
    detector="**Detector.** On {frames} frames of unseen seeds: mAP50 {map50:.3f}, mAP50-95 {map50_95:.3f}, "
    "least F1 of a class {f1:.3f}.",
    speed="**Speed.**",
    speed_columns=("figure", "measured"),
    perceived="frames perceived a second, vision on the wall clock ({:.0f} s)",
    age="frame age at the decision, p50 / p95",
    period="HUD read every",
    truth_steps="env steps a CPU-second, truth, random actions",
    vision_steps="env steps a CPU-second, vision, random actions",
    machine="{cores} cores ({processor}), Python {python}; load of the machine before: {worker}, {env}.",
)

CHINESE = Words(
    document="README.zh-CN.md",
    learning="**学习。** 在标准赛道上用 truth 训练，种子 {seeds}；每次运行里验证成绩最好的策略在测试赛道 "
    "{first:,} 到 {last:,} 上跑到底，内置玩家跑其中最前面的若干条。IQM 是各条赛道的四分位均值，"
    "取几个训练种子里居中的那个，附 95 % 自助法区间；三个种子显示不出全部的差异。",
    learning_columns=(
        "玩家",
        "步数",
        "距离（米），IQM（95 %）",
        "每个训练种子",
        "回报，IQM",
        "归一化的距离、回报（random 为 0，oracle 为 1）",
    ),
    policies={
        "default": "`default`，先看 `rule` 示范",
        "scratch": "`scratch`",
        "scratch-long": "`scratch`",
        "memory": "`memory`",
        "memory-warm": "`memory`，先看 `rule207` 示范",
        "plain": "`plain`",
        "plain-warm": "`plain`，先看 `rule207` 示范",
        "paper": "`paper`",
    },
    courses="*{}*（{} 条赛道）",
    untrained="短横线：还没有用那个种子训练。",
    sees="`default` 和 `scratch` 看到 207 个数和附加量（自己的触摸、自身的运动、整个画面里的危险）；"
    "`memory` 看到这 207 个数，并记住它们和自己的触摸；`plain` 和 `paper` 只看此刻的 207 个数。"
    "`rule207` 能用的与 `memory` 相同，`rule` 与 `default` 相同；`oracle` 在游戏的副本里搜索，"
    "看得到屏幕以外的赛道。详见 [docs/learning.md](docs/learning.md)（英文）。",
    ahead="比表中所有策略都走得远的：{}。",
    seeing="**视觉。** 两双眼睛看同样的帧：规则玩家的 {steps:,} 步，再是随机玩家的（它会让敌人靠近）。"
    "视觉找到的，占真实的：",
    seeing_columns=("指标", "规则玩家", "随机玩家"),
    frames="比较的帧数",
    ground="有地面的格子",
    missing_ground="没有地面的格子",
    edges="缺口边缘，误差 6 像素以内",
    nearest=(
        ("danger", "500 像素内最近的障碍，误差 10 像素以内"),
        ("enemy", "最近的敌人，同上"),
        ("soul", "最近的魂，同上"),
        ("coin", "最近的金币，同上"),
    ),
    hud="HUD 数值，直接读出",
    of="{count:,} 中的 {share}",
    invented="；另有 {} 个不存在的",
    detector="**检测器。** 在 {frames} 帧没见过的种子上：mAP50 {map50:.3f}，mAP50-95 {map50_95:.3f}，"
    "各类中最低的 F1 {f1:.3f}。",
    speed="**速度。**",
    speed_columns=("指标", "测得"),
    perceived="每秒感知的帧数，视觉，真实时间（{:.0f} 秒）",
    age="决策时的帧龄，p50 / p95",
    period="读一次 HUD 的间隔",
    truth_steps="每 CPU 秒的环境步数，真值，随机动作",
    vision_steps="每 CPU 秒的环境步数，视觉，随机动作",
    machine="{cores} 核（{processor}），Python {python}；测前机器的负载：{worker}、{env}。",
)


def read_figures() -> dict[str, Figures]:
    """Every committed file; `FileFormatError` for one that is missing or no JSON."""
    found = {}
    for name, path in FILES.items():
        try:
            found[name] = json.loads((ROOT / path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FileFormatError(
                f"{path}: expected committed figures, found {error}; the README says which command makes them"
            ) from error
    return found


def results(figures: dict[str, Figures], words: Words) -> str:
    """What stands between the marks."""
    parts = (learning(figures["learning"], words), seeing(figures, words), speed(figures, words))
    return "\n\n".join(parts)


def learning(figures: Figures, words: Words) -> str:
    """What the presets learn, as far as they have been trained, beside the built-in players."""
    first, last = figures["test_courses"]
    about = words.learning.format(seeds=", ".join(map(str, figures["seeds"])), first=first, last=last)
    players, trained = figures["players"][""], figures["rows"]
    shown = [name for name in words.policies if name in trained]
    rows = [
        (
            words.policies[name],
            f"{trained[name]['timesteps']:,}",
            _interval(trained[name]["distance_m"]),
            _metres(trained[name]["distance_m"]["iqm_of_seeds"]),
            f"{trained[name]['return']['iqm']:+,.0f}",
            shares(trained[name], players),
        )
        for name in shown
    ]
    for name in PLAYERS:
        one = players[name]
        score = f"{one['return']['iqm']:+,.0f}"
        shown_as = words.courses.format(name, one["courses"])
        rows.append((shown_as, "", _interval(one["distance_m"]), "", score, shares(one, players)))
    distances = [trained[name]["distance_m"] for name in shown]
    farthest = max((one["iqm"] for one in distances), default=math.inf)
    ahead = [f"`{name}`" for name in PLAYERS if players[name]["distance_m"]["iqm"] > farthest]
    below = words.ahead.format(", ".join(ahead)) if ahead else ""
    if any(None in one["iqm_of_seeds"] for one in distances):
        below += words.untrained
    commands = _command(figures["command"], figures["players_command"])
    table = _table(words.learning_columns, rows)
    return "\n".join([about, "", commands, "", table, "", below + words.sees])


def seeing(figures: dict[str, Figures], words: Words) -> str:
    """Vision against truth, and the detector's own exam."""
    runs = (figures["rule"], figures["random"])
    rows = [
        (words.frames, *(f"{one['frames']:,}" for one in runs)),
        (words.ground, *(_cells(one, "ground", words) for one in runs)),
        (words.missing_ground, *(_cells(one, "non_ground", words) for one in runs)),
        (
            words.edges,
            *(_share(one["gaps"]["edges_within_6_px"], 2 * one["gaps"]["right"], words) for one in runs),
        ),
    ]
    for kind, shown in words.nearest:
        near = [one["nearest_under_500_px"][kind] for one in runs]
        rows.append((shown, *(_near(one, words) for one in near)))
    rows.append(
        (words.hud, *(_share(one["hud"]["raw_exact"], 4 * one["hud"]["reads"], words) for one in runs))
    )
    exam = figures["detector"]["exam"]
    detector = words.detector.format(
        frames=exam["frames"],
        map50=exam["map50"],
        map50_95=exam["map50_95"],
        f1=min(one["f1"] for one in exam["classes"].values()),
    )
    script = f"python benchmarks/eyes_agreement.py --steps {figures['rule']['steps']}"
    commands = (script, f"{script} --policy random --json {FILES['random']}")
    return "\n".join(
        [
            words.seeing.format(steps=figures["rule"]["steps"]),
            "",
            _command(*commands),
            "",
            _table(words.seeing_columns, rows),
            "",
            detector,
            "",
            _command(f"python -m greatwall detector score --frames {exam['frames']} --seed {exam['seed']}"),
        ]
    )


def speed(figures: dict[str, Figures], words: Words) -> str:
    """The Worker on the wall clock, and env steps."""
    worker, env = figures["worker"]["worker"], figures["env"]
    age = worker["decision_age_ms"]
    rows = [
        (words.perceived.format(worker["seconds"]), f"{worker['loop_fps']:.1f}"),
        (words.age, f"{age['p50']:.0f} / {age['p95']:.0f} ms"),
        (words.period, f"{worker['hud_period_s']:.2f} s"),
        (words.truth_steps, f"{env['truth']['steps_per_cpu_s']:,.0f}"),
        (words.vision_steps, f"{env['vision']['steps_per_cpu_s']:,.0f}"),
    ]
    machine = figures["worker"]["machine"]
    loads = {name: _load(figures[name]["load_1min_before"]) for name in ("worker", "env")}
    about = words.machine.format(
        cores=machine["cores"], processor=machine["processor"], python=machine["python"], **loads
    )
    commands = [
        f"python -m greatwall bench worker --seconds {worker['seconds']:.0f} --json {FILES['worker']}",
        f"python -m greatwall bench env --json {FILES['env']}",
    ]
    return "\n".join(
        [f"{words.speed} {about}", "", _command(*commands), "", _table(words.speed_columns, rows)]
    )


def written(document: str, text: str) -> str:
    """`document` with `text` between its marks."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise FileFormatError(
            f"expected {BEGIN} and {END} in the document, found neither or one; put them in"
        )
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def _command(*lines: str) -> str:
    return "\n".join(["```bash", *lines, "```"])


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _interval(distance: Figures) -> str:
    low, high = distance["ci95"]
    return f"{distance['iqm']:,.0f} ({low:,.0f}-{high:,.0f})"


def _metres(values: list[float | None]) -> str:
    """A dash for a seed that is not trained yet."""
    return ", ".join("-" if value is None else f"{value:,.0f}" for value in values)


def _cells(one: Figures, kind: str, words: Words) -> str:
    terrain = one["terrain"]
    return _share(terrain[f"{kind}_found"], terrain[f"{kind}_cells"], words)


def _share(share: float | None, count: int, words: Words) -> str:
    """A share with what it is a share of; a dash where nothing was there."""
    return "-" if share is None else words.of.format(share=f"{100 * share:.6g} %", count=count)


def _near(one: Figures, words: Words) -> str:
    """Nearest distances that were right; a missed object is one that is wrong."""
    invented = words.invented.format(one["invented"]) if one["invented"] else ""
    return _share(one["within_10_px"], one["compared"], words) + invented


def _load(load: float | None) -> str:
    return "?" if load is None else f"{load:.1f}"


@dataclass(frozen=True)
class ReadmeResults:
    """Write the results of both READMEs from the committed figures."""

    def run(self) -> int:
        figures = read_figures()
        for words in (ENGLISH, CHINESE):
            path = ROOT / words.document
            document = path.read_text(encoding="utf-8")
            path.write_text(written(document, results(figures, words)), encoding="utf-8")
        Console().print(f"wrote the results of {ENGLISH.document} and {CHINESE.document}")
        return 0


if __name__ == "__main__":
    sys.exit(run_command(ReadmeResults, sys.argv[1:], "benchmarks/readme_results.py"))
