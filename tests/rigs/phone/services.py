"""What a stream can be opened to: shells, files, reversed ports, sockets. One function a kind."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING

from tests.rigs.phone.shell import Shell, Write
from tests.rigs.phone.storage import serve_sync
from tests.rigs.phone.transport import Stream, Transport

if TYPE_CHECKING:
    from tests.rigs.phone.phone import Phone

PROMPT = b"standin:/ $ "
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = 0, 1, 2, 3, 3  # kinds of shell,v2 packets, by direction
_V2_HEAD = struct.Struct("<BI")


async def serve(phone: Phone, transport: Transport, stream: Stream, service: str) -> None:
    """Serve what the host opened, until it is done; a service nobody knows is refused."""
    phone.log.opened(service)
    name, _, rest = service.partition(":")
    if name == "exec" or (name == "shell" and rest):
        transport.accept(stream)
        await _plain(phone, transport, stream, rest)
    elif name == "shell":
        transport.accept(stream)
        await _terminal(phone, transport, stream)
    elif name.startswith("shell,v2") and phone.settings.shell_v2:
        transport.accept(stream)
        await _version_2(phone, transport, stream, rest)
    elif name == "sync":
        transport.accept(stream)
        await serve_sync(phone.storage, stream)
    elif name == "reverse":
        transport.accept(stream)
        await _reverse(transport, stream, rest)
    elif name == "framebuffer":
        transport.accept(stream)
        await _framebuffer(phone, stream)
    elif name == "localabstract" and rest in phone.sockets:
        transport.accept(stream)
        phone.sockets[rest].put_nowait(stream)
        await stream.gone()
    # Anything else is closed without an OKAY, which the host reports as `closed`.


async def _plain(phone: Phone, transport: Transport, stream: Stream, line: str) -> None:
    """One command, output and errors in one flow, as `exec:` and `shell:COMMAND` give it."""
    await Shell(phone.programs(transport, stream)).run(line, stream.write, stream.write)


async def _terminal(phone: Phone, transport: Transport, stream: Stream) -> None:
    """`shell:` without a command is a terminal: it prompts, repeats what is typed, ends lines with CR LF."""

    async def show(data: bytes) -> None:
        await stream.write(data.replace(b"\n", b"\r\n"))

    shell = Shell(phone.programs(transport, stream))
    await stream.write(PROMPT)
    typed = b""
    while data := await stream.read():
        await show(data)
        typed += data.replace(b"\r", b"\n")
        while b"\n" in typed:
            line, typed = typed.split(b"\n", 1)
            if line.strip() == b"exit":
                return
            await shell.run(line.decode("utf-8", "replace"), show, show)
            await stream.write(PROMPT)


async def _version_2(phone: Phone, transport: Transport, stream: Stream, line: str) -> None:
    """shell,v2: every piece with its kind and length; the exit code comes last."""
    shell = Shell(phone.programs(transport, stream))
    out, err = _framed(transport, stream, STDOUT), _framed(transport, stream, STDERR)
    if line:
        await shell.run(line, out, err)
    else:
        await _read_lines(shell, stream, out, err)
    await stream.write(_V2_HEAD.pack(EXIT, 1) + bytes([shell.status & 0xFF]))


def _framed(transport: Transport, stream: Stream, kind: int) -> Write:
    async def write(data: bytes) -> None:
        room = transport.max_payload - _V2_HEAD.size
        for start in range(0, len(data), room):
            piece = data[start : start + room]
            await stream.write(_V2_HEAD.pack(kind, len(piece)) + piece)

    return write


async def _read_lines(shell: Shell, stream: Stream, out: Write, err: Write) -> None:
    """Lines of a kept-open shell, one after the other, until its input ends."""
    typed = b""
    while True:
        kind, length = _V2_HEAD.unpack(await stream.read_exactly(_V2_HEAD.size))
        data = await stream.read_exactly(length) if length else b""
        if kind == CLOSE_STDIN:
            return
        if kind != STDIN:
            continue  # the window's size
        typed += data
        while b"\n" in typed:
            line, typed = typed.split(b"\n", 1)
            if line.strip() == b"exit":
                return
            await shell.run(line.decode("utf-8", "replace"), out, err)


async def _reverse(transport: Transport, stream: Stream, request: str) -> None:
    verb, _, rest = request.partition(":")
    if verb == "forward":
        phone_side, _, host_side = rest.removeprefix("norebind:").partition(";")
        transport.reverse[phone_side] = host_side
        await stream.write(b"OKAY")
    elif verb == "killforward":
        known = transport.reverse.pop(rest, None) is not None
        await stream.write(b"OKAY" if known else _failure(f"listener '{rest}' not found"))
    elif verb == "killforward-all":
        transport.reverse.clear()
        await stream.write(b"OKAY")
    elif verb == "list-forward":
        lines = "".join(f"host {phone} {host}\n" for phone, host in transport.reverse.items()).encode()
        await stream.write(b"%04x" % len(lines) + lines)
    else:
        await stream.write(_failure("unknown reverse request"))


def _failure(reason: str) -> bytes:
    return b"FAIL%04x" % len(reason) + reason.encode()


async def _framebuffer(phone: Phone, stream: Stream) -> None:
    """The screen with adb's header of version 1: 32 bits, size, then offset and length of each channel."""
    rgba = await asyncio.to_thread(phone.screen.rgba)
    height, width = rgba.shape[:2]
    layout = (0, 8, 16, 8, 8, 8, 24, 8)  # red, blue, green, alpha
    await stream.write(struct.pack("<13I", 1, 32, width * height * 4, width, height, *layout))
    await stream.write(rgba.tobytes())
