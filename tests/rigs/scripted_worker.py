"""A Worker that publishes the perceptions it is told to: for judging the Master's bookkeeping alone."""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from greatwall.contracts import (
    ActionOrder,
    ActionResult,
    Frame,
    Ground,
    Hud,
    Perception,
)
from greatwall.errors import Interruption


def make_hud(at_s: float = 0.0, **values: int) -> Hud:
    """A HUD read whole at `at_s`: 3 lives, 20 arrows, 0 coins, 0 m unless told."""
    read = {"lives": 3, "arrows": 20, "coins": 0, "distance": 0} | values
    return Hud(**read, **{f"{name}_at_s": at_s for name in read}, read_id=1, captured_at_s=at_s)


def make_perception(**changes: Any) -> Perception:
    """An empty wall at 0 s, changed as told."""
    nothing = Perception(
        frame_id=1,
        captured_at_s=0.0,
        perceived_at_s=0.0,
        size=(1920, 1080),
        horse_pos=(180.0, 730.0, 310.0, 880.0),
        danger_list=(),
        enemy_list=(),
        soul_list=(),
        coin_list=(),
        nearest_danger=math.inf,
        nearest_enemy=math.inf,
        nearest_soul=math.inf,
        nearest_coin=math.inf,
        shoot_target=(545.0, 805.0),
        ground=Ground((), 310.0, 1920),
        cliff=False,
        passings=(),
        hud=make_hud(),
    )
    return replace(nothing, **changes)


class ScriptedClock:
    """Time that moves only when told."""

    def __init__(self) -> None:
        self.time_s = 0.0

    def now_s(self) -> float:
        return self.time_s


class ScriptedWorker:
    """`contracts.WorkerPrimitives`: each action takes the next perception of `script`.

    An `Interruption` in the script is raised; "silence" lets the wait time out; "death" sets the
    flag and repeats the last perception; "stranger" answers with another action's id.
    """

    def __init__(self, script: list[Any], *, seeds: bool = True, live: bool = True) -> None:
        self.env_action_queue: queue.Queue[ActionOrder] = queue.Queue(maxsize=1)
        self.action_done = threading.Event()
        self.perception_ready = threading.Event()
        self.death_triggered = threading.Event()
        self.env_restart_order = threading.Event()
        self.clock = ScriptedClock()
        self.script = list(script)
        self.seeds, self.live = seeds, live
        self.relaunches = False
        self.reset_troubles: list[Interruption] = []
        self.orders: list[ActionOrder] = []
        self.log: list[str] = []
        self.perception: Perception | None = make_perception()
        self.result: ActionResult | None = None
        self.latest_frame: Frame | None = None

    def start(self) -> None:
        self.log.append("start")
        self.perception_ready.set()

    def close(self) -> None:
        self.log.append("close")

    def facts(self) -> Mapping[str, Any] | None:
        return None

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        if event is not self.action_done:
            return event.is_set()
        order = self.env_action_queue.get_nowait()
        self.orders.append(order)
        what = self.script.pop(0)
        if isinstance(what, Interruption):
            raise what
        if what == "silence":
            self.clock.time_s += timeout_s
            return False
        action_id = order.action_id + (what == "stranger")
        if what == "death":
            self.death_triggered.set()
        if isinstance(what, Perception):
            self.perception = what
        assert self.perception is not None
        self.clock.time_s += 0.1
        self.result = ActionResult(action_id, order.action, 0.0, 0.0, self.perception)
        event.set()
        return True

    def rest(self, seconds: float) -> None:
        self.log.append(f"rest {seconds:g}")
        self.clock.time_s += seconds
        assert self.perception is not None
        hud = self.perception.hud
        if self.env_restart_order.is_set():
            self.log.append("clicks")
            self.env_restart_order.clear()
            if self.live:
                self.death_triggered.clear()
                hud = make_hud(self.clock.time_s)
            else:
                hud = make_hud(self.clock.time_s, lives=0)
        self.perception = replace(self.perception, hud=hud)

    def new_game(self, seed: int) -> bool:
        if self.reset_troubles:
            raise self.reset_troubles.pop(0)
        if self.seeds:
            self.log.append(f"new_game {seed}")
            self.death_triggered.clear()
            self.perception = make_perception()
        return self.seeds

    def save_game(self) -> dict[str, Any]:
        return {}

    def restore_game(self, state: Mapping[str, Any]) -> None:
        self.log.append("restore")

    def pause(self) -> bool:
        return True

    def resume(self) -> None:
        """Nothing was paused."""

    def recover(self) -> None:
        self.log.append("recover")

    def relaunch(self) -> bool:
        self.log.append("relaunch")
        return self.relaunches
