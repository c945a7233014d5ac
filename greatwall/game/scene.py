"""The game's truth of one moment, in the words of the contracts: boxes, gaps, HUD, in screen px.

Boxes are rounded exactly as the drawing rounds them (left edge floored to a whole px), so truth and
pixels agree. Runs in whoever asks; changes nothing.
"""

from __future__ import annotations

import math

from config import CourseConfig, GameProfile
from greatwall.contracts import GameObject, Gap, HudRead, Scene
from greatwall.game.looks import STANDARD, Look
from greatwall.game.view import Kind, Page, View

CATEGORY = {Kind.OBSTACLE: "obstacle", Kind.ENEMY: "enemy", Kind.SOUL: "soul", Kind.COIN: "coin"}
_new = tuple.__new__  # a named tuple's own constructor costs twice as much, and this runs for every object
WITH_WORLD = (Page.PLAYING, Page.FALLEN, Page.PAUSED)  # pages that show the wall and the HUD


def scene_of(view: View, course: CourseConfig, profile: GameProfile, look: Look = STANDARD) -> Scene:
    """Truth boxes of everything whose box touches the frame; empty on pages without the wall.

    Under a look that shakes, everything moves as its picture does.
    """
    if view.page not in WITH_WORLD:
        return Scene((), (), None, view.page.name.lower())
    width = profile.frame_size[0]
    ground_y = course.ground_y
    rider_x = course.rider_x
    tick, x0 = view.tick, view.x
    if look.shake_px:
        dx, dy = look.shake(tick)
        ground_y += dy
        rider_x += dx
        x0 -= dx
    rider_y = ground_y - math.floor(view.height) - course.rider_h
    objects = [
        GameObject("horse", rider_x, rider_y, course.rider_w, course.rider_h, 1.0, 0),
    ]
    gaps = []
    for thing in view.things:
        left = math.floor((thing.x if thing.speed == 0.0 else thing.x_at(tick)) - x0)
        w = thing.w
        right = left + w
        if right <= 0 or left >= width:
            continue
        if thing.kind is Kind.GAP:
            gaps.append(Gap(max(0, left), min(width, right), thing.id))
            continue
        visible = 1.0 if left >= 0 and right <= width else (min(right, width) - max(left, 0)) / w
        top = ground_y - thing.bottom - thing.h
        category = CATEGORY[thing.kind]
        objects.append(_new(GameObject, (category, left, top, w, thing.h, 1.0, thing.id, 0.0, 0.0, visible)))
    hud = HudRead(view.lives, view.arrows, view.coins, view.distance_m)
    return Scene(tuple(objects), tuple(gaps), hud, view.page.name.lower())


def scaled(scene: Scene, x: float, y: float) -> Scene:
    """The same moment in a frame `x` times as wide and `y` times as high."""
    objects = tuple(one._replace(x=one.x * x, y=one.y * y, w=one.w * x, h=one.h * y) for one in scene.objects)
    gaps = tuple(gap._replace(x1=gap.x1 * x, x2=gap.x2 * x) for gap in scene.gaps)
    return scene._replace(objects=objects, gaps=gaps)
