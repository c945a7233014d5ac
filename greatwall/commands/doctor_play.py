"""What lies between eye and hand on the device that is there, measured by playing it for a while.

The whole Worker runs, threads, eyes and all, as in training; jumps go through the Master's queue and
nothing else is touched but the profile's restart buttons. Main thread.
"""

from __future__ import annotations

import math
import queue
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from config import DelayConfig, GameProfile
from game_env import GreatWallEnv
from greatwall.contracts import TICK_S, Action, ActionOrder, Perception
from greatwall.device.device_profile import DeviceProfile, uniform_like
from greatwall.errors import ConfigError, Interruption, RestartError
from greatwall.metrics.jump_watch import JumpWatch
from greatwall.metrics.timing import percentile
from ppo_acting import Worker

LOOK_S = 0.003  # between two looks at what the Worker published
REST_S = 0.35  # on the ground, before the next jump
HURRY_PX = 420.0  # a hazard this near is worth a jump at once
WANTED = 24  # jumps
SETTLED_S = 1.0  # of the Worker: its first second is left out
FEWEST = 8  # jumps that make a distribution
SHARES = (0.5, 0.95)


@dataclass
class PlayFigures:
    """Samples in s; `restarts` are runs that were begun, `ended` says why it was over, if not by plan."""

    touch_to_effect_s: list[float] = field(default_factory=list)
    decision_to_touch_s: list[float] = field(default_factory=list)
    perceived_age_s: list[float] = field(default_factory=list)  # capture to publication
    touches_lost: int = 0
    restarts: int = 0
    seconds: float = 0.0
    timing: dict[str, Any] = field(default_factory=dict)
    ended: str = ""

    def summary(self) -> dict[str, Any]:
        """JSON-able: percentiles in ms, counts."""
        return {
            "touch_to_effect_ms": in_ms(self.touch_to_effect_s),
            "decision_to_touch_ms": in_ms(self.decision_to_touch_s),
            "perceived_age_ms": in_ms(self.perceived_age_s),
            "touches": len(self.touch_to_effect_s),
            "touches_lost": self.touches_lost,
            "restarts": self.restarts,
            "seconds": round(self.seconds, 1),
            "worker": self.timing,
            "ended": self.ended,
        }


def in_ms(seconds: Sequence[float]) -> dict[str, float | int | None]:
    """Count, least, p50, p95 and most, in ms to 0.1; None of no values."""
    names = ("least", "p50", "p95", "most")
    if not seconds:
        return {"count": 0, **dict.fromkeys(names)}
    values = (min(seconds), *(percentile(seconds, share) for share in SHARES), max(seconds))
    return {"count": len(seconds), **{n: round(1000 * v, 1) for n, v in zip(names, values, strict=True)}}


def device_profile(
    figures: PlayFigures, device: str, *, frames_per_s: float, capture: str, touch: str, measured_at: str
) -> DeviceProfile:
    """The delays that make the simulator as slow as what was measured; `ConfigError` for too few touches.

    In the simulator the first frame that shows a jump is a tick after the rider has left the ground,
    and a touch takes effect in that frame: hence the tick on top.
    """
    count = len(figures.touch_to_effect_s)
    if count < FEWEST or not figures.perceived_age_s:
        why = figures.ended or f"the time was up after {figures.seconds:.0f} s"
        raise ConfigError(
            f"--save-profile: expected {FEWEST} jumps that were seen, found {count} ({why}); "
            "bring a live run to the front and measure again"
        )
    low, high = uniform_like(figures.touch_to_effect_s)
    hud = figures.timing.get("hud_ms", {})
    hud_s = (round((hud.get("p50") or 0.0) / 1000, 4), round((hud.get("p95") or 0.0) / 1000, 4))
    delays = DelayConfig(
        capture_to_perceived_s=uniform_like(figures.perceived_age_s),
        decision_to_touch_s=uniform_like(figures.decision_to_touch_s),
        touch_to_effect_s=(round(low + TICK_S, 4), round(high + TICK_S, 4)),
        hud_read_s=hud_s,
    )
    return DeviceProfile(
        device=device,
        delays=delays,
        frames_per_s=round(frames_per_s, 2),
        capture=capture,
        touch=touch,
        samples={
            "touch_to_effect_s": tuple(round(one, 4) for one in figures.touch_to_effect_s),
            "decision_to_touch_s": tuple(round(one, 4) for one in figures.decision_to_touch_s),
        },
        measured_at=measured_at,
    )


def measure_play(env: GreatWallEnv, worker: Worker, seconds: float, wanted: int = WANTED) -> PlayFigures:
    """Jump up to `wanted` times within `seconds`, restarts included, and watch. The caller closes `env`.

    Trouble on the way ends it: `ended` says so and what was measured until then stays. Raises
    `ConfigError` on the game's clock, where nothing takes the time it takes.
    """
    if env.config.worker.clock != "wall":
        raise ConfigError("doctor: expected --clock wall, found game; nothing takes time on the game's clock")
    measuring = _Measuring(env, worker, wanted)
    try:
        measuring.run(seconds)
    except (Interruption, RestartError) as trouble:
        measuring.figures.ended = str(trouble)
    return measuring.finished()


class _Measuring:
    """One measurement, from the first start of a run to the last jump."""

    def __init__(self, env: GreatWallEnv, worker: Worker, wanted: int) -> None:
        profile: GameProfile = env.config.profile
        _, y, _, h = profile.rider_box
        self.figures = PlayFigures()
        self._env, self._worker, self._wanted = env, worker, wanted
        self._watch = JumpWatch(y + h, h)
        self._actions = 0
        self._seen_id = -1
        self._frames: list[tuple[float, float]] = []  # captured at s, feet at px
        self._posted: tuple[ActionOrder, float] | None = None
        self._standing_since_s = math.inf
        self._until_s = 0.0

    def run(self, seconds: float) -> None:
        began_s = self._worker.clock.now_s()
        self._until_s = began_s + seconds
        try:
            self._begin_run(self._env.config.seed)
            began_playing_s = self._worker.clock.now_s()
            while not self._enough():
                self._worker.rest(LOOK_S)
                now_s = self._worker.clock.now_s()
                self._look(now_s, now_s - began_playing_s > SETTLED_S)
                if self._worker.death_triggered.is_set():
                    self._begin_run(None)
        finally:
            self.figures.seconds = self._worker.clock.now_s() - began_s

    def finished(self) -> PlayFigures:
        figures = self.figures
        figures.touch_to_effect_s = self._watch.delays_s
        figures.touches_lost = self._watch.lost
        timing = self._worker.timing
        assert timing is not None
        figures.timing = timing.summary(self._worker.clock.now_s())
        return figures

    def _enough(self) -> bool:
        return len(self._watch.delays_s) >= self._wanted or self._worker.clock.now_s() > self._until_s

    def _begin_run(self, seed: int | None) -> None:
        """A live run: the Master's own way there, with its checks and its bounded tries."""
        self._env.reset(seed=seed)
        self.figures.restarts += 1
        self._watch.forget()
        self._posted = None
        self._frames.clear()
        self._standing_since_s = math.inf

    def _look(self, now_s: float, settled: bool) -> None:
        """Take in a new perception, note its age, act when it is time: steps end at a perception."""
        perception = self._worker.perception
        if perception is None:
            return
        if perception.frame_id != self._seen_id:
            self._seen_id = perception.frame_id
            self._frames.append((perception.captured_at_s, perception.horse_pos[3]))
            if settled:
                self.figures.perceived_age_s.append(perception.frame_age_s)
        self._take_result()
        if self._posted is None:
            self._watch_frames()
        if self._posted is None and self._watch.ready:
            self._standing_since_s = min(self._standing_since_s, now_s)
            if self._due(perception, now_s):
                self._jump(now_s)
        else:
            self._standing_since_s = math.inf

    def _due(self, perception: Perception, now_s: float) -> bool:
        near = perception.nearest_danger < HURRY_PX or perception.cliff
        return near or now_s - self._standing_since_s > REST_S

    def _jump(self, now_s: float) -> None:
        self._actions += 1
        order = ActionOrder(self._actions, Action.JUMP)
        self._worker.action_done.clear()
        try:
            self._worker.env_action_queue.put_nowait(order)
        except queue.Full:
            return
        self._posted = order, now_s

    def _take_result(self) -> None:
        """When the order is carried out, it is known when the finger went down: the frames kept
        meanwhile are judged then, so that a touch call that blocks hides nothing."""
        if self._posted is None:
            return
        order, posted_s = self._posted
        result = self._worker.result
        if result is not None and result.action_id == order.action_id:
            self._posted = None
            self.figures.decision_to_touch_s.append(max(0.0, result.executed_at_s - posted_s))
            self._watch.touched(result.executed_at_s)

    def _watch_frames(self) -> None:
        for captured_at_s, feet_y in self._frames:
            self._watch.see(captured_at_s, feet_y)
        self._frames.clear()
