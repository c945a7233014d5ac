"""The user's names for what the Worker publishes: each is a view of the newest perception or HUD.

Read from any thread; two of them read one after the other may come from two frames, `perception` never.
"""

from __future__ import annotations

from config import Config
from greatwall.contracts import Frame, GameObject, Hud, Perception
from greatwall.worker.latest_frame import LatestFrame


class SharedNames:
    """Base of the Worker; the Worker alone sets what these look at."""

    config: Config
    slot: LatestFrame
    _perception: Perception | None
    _hud: Hud

    @property
    def _latest_frame(self) -> Frame | None:
        return self.slot.newest

    @property
    def horse_pos(self) -> tuple[float, float, float, float]:
        """x1, y1, x2, y2 of the rider; where it stands on the ground before it was seen."""
        if self._perception is None:
            x, y, w, h = self.config.profile.rider_box
            return x, y, x + w, y + h
        return self._perception.horse_pos

    @property
    def danger_list(self) -> tuple[GameObject, ...]:
        return () if self._perception is None else self._perception.danger_list

    @property
    def enemy_list(self) -> tuple[GameObject, ...]:
        return () if self._perception is None else self._perception.enemy_list

    @property
    def soul_list(self) -> tuple[GameObject, ...]:
        return () if self._perception is None else self._perception.soul_list

    @property
    def coin_list(self) -> tuple[GameObject, ...]:
        return () if self._perception is None else self._perception.coin_list

    @property
    def shoot_target(self) -> tuple[float, float] | None:
        return None if self._perception is None else self._perception.shoot_target

    @property
    def shared_lives(self) -> int | None:
        return self._hud.lives

    @property
    def shared_arrows(self) -> int | None:
        return self._hud.arrows

    @property
    def shared_coins(self) -> int | None:
        return self._hud.coins

    @property
    def shared_distance(self) -> int | None:
        return self._hud.distance
