"""The largest frames fit a datagram, and what does not fit is refused before it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.cast.cast_frames import BODIES, NEIGHBOUR_FRAMES
from penstock.wire.codec.cast.framing import BODY_BYTES_MAX, FRAME_BYTES_MAX
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.codec.cast.symbols import DATA_BYTES_MAX, TrainCodec, write_symbol
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.control import Down, Up
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.membership import Subscribe, Unsubscribe
from penstock.wire.frames.cast.neighbours import Beacon, Probe, ProbeAnswer
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig, Start
from penstock.wire.frames.cast.planning import PlanReply, PlanRequest, VoidBefore
from penstock.wire.frames.cast.report import BlockNeed, BlockRanges, Report, SymbolRange
from penstock.wire.frames.cast.status import QueryAnswer, Status
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.topology import LinkState
from penstock.wire.frames.cast.transfer import ClosedBlock, End, First, Stop
from tests.wire.codec.cast.test_golden import (
    CODEC,
    GOLDEN,
    HEADER,
    KEY,
    ORIGIN,
    SEGMENT,
    SEGMENT_END,
    SIMULATED,
)

ROWS = sorted((*NEIGHBOUR_FRAMES.rows, *BODIES.rows), key=lambda row: row.type_code)
BYTES_MAX = {row.frame_class: row.bytes_max for row in ROWS}
VALID: dict[type, Any] = {
    type(each): each
    for frame, _ in GOLDEN
    for each in [frame.body if isinstance(frame, Packet) else frame]
}
NODES = (2**32 - 1,) * 32
CLOSED = ClosedBlock(block=1, symbols=2, digest=bytes(32), signature=bytes(64))


def with_fields(kind: type, /, **fields: Any) -> Any:
    """A valid frame or body with something changed."""
    return msgspec.structs.replace(VALID[kind], **fields)


def frame_of(either: Any) -> CastFrame:
    """The packet of a body, or the frame itself."""
    if isinstance(either, CastFrame):
        return either
    return Packet(header=HEADER, body=either, origin=ORIGIN)


PORT = VALID[LinkState].ports[0]
LARGEST_STATE = with_fields(LinkState, name="n" * 50, ports=(PORT,) * 48)
LARGEST_CONFIG = with_fields(RelayConfig, segments=(SEGMENT,) * 2, ends=(SEGMENT_END,) * 30)
LARGEST_START = with_fields(Start, segments=(SEGMENT,) * 2, ends=(SEGMENT_END,) * 30)
LARGEST_ANSWER = with_fields(QueryAnswer, rows=("x" * 512, "x" * 512, "x" * 226))
REPORT_OF_NEEDS = with_fields(
    Report, failed=NODES, ranges=(), needs=(BlockNeed(2**24 - 1, 65_535),) * 128
)
# What frames hold at most, each kind with the fields at their bounds.
LARGEST: dict[type, Any] = {
    **VALID,
    Beacon: with_fields(Beacon, address="a" * 255, scopes=(2**64 - 1,) * 16),
    Probe: with_fields(Probe, size_bytes=DATA_BYTES_MAX),
    ProbeAnswer: with_fields(ProbeAnswer, name="a" * 255),
    LinkState: LARGEST_STATE,
    Up: Up(to=1, body=LARGEST_STATE),
    Down: Down(to=1, body=LARGEST_ANSWER),
    Subscribe: with_fields(Subscribe, name="n" * 64, object_id=bytes(16)),
    Unsubscribe: with_fields(Unsubscribe, reason="x" * 512),
    PlanRequest: with_fields(PlanRequest, subscribers=(ORIGIN,) * 100),
    PlanReply: with_fields(PlanReply, void=(VoidBefore(1, 2),) * 100),
    RelayConfig: LARGEST_CONFIG,
    Start: LARGEST_START,
    First: with_fields(First, public_key=bytes(32), signature=bytes(64)),
    End: with_fields(End, closed=(CLOSED,) * 8),
    Report: with_fields(
        Report,
        failed=NODES,
        needs=(),
        # Seven blocks of 132 bytes and one of 100.
        ranges=tuple(
            [
                BlockRanges(i, tuple([SymbolRange(2 * j, 2 * j + 1) for j in range(count)]))
                for i, count in enumerate((32,) * 7 + (24,))
            ]
        ),
    ),
    Stop: with_fields(Stop, reason="x" * 512, failed=NODES),
    Status: with_fields(Status, name="n" * 64, error="x" * 512),
    QueryAnswer: LARGEST_ANSWER,
}


@pytest.mark.parametrize("kind", [pytest.param(row.frame_class, id=row.name) for row in ROWS])
def test_the_largest_frames_just_fit(kind: type) -> None:
    frame = frame_of(LARGEST[kind])
    written = CODEC.encode(frame)
    # Of segments and ends no number fills a START to its last byte.
    missing_bytes = 2 if kind is Start else 0
    assert len(written) == CODEC.size_of(frame) == BYTES_MAX[kind] - missing_bytes
    assert CODEC.decode(written) == frame


def test_every_frame_but_probes_fits_the_datagram_of_a_symbol() -> None:
    assert len(write_symbol(HEADER, bytes(1_280), bytes(16))) == FRAME_BYTES_MAX == 1_364
    for row in ROWS:
        assert row.bytes_max <= FRAME_BYTES_MAX or row.frame_class is Probe


def test_what_fits_a_packet_fits_up_and_down() -> None:
    for kind, body in LARGEST.items():
        if kind in {row.frame_class for row in BODIES.rows} - {Up, Down}:
            assert CODEC.size_of(frame_of(body)) <= 96 + BODY_BYTES_MAX
            assert CODEC.size_of(frame_of(Up(to=1, body=body))) <= BYTES_MAX[Up]
            assert CODEC.size_of(frame_of(Down(to=1, body=body))) <= BYTES_MAX[Down]


def test_a_report_of_needs_fits() -> None:
    assert CODEC.size_of(frame_of(REPORT_OF_NEEDS)) < BYTES_MAX[Report]


TOO_LARGE = {
    "LINK_STATE": msgspec.structs.replace(LARGEST_STATE, name="n" * 51),
    "RP_CONF": msgspec.structs.replace(LARGEST_CONFIG, segments=(SEGMENT,) * 3),
    "START": msgspec.structs.replace(LARGEST_START, segments=(SEGMENT,) * 3),
    "ANSWER": msgspec.structs.replace(LARGEST_ANSWER, rows=("x" * 512, "x" * 512, "x" * 227)),
    "PROBE": with_fields(Probe, size_bytes=DATA_BYTES_MAX + 1),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_frames_that_do_not_fit_are_refused(name: str) -> None:
    body = TOO_LARGE[name]
    outer = [] if isinstance(body, CastFrame) else [Up(to=1, body=body), Down(to=1, body=body)]
    for frame in map(frame_of, [body, *outer]):
        for refuses in (CODEC.encode, CODEC.size_of):
            with pytest.raises(UsageError, match=rf"^{name} of \d+ bytes: at most \d+ fit"):
                refuses(frame)


def test_larger_frames_are_not_read() -> None:
    for kind, body in LARGEST.items():
        if kind is not Start:
            with pytest.raises(PeerError, match=rf"bytes are more than {BYTES_MAX[kind]}$"):
                CODEC.decode(CODEC.encode(frame_of(body)) + b"\0")


TRAIN = Packet(header=HEADER, body=Symbols(numbers=(HEADER.symbol,)), origin=None)
IMPOSSIBLE: dict[str, Callable[[], object]] = {
    "probe of 32 bytes": lambda: CODEC.encode(with_fields(Probe, size_bytes=32)),
    "data in up": lambda: CODEC.encode(frame_of(Up(to=1, body=TRAIN.body))),
    "data in down": lambda: CODEC.size_of(frame_of(Down(to=1, body=TRAIN.body))),
    "train of other symbols": lambda: SIMULATED.encode(
        msgspec.structs.replace(TRAIN, body=Symbols(numbers=(1, 2)))
    ),
    "symbol of 33 bits": lambda: SIMULATED.encode(
        msgspec.structs.replace(TRAIN, body=Symbols(numbers=(HEADER.symbol, 2**32)))
    ),
    "key of 65 bytes": lambda: Blake2Sealer(bytes(65)),
}


@pytest.mark.parametrize("attempt", [pytest.param(a, id=name) for name, a in IMPOSSIBLE.items()])
def test_what_cannot_be_written_is_refused(attempt: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match=r"^[^\n]+$"):
        attempt()


def test_keys_have_up_to_64_bytes() -> None:
    assert len(Blake2Sealer(bytes(64)).seal(KEY)) == 16


def test_the_largest_train_has_46_headers() -> None:
    symbols = tuple(range(HEADER.symbol, HEADER.symbol + 46))
    train = msgspec.structs.replace(TRAIN, body=Symbols(numbers=symbols))
    assert len(SIMULATED.encode(train)) == TrainCodec.BYTES_MAX == 46 * 68


def test_a_tag_goes_with_the_flags() -> None:
    plain = msgspec.structs.replace(HEADER, flags=Flag.PLAIN)
    with pytest.raises(AssertionError):
        write_symbol(plain, b"", bytes(16))
    with pytest.raises(AssertionError):
        write_symbol(HEADER, b"", bytes(4))
