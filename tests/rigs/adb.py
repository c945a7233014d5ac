"""The real adb for tests: a server of its own on a private port, and a stand-in phone connected to it.

`pytest_plugins` or an import brings the fixtures: `adb_server` (one a session), `phone` (one process a
session, as new for every test, connected). Nothing is left running; port 5037 is never touched.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rigs.phone import PhoneSettings, StandInPhone

HOST = "127.0.0.1"
START_S, COMMAND_S, CONNECT_S = 20.0, 20.0, 20.0
POLL_S = 0.05


class AdbError(RuntimeError):
    """adb did not do what was asked."""


def debian_adb() -> str | None:
    """The system's adb."""
    return shutil.which("adb")


def bundled_adb() -> str | None:
    """The adb that adbutils brings along; None where it brings none."""
    import adbutils

    path = Path(adbutils.__file__).parent / "binaries" / "adb"
    return str(path) if path.is_file() else None


def free_port() -> int:
    """A TCP port nobody uses, outside those that adb takes for emulators."""
    while True:
        with socket.socket() as one:
            one.bind((HOST, 0))
            port: int = one.getsockname()[1]
        if not 5554 <= port <= 5585:
            return port


@dataclass(frozen=True)
class AdbServer:
    """A running adb server: the program, its port, and the folder of its keys."""

    program: str
    port: int
    home: Path
    process: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        """For programs that shall use this server and no other."""
        return {**os.environ, **private_environment(self.port, self.home)}

    def run(self, *words: str, timeout_s: float = COMMAND_S) -> subprocess.CompletedProcess[bytes]:
        """`adb WORDS`, output captured, whatever its exit code."""
        return subprocess.run(
            [self.program, *words], env=self.environment, capture_output=True, timeout=timeout_s
        )

    def states(self) -> dict[str, str]:
        """Serial -> state of everything connected."""
        lines = self.run("devices").stdout.decode().splitlines()[1:]
        return dict(line.split("\t", 1) for line in lines if "\t" in line)

    def wait_for(self, serial: str, state: str | None, timeout_s: float = CONNECT_S) -> None:
        """Until a phone is in a state (None: gone); AdbError after the time."""
        pause = threading.Event()
        for _ in range(int(timeout_s / POLL_S)):
            if self.states().get(serial) == state:
                return
            pause.wait(POLL_S)
        raise AdbError(f"expected {serial} to be {state} within {timeout_s} s, found {self.states()}")

    def connect(self, serial: str) -> str:
        """`adb connect`, until the phone is a `device`; what adb said. AdbError when it never is."""
        said = self.run("connect", serial).stdout.decode().strip()
        self.wait_for(serial, "device")
        return said

    def disconnect(self, serial: str) -> None:
        self.run("disconnect", serial)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=5)


def private_environment(port: int, home: Path) -> dict[str, str]:
    """Variables that keep an adb to itself: its port, its keys, and no search for emulators."""
    return {
        "ANDROID_ADB_SERVER_PORT": str(port),
        "ADB_LOCAL_TRANSPORT_MAX_PORT": "5553",
        "ADB_MDNS": "0",
        "HOME": str(home),
        "ANDROID_SDK_HOME": str(home),
        "TMPDIR": str(home),
    }


def start_adb_server(program: str, home: Path, port: int | None = None) -> AdbServer:
    """An adb server as a child of this process, ready to be asked; AdbError when it does not start."""
    port = free_port() if port is None else port
    environment = {**os.environ, **private_environment(port, home)}
    process = subprocess.Popen(
        [program, "-P", str(port), "nodaemon", "server"],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    server = AdbServer(program, port, home, process)
    pause = threading.Event()
    for _ in range(int(START_S / POLL_S)):
        if process.poll() is not None:
            break
        try:
            socket.create_connection((HOST, port), timeout=1.0).close()
        except ConnectionRefusedError:
            pause.wait(POLL_S)
        else:
            return server
    server.stop()
    raise AdbError(f"{program}: expected a server on port {port} within {START_S:.0f} s, found none")


@pytest.fixture(scope="session")
def adb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdbServer]:
    """The system's adb server on a private port; `ANDROID_ADB_SERVER_PORT` names it while it runs."""
    program = debian_adb()
    if program is None:
        pytest.fail(
            "no adb for the tests: expected it on the path; install it with: sudo apt-get install adb",
            pytrace=False,
        )
    server = start_adb_server(program, tmp_path_factory.mktemp("adb"))
    before = os.environ.get("ANDROID_ADB_SERVER_PORT")
    os.environ["ANDROID_ADB_SERVER_PORT"] = str(server.port)
    try:
        strangers = server.states()
        if strangers:
            pytest.fail(
                f"tests touch every phone they find: unplug {', '.join(strangers)} first", pytrace=False
            )
        yield server
    finally:
        if before is None:
            del os.environ["ANDROID_ADB_SERVER_PORT"]
        else:
            os.environ["ANDROID_ADB_SERVER_PORT"] = before
        server.stop()


@pytest.fixture(scope="session")
def phone_process() -> Iterator[StandInPhone]:
    """One stand-in phone of 1280x720 with quick touches for all tests: starting one takes seconds."""
    with StandInPhone(PhoneSettings(touch_delay_s=(0.1, 0.15), time_code=True)) as one:
        yield one


@pytest.fixture
def phone(adb_server: AdbServer, phone_process: StandInPhone) -> Iterator[StandInPhone]:
    """A connected phone as if it were new: no faults, the title page, nothing remembered."""
    phone_process.reset()
    adb_server.connect(phone_process.serial)
    yield phone_process
    phone_process.behave()
    assert phone_process.facts("errors") == {"errors": []}, "the stand-in phone itself failed"
