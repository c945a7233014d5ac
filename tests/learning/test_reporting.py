"""Progress for people, and a game that stands still while nobody steers."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from config import replace_in
from greatwall.assembly import make_config
from greatwall.learning.episode_window import RUN_VALUES, WINDOW, remember
from greatwall.learning.presets import PRESETS
from greatwall.learning.reins import PausingCallback
from greatwall.learning.reporting import BoardCallback, ProgressCallback
from greatwall.learning.run import RunSettings, TrainingRun
from greatwall.learning.run_files import RunFiles
from greatwall.learning.saving import StateCallback, ValidationCallback


def test_on_the_wall_clock_the_game_stands_still_until_all_is_validated_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real callbacks in their real order, on real threads."""
    preset = dataclasses.replace(PRESETS["scratch"].with_envs(1), rollout_steps=4)
    config = replace_in(preset.apply(make_config(eyes="truth")), "worker", clock="wall")
    files = RunFiles(tmp_path / "models", tmp_path / "logs")
    files.prepare()
    settings = RunSettings(config, preset, 0, 8, validation_episodes=1)
    run = TrainingRun(settings, files, Console(quiet=True), None)
    worker = run.model.get_env().get_attr("worker")[0]  # type: ignore[union-attr]
    seen: list[tuple[str, int]] = []

    def noted(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def note(self: Any, **options: Any) -> Any:
            result = original(self, **options)
            seen.append((name, int(worker.device.tick)))
            return result

        monkeypatch.setattr(owner, name, note)

    noted(PausingCallback, "_on_rollout_end")
    noted(ValidationCallback, "_validate")
    noted(StateCallback, "_save")
    try:
        run.learn()
        assert run._pausing.holds
    finally:
        run.close()
    assert not run._pausing.holds
    names = [name for name, _ in seen]
    assert names == ["_save", *["_on_rollout_end", "_validate", "_save"] * 2]
    for end in (1, 4):
        ticks = [tick for _, tick in seen[end : end + 3]]
        assert ticks[-1] - ticks[0] <= 1, seen
    assert seen[4][1] > seen[3][1]  # and between them it was played


def progress(terminal: bool, window: list[dict[str, Any]]) -> tuple[ProgressCallback, io.StringIO]:
    out = io.StringIO()
    callback = ProgressCallback(Console(file=out, force_terminal=terminal, width=140), 100, window)
    callback.model = SimpleNamespace(num_timesteps=0)  # type: ignore[assignment]
    return callback, out


def ended(distance: float, score: float) -> dict[str, Any]:
    """The info of an episode's last step."""
    run = dict.fromkeys(RUN_VALUES, distance) | {"kills": 2, "death": "gap"}
    return {"run": run, "episode": {"r": score}, "terms": {"step": -0.5}}


@pytest.mark.parametrize("terminal", [True, False], ids=["a bar", "plain lines"])
def test_progress_tells_rate_mean_distance_and_return(terminal: bool) -> None:
    window: list[dict[str, Any]] = []
    callback, out = progress(terminal, window)
    callback.on_training_start({}, {})
    for step in range(10, 101, 10):
        callback.model.num_timesteps = step
        remember(window, [ended(step * 1.0, 5.0)])
        callback.on_step()
    callback.close()
    callback.close()
    text = out.getvalue()
    assert "steps/s" in text
    assert "m, return +5.0" in text


def test_the_window_keeps_the_newest_hundred_as_json() -> None:
    window: list[dict[str, Any]] = []
    for number in range(WINDOW + 5):
        remember(window, [{}, ended(float(number), 1.0)])
    assert [one["run"]["distance_m"] for one in window] == [float(n) for n in range(5, WINDOW + 5)]
    assert json.loads(json.dumps(window)) == window


def test_what_callbacks_do_before_a_rollout_is_update_time_and_no_step_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("greatwall.learning.reporting.time.perf_counter", lambda: now[0])
    recorded: dict[str, float] = {}
    board = BoardCallback([])
    board.model = SimpleNamespace(  # type: ignore[assignment]
        logger=SimpleNamespace(record=recorded.__setitem__), num_timesteps=0
    )

    def rollout() -> None:
        board.on_rollout_start()
        now[0] += 7.0  # validation, saving
        for _ in range(5):
            now[0] += 0.5
            board.model.num_timesteps += 4
            board.update_locals({"infos": []})
            board.on_step()
        board.on_rollout_end()

    rollout()
    assert "time/update_s" not in recorded
    assert recorded["time/step_ms"] == pytest.approx(1000 * 0.5 / 4)
    now[0] += 2.0  # the update
    rollout()
    assert recorded["time/update_s"] == pytest.approx(2.0 + 7.0 + 0.5)
    assert recorded["time/step_ms"] == pytest.approx(1000 * 0.5 / 4)
