"""The screen as scrcpy's server sends it: a framed H.264 stream, drained by a thread of its own.

The thread decodes every picture as it comes, so that nothing piles up; a slow reader of frames just sees
fewer of them. The server may be shared with the touches and is closed by whoever started it.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time

from greatwall.device.phone.captures import JOIN_S, SILENCE_S, Capture
from greatwall.device.phone.h264 import H264Decoder
from greatwall.device.phone.link import AdbLink, acknowledge_at_once
from greatwall.device.phone.scrcpy import RESET_VIDEO, FramedParser, Packet
from greatwall.device.phone.scrcpy_server import ScrcpyServer
from greatwall.device.phone.stream_clock import StreamClock
from greatwall.errors import DeviceError

LOG = logging.getLogger("greatwall.phone")
CHUNK = 1 << 18
RESET_EVERY_S = 0.5  # a whole picture is asked for at most this often
BROKEN_FOR_S = 5.0  # a stream of which nothing can be made for this long is over


class ScrcpyCapture(Capture):
    """Through a server that was started with video."""

    name = "scrcpy"
    hint = "wake the phone, or use --capture screenrecord"

    def __init__(self, link: AdbLink, server: ScrcpyServer) -> None:
        super().__init__()
        self._link, self._server = link, server
        self._parser = FramedParser()
        self._decoder = H264Decoder()
        self._clock = StreamClock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._drain, name="capture", daemon=True)
        self._reset_at_s = 0.0
        self._good_at_s = 0.0

    def _begin(self) -> None:
        self._good_at_s = time.perf_counter()
        self._thread.start()

    # --- the thread ---------------------------------------------------------------------------

    def _drain(self) -> None:
        stream = self._server.video
        assert stream is not None, "a server started with video"
        try:
            self._take_all(self._parser.feed(self._server.begun))
            stream.settimeout(SILENCE_S)
            buffer = bytearray(CHUNK)
            view = memoryview(buffer)
            while not self._stop.is_set():
                acknowledge_at_once(stream)
                try:
                    count = stream.recv_into(buffer)
                except TimeoutError:
                    self._link.check_answers(SILENCE_S)  # a screen that stands still, or a dead phone?
                    continue
                if not count:
                    self._link.check()
                    why = self._server.last_words or "no word"
                    raise DeviceError(
                        f"phone {self._link.serial}: expected scrcpy's stream to go on, found it closed "
                        f"({why}); it is opened again, or use --capture screenrecord"
                    )
                self._take_all(self._parser.feed(view[:count]))
        except (DeviceError, OSError) as error:
            if not self._stop.is_set():
                self._newest.fail(str(error) or type(error).__name__)

    def _take_all(self, packets: list[Packet]) -> None:
        now_s = time.perf_counter()
        broken_before = self._decoder.broken
        for packet in packets:
            if packet.is_config:
                self._decoder.configure(packet.payload)
                continue
            captured_at_s = self._clock.captured_at_s(packet.pts_us, now_s)
            for picture in self._decoder.decode(packet.payload, captured_at_s, packet.is_key):
                self._good_at_s = now_s
                self._show(picture, picture.captured_at_s, picture.size)
        if self._decoder.waits_for_key and self._decoder.broken > broken_before:
            self._ask_for_a_whole_picture(now_s)

    def _ask_for_a_whole_picture(self, now_s: float) -> None:
        if now_s - self._good_at_s > BROKEN_FOR_S:
            raise DeviceError(
                f"phone {self._link.serial}: expected pictures that can be decoded, found "
                f"{self._decoder.broken} broken ones in {BROKEN_FOR_S:g} s; use another cable, or "
                "--capture raw"
            )
        if self._server.control is not None and now_s - self._reset_at_s > RESET_EVERY_S:
            self._reset_at_s = now_s
            LOG.warning("phone %s: a broken picture came; waiting for a whole one", self._link.serial)
            with contextlib.suppress(OSError):
                self._server.send(RESET_VIDEO)

    # --- for people ---------------------------------------------------------------------------

    def health(self) -> str:
        width, height = self.size
        broken = f", {self._decoder.broken} broken" if self._decoder.broken else ""
        return f"scrcpy {width}x{height}, {self.frames} frames{broken}, {self._newest.age()}"

    def close(self) -> None:
        self._stop.set()
        stream = self._server.video
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        if self._thread.is_alive():
            self._thread.join(JOIN_S)
