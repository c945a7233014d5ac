"""A scrcpy host for testing the stand-in phone: its own few lines, so that nothing it tests tests itself."""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
import numpy.typing as npt

from tests.rigs.adb import HOST, AdbServer, free_port

JAR = "/data/local/tmp/scrcpy-server.jar"
SCID = "12345678"
TIMEOUT_S = 20.0
LARGEST = 1_000_000  # bytes; no frame of the stand-in has as many


class HostPacket(NamedTuple):
    """One packet of the framed stream."""

    pts_us: int
    is_config: bool
    is_key: bool
    payload: bytes


class ScrcpyHost:
    """A running server on the phone, its video and control socket through `adb forward`."""

    PROGRAM = f"CLASSPATH={JAR} app_process / com.genymobile.scrcpy.Server"

    def __init__(self, server: AdbServer, serial: str, *, wait: bool = True) -> None:
        self.server = server
        self._serial = serial
        self._wait = wait
        self._port = free_port()
        self._program: subprocess.Popen[bytes] | None = None
        self._video: socket.socket | None = None
        self._control: socket.socket | None = None
        self._decoder = av.CodecContext.create("h264", "r")
        self.device_name = ""
        self.size = (0, 0)

    def push(self) -> None:
        """The jar, as far as the phone looks at it."""
        jar = Path(self.server.home) / "scrcpy-server.jar"
        jar.write_bytes(b"stands for the jar")
        assert self.server.run("-s", self._serial, "push", str(jar), JAR).returncode == 0

    def __enter__(self) -> ScrcpyHost:
        self.push()
        words = ["-s", self._serial]
        self.server.run(*words, "forward", f"tcp:{self._port}", f"localabstract:scrcpy_{SCID}")
        line = f"{self.PROGRAM} 3.3.4 scid={SCID} tunnel_forward=true audio=false"
        self._program = subprocess.Popen(
            [self.server.program, *words, "shell", line],
            env=self.server.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        if self._wait:
            self.open_video()
            self.open_control()
            self.read_opening()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._video, self._control):
            if one is not None:
                one.close()
        assert self._program is not None
        self._program.terminate()
        self._program.wait(timeout=TIMEOUT_S)
        self.server.run("forward", "--remove", f"tcp:{self._port}")

    def open_video(self) -> None:
        """Connect until the server listens: its first byte says so."""
        end_s, pause = time.monotonic() + TIMEOUT_S, threading.Event()
        while time.monotonic() < end_s:
            video = socket.create_connection((HOST, self._port), timeout=TIMEOUT_S)
            if video.recv(1) == b"\0":
                self._video = video
                return
            video.close()
            pause.wait(0.05)
        raise TimeoutError(f"expected scrcpy's server within {TIMEOUT_S} s")

    def open_control(self) -> None:
        self._control = socket.create_connection((HOST, self._port), timeout=TIMEOUT_S)

    def read_opening(self) -> None:
        self.device_name = self.read(64).rstrip(b"\0").decode()
        codec, width, height = struct.unpack(">III", self.read(12))
        assert codec == int.from_bytes(b"h264", "big")
        self.size = width, height

    def read(self, size: int, timeout_s: float = TIMEOUT_S) -> bytes:
        """Exactly so many bytes of video; EOFError at its end, TimeoutError after the time."""
        assert self._video is not None
        data = b""
        self._video.settimeout(timeout_s)
        while len(data) < size:
            try:
                piece = self._video.recv(size - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise EOFError
            data += piece
        return data

    def packet(self, timeout_s: float = TIMEOUT_S) -> HostPacket:
        """The next one; ValueError when its header cannot be one."""
        mark, size = struct.unpack(">QI", self.read(12, timeout_s))
        if size > LARGEST:
            raise ValueError(f"expected a packet of at most {LARGEST} bytes, found one of {size}")
        payload = self.read(size, timeout_s)
        return HostPacket(mark & ((1 << 62) - 1), bool(mark >> 63), bool(mark >> 62 & 1), payload)

    def skim(self, timeout_s: float = TIMEOUT_S) -> None:
        """Read on until something is wrong, for 1,000 packets at most."""
        for _ in range(1000):
            self.packet(timeout_s)

    def decode(self, packets: list[HostPacket]) -> list[npt.NDArray[np.uint8]]:
        """The pictures in packets, (height, width, 3) BGR; a config packet goes before the next."""
        frames, config = [], b""
        for packet in packets:
            if packet.is_config:
                config = packet.payload
                self._decoder = av.CodecContext.create("h264", "r")
                self._decoder.flags |= av.codec.context.Flags.low_delay
                self._decoder.thread_type = "SLICE"
                continue
            for frame in self._decoder.decode(av.Packet(config + packet.payload)):
                frames.append(np.asarray(frame.to_ndarray(format="bgr24"), np.uint8))
            config = b""
        return frames

    def touch(self, action: int, pointer: int, x: int, y: int, size: tuple[int, int] | None = None) -> None:
        """0 down, 1 up, 2 move; px of the video."""
        assert self._control is not None
        pressure = 0 if action == 1 else 0xFFFF
        self._control.sendall(
            struct.pack(">BBQiiHHHII", 2, action, pointer, x, y, *(size or self.size), pressure, 1, 1)
        )
