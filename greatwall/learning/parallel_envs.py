"""Training envs in several processes: what SB3's `DummyVecEnv` does, on all cores, number for number.

Each process steps its share one after another, so that a step of all costs one message, not one an env.
Main thread; the others are a crew's (`crew.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from greatwall.contracts import FloatArray
from greatwall.learning.crew import Crew

Env = gym.Env[FloatArray, int]
Wrapper = type[gym.Wrapper[Any, Any, Any, Any]]


class EnvShare:
    """The envs of one process."""

    def __init__(self, makers: Sequence[Callable[[], Env]]) -> None:
        self._envs = DummyVecEnv(list(makers))

    def reset(self) -> tuple[VecEnvObs, list[dict[str, Any]]]:
        return self._envs.reset(), self._envs.reset_infos

    def step(self, actions: NDArray[Any]) -> VecEnvStepReturn:
        return self._envs.step(actions)

    def spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        return self._envs.observation_space, self._envs.action_space

    def get(self, indices: Sequence[int], name: str) -> list[Any]:
        return self._envs.get_attr(name, indices)

    def set(self, indices: Sequence[int], name: str, value: Any) -> list[None]:
        self._envs.set_attr(name, value, indices)
        return [None] * len(indices)

    def do(
        self, indices: Sequence[int], name: str, given: tuple[Any, ...], named: dict[str, Any]
    ) -> list[Any]:
        return self._envs.env_method(name, *given, indices=indices, **named)

    def is_wrapped(self, indices: Sequence[int], wrapper: Wrapper) -> list[bool]:
        return self._envs.env_is_wrapped(wrapper, indices)

    def close(self) -> None:
        self._envs.close()


class ParallelEnvs(VecEnv):
    """SB3's `VecEnv` over envs in equal shares over `processes`, this one included.

    Makers and what is asked of envs must be picklable. Raises what an env raises; `CrewError` when a process
    ended. The seed and options of `VecEnv` are not handed on: `TrainingEpisodes` has its own.
    """

    def __init__(self, makers: Sequence[Callable[[], Env]], processes: int) -> None:
        count = len(makers)
        processes = max(1, min(processes, count))
        bounds = [count * part // processes for part in range(processes + 1)]
        self._shares = [range(low, high) for low, high in pairwise(bounds)]
        self._crew: Crew[EnvShare] = Crew(
            [partial(EnvShare, [makers[index] for index in share]) for share in self._shares], processes
        )
        self._actions: NDArray[Any] = np.zeros(0)
        super().__init__(count, *self._crew.here[0].spaces())

    def reset(self) -> VecEnvObs:
        found = self._crew.call("reset", [()] * len(self._shares))
        self.reset_infos = [info for _, infos in found for info in infos]
        self._reset_seeds()
        self._reset_options()
        return np.concatenate([observations for observations, _ in found])

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        parts = [(self._actions[share.start : share.stop],) for share in self._shares]
        observations, rewards, dones, infos = zip(*self._crew.call("step", parts), strict=True)
        together = np.concatenate(observations), np.concatenate(rewards), np.concatenate(dones)
        return (*together, [info for some in infos for info in some])

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        if attr_name == "render_mode":  # asked before the other processes have begun; none shows anything
            return [None for _ in self._get_indices(indices)]
        return self._each("get", indices, attr_name)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        self._each("set", indices, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        return self._each("do", indices, method_name, method_args, method_kwargs)

    def env_is_wrapped(self, wrapper_class: Wrapper, indices: VecEnvIndices = None) -> list[bool]:
        return self._each("is_wrapped", indices, wrapper_class)

    def close(self) -> None:
        self._crew.close()

    def _each(self, method: str, indices: VecEnvIndices, *about: Any) -> list[Any]:
        """`EnvShare`'s method of that name of each of these envs, in the order asked for."""
        wanted = [range(self.num_envs)[index] for index in self._get_indices(indices)]
        parts = {
            number: [index - share.start for index in share if index in wanted]
            for number, share in enumerate(self._shares)
        }
        asked = [number for number, part in parts.items() if part]
        found = self._crew.call(method, [(parts[number], *about) for number in asked], asked)
        by_index = {
            self._shares[number].start + index: one
            for number, some in zip(asked, found, strict=True)
            for index, one in zip(parts[number], some, strict=True)
        }
        return [by_index[index] for index in wanted]
