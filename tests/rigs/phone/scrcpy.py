"""scrcpy's server 3.3.4 as a host meets it: started by `app_process`, sockets, framed video, control."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.rigs.phone.apps import BACK, WAKEUP
from tests.rigs.phone.scrcpy_control import (
    BACK_OR_SCREEN_ON,
    DOWN,
    MOVE,
    RESET_VIDEO,
    ROTATE_DEVICE,
    START_APP,
    UP,
    ControlError,
    Key,
    Message,
    Touch,
    read_message,
)
from tests.rigs.phone.shell import Io
from tests.rigs.phone.stream import Coded, CodedScreen
from tests.rigs.phone.transport import Stream, StreamClosedError, Transport

if TYPE_CHECKING:
    from tests.rigs.phone.phone import Phone

VERSION = "3.3.4"
SERVER_CLASS = "com.genymobile.scrcpy.Server"
H264 = 0x68323634
NAME_BYTES = 64
CONFIG_BIT, KEY_BIT = 1 << 63, 1 << 62


class OptionError(Exception):
    """What the real server ends at; its text is what it prints."""


@dataclass(frozen=True)
class Options:
    """The server's options as far as they change what a host sees."""

    name: str  # of its socket
    forward: bool
    video: bool
    control: bool
    bit_rate: int
    max_size: int
    max_fps: float
    dummy_byte: bool
    device_meta: bool
    codec_meta: bool
    frame_meta: bool
    cleanup: bool


def parse_options(argv: list[str]) -> Options:
    """From the words after the class name; OptionError where the real server ends."""
    version = argv[0] if argv else ""
    if version != VERSION:
        raise OptionError(f"The server version ({VERSION}) does not match the client ({version})")
    given: dict[str, str] = {}
    for word in argv[1:]:
        name, equals, value = word.partition("=")
        if not equals:
            raise OptionError(f'Invalid key=value pair: "{word}"')
        given[name] = value

    def flag(name: str, default: bool) -> bool:
        return given.get(name, str(default).lower()) == "true"

    raw = flag("raw_stream", False)
    scid = given.get("scid", "-1")
    if flag("audio", True):
        raise OptionError("this stand-in has no sound: pass audio=false")
    if given.get("video_codec", "h264") != "h264":
        raise OptionError(f"Video encoder not found: {given['video_codec']}")
    return Options(
        name="scrcpy" if scid == "-1" else f"scrcpy_{scid}",
        forward=flag("tunnel_forward", False),
        video=flag("video", True),
        control=flag("control", True),
        bit_rate=int(given.get("video_bit_rate", "8000000")),
        max_size=int(given.get("max_size", "0")),
        max_fps=float(given.get("max_fps", "0")),
        dummy_byte=flag("send_dummy_byte", not raw),
        device_meta=flag("send_device_meta", not raw),
        codec_meta=flag("send_codec_meta", not raw),
        frame_meta=flag("send_frame_meta", not raw),
        cleanup=flag("cleanup", True),
    )


def packet(coded: Coded, at_us: int) -> bytes:
    """One framed packet: presentation time with its two marks, length, payload."""
    mark = CONFIG_BIT if coded.is_config else at_us | (KEY_BIT if coded.is_key else 0)
    return struct.pack(">QI", mark, len(coded.data)) + coded.data


async def run(phone: Phone, transport: Transport, argv: list[str], io: Io) -> int:
    """`app_process / com.genymobile.scrcpy.Server ...` until one of its sockets ends; the exit code."""
    jar = io.variables.get("CLASSPATH", "")
    if phone.storage.read(jar) is None:
        await io.err(b"Aborted \n")  # the class is nowhere: that is all a phone says
        return 134
    await asyncio.sleep(phone.settings.server_start_s)
    try:
        options = parse_options(argv[argv.index(SERVER_CLASS) + 1 :])
    except OptionError as error:
        await io.err(f"[server] ERROR: {error}\n".encode())
        return 1
    if options.cleanup:  # the real one unlinks itself: every start needs a push
        phone.storage.remove(jar)
    hello = f"[server] INFO: Device: [{phone.settings.manufacturer}] {phone.settings.manufacturer} "
    with contextlib.suppress(StreamClosedError):  # it does not end with the shell that started it
        await io.out(f"{hello}{phone.settings.model} (Android {phone.settings.release})\n".encode())
    try:
        sockets = await _sockets(phone, transport, options)
    except (StreamClosedError, KeyError):
        await io.err(b"[server] ERROR: no connection to the host\n")
        return 1
    session = Session(phone, options, sockets.get("video"), sockets.get("control"))
    try:
        if options.device_meta:
            first = next(iter(sockets.values()))
            await first.write(phone.settings.model.encode()[: NAME_BYTES - 1].ljust(NAME_BYTES, b"\0"))
        await session.run()
    except StreamClosedError:
        pass
    finally:
        for stream in sockets.values():
            stream.close()
    return 0


async def _sockets(phone: Phone, transport: Transport, options: Options) -> dict[str, Stream]:
    """Video first, then control; nothing is sent on either before both are there, but the dummy byte."""
    kinds = [kind for kind in ("video", "control") if getattr(options, kind)]
    found: dict[str, Stream] = {}
    if not options.forward:
        for kind in kinds:
            found[kind] = await transport.open_to_host(transport.reverse[f"localabstract:{options.name}"])
        return found
    arriving: asyncio.Queue[Stream] = asyncio.Queue()
    phone.sockets[options.name] = arriving
    try:
        for kind in kinds:
            found[kind] = await arriving.get()
            if len(found) == 1 and options.dummy_byte:
                await found[kind].write(b"\0")
    finally:
        phone.sockets.pop(options.name, None)
    return found


class Session:
    """One running server: video out, control in."""

    def __init__(self, phone: Phone, options: Options, video: Stream | None, control: Stream | None) -> None:
        self._phone = phone
        self._options = options
        self._video = video
        self._control = control
        self._coded = CodedScreen(
            phone.screen, bit_rate=options.bit_rate, max_size=options.max_size, max_fps=options.max_fps
        )
        self._pointers: set[int] = set()

    async def run(self) -> None:
        """Until either socket ends."""
        jobs = []
        if self._video is not None:
            jobs += [self._send_video(self._video), self._video.gone()]
        if self._control is not None:
            jobs.append(self._take_control(self._control))
        tasks = [asyncio.ensure_future(job) for job in jobs]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._phone.fingers.orphan(self._pointers)

    # --- video --------------------------------------------------------------------------------

    async def _send_video(self, video: Stream) -> None:
        if self._options.codec_meta:
            await video.write(struct.pack(">III", H264, *self._coded.size))
        self._phone.watch(self._coded)
        began_s = time.monotonic()
        try:
            while True:
                coded = await self._coded.units.get()
                at_us = max(0, round((coded.at_s - began_s) * 1e6))
                if not await self._faulty(video, coded, at_us):
                    await video.write(packet(coded, at_us) if self._options.frame_meta else coded.data)
        finally:
            self._phone.unwatch(self._coded)

    async def _faulty(self, video: Stream, coded: Coded, at_us: int) -> bool:
        """Whether a fault took this packet's place."""
        faults = self._phone.faults
        if coded.is_config:
            return False
        if faults.loses("frames"):
            return True
        if faults.take("cut_frame", "video"):
            await video.write(packet(coded, at_us)[: 12 + len(coded.data) // 2])
            raise StreamClosedError
        if faults.take("cut_frame", "payload"):
            await video.write(packet(coded._replace(data=coded.data[: len(coded.data) // 2]), at_us))
            return True
        if faults.take("garbage", "video"):
            await video.write(faults.noise(4096))
            return True
        return False

    # --- control ------------------------------------------------------------------------------

    async def _take_control(self, control: Stream) -> None:
        while True:
            try:
                message = await read_message(control.read_exactly)
            except ControlError as error:
                self._phone.log.noted(f"scrcpy: {error}")
                return
            self._obey(message)

    def _obey(self, message: Message) -> None:
        phone = self._phone
        if isinstance(message, Touch):
            self._touch(message)
        elif isinstance(message, Key):
            if message.action == DOWN:
                phone.apps.press_key(message.code)
        elif message.kind == BACK_OR_SCREEN_ON and message.body == bytes([DOWN]):
            phone.apps.press_key(BACK if phone.apps.awake else WAKEUP)
        elif message.kind == ROTATE_DEVICE:
            phone.turn(not phone.screen.is_upright)
        elif message.kind == RESET_VIDEO:
            self._coded.wants_key = True
        elif message.kind == START_APP:
            phone.launch(message.body[1:].decode("utf-8", "replace").lstrip("+?"))

    def _touch(self, touch: Touch) -> None:
        """As the real server: a touch made for another video size is dropped."""
        phone = self._phone
        current = self._coded.size_for(phone.screen.size)
        lost = phone.faults.loses("touches")
        kept = touch.size == current and not lost
        across, down = phone.screen.size[0] / current[0], phone.screen.size[1] / current[1]
        x, y = touch.x * across, touch.y * down
        phone.log.touched(
            {DOWN: "down", UP: "up", MOVE: "move"}.get(touch.action, str(touch.action)),
            pointer=f"{touch.pointer:x}", x=x, y=y, size=touch.size, via="scrcpy",
            fate="kept" if kept else "lost" if lost else "dropped",
        )  # fmt: skip
        if not kept:
            return
        if touch.action == DOWN:
            self._pointers.add(touch.pointer)
            phone.press(touch.pointer, x, y)
        elif touch.action == MOVE:
            self._pointers.add(touch.pointer)
            phone.move(touch.pointer, x, y)
        elif touch.action == UP:
            self._pointers.discard(touch.pointer)
            phone.lift(touch.pointer, x, y)
