"""Frames through JPEG and H.264: same size, same order, same pixels for the same pictures."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from greatwall.contracts import FrameArray
from greatwall.device.compression import Compression, compression_named

KINDS = ("jpeg", "h264")


def pictures(count: int, size: tuple[int, int] = (640, 360)) -> list[FrameArray]:
    """A bright square that wanders over a soft background: each picture is like no other."""
    width, height = size
    back = np.tile(np.linspace(40, 160, width)[None, :, None], (height, 1, 3)).astype(np.uint8)
    made = []
    for k in range(count):
        picture = back.copy()
        x = 10 + 30 * k
        picture[height // 3 : height // 3 + 60, x : x + 60] = (60, 200, 240)
        made.append(picture)
    return made


def sent(compression: Compression, shown: list[FrameArray]) -> list[FrameArray]:
    return [compression.pass_through(picture) for picture in shown]


def test_without_compression_the_picture_itself_arrives():
    picture = pictures(1)[0]
    assert compression_named("none").pass_through(picture) is picture


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(640, 360), (321, 181), (500, 240)])
def test_every_picture_arrives_at_once_in_its_size(kind: str, size: tuple[int, int]):
    compression = compression_named(kind)
    for picture in pictures(4, size):
        arrived = compression.pass_through(picture)
        assert arrived.shape == picture.shape
        assert arrived.dtype == np.uint8


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_arrive_in_order_changed_but_alike(kind: str):
    shown = pictures(12)
    for k, arrived in enumerate(sent(compression_named(kind), shown)):
        far = [np.abs(arrived.astype(int) - picture).mean() for picture in shown]
        assert int(np.argmin(far)) == k
        assert 0 < far[k] < 4


@pytest.mark.parametrize("kind", KINDS)
def test_equal_pictures_in_equal_order_give_equal_pixels(kind: str):
    shown = pictures(8)
    compression = compression_named(kind)
    first = sent(compression, shown)
    second = sent(compression_named(kind), shown)
    compression.restart()
    third = sent(compression, shown)
    for one, other, again in zip(first, second, third, strict=True):
        assert (one == other).all()
        assert (one == again).all()


def test_h264_depends_on_what_was_sent_before_as_a_stream_does():
    shown = pictures(8)
    alone = compression_named("h264").pass_through(shown[-1])
    assert (sent(compression_named("h264"), shown)[-1] != alone).any()


def test_h264_does_not_depend_on_the_number_of_threads():
    before = cv2.getNumThreads()
    first = sent(compression_named("h264"), pictures(5))
    cv2.setNumThreads(3)
    second = sent(compression_named("h264"), pictures(5))
    cv2.setNumThreads(before)
    assert all((one == other).all() for one, other in zip(first, second, strict=True))


def test_h264_goes_on_when_the_size_changes():
    compression = compression_named("h264")
    sent(compression, pictures(2))
    assert compression.pass_through(pictures(1, (400, 300))[0]).shape == (300, 400, 3)
