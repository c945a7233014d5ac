"""What is in front on a phone: the window that has the focus, by `dumpsys window`, and how long ago.

`Foreground` asks every few seconds on a thread of its own, because asking takes a phone a tenth of a
second or more; whoever is about to touch reads the last answer and its age, and asks nothing.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from greatwall.errors import DeviceError, GameLeft

DUMP = ("dumpsys", "window")
JOIN_S = 3.0
# In packages that no game has: home screens, the system's windows. A title without a dot is no package.
NO_GAMES = ("launcher", "com.android.systemui", "com.miui.home", "com.android.settings", "trebuchet")
BETWEEN_S = 0.3  # for a moment between two windows none has the focus: that is asked again

# `mCurrentFocus=Window{41f3a u0 com.game/com.game.Main}`, one a display; `null` between two windows.
_FOCUS = re.compile(r"mCurrentFocus=(?:Window\{\S+\s+(?:u\d+\s+)?(?P<title>[^}]*)\}|null)")
# `mFocusedApp=ActivityRecord{3d u0 com.game/.Main t12}`, also inside an AppWindowToken (Android 9).
_APP = re.compile(r"mFocusedApp=.*?ActivityRecord\{\S+\s+u\d+\s+(?P<title>\S+)")


def front_of(dump: str) -> str:
    """The package whose window has the focus; a window without one (a dialogue of the system) by its
    title; "" when nothing has it. `DeviceError` for text that does not say."""
    found = [match["title"] for match in _FOCUS.finditer(dump)]
    if not found:
        found = [match["title"] for match in _APP.finditer(dump)]
    if not found:
        raise DeviceError(
            f"dumpsys window: expected a line with mCurrentFocus, found none in {len(dump)} characters; "
            "see what it prints: adb shell dumpsys window"
        )
    title = next((one for one in found if one), "")
    package, slash, _ = title.partition("/")
    return package if slash else title.strip()


def may_be_a_game(front: str) -> bool:
    """Whether what is in front may be taken for the game where nobody has named it."""
    return "." in front and not any(word in front.lower() for word in NO_GAMES)


class Answer(NamedTuple):
    """What was in front when the question was asked."""

    front: str
    asked_s: float


class Foreground:
    """Knows whether `game` is in front. Written by its thread and by whoever calls `ask`.

    `shell` runs the command on the phone and gives its output, or raises `DeviceError`.
    """

    def __init__(
        self,
        shell: Callable[[], str],
        game: str,
        *,
        poll_s: float,
        age_s: float,
        now_s: Callable[[], float] = time.perf_counter,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._shell = shell
        self.game = game
        self._poll_s, self._age_s = poll_s, age_s
        self._now_s = now_s
        self._answer: Answer | None = None
        self._trouble = "nobody asked yet"
        self._closed = threading.Event()
        self._wait = wait or self._closed.wait
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Ask from now on, every `poll_s`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="phone foreground", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Ask no more; a question under way ends by its own time limit."""
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    def ask(self) -> str:
        """What is in front now; an answer older than one that came meanwhile is not kept."""
        asked_s = self._now_s()
        try:
            front = front_of(self._shell())
            if not front:
                self._wait(BETWEEN_S)
                front = front_of(self._shell())
        except DeviceError as error:
            self._trouble = str(error)
            raise
        if self._answer is None or self._answer.asked_s <= asked_s:
            self._answer = Answer(front, asked_s)
            self._trouble = "the phone takes its time"
        return front

    def forget(self) -> None:
        """What was known is of a connection that is gone."""
        self._answer = None

    def expect_not_left(self) -> None:
        """Raise `GameLeft` where another window is known to be in front."""
        answer = self._answer
        if answer is not None and answer.front != self.game:
            raise GameLeft(f"expected {self.game} in front, found {answer.front or 'no window'}")

    def expect_in_front(self) -> None:
        """Raise `GameLeft` unless the game was in front when last asked, and that is not long ago."""
        self.expect_not_left()
        answer = self._answer
        if answer is None:
            raise GameLeft(f"expected {self.game} in front, found no answer yet: {self._trouble}")
        age_s = self._now_s() - answer.asked_s
        if age_s > self._age_s:
            raise GameLeft(
                f"expected an answer of at most {self._age_s:g} s ago to what is in front, found one of "
                f"{age_s:.1f} s ago: {self._trouble}"
            )

    def _run(self) -> None:
        while not self._closed.wait(self._poll_s):
            with contextlib.suppress(DeviceError):  # noted; the answer grows old, and no touch is made
                self.ask()
