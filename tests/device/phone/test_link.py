"""Finding a phone and talking to it, through the real adb: choices, states, quoting."""

from __future__ import annotations

import shlex
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greatwall.device.phone import link as link_module
from greatwall.device.phone.link import (
    REMEDIES,
    AdbLink,
    AdbServer,
    PhoneListing,
    check_serial,
    choice,
    quoted,
    state_line,
)
from greatwall.errors import ConfigError, DeviceError, DeviceLost
from tests.rigs.adb import AdbServer as RunningAdb
from tests.rigs.adb import free_port
from tests.rigs.phone import StandInPhone

A = PhoneListing("R58M1234", "device", "SM G991B")
B = PhoneListing("192.168.1.5:5555", "device", "Pixel 7")
OFF = PhoneListing("abc", "offline", "")

# --- choosing: no adb needed --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phones", "serial", "chosen"),
    [
        ((A,), "", A),
        ((A, B), B.serial, B),
        ((A, OFF), "", A),
        ((OFF,), "", OFF),
        ((A, OFF), "abc", OFF),
    ],
    ids=["the only one", "the one named", "the only one that answers", "the only one, though offline",
         "the one named, though offline"],
)  # fmt: skip
def test_a_phone_is_taken_when_there_is_no_doubt(
    phones: tuple[PhoneListing, ...], serial: str, chosen: PhoneListing
) -> None:
    assert choice(phones, serial) == chosen


@pytest.mark.parametrize(
    ("phones", "serial", "says"),
    [
        ((), "", ("adb lists none", "allow USB debugging", "--device simulator")),
        ((A, B), "", ("found 2", A.serial, "SM G991B", B.serial, "Pixel 7", f"--serial {A.serial}")),
        ((OFF, OFF._replace(serial="def")), "", ("found 2", "abc (offline)", "def (offline)", "--serial")),
        ((A,), "other", ("expected other", A.serial)),
        ((), "other", ("expected other", "no phone at all")),
    ],
    ids=["none", "two", "two offline", "another one", "none of that name"],
)
def test_doubt_is_one_line_with_the_way_out(
    phones: tuple[PhoneListing, ...], serial: str, says: tuple[str, ...]
) -> None:
    with pytest.raises(DeviceError) as caught:
        choice(phones, serial)
    assert "\n" not in str(caught.value)
    for words in says:
        assert words in str(caught.value)


def test_every_state_has_a_remedy_of_its_own() -> None:
    lines = [state_line("abc", state) for state in ("unauthorized", "offline", "no permissions", "")]
    assert len({line.rpartition(";")[2] for line in lines}) == 4
    for state in [*REMEDIES, "something new"]:
        line = state_line("abc", state)
        assert line.startswith("phone abc: expected")
        assert "\n" not in line


@pytest.mark.parametrize(
    "serial",
    ["x; reboot", "x reboot", "$(reboot)", "`reboot`", "a|b", "a&b", "a>b", "a'b", 'a"b', "-d", "--help", "",
     "a\nb", "a" * 81, "..\\", "é"],
)  # fmt: skip
def test_a_serial_that_could_be_more_than_one_is_refused(serial: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_serial(serial)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "serial",
    [
        "R58M1234",
        "emulator-5554",
        "192.168.1.5:5555",
        "adb-R5CT-x1Yz._adb-tls-connect._tcp",
        "[fe80::1%w0]:5555",
    ],
)
def test_serials_as_adb_writes_them_are_taken(serial: str) -> None:
    assert check_serial(serial) == serial


@pytest.mark.parametrize("text", ["0", "70000", "abc", "-1"])
def test_a_port_of_the_environment_that_is_none_is_told(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", text)
    with pytest.raises(ConfigError, match="ANDROID_ADB_SERVER_PORT"):
        AdbServer()


@pytest.mark.parametrize("arguments", [(), ("a\nb",), ("echo", "\x00"), ("echo", "\x1b[2J")])
def test_words_that_would_end_a_line_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError):
        quoted(arguments)


# --- through the real adb -----------------------------------------------------------------------


def test_the_only_phone_is_taken_without_being_named(adb_server: RunningAdb, phone: StandInPhone) -> None:
    link = AdbLink.choose("", adb_server.port)
    assert (link.serial, link.model) == (phone.serial, "Stand in")
    assert link.state() == "device"
    link.check()
    assert link.server.version() >= 41


def test_an_address_not_connected_yet_is_connected(adb_server: RunningAdb, phone: StandInPhone) -> None:
    adb_server.disconnect(phone.serial)
    adb_server.wait_for(phone.serial, None)
    assert AdbLink.choose(phone.serial, adb_server.port).state() == "device"


def test_a_phone_not_there_is_named_with_those_that_are(link: AdbLink, adb_server: RunningAdb) -> None:
    with pytest.raises(DeviceError, match=f"expected nobody among .* found {link.serial}"):
        AdbLink.choose("nobody", adb_server.port)


def test_a_serial_with_a_command_in_it_never_reaches_adb(link: AdbLink, phone: StandInPhone) -> None:
    with pytest.raises(ConfigError, match="x; reboot"):
        AdbLink.choose("x; reboot", link.server.port)
    with pytest.raises(ConfigError, match="x; reboot"):
        AdbLink(link.server, "x; reboot")
    assert ["reboot"] not in phone.facts("commands")["commands"]


HOSTILE = ["; reboot", "$(reboot)", "`reboot`", "a b", "'; reboot; '", '"; reboot; "', "&& reboot",
           "| reboot", "\\", "*", "~", "", "ü → 万里长城"]  # fmt: skip


def test_every_word_reaches_the_phones_shell_as_it_is(link: AdbLink, phone: StandInPhone) -> None:
    assert link.shell(["echo", *HOSTILE]) == " ".join(HOSTILE) + "\n"
    assert phone.facts("commands")["commands"][-1] == ["echo", *HOSTILE]


WORD = st.text(st.characters(blacklist_categories=("Cc", "Cs")), max_size=20)


@given(st.lists(WORD, min_size=1, max_size=5))
def test_quoting_keeps_words_apart_and_whole(words: list[str]) -> None:
    assert shlex.split(quoted(words)) == words


def test_a_command_answers_in_bytes_too(link: AdbLink) -> None:
    assert link.run(["echo", "ok"]) == b"ok\n"


def test_what_a_command_complains_of_is_not_among_its_bytes(link: AdbLink) -> None:
    assert link.run(["wm", "no-such-word"]) == b""
    assert "usage" in link.shell(["wm", "no-such-word"])


def test_a_file_is_pushed_whole(link: AdbLink, phone: StandInPhone) -> None:
    data = bytes(range(256)) * 400
    link.push(data, "/data/local/tmp/greatwall-test")
    assert link.run(["cat", "/data/local/tmp/greatwall-test"], 5.0) == data


def test_a_service_the_phone_does_not_have_is_an_error_at_once(link: AdbLink) -> None:
    began_s = time.perf_counter()
    with pytest.raises(DeviceError, match="localabstract") as caught:
        link.open("localabstract:nobody", 3.0)
    assert not isinstance(caught.value, DeviceLost)
    assert time.perf_counter() - began_s < 2.5  # refused, not waited out


@pytest.mark.parametrize("fault", ["unauthorized", "offline"])
def test_a_phone_in_that_state_is_told_with_its_remedy(
    fault: str, link: AdbLink, phone: StandInPhone, adb_server: RunningAdb
) -> None:
    phone.misbehave(fault)
    adb_server.wait_for(phone.serial, fault)
    expected = state_line(phone.serial, fault)
    with pytest.raises(DeviceError) as caught:
        AdbLink.choose(phone.serial, adb_server.port)
    assert str(caught.value) == expected
    with pytest.raises(DeviceLost) as lost:
        link.shell(["echo", "ok"])
    assert str(lost.value) == expected


def test_an_unplugged_phone_is_lost(link: AdbLink, phone: StandInPhone, adb_server: RunningAdb) -> None:
    adb_server.disconnect(phone.serial)
    adb_server.wait_for(phone.serial, None)
    for ask in (lambda: link.shell(["echo"]), lambda: link.open("shell:"), lambda: link.push(b"x", "/x")):
        with pytest.raises(DeviceLost, match="adb does not list it; plug it in"):
            ask()
    assert link.state() == ""


def test_a_phone_that_hangs_is_an_error_in_time(link: AdbLink, phone: StandInPhone) -> None:
    phone.misbehave("hang")
    with pytest.raises(DeviceError):
        link.shell(["echo"], 0.5)


def test_without_a_server_the_line_says_so(link: AdbLink) -> None:
    server = AdbServer(free_port())
    with pytest.raises(DeviceError, match=f"port {server.port}"):
        server.phones()
    with pytest.raises(DeviceLost):
        AdbLink(server, link.serial).open("shell:")


def test_something_else_on_the_port_is_no_adb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "CONNECT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        stranger.settimeout(5)
        server = AdbServer(stranger.getsockname()[1])
        server.start()  # somebody listens: it is left alone
        with pytest.raises(DeviceError, match="expected adb's server"):
            server.phones()
