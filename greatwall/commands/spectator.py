"""The Master in front of a screen that it does not play: a recording, watched through the windows.

Nothing is restarted and nothing is given up: a run may end, be cut away or have no HUD at all; what is seen
goes on. A policy may be asked what it would do; the device ignores the touches. Runs on the player's thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from config import Config
from game_env import FIRST_FRAME_TIMEOUT_S, GreatWallEnv
from greatwall.assembly import build_worker, open_device
from greatwall.contracts import FloatArray, Perception
from greatwall.device.recorder import record
from greatwall.device.withheld import withholding_device
from greatwall.errors import DeviceLost, GreatWallError, Interruption, RecordingEnded, WorkerError


class SpectatorEnv(GreatWallEnv):
    """`GreatWallEnv` without the ways into a live game. Raises `RecordingEnded` at the end of the file."""

    def _begin(self, seed: int | None, state: Mapping[str, Any] | None) -> Perception:
        """Look on from here; neither seed nor state changes anything."""
        worker = self.worker
        worker.start()
        if self._ended_by:
            self._rearm()
        try:
            seen = worker.perception_ready.is_set()
            seen = seen or worker.wait(worker.perception_ready, FIRST_FRAME_TIMEOUT_S)
        except Interruption as cause:
            raise _end_or_error(cause) from cause
        perception = worker.perception
        if not seen or perception is None:
            raise WorkerError("expected a first perceived frame, found none; check the recording")
        return perception

    def _rearm(self) -> None:
        """A life lost on the screen, or a pause in the file, ends nothing here."""
        self.worker.death_triggered.clear()
        if self._ended_by not in ("death", "limit"):
            try:
                self.worker.recover()
            except (DeviceLost, WorkerError, Interruption) as cause:
                raise _end_or_error(cause) from cause

    def _interrupted(self, cause: Interruption) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        if isinstance(cause.__cause__, RecordingEnded):
            raise cause.__cause__
        return super()._interrupted(cause)


def _end_or_error(cause: BaseException) -> Exception:
    """The recording's own end, where that is what lies behind; else an error that cannot be survived."""
    behind: BaseException | None = cause
    while behind is not None:
        if isinstance(behind, RecordingEnded):
            return behind
        behind = behind.__cause__
    return WorkerError(f"expected frames of the recording, found: {cause}; start again")


def build_watched_env(config: Config, record_to: Path | None = None) -> GreatWallEnv:
    """What `ppo_acting.py` shows: the Master, or a spectator of a recording; recorded when asked."""
    kind = SpectatorEnv if config.device == "video" else GreatWallEnv
    if record_to is None:
        return kind(config, build_worker(config))
    recorded = record(open_device(config), record_to, config)
    try:
        return kind(config, build_worker(config, withholding_device(recorded, config.faults)))
    except GreatWallError:
        recorded.discard()
        raise
