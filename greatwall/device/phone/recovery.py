"""A phone that comes back: reconnected, the game in front, fresh frames; and that keeps hands off the rest.

`KeptPhone` is the device that a Worker plays on: a `Phone`, and what it takes to keep it. `frame` and
touches may come from any thread and never wait for a recovery: they raise. `recover`, `confirm` and
`relaunch` are called by the Worker, and take their time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from config import Config, GameProfile, PhoneConfig
from greatwall.contracts import Device, Frame, WaitingDevice
from greatwall.device.phone.foreground import DUMP, Foreground, may_be_a_game
from greatwall.device.phone.guard import STOP, StopSwitch, TouchRules
from greatwall.device.phone.link import ADDRESS, READY, AdbLink
from greatwall.errors import DeviceError, DeviceLost, GameLeft, HandsOff

LOG = logging.getLogger("greatwall.phone")
SHELL_S = 5.0
REOPEN_S = 10.0
FRESH_S = 3.0  # a picture that stands still this long, with the game in front, is stuck
LOOK_S = 0.05
SLICE_S = 0.5  # a longer wait looks after the stop switch in between
CALM_S = 10.0  # without trouble for this long, the next is the first again
START_S = 15.0  # a game that is started afresh is in front by then
WAKE_KEY, BACK_KEY = "224", "4"  # Android's KEYCODE_WAKEUP and KEYCODE_BACK


class Link(Protocol):
    """The way to a phone's shell."""

    def shell(self, arguments: Sequence[str], timeout_s: float = SHELL_S) -> str:
        """What a command prints there; `DeviceError` or `DeviceLost`."""


class Phone(Device, WaitingDevice, Protocol):
    """A phone whose screen and touches are open, or were: `PhoneDevice`."""

    @property
    def link(self) -> Link: ...

    def reopen(self, timeout_s: float) -> None:
        """Close what is broken and open it again; frame ids go on rising. `DeviceLost` when it cannot."""

    def lift_all(self) -> None:
        """No finger is down after this."""


def back_off(first_s: float, last_s: float) -> Iterator[float]:
    """How long to wait after each failed try: half as long again each time, `last_s` at most, for ever."""
    delay_s = first_s
    while True:
        yield delay_s
        delay_s = min(1.5 * delay_s, last_s)


class KeptPhone:
    """`contracts.RecoveringDevice`. What is in front at first is the game, unless the config names its
    package. `reach` is called before `phone` is opened again: what makes adb list it, over Wi-Fi."""

    def __init__(
        self,
        phone: Phone,
        profile: GameProfile,
        config: PhoneConfig,
        *,
        reach: Callable[[], None] = lambda: None,
        stop: StopSwitch = STOP,
        now_s: Callable[[], float] = time.perf_counter,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.phone = phone
        self._profile, self._config = profile, config
        self._rules = TouchRules(profile)
        self._reach, self._stop, self._now_s = reach, stop, now_s
        self._closed = threading.Event()
        self._wait = wait or self._closed.wait
        self._lock = threading.Lock()
        self._lost: DeviceLost | None = None
        self._in_trouble_since_s: float | None = None
        self._fine_since_s = 0.0
        self._backs = self._launches = self._reopened = 0  # in this recovery
        self.counts = {"lost": 0, "reopened": 0, "backs": 0, "launches": 0, "relaunches": 0}
        self.foreground = Foreground(
            lambda: self._shell(*DUMP),
            config.package,
            poll_s=config.foreground_poll_s,
            age_s=config.foreground_age_s,
            now_s=now_s,
            wait=wait,
        )
        self._stop.watch(phone.lift_all)
        try:
            front = self.foreground.ask()
            if not self.foreground.game:
                self._expect_a_game(front)
                self.foreground.game = front
            if front != self.foreground.game or self._stands_upright():
                self.recover()
            self.foreground.start()
        except BaseException:
            self.close()
            raise

    def _expect_a_game(self, front: str) -> None:
        """Raise `GameLeft` for what nobody named and is no game: it would be touched as one."""
        upright = self._stands_upright()
        if upright or not may_be_a_game(front):
            where = " on a screen that lies otherwise than the game's" if upright else ""
            raise GameLeft(
                f"expected the game in front, found {front or 'no window'}{where}; open the game, or name "
                "it with --package"
            )

    # --- looking and touching -----------------------------------------------------------------

    @property
    def size(self) -> tuple[int, int]:
        return self.phone.size

    def frame(self) -> Frame:
        """The game's newest screen; `GameLeft` while something else is in front, or it stands upright."""
        self._stop.check()
        self.foreground.expect_not_left()
        frame = self._newest()
        if self._stands_wrong(frame):
            raise GameLeft(f"expected a screen as wide as the game's, found {frame.size[0]}x{frame.size[1]}")
        return frame

    def wait_newer(self, than_id: int, timeout_s: float) -> None:
        """`contracts.WaitingDevice`."""
        self.phone.wait_newer(than_id, timeout_s)

    def tap(self, x: float, y: float) -> None:
        self._expect_touchable()
        self._rules.check_tap(*self._on_profile(x, y))
        try:
            self.phone.tap(x, y)
        except DeviceLost as error:
            self._lose(error)
        self._lift_if_stopped()

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        self._expect_touchable()
        self._rules.check_swipe(*self._on_profile(x1, y1), *self._on_profile(x2, y2))
        try:
            self.phone.swipe(x1, y1, x2, y2, duration_ms)
        except DeviceLost as error:
            self._lose(error)
        self._lift_if_stopped()

    def _lift_if_stopped(self) -> None:
        """A touch that was being made when the switch was thrown may have come after the lifting."""
        if self._stop.thrown:
            self.phone.lift_all()

    def _expect_touchable(self) -> None:
        """Raise unless a touch may be made at all."""
        self._stop.check()
        self.foreground.expect_in_front()
        self._expect_open()

    def _on_profile(self, x: float, y: float) -> tuple[float, float]:
        (width, height), (across, down) = self.phone.size, self._profile.frame_size
        return x * across / width, y * down / height

    def _expect_open(self) -> None:
        if self._lost is not None:
            raise DeviceLost(str(self._lost)) from self._lost

    def _newest(self) -> Frame:
        self._expect_open()
        try:
            return self.phone.frame()
        except DeviceLost as error:
            self._lose(error)

    def _stands_wrong(self, frame: Frame) -> bool:
        across, down = self._profile.frame_size
        return (frame.size[0] > frame.size[1]) != (across > down)

    # --- coming back --------------------------------------------------------------------------

    def recover(self) -> None:
        """Connected, awake, the game in front, a fresh frame: until then, with back-off, or until
        `give_up_s` after the first of several troubles in a row; then `DeviceLost`."""
        began_s = self._now_s()
        if self._in_trouble_since_s is None or began_s - self._fine_since_s > CALM_S:
            self._in_trouble_since_s = began_s
        self._backs = self._launches = self._reopened = 0
        deadline_s = self._in_trouble_since_s + self._config.give_up_s
        for delay_s in back_off(*self._config.back_off_s):
            try:
                self._come_back(began_s)
            except HandsOff:
                raise
            except DeviceError as error:
                LOG.info("not back yet: %s", error)
                if self._now_s() + delay_s > deadline_s:
                    raise DeviceLost(
                        f"expected the phone back within {self._config.give_up_s:g} s, found: {error}"
                    ) from error
                self._pause(delay_s)
            else:
                self._fine_since_s = self._now_s()
                return

    def _come_back(self, began_s: float) -> None:
        """One try; `DeviceError` for what is missing."""
        self._stop.check()
        if self._lost is not None:
            self._reopen()
        try:
            self._bring_to_front()
            if self._fresh(began_s):
                return
            if self._reopened:  # that did not cure it
                self._launch_if_left()
        except (GameLeft, HandsOff):
            raise
        except DeviceError as error:
            self._lose(error)
        self._lose(DeviceLost(f"expected a new frame within {FRESH_S:g} s, found none"))

    def _reopen(self) -> None:
        """Reach the phone and open it again; what the lost connection may have left down is lifted."""
        self._reach()
        self.phone.reopen(REOPEN_S)
        self._lost = None
        self._reopened += 1
        self.counts["reopened"] += 1
        self.phone.lift_all()

    def _bring_to_front(self) -> None:
        """Back, then start the game, each a few times in one recovery; after that it is only waited for."""
        foreground, limits = self.foreground, self._config
        front = foreground.ask()
        while front != foreground.game or self._stands_upright():
            if self._backs < limits.back_tries and front not in ("", foreground.game):
                self._backs += 1
                self.counts["backs"] += 1
                LOG.warning("%s is in front of the game: pressing Back", front)
                self._shell("input", "keyevent", BACK_KEY)
            elif not self._launch_if_left():
                upright = " on an upright screen" if front == foreground.game else ""
                raise GameLeft(
                    f"expected {foreground.game} in front after {self._backs} Back and {self._launches} "
                    f"starts of it, found {front or 'no window'}{upright}; close that, or open the game"
                )
            self._pause(limits.settle_s)
            front = foreground.ask()

    def _stands_upright(self) -> bool:
        return self._stands_wrong(self._newest())

    def _launch_if_left(self) -> bool:
        if self._launches >= self._config.launch_tries:
            return False
        self._launches += 1
        self.counts["launches"] += 1
        LOG.warning("starting %s", self.foreground.game)
        self._launch()
        return True

    def _launch(self) -> None:
        """Wake the screen and start the game, or bring it to the front where it runs."""
        game, activity = self.foreground.game, self._config.activity
        self._shell("input", "keyevent", WAKE_KEY)
        self._shell("wm", "dismiss-keyguard")  # one without a PIN; it says nothing to one that is not there
        if activity:
            said = self._shell("am", "start", "-n", f"{game}/{activity}")
        else:
            said = self._shell("monkey", "-p", game, "-c", "android.intent.category.LAUNCHER", "1")
        if "Error" in said or "aborted" in said:
            line = " ".join(said.split())[-120:]
            raise DeviceError(f"expected {game} to start, found: {line}; see --package and --activity")

    def _fresh(self, began_s: float) -> bool:
        """Whether a frame captured after `began_s` comes within `FRESH_S`."""
        until_s = self._now_s() + FRESH_S
        while self._now_s() < until_s:
            if self._newest().captured_at_s > began_s:
                return True
            self._pause(LOOK_S)
        return False

    def confirm(self) -> None:
        """Ask now; `GameLeft` where the game is not in front or nobody can tell."""
        try:
            self.foreground.ask()
        except DeviceLost:
            raise
        except DeviceError as error:
            raise GameLeft(f"expected to hear what is in front, found: {error}") from error
        self.foreground.expect_in_front()

    def relaunch(self) -> None:
        """Stop the game's app and start it; back when it is in front."""
        self.counts["relaunches"] += 1
        game = self.foreground.game
        LOG.info("starting %s afresh", game)
        try:
            self._shell("am", "force-stop", game)
            self._launch()
            until_s = self._now_s() + START_S
            while self.foreground.ask() != game and self._now_s() < until_s:
                self._pause(LOOK_S * 4)
        except HandsOff:
            raise
        except DeviceError as error:
            LOG.info("trouble while starting the game afresh: %s", error)  # `recover` follows

    # --- inside -------------------------------------------------------------------------------

    def _lose(self, error: DeviceError) -> NoReturn:
        """Raises `DeviceLost`, and so does every look and touch until `recover` has opened it again."""
        lost = error if isinstance(error, DeviceLost) else DeviceLost(str(error))
        with self._lock:
            if self._lost is None:
                self._lost = lost
                self.counts["lost"] += 1
        raise lost from error.__cause__

    def _shell(self, *args: str) -> str:
        return self.phone.link.shell(args, SHELL_S)

    def _pause(self, seconds: float) -> None:
        """Wait, and see to the stop switch meanwhile."""
        until_s = self._now_s() + seconds
        while (left_s := until_s - self._now_s()) > 0:
            self._stop.check()
            if self._closed.is_set():
                raise DeviceLost("expected an open device, found a closed one; build a new one")
            self._wait(min(left_s, SLICE_S))

    # --- the rest of a device -----------------------------------------------------------------

    def pause(self) -> bool:
        return False

    def resume(self) -> None:
        """Nothing was paused."""

    def new_game(self, seed: int) -> bool:
        del seed
        return False

    def facts(self) -> Mapping[str, Any] | None:
        return None

    def health(self) -> str:
        """The phone's own line, and what had to be done to keep it."""
        state = self.phone.health() if self._lost is None else f"lost: {self._lost}"
        done = ", ".join(f"{word} {number}" for word, number in self.counts.items() if number)
        return f"{state}; {done}" if done else state

    def close(self) -> None:
        """Lift the fingers, let the phone go."""
        self._closed.set()
        self.foreground.close()
        self._stop.forget(self.phone.lift_all)
        self.phone.lift_all()
        self.phone.close()


def reach(link: AdbLink) -> None:
    """Have adb list the phone again: over Wi-Fi it is connected anew, by cable it comes by itself."""
    link.server.start()
    if link.state() != READY and ADDRESS.fullmatch(link.serial):
        link.server.disconnect(link.serial)  # adb says "already connected" of one that is offline
        said = link.server.connect(link.serial)
        LOG.info("adb: %s", said)
    link.check()


def open_phone(config: Config) -> KeptPhone:
    """The phone of `config.phone`, open and looked after. `DeviceError` where there is none."""
    from greatwall.device.phone.device import PhoneDevice

    phone = PhoneDevice(config)
    return KeptPhone(phone, config.profile, config.phone, reach=lambda: reach(phone.link))
