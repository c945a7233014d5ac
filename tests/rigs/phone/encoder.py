"""H.264 as a phone's encoder gives it: one access unit a picture, parameter sets apart."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import av

from greatwall.contracts import FrameArray

KEY_INTERVAL = 300  # frames: 10 s at 30 frames/s, scrcpy's default


class Unit(NamedTuple):
    """One coded picture, Annex B without parameter sets."""

    data: bytes
    is_key: bool


class Encoder:
    """One stream of one size. The cheapest settings x264 has: what it costs is the rig's, not a phone's."""

    def __init__(self, size: tuple[int, int], bit_rate: int) -> None:
        context = av.CodecContext.create("libx264", "w")
        context.width, context.height = size
        context.pix_fmt = "yuv420p"
        context.time_base = Fraction(1, 1_000_000)
        context.framerate = Fraction(30, 1)
        context.bit_rate = bit_rate
        context.thread_count = 1
        context.flags |= av.codec.context.Flags.global_header
        context.options = {
            "preset": "ultrafast",
            "tune": "zerolatency",
            "x264-params": f"keyint={KEY_INTERVAL}:scenecut=0:sliced-threads=0:threads=1",
        }
        context.open()
        assert context.extradata is not None, "x264 gives its parameter sets when opened"
        self.size = size
        self.config = bytes(context.extradata)  # SPS and PPS
        self._context = context
        self._last_us = -1

    def encode(self, i420: FrameArray, at_s: float) -> Unit:
        """One picture in, its unit out at once; `i420` is (height * 3/2, width)."""
        frame = av.VideoFrame.from_ndarray(i420, format="yuv420p")
        self._last_us = frame.pts = max(round(at_s * 1e6), self._last_us + 1)
        packets = self._context.encode(frame)
        return Unit(b"".join(bytes(packet) for packet in packets), any(one.is_keyframe for one in packets))
