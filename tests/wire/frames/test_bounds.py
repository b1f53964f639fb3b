"""What could not be written cannot be built; DATA alone is looked at when it is measured."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.wire import decode, encode, size_of
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.data import Echo, FlowAnnouncement, FlowTag
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.lsa import Lsa, Neighbour
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.record import BloomEntry, FingerprintEntry, PublicationRecord, RecordEntry
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.summary import Database, Summary, SummaryRow
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.frames.unsub import Unsub
from tests.wire.codec.test_overlay import DATA


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pub", 2**64),
        ("pub", -1),
        ("epoch", 2**16),
        ("seq", 2**32),
        ("seq", -1),
        ("send_ts_us", 2**48),
        ("since_previous_100us", 2**24),
        ("send_rate_mps", 0.1),
        ("send_rate_mps", float("nan")),
        ("send_rate_mps", 1e9),
        ("max_round_trip_code", 256),
        ("feedback_round", 256),
        ("has_bloom_entries", 2),
    ],
)
def test_data_with_a_field_out_of_range_is_neither_measured_nor_written(
    field: str, value: float
) -> None:
    frame = msgspec.structs.replace(DATA, **{field: value})
    for ask in (size_of, encode):
        with pytest.raises(UsageError, match=field):
            ask(frame)


VALID: dict[type, dict[str, Any]] = {
    Packet: {
        "id": PacketId(1, 2, 3),
        "traffic": TrafficClass.DATA,
        "destinations": (1,),
        "carried": CarriedFrame(DATA),
    },
    Adv: {
        "origin": 1,
        "seq": 1,
        "traffic": TrafficClass.DATA,
        "full": True,
        "bloom_bytes": 2,
    },
    Summary: {"database": Database.LINKS, "first": 1, "last": 9, "rows": ()},
    Request: {
        "pub": 1,
        "epoch": 1,
        "seq": 1,
        "requester": 2,
        "send_ts_us": 1,
        "age_100us": 1,
        "delay_100us": 1,
        "round": 0,
        "is_unicast": False,
        "bloom": 1,
        "bloom_bytes": 2,
    },
    Repair: {
        "original": DATA,
        "repairer": 1,
        "requester": 2,
        "echo_ts_us": 1,
        "hold_100us": 1,
    },
    Digest: {
        "pub": 1,
        "epoch": 1,
        "digest_seq": 1,
        "seq": 1,
        "send_ts_us": 1,
        "sent_before_100us": 1,
    },
    TrackRequest: {"subscriber": 1, "pub": 2, "token": 3, "send_ts_us": 4},
    TrackReply: {
        "to": 1,
        "pub": 2,
        "epoch": 1,
        "token": 3,
        "echo_ts_us": 4,
        "hold_100us": 5,
        "flows": ((6, 7),),
    },
    RangeRequest: {
        "pub": 1,
        "epoch": 1,
        "requester": 2,
        "send_ts_us": 1,
        "flow_id": None,
        "ranges": ((1, 1),),
    },
}


def with_field(kind: type, **changed: Any) -> Any:
    """A valid frame but for what is changed."""
    return kind(**{**VALID[kind], **changed})


def repair_of(**changed: Any) -> Any:
    return with_field(Repair, original=msgspec.structs.replace(DATA, **changed))


IMPOSSIBLE: dict[str, Callable[[], object]] = {
    "flow id of 16 bits": lambda: FlowTag(2**15, 1.0, 1),
    "flow_seq of 33 bits": lambda: FlowTag(1, 1.0, 2**32),
    "quota not quantised": lambda: FlowTag(1, 0.1, 1),
    "clr of 33 bits": lambda: FlowAnnouncement(2**32, 1, 1),
    "encoding wider than said": lambda: FlowAnnouncement(1, 2**16, 2),
    "encoding of no bytes": lambda: FlowAnnouncement(1, 0, 0),
    "encoding of 256 bytes": lambda: FlowAnnouncement(1, 0, 256),
    "receiver of 65 bits": lambda: Echo(2**64, 1, 1),
    "echo of 33 bits": lambda: Echo(1, 2**32, 1),
    "hold of 17 bits": lambda: Echo(1, 1, 2**16),
    "departure of 25 bits": lambda: PublicationRecord.of([RecordEntry(2**24, b"")]),
    "departure before": lambda: PublicationRecord.of([RecordEntry(-1, b"")]),
    "entry of 256 bytes": lambda: PublicationRecord.of([RecordEntry(0, bytes(256))]),
    "record of 256 entries": lambda: PublicationRecord.of([RecordEntry(0, b"")] * 256),
    "bloom entry wider than said": lambda: BloomEntry(256, 1),
    "fingerprint of 65 bits": lambda: FingerprintEntry.of([], [2**64]),
    "negative fingerprint": lambda: FingerprintEntry.of([-1], []),
    "number without a presence tag": lambda: FingerprintEntry.of([1], [], [(2, 1.0)]),
    "number not quantised": lambda: FingerprintEntry.of([1], [], [(1, 0.1)]),
    "two numbers of one name": lambda: FingerprintEntry.of([1], [], [(1, 1.0), (1, 2.0)]),
    "broker of 33 bits": lambda: Hello(broker=2**32, epoch=1, network=1, heard=True),
    "epoch of 17 bits": lambda: Hello(broker=1, epoch=2**16, network=1, heard=True),
    "cost of 17 bits": lambda: Neighbour(1, 2**16),
    "lsa out of order": lambda: Lsa(origin=1, seq=1, neighbours=(Neighbour(2, 1), Neighbour(1, 1))),
    "lsa of 201 neighbours": lambda: Lsa(
        origin=1, seq=1, neighbours=tuple(Neighbour(i, 1) for i in range(201))
    ),
    "advert out of order": lambda: with_field(Adv, added=(2, 1)),
    "advert wider than said": lambda: with_field(Adv, added=(2**16,)),
    "advert of 256 filters": lambda: with_field(Adv, added=tuple(range(256))),
    "full advert that removes": lambda: with_field(Adv, removed=(1,)),
    "delta in parts": lambda: with_field(Adv, full=False, parts=2),
    "part after the last": lambda: with_field(Adv, part=1),
    "summary out of order": lambda: with_field(Summary, rows=(SummaryRow(2, 1), SummaryRow(1, 1))),
    "summary row out of range": lambda: with_field(Summary, rows=(SummaryRow(10, 1),)),
    "summary of a range backwards": lambda: with_field(Summary, first=9, last=1),
    "summary of 161 rows": lambda: with_field(
        Summary, last=999, rows=tuple(SummaryRow(i, 1) for i in range(1, 162))
    ),
    "packet to nobody": lambda: with_field(Packet, destinations=()),
    "packet to one twice": lambda: with_field(Packet, destinations=(1, 1)),
    "packet out of order": lambda: with_field(Packet, destinations=(2, 1)),
    "packet to 33 bits": lambda: with_field(Packet, destinations=(1, 2**32)),
    "packet to below zero": lambda: with_field(Packet, destinations=(-1, 1)),
    "packet to 1017": lambda: with_field(Packet, destinations=tuple(range(1017))),
    "packet from 33 bits": lambda: with_field(Packet, id=PacketId(2**32, 1, 1)),
    "packet of epoch 2^16": lambda: with_field(Packet, id=PacketId(1, 2**16, 1)),
    "packet number 2^32": lambda: with_field(Packet, id=PacketId(1, 1, 2**32)),
    "packet with a ttl of 128": lambda: with_field(Packet, ttl=128),
    "subscription of 33 bits": lambda: Sub(
        subscription=2**32,
        traffic=TrafficClass.DATA,
        predicate=None,  # type: ignore[arg-type]
    ),
    "unsubscription of 33 bits": lambda: Unsub(subscription=2**32),
    "request of 65 bits": lambda: with_field(Request, pub=2**64),
    "request of epoch 2^16": lambda: with_field(Request, epoch=2**16),
    "request for number 2^32": lambda: with_field(Request, seq=2**32),
    "request from below zero": lambda: with_field(Request, requester=-1),
    "request at 2^48": lambda: with_field(Request, send_ts_us=2**48),
    "request of age 2^24": lambda: with_field(Request, age_100us=2**24),
    "request after 2^24": lambda: with_field(Request, delay_100us=2**24),
    "request of round 256": lambda: with_field(Request, round=256),
    "request wider than said": lambda: with_field(Request, bloom=2**16),
    "request to 65 bits first": lambda: with_field(Request, designated_repairer=2**64),
    "request of no bytes": lambda: with_field(Request, bloom=0, bloom_bytes=0),
    "repair with a record": lambda: repair_of(record=PublicationRecord.of([RecordEntry(1, b"")])),
    "repair with an echo": lambda: repair_of(echo=Echo(1, 1, 1)),
    "repair that is literal": lambda: repair_of(has_bloom_entries=True),
    "repair of no data": lambda: repair_of(seq=2**32),
    "repair of 17 flows": lambda: repair_of(flows=(FlowTag(1, 1.0, 1),) * 17),
    "repair from 65 bits": lambda: with_field(Repair, repairer=2**64),
    "repair for 65 bits": lambda: with_field(Repair, requester=2**64),
    "repair to 65 bits": lambda: with_field(Repair, to=2**64),
    "repair to below zero": lambda: with_field(Repair, to=-1),
    "repair that echoes 33 bits": lambda: with_field(Repair, echo_ts_us=2**32),
    "repair held for 2^16": lambda: with_field(Repair, hold_100us=2**16),
    "digest of 65 bits": lambda: with_field(Digest, pub=2**64),
    "digest to 65 bits": lambda: with_field(Digest, to=2**64),
    "digest of epoch 2^16": lambda: with_field(Digest, epoch=2**16),
    "digest number 2^32": lambda: with_field(Digest, digest_seq=2**32),
    "digest of message 2^32": lambda: with_field(Digest, seq=2**32),
    "digest at 2^48": lambda: with_field(Digest, send_ts_us=2**48),
    "digest departed 2^24 ago": lambda: with_field(Digest, sent_before_100us=2**24),
    "digest with a base of 256 bytes": lambda: with_field(Digest, base=bytes(256)),
    "digest without a base": lambda: with_field(
        Digest, record=PublicationRecord.of([RecordEntry(1, b"a")])
    ),
    "digest of 129 flows": lambda: with_field(Digest, flows=tuple((i, 1) for i in range(129))),
    "digest of flows out of order": lambda: with_field(Digest, flows=((2, 1), (1, 1))),
    "digest of a flow twice": lambda: with_field(Digest, flows=((1, 1), (1, 2))),
    "digest of a flow of 16 bits": lambda: with_field(Digest, flows=((2**15, 1),)),
    "digest of a flow_seq of 33 bits": lambda: with_field(Digest, flows=((1, 2**32),)),
    "track from 65 bits": lambda: with_field(TrackRequest, subscriber=2**64),
    "track of 65 bits": lambda: with_field(TrackRequest, pub=2**64),
    "track with token 2^16": lambda: with_field(TrackRequest, token=2**16),
    "track at 2^32": lambda: with_field(TrackRequest, send_ts_us=2**32),
    "tracked for 65 bits": lambda: with_field(TrackReply, to=2**64),
    "tracked by 65 bits": lambda: with_field(TrackReply, pub=2**64),
    "tracked in epoch 2^16": lambda: with_field(TrackReply, epoch=2**16),
    "tracked with token 2^16": lambda: with_field(TrackReply, token=2**16),
    "tracked that echoes 33 bits": lambda: with_field(TrackReply, echo_ts_us=2**32),
    "tracked and held for 2^16": lambda: with_field(TrackReply, hold_100us=2**16),
    "tracked by a flow of 16 bits": lambda: with_field(TrackReply, flows=((2**15, 0),)),
    "tracked with 33 bits": lambda: with_field(TrackReply, flows=((1, 2**32),)),
    "tracked by too many": lambda: with_field(TrackReply, flows=((1, 1),) * 65),
    "tracked with 2^16": lambda: with_field(TrackReply, group_size=2**16),
    "not known and numbered": lambda: with_field(TrackReply, token_is_known=False),
    "recall from 65 bits": lambda: with_field(RangeRequest, pub=2**64),
    "recall by 65 bits": lambda: with_field(RangeRequest, requester=2**64),
    "recall of epoch 2^16": lambda: with_field(RangeRequest, epoch=2**16),
    "recall at 2^48": lambda: with_field(RangeRequest, send_ts_us=2**48),
    "recall of a flow of 16 bits": lambda: with_field(RangeRequest, flow_id=2**15),
    "recall of nothing": lambda: with_field(RangeRequest, ranges=()),
    "recall of 65 ranges": lambda: with_field(
        RangeRequest, ranges=tuple((i, 1) for i in range(65))
    ),
    "recall of a range of none": lambda: with_field(RangeRequest, ranges=((1, 0),)),
    "recall of a range of 2^16": lambda: with_field(RangeRequest, ranges=((1, 2**16),)),
    "recall from below zero": lambda: with_field(RangeRequest, ranges=((-1, 2),)),
    "recall past the last number": lambda: with_field(RangeRequest, ranges=((2**32 - 1, 2),)),
    "recall out of order": lambda: with_field(RangeRequest, ranges=((5, 1), (1, 1))),
    "recall of what overlaps": lambda: with_field(RangeRequest, ranges=((1, 2), (2, 1))),
}


@pytest.mark.parametrize("kind", VALID)
def test_without_a_change_they_are_built(kind: type) -> None:
    assert decode(encode(with_field(kind))) == with_field(kind)


@pytest.mark.parametrize("build", [pytest.param(b, id=name) for name, b in IMPOSSIBLE.items()])
def test_refused_when_built(build: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match=r"^[^\n]+$"):
        build()


def test_the_largest_frames_of_every_kind_fit_a_datagram() -> None:
    top = 2**32 - 1
    neighbours = tuple(Neighbour(top - i, 1) for i in reversed(range(200)))
    rows = tuple(SummaryRow(top - i, top) for i in reversed(range(160)))
    assert size_of(Lsa(origin=top, seq=top, neighbours=neighbours)) <= 1444
    assert size_of(with_field(Summary, last=top, rows=rows)) <= 1444
    # Forty-four filters of 256 bits make a part of an advert.
    assert size_of(with_field(Adv, bloom_bytes=32, added=tuple(range(44)))) <= 1444


@pytest.mark.parametrize(
    "build",
    [
        lambda: Pub(traffic=7, carried=CarriedFrame(DATA)),  # type: ignore[arg-type]
        lambda: Sub(subscription=1, traffic=300, predicate=parse("true")),  # type: ignore[arg-type]
        lambda: Summary(database=9, first=0, last=1, rows=()),  # type: ignore[arg-type]
        lambda: Hello(broker=1, epoch=1, network=1, heard=5),  # type: ignore[arg-type]
        lambda: Adv(origin=1, seq=1, traffic=TrafficClass.DATA, full=9, bloom_bytes=32),  # type: ignore[arg-type]
        lambda: with_field(Request, is_unicast=1),
        lambda: with_field(TrackRequest, is_digest_subscription=1),
        lambda: with_field(TrackRequest, is_end=0),
        lambda: CarriedFrame(Hello(broker=1, epoch=1, network=1, heard=True)),  # type: ignore[arg-type]
    ],
)
def test_what_only_looks_like_a_field_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match=r"must be a|only a transport frame"):
        build()
