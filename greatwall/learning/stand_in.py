"""Somebody at the reins while weights are updated, where the game cannot be paused: the rule player.

It steers from the Master's side, through the queue, on a thread of its own, `stand-in`; the Master's own
thread is busy learning meanwhile and touches neither env nor Worker.
"""

from __future__ import annotations

import threading

from game_env import GreatWallEnv
from greatwall.contracts import Player
from greatwall.errors import Interruption, WorkerError

JOIN_S = 15.0  # one action, its grace and a long turn; a stand-in that takes longer is stuck
LOOK_S = 0.1


class StandIn:
    """Plays one env until `stop`. What it does is no step of the episode: see `GreatWallEnv.ride`."""

    def __init__(self, env: GreatWallEnv, player: Player) -> None:
        self._env, self._player = env, player
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stand-in", daemon=True)
        self._error: BaseException | None = None
        self.steered = 0  # actions
        self.interruption = ""  # what ended it before its time
        self.first_frame = self.last_frame = -1  # frames grabbed when it took the reins, and gave them back

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let it finish its action; raises what ended it, where that cannot be survived."""
        self._stop.set()
        self._thread.join(JOIN_S)
        if self._thread.is_alive():
            raise WorkerError(
                f"expected the stand-in to end its action within {JOIN_S:.0f} s, found it stuck; start again"
            )
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._play()
        except Interruption as cause:
            self.interruption = cause.reason
            self._env.interrupt(cause.reason)
        except BaseException as error:  # noqa: BLE001 - however it died, `stop` tells
            self._error = error
        self.last_frame = frames_of(self._env)

    def _play(self) -> None:
        env, worker = self._env, self._env.worker
        self._player.reset(0)
        observation, perception = env.look()
        self.first_frame = frames_of(env)
        while not self._stop.is_set():
            if worker.death_triggered.is_set():  # the run is over: nothing to steer until it is begun again
                self._stop.wait(LOOK_S)
                continue
            observation, perception = env.ride(self._player.act(observation, perception))
            self.steered += 1


def frames_of(env: GreatWallEnv) -> int:
    """The number of the newest frame."""
    frame = env.worker.latest_frame
    return -1 if frame is None else frame.frame_id
