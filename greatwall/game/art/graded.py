"""Colour changes laid over finished pictures, once, when a `Painter` is made. Pure; any thread."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from greatwall.contracts import FrameArray
from greatwall.game.art.canvas import Color, Sprite
from greatwall.game.art.scenery import Strip
from greatwall.game.art.wall import Wall
from greatwall.game.grades import Grade

HELD_ROWS = 16  # rows to each side of the scanned one that keep to the ground colours
HELD_LEVELS = 12  # from the nearer ground colour; a gap's darker rim comes on top
VALLEY_LEVELS = 44  # a gap's deepest rows differ at least this much, in one channel, from either
DARK, PALE = (10, 8, 6), (236, 232, 226)


def graded(pixels: FrameArray, grade: Grade) -> FrameArray:
    """Opaque pixels (h, w, 3) under `grade`."""
    if grade.changes_nothing or not pixels.size:
        return pixels
    return np.asarray(cv2.transform(pixels, np.array(grade.rows)), np.uint8)


def graded_sprite(sprite: Sprite, grade: Grade) -> Sprite:
    """A sprite under `grade`; its opacity stays."""
    if grade.changes_nothing:
        return sprite
    return Sprite(_graded_ink(sprite.ink, sprite.keep, grade), sprite.keep)


def graded_strip(layer: Strip, grade: Grade) -> Strip:
    """A layer under `grade`; its opacity stays."""
    if grade.changes_nothing:
        return layer
    rows = layer.solid - layer.top
    upper = _graded_ink(layer.pixels[:rows], layer.keep, grade)
    lower = graded(np.ascontiguousarray(layer.pixels[rows:]), grade)
    return layer._replace(pixels=np.ascontiguousarray(np.concatenate([upper, lower])))


def _graded_ink(ink: FrameArray, keep: FrameArray, grade: Grade) -> FrameArray:
    """Ink is colour times opacity, so the grade's constant part counts as much as there is opacity."""
    if not ink.size:
        return ink
    rows = np.array(grade.rows, np.float32)
    opacity = cv2.subtract(np.full_like(keep, 255), keep).astype(np.float32)
    changed = cv2.transform(ink.astype(np.float32), np.ascontiguousarray(rows[:, :3]))
    changed = changed + opacity * (rows[:, 3] / 255)
    return np.rint(np.clip(changed, 0, opacity)).astype(np.uint8)


def graded_wall(wall: Wall, scanned: int, grade: Grade, valley: Grade, colors: Sequence[Color]) -> Wall:
    """The wall under `grade`, what its gaps show under `valley`.

    `colors` are the ground colours as this look draws them: the face keeps close to them about the
    scanned row, and the deep of a gap keeps away from them.
    """
    face = graded(wall.face, grade)
    row = scanned - wall.ground_y
    held = slice(row - HELD_ROWS, row + HELD_ROWS)
    if face is wall.face:
        face = face.copy()
    face[held] = _held(face[held], colors)
    return wall.with_art(
        face=face,
        valley=_apart(graded_strip(wall.valley, valley), row, colors),
        parapet=graded_strip(wall.parapet, grade),
        tower=graded_sprite(wall.tower, grade),
        ends=(graded_sprite(wall.ends[0], grade), graded_sprite(wall.ends[1], grade)),
    )


def _held(pixels: FrameArray, colors: Sequence[Color]) -> FrameArray:
    """Every pixel brought to within `HELD_LEVELS` of the ground colour it is nearest to."""
    levels = pixels.astype(np.int16)
    far = np.stack([np.abs(levels - np.array(color, np.int16)).max(axis=2) for color in colors])
    base = np.array(colors, np.int16)[far.argmin(axis=0)]
    return np.clip(levels, base - HELD_LEVELS, base + HELD_LEVELS).clip(0, 255).astype(np.uint8)


def _apart(valley: Strip, row: int, colors: Sequence[Color]) -> Strip:
    """The valley, darkened or misted towards its lower edge as far as the ground colours need it."""
    rows = valley.pixels[row - HELD_ROWS : row + HELD_ROWS]
    for share in np.linspace(0, 1, 11):
        for end in (DARK, PALE):
            if _distance(_towards(rows, end, share), colors) >= VALLEY_LEVELS:
                height = valley.pixels.shape[0]
                shares = np.clip(np.arange(height) / (row - HELD_ROWS), 0, 1)[:, None, None] ** 1.5 * share
                return valley._replace(pixels=_towards(valley.pixels, end, shares))
    raise AssertionError("one of black and white is always far enough from two near colours")


def _towards(pixels: FrameArray, end: Color, share: object) -> FrameArray:
    mixed = pixels + np.asarray(share, np.float32) * (np.array(end, np.float32) - pixels)
    return np.rint(mixed).astype(np.uint8)


def _distance(pixels: FrameArray, colors: Sequence[Color]) -> int:
    levels = pixels.astype(np.int16)
    return min(int(np.abs(levels - np.array(color, np.int16)).max(axis=2).min()) for color in colors)
