"""Cutting a bare stream into pictures, and decoding without hiding what is broken."""

from __future__ import annotations

import contextlib
import functools
from fractions import Fraction

import av
import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greatwall.device.phone.h264 import AnnexBCutter, CodedPicture, H264Decoder
from greatwall.device.phone.scrcpy import StreamError

SIZE = (320, 192)


def picture(number: int) -> np.ndarray:
    """Something that moves."""
    image = np.full((SIZE[1], SIZE[0], 3), 60, np.uint8)
    cv2.circle(image, (20 + 12 * number, 90), 30, (40, 200, 90), -1)
    return image


@functools.lru_cache(maxsize=4)
def coded(slices: int = 1, headers: bool = True, count: int = 12) -> tuple[bytes, ...]:
    """Pictures as an encoder of a phone makes them: whole one first, then changes."""
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height = SIZE
    encoder.pix_fmt = "yuv420p"
    encoder.time_base = Fraction(1, 30)
    encoder.options = {
        "preset": "ultrafast",
        "tune": "zerolatency",
        "x264-params": f"threads=1:slices={slices}:keyint=8:scenecut=0:repeat-headers={int(headers)}:aud=0",
    }
    found = []
    for number in range(count):
        frame = av.VideoFrame.from_ndarray(picture(number), format="bgr24")
        frame.pts = number
        found += [bytes(packet) for packet in encoder.encode(frame)]
    return tuple(found)


def is_key(number: int) -> bool:
    return number % 8 == 0


def decoder_after(count: int) -> H264Decoder:
    """One that has seen that many pictures."""
    decoder = H264Decoder()
    for number, payload in enumerate(coded()[:count]):
        assert len(decoder.decode(payload, float(number), is_key(number))) == 1
    return decoder


# --- the cutter -----------------------------------------------------------------------------------


@pytest.mark.parametrize("slices", [1, 3], ids=["one slice", "three slices a picture"])
def test_a_stream_is_cut_where_pictures_begin(slices: int) -> None:
    pictures = coded(slices)
    cutter = AnnexBCutter()
    found = cutter.feed(b"".join(pictures), 1.0) + cutter.flush()
    assert [one.payload for one in found] == list(pictures)
    assert [one.is_key for one in found] == [is_key(number) for number in range(len(pictures))]
    assert not cutter.torn


@settings(max_examples=60)
@given(st.sampled_from((1, 3)), st.lists(st.integers(0, 20_000), max_size=20))
def test_any_split_gives_the_same_pictures(slices: int, cuts: list[int]) -> None:
    stream = b"".join(coded(slices))
    cutter = AnnexBCutter()
    found: list[CodedPicture] = []
    ends = [*sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for start, end in zip([0, *ends], ends, strict=False):
        found += cutter.feed(stream[start:end], 1.0)
    found += cutter.flush()
    assert [one.payload for one in found] == list(coded(slices))


def test_a_quiet_stream_gives_its_picture_without_the_next_one() -> None:
    cutter = AnnexBCutter()
    for number, payload in enumerate(coded()):
        found = cutter.feed(payload, float(number)) + cutter.flush()
        assert found == [CodedPicture(payload, is_key(number), float(number))]


def test_a_picture_that_was_not_whole_yet_is_noticed() -> None:
    cutter = AnnexBCutter()
    payload = coded()[0]
    cutter.feed(payload[:-50], 1.0)
    assert cutter.flush()
    cutter.feed(payload[-50:], 2.0)
    assert cutter.torn


@settings(max_examples=50)
@given(st.binary(max_size=600), st.booleans())
def test_garbage_is_an_error_or_pictures_nobody_can_decode(garbage: bytes, marked: bool) -> None:
    cutter = AnnexBCutter()
    decoder = H264Decoder()
    start = b"\x00\x00\x00\x01\x65" if marked else b""
    with contextlib.suppress(StreamError):
        for one in cutter.feed(start + garbage, 1.0) + cutter.flush():
            assert decoder.decode(one.payload, 1.0, one.is_key) == []


def test_what_a_phone_says_instead_of_a_video_is_shown() -> None:
    with pytest.raises(StreamError, match="screenrecord: not found"):
        AnnexBCutter().feed(b"/system/bin/sh: screenrecord: not found\n", 1.0)


# --- the decoder ----------------------------------------------------------------------------------


def test_every_picture_comes_out_at_once_with_its_own_time() -> None:
    decoder = H264Decoder()
    for number, payload in enumerate(coded()):
        (one,) = decoder.decode(payload, 10.0 + number / 30, is_key(number))
        assert one.size == SIZE
        assert one.captured_at_s == pytest.approx(10.0 + number / 30, abs=1e-6)
        assert np.abs(one.draw().astype(int) - picture(number)).mean() < 4


def test_parameters_sent_apart_belong_before_the_next_picture() -> None:
    with_headers = coded()[0]
    start = with_headers.index(b"\x00\x00\x01\x65") - 1
    decoder = H264Decoder()
    decoder.configure(with_headers[:start])
    assert len(decoder.decode(with_headers[start:], 1.0, True)) == 1


def cut(payload: bytes) -> bytes:
    return payload[: len(payload) // 2]


def zeroed(payload: bytes) -> bytes:
    return payload[:6] + bytes(len(payload) - 6)


def noise(payload: bytes) -> bytes:
    return b"\x00\x00\x00\x01\x41" + np.random.default_rng(1).bytes(800)


@pytest.mark.parametrize("spoil", [cut, noise, zeroed], ids=lambda one: one.__name__)
def test_after_a_broken_picture_nothing_comes_before_a_whole_one(spoil: object) -> None:
    assert callable(spoil)
    decoder = decoder_after(4)
    pictures = coded()
    assert decoder.decode(spoil(pictures[4]), 4.0, False) == []
    assert decoder.waits_for_key
    for number in range(5, 8):
        assert decoder.decode(pictures[number], float(number), False) == []
    (whole,) = decoder.decode(pictures[8], 8.0, True)
    assert np.abs(whole.draw().astype(int) - picture(8)).mean() < 4
    assert decoder.broken == 4


def test_a_stream_entered_in_the_middle_waits_for_a_whole_picture() -> None:
    decoder = H264Decoder()
    assert decoder.decode(coded()[3], 1.0, False) == []
    assert len(decoder.decode(coded()[8], 2.0, True)) == 1
