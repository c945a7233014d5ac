"""A Worker on the simulator through truth eyes, with switches to break both."""

from __future__ import annotations

from typing import Any, NamedTuple

from config import GREAT_WALL, Config, GameProfile, replace_in, with_variants
from greatwall.contracts import Action, ActionOrder, ActionResult
from greatwall.device.simulator import SimulatedDevice
from greatwall.eyes.truth import TruthEyes
from ppo_acting import Worker
from tests.rigs.faulty import FaultyDevice, FaultyEyes


class Rig(NamedTuple):
    worker: Worker
    device: FaultyDevice
    eyes: FaultyEyes

    def act(self, action: Action, action_id: int = 1, timeout_s: float = 5.0) -> ActionResult | None:
        """Post an order as the Master does and wait for its result; None on timeout."""
        worker = self.worker
        worker.action_done.clear()
        worker.env_action_queue.put(ActionOrder(action_id, action), timeout=1.0)
        if not worker.wait(worker.action_done, timeout_s):
            return None
        return worker.result


def make_rig(
    clock: str = "game",
    *,
    size: tuple[int, int] | None = None,
    variants: tuple[str, ...] = (),
    delays: dict[str, Any] | None = None,
    profile: GameProfile = GREAT_WALL,
    **worker: Any,
) -> Rig:
    """A rig that is not started yet; `worker` are changes of `config.worker`."""
    config = with_variants(Config(profile=profile), variants)
    config = replace_in(config, "eyes", kind="truth")
    config = replace_in(config, "worker", clock=clock, **worker)
    if delays:
        config = replace_in(config, "delays", **delays)
    device = FaultyDevice(SimulatedDevice(config), size)
    eyes = FaultyEyes(TruthEyes(config.profile))
    return Rig(Worker(config, device, eyes), device, eyes)
