import math
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.message import Message
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire import decode, encode, fit, size_of
from penstock.wire.frames.data import Data, Echo, FlowAnnouncement, FlowTag, MessageId
from penstock.wire.frames.record import PublicationRecord, RecordEntry
from penstock.wire.limits import FRAME_BYTES_MAX, MESSAGE_BYTES_MAX

FRAME = Data(
    pub=0x0102030405060708,
    epoch=0x090A,
    seq=0x0B0C0D0E,
    send_ts_us=0x0F1011121314,
    since_previous_100us=0x151617,
    send_rate_mps=440.0,
    max_round_trip_code=0x18,
    feedback_round=0x19,
    message=Message({"a": 1}, b"\xee\xff"),
    flows=(
        FlowTag(0x1234, 1.5, 0x56789ABC),
        FlowTag(0x0001, 0.0, 2, FlowAnnouncement(0xDEADBEEF, 0xAA55, 2)),
    ),
    echo=Echo(0x2021222324252627, 0x28292A2B, 0x2C2D),
    record=PublicationRecord.of([RecordEntry(0x303132, b"xyz"), RecordEntry(0x333435, b"")]),
)

# 440 = 1.71875 x 2^8: exponent 8 + 15 = 10111, fraction .71875 = 1011100000.
GOLDEN = bytes.fromhex(
    "01 01 01"  # version, type, flags: ECHO
    "0102030405060708 090a 0b0c0d0e"  # pub, epoch, seq
    "0f1011121314 151617"  # send_ts, prev_delta
    "5ee0 18 19 02 02"  # lambda, R_max, fb_round, nflows, nrec
    "1234 3e00 56789abc"  # a flow: id, quota 1.5, flow_seq
    "8001 0000 00000002 deadbeef 02 aa55"  # a full one: CLR, bytes, bloom
    "2021222324252627 28292a2b 2c2d"  # echo
    "03 00 303132 333435 78797a"  # record: sizes, departures, entries
    "0004 81 a161 01"  # attributes: bytes, a map of one, "a", 1
    "eeff"  # payload
)


@pytest.mark.spec("§3.0")
def test_the_bytes_are_those_of_the_specification() -> None:
    assert encode(FRAME) == GOLDEN
    assert decode(GOLDEN) == FRAME


@pytest.mark.spec("§3.0")
def test_an_empty_message_has_a_header_of_32_bytes() -> None:
    plain = msgspec.structs.replace(
        FRAME, message=Message({}), flows=(), echo=None, record=PublicationRecord.of([])
    )
    # Then the two bytes that say how long the attributes are, and an empty map.
    assert encode(plain) == GOLDEN[:2] + b"\0" + GOLDEN[3:30] + b"\0\0" + b"\0\1\x80"


def test_literal_records_are_flagged() -> None:
    literal = msgspec.structs.replace(FRAME, has_bloom_entries=True)
    assert encode(literal)[2] == 3
    assert decode(encode(literal)) == literal


def test_a_mark_is_a_flag() -> None:
    marked = msgspec.structs.replace(FRAME, congestion_experienced=True)
    assert encode(marked)[2] == 5
    assert decode(encode(marked)) == marked


def test_a_message_is_called_by_publisher_epoch_and_number() -> None:
    assert FRAME.id == MessageId(0x0102030405060708, 0x090A, 0x0B0C0D0E)


@pytest.mark.parametrize("end", range(2, len(GOLDEN) - 2))
def test_a_truncated_frame_is_refused(end: int) -> None:
    with pytest.raises(PeerError, match=r"^DATA: "):
        decode(GOLDEN[:end])


def test_what_follows_the_attributes_is_payload() -> None:
    assert decode(GOLDEN + b"!") == msgspec.structs.replace(
        FRAME, message=Message({"a": 1}, b"\xee\xff!")
    )


@pytest.mark.parametrize("flag", [8, 16, 32, 64, 128])
def test_flags_of_the_future_are_refused(flag: int) -> None:
    with pytest.raises(PeerError, match="flags"):
        decode(_with(2, bytes([1 | flag])))


@pytest.mark.parametrize("half", [math.nan, -math.nan, math.inf, -math.inf, -1.0, -0.0], ids=str)
@pytest.mark.parametrize("offset", [26, 34], ids=["lambda", "quota"])
def test_rates_that_are_none_are_refused(offset: int, half: float) -> None:
    with pytest.raises(PeerError, match=r"rate|quota"):
        decode(_with(offset, struct.pack(">e", half)))


def test_seventeen_flows_are_refused() -> None:
    flows = tuple(FlowTag(i, 1.0, i) for i in range(17))
    with pytest.raises(UsageError, match="at most 16 flows"):
        encode(msgspec.structs.replace(FRAME, flows=flows))
    with pytest.raises(PeerError, match="17 flows"):
        decode(_with(30, bytes([17])))


def test_a_flow_without_an_encoding_is_refused() -> None:
    with pytest.raises(PeerError, match="Bloom"):
        decode(_with(52, b"\0"))


def test_a_record_longer_than_the_frame_is_refused() -> None:
    with pytest.raises(PeerError, match="record"):
        decode(_with(31, b"\xff"))


def test_attributes_longer_than_the_frame_are_refused() -> None:
    start = GOLDEN.index(b"\x00\x04\x81")
    with pytest.raises(PeerError, match="attributes"):
        decode(_with(start, b"\xff\xff"))


def test_a_frame_of_1401_bytes_is_refused_on_both_sides() -> None:
    room = FRAME_BYTES_MAX - size_of(FRAME)
    fits = _with_payload(2 + room)
    assert len(encode(fits)) == size_of(fits) == FRAME_BYTES_MAX
    too_large = _with_payload(3 + room)
    with pytest.raises(UsageError, match="1401 bytes"):
        encode(too_large)
    with pytest.raises(UsageError, match="1401 bytes"):
        size_of(too_large)
    with pytest.raises(PeerError, match="1401 bytes"):
        decode(encode(fits) + b"!")


def test_more_attributes_than_a_length_can_say_are_refused() -> None:
    crowded = Message({f"{i:064}": "x" * 1000 for i in range(64)})
    frame = msgspec.structs.replace(FRAME, message=crowded)
    for ask in (encode, size_of):
        with pytest.raises(UsageError, match="bytes"):
            ask(frame)


@pytest.mark.spec("§3.0")
@given(
    sizes=st.lists(st.integers(0, 60), max_size=40),
    payload=st.integers(0, MESSAGE_BYTES_MAX - 1),
)
def test_the_record_is_cut_oldest_first(sizes: list[int], payload: int) -> None:
    entries = [RecordEntry(i, bytes([i]) * size) for i, size in enumerate(sizes)]
    frame = msgspec.structs.replace(
        FRAME, flows=(), message=Message({}, bytes(payload)), record=PublicationRecord.of(entries)
    )
    cut = fit(frame)
    kept = list(cut.record)
    assert kept == entries[: len(kept)]
    assert msgspec.structs.replace(cut, record=frame.record) == frame
    size_bytes = size_of(cut)
    if len(kept) < len(entries):
        assert size_bytes + 4 + len(entries[len(kept)].packed) > FRAME_BYTES_MAX


def test_the_largest_message_leaves_room_for_a_repair() -> None:
    flows = tuple(FlowTag(i, 1.0, i) for i in range(16))
    largest = _with_payload(MESSAGE_BYTES_MAX - 4)
    for matched in ((), flows):
        frame = msgspec.structs.replace(largest, flows=matched)
        assert fit(frame) == frame
    for matched in ((), flows):
        frame = msgspec.structs.replace(_with_payload(MESSAGE_BYTES_MAX - 3), flows=matched)
        with pytest.raises(UsageError, match="1 bytes too large for a frame: shorten its payload"):
            fit(frame)


def test_details_that_leave_no_room_for_a_repair_are_refused() -> None:
    largest = _with_payload(MESSAGE_BYTES_MAX - 4)
    just, over = [
        FlowTag(1, 1.0, 2, FlowAnnouncement(3, 4, 16 * 8 - 13 + excess)) for excess in (0, 1)
    ]
    frame = msgspec.structs.replace(largest, flows=(just,))
    assert fit(frame) == frame
    with pytest.raises(UsageError, match=r"^129 bytes of flows .* leave their details"):
        fit(msgspec.structs.replace(largest, flows=(over,)))


def _with(offset: int, replaced: bytes) -> bytes:
    return GOLDEN[:offset] + replaced + GOLDEN[offset + len(replaced) :]


def _with_payload(size_bytes: int) -> Data:
    return msgspec.structs.replace(FRAME, message=Message({"a": 1}, bytes(size_bytes)))
