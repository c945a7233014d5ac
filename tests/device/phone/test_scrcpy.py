"""scrcpy's protocol: the bytes of a touch, and the framed stream, however it is cut and whatever it holds."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greatwall.device.phone.scrcpy import (
    CONFIG_FLAG,
    DOWN,
    KEY_FLAG,
    MOVE,
    PRIMARY,
    UP,
    FramedParser,
    Opening,
    Packet,
    StreamError,
    touch_message,
)

START = b"\x00\x00\x00\x01"
PACKETS = (
    Packet(0, True, False, START + b"\x67sps" + START + b"\x68pps"),
    Packet(1_000_000, False, True, START + b"\x65" + bytes(range(200))),
    Packet(1_033_333, False, False, START + b"\x41x"),
    Packet(0, True, False, START + b"\x67turned"),
    Packet((1 << 62) - 1, False, True, b"\x00\x00\x01\x65y"),
)


def opening(name: bytes = b"Stand-in", codec: bytes = b"h264", width: int = 1280, height: int = 720) -> bytes:
    return b"\x00" + name.ljust(64, b"\x00") + codec + struct.pack(">II", width, height)


def framed(packets: tuple[Packet, ...]) -> bytes:
    """As `Streamer.java` writes them."""
    data = b""
    for one in packets:
        flags = CONFIG_FLAG if one.is_config else one.pts_us | (KEY_FLAG if one.is_key else 0)
        data += struct.pack(">QI", flags, len(one.payload)) + one.payload
    return data


STREAM = opening() + framed(PACKETS)


def test_a_touch_is_the_published_32_bytes() -> None:
    vector = "02001234567887654321000000640000 00c804380780ffff0000000100000001".replace(" ", "")
    message = touch_message(DOWN, 0x1234567887654321, (100, 200), (1080, 1920), PRIMARY, PRIMARY)
    assert message.hex() == vector


@pytest.mark.parametrize(("action", "pressure"), [(DOWN, 0xFFFF), (MOVE, 0xFFFF), (UP, 0)])
def test_a_lifted_finger_presses_no_more(action: int, pressure: int) -> None:
    assert struct.unpack_from(">H", touch_message(action, 1, (0, 0), (16, 16)), 22)[0] == pressure


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_any_split_of_the_stream_gives_the_same_packets(cuts: list[int]) -> None:
    parser = FramedParser()
    found: list[Packet] = []
    ends = [*sorted(cuts), len(STREAM)]
    for start, end in zip([0, *ends], ends, strict=False):
        found += parser.feed(STREAM[start:end])
    assert parser.opening == Opening("Stand-in", (1280, 720))
    assert tuple(found) == PACKETS


def test_one_byte_at_a_time_is_the_same() -> None:
    parser = FramedParser()
    assert tuple(one for i in range(len(STREAM)) for one in parser.feed(STREAM[i : i + 1])) == PACKETS


@given(st.binary(max_size=4000), st.lists(st.integers(0, 4000), max_size=10))
def test_garbage_gives_packets_or_an_error_and_never_hangs(garbage: bytes, cuts: list[int]) -> None:
    """Behind a good opening too; what is kept is never more than one packet that is still to come."""
    for data in (garbage, opening() + garbage):
        parser = FramedParser()
        ends = [*sorted(min(cut, len(data)) for cut in cuts), len(data)]
        failed = False
        try:
            for start, end in zip([0, *ends], ends, strict=False):
                for packet in parser.feed(data[start:end]):
                    assert packet.payload.startswith((START, START[1:]))
        except StreamError:
            failed = True
        if failed:
            with pytest.raises(StreamError) as caught:
                parser.feed(STREAM)  # nothing is made of it any more
            assert "\n" not in str(caught.value)


@given(st.integers(0, len(STREAM) - 1), st.binary(min_size=1, max_size=40))
def test_bytes_lost_or_put_in_never_give_a_packet_without_start_code(at: int, noise: bytes) -> None:
    for data in (STREAM[:at] + noise + STREAM[at:], STREAM[:at] + STREAM[at + len(noise) :]):
        parser = FramedParser()
        try:
            for packet in parser.feed(data):
                assert packet.payload.startswith((START, START[1:]))
        except StreamError:
            pass


BAD = [
    ("another first byte", b"\x01"),
    ("another codec", opening(codec=b"h265")),
    ("a codec of 0: the phone has no encoder", opening(codec=bytes(4))),
    ("no width", opening(width=0)),
    ("a size that no phone has", opening(height=1 << 30)),
    ("an empty packet", opening() + struct.pack(">QI", 1, 0)),
    ("a packet of 4 GB", opening() + struct.pack(">QI", 1, 0xFFFFFFFF)),
    ("a payload that is no H.264", opening() + struct.pack(">QI", 1, 4) + b"oops"),
]


@pytest.mark.parametrize("data", [data for _, data in BAD], ids=[name for name, _ in BAD])
def test_what_the_protocol_forbids_is_an_error_of_one_line(data: bytes) -> None:
    with pytest.raises(StreamError) as caught:
        FramedParser().feed(data)
    assert "expected" in str(caught.value)
    assert "found" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_stream_that_breaks_off_gives_what_was_whole() -> None:
    assert tuple(FramedParser().feed(STREAM[:-1])) == PACKETS[:-1]
