"""The Master: 207 numbers (and extras) in, 3 actions out, 8 reward terms, death, restart (SPEC 2-6, 8).

It is given its Worker and knows it by its primitives alone. Runs on the thread that calls `step`.
It never sleeps and never looks at a frame: all it knows comes from the published `Perception`.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from config import TICK_HZ, Config, cooldown_s
from greatwall.contracts import (
    HUD_FIELDS,
    OBSERVATION_SIZE,
    TERRAIN_SAMPLES,
    Action,
    ActionOrder,
    FloatArray,
    FrameArray,
    Hud,
    Perception,
    WorkerPrimitives,
)
from greatwall.errors import Interruption, RestartError, WorkerError
from greatwall.extras import Extras, extras_size
from greatwall.reward import REWARD_TERMS, RewardLedger

DISTANCE_SCALE_PX = 500.0  # observation: px / 500, 1 when farther or none
HUD_SCALES = (100.0, 500.0, 10.0)  # arrows, coins, lives
FIRST_FRAME_TIMEOUT_S = 30.0  # a detector may load and compile before the first frame is perceived
FIRST_HUD_TIMEOUT_S = 5.0
QUEUE_TIMEOUT_S = 1.0
RESTART_TIMEOUT_S = 30.0
LOST = ("phone_lost", "game_left")  # interruptions of a device that is given time to come back, and
LOST_TRIES = 10  # so more of them are survived while a live game is sought
TRAINING_SEEDS = 1_000_000  # seeds below are for training (SPEC 7)


class GreatWallEnv(gym.Env[FloatArray, int]):
    """A run on the Great Wall. Observation: float32 (207,) in [0, 1]; action: 0 wait, 1 jump, 2 shoot.
    `config.env.extras` appends further numbers, see `greatwall/extras.py`.

    `info` carries `reward_terms` (by name), `perception`, `hud`, `timing`; at the end of an episode
    `run`; on an interruption `interruption`. Raises `WorkerError` for what cannot be survived.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - gymnasium's own form

    def __init__(self, config: Config, worker: WorkerPrimitives, render_mode: str | None = None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode: expected None or 'rgb_array', found {render_mode!r}")
        self.config = config
        self.worker = worker
        self.render_mode = render_mode
        groups = config.env.extras
        self._extras = Extras(config, groups) if groups else None
        self._size = OBSERVATION_SIZE + extras_size(groups)
        self.observation_space = gym.spaces.Box(0.0, 1.0, (self._size,), np.float32)
        self.action_space = gym.spaces.Discrete(len(Action))  # type: ignore[assignment]
        self._period_s = config.worker.decision_ticks / TICK_HZ
        self._hud_shown = [name for name in HUD_FIELDS if name in dict(config.profile.hud)]
        self._ended_by = ""  # "", "death", "limit" or an interruption
        self._action_id = 0
        self._base_seed = config.seed
        self._episode = 0  # since that seed
        self._begun = 0  # episodes in all
        self._perception: Perception | None = None
        self._transition: tuple[Perception, Perception, bool]
        self._step_terms: dict[str, float] = {}
        self._step_s = 0.0
        self._terrain: FloatArray = np.ones(TERRAIN_SAMPLES, np.float32)
        self._begin_bookkeeping()

    # --- gymnasium ----------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """A live run and its first observation.

        With a seed, exactly that course where the device can start one; with `options={"state": s}`
        the game that `save_game` saved. Without: after a death the restart procedure of SPEC 6; else
        a new course where the device can, or the run goes on. An interruption is survived
        `restart_tries` times. Raises `RestartError` when no live game can be had, `WorkerError` when
        there is no Worker.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._base_seed, self._episode = seed, 0
        self._perception = self._begin(seed, (options or {}).get("state"))
        self._episode += 1
        self._ended_by = ""
        self._begin_bookkeeping()
        self._update_terrain()
        if self._extras is not None:
            self._extras.begin()
        info = self._info(self._perception, dict.fromkeys(REWARD_TERMS, 0.0), 0.0)
        return self._get_obs(), info

    def step(self, action: int) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Post one action, wait until its effect can have been perceived, and judge it (SPEC 8)."""
        if self._perception is None or self._ended_by:
            raise RuntimeError("step: expected a running episode, found none; call reset() first")
        chosen = Action(int(action))
        before = self._perception
        started_s = self.worker.clock.now_s()
        try:
            after = self._execute(chosen)
        except Interruption as cause:
            return self._interrupted(cause)
        step_s = self.worker.clock.now_s() - started_s
        if self._extras is not None:
            self._extras.act(chosen)

        self._perception = after
        self._update_terrain()
        terminated = self.worker.death_triggered.is_set()
        self._transition = (before, after, terminated)
        terms = self._calculate_reward(chosen)
        self._step_terms, self._step_s = terms, step_s
        self._update_run_stats(chosen)
        limit = not terminated and self._limit_reached(after)
        info = self._info(after, terms, step_s)
        if terminated or limit:
            self._ended_by = "death" if terminated else "limit"
            info["run"] = self._run_report()
            if limit:
                info["TimeLimit.truncated"] = True
        return self._get_obs(), math.fsum(terms.values()), terminated, limit, info

    def render(self) -> FrameArray | None:  # type: ignore[override]
        """The newest screen as RGB uint8 (H, W, 3), or None before the first."""
        frame = self.worker.latest_frame
        if self.render_mode is None or frame is None:
            return None
        return np.ascontiguousarray(frame.bgr[:, :, ::-1])

    def close(self) -> None:
        """Stop the Worker and let the device go."""
        self.worker.close()

    def save_game(self) -> dict[str, Any]:
        """The game as it stands, JSON-able, for `reset(options={"state": ...})`.

        Two episodes begun from it with the same actions are the same. `ConfigError` on a device that
        cannot save.
        """
        return self.worker.save_game()

    # --- acting -------------------------------------------------------------------------------

    def _execute(self, action: Action) -> Perception:
        """Through the queue and back. At most `step_grace_s` beyond the cooldown, then an interruption."""
        worker = self.worker
        self._action_id += 1
        worker.action_done.clear()
        order = ActionOrder(self._action_id, action)
        try:
            worker.env_action_queue.put(order, timeout=QUEUE_TIMEOUT_S)
        except queue.Full:
            raise Interruption("frames_stopped", "the Worker took no action from the queue") from None
        busy_s = max(cooldown_s(self.config.profile, action), self._period_s)
        if not worker.wait(worker.action_done, busy_s + self.config.worker.step_grace_s):
            raise Interruption("frames_stopped", "no frame from after the action was perceived in time")
        result = worker.result
        if result is None or result.action_id != order.action_id:
            found = None if result is None else result.action_id
            raise WorkerError(
                f"expected the result of action {order.action_id}, found {found}; "
                "two masters may be driving one worker: give each its own"
            )
        return result.perception

    def _interrupted(self, cause: Interruption) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """The last valid observation, its age, truncated=True; nothing is rewarded.

        A death that is already known outranks it: a death page may well stand still.
        """
        assert self._perception is not None
        if self.worker.death_triggered.is_set():
            self._ended_by = "death"
            terms = dict.fromkeys(REWARD_TERMS, 0.0)
            terms["step"], terms["death"] = self.config.reward.step, self.config.reward.death
            info = self._info(self._perception, terms, 0.0)
            info["run"] = self._run_report()
            return self._get_obs(), math.fsum(terms.values()), True, False, info
        self._ended_by = cause.reason
        info = self._info(self._perception, dict.fromkeys(REWARD_TERMS, 0.0), 0.0)
        info["interruption"] = cause.reason
        info["interruption_detail"] = cause.detail
        info["observation_age_s"] = self.worker.clock.now_s() - self._perception.captured_at_s
        info["run"] = self._run_report()
        return self._get_obs(), 0.0, False, True, info

    # --- others at the reins (DESIGN "Real time") -----------------------------------------------

    def look(self) -> tuple[FloatArray, Perception]:
        """The newest perception as an observation; nothing is done, counted or rewarded."""
        perception = self.worker.perception
        if perception is None:
            raise Interruption("frames_stopped", "nothing was perceived yet")
        self._perception = perception
        self._update_terrain()
        return self._get_obs(), perception

    def ride(self, action: int) -> tuple[FloatArray, Perception]:
        """An action that is no step of the episode: done as any other, and neither counted nor rewarded.

        Any thread may call it while no other drives this env. Raises `Interruption`.
        """
        chosen = Action(int(action))
        after = self._execute(chosen)
        if self._extras is not None:
            self._extras.act(chosen)
        self._perception = after
        self._update_terrain()
        return self._get_obs(), after

    def interrupt(self, reason: str) -> None:
        """The run was interrupted outside of `step`: the next `reset` recovers."""
        self._ended_by = reason

    def take_reins(self) -> FloatArray | None:
        """The observation that the episode goes on from after others rode: what they gained or lost is not
        rewarded to the policy. None when the run ended meanwhile: `reset` is next."""
        if self.worker.death_triggered.is_set():
            self._ended_by = "death"
        if self._ended_by:
            return None
        observation, perception = self.look()
        self._ledger.go_on_from(perception)
        return observation

    # --- life and restart ---------------------------------------------------------------------

    def _begin(self, seed: int | None, state: Mapping[str, Any] | None) -> Perception:
        """A live game and its first perception; what interrupts that is survived a few times."""
        worker = self.worker
        if self._relaunch_due() and worker.relaunch():
            self._ended_by = "relaunch"
        broken = self._ended_by not in ("", "death", "limit")
        tries = self.config.worker.restart_tries
        failed = 0
        while True:
            try:
                worker.start()
                if broken:
                    worker.recover()
                if state is not None:
                    worker.restore_game(state)
                else:
                    self._make_live(seed)
                return self._first_perception()
            except Interruption as cause:
                broken = True
                failed += 1
                if failed >= (max(tries, LOST_TRIES) if cause.reason in LOST else tries):
                    raise RestartError(
                        f"expected a live game after {failed} tries, found {cause}; "
                        "check the device and start again"
                    ) from cause
            except RestartError:  # something that nobody can see may lie over the game
                broken = True
                failed += 1
                if failed >= tries or not worker.relaunch():
                    raise

    def _relaunch_due(self) -> bool:
        """Whether the game's app is to be started afresh before this episode, by the config."""
        every, self._begun = self.config.phone.relaunch_every, self._begun + 1
        return bool(every) and self._begun > 1 and (self._begun - 1) % every == 0

    def _make_live(self, seed: int | None) -> None:
        worker = self.worker
        if seed is None and self._ended_by != "death":
            seed = self._base_seed if self._episode == 0 else self._later_seed()
        if seed is not None and worker.new_game(seed):
            return
        self._wait(worker.perception_ready, FIRST_FRAME_TIMEOUT_S, "a first perceived frame")
        if self._ended_by == "limit":
            return  # the run is live and goes on
        alive = self._moves()
        for _ in range(self.config.worker.restart_tries):
            if alive:
                break
            alive = self._click_restart()
        if not alive:
            raise RestartError(
                f"expected a live game after {self.config.worker.restart_tries} restarts, found none; "
                "check that the game is open and that the profile's buttons are where it draws them"
            )
        worker.death_triggered.clear()  # it may have been a misread

    def _later_seed(self) -> int:
        """The training seed of the next course: a function of the last seed given and the episode."""
        seeds = np.random.SeedSequence([self._base_seed, self._episode])
        return int(seeds.generate_state(1)[0]) % TRAINING_SEEDS

    def _moves(self) -> bool:
        """SPEC 6: wait 1 s, sample the distance, wait 2 s, sample again; equal, or none, is dead. So is a
        picture that stands still: a phone sends none then."""
        try:
            self.worker.rest(self.config.worker.restart_wait_s)
            first = self._distance()
            self.worker.rest(self.config.worker.restart_compare_s)
        except Interruption as cause:
            if cause.reason != "frames_stopped":
                raise
            return False
        second = self._distance()
        return first is not None and second is not None and second != first

    def _click_restart(self) -> bool:
        """Order the restart clicks and wait for their end; True once a life is read after them.

        A HUD with a life on it is proof enough: to wait for the distance would ride unsteered.
        """
        worker = self.worker
        worker.env_restart_order.set()
        ordered_s = worker.clock.now_s()
        while worker.env_restart_order.is_set():
            worker.rest(self._period_s)
            if worker.clock.now_s() - ordered_s > RESTART_TIMEOUT_S:
                raise RestartError(
                    f"expected the restart clicks to end within {RESTART_TIMEOUT_S:.0f} s, found them "
                    "running; check the device"
                )
        clicked_s = worker.clock.now_s()
        while worker.clock.now_s() - clicked_s < self.config.worker.restart_compare_s:
            perception = worker.perception
            if perception is not None and perception.hud.lives:
                return True
            worker.rest(self._period_s)
        return False

    def _distance(self) -> int | None:
        perception = self.worker.perception
        return None if perception is None else perception.hud.distance

    def _first_perception(self) -> Perception:
        """Wait for a perception whose HUD has been read at least once since the run began."""
        worker = self.worker
        self._wait(worker.perception_ready, FIRST_FRAME_TIMEOUT_S, "a first perceived frame")
        waited_s = 0.0
        while True:
            perception = worker.perception
            if perception is not None and None not in self._shown(perception.hud):
                return perception
            if waited_s > FIRST_HUD_TIMEOUT_S:
                break
            worker.rest(self._period_s)
            waited_s += self._period_s
        found = "no perception" if perception is None else f"{self._shown(perception.hud)}"
        raise RestartError(
            f"expected {', '.join(self._hud_shown)} on the screen, found {found}; "
            "check that the game is in front and the HUD boxes of the profile"
        )

    def _shown(self, hud: Hud) -> list[int | None]:
        """The values of those HUD fields that this game has."""
        return [getattr(hud, name) for name in self._hud_shown]

    def _wait(self, event: threading.Event, timeout_s: float, what: str) -> None:
        if not self.worker.wait(event, timeout_s):
            raise WorkerError(f"expected {what} within {timeout_s:.0f} s, found none; check the device")

    def _limit_reached(self, after: Perception) -> bool:
        limits = self.config.env
        ridden_m = self._run["distance_m"] - self._began_at_m
        far = limits.max_distance_m and ridden_m >= limits.max_distance_m
        late = limits.max_seconds and after.captured_at_s - self._began_at_s >= limits.max_seconds
        return bool(far or late)

    # --- observation --------------------------------------------------------------------------

    def _update_terrain(self) -> None:
        assert self._perception is not None
        self._terrain = self._perception.ground.cells

    def _get_obs(self) -> FloatArray:
        """float32 (207,): 200 terrain cells, 4 distances, arrows, coins, lives; all in [0, 1]. With
        extras (207 + k,)."""
        p = self._perception
        assert p is not None
        hud = p.hud
        observation = np.empty(self._size, np.float32)
        observation[:TERRAIN_SAMPLES] = self._terrain
        observation[TERRAIN_SAMPLES:OBSERVATION_SIZE] = (
            min(p.nearest_danger / DISTANCE_SCALE_PX, 1.0),
            min(p.nearest_enemy / DISTANCE_SCALE_PX, 1.0),
            min(p.nearest_soul / DISTANCE_SCALE_PX, 1.0),
            min(p.nearest_coin / DISTANCE_SCALE_PX, 1.0),
            min((hud.arrows or 0) / HUD_SCALES[0], 1.0),
            min((hud.coins or 0) / HUD_SCALES[1], 1.0),
            min((hud.lives or 0) / HUD_SCALES[2], 1.0),
        )
        if self._extras is not None:
            observation[OBSERVATION_SIZE:] = self._extras.see(observation, p)
        return observation

    # --- reward -------------------------------------------------------------------------------

    def _begin_bookkeeping(self) -> None:
        """Previous values afresh, so that nothing of the last run is rewarded."""
        p = self._perception
        hud = Hud() if p is None else p.hud
        self._ledger = RewardLedger(self.config.reward, p)
        self._began_at_s = 0.0 if p is None else p.captured_at_s
        self._began_at_m = hud.distance or 0
        self._run: dict[str, Any] = {
            "distance_m": hud.distance or 0,
            "coins": hud.coins or 0,
            "obstacles": 0,
            "cliffs": 0,
            "shots": 0,
            "steps": 0,
            "return": 0.0,
            "seconds": 0.0,
            "overruns": 0,
        }

    def _calculate_reward(self, action: Action) -> dict[str, float]:
        """The eight terms of the last transition by name (SPEC 5); their sum is the reward."""
        return self._ledger.terms(action, *self._transition)

    # --- reports ------------------------------------------------------------------------------

    def _update_run_stats(self, action: Action) -> None:
        run, step_s = self._run, self._step_s
        hud = self._transition[1].hud
        run["steps"] += 1
        run["obstacles"], run["cliffs"] = self._ledger.obstacles, self._ledger.cliffs
        run["return"] += math.fsum(self._step_terms.values())
        run["distance_m"] = max(run["distance_m"], hud.distance or 0)
        run["coins"] = max(run["coins"], hud.coins or 0)
        run["shots"] += action is Action.SHOOT
        run["seconds"] += step_s
        asked_s = max(cooldown_s(self.config.profile, action), self._period_s)
        run["overruns"] += step_s > asked_s + self._period_s

    def _run_report(self) -> dict[str, Any]:
        """This run's statistics as perceived, with kills and cause of death from the game's own
        account where there is one; `facts` holds that account whole."""
        facts = self.worker.facts()
        report = dict(self._run)
        report["kills"] = None if facts is None else facts["kills"]
        report["death"] = "" if facts is None else facts["death"]
        if facts is not None:
            report["facts"] = dict(facts)
        return report

    def _info(self, perception: Perception, terms: dict[str, float], step_s: float) -> dict[str, Any]:
        return {
            "reward_terms": terms,
            "perception": perception,
            "hud": perception.hud,
            "timing": {"step_s": step_s, "frame_age_s": perception.perceived_at_s - perception.captured_at_s},
        }
