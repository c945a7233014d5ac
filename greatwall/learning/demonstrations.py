"""Warm start: before it learns by itself, a policy is fitted to what a hand-written player would do.

First the teacher plays, with a random action now and then. After that, round by round, the learner plays
and the teacher says what it would have done (DAgger, Ross et al. 2011), so that the learner also knows the
way back from its own mistakes. All of it is played through truth. Every step of it is a step of the run.
Main thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from config import Config, replace_in
from game_env import GreatWallEnv
from greatwall.assembly import build_env
from greatwall.contracts import Action, FloatArray, Perception
from greatwall.learning.crew import Crew
from greatwall.learning.presets import Preset
from greatwall.learning.seeds import training_seed
from greatwall.learning.starts import moved_to
from greatwall.learning.training_envs import LIVES_INDEX, LIVES_SCALE
from greatwall.players import Teacher, WeighingTeacher, give_truth, make_player
from greatwall.players.rule207 import Rule207Player
from greatwall.policies.features import NormalisedFeatures
from greatwall.policies.network import ExtractedPolicy

DEMONSTRATION_ENV = 1_000_000  # above every training env's number: their courses are others
DRAW_STREAM = 71  # purpose tags of the generators
FIT_STREAM = 72
SEATS = 8  # games side by side, so that the learner is asked for all at once
SEGMENT_STEPS = 500  # then another course, at another speed
FROM_THE_START = 0.2  # the share of courses that begin at the course's own speed
TOP_SPEEDS_M_S = {False: 34.0, True: 75.0}  # without and with extras: how fast a course may begin
SLIPS = 0.05  # the share of random actions while the teacher plays
ROUNDS = 10  # the teacher's one included
LEAST_STAKE = 0.02  # the weight of a decision in which nothing is at stake
BATCH = 256
EPOCHS, LAST_EPOCHS = 4, 16  # of all that was collected so far
RATE = 1e-3
VALUE_WEIGHT = 0.5
UNKNOWN_SHARE = 0.05  # a return is known where what was cut off counts less than that


@dataclass(frozen=True)
class Progress:
    """After one round: how much was played, by whom, and how often the learner agrees with its teacher."""

    round: int
    rounds: int
    steps: int
    agreement: float
    loss: float


@dataclass
class Demonstrations:
    """What was seen, what the teacher would have done, how much was at stake, and what came of it.

    `features`, once `extract` was called: what the policy's extractor makes of it (`default`: 4.6 kB a step).
    """

    observations: list[FloatArray] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    stakes: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)  # NaN where it is not known
    features: list[torch.Tensor] = field(default_factory=list)

    def extract(self, policy: ExtractedPolicy) -> None:
        """All at once, for every epoch to come."""
        self.features = [policy.extract(torch.from_numpy(np.stack(self.observations)))]

    def __len__(self) -> int:
        return len(self.actions)


class _Seat:
    """One game that is played, and the teacher that watches it."""

    def __init__(self, env: GreatWallEnv, teacher: Teacher, config: Config, preset: Preset) -> None:
        self.env, self.teacher = env, teacher
        self._config, self._preset = config, preset
        self.observation: FloatArray = np.zeros(0, np.float32)
        self._perception: Perception
        self._taken: list[tuple[FloatArray, int, float]] = []
        self._rewards: list[float] = []
        self._discounts: list[float] = []
        self._ended = False

    def begin(self, seed: int, speed_m_s: float) -> FloatArray:
        """A course of that seed, from where it is that fast; its first observation."""
        course = self._config.course
        self.observation, info = self.env.reset(seed=seed)
        start_m = (speed_m_s - course.start_speed_m_s) / course.speed_gain_per_m
        if start_m > 0.0:
            saved = moved_to(self.env.save_game(), start_m, course.px_per_m)
            self.observation, info = self.env.reset(options={"state": saved})
        self._perception = info["perception"]
        give_truth(self.teacher, self.env.save_game)
        self.teacher.reset(seed)
        if isinstance(self.teacher, Rule207Player):
            self.teacher.begin_at(speed_m_s * course.px_per_m)
        self._taken, self._rewards, self._discounts = [], [], []
        return self.observation

    def advice(self) -> int:
        """What the teacher would do, noted with what is at stake."""
        stake = 1.0
        if isinstance(self.teacher, WeighingTeacher):
            action, stake = self.teacher.weigh(self._perception)
        else:
            action = self.teacher.advise(self.observation, self._perception)
        self._taken.append((self.observation, int(action), LEAST_STAKE + stake))
        return int(action)

    def ride(self, action: int) -> tuple[bool, FloatArray]:
        """`advice`, and then `step` whatever it is."""
        self.advice()
        return self.step(action)

    def step(self, action: int) -> tuple[bool, FloatArray]:
        """Do it. True at the end of the course or of the segment, and what is seen then."""
        self.teacher.took(Action(action))
        lives = self.observation[LIVES_INDEX]
        self.observation, reward, terminated, truncated, info = self.env.step(action)
        self._perception = info["perception"]
        lost = max(0.0, float(lives - self.observation[LIVES_INDEX]) * LIVES_SCALE)
        preset = self._preset
        self._rewards.append((reward - preset.life_penalty * round(lost)) * preset.reward_scale)
        periods = max(1.0, info["timing"]["step_s"] * self._config.worker.decision_hz)
        self._discounts.append(preset.gamma ** (periods if preset.gamma_by_time else 1.0))
        self._ended = terminated
        return terminated or truncated or len(self._taken) >= SEGMENT_STEPS, self.observation

    def hand_over(self) -> Demonstrations:
        """Everything since `begin`, or since this was called, but what was advised on and not yet done."""
        to = Demonstrations()
        value, left_out, returns = 0.0, 0.0 if self._ended else 1.0, []
        for reward, discount in zip(reversed(self._rewards), reversed(self._discounts), strict=True):
            value = reward + discount * value
            left_out *= discount
            returns.append(value if left_out < UNKNOWN_SHARE else math.nan)
        for (observation, action, stake), known in zip(self._taken, reversed(returns), strict=False):
            to.observations.append(observation)
            to.actions.append(action)
            to.stakes.append(stake)
            to.returns.append(known)
        self._taken, self._rewards, self._discounts = [], [], []
        return to

    def close(self) -> None:
        self.env.close()


def _seat(config: Config, preset: Preset) -> _Seat:
    return _Seat(build_env(config), make_teacher(preset.warm_start, config), config, preset)


class School:
    """Games and teachers for one warm start, in so many `processes`; the draws are a function of the run's
    seed. `close` it."""

    def __init__(self, config: Config, preset: Preset, run_seed: int, processes: int = 1) -> None:
        # As validation does: a teacher needs no pictures, and through vision this would take an hour.
        config = replace_in(config, "eyes", kind="truth")
        self._config, self._run_seed = config, run_seed
        self._rng = np.random.default_rng([DRAW_STREAM, run_seed])
        self._top_m_s = TOP_SPEEDS_M_S[bool(preset.network.extras)]
        self._seats = Crew([partial(_seat, config, preset)] * SEATS, processes)
        self._seen: list[FloatArray] = []  # what each seat sees
        self._episodes = [0] * SEATS

    def collect(self, steps: int, learner: ExtractedPolicy | None) -> Demonstrations:
        """That many steps, by the learner or, without one, by the teacher."""
        if not self._seen:
            self._seen = [np.zeros(0, np.float32)] * SEATS
            self._begin(range(SEATS))
        found = Demonstrations()
        for seats in self._turns(steps):
            if learner is None:
                advices = self._seats.call("advice", [()] * len(seats), seats)
                slips = self._rng.random(len(seats)) < SLIPS
                others = self._rng.integers(len(Action), size=len(seats))
                actions, do = np.where(slips, others, advices), "step"
            else:
                actions, do = _greedy(learner, [self._seen[index] for index in seats]), "ride"
            came_of_it = self._seats.call(do, [(int(action),) for action in actions], seats)
            ended = []
            for index, (is_over, observation) in zip(seats, came_of_it, strict=True):
                self._seen[index] = observation
                if is_over:
                    ended.append(index)
            self._hand_over(ended, found)
            self._begin(ended)
        self._hand_over(range(SEATS), found)
        return found

    def close(self) -> None:
        self._seats.close()

    def _hand_over(self, seats: Sequence[int], to: Demonstrations) -> None:
        for some in self._seats.call("hand_over", [()] * len(seats), seats):
            to.observations += some.observations
            to.actions += some.actions
            to.stakes += some.stakes
            to.returns += some.returns

    def _turns(self, steps: int) -> Iterator[range]:
        """All seats by turns, and at last as many as are left, so that it is exactly `steps`."""
        while steps > 0:
            yield range(min(SEATS, steps))
            steps -= SEATS

    def _begin(self, seats: Sequence[int]) -> None:
        courses = []
        slowest = self._config.course.start_speed_m_s
        for index in seats:
            seed = training_seed(self._run_seed, DEMONSTRATION_ENV + index, self._episodes[index])
            self._episodes[index] += 1
            speed = float(self._rng.uniform(slowest, max(slowest, self._top_m_s)))
            if self._rng.random() < FROM_THE_START:
                speed = slowest
            courses.append((seed, speed))
        for index, observation in zip(seats, self._seats.call("begin", courses, seats), strict=True):
            self._seen[index] = observation


def warm_start(
    policy: ExtractedPolicy,
    config: Config,
    preset: Preset,
    run_seed: int,
    on_round: Callable[[Progress], None],
    processes: int = 1,
) -> None:
    """Fit `policy` to its preset's teacher in `preset.demonstration_steps` steps of the game, played in so
    many `processes`. `CrewError` when one of them ended."""
    rounds = min(ROUNDS, preset.demonstration_steps)
    generator = torch.Generator().manual_seed(
        int(np.random.SeedSequence([FIT_STREAM, run_seed]).generate_state(1)[0])
    )
    optimiser = torch.optim.Adam(policy.parameters(), lr=RATE)
    school = School(config, preset, run_seed, processes)
    every = Demonstrations()
    played = 0
    try:
        for number in range(rounds):
            until = preset.demonstration_steps * (number + 1) // rounds
            new = school.collect(until - played, policy if number else None)
            played = until
            if number == 0 and isinstance(policy.features_extractor, NormalisedFeatures):
                policy.features_extractor.absorb(torch.from_numpy(np.stack(new.observations)))
            new.extract(policy)
            agreement = _agreement(policy, new)
            _add(every, new, keep_returns=number >= rounds - 2)
            del new
            last = number == rounds - 1
            loss = fit(policy, optimiser, every, LAST_EPOCHS if last else EPOCHS, generator, falling=last)
            on_round(Progress(number + 1, rounds, played, agreement, loss))
    finally:
        school.close()


def fit(
    policy: ExtractedPolicy,
    optimiser: torch.optim.Optimizer,
    data: Demonstrations,
    epochs: int,
    generator: torch.Generator,
    *,
    falling: bool,
) -> float:
    """Minibatches over all of `data`, extracted; the last minibatch's loss. `falling`: the rate goes to 0."""
    features = torch.cat(data.features)
    data.features = [features]  # not twice
    actions = torch.tensor(data.actions)
    stakes = torch.tensor(data.stakes, dtype=torch.float32)
    stakes = stakes / stakes.mean()
    returns = torch.tensor(data.returns, dtype=torch.float32)
    turns = max(1, epochs * len(data) // BATCH)
    loss = torch.zeros(())
    policy.set_training_mode(True)
    for turn in range(turns):
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - turn / turns) if falling else RATE
        drawn = torch.randint(len(data), (min(BATCH, len(data)),), generator=generator)
        seen: Any = policy.extract_features(features[drawn])
        logits = policy.action_net(policy.mlp_extractor.forward_actor(seen))
        unlikely = torch.nn.functional.cross_entropy(logits, actions[drawn], reduction="none")
        loss = (stakes[drawn] * unlikely).mean()
        known = ~torch.isnan(returns[drawn])
        if known.any():  # from most the critic has nothing to learn
            values = policy.value_net(policy.mlp_extractor.forward_critic(seen[known])).flatten()
            loss = loss + VALUE_WEIGHT * ((values - returns[drawn][known]) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
    policy.set_training_mode(False)
    return float(loss.detach())


def make_teacher(name: str, config: Config) -> Teacher:
    """The teacher of that name, one of `presets.TEACHERS`."""
    player = make_player(name, config)
    assert isinstance(player, Teacher)
    return player


def _add(every: Demonstrations, new: Demonstrations, *, keep_returns: bool) -> None:
    """What fitting needs. Returns of rounds long past are another policy's: no critic is to learn them."""
    every.actions += new.actions
    every.stakes += new.stakes
    every.features += new.features
    every.returns += new.returns if keep_returns else [math.nan] * len(new)


def _greedy(policy: ExtractedPolicy, observations: Sequence[FloatArray]) -> NDArray[np.int64]:
    with torch.no_grad():
        distribution = policy.get_distribution(torch.from_numpy(np.stack(observations)))
        found: NDArray[np.int64] = distribution.mode().numpy()
        return found


def _agreement(policy: ExtractedPolicy, data: Demonstrations) -> float:
    """Share of what is at stake in which the policy would do as advised."""
    with torch.no_grad():
        features: Any = policy.extract_features(torch.cat(data.features))
        logits = policy.action_net(policy.mlp_extractor.forward_actor(features))
    same = logits.argmax(1).numpy() == np.array(data.actions)
    return float(np.average(same, weights=data.stakes))
