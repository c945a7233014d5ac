"""The programs of the phone's shell, as far as a host asks them. Bound to one stream each time."""

from __future__ import annotations

import asyncio
import re
import struct
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import cv2

from tests.rigs.phone import scrcpy
from tests.rigs.phone.apps import KEYS, PACKAGES
from tests.rigs.phone.dumpsys import report
from tests.rigs.phone.shell import Io, Program
from tests.rigs.phone.stream import CodedScreen
from tests.rigs.phone.transport import Stream, Transport

if TYPE_CHECKING:
    from tests.rigs.phone.phone import Phone

SWIPE_S = 0.3  # Android's default
MOVE_GAP_S = 1 / 60
RECORD_LIMIT_S = 180.0  # Android's default and most


class Programs:
    """One shell's programs. Each takes argv and its Io, and returns an exit code."""

    def __init__(self, phone: Phone, transport: Transport, stream: Stream) -> None:
        self._phone = phone
        self._transport = transport
        self._stream = stream

    def table(self) -> Mapping[str, Program]:
        """Name -> program, each noted in the log when it runs."""
        own: dict[str, Program] = {
            "input": self.input, "wm": self.wm, "getprop": self.getprop, "dumpsys": self.dumpsys,
            "screencap": self.screencap, "screenrecord": self.screenrecord, "settings": self.settings,
            "pm": self.pm, "am": self.am, "monkey": self.monkey, "svc": self.nothing, "cmd": self.cmd,
            "app_process": self.app_process, "ps": self.ps, "pidof": self.pidof, "cat": self.cat,
            "ls": self.ls, "rm": self.rm, "chmod": self.nothing, "mkdir": self.nothing,
            "echo": self.echo, "true": self.nothing, "false": self.fail, ":": self.nothing,
            "sleep": self.sleep, "date": self.date, "id": self.id, "whoami": self.id,
            "uname": self.uname, "grep": self.grep,
            "head": self.head, "wc": self.wc, "reboot": self.nothing, "logcat": self.nothing,
        }  # fmt: skip
        return {name: self._noted(program) for name, program in own.items()}

    def _noted(self, program: Program) -> Program:
        async def run(argv: list[str], io: Io) -> int:
            self._phone.log.ran(argv)
            return await program(argv, self._garbled(argv[0], io))

        return run

    def _garbled(self, name: str, io: Io) -> Io:
        """The `garbage` fault: noise where an answer was due."""
        faults = self._phone.faults
        is_answer = name not in ("screencap", "screenrecord", "app_process", "input")
        if not is_answer or not faults.take("garbage", "shell"):
            return io

        async def noise(_: bytes) -> None:
            await io.out(faults.noise(200))

        return Io(noise, io.err, io.given, io.variables)

    # --- touching -----------------------------------------------------------------------------

    async def input(self, argv: list[str], io: Io) -> int:
        phone = self._phone
        words = argv[1:]
        if words and words[0] in ("touchscreen", "keyboard", "mouse", "touchpad"):
            words = words[1:]
        await asyncio.sleep(phone.settings.input_s)
        match words:
            case ["tap", x, y]:
                self._event("down", float(x), float(y))
                self._event("up", float(x), float(y))
            case ["swipe" | "draganddrop", *numbers] if len(numbers) in (4, 5):
                x1, y1, x2, y2, *rest = map(float, numbers)
                await self._swipe(x1, y1, x2, y2, rest[0] / 1000 if rest else SWIPE_S)
            case ["motionevent", "DOWN" | "UP" | "MOVE" as action, x, y]:
                self._event(action.lower(), float(x), float(y))
            case ["keyevent", *codes] if codes:
                return await self._keys([code for code in codes if not code.startswith("--")], io)
            case ["text", _]:
                pass
            case _:
                await io.err(f"Error: Invalid arguments for command: {' '.join(words)}\n".encode())
                return 255
        return 0

    def _event(self, action: str, x: float, y: float) -> None:
        phone, pointer = self._phone, f"shell {self._stream.local_id}"
        phone.log.touched(action, pointer=pointer, x=x, y=y, size=phone.screen.size, via="shell", fate="kept")
        {"down": phone.press, "up": phone.lift, "move": phone.move}[action](pointer, x, y)

    async def _swipe(self, x1: float, y1: float, x2: float, y2: float, lasts_s: float) -> None:
        """The program ends with the swipe; its steps are logged at their ends only."""
        phone, pointer = self._phone, f"shell {self._stream.local_id}"
        began_s = time.monotonic()
        self._event("down", x1, y1)
        while (gone_s := time.monotonic() - began_s) < lasts_s:
            share = gone_s / lasts_s
            phone.move(pointer, x1 + (x2 - x1) * share, y1 + (y2 - y1) * share)
            await asyncio.sleep(min(MOVE_GAP_S, lasts_s - gone_s))
        self._event("up", x2, y2)

    async def _keys(self, codes: list[str], io: Io) -> int:
        for code in codes:
            name = code.removeprefix("KEYCODE_")
            number = int(name) if name.isdigit() else KEYS.get(name)
            if number is None:
                await io.err(f"Error: Unknown keycode: {code}\n".encode())
                return 255
            self._phone.apps.press_key(number)
        return 0

    # --- looking ------------------------------------------------------------------------------

    async def screencap(self, argv: list[str], io: Io) -> int:
        phone = self._phone
        await asyncio.sleep(phone.settings.screencap_s)
        data = await asyncio.to_thread(self._png if "-p" in argv else self._raw)
        if phone.faults.take("cut_frame", "screen"):
            data = data[: len(data) // 2]
        if phone.faults.take("garbage", "screen"):
            data = phone.faults.noise(len(data))
        paths = [word for word in argv[1:] if not word.startswith("-")]
        if paths:
            phone.storage.write(paths[0], data)
        else:
            await io.out(data)
        return 0

    def _raw(self) -> bytes:
        """RGBA after width, height, format 1 and, since Android 9, the colour space."""
        rgba = self._phone.screen.rgba()
        height, width = rgba.shape[:2]
        head = (width, height, 1, 1) if self._phone.settings.sdk >= 28 else (width, height, 1)
        return struct.pack(f"<{len(head)}I", *head) + rgba.tobytes()

    def _png(self) -> bytes:
        bgra = cv2.cvtColor(self._phone.screen.rgba(), cv2.COLOR_RGBA2BGRA)
        return cv2.imencode(".png", bgra, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()

    async def screenrecord(self, argv: list[str], io: Io) -> int:
        """`--output-format=h264 -`: a raw stream, in one size, only while the screen changes."""
        given = _long_options(argv[1:])
        if given.get("output-format") != "h264" or argv[-1] != "-":
            await io.err(b"this stand-in records only with --output-format=h264 -\n")
            return 1
        limit_s = min(float(given.get("time-limit", RECORD_LIMIT_S)) or RECORD_LIMIT_S, RECORD_LIMIT_S)
        phone = self._phone
        coded = CodedScreen(
            phone.screen, bit_rate=int(given.get("bit-rate", 20_000_000)), repeats=0, follows_rotation=False
        )
        if "size" in given:
            width, height = map(int, given["size"].split("x"))
            coded.size = width, height
        phone.watch(coded)
        try:
            async with asyncio.timeout(limit_s):
                while True:
                    unit = await coded.units.get()
                    if unit.is_config or not phone.faults.loses("frames"):
                        await io.out(self._spoiled(unit.data) if not unit.is_config else unit.data)
        except TimeoutError:
            return 0
        finally:
            phone.unwatch(coded)

    def _spoiled(self, data: bytes) -> bytes:
        faults = self._phone.faults
        if faults.take("cut_frame", "video") or faults.take("cut_frame", "payload"):
            return data[: len(data) // 2]
        return faults.noise(4096) if faults.take("garbage", "video") else data

    async def app_process(self, argv: list[str], io: Io) -> int:
        if scrcpy.SERVER_CLASS not in argv:
            await io.err(b"Aborted \n")
            return 134
        return await scrcpy.run(self._phone, self._transport, argv, io)

    # --- asking -------------------------------------------------------------------------------

    async def wm(self, argv: list[str], io: Io) -> int:
        settings = self._phone.settings
        if argv[1:2] == ["size"]:
            await io.out(f"Physical size: {settings.height}x{settings.width}\n".encode())
        elif argv[1:2] == ["density"]:
            await io.out(b"Physical density: 420\n")
        else:
            await io.err(b"usage: wm size | wm density\n")
            return 255
        return 0

    async def getprop(self, argv: list[str], io: Io) -> int:
        properties = self._phone.properties()
        if len(argv) > 1:
            await io.out(properties.get(argv[1], argv[2] if len(argv) > 2 else "").encode() + b"\n")
        else:
            await io.out("".join(f"[{name}]: [{value}]\n" for name, value in properties.items()).encode())
        return 0

    async def dumpsys(self, argv: list[str], io: Io) -> int:
        text = report(self._phone, argv[1] if len(argv) > 1 else "")
        if text is None:
            await io.out(f"Can't find service: {argv[1]}\n".encode())
            return 0
        await io.out(text.encode())
        return 0

    async def settings(self, argv: list[str], io: Io) -> int:
        match argv[1:]:
            case ["get", table, name]:
                await io.out(self._phone.tables.get((table, name), "null").encode() + b"\n")
            case ["put", table, name, value]:
                self._phone.tables[table, name] = value
            case ["delete", table, name]:
                found = self._phone.tables.pop((table, name), None)
                await io.out(f"Deleted {int(found is not None)} rows\n".encode())
            case _:
                await io.err(b"usage: settings get|put|delete TABLE NAME [VALUE]\n")
                return 255
        return 0

    async def pm(self, argv: list[str], io: Io) -> int:
        match argv[1:]:
            case ["list", "packages", *rest]:
                wanted = rest[-1] if rest and not rest[-1].startswith("-") else ""
                await io.out("".join(f"package:{one}\n" for one in PACKAGES if wanted in one).encode())
            case ["path", package]:
                if package not in PACKAGES:
                    return 1
                await io.out(f"package:/data/app/{package}-1/base.apk\n".encode())
            case _:
                await io.err(b"usage: pm list packages [NAME] | pm path PACKAGE\n")
                return 255
        return 0

    async def am(self, argv: list[str], io: Io) -> int:
        words = argv[1:]
        if words[:1] == ["force-stop"] and len(words) == 2:
            self._phone.stop_app(words[1])
            return 0
        if words[:1] == ["start"]:
            return await self._start(words[1:], io)
        await io.err(b"usage: am start -n PACKAGE/ACTIVITY | am force-stop PACKAGE\n")
        return 255

    async def _start(self, words: list[str], io: Io) -> int:
        component = next((word for word in words if re.fullmatch(r"[\w.]+/[\w.$]+", word)), "")
        package = component.partition("/")[0]
        await io.out(f"Starting: Intent {{ cmp={component} }}\n".encode())
        if package not in PACKAGES:
            await io.out(b"Error type 3\n")
            await io.out(f"Error: Activity class {{{component}}} does not exist.\n".encode())
            return 1
        if not self._phone.launch(package):
            await io.out(b"Warning: Activity not started, its current task has been brought to the front\n")
        return 0

    async def monkey(self, argv: list[str], io: Io) -> int:
        package = argv[argv.index("-p") + 1] if "-p" in argv[:-1] else ""
        if package not in PACKAGES:
            await io.out(b"** No activities found to run, monkey aborted.\n")
            return 252
        self._phone.launch(package)
        await io.out(b"Events injected: 1\n")
        return 0

    async def cmd(self, argv: list[str], io: Io) -> int:
        if argv[1:2] == ["package"]:
            return await self.pm(["pm", *argv[2:]], io)
        return 0

    async def ps(self, argv: list[str], io: Io) -> int:
        names = ["init", "adbd", "system_server"] + ([PACKAGES[0]] if self._phone.apps.game_runs else [])
        lines = ["USER           PID  PPID     VSZ    RSS WCHAN            ADDR S NAME"]
        lines += [f"shell {100 + 7 * number:12d}     1  10000   2000 0                   0 S {name}"
                  for number, name in enumerate(names)]  # fmt: skip
        await io.out(("\n".join(lines) + "\n").encode())
        return 0

    async def pidof(self, argv: list[str], io: Io) -> int:
        runs = argv[1:] == [PACKAGES[0]] and self._phone.apps.game_runs
        if runs:
            await io.out(b"121\n")
        return 0 if runs else 1

    # --- files and words ----------------------------------------------------------------------

    async def cat(self, argv: list[str], io: Io) -> int:
        if len(argv) == 1:
            await io.out(io.given)
        for path in argv[1:]:
            data = self._phone.storage.read(path)
            if data is None:
                await io.err(f"cat: {path}: No such file or directory\n".encode())
                return 1
            await io.out(data)
        return 0

    async def ls(self, argv: list[str], io: Io) -> int:
        storage = self._phone.storage
        for path in [word for word in argv[1:] if not word.startswith("-")] or ["/"]:
            if storage.is_folder(path):
                await io.out("".join(f"{name}\n" for name, _ in storage.listed(path)).encode())
            elif storage.read(path) is not None:
                await io.out(f"{path}\n".encode())
            else:
                await io.err(f"ls: {path}: No such file or directory\n".encode())
                return 1
        return 0

    async def rm(self, argv: list[str], io: Io) -> int:
        status = 0
        for path in [word for word in argv[1:] if not word.startswith("-")]:
            if not self._phone.storage.remove(path) and "-f" not in argv:
                await io.err(f"rm: {path}: No such file or directory\n".encode())
                status = 1
        return status

    async def echo(self, argv: list[str], io: Io) -> int:
        words, end = (argv[2:], "") if argv[1:2] == ["-n"] else (argv[1:], "\n")
        await io.out((" ".join(words) + end).encode())
        return 0

    async def sleep(self, argv: list[str], io: Io) -> int:
        await asyncio.sleep(float(argv[1]) if len(argv) > 1 else 0.0)
        return 0

    async def date(self, argv: list[str], io: Io) -> int:
        await io.out(time.strftime("%a %b %d %H:%M:%S UTC %Y\n", time.gmtime()).encode())
        return 0

    async def id(self, argv: list[str], io: Io) -> int:
        await io.out(b"uid=2000(shell) gid=2000(shell)\n" if argv[0] == "id" else b"shell\n")
        return 0

    async def uname(self, argv: list[str], io: Io) -> int:
        await io.out(b"Linux\n")
        return 0

    async def grep(self, argv: list[str], io: Io) -> int:
        flags = "".join(word[1:] for word in argv[1:] if word.startswith("-"))
        words = [word for word in argv[1:] if not word.startswith("-")]
        if len(words) != 1:
            await io.err(b"grep: expected one pattern and a pipe before it\n")
            return 2
        pattern = re.compile(words[0], re.IGNORECASE if "i" in flags else 0)
        lines = io.given.decode("utf-8", "replace").splitlines()
        kept = [line for line in lines if (pattern.search(line) is None) == ("v" in flags)]
        await io.out("".join(f"{line}\n" for line in kept).encode())
        return 0 if kept else 1

    async def head(self, argv: list[str], io: Io) -> int:
        digits = re.search(r"\d+", " ".join(argv[1:]))
        await io.out(b"".join(io.given.splitlines(keepends=True)[: int(digits[0]) if digits else 10]))
        return 0

    async def wc(self, argv: list[str], io: Io) -> int:
        count = len(io.given) if "-c" in argv else io.given.count(b"\n")
        await io.out(f"{count}\n".encode())
        return 0

    async def fail(self, argv: list[str], io: Io) -> int:
        return 1

    async def nothing(self, argv: list[str], io: Io) -> int:
        """Programs whose doing a host cannot see."""
        return 0


def _long_options(words: list[str]) -> dict[str, str]:
    """`--name=value` and `--name value` as a table."""
    found: dict[str, str] = {}
    for number, word in enumerate(words):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name] = value if equals else words[number + 1] if number + 1 < len(words) else ""
    return found
