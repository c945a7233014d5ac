"""Draws one `View` as a 1920x1080 frame. Pure after construction: any thread, nothing is changed.

Equal views give equal pixels. All textures come from fixed seeds when a `Painter` is made; drawing
then only lays slices and sprites over each other, from the sky to the HUD.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from config import GROUND_COLORS, CourseConfig, GameProfile
from greatwall.contracts import FrameArray
from greatwall.errors import ConfigError
from greatwall.game.art.canvas import Color, blit
from greatwall.game.art.enemies import PHASES as ENEMY_PHASES
from greatwall.game.art.enemies import make_enemies
from greatwall.game.art.graded import graded, graded_sprite, graded_strip, graded_wall
from greatwall.game.art.hud import HudArt
from greatwall.game.art.obstacles import draw_obstacle
from greatwall.game.art.pages import PagesArt, dimmed
from greatwall.game.art.rider import RiderArt
from greatwall.game.art.scenery import (
    Strip,
    make_clouds,
    make_hills,
    make_range,
    make_sky,
    make_woods,
)
from greatwall.game.art.treasure import COIN_PHASES, SOUL_PHASES, ArrowArt, make_coins, make_souls
from greatwall.game.art.wall import Span, Wall
from greatwall.game.art.weather import WeatherArt
from greatwall.game.looks import STANDARD, Look
from greatwall.game.view import Kind, Page, Thing, View

STRIDE_PX = 420.0  # px of wall for one whole gallop
TITLE_DRIFT = 6.0  # px a tick: the title page's scenery moves by itself
BLINK_TICKS = 4
FRAME_SIZE = (1920, 1080)
SHAKE_ROOM = 16  # rows; no look shakes further


@lru_cache(maxsize=2)
def _layers(ground: int) -> tuple[Strip, ...]:
    """The scenery of the standard look, from far to near; other looks change its colours."""
    return (
        make_clouds(60, 300),
        make_range(
            23,
            top=300,
            rise=190,
            bottom=600,
            lowest=3,
            dark=(172, 150, 122),
            lit=(206, 194, 178),
            haze=(212, 218, 222),
            speed=0.05,
            depth=210,
        ),
        make_range(
            29,
            top=410,
            rise=170,
            bottom=700,
            lowest=4,
            dark=(138, 124, 92),
            lit=(176, 168, 136),
            haze=(204, 210, 208),
            speed=0.11,
            depth=190,
        ),
        make_hills(490, 170, 800, 0.24),
        make_woods(640, 150, ground, 0.46),
    )


@lru_cache(maxsize=2)
def _wall(ground: int, bottom: int, scanned: int, colors: tuple[Color, ...]) -> Wall:
    return Wall(ground, bottom, scanned, colors)


_obstacle = lru_cache(maxsize=512)(draw_obstacle)


class Painter:
    """Makes frames of the embedded game in one look. The first takes about a second to make, another
    one less; a frame takes a few ms."""

    def __init__(self, course: CourseConfig, profile: GameProfile, look: Look = STANDARD) -> None:
        if profile.frame_size != FRAME_SIZE:
            raise ConfigError(
                f"game profile: expected frames of {FRAME_SIZE}, found {profile.frame_size}; "
                "its drawing knows no other size"
            )
        self.course = course
        self.look = look
        self.width, self.height = FRAME_SIZE
        ground = course.ground_y
        self._room = SHAKE_ROOM if look.shake_px else 0  # rows above and below that shaking may show
        self._sky = graded(make_sky(620, look.daylight.sky), look.sky_grade)
        self._layers = [graded_strip(layer, look.scenery_grade(layer.speed)) for layer in _layers(ground)]
        self._wall = self._made_wall(profile)
        grade = look.thing_grade
        self._rider = RiderArt(course.rider_w, course.rider_h, grade)
        enemies = make_enemies(round(course.enemy_w_px), round(course.enemy_h_px))
        self._enemies = [[graded_sprite(sprite, grade) for sprite in walk] for walk in enemies]
        self._coins = [graded_sprite(sprite, grade) for sprite in make_coins(round(course.coin_px))]
        self._souls = [graded_sprite(sprite, grade) for sprite in make_souls(round(course.soul_px))]
        self._arrows = ArrowArt(grade)
        self._obstacle = lru_cache(maxsize=128)(
            lambda kind, w, h: graded_sprite(_obstacle(kind, w, h), grade)
        )
        self._weather = WeatherArt(look.air, look.seed, ground, look.air_grade, look.screen_grade)
        self._hud = HudArt(look.profile(profile), look.hud_font, look.hud_layout, look.screen_grade)
        self._pages = PagesArt(self._scenery(0.0, []))

    def _made_wall(self, profile: GameProfile) -> Wall:
        look, ground = self.look, self.course.ground_y
        scanned = self.height - profile.ground_row_from_bottom
        if look.is_standard:
            return _wall(ground, self.height, scanned, profile.ground_colors)
        plain = _wall(ground, self.height, scanned, GROUND_COLORS)
        return graded_wall(plain, scanned, look.wall_grade, look.scenery_grade(0.6), look.ground_colors)

    def draw(self, view: View) -> FrameArray:
        """A new uint8 (1080, 1920, 3) BGR frame of `view`."""
        if view.page == Page.DEATH:
            return self._pages.death(view)
        if view.page == Page.LOADING:
            return self._pages.loading(view, self._rider.galloping(view.tick / 14, light=False))
        if view.page == Page.TITLE:
            x = view.x + view.tick * TITLE_DRIFT
            frame = self._scenery(x, [])
            sprite = self._rider.galloping(x / STRIDE_PX, light=False)
            blit(frame, sprite, self.course.rider_x, self.course.ground_y - sprite.size[1])
            self._pages.title(frame, view)
            return frame
        frame = self._world(view)
        if view.page == Page.PAUSED:
            frame = dimmed(frame)
        self._hud.paint(frame, view)
        if view.page == Page.PAUSED:
            self._pages.paused(frame)
        if view.page == Page.FALLEN:
            self._pages.fallen(frame)
        return frame

    def _world(self, view: View) -> FrameArray:
        right, down = self.look.shake(view.tick)
        x0 = view.x - right  # the camera's place; the rider's own is view.x
        gaps = [_gap_of(thing, x0) for thing in view.things if thing.kind == Kind.GAP]
        frame = self._scenery(x0, sorted(gaps))
        for thing in view.things:
            if thing.kind != Kind.GAP:
                self._paint_thing(frame, thing, view.tick, x0)
        self._paint_rider(frame, view, self.course.rider_x + right)
        for arrow in view.flying:
            half = self._arrows.half
            x, y = math.floor(arrow.x - x0), self.course.ground_y - math.floor(arrow.y)
            blit(frame, self._arrows.at(arrow.vx, arrow.vy), x - half, y - half)
        frame = self._moved(frame, down)
        self._weather.paint(frame, view.tick, x0)
        return frame

    def _scenery(self, x: float, gaps: list[Span]) -> FrameArray:
        """Sky to wall; the array has `_room` more rows above and below the frame it is a part of."""
        room = self._room
        frame = np.empty((self.height + 2 * room, self.width, 3), np.uint8)[room : room + self.height]
        frame[: len(self._sky)] = self._sky
        for layer in self._layers:
            layer.paint(frame, x)
        self._wall.paint(frame, x, gaps)
        return frame

    def _moved(self, frame: FrameArray, down: int) -> FrameArray:
        """What the camera shows after moving by `down` rows; the edge's rows repeat."""
        if not down:
            return frame
        whole, room = frame.base, self._room
        assert whole is not None
        whole[:room] = frame[0]
        whole[room + self.height :] = frame[-1]
        return whole[room - down : room - down + self.height]  # type: ignore[no-any-return]

    def _paint_thing(self, frame: FrameArray, thing: Thing, tick: int, x0: float) -> None:
        x = math.floor(thing.x_at(tick) - x0)
        if x >= self.width or x + thing.w < 0:
            return
        if thing.kind == Kind.OBSTACLE:
            sprite = self._obstacle(thing.look, round(thing.w), round(thing.h))
        elif thing.kind == Kind.ENEMY:
            walk = self._enemies[thing.look % len(self._enemies)]
            moving = thing.x_at(tick) != thing.x_at(tick - 1)
            step = (tick * ENEMY_PHASES // 24 + thing.id) % ENEMY_PHASES if moving else 0
            sprite = walk[step]
        elif thing.kind == Kind.COIN:
            sprite = self._coins[(tick + 2 * thing.id) * COIN_PHASES // 36 % COIN_PHASES]
        else:
            sprite = self._souls[(tick + 5 * thing.id) * SOUL_PHASES // 30 % SOUL_PHASES]
        lower = self.course.ground_y - math.floor(thing.bottom)
        blit(frame, sprite, x, lower - sprite.size[1])

    def _paint_rider(self, frame: FrameArray, view: View, x: int) -> None:
        light = view.invulnerable > 0 and view.invulnerable // BLINK_TICKS % 2 == 0
        if view.height == 0:
            sprite = self._rider.galloping(view.x / STRIDE_PX, light)
        else:
            sprite = self._rider.airborne(view.vy > 0, light)
        lower = self.course.ground_y - math.floor(view.height)
        blit(frame, sprite, x, lower - sprite.size[1])


def _gap_of(thing: Thing, x: float) -> Span:
    """The columns a gap takes away, rounded as everything is: the left edge down to a whole px."""
    left = math.floor(thing.x - x)
    return Span(left, left + math.floor(thing.w))
