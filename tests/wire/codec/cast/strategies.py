"""Hypothesis strategies, one per frame; `FRAMES` is what new ones must be added to."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from penstock.wire.codec.cast.neighbours import ProbeCodec
from penstock.wire.frames.cast.base import (
    CHOICES,
    FILTER_BITS,
    TRAIN_SYMBOLS_MAX,
    CastBody,
    Item,
    Origin,
)
from penstock.wire.frames.cast.control import ControlAck, Down, Up
from penstock.wire.frames.cast.header import ALL_FLAGS, Flag, Header
from penstock.wire.frames.cast.membership import Advertise, ObjectKind, Subscribe, Unsubscribe
from penstock.wire.frames.cast.neighbours import Beacon, HeardSize, Hello, Probe, ProbeAnswer
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig, SegmentEnd, SegmentFilter, Start
from penstock.wire.frames.cast.planning import PlanReply, PlanRequest, VoidBefore
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce
from penstock.wire.frames.cast.report import BlockNeed, BlockRanges, Report, SymbolRange
from penstock.wire.frames.cast.status import Query, QueryAnswer, QueryKind, ReceiverState, Status
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.topology import CastRole, LinkState, PortKind, PortState
from penstock.wire.frames.cast.transfer import (
    ClosedBlock,
    End,
    First,
    FirstRequest,
    RepairChoice,
    Stop,
)
from tests.wire.strategies import unsigned

U8, U16, U24, U32, U64 = map(unsigned, (8, 16, 24, 32, 64))
LINKS = unsigned(FILTER_BITS)
CHOICE = st.integers(0, CHOICES - 1)
ORIGINS = st.builds(Origin, U32, U32, U32)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=16)
NAMES = TEXTS | st.sampled_from(["é" * 32, "n" * 64])
DOMAINS = st.binary(min_size=8, max_size=8)
OBJECT_IDS = st.binary(min_size=16, max_size=16)
HASHES = st.binary(min_size=32, max_size=32)
SIGNATURES = st.binary(min_size=64, max_size=64)
FLAGS = st.integers(0, ALL_FLAGS).map(Flag)


def up_to(count: int, each: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Tuples of a few."""
    return st.lists(each, max_size=count).map(tuple)


HEADERS = st.builds(
    Header,
    ttl=U8,
    choice=CHOICE,
    links=LINKS,
    item=st.builds(Item, U64, U64),
    flags=FLAGS,
    segment=U16,
    plan=U16,
    generation=U8,
    block=U24,
    symbol=U32,
    stamp_us=U32,
)


@st.composite
def pages(draw: st.DrawFn) -> dict[str, int]:
    """A page, and of how many."""
    count = draw(st.integers(1, 255))
    return {"page": draw(st.integers(0, count - 1)), "pages": count}


LINK_STATES = st.builds(
    lambda paged, **fields: LinkState(**paged, **fields),
    pages(),
    node=U32,
    name=NAMES,
    roles=st.integers(0, 7).map(CastRole),
    number=U32,
    ports=up_to(
        3,
        st.builds(
            PortState,
            port=U16,
            kind=st.sampled_from(PortKind),
            neighbour=U32,
            secret=st.binary(min_size=16, max_size=16),
            cost=U16,
        ),
    ),
)
CONFIG = {
    "controller": U32,
    "version": U32,
    "levels": U8,
    "segments": up_to(
        3,
        st.builds(
            SegmentFilter,
            segment=U16,
            plan=U16,
            choice=CHOICE,
            links=LINKS,
            depth=U8,
            up_choice=CHOICE,
            up_links=LINKS,
        ),
    ),
    "ends": up_to(3, st.builds(SegmentEnd, segment=U16, node=U32, path=LINKS)),
}
FIRSTS = st.builds(
    lambda signed, **fields: First(public_key=signed[0], signature=signed[1], **fields),
    st.just((b"", b"")) | st.tuples(HASHES, SIGNATURES),
    up_choice=CHOICE,
    up_links=LINKS,
    up_ttl=U8,
    epoch=U32,
    object_id=OBJECT_IDS,
    kind=st.sampled_from(ObjectKind),
    repair=st.sampled_from(RepairChoice),
    length_bytes=U64,
    symbol_bytes=U16,
    blocks=U24,
    block_symbols=U16,
    manifest_bytes=U32,
    hold_100us=U16,
)
ENDS = st.builds(
    End,
    first_block=U24,
    last_block=U24,
    hold_100us=U16,
    closed=up_to(
        3,
        st.builds(
            ClosedBlock, block=U24, symbols=U16, digest=HASHES, signature=st.just(b"") | SIGNATURES
        ),
    ),
)


@st.composite
def block_ranges(draw: st.DrawFn) -> BlockRanges:
    """What is missing of a block."""
    numbers = sorted(draw(st.sets(U16, min_size=2, max_size=7)))
    edges = zip(numbers[::2], numbers[1::2], strict=False)
    return BlockRanges(draw(U24), tuple([SymbolRange(*each) for each in edges]))


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """REPORT."""
    parts = draw(st.integers(1, 8))
    total = draw(U32)
    counts = up_to(4, st.builds(BlockNeed, U24, st.integers(1, 65_535)))
    is_exact = draw(st.booleans())
    return Report(
        child=draw(U32),
        part=draw(st.integers(0, parts - 1)),
        parts=parts,
        hold_100us=draw(U16),
        loss=draw(U16),
        done=draw(st.integers(0, total)),
        total=total,
        failed=draw(up_to(3, U32)),
        needs=() if is_exact else draw(counts),
        ranges=draw(up_to(3, block_ranges())) if is_exact else (),
    )


CARRIED: dict[type[CastBody], st.SearchStrategy[Any]] = {
    ControlAck: st.builds(ControlAck, boot=U32, number=U32),
    LinkState: LINK_STATES,
    Advertise: st.builds(
        Advertise,
        publisher=U32,
        epoch=U32,
        object_id=OBJECT_IDS,
        kind=st.sampled_from(ObjectKind),
        length_bytes=U64,
        receivers=U32,
        wait_ms=U32,
    ),
    Subscribe: st.builds(
        Subscribe, subscriber=U32, name=NAMES, object_id=st.just(b"") | OBJECT_IDS
    ),
    Unsubscribe: st.builds(Unsubscribe, subscriber=U32, reason=TEXTS),
    PlanRequest: st.builds(
        lambda paged, **fields: PlanRequest(**paged, **fields),
        pages(),
        version=U32,
        publisher=U32,
        publisher_boot=U32,
        epoch=U32,
        subscribers=up_to(3, ORIGINS),
    ),
    PlanReply: st.builds(
        PlanReply,
        version=U32,
        is_publisher_cut_off=st.booleans(),
        void=up_to(3, st.builds(VoidBefore, U32, U32)),
    ),
    RelayConfig: st.builds(
        lambda paged, **fields: RelayConfig(**paged, **fields),
        pages(),
        parent_segment=U16,
        **CONFIG,
    ),
    Start: st.builds(lambda paged, **fields: Start(**paged, **fields), pages(), **CONFIG),
    First: FIRSTS,
    End: ENDS,
    FirstRequest: st.builds(FirstRequest, child=U32),
    Stop: st.builds(Stop, reason=TEXTS, done=U32, failed=up_to(3, U32)),
    Report: reports(),
    AllowedRate: st.builds(
        AllowedRate,
        child=U32,
        echo_us=U32,
        hold_100us=U16,
        loss_events=U16,
        received_bps=U32,
        allowed_bps=U32,
    ),
    RateInForce: st.builds(RateInForce, child=U32, round_trip_us=U32, rate_bps=U32, slowest=U32),
    Status: st.builds(
        Status,
        node=U32,
        name=NAMES,
        blocks_done=U24,
        rate_bps=U32,
        state=st.sampled_from(ReceiverState),
        error=TEXTS,
    ),
    Query: st.builds(Query, kind=st.sampled_from(QueryKind), serial=U32),
    QueryAnswer: st.builds(
        lambda paged, **fields: QueryAnswer(**paged, **fields),
        pages(),
        serial=U32,
        rows=up_to(3, TEXTS),
    ),
}
INNER = st.one_of(list(CARRIED.values()))
BODIES: dict[type[CastBody], st.SearchStrategy[Any]] = {
    **CARRIED,
    Up: st.builds(Up, to=U32, body=INNER | st.builds(Down, to=U32, body=INNER)),
    Down: st.builds(Down, to=U32, body=INNER),
}
FRAMES: dict[type, st.SearchStrategy[Any]] = {
    Hello: st.builds(
        Hello,
        origin=ORIGINS,
        domain=DOMAINS,
        heard=U32,
        hears_multicast=st.booleans(),
        is_router=st.booleans(),
    ),
    Beacon: st.builds(
        Beacon,
        origin=ORIGINS,
        controller=U32,
        domain=DOMAINS,
        tag_epoch=U32,
        number=U32,
        hops=U8,
        roles=st.integers(0, 7).map(CastRole),
        address=TEXTS,
        scopes=up_to(3, U64),
    ),
    Probe: st.builds(
        Probe,
        origin=ORIGINS,
        size_bytes=st.sampled_from([ProbeCodec.BYTES_MIN, 1_364])
        | st.integers(ProbeCodec.BYTES_MIN, ProbeCodec.BYTES_MAX),
    ),
    ProbeAnswer: st.builds(
        ProbeAnswer,
        origin=ORIGINS,
        name=NAMES,
        heard=st.builds(HeardSize, multicast_bytes=U16, unicast_bytes=U16),
        buffer_bytes=U32,
        has_segmentation=st.booleans(),
    ),
    **{
        kind: st.builds(Packet, header=HEADERS, body=bodies, origin=ORIGINS)
        for kind, bodies in BODIES.items()
    },
}


@st.composite
def trains(draw: st.DrawFn) -> Packet:
    """DATA."""
    numbers = tuple(sorted(draw(st.sets(U32, min_size=1, max_size=TRAIN_SYMBOLS_MAX))))
    return Packet(
        header=msgspec.structs.replace(draw(HEADERS), symbol=numbers[0]),
        body=Symbols(numbers=numbers),
        origin=None,
    )
