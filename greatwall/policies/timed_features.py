"""The features extractor that thinks in seconds: when a hazard is met, how long ago a touch was made.

What a jump needs is a time, nearly the same at every speed, while the distance it needs grows with speed.
So distances are divided by the speed at which they shrink, which the extras tell, and times are spread
over radial bases. Runs on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from config import GREAT_WALL
from greatwall.contracts import OBSERVATION_SIZE, TERRAIN_SAMPLES
from greatwall.extras import (
    CLIMB_SCALE_PX_S,
    FRAME_AGE_SCALE_S,
    HAZARD_FIELDS,
    HAZARDS,
    HEIGHT_SCALE_PX,
    LANDING_SCALE_S,
    SPEED_SCALE_PX_S,
    TOUCH_FIELDS,
    TOUCH_SCALE_S,
    TOUCHES,
    extras_layout,
)
from greatwall.policies.decoding import OBJECT_RANGE_PX, TERRAIN_STEP_PX, nearest_gap, radial_bases

USUAL_PX_S = 400.0  # where no extra tells the speed
SLOWEST_PX_S = 100.0
USUAL_WIDTH_PX = 86.0  # of what the 207 numbers show the near edge of
BEHIND_S = 0.5
TOUCH_S = 1.6  # after a delay and a jump a touch has no effect any more
HEIGHT_STEP_PX = 40.0
CLIMB_STEP_PX_S = 250.0
SPEED_STEP_PX_S = 250.0
LANDING_FROM_S, LANDING_BASES = -1.0, 28  # a hazard's beginning and end as seen from the landing
KINDS = 4  # obstacle, enemy, gap, enemy that was shot at


class TimedFeatures(BaseFeaturesExtractor):
    """Seconds until each hazard begins and ends, by kind, and since each touch, over radial bases.

    Hazards are those of the extra `ahead`, else the nearest of each kind in the 207 numbers. Speed and
    touches come from `motion` and `touches`, else from `recall`; without these the speed is the usual one.
    """

    hazard_s: torch.Tensor
    touch_s: torch.Tensor
    landing_s: torch.Tensor
    height_px: torch.Tensor
    climb_px_s: torch.Tensor
    speed_px_s: torch.Tensor
    each_its_kind: torch.Tensor
    cells: torch.Tensor

    def __init__(
        self,
        observation_space: spaces.Box,
        extras: Sequence[str] = (),
        spacing_s: float = 0.08,
        horizon_s: float = 1.6,
    ) -> None:
        layout = extras_layout(extras, OBSERVATION_SIZE)
        self._where = layout
        bases = round((horizon_s + BEHIND_S) / spacing_s) + 1
        touch_bases = round(TOUCH_S / spacing_s) + 1
        slots = HAZARDS if "ahead" in layout else 3
        size = slots * (KINDS + 2) * bases + slots * (KINDS + 3)
        size += (slots - 1) * touch_bases  # between one hazard and the next
        size += 9  # souls, coins, HUD
        if "motion" in layout or "recall" in layout:
            size += 11 + slots * 2 * LANDING_BASES  # speed, landing
        if "motion" in layout:
            size += 11 + 13 + 2  # height, climb
        if "touches" in layout or "recall" in layout:
            size += TOUCHES * (2 * touch_bases + len(TOUCH_FIELDS))
        super().__init__(observation_space, size)
        self.spacing_s = float(spacing_s)
        x1, _, w, _ = GREAT_WALL.rider_box
        self._rider = float(x1), float(x1 + w)
        self._width = float(GREAT_WALL.frame_size[0])
        self._keep("hazard_s", torch.arange(bases) * spacing_s - BEHIND_S)
        self._keep("touch_s", torch.arange(touch_bases) * spacing_s)
        self._keep("landing_s", torch.arange(LANDING_BASES) * spacing_s + LANDING_FROM_S)
        self._keep("height_px", torch.arange(11) * HEIGHT_STEP_PX)
        self._keep("climb_px_s", (torch.arange(13) - 6) * CLIMB_STEP_PX_S)
        self._keep("speed_px_s", torch.arange(1, 10) * SPEED_STEP_PX_S)
        self._keep("each_its_kind", torch.eye(3, KINDS))
        self._keep("cells", torch.arange(TERRAIN_SAMPLES))

    def _keep(self, name: str, values: torch.Tensor) -> None:
        self.register_buffer(name, values, persistent=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        parts: list[torch.Tensor] = []
        speed, age_s, landing_s = self._speed(observations, parts)
        self._hazards(observations, speed, age_s, landing_s, parts)
        self._touches(observations, parts)
        soul, coin = (observations[:, TERRAIN_SAMPLES + i] for i in (2, 3))
        arrows, coins, lives = observations[:, TERRAIN_SAMPLES + 4 : OBSERVATION_SIZE].unbind(1)
        plain = [
            soul,
            (soul < 1.0).to(torch.float32),
            (soul * OBJECT_RANGE_PX / speed).clamp(max=1.5),
            coin,
            (coin < 1.0).to(torch.float32),
            (coin * OBJECT_RANGE_PX / speed).clamp(max=1.5),
            arrows * 2.0,
            (arrows > 0).to(torch.float32),
            lives * 2.0,
        ]
        del coins  # how many there are changes nothing
        parts.append(torch.stack(plain, 1))
        return torch.cat(parts, 1)

    def _speed(
        self, observations: torch.Tensor, parts: list[torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """px/s, the frame's age and s until landing where known, (N,) each; what is known of the rider's
        own motion goes to `parts`."""
        where = self._where
        age_s = torch.zeros_like(observations[:, 0])
        if "motion" in where:
            height, climb, share, age, landing = observations[:, where["motion"]].unbind(1)
            height_px, climb_px_s = height * HEIGHT_SCALE_PX, (climb - 0.5) * CLIMB_SCALE_PX_S
            parts.append(radial_bases(height_px, self.height_px, HEIGHT_STEP_PX))
            parts.append(radial_bases(climb_px_s, self.climb_px_s, CLIMB_STEP_PX_S))
            parts.append(torch.stack((height, climb - 0.5), 1))
            age_s = age * FRAME_AGE_SCALE_S
        elif "recall" in where:
            share, landing = observations[:, where["recall"]][:, :2].unbind(1)
        else:
            return torch.full_like(age_s, USUAL_PX_S), age_s, None
        speed = (share * SPEED_SCALE_PX_S).clamp(min=SLOWEST_PX_S)
        parts.append(radial_bases(speed, self.speed_px_s, SPEED_STEP_PX_S))
        parts.append(torch.stack((share, landing), 1))
        return speed, age_s, landing * LANDING_SCALE_S

    def _hazards(
        self,
        observations: torch.Tensor,
        speed: torch.Tensor,
        age_s: torch.Tensor,
        landing_s: torch.Tensor | None,
        parts: list[torch.Tensor],
    ) -> None:
        x1, x2 = self._rider
        if "ahead" in self._where:
            slots = observations[:, self._where["ahead"]].unflatten(1, (HAZARDS, len(HAZARD_FIELDS)))
            obstacle, enemy, gap, left, right, height, closing, shot_ago = slots.unbind(2)
            shot = enemy * (shot_ago < 1.0)
            kinds = torch.stack((obstacle, enemy - shot, gap, shot), 2)
            left, right = left * self._width, right * self._width
            closing = (closing * SPEED_SCALE_PX_S).clamp(min=SLOWEST_PX_S)
        else:
            kinds, left, right = self._nearest(observations)
            height = torch.zeros_like(left)
            closing = speed.unsqueeze(1)
        begins_s = (left - x2) / closing - age_s.unsqueeze(1)
        ends_s = (right - x1) / closing - age_s.unsqueeze(1)
        begins = radial_bases(begins_s, self.hazard_s, self.spacing_s)
        ends = radial_bases(ends_s, self.hazard_s, self.spacing_s)
        parts.append((kinds.unsqueeze(-1) * begins.unsqueeze(-2)).flatten(1))
        solid = kinds[:, :, 0] + kinds[:, :, 1] + kinds[:, :, 3]
        groups = torch.stack((solid, kinds[:, :, 2]), 2)
        parts.append((groups.unsqueeze(-1) * ends.unsqueeze(-2)).flatten(1))
        there = kinds.sum(2)
        if landing_s is not None:
            both = torch.stack((begins_s, ends_s), 2) - landing_s[:, None, None]
            near = radial_bases(both, self.landing_s, self.spacing_s) * there[:, :, None, None]
            parts.append(near.flatten(1))
        between = radial_bases(begins_s[:, 1:] - ends_s[:, :-1], self.touch_s, self.spacing_s)
        parts.append((between * there[:, 1:].unsqueeze(-1)).flatten(1))
        plain = torch.stack(
            (there * begins_s.clamp(-1.0, 2.0), there * ends_s.clamp(-1.0, 2.0), there * height * 2.0), 2
        )
        parts.append(torch.cat((kinds, plain), 2).flatten(1))

    def _nearest(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The nearest obstacle, enemy and gap of the 207 numbers, from left to right: kinds (N, 3, 4),
        edges in px (N, 3)."""
        here, first, end = nearest_gap(observations, self.cells)
        share = observations[:, TERRAIN_SAMPLES : TERRAIN_SAMPLES + 2]
        there = torch.cat(((share < 1.0).to(torch.float32), here.to(torch.float32).unsqueeze(1)), 1)
        kinds = there.unsqueeze(-1) * self.each_its_kind
        x2 = self._rider[1]
        near = x2 + share * OBJECT_RANGE_PX
        cell_px = torch.stack((first, end), 1).to(torch.float32) * TERRAIN_STEP_PX + x2
        left = torch.cat((near, cell_px[:, :1]), 1)
        right = torch.cat((near + USUAL_WIDTH_PX, cell_px[:, 1:]), 1)
        left, order = left.sort(1)
        kinds = kinds.gather(1, order.unsqueeze(-1).expand(-1, -1, KINDS))
        return kinds, left, right.gather(1, order)

    def _touches(self, observations: torch.Tensor, parts: list[torch.Tensor]) -> None:
        where = self._where
        if "touches" in where:
            numbers = observations[:, where["touches"]]
        elif "recall" in where:
            numbers = observations[:, where["recall"]][:, 2:]
        else:
            return
        touches = numbers.unflatten(1, (TOUCHES, len(TOUCH_FIELDS)))
        bases = radial_bases(touches[:, :, 2] * TOUCH_SCALE_S, self.touch_s, self.spacing_s)
        parts.append((touches[:, :, :2].unsqueeze(-1) * bases.unsqueeze(-2)).flatten(1))
        parts.append(touches.flatten(1))
