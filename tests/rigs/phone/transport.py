"""One connection of an adb server to this phone: packets, authorization, streams. On the phone's loop."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable

from tests.rigs.phone.faults import Faults
from tests.rigs.phone.wire import (
    AUTH,
    AUTH_PUBLIC_KEY,
    AUTH_SIGNATURE,
    AUTH_TOKEN,
    CLSE,
    CNXN,
    HEADER,
    MAX_PAYLOAD,
    OKAY,
    OPEN,
    VERSION,
    WRTE,
    WireError,
    packet,
    parse_head,
)

Serve = Callable[["Transport", "Stream", str], Awaitable[None]]


class StreamClosedError(ConnectionError):
    """The other side of a stream is gone."""


class Stream:
    """One service's two-way flow of bytes inside a transport."""

    def __init__(self, transport: Transport, local_id: int, remote_id: int) -> None:
        self._transport = transport
        self.local_id = local_id
        self.remote_id = remote_id
        self.is_closed = False
        self.is_open = False  # the side that was asked has agreed
        self._acknowledged = asyncio.Event()
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self._rest = b""
        self._gone = asyncio.Event()
        self._writing = asyncio.Lock()  # two writers of a stream take turns by whole writes

    async def write(self, data: bytes) -> None:
        """Send and wait until the host has taken it; StreamClosedError when it is gone."""
        async with self._writing:
            for start in range(0, len(data), self._transport.max_payload):
                await self._transport.faults.moving()
                if self.is_closed:
                    raise StreamClosedError
                if self._transport.faults.loses("bytes"):
                    continue
                self._acknowledged.clear()
                piece = bytes(data[start : start + self._transport.max_payload])
                self._transport.send(WRTE, self.local_id, self.remote_id, piece)
                await self._acknowledged.wait()
                if self.is_closed:
                    raise StreamClosedError

    async def read(self) -> bytes:
        """What has arrived; b"" at the end."""
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        return await self._arrived.get()

    async def read_exactly(self, size: int) -> bytes:
        """`size` bytes; StreamClosedError when fewer come."""
        while len(self._rest) < size:
            data = await self._arrived.get()
            if not data:
                raise StreamClosedError
            self._rest += data
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    async def gone(self) -> None:
        """Wait until it is closed by either side."""
        await self._gone.wait()

    def close(self) -> None:
        """End it from this side."""
        if not self.is_closed:
            # A refusal carries no id of ours: adb looks for a socket with that peer and finds none.
            self._transport.send(CLSE, self.local_id if self.is_open else 0, self.remote_id)
            self._transport.streams.pop(self.local_id, None)
            self.end()

    def end(self) -> None:
        """It is over: wake whoever waits."""
        self.is_closed = True
        self._acknowledged.set()
        self._arrived.put_nowait(b"")
        self._gone.set()

    def acknowledge(self, remote_id: int) -> None:
        self.remote_id = self.remote_id or remote_id  # the answer to an OPEN of ours names the other side
        self.is_open = True
        self._acknowledged.set()

    def arrive(self, data: bytes) -> None:
        self._arrived.put_nowait(data)

    async def accepted(self) -> None:
        """Wait until the host has taken an OPEN of ours; StreamClosedError when it refuses."""
        await self._acknowledged.wait()
        if self.is_closed:
            raise StreamClosedError


class Transport:
    """The device side of one connection. `serve` is called for every stream the host opens."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        banner: bytes,
        faults: Faults,
        serve: Serve,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._banner = banner
        self.faults = faults
        self._serve = serve
        self.max_payload = 4096
        self.streams: dict[int, Stream] = {}
        self.reverse: dict[str, str] = {}  # what the phone's sockets are connected to on the host
        self.is_online = False
        self._greeted_by: tuple[int, int] | None = None
        self._checked = True
        self._next_id = 1
        self._late: deque[bytes] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Take packets until the connection ends; every stream ends with it."""
        try:
            while True:
                head = parse_head(await self._reader.readexactly(HEADER.size))
                payload = await self._reader.readexactly(head.length) if head.length else b""
                await self.faults.moving()
                self._take(head.command, head.arg0, head.arg1, payload)
        except (asyncio.IncompleteReadError, ConnectionError, WireError):
            pass
        finally:
            self.close()

    def _take(self, command: int, arg0: int, arg1: int, payload: bytes) -> None:
        if command == CNXN:
            self.max_payload = min(arg1, MAX_PAYLOAD)
            self._greeted_by = arg0, arg1
            self.greet()
        elif command == AUTH:
            self._authorize(arg0)
        elif not self.is_online:
            return
        elif command == OPEN:
            self._open(arg0, payload)
        elif command == WRTE:
            self._written(arg0, arg1, payload)
        elif command == OKAY:
            if arg1 in self.streams:
                self.streams[arg1].acknowledge(arg0)
        elif command == CLSE:
            stream = self.streams.pop(arg1, None)
            if stream is not None:
                stream.end()

    def greet(self) -> None:
        """Answer the host's CNXN as the faults let us; called again when one of them is over."""
        if self._greeted_by is None or self.is_online or self.faults.on("offline") is not None:
            return
        if self.faults.on("unauthorized") is not None:
            self.send(AUTH, AUTH_TOKEN, 0, os.urandom(20))
            return
        self._checked = self._greeted_by[0] < VERSION
        self.is_online = True
        self.send(CNXN, VERSION, MAX_PAYLOAD, self._banner)

    def _authorize(self, kind: int) -> None:
        if kind == AUTH_SIGNATURE:  # never the right key: ask for the next until the host runs out of them
            self.greet()
        elif kind == AUTH_PUBLIC_KEY and self.faults.on("unauthorized") is None:
            self.greet()  # else the question stands on the phone's screen, unanswered

    def _open(self, remote_id: int, payload: bytes) -> None:
        stream = Stream(self, self._new_id(), remote_id)
        self.streams[stream.local_id] = stream
        service = payload.rstrip(b"\0").decode("utf-8", "replace")
        self._keep(asyncio.get_running_loop().create_task(self._run_service(stream, service)))

    async def _run_service(self, stream: Stream, service: str) -> None:
        try:
            await self._serve(self, stream, service)
        except StreamClosedError:
            pass
        finally:
            stream.close()

    def _written(self, remote_id: int, local_id: int, payload: bytes) -> None:
        stream = self.streams.get(local_id)
        if stream is None:
            self.send(CLSE, 0, remote_id)
        else:
            stream.arrive(payload)
            self.send(OKAY, local_id, remote_id)

    def accept(self, stream: Stream) -> None:
        """Tell the host that its stream is open."""
        stream.is_open = True
        self.send(OKAY, stream.local_id, stream.remote_id)

    async def open_to_host(self, destination: str) -> Stream:
        """A stream to a socket of the host (`reverse`); StreamClosedError when there is none."""
        stream = Stream(self, self._new_id(), 0)
        self.streams[stream.local_id] = stream
        self.send(OPEN, stream.local_id, 0, destination.encode() + b"\0")
        await stream.accepted()
        return stream

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            context = {"message": "a service failed", "exception": error}
            task.get_loop().call_exception_handler(context)

    def send(self, command: int, arg0: int, arg1: int, payload: bytes = b"") -> None:
        """Put a packet on the wire, later when the `delay` fault is on; order is kept."""
        data = packet(command, arg0, arg1, payload, checked=self._checked)
        how = self.faults.on("delay")
        if how is None and not self._late:
            self._put(data)
        else:
            self._late.append(data)
            by_s = how["by_s"] if how is not None else 0.0
            asyncio.get_running_loop().call_later(by_s, self._send_late)

    def _send_late(self) -> None:
        if self._late:
            self._put(self._late.popleft())

    def _put(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    def close(self) -> None:
        """End the connection and everything in it."""
        self._writer.close()
        for stream in list(self.streams.values()):
            stream.end()
        self.streams.clear()
        self.is_online = False
        current = asyncio.current_task()
        for task in list(self._tasks):
            if task is not current:
                task.cancel()
