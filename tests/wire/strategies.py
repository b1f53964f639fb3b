"""Hypothesis strategies, one per frame; `STRATEGIES` is what new frames must be added to."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from penstock.content.limits import INT_MAX, INT_MIN
from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.wire import Frame, size_of
from penstock.wire.frames.ack import Ack, FlowAck
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.data import Data, Echo, FlowAnnouncement, FlowTag
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.lsa import Lsa, Neighbour
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.record import (
    EMPTY_RECORD,
    FingerprintEntry,
    PublicationRecord,
    RecordEntry,
)
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.summary import Database, Summary, SummaryRow
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.frames.unsub import Unsub
from tests.content.strategies import predicates

TRAFFIC = st.sampled_from(TrafficClass)


def fits(frame: Frame) -> bool:
    """Whether the frame is small enough to be written."""
    try:
        return size_of(frame) > 0
    except UsageError:
        return False


def unsigned(bits: int) -> st.SearchStrategy[int]:
    """Numbers of so many bits, their edges more often than the rest."""
    top = (1 << bits) - 1
    return st.one_of(st.sampled_from([0, 1, top - 1, top]), st.integers(0, top))


def halves(last: int) -> st.SearchStrategy[float]:
    """Half-precision numbers whose bits, read as an integer, go up to `last`."""
    return st.integers(0, last).map(
        lambda bits: float(struct.unpack(">e", bits.to_bytes(2, "big"))[0])
    )


def rates() -> st.SearchStrategy[float]:
    """Everything from 0 to 65 504 that two bytes can say."""
    return halves(0x7BFF)


def ascending(
    member: st.SearchStrategy[int], *, least: int = 0, most: int = 12
) -> st.SearchStrategy[tuple[int, ...]]:
    """Sorted tuples of distinct members."""
    return st.sets(member, min_size=least, max_size=most).map(lambda drawn: tuple(sorted(drawn)))


def messages() -> st.SearchStrategy[Message]:
    """Messages without NaN, which no two messages have in common."""
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    value = st.one_of(
        st.integers(INT_MIN, INT_MAX),
        st.sampled_from([INT_MIN, INT_MAX, 127, 128, -32, -33, 2**32]),
        st.floats(allow_nan=False),
        st.booleans(),
        text,
    )
    name = st.one_of(st.sampled_from("abc"), text.filter(bool).map(lambda n: n[:16]))
    return st.builds(Message, st.dictionaries(name, value, max_size=8), st.binary(max_size=80))


def records() -> st.SearchStrategy[PublicationRecord]:
    """Records of any bytes: in a frame they are not opened."""
    entry = st.builds(RecordEntry, unsigned(24), st.binary(max_size=40))
    return st.lists(entry, max_size=6).map(PublicationRecord.of)


def flows() -> st.SearchStrategy[FlowTag]:
    """Flows with and without their detail."""
    detail = st.integers(1, 64).flatmap(
        lambda size: st.builds(FlowAnnouncement, unsigned(32), unsigned(8 * size), st.just(size))
    )
    return st.builds(FlowTag, unsigned(15), rates(), unsigned(32), st.none() | detail)


def data_frames() -> st.SearchStrategy[Data]:
    """DATA."""
    return st.builds(
        Data,
        pub=unsigned(64),
        epoch=unsigned(16),
        seq=unsigned(32),
        send_ts_us=unsigned(48),
        since_previous_100us=unsigned(24),
        send_rate_mps=rates(),
        max_round_trip_code=unsigned(8),
        feedback_round=unsigned(8),
        message=messages(),
        flows=st.lists(flows(), max_size=4).map(tuple),
        echo=st.none() | st.builds(Echo, unsigned(64), unsigned(32), unsigned(16)),
        record=records(),
        has_bloom_entries=st.booleans(),
        congestion_experienced=st.booleans(),
    ).filter(fits)


def requests() -> st.SearchStrategy[Request]:
    """REQUEST."""
    return st.integers(1, 255).flatmap(
        lambda bloom_bytes: st.builds(
            Request,
            pub=unsigned(64),
            epoch=unsigned(16),
            seq=unsigned(32),
            requester=unsigned(64),
            send_ts_us=unsigned(48),
            age_100us=unsigned(24),
            delay_100us=unsigned(24),
            round=unsigned(8),
            is_unicast=st.booleans(),
            bloom=unsigned(8 * bloom_bytes),
            bloom_bytes=st.just(bloom_bytes),
            designated_repairer=st.none() | unsigned(64),
        )
    )


def repairs() -> st.SearchStrategy[Repair]:
    """REPAIR of any message."""
    original = data_frames().map(
        lambda frame: msgspec.structs.replace(
            frame,
            record=EMPTY_RECORD,
            echo=None,
            has_bloom_entries=False,
            congestion_experienced=False,
        )
    )
    return st.builds(
        Repair,
        original=original,
        repairer=unsigned(64),
        requester=unsigned(64),
        echo_ts_us=unsigned(32),
        hold_100us=unsigned(16),
        to=st.none() | unsigned(64),
    ).filter(fits)


@st.composite
def digests(draw: st.DrawFn) -> Digest:
    """DIGEST of some messages or none; its entries are not opened in a frame."""
    base = draw(st.binary(max_size=255))
    flow_ids = draw(ascending(unsigned(15), most=128))
    return Digest(
        pub=draw(unsigned(64)),
        epoch=draw(unsigned(16)),
        digest_seq=draw(unsigned(32)),
        seq=draw(unsigned(32)),
        send_ts_us=draw(unsigned(48)),
        sent_before_100us=draw(unsigned(24)),
        base=base,
        record=draw(records()) if base else EMPTY_RECORD,
        flows=tuple([(flow_id, draw(unsigned(32))) for flow_id in flow_ids]),
        to=draw(st.none() | unsigned(64)),
        covers_previous=draw(st.booleans()),
        is_reply=draw(st.booleans()),
    )


def tracks() -> st.SearchStrategy[TrackRequest]:
    """TRACK."""
    return st.builds(
        TrackRequest,
        subscriber=unsigned(64),
        pub=unsigned(64),
        token=unsigned(16),
        send_ts_us=unsigned(32),
        is_digest_subscription=st.booleans(),
        is_end=st.booleans(),
        predicate=st.none() | predicates(),
    ).filter(fits)


@st.composite
def trackeds(draw: st.DrawFn) -> TrackReply:
    """TRACKED, granted or refused."""
    is_known = draw(st.booleans())
    flows = st.lists(st.none() | st.tuples(unsigned(15), unsigned(32)), max_size=64)
    return TrackReply(
        to=draw(unsigned(64)),
        pub=draw(unsigned(64)),
        epoch=draw(unsigned(16)),
        token=draw(unsigned(16)),
        echo_ts_us=draw(unsigned(32)),
        hold_100us=draw(unsigned(16)),
        token_is_known=is_known,
        group_size=draw(unsigned(16)),
        flows=tuple(draw(flows)) if is_known else (),
    )


def echo_requests() -> st.SearchStrategy[EchoRequest]:
    """ECHO_REQ."""
    return st.builds(
        EchoRequest,
        subscriber=unsigned(64),
        pub=unsigned(64),
        send_ts_us=unsigned(32),
        round_trip_code=st.none() | unsigned(8),
    )


def echo_replies() -> st.SearchStrategy[EchoReply]:
    """ECHO_REP."""
    return st.builds(
        EchoReply,
        to=unsigned(64),
        pub=unsigned(64),
        send_ts_us=unsigned(48),
        echo_ts_us=unsigned(32),
        hold_100us=unsigned(16),
        receivers=unsigned(16),
    )


@st.composite
def flow_requests(draw: st.DrawFn) -> FlowRequest:
    """One flow in FEEDBACK, named in any of the three ways."""
    quota_mps = draw(rates())
    way = draw(st.sampled_from(["flow", "filter", "bloom"]))
    if way == "flow":
        return FlowRequest(quota_mps=quota_mps, flow_id=draw(unsigned(15)))
    if way == "filter":
        predicate = draw(predicates().filter(lambda predicate: predicate.filters))
        return FlowRequest(quota_mps=quota_mps, filter=predicate.filters[0])
    bloom_bytes = draw(st.integers(1, 64))
    return FlowRequest(
        quota_mps=quota_mps, bloom=draw(unsigned(8 * bloom_bytes)), bloom_bytes=bloom_bytes
    )


def feedbacks() -> st.SearchStrategy[Feedback]:
    """FEEDBACK."""
    return st.builds(
        Feedback,
        subscriber=unsigned(64),
        pub=unsigned(64),
        send_ts_us=unsigned(32),
        feedback_round=unsigned(8),
        round_trip_code=st.none() | unsigned(8),
        has_loss=st.booleans(),
        is_leave=st.booleans(),
        requests=st.lists(flow_requests(), max_size=5).map(tuple),
    ).filter(fits)


def acks() -> st.SearchStrategy[Ack]:
    """ACK."""
    flow = st.builds(FlowAck, unsigned(15), unsigned(32), unsigned(32), st.booleans())
    return st.builds(
        Ack,
        subscriber=unsigned(64),
        pub=unsigned(64),
        epoch=unsigned(16),
        flows=st.lists(flow, min_size=1, max_size=16).map(tuple),
    )


def recalls() -> st.SearchStrategy[RangeRequest]:
    """RECALL."""
    return st.builds(
        RangeRequest,
        pub=unsigned(64),
        epoch=unsigned(16),
        requester=unsigned(64),
        send_ts_us=unsigned(48),
        flow_id=st.none() | unsigned(15),
        ranges=ranges(),
    )


@st.composite
def ranges(draw: st.DrawFn) -> tuple[tuple[int, int], ...]:
    """Ranges near one another, some of which touch, and far apart."""
    near, far = st.integers(0, 300), unsigned(32)
    firsts = draw(ascending(draw(st.sampled_from([near, far])), least=1, most=64))
    stops = (*firsts[1:], 1 << 32)
    return tuple(
        [
            (first, draw(st.integers(1, min(stop - first, (1 << 16) - 1))))
            for first, stop in zip(firsts, stops, strict=True)
        ]
    )


def parcels() -> st.SearchStrategy[CarriedFrame]:
    """Any transport frame, carried."""
    frames = [data_frames(), digests(), requests(), repairs(), tracks(), trackeds(), recalls()]
    control = [feedbacks(), echo_requests(), echo_replies(), acks()]
    return st.one_of([*frames, *control]).map(CarriedFrame)


def hellos() -> st.SearchStrategy[Hello]:
    """HELLO."""
    return st.builds(
        Hello, broker=unsigned(32), epoch=unsigned(16), network=unsigned(32), heard=st.booleans()
    )


def lsas() -> st.SearchStrategy[Lsa]:
    """LSA."""
    brokers = ascending(unsigned(32))
    return st.builds(
        Lsa,
        origin=unsigned(32),
        seq=unsigned(32),
        neighbours=brokers.flatmap(
            lambda ids: st.tuples(*(st.builds(Neighbour, st.just(i), unsigned(16)) for i in ids))
        ),
    )


@st.composite
def advs(draw: st.DrawFn) -> Adv:
    """ADV, full in parts or delta."""
    full = draw(st.booleans())
    bloom_bytes = draw(st.integers(1, 64))
    bloom = unsigned(8 * bloom_bytes)
    parts = draw(st.integers(1, 2**16 - 1)) if full else 1
    return Adv(
        origin=draw(unsigned(32)),
        seq=draw(unsigned(32)),
        traffic=draw(TRAFFIC),
        full=full,
        bloom_bytes=bloom_bytes,
        added=draw(ascending(bloom, most=8)),
        removed=() if full else draw(ascending(bloom, most=8)),
        part=draw(st.integers(0, parts - 1)),
        parts=parts,
    )


@st.composite
def summaries(draw: st.DrawFn) -> Summary:
    """SUMMARY."""
    first, last = sorted((draw(unsigned(32)), draw(unsigned(32))))
    origins = draw(ascending(st.integers(first, last)))
    return Summary(
        database=draw(st.sampled_from(Database)),
        first=first,
        last=last,
        rows=tuple([SummaryRow(origin, draw(unsigned(32))) for origin in origins]),
    )


def packets() -> st.SearchStrategy[Packet]:
    """PACKET to brokers near one another and far apart."""
    near = ascending(st.integers(1000, 1060), least=1, most=40)
    far = ascending(unsigned(32), least=1, most=7)
    return st.builds(
        Packet,
        id=st.builds(PacketId, unsigned(32), unsigned(16), unsigned(32)),
        traffic=TRAFFIC,
        destinations=near | far,
        carried=parcels(),
        ttl=unsigned(7),
        congestion_experienced=st.booleans(),
    ).filter(fits)


def subs() -> st.SearchStrategy[Sub]:
    """SUB."""
    return st.builds(
        Sub, subscription=unsigned(32), traffic=TRAFFIC, predicate=predicates()
    ).filter(fits)


STRATEGIES: dict[type, st.SearchStrategy[Any]] = {
    Data: data_frames(),
    Digest: digests(),
    Request: requests(),
    Repair: repairs(),
    TrackRequest: tracks(),
    TrackReply: trackeds(),
    RangeRequest: recalls(),
    Feedback: feedbacks(),
    EchoRequest: echo_requests(),
    EchoReply: echo_replies(),
    Ack: acks(),
    Hello: hellos(),
    Lsa: lsas(),
    Adv: advs(),
    Summary: summaries(),
    Packet: packets(),
    Sub: subs(),
    Unsub: st.builds(Unsub, subscription=unsigned(32)),
    Pub: st.builds(Pub, traffic=TRAFFIC, carried=parcels()),
    Notify: st.builds(Notify, carried=parcels()),
}


class Carried(NamedTuple):
    """The tags of a carrying message; values in any order, some of them twice."""

    presence: tuple[int, ...]
    values: tuple[int, ...]


@st.composite
def entries(draw: st.DrawFn, width_bits: int, carrier: Carried) -> FingerprintEntry:
    """Record entries that share much, little or nothing with their carrier."""
    fresh = ascending(unsigned(width_bits), most=min(12, 1 << width_bits))
    alike = draw(st.booleans())
    presence = carrier.presence if alike else _some(draw, carrier.presence) + draw(fresh)
    values = _some(draw, carrier.values) + draw(fresh)
    if alike and draw(st.booleans()):
        values = values[: len(carrier.values)]
    numbered = _some(draw, tuple(sorted(set(presence))))
    signs = st.sampled_from([1.0, -1.0])
    numbers = [(name, draw(signs) * draw(halves(0x7C00))) for name in numbered]
    return FingerprintEntry.of(presence, values, numbers)


def carriers(width_bits: int) -> st.SearchStrategy[Carried]:
    """The tags of a carrying message."""
    prints = ascending(unsigned(width_bits), most=min(12, 1 << width_bits))
    places = st.lists(unsigned(width_bits), max_size=12).map(tuple)
    return st.builds(Carried, prints, places)


def _some(draw: st.DrawFn, members: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([member for member in members if draw(st.booleans())])
