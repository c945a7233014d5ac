"""The Worker's hands: actions and points of the profile's frame as touches on the device.

The one place where touches are scaled to the device's real size; `Worker.see` is the way back. Runs on
whichever thread executes actions.
"""

from __future__ import annotations

from config import GameProfile
from greatwall.contracts import Action, Device, Perception


class Hands:
    """Touches one device as one game's profile says. Raises what the device raises."""

    def __init__(self, device: Device, profile: GameProfile) -> None:
        self._device = device
        self._profile = profile

    def tap(self, x: float, y: float) -> None:
        """Tap at a point of the profile's frame."""
        self._device.tap(*self._on_device(x, y))

    def swipe(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Swipe between two points of the profile's frame, as long as the profile's swipes take."""
        self._device.swipe(*self._on_device(x1, y1), *self._on_device(x2, y2), self._profile.swipe_ms)

    def act(self, action: Action, perception: Perception | None) -> None:
        """Jump, or shoot from the rider's centre at what `perception` aims at; wait touches nothing."""
        profile = self._profile
        if action is Action.JUMP:
            self.tap(*profile.jump_tap)
        elif action is Action.SHOOT and perception is not None:
            self.swipe(*perception.horse_center, *perception.shoot_target)
        elif action is Action.SHOOT:  # nothing seen yet: straight ahead of where the rider stands
            x, y, w, h = profile.rider_box
            x1, y1 = x + w / 2, y + h / 2
            self.swipe(x1, y1, x1 + profile.shoot_offset_px, y1)

    def _on_device(self, x: float, y: float) -> tuple[float, float]:
        (width, height), (across, down) = self._device.size, self._profile.frame_size
        return x * width / across, y * height / down
