"""The way to one phone: adb's server, the phones it lists, and services of the one that was chosen.

Finding phones and pushing files is adbutils' work; shells, screens and sockets go through a bare socket to
adb's server, which costs a tenth. Keeps nothing that changes: any thread may call anything.
Everything raises `DeviceError` or `DeviceLost` with one line; a setting that cannot be used, `ConfigError`.
"""

from __future__ import annotations

import functools
import io
import os
import re
import shlex
import socket
import subprocess
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from greatwall.errors import ConfigError, DeviceError, DeviceLost

HOST = "127.0.0.1"
USUAL_PORT = 5037
CONNECT_S = 3.0  # to adb's server, which is on this machine
START_S = 20.0  # adb's server, when it has to be started first
PUSH_MODE = 0o644
MOST_BYTES = 256 * 1024 * 1024  # of one answer; a whole 8K screen has 133 MB
CHUNK = 1 << 18
SERIAL = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9._:%\[\]-]{0,79}")
ADDRESS = re.compile(r"(?:\[[0-9A-Fa-f:%.]+\]|[A-Za-z0-9.-]+):\d{1,5}")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")

QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)  # Linux alone has it, and it wears off

READY = "device"  # adb's word for a phone that answers
REMEDIES = {
    "unauthorized": "unlock the phone and allow USB debugging in the question it shows, with 'always' ticked",
    "authorizing": "wait for the question on the phone's screen and allow USB debugging",
    "offline": "plug the phone in again, or over Wi-Fi: adb disconnect, then adb connect ADDRESS",
    "no permissions": "let this user reach USB devices (Debian: apt install "
    "android-sdk-platform-tools-common, then plug the phone in again), or start adb's server as root",
    "connecting": "wait a few seconds and start again",
    "recovery": "start the phone normally",
    "sideload": "start the phone normally",
    "bootloader": "start the phone normally",
    "rescue": "start the phone normally",
    "": "plug it in, and see whether adb devices lists it",
}


class PhoneListing(NamedTuple):
    """One line of `adb devices -l`; `state` is adb's own word."""

    serial: str
    state: str
    model: str

    def __str__(self) -> str:
        return f"{self.serial} ({', '.join(word for word in (self.model, self.state) if word)})"


def check_serial(text: str) -> str:
    """A serial as adb writes them; `ConfigError` for anything a shell or adb could take for more."""
    if SERIAL.fullmatch(text) is None:
        raise ConfigError(
            f"--serial: expected a serial as adb devices lists it (letters, digits and . : _ - % [ ]), "
            f"found {text!r}; copy it from there"
        )
    return text


def quoted(arguments: Sequence[str]) -> str:
    """A line for the phone's shell that hands over exactly these words; `ConfigError` for control signs."""
    for one in arguments:
        if CONTROL.search(one):
            raise ConfigError(
                f"expected words without control characters for the phone's shell, found {one!r}; change it"
            )
    if not arguments:
        raise ConfigError("expected a command for the phone's shell, found none; name one")
    return shlex.join(arguments)


def state_line(serial: str, state: str) -> str:
    """What is wrong with a phone in that state, and what to do."""
    found = f"found it {state}" if state else "adb does not list it"
    remedy = REMEDIES.get(state, "see adb devices, and plug the phone in again")
    return f"phone {serial}: expected it to be connected, {found}; {remedy}"


@functools.lru_cache(maxsize=1)
def adb_program() -> str:
    """The adb on PATH, else the one that adbutils brings; `DeviceError` where neither runs."""
    import adbutils

    try:
        return str(adbutils.adb_path())
    except adbutils.AdbError as error:
        raise DeviceError(
            "expected the program adb, found none that runs; install it (Debian: apt install adb)"
        ) from error


class AdbServer:
    """adb's server on this machine; `port` 0 is ANDROID_ADB_SERVER_PORT, or else 5037."""

    def __init__(self, port: int = 0) -> None:
        self.host = HOST
        self.port = port or _port_of_environment()

    def start(self) -> None:
        """Have it run: nothing when somebody listens there already."""
        try:
            with socket.create_connection((self.host, self.port), CONNECT_S):
                return
        except OSError:
            pass
        command = [adb_program(), "-P", str(self.port), "start-server"]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=START_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeviceError(
                f"expected adb's server to start on port {self.port}, found {error}; try adb start-server"
            ) from error
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split())
            raise DeviceError(
                f"expected adb's server to start on port {self.port}, found {said!r}; try adb start-server"
            )

    def version(self) -> int:
        """Of the server's protocol, 41 since 2018."""
        return int(self._ask(lambda client: client.server_version()))

    def phones(self) -> tuple[PhoneListing, ...]:
        """What adb lists, in its order, whatever their states."""
        listed = self._ask(lambda client: client.list(extended=True))
        return tuple(
            PhoneListing(
                # adbutils keeps the first word only of "no permissions (user in plugdev group; ...)"
                one.serial,
                "no permissions" if one.state == "no" else one.state,
                one.tags.get("model", "").replace("_", " "),
            )
            for one in listed
        )

    def connect(self, address: str, timeout_s: float = 10.0) -> str:
        """`adb connect`: what the server says to it, good or bad."""
        check_serial(address)
        return str(self._ask(lambda client: client.connect(address, timeout=timeout_s)))

    def disconnect(self, address: str) -> str:
        """`adb disconnect`: what the server says to it; nothing when it was not connected."""
        check_serial(address)
        return str(self._ask(lambda client: client.disconnect(address)))

    def _ask(self, question: Any) -> Any:
        import adbutils

        try:
            # adbutils would start a server of its own, on the usual port, where none listens
            socket.create_connection((self.host, self.port), CONNECT_S).close()
            return question(self.client())
        except (adbutils.AdbError, OSError, ValueError) as error:
            raise DeviceError(
                f"expected adb's server to answer on port {self.port}, found "
                f"{error or type(error).__name__}; try adb kill-server"
            ) from error

    def client(self, timeout_s: float | None = None) -> Any:
        """adbutils' client of this server, with a limit to every wait."""
        import adbutils

        return adbutils.AdbClient(self.host, self.port, CONNECT_S if timeout_s is None else timeout_s)


def _port_of_environment() -> int:
    text = os.environ.get("ANDROID_ADB_SERVER_PORT", "")
    if not text:
        return USUAL_PORT
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise ConfigError(f"ANDROID_ADB_SERVER_PORT: expected 1 to 65535, found {text!r}; change or unset it")
    return int(text)


class AdbLink:
    """One phone, reached through adb's server by its serial."""

    def __init__(self, server: AdbServer, serial: str, model: str = "") -> None:
        self.server = server
        self.serial = check_serial(serial)
        self.model = model

    @classmethod
    def choose(cls, serial: str = "", port: int = 0) -> AdbLink:
        """The phone of that serial, or the only one. An address that is not connected yet is connected."""
        if serial:
            check_serial(serial)
        server = AdbServer(port)
        server.start()
        phones = server.phones()
        if serial and ADDRESS.fullmatch(serial) and serial not in [one.serial for one in phones]:
            server.connect(serial)
            phones = server.phones()
        one = choice(phones, serial)
        if one.state != READY:
            raise DeviceError(state_line(one.serial, one.state))
        return cls(server, one.serial, one.model)

    # --- how it is ----------------------------------------------------------------------------

    def state(self) -> str:
        """adb's word for the phone now; empty when it is not listed, or the server does not answer."""
        try:
            return next((one.state for one in self.server.phones() if one.serial == self.serial), "")
        except DeviceError:
            return ""

    def check(self) -> None:
        """Raise `DeviceLost` unless the phone is there."""
        state = self.state()
        if state != READY:
            raise DeviceLost(state_line(self.serial, state))

    def check_answers(self, timeout_s: float) -> None:
        """Raise `DeviceLost` unless the phone carries out a command in that time."""
        try:
            self.shell(["echo", "ok"], timeout_s)
        except DeviceLost:
            raise
        except DeviceError as error:
            raise DeviceLost(
                f"phone {self.serial}: expected it to answer within {timeout_s:g} s, found it silent; "
                "see whether its screen still moves, or plug it in again"
            ) from error

    # --- services -----------------------------------------------------------------------------

    def open(self, service: str, timeout_s: float = CONNECT_S) -> socket.socket:
        """A socket to a service of the phone's adbd, such as `exec:screencap`.

        `DeviceLost` when the phone is not there any more, `DeviceError` when it refuses the service. The
        socket's own timeout is `timeout_s`.
        """
        stream: socket.socket | None = None
        try:
            stream = socket.create_connection((self.server.host, self.server.port), CONNECT_S)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.settimeout(timeout_s)
            _request(stream, f"host:transport:{self.serial}")
            _request(stream, service)
        except (OSError, ValueError, _Refused) as error:
            if stream is not None:
                stream.close()
            self.check()  # says it better when the phone is gone
            what = service.partition(":")[0]
            raise DeviceError(
                f"phone {self.serial}: expected its {what} service, found {error or type(error).__name__}; "
                "plug it in again, or start it anew"
            ) from error
        return stream

    def run(self, arguments: Sequence[str], timeout_s: float = 5.0) -> bytearray:
        """The bytes that a command writes, untouched by any terminal; not its errors, which a phone would
        mix in: screencap warns there of a second screen."""
        return self._answer(f"exec:{quoted(arguments)} 2>/dev/null", timeout_s)

    def shell(self, arguments: Sequence[str], timeout_s: float = 5.0) -> str:
        """What a command prints, its errors included. Every argument reaches it as it is."""
        answer = self._answer(f"shell:{quoted(arguments)}", timeout_s)
        return answer.decode("utf-8", "replace").replace("\r\n", "\n")

    def _answer(self, service: str, timeout_s: float) -> bytearray:
        deadline = time.perf_counter() + timeout_s
        with self.open(service, timeout_s) as stream:
            try:
                return read_to_end(stream, deadline)
            except OSError as error:
                self.check()
                raise DeviceError(
                    f"phone {self.serial}: expected an answer to {service!r} within {timeout_s:g} s, found "
                    f"{error or type(error).__name__}; see whether its screen still moves"
                ) from error

    def push(self, data: bytes, remote: str, timeout_s: float = 20.0) -> None:
        """Write a file on the phone."""
        import adbutils

        self.check()  # adbutils leaves its socket open when the phone is not there
        try:
            sync = self.server.client(timeout_s).sync(self.serial)
            sync.push(io.BytesIO(data), remote, PUSH_MODE, check=True)
        except (adbutils.AdbError, OSError, EOFError, AssertionError) as error:
            self.check()
            raise DeviceError(
                f"phone {self.serial}: expected to write {remote}, found {error or type(error).__name__}; "
                "see whether its storage is full"
            ) from error


def choice(phones: Sequence[PhoneListing], serial: str) -> PhoneListing:
    """The phone to take; `DeviceError` with a list where there is none or more than one."""
    if serial:
        for one in phones:
            if one.serial == serial:
                return one
        listed = ", ".join(str(one) for one in phones) or "no phone at all"
        raise DeviceError(
            f"--serial: expected {serial} among the phones adb lists, found {listed}; plug it in, or choose "
            "another"
        )
    ready = [one for one in phones if one.state == READY]
    for group in (ready, phones):
        if len(group) == 1:
            return group[0]
    if not phones:
        raise DeviceError(
            "no phone found: adb lists none; plug one in and allow USB debugging, or use --device simulator"
        )
    names = ", ".join(str(one) for one in phones)
    raise DeviceError(
        f"expected one phone, found {len(phones)}: {names}; choose with --serial {phones[0].serial}"
    )


# --- adb's way of asking --------------------------------------------------------------------------


def acknowledge_at_once(stream: socket.socket) -> None:
    """Before each wait on a stream of small pieces: adb's server holds a piece back until the last one is
    acknowledged, which Linux otherwise delays by 40 ms."""
    if QUICKACK is not None:
        stream.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)


class _Refused(Exception):  # noqa: N818 - what adb said
    """adb's server answered FAIL; the text is its reason."""


def _request(stream: socket.socket, service: str) -> None:
    data = service.encode()
    stream.sendall(b"%04x" % len(data) + data)
    answer = exactly(stream, 4)
    if answer != b"OKAY":
        reason = b""
        if answer == b"FAIL":
            reason = exactly(stream, int(exactly(stream, 4), 16))
        raise _Refused(" ".join(reason.decode("utf-8", "replace").split()) or f"the answer {answer!r}")


def exactly(stream: socket.socket, count: int) -> bytes:
    """That many bytes, however they come; `ConnectionError` where the stream ends before."""
    data = b""
    while len(data) < count:
        more = stream.recv(count - len(data))
        if not more:
            raise ConnectionError("adb's server or the phone hung up")
        data += more
    return data


def read_to_end(stream: socket.socket, deadline_s: float) -> bytearray:
    """All bytes until the other side closes; `TimeoutError` after `deadline_s` (perf counter)."""
    data = bytearray(CHUNK)
    filled = 0
    while True:
        left_s = deadline_s - time.perf_counter()
        if left_s <= 0:
            raise TimeoutError("no end of the answer")
        stream.settimeout(left_s)
        if filled == len(data):
            if filled >= MOST_BYTES:
                raise ConnectionError(f"more than {MOST_BYTES:,} bytes")
            data.extend(bytes(len(data)))
        with memoryview(data) as view:
            count = stream.recv_into(view[filled:])
        if not count:
            del data[filled:]
            return data
        filled += count
