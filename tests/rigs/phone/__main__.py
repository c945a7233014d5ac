"""`python -m tests.rigs.phone --port 6555`: a stand-in phone to use by hand; Ctrl-C ends it."""

from __future__ import annotations

import argparse
import asyncio
import errno
import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import cv2

from tests.rigs.phone import control
from tests.rigs.phone.faults import FAULTS
from tests.rigs.phone.phone import Phone
from tests.rigs.phone.settings import PhoneSettings

SWITCH_INTERVAL_S = 0.0005  # touches must not wait 5 ms for the drawing thread


def parser() -> argparse.ArgumentParser:
    """The command line; the same words as `PhoneSettings`."""
    what = argparse.ArgumentParser("python -m tests.rigs.phone", description=__doc__)
    plain = PhoneSettings()
    what.add_argument("--port", type=int, default=6555, help="TCP port on 127.0.0.1; not 5554-5585")
    what.add_argument("--width", type=int, default=plain.width, help="px of the screen held sideways")
    what.add_argument("--height", type=int, default=plain.height)
    what.add_argument("--seed", type=int, default=plain.seed)
    what.add_argument("--touch-delay", default="0.3,0.5", metavar="LOW,HIGH", help="s, finger down to effect")
    what.add_argument("--look", default=plain.look, help="how the game is drawn")
    what.add_argument("--playing", action="store_true", help="begin in a live run, not on the title page")
    what.add_argument("--time-code", action="store_true", help="draw each frame's time along its upper edge")
    what.add_argument("--input-cost", type=float, default=plain.input_s, metavar="S", help="of `input`, s")
    faults = ", ".join(FAULTS)
    what.add_argument(
        "--fault", action="append", default=[], metavar="NAME[:SECONDS]", help=f"begin with one of: {faults}"
    )
    what.add_argument("--controlled", metavar="JSON", help=argparse.SUPPRESS)
    return what


def settings_of(asked: argparse.Namespace) -> PhoneSettings:
    low, _, high = asked.touch_delay.partition(",")
    return PhoneSettings(
        port=asked.port, width=asked.width, height=asked.height, seed=asked.seed,
        touch_delay_s=(float(low), float(high or low)), look=asked.look, playing=asked.playing,
        time_code=asked.time_code, input_s=asked.input_cost,
    )  # fmt: skip


async def run_controlled(settings: PhoneSettings) -> None:
    phone = Phone(settings)
    await phone.start()
    control.say({"port": phone.port})
    try:
        await control.obey(phone)
    finally:
        await phone.stop()


async def run_by_hand(settings: PhoneSettings, faults: list[str]) -> None:
    phone = Phone(settings)
    await phone.start()
    for fault in faults:
        name, _, seconds = fault.partition(":")
        phone.misbehave(name, float(seconds) if seconds else None)
    serial = f"127.0.0.1:{phone.port}"
    print(f"A phone of {settings.width}x{settings.height} at {serial}. In another window:")
    print(f"  adb connect {serial}")
    print(f"  adb -s {serial} shell input tap {settings.width // 2} {settings.height * 25 // 27}")
    print(f"  python ppo_acting.py --device phone --serial {serial}")
    print("Ctrl-C ends it.", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await phone.stop()


def main() -> int:
    asked = parser().parse_args()
    cv2.setNumThreads(1)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        if asked.controlled is not None:
            asyncio.run(run_controlled(PhoneSettings(**control.tupled(json.loads(asked.controlled)))))
        else:
            asyncio.run(run_by_hand(settings_of(asked), asked.fault))
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        why = f"expected a free port, found {asked.port} taken; choose another with --port"
        print(f"stand-in phone: {why if error.errno == errno.EADDRINUSE else error}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"stand-in phone: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
