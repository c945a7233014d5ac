"""The stand-in phone's parts by themselves: its shell's words, its time code, its fingers, its packets."""

from __future__ import annotations

import asyncio
import shlex

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rigs.phone import PhoneSettings, timecode
from tests.rigs.phone.encoder import Encoder
from tests.rigs.phone.fingers import Fingers
from tests.rigs.phone.scrcpy import OptionError, parse_options
from tests.rigs.phone.scrcpy_control import ControlError, Key, Other, Touch, read_message
from tests.rigs.phone.shell import Io, Shell
from tests.rigs.phone.wire import CNXN, VERSION, WireError, packet, parse_head

PRINTABLE = st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126))


def ran_by(line: str) -> list[list[str]]:
    """The words of every `say` that a line runs."""
    seen: list[list[str]] = []

    async def say(argv: list[str], io: Io) -> int:
        seen.append(argv[1:])
        return 0

    async def quiet(data: bytes) -> None:
        pass

    asyncio.run(Shell({"say": say, "reboot": say}).run(line, quiet, quiet))
    return seen


@given(st.lists(PRINTABLE, max_size=4))
def test_quoted_words_reach_a_program_as_they_are(words: list[str]) -> None:
    assert ran_by(shlex.join(["say", *words])) == [words]


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("say x; reboot", [["x"], []]),  # what an unquoted word would do: the shell can be injected into
        ("say 'x; reboot'", [["x; reboot"]]),
        ("say $?", [["0"]]),
        ("false; say $?", [["127"]]),
        ("say 2>&1", [[]]),
        ("say a2>/dev/null", [["a2"]]),
        ("say a # b", [["a"]]),
        ("say $(reboot)", []),
        ("X=1 say y", [["y"]]),
        ("'X=1' say y", []),
    ],
)
def test_a_line_runs_what_a_shell_would_run(line: str, runs: list[list[str]]) -> None:
    assert ran_by(line) == runs


@given(st.floats(0, timecode.WRAP_S - 1), st.integers(0, 255))
def test_a_time_code_is_read_at_half_the_size(at_s: float, grey: int) -> None:
    frame = np.full((1080, 1920, 3), grey, np.uint8)
    timecode.paint(frame, at_s)
    small = np.asarray(cv2.resize(frame, (960, 540), interpolation=cv2.INTER_LINEAR), np.uint8)
    assert timecode.read(small) == pytest.approx(at_s, abs=0.001)
    assert timecode.age_s(small, at_s + 0.25) == pytest.approx(0.25, abs=0.001)


@given(st.integers(0, timecode.CELLS - 1), st.floats(0, 1e5))
def test_a_damaged_time_code_is_none(cell: int, at_s: float) -> None:
    frame = np.zeros((1080, 1920, 3), np.uint8)
    timecode.paint(frame, at_s)
    left = timecode.LEFT + cell * timecode.CELL
    frame[: timecode.CELL, left : left + timecode.CELL] ^= 255
    assert timecode.read(frame) is None


def test_a_frame_without_a_code_has_no_time() -> None:
    assert timecode.read(np.zeros((720, 1280, 3), np.uint8)) is None


def test_the_encoder_gives_one_unit_a_picture_and_its_sets_apart() -> None:
    encoder = Encoder((320, 184), 1_000_000)
    grey = np.full((184 * 3 // 2, 320), 90, np.uint8)
    units = [encoder.encode(grey + number, number / 30) for number in range(3)]
    assert encoder.config[:5] in (b"\0\0\0\1\x67", b"\0\0\0\1\x27")
    assert [unit.is_key for unit in units] == [True, False, False]
    assert all(unit.data for unit in units)


def test_fingers_make_gestures_and_keep_count() -> None:
    fingers = Fingers()
    fingers.press(1, 10, 10, 0.0)
    fingers.move(1, 60, 10, 0.1)
    fingers.move(2, 5, 5, 0.1)  # never came down: scrcpy counts it all the same
    assert fingers.is_swiping
    assert sorted(fingers.down) == [1, 2]
    gesture = fingers.lift(1, 70, 10)
    assert gesture is not None
    assert (gesture.x1, gesture.x2, gesture.down_at_s) == (10, 70, 0.0)
    assert fingers.lift(2, 5, 5) is None
    assert fingers.lift(3, 5, 5) is None
    fingers.press(4, 0, 0, 1.0)
    fingers.cancel()
    assert fingers.lift(4, 0, 0) is None
    fingers.press(5, 0, 0, 2.0)
    fingers.orphan([5])
    fingers.press(6, 0, 0, 3.0)
    assert list(fingers.down) == [6]


@given(st.binary(min_size=24, max_size=24))
def test_what_is_no_packet_is_an_error(data: bytes) -> None:
    with pytest.raises(WireError):
        parse_head(data)


def test_a_packet_is_read_back() -> None:
    data = packet(CNXN, VERSION, 4096, b"device::", checked=True)
    assert parse_head(data[:24]) == (CNXN, VERSION, 4096, 8)


def messages_of(data: bytes) -> list[Touch | Key | Other]:
    """Control messages in a run of bytes, cut off where they end."""

    async def read_all() -> list[Touch | Key | Other]:
        rest, found = data, []

        async def read(size: int) -> bytes:
            nonlocal rest
            if len(rest) < size:
                raise EOFError
            piece, rest = rest[:size], rest[size:]
            return piece

        while rest:
            found.append(await read_message(read))
        return found

    return asyncio.run(read_all())


def test_control_messages_follow_one_another() -> None:
    key = bytes([0, 0]) + (4).to_bytes(4, "big") + bytes(8)
    text = bytes([1]) + (2).to_bytes(4, "big") + b"hi"
    clipboard = bytes([9]) + bytes(8) + b"\1" + (3).to_bytes(4, "big") + b"abc"
    assert messages_of(key + text + clipboard + bytes([17])) == [
        Key(0, 4),
        Other(1, text[1:]),
        Other(9, clipboard[1:]),
        Other(17, b""),
    ]


@given(st.binary(max_size=80))
def test_any_bytes_are_messages_an_end_or_an_error(data: bytes) -> None:
    try:
        messages_of(data)
    except (ControlError, EOFError):
        return


@pytest.mark.parametrize(
    "words",
    [
        ["3.3.3"],
        ["4.0", "audio=false"],
        [],
        ["3.3.4", "audio"],
        ["3.3.4"],
        ["3.3.4", "audio=false", "video_codec=av1"],
    ],
)
def test_a_server_that_would_not_start_does_not(words: list[str]) -> None:
    with pytest.raises(OptionError):
        parse_options(words)


def test_options_as_the_server_takes_them() -> None:
    options = parse_options(["3.3.4", "scid=0000abcd", "audio=false", "tunnel_forward=true", "max_size=720"])
    assert (options.name, options.forward, options.control, options.max_size) == (
        "scrcpy_0000abcd",
        True,
        True,
        720,
    )
    assert options.dummy_byte
    assert not parse_options(["3.3.4", "audio=false", "raw_stream=true"]).frame_meta


@pytest.mark.parametrize(
    "wrong",
    [{"width": 700, "height": 1280}, {"port": 5557}, {"port": 80}, {"touch_delay_s": (0.5, 0.3)}],
)
def test_settings_that_make_no_phone_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        PhoneSettings(**wrong)  # type: ignore[arg-type]
