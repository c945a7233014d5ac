"""The phone's only way of seeing: detector, ground scan and HUD reader put together.

`see` runs on the perceiving thread, `read_hud` on the OCR thread; each uses parts of its own.
"""

from __future__ import annotations

from config import EyesConfig, GameProfile
from greatwall.contracts import Frame, HudRead, Sight
from greatwall.eyes.detector import Detector
from greatwall.eyes.hud import HudReader
from greatwall.eyes.terrain import TerrainScanner


class VisionEyes:
    """Everything from the pixels of one frame. Raises `ConfigError` where a part is missing."""

    def __init__(self, profile: GameProfile, config: EyesConfig) -> None:
        x, _, w, _ = profile.rider_box
        self._rider_x2_share = (x + w) / profile.frame_size[0]
        self._terrain = TerrainScanner(profile)
        self._detector = Detector(profile, config)
        self._hud = HudReader(profile, config)

    def see(self, frame: Frame) -> Sight:
        """Gaps, then objects, none of them tracked yet; cells begin where the rider usually stands."""
        bgr = frame.bgr
        ground = self._terrain.scan(bgr, self._rider_x2_share * bgr.shape[1])
        return Sight(self._detector.detect(bgr), ground)

    def read_hud(self, frame: Frame) -> HudRead:
        """The HUD's digits, unfiltered."""
        return self._hud.read(frame.bgr)

    @property
    def runtime(self) -> str:
        """What runs the detector, for reports."""
        return self._detector.network.name

    @property
    def hud_engine(self) -> str:
        """What reads the HUD, for reports."""
        return self._hud.engine.name

    def reset(self) -> None:
        """No part remembers anything between frames."""

    def close(self) -> None:
        """Let Tesseract go; call it when no thread uses these eyes any more."""
        self._hud.close()
