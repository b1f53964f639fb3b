"""The transport's frames but DATA, byte by byte, and what is wrong with their neighbours."""

import msgspec
import pytest

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire import Frame, decode, encode, fit, size_of
from penstock.wire.codec.record import EntryCodec
from penstock.wire.frames.ack import Ack, FlowAck
from penstock.wire.frames.control_routing import digest_message, endpoint_message, request_message
from penstock.wire.frames.data import FlowTag, MessageId
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.record import FingerprintEntry, PublicationRecord, RecordEntry
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.limits import FRAME_BYTES_MAX, MESSAGE_BYTES_MAX
from tests.wire.codec.test_data import FRAME

REQUEST = Request(
    pub=0x0102030405060708,
    epoch=0x090A,
    seq=0x0B0C0D0E,
    requester=0x1112131415161718,
    send_ts_us=0x191A1B1C1D1E,
    age_100us=0x212223,
    delay_100us=0x242526,
    round=3,
    is_unicast=True,
    bloom=0x8001,
    bloom_bytes=2,
)
ORIGINAL = msgspec.structs.replace(
    FRAME, message=Message({"a": 1}), echo=None, record=PublicationRecord.of([])
)
REPAIR = Repair(
    original=ORIGINAL,
    repairer=0x3132333435363738,
    requester=0x1112131415161718,
    echo_ts_us=0x1B1C1D1E,
    hold_100us=0x3940,
    to=0x1112131415161718,
)
DIGEST = Digest(
    pub=0x0102030405060708,
    epoch=0x090A,
    digest_seq=0x41424344,
    seq=0x0B0C0D0E,
    send_ts_us=0x191A1B1C1D1E,
    sent_before_100us=0x212223,
    base=b"base",
    record=PublicationRecord.of([RecordEntry(0x303132, b"xyz"), RecordEntry(0x333435, b"")]),
    flows=((0x0001, 0x51525354), (0x7FFF, 0)),
    to=0x1112131415161718,
    covers_previous=True,
)
TRACK = TrackRequest(
    subscriber=0x1112131415161718,
    pub=0x0102030405060708,
    token=0x6162,
    send_ts_us=0x1B1C1D1E,
    is_digest_subscription=True,
    predicate=Predicate([Filter([Constraint("a", Op.LT, 1)])]),
)
TRACKED = TrackReply(
    to=0x1112131415161718,
    pub=0x0102030405060708,
    epoch=0x090A,
    token=0x6162,
    echo_ts_us=0x1B1C1D1E,
    hold_100us=0x3940,
    group_size=0x7172,
    flows=((0x1234, 0x56789ABC), None),
)
RECALL = RangeRequest(
    pub=0x0102030405060708,
    epoch=0x090A,
    requester=0x1112131415161718,
    send_ts_us=0x191A1B1C1D1E,
    flow_id=0x1234,
    ranges=((1, 2), (3, 1), (0xFFFFFFFE, 2)),
)

REQUEST_HEAD = "0102030405060708 090a 0b0c0d0e 1112131415161718 03 02"
REPAIR_HEAD = (
    "3132333435363738 1112131415161718 1b1c1d1e 3940"
    "0102030405060708 090a 0b0c0d0e 0f1011121314 151617"
)
FLOWS = "1234 3e00 56789abc 8001 0000 00000002 deadbeef 02 aa55"
MESSAGE = "0004 81 a161 01"
DIGEST_HEAD = "0102030405060708 090a 41424344 0b0c0d0e"
DIGEST_TIMES = "191a1b1c1d1e 212223"
TRACK_HEAD = "1112131415161718 0102030405060708 6162 1b1c1d1e"
TRACKED_HEAD = "1112131415161718 0102030405060708 090a 6162 1b1c1d1e 3940"
RECALL_HEAD = "0102030405060708 090a 1112131415161718"

GOLDEN: list[tuple[Frame, str]] = [
    (REQUEST, "0103 01" + REQUEST_HEAD + "191a1b1c1d1e 212223 242526 8001"),
    (
        msgspec.structs.replace(REQUEST, is_unicast=False),
        "0103 00" + REQUEST_HEAD + "191a1b1c1d1e 212223 242526 8001",
    ),
    (
        REPAIR,
        "0104 01" + REPAIR_HEAD + "5ee0 18 19 02 1112131415161718" + FLOWS + MESSAGE,
    ),
    (
        msgspec.structs.replace(
            REPAIR, to=None, original=msgspec.structs.replace(ORIGINAL, flows=())
        ),
        "0104 00" + REPAIR_HEAD + "5ee0 18 19 00" + MESSAGE,
    ),
    (
        DIGEST,
        "0102 03"
        + DIGEST_HEAD
        + "02 04 02"
        + DIGEST_TIMES
        + "1112131415161718"
        + "0001 51525354 7fff 00000000"
        + "62617365 03 00 303132 333435 78797a",
    ),
    (
        msgspec.structs.replace(
            DIGEST, base=b"", record=PublicationRecord.of([]), flows=(), to=None
        ),
        "0102 02" + DIGEST_HEAD + "00 00 00" + DIGEST_TIMES,
    ),
    (TRACK, "0109 05" + TRACK_HEAD + "01 01 04 01 61 11 01"),
    (
        msgspec.structs.replace(TRACK, is_digest_subscription=False, is_end=True, predicate=None),
        "0109 02" + TRACK_HEAD,
    ),
    # Not the same as none: it asks for a flow that nothing matches.
    (msgspec.structs.replace(TRACK, predicate=Predicate([])), "0109 05" + TRACK_HEAD + "00"),
    (TRACKED, "010a" + TRACKED_HEAD + "01 7172 02 9234 56789abc 0000 00000000"),
    (
        msgspec.structs.replace(TRACKED, flows=((0, 0),)),
        "010a" + TRACKED_HEAD + "01 7172 01 8000 00000000",
    ),
    (
        msgspec.structs.replace(TRACKED, token_is_known=False, group_size=0, flows=()),
        "010a" + TRACKED_HEAD + "00 0000 00",
    ),
    (
        RECALL,
        "010b" + RECALL_HEAD + "9234 03 191a1b1c1d1e 00000001 0002 00000003 0001 fffffffe 0002",
    ),
    (
        msgspec.structs.replace(RECALL, flow_id=None, ranges=((7, 0xFFFF),)),
        "010b" + RECALL_HEAD + "0000 01 191a1b1c1d1e 00000007 ffff",
    ),
]
FEEDBACK = Feedback(
    subscriber=0x1112131415161718,
    pub=0x0102030405060708,
    send_ts_us=0x1B1C1D1E,
    feedback_round=0x19,
    round_trip_code=0x18,
    has_loss=True,
    requests=(
        FlowRequest(quota_mps=1.5, flow_id=0x1234),
        FlowRequest(quota_mps=0.0, filter=parse("a < 1").filters[0]),
        FlowRequest(quota_mps=2.0, bloom=0xAA55, bloom_bytes=2),
    ),
)
FEEDBACK_HEAD = "1112131415161718 0102030405060708 1b1c1d1e 19"
GOLDEN += [
    (
        FEEDBACK,
        "0105 03" + FEEDBACK_HEAD + "18 03 9234 3e00"
        "0000 0000 00 01 01 04 01 61 11 01  0000 4000 02 aa55",
    ),
    (
        msgspec.structs.replace(
            FEEDBACK, round_trip_code=None, has_loss=False, is_leave=True, requests=()
        ),
        "0105 04" + FEEDBACK_HEAD + "00 00",
    ),
    (
        EchoRequest(subscriber=1, pub=2, send_ts_us=3, round_trip_code=4),
        "0106 0000000000000001 0000000000000002 00000003 01 04",
    ),
    (
        EchoRequest(subscriber=1, pub=2, send_ts_us=3),
        "0106 0000000000000001 0000000000000002 00000003 00 00",
    ),
    (
        EchoReply(to=1, pub=2, send_ts_us=0x191A1B1C1D1E, echo_ts_us=3, hold_100us=4, receivers=5),
        "0107 0000000000000001 0000000000000002 00000003 0004 0005 191a1b1c1d1e",
    ),
    (
        Ack(
            subscriber=1,
            pub=2,
            epoch=3,
            flows=(
                FlowAck(0x1234, 0x56789ABC, 0x80000001),
                FlowAck(1, 2, 0, congestion_experienced=True),
            ),
        ),
        "0108 0000000000000001 0000000000000002 0003 02"
        "1234 56789abc 80000001 8001 00000002 00000000",
    ),
]


ACK_HEAD = "0108 0000000000000001 0000000000000002 0003"
MALFORMED = {
    "ack: no flow": ACK_HEAD + "00",
    "ack: 17 flows": ACK_HEAD + "11" + "1234 56789abc 80000001" * 17,
    "ack: more flows than there are": ACK_HEAD + "02" + "1234 56789abc 80000001",
    "request: unicast is 2": "0103 02" + REQUEST_HEAD + "191a1b1c1d1e 212223 242526 8001",
    "request: a set of no bytes": "0103 00" + REQUEST_HEAD[:-2] + "00 191a1b1c1d1e 212223 242526",
    "repair: flags of the future": "0104 02" + REPAIR_HEAD + "5ee0 18 19 00" + MESSAGE,
    "repair: a rate that is NaN": "0104 00" + REPAIR_HEAD + "7e00 18 19 00" + MESSAGE,
    "repair: a rate that is infinite": "0104 00" + REPAIR_HEAD + "7c00 18 19 00" + MESSAGE,
    "repair: a negative rate": "0104 00" + REPAIR_HEAD + "bc00 18 19 00" + MESSAGE,
    "repair: a rate of minus zero": "0104 00" + REPAIR_HEAD + "8000 18 19 00" + MESSAGE,
    "repair: 17 flows": "0104 00"
    + REPAIR_HEAD
    + "5ee0 18 19 11"
    + "".join(f"{i:04x} 3e00 00000001" for i in range(17))
    + MESSAGE,
    "repair: a flow whose quota is NaN": "0104 00"
    + REPAIR_HEAD
    + "5ee0 18 19 01 0001 7e00 00000001"
    + MESSAGE,
    "repair: 255 flows, none there": "0104 00" + REPAIR_HEAD + "5ee0 18 19 ff",
    "repair: attributes past the end": "0104 00" + REPAIR_HEAD + "5ee0 18 19 00 ffff 80",
    "digest: flags of the future": "0102 08" + DIGEST_HEAD + "00 00 00" + DIGEST_TIMES,
    "digest: flows out of order": "0102 00"
    + DIGEST_HEAD
    + "02 00 00"
    + DIGEST_TIMES
    + "0002 00000001 0001 00000001",
    "digest: a flow twice": "0102 00"
    + DIGEST_HEAD
    + "02 00 00"
    + DIGEST_TIMES
    + "0001 00000001 0001 00000001",
    "digest: a flow of 16 bits": "0102 00"
    + DIGEST_HEAD
    + "01 00 00"
    + DIGEST_TIMES
    + "8000 00000001",
    "digest: 129 flows": "0102 00"
    + DIGEST_HEAD
    + "81 00 00"
    + DIGEST_TIMES
    + "".join(f"{i:04x} 00000001" for i in range(129)),
    "digest: a record without a base": "0102 00"
    + DIGEST_HEAD
    + "00 00 01"
    + DIGEST_TIMES
    + "01 000001 61",
    "digest: a base past the end": "0102 00" + DIGEST_HEAD + "00 ff 00" + DIGEST_TIMES + "61",
    "digest: a record past the end": "0102 00"
    + DIGEST_HEAD
    + "00 01 01"
    + DIGEST_TIMES
    + "61 ff 000001 61",
    "track: flags of the future": "0109 08" + TRACK_HEAD,
    "track: a predicate that is not announced": "0109 00" + TRACK_HEAD + "00",
    "track: a predicate that is not there": "0109 04" + TRACK_HEAD,
    "track: a predicate in another form": "0109 04" + TRACK_HEAD + "02 00 00",
    "tracked: a flow that is not there": "010a" + TRACKED_HEAD + "01 0000 01 1234 00000000",
    "tracked: refused, and numbered": "010a" + TRACKED_HEAD + "01 0000 01 0000 00000001",
    "tracked: not known, and numbered": "010a" + TRACKED_HEAD + "00 0000 01 9234 00000001",
    "recall: no ranges": "010b" + RECALL_HEAD + "9234 00 191a1b1c1d1e",
    "recall: a range of none": "010b" + RECALL_HEAD + "9234 01 191a1b1c1d1e 00000001 0000",
    "recall: a range beyond the last number": "010b"
    + RECALL_HEAD
    + "9234 01 191a1b1c1d1e ffffffff 0002",
    "recall: ranges out of order": "010b"
    + RECALL_HEAD
    + "9234 02 191a1b1c1d1e 00000005 0001 00000001 0001",
    "recall: a range twice": "010b"
    + RECALL_HEAD
    + "9234 02 191a1b1c1d1e 00000005 0001 00000005 0001",
    "recall: ranges that overlap": "010b"
    + RECALL_HEAD
    + "9234 02 191a1b1c1d1e 00000001 0003 00000003 0001",
    "recall: 65 ranges": "010b"
    + RECALL_HEAD
    + "9234 41 191a1b1c1d1e"
    + "".join(f"{i:08x} 0001" for i in range(65)),
    "recall: a flow that is not there": "010b" + RECALL_HEAD + "1234 01 191a1b1c1d1e 00000001 0001",
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in MALFORMED.items()])
def test_malformed_frames_are_refused(data: str) -> None:
    with pytest.raises(PeerError, match=r"^[A-Z]+: [^\n]+$"):
        decode(bytes.fromhex(data))


def test_a_request_names_the_message_and_is_routed_by_its_bits() -> None:
    assert REQUEST.id == MessageId(0x0102030405060708, 0x090A, 0x0B0C0D0E)
    assert REQUEST.message == request_message(0x8001)


def test_a_request_of_many_bits_is_written_whole_and_its_message_is_folded() -> None:
    crowded = msgspec.structs.replace(REQUEST, bloom=2**100 - 1, bloom_bytes=32)
    assert decode(encode(crowded)) == crowded
    assert len(crowded.message.attributes) == 1 + 61


def test_frames_are_for_one_or_for_all_who_want_them() -> None:
    one = 0x1112131415161718
    assert REPAIR.message == DIGEST.message == TRACKED.message == endpoint_message(one)
    assert msgspec.structs.replace(REPAIR, to=None).message == ORIGINAL.message
    assert msgspec.structs.replace(DIGEST, to=None).message == digest_message(DIGEST.pub)
    assert TRACK.message == RECALL.message == endpoint_message(0x0102030405060708)
    assert msgspec.structs.replace(REPAIR, to=0).message == endpoint_message(0)


@pytest.mark.parametrize("to", [None, 2**64 - 1])
def test_whatever_leaves_as_data_can_be_repaired(to: int | None) -> None:
    flows = tuple(FlowTag(i, 1.0, i) for i in range(16))
    message = Message({"a": 1}, bytes(MESSAGE_BYTES_MAX - 4))
    sent = fit(msgspec.structs.replace(ORIGINAL, message=message, flows=flows))
    repair = msgspec.structs.replace(REPAIR, original=sent, to=to)
    assert size_of(repair) == len(encode(repair)) == FRAME_BYTES_MAX - (8 if to is None else 0)
    assert decode(encode(repair)) == repair


def test_a_message_that_did_not_pass_fit_may_be_too_large_for_a_repair() -> None:
    message = Message({"a": 1}, bytes(MESSAGE_BYTES_MAX + 16 * 8))
    large = msgspec.structs.replace(ORIGINAL, message=message, flows=())
    assert size_of(large) <= FRAME_BYTES_MAX
    for ask in (encode, size_of):
        with pytest.raises(UsageError, match="REPAIR of 1404 bytes"):
            ask(msgspec.structs.replace(REPAIR, original=large))


def test_more_attributes_than_a_length_can_say_are_refused() -> None:
    crowded = Message({f"{i:064}": "x" * 1000 for i in range(64)})
    repair = msgspec.structs.replace(
        REPAIR, original=msgspec.structs.replace(ORIGINAL, message=crowded)
    )
    for ask in (encode, size_of):
        with pytest.raises(UsageError, match="bytes"):
            ask(repair)


def test_a_digest_is_opened_from_its_base() -> None:
    newest = FingerprintEntry.of([1, 2], [10, 20])
    before = [FingerprintEntry.of([1, 2], [10, 21]), FingerprintEntry.of([3], [30])]
    alone = EntryCodec((), ())
    codec = EntryCodec(newest.presence, newest.values)
    digest = msgspec.structs.replace(
        DIGEST,
        base=alone.pack(newest),
        record=PublicationRecord.from_columns([1, 2], [codec.pack(entry) for entry in before]),
    )
    again = decode(encode(digest))
    assert isinstance(again, Digest)
    assert again.count == 3
    base = alone.unpack(again.base)
    assert base == newest
    opened = EntryCodec(base.presence, base.values)
    assert [opened.unpack(entry.packed) for entry in again.record] == before


def test_a_digest_of_a_message_without_attributes_has_a_base() -> None:
    assert EntryCodec((), ()).pack(FingerprintEntry((), ())) != b""


def test_a_digest_may_describe_nothing() -> None:
    silent = msgspec.structs.replace(DIGEST, base=b"", record=PublicationRecord.of([]))
    assert silent.count == 0
    assert decode(encode(silent)) == silent


def test_the_largest_of_each_kind_fit_a_frame() -> None:
    top = 2**64 - 1
    flows = tuple((flow_id, 2**32 - 1) for flow_id in range(128))
    full = msgspec.structs.replace(
        DIGEST, base=bytes(255), record=PublicationRecord.of([]), flows=flows, to=top
    )
    # Room for an entry of 255 bytes and its departure is left beside that.
    assert size_of(full) == FRAME_BYTES_MAX - 336
    spans = tuple((i, 1) for i in range(64))
    assert size_of(msgspec.structs.replace(RECALL, ranges=spans)) <= FRAME_BYTES_MAX
    wide = msgspec.structs.replace(REQUEST, bloom=2 ** (8 * 255) - 1, bloom_bytes=255)
    assert size_of(wide) <= FRAME_BYTES_MAX


def test_a_predicate_that_fits_no_frame_is_refused() -> None:
    wide = Predicate([Filter([Constraint("a", Op.EQ, f"{i:0500}")]) for i in range(3)])
    for ask in (encode, size_of):
        with pytest.raises(UsageError, match="at most 1400 fit"):
            ask(msgspec.structs.replace(TRACK, predicate=wide))


@pytest.mark.parametrize(
    "written",
    [
        # A round trip that is not there; flags that nobody knows; rates that are none.
        "0105 00" + FEEDBACK_HEAD + "18 00",
        "0105 08" + FEEDBACK_HEAD + "00 00",
        "0105 01" + FEEDBACK_HEAD + "18 01 9234 7e00",
        "0105 01" + FEEDBACK_HEAD + "18 01 9234 7c00",
        "0105 01" + FEEDBACK_HEAD + "18 01 9234 be00",
        # A flow that is there and is not; two filters, or none; more than it says.
        "0105 01" + FEEDBACK_HEAD + "18 01 1234 3e00",
        "0105 01" + FEEDBACK_HEAD + "18 01 0000 3e00 00 00",
        "0105 01" + FEEDBACK_HEAD + "18 00 9234 3e00",
        "0105 01" + FEEDBACK_HEAD + "18 02 9234 3e00",
        "0106 0000000000000001 0000000000000002 00000003 00 04",
        "0106 0000000000000001 0000000000000002 00000003 02 04",
    ],
)
def test_feedback_that_cannot_be_meant_is_refused(written: str) -> None:
    with pytest.raises(PeerError):
        decode(bytes.fromhex(written))


def test_a_flow_has_one_name() -> None:
    with pytest.raises(UsageError, match="a flow is named"):
        FlowRequest(quota_mps=1.0)
    with pytest.raises(UsageError, match="a flow is named"):
        FlowRequest(quota_mps=1.0, flow_id=1, bloom=1, bloom_bytes=1)
