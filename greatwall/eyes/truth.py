"""The embedded game's own state as facts, in the same words as vision. The only eyes that see state.

`see` runs on the perceiving thread, `read_hud` on the OCR thread; neither keeps anything.
"""

from __future__ import annotations

from config import GameProfile
from greatwall.contracts import Frame, Ground, HudRead, Scene, Sight
from greatwall.errors import ConfigError

NO_HUD = HudRead()


class TruthEyes:
    """What vision would see if it made no mistake; needs frames of the embedded game."""

    def __init__(self, profile: GameProfile) -> None:
        x, _, w, _ = profile.rider_box
        self._from_x = x + w
        self._step_px = profile.terrain_step_px

    def see(self, frame: Frame) -> Sight:
        """Objects and gaps of the frame, all with their ids. Raises `ConfigError` without truth."""
        scene = frame.scene
        if scene is None:
            raise _no_truth()
        return Sight(scene.objects, Ground(scene.gaps, self._from_x, frame.size[0], step_px=self._step_px))

    def read_hud(self, frame: Frame) -> HudRead:
        """The HUD's values; all None on a page without a HUD."""
        scene: Scene | None = frame.scene
        if scene is None:
            raise _no_truth()
        return scene.hud or NO_HUD

    def reset(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is held."""


def _no_truth() -> ConfigError:
    return ConfigError(
        "truth eyes: expected a frame of the embedded game, found one without its state; "
        "use --device simulator or --eyes vision"
    )
