"""The whole phone: its parts, the port adb connects to, and what the parts ask of one another."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import Mapping
from typing import Any

from tests.rigs.phone.apps import Apps
from tests.rigs.phone.faults import Faults
from tests.rigs.phone.fingers import Fingers
from tests.rigs.phone.log import Log
from tests.rigs.phone.programs import Programs
from tests.rigs.phone.screen import Screen
from tests.rigs.phone.services import serve
from tests.rigs.phone.settings import GAME_PACKAGE, PhoneSettings
from tests.rigs.phone.shell import Program
from tests.rigs.phone.storage import Storage
from tests.rigs.phone.stream import CodedScreen
from tests.rigs.phone.transport import Stream, Transport

HOST = "127.0.0.1"
UPRIGHT_S = 3.0  # how long `rotate` lasts when nobody says
BUFFER = 4 * 1024 * 1024


class Phone:
    """One stand-in phone on the running event loop: `start`, be used, `stop`."""

    def __init__(self, settings: PhoneSettings) -> None:
        self.settings = self._made_with = settings
        self.log = Log()
        self.storage = Storage()
        self.faults = Faults(settings.seed)
        self.fingers = Fingers()
        self.apps = Apps(self._refocus)
        self.screen = Screen(settings, self.apps)
        self.sockets: dict[str, asyncio.Queue[Stream]] = {}  # local abstract ones, by name
        self.tables: dict[tuple[str, str], str] = {("system", "screen_off_timeout"): "60000"}
        self.battery: dict[str, Any] = {"level": 85, "celsius": 31.0, "usb": True}
        self.port = settings.port
        self.connections = 0  # how many an adb server has made
        self._transports: set[Transport] = set()
        self._watching: set[CodedScreen] = set()
        self._server: asyncio.Server | None = None
        self._ends: dict[str, asyncio.TimerHandle] = {}
        self._jobs: set[asyncio.Task[None]] = set()

    # --- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen on the port of the settings, or on a free one; OSError when it is taken."""
        asyncio.get_running_loop().set_exception_handler(self._failed)
        await self._listen()
        self.screen.start()

    async def stop(self) -> None:
        self._hang_up()
        await self._unlisten()
        self.screen.stop()

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(
                self._connected, HOST, self.port, limit=BUFFER, family=socket.AF_INET
            )
            self.port = self._server.sockets[0].getsockname()[1]

    async def _unlisten(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
            await server.wait_closed()

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.log.errors.append(f"{context['message']}: {error!r}")

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = writer.get_extra_info("socket")
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections += 1
        transport = Transport(reader, writer, self._banner(), self.faults, self._serve)
        self._transports.add(transport)
        try:
            await transport.run()
        finally:
            self._transports.discard(transport)

    async def _serve(self, transport: Transport, stream: Stream, service: str) -> None:
        await serve(self, transport, stream, service)

    def _banner(self) -> bytes:
        features = "shell_v2,cmd" if self.settings.shell_v2 else "cmd"
        facts = {
            "ro.product.name": "standin",
            "ro.product.model": self.settings.model,
            "ro.product.device": "standin",
            "features": features,
        }
        return ("device::" + "".join(f"{name}={value};" for name, value in facts.items())).encode()

    def _hang_up(self) -> None:
        for transport in list(self._transports):
            transport.close()

    # --- what the parts ask of one another ----------------------------------------------------

    def programs(self, transport: Transport, stream: Stream) -> Mapping[str, Program]:
        return Programs(self, transport, stream).table()

    def properties(self) -> dict[str, str]:
        """What `getprop` knows."""
        settings = self.settings
        return {
            "ro.product.model": settings.model,
            "ro.product.manufacturer": settings.manufacturer,
            "ro.product.brand": settings.manufacturer,
            "ro.product.name": "standin",
            "ro.product.device": "standin",
            "ro.product.cpu.abi": "arm64-v8a",
            "ro.build.version.release": settings.release,
            "ro.build.version.sdk": str(settings.sdk),
            "ro.serialno": f"standin{self.port}",
            "sys.boot_completed": "1",
            "init.svc.adbd": "running",
        }

    def press(self, pointer: int | str, x: float, y: float) -> None:
        self.fingers.press(pointer, x, y, asyncio.get_running_loop().time())

    def move(self, pointer: int | str, x: float, y: float) -> None:
        self.fingers.move(pointer, x, y, asyncio.get_running_loop().time())
        how = self.faults.on("rotate")
        if how is not None and how["mid_swipe"] and not self.screen.is_upright and self.fingers.is_swiping:
            self.turn(True)

    def lift(self, pointer: int | str, x: float, y: float) -> None:
        gesture = self.fingers.lift(pointer, x, y)
        if gesture is not None and self.apps.awake:
            self.screen.touch(gesture)

    def turn(self, upright: bool) -> None:
        """Hold the phone the other way; what the fingers were at is cancelled."""
        if upright != self.screen.is_upright:
            self.screen.is_upright = upright
            self.fingers.cancel()

    def launch(self, package: str) -> bool:
        """Bring an app to the front; True when it was started afresh."""
        fresh = self.apps.start(package)
        if fresh:
            self.screen.begin(afresh=True)
        return fresh

    def stop_app(self, package: str) -> None:
        self.apps.stop(package)

    def _refocus(self) -> None:
        self.fingers.cancel()
        self.screen.settle()
        if self.apps.popup is None:
            self._over("popup")
        if self.apps.game_in_front:
            self._over("other_app")

    def watch(self, coded: CodedScreen) -> None:
        coded.is_stopped = self.faults.on("stop_video") is not None
        self._watching.add(coded)
        self.screen.watch(coded)

    def unwatch(self, coded: CodedScreen) -> None:
        self._watching.discard(coded)
        self.screen.unwatch(coded)

    # --- misbehaving --------------------------------------------------------------------------

    def misbehave(self, name: str, for_s: float | None = None, **how: Any) -> None:
        """Begin a fault; it ends by itself after `for_s`, or with `behave`. ValueError for unknown ones."""
        full = self.faults.begin(name, how)
        self._cancel_end(name)
        if name in ("unauthorized", "offline", "disconnect"):
            self._hang_up()
        if name == "disconnect":
            self._do(self._unlisten())
        elif name == "rotate":
            for_s = UPRIGHT_S if for_s is None else for_s
            if not full["mid_swipe"]:
                self.turn(True)
        elif name == "popup":
            self.apps.show_popup(full["package"], stubborn=full["stubborn"])
        elif name == "other_app":
            self.apps.start(full["package"])
        elif name == "stop_video":
            for coded in self._watching:
                coded.is_stopped = True
        if for_s is not None:
            self._ends[name] = asyncio.get_running_loop().call_later(for_s, self.behave, name)

    def behave(self, name: str | None = None) -> None:
        """End a fault, or all of them, and undo what it did."""
        for one in self.faults.active() if name is None else [name]:
            how = self.faults.on(one)
            self._over(one)
            if how is None:
                continue
            if one in ("unauthorized", "offline"):
                for transport in self._transports:
                    transport.greet()
            elif one == "disconnect":
                self._do(self._listen())
            elif one == "rotate":
                self.turn(False)
            elif one == "popup":
                self.apps.close_popup()
            elif one == "other_app":
                self.apps.start(GAME_PACKAGE)
            elif one == "stop_video":
                for coded in self._watching:
                    coded.is_stopped = False

    def _over(self, name: str) -> None:
        self.faults.end(name)
        self._cancel_end(name)

    def _cancel_end(self, name: str) -> None:
        timer = self._ends.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _do(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    # --- for tests ----------------------------------------------------------------------------

    def reset(self, changes: Mapping[str, Any]) -> None:
        """As new, with some of its first settings changed: no faults, nothing remembered, the game from
        its start. Connections stay; they keep the banner they have seen."""
        self.behave()
        self.settings = self.screen.settings = dataclasses.replace(self._made_with, **changes)
        self.fingers.down.clear()
        self.apps.reset()
        self.screen.is_upright = False
        self.screen.begin()
        self.log = Log()
        self.faults.counts.clear()
        self.storage.files.clear()

    def facts(self) -> dict[str, Any]:
        """Everything there is to know, as JSON-able values; times are monotonic s."""
        down = self.fingers.down
        return {
            "now_s": asyncio.get_running_loop().time(),
            **self.log.facts(),
            "game": self.screen.facts(),
            "runs": list(self.screen.runs),
            "effects": list(self.screen.effects),
            "fingers_down": [f"{one:x}" if isinstance(one, int) else one for one in down],
            "fingers_orphaned": sum(finger.is_orphan for finger in down.values()),
            "foreground": self.apps.focus.partition("/")[0],
            "popup": self.apps.popup is not None,
            "is_upright": self.screen.is_upright,
            "is_awake": self.apps.awake,
            "keys": list(self.apps.keys),
            "game_starts": self.apps.game_starts,
            "size": list(self.screen.size),
            "faults": self.faults.active(),
            "fault_counts": dict(self.faults.counts),
            "connections": self.connections,
            "streams": sum(len(one.streams) for one in self._transports),
            "viewers": len(self._watching),
            "frames_coded": sum(coded.coded for coded in self._watching),
            "coding_cpu_s": sum(coded.cpu_s for coded in self._watching),
            "screen_turns": self.screen.turns,
            "screen_late": self.screen.late,
        }
