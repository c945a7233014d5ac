"""Progress for people, and a game that stands still while nobody steers."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from config import replace_in
from greatwall.assembly import make_config
from greatwall.learning.presets import PRESETS
from greatwall.learning.reporting import BoardCallback, PausingCallback, ProgressCallback
from greatwall.learning.run import RunSettings, build_model
from greatwall.learning.training_envs import build_training_envs


class ClockWatch(BaseCallback):
    """Notes the game's tick when a rollout ends and when the next begins."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[int] = []
        self.begun: list[int] = []

    def _tick(self) -> int:
        worker = self.training_env.get_attr("worker")[0]
        return int(worker.device.tick)

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.ended.append(self._tick())

    def _on_rollout_start(self) -> None:
        self.begun.append(self._tick())


class Around(BaseCallback):
    """Pause, then look; look, then go on."""

    def __init__(self, pausing: PausingCallback, watch: ClockWatch) -> None:
        super().__init__()
        self._pausing, self._watch = pausing, watch

    def _init_callback(self) -> None:
        self._pausing.init_callback(self.model)
        self._watch.init_callback(self.model)

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self._pausing.on_rollout_end()
        self._watch.on_rollout_end()

    def _on_rollout_start(self) -> None:
        self._watch.on_rollout_start()
        self._pausing.on_rollout_start()


def test_on_the_wall_clock_the_game_stands_still_during_an_update() -> None:
    preset = PRESETS["default"].with_envs(1)
    config = replace_in(preset.apply(make_config(eyes="truth")), "worker", clock="wall")
    envs = build_training_envs(config, preset, 0)
    model: PPO = build_model(RunSettings(config, preset, 0, 4), envs, 4)
    pausing, watch = PausingCallback(config), ClockWatch()
    try:
        model.learn(8, callback=Around(pausing, watch))
    finally:
        pausing.release()
        envs.close()
    assert len(watch.begun) == 2
    assert watch.begun[1] - watch.ended[0] <= 1
    assert watch.ended[1] > watch.begun[1]


def progress(terminal: bool) -> tuple[ProgressCallback, io.StringIO]:
    out = io.StringIO()
    callback = ProgressCallback(Console(file=out, force_terminal=terminal, width=140), 100)
    callback.model = SimpleNamespace(num_timesteps=0)  # type: ignore[assignment]
    return callback, out


def episode(distance: float, score: float) -> dict[str, Any]:
    return {"run": {"distance_m": distance}, "episode": {"r": score}}


@pytest.mark.parametrize("terminal", [True, False], ids=["a bar", "plain lines"])
def test_progress_tells_rate_mean_distance_and_return(terminal: bool) -> None:
    callback, out = progress(terminal)
    callback.on_training_start({}, {})
    for step in range(10, 101, 10):
        callback.model.num_timesteps = step
        callback.update_locals({"infos": [episode(step * 1.0, 5.0)]})
        callback.on_step()
    callback.close()
    callback.close()
    text = out.getvalue()
    assert "steps/s" in text
    assert "m, return +5.0" in text


def test_the_time_of_an_update_is_recorded_from_the_second_rollout_on() -> None:
    recorded: dict[str, float] = {}
    board = BoardCallback()
    board.model = SimpleNamespace(  # type: ignore[assignment]
        logger=SimpleNamespace(record=recorded.__setitem__)
    )
    board._on_rollout_start()
    board._on_rollout_end()
    assert "time/update_s" not in recorded
    board._on_rollout_start()
    board._on_rollout_end()
    assert recorded["time/update_s"] >= 0
