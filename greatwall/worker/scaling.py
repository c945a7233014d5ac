"""Between the device's px and the profile's: what is above the Worker knows only the profile's size.

Pure; runs on whichever thread perceives or touches.
"""

from __future__ import annotations

from greatwall.contracts import Gap, Ground, Sight


def scaled_sight(sight: Sight, sx: float, sy: float, width: int, step_px: int) -> Sight:
    """The sight with every coordinate times `sx`, `sy`; the ground row is then `width` px wide."""
    objects = tuple(
        one._replace(x=one.x * sx, y=one.y * sy, w=one.w * sx, h=one.h * sy) for one in sight.objects
    )
    gaps = tuple(Gap(gap.x1 * sx, gap.x2 * sx, gap.track_id) for gap in sight.ground.gaps)
    return Sight(objects, Ground(gaps, sight.ground.from_x * sx, width, step_px=step_px))
