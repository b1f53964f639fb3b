"""What could not be written cannot be built, and what can be built can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec import filter as filter_codec
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.codec.guaranteed.stream_framing import frame_bytes_max
from penstock.wire.frames.guaranteed.acknowledgement import ClientAck
from penstock.wire.frames.guaranteed.base import (
    PREDICATE_BYTES_MAX,
    STOP_MAX,
    WITHDRAWN,
    BrokerFrame,
    ClientFrame,
    ReaderId,
    Serial,
    Start,
    StartKind,
    TickRange,
)
from penstock.wire.frames.guaranteed.client import Answer, Ask, Connect, Credit, Refused
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
    Live,
    Progress,
)
from penstock.wire.frames.guaranteed.hello import Announcement, Hello
from penstock.wire.frames.guaranteed.knowledge import Data, Gap, Horizon, Silence
from penstock.wire.frames.guaranteed.lag import LagAnswer, LagRequest
from penstock.wire.frames.guaranteed.poison import Poison
from penstock.wire.frames.guaranteed.publication import Confirm, Publish, StoredRun
from penstock.wire.frames.guaranteed.receipt import PublishWithReceipt
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest, Nack, ReaderRequest
from penstock.wire.frames.guaranteed.rows import Ack, Held, Hold, HostAck
from penstock.wire.frames.guaranteed.subscription import (
    Attach,
    Attached,
    Fail,
    Forget,
    GapNotice,
    HandOut,
    Position,
)
from tests.wire.codec.guaranteed.test_golden import GOLDEN, READER, SERIAL, table_of

VALID: dict[type, BrokerFrame | ClientFrame] = {type(frame): frame for frame, _ in GOLDEN}
NAME = "n" * 64
LONGEST_READER = ReaderId(NAME, 1)


def with_field(kind: type, /, **fields: Any) -> Any:
    """A valid frame with something changed."""
    return msgspec.structs.replace(VALID[kind], **fields)


def announcement(**fields: Any) -> Announcement:
    """A pubend in HELLO."""
    return Announcement(**{"pubend": 1, "stream": "s", "distance": 0, "lease": 1, **fields})


def predicate_of(size_bytes: int) -> Predicate:
    """A predicate of about this size, not more."""
    # An operator, two lengths, a name of 4, and for each value its kind, a length and 1000 bytes.
    filters = [
        Filter([Constraint(f"{i:04}", Op.EQ, "x" * 1000)]) for i in range(size_bytes // 1010)
    ]
    return Predicate(filters)


TOO_LARGE = Predicate(
    [Filter([Constraint(f"{i:04}{j}", Op.EQ, "x" * 1000) for j in range(2)]) for i in range(40)]
)

IMPOSSIBLE: dict[str, Callable[[], object]] = {
    "data of 65 bits": lambda: with_field(Data, pubend=2**64),
    "data from below zero": lambda: with_field(Data, pubend=-1),
    "data published at 2^64": lambda: with_field(Data, published_ns=2**64),
    "data at no tick": lambda: with_field(Data, tick=2**64 - 1),
    "data with silence behind it": lambda: with_field(Data, start=9, tick=8),
    "data with silence from below zero": lambda: with_field(Data, start=-1),
    "data of more than a mebibyte": lambda: with_field(Data, body=bytes((1 << 20) + 1)),
    "data for a reader of no host": lambda: with_field(Data, reader=ReaderId("", 1)),
    "data for a reader of 33 bits": lambda: with_field(Data, reader=ReaderId("h", 2**32)),
    "silence of nothing": lambda: with_field(Silence, start=5, stop=5),
    "silence for nobody's reader": lambda: with_field(Silence, reader=ReaderId("", 1)),
    "silence up to 2^64": lambda: with_field(Silence, stop=2**64),
    "gap for a number": lambda: with_field(Gap, reason=1),
    "gap of a negative number": lambda: with_field(Gap, messages=-1),
    "gap for a long host": lambda: with_field(Gap, reader=ReaderId("x" * 65, 1)),
    "horizon at 2^64": lambda: with_field(Horizon, stop=2**64),
    "nack of 65 ranges": lambda: with_field(Nack, ranges=(TickRange(1, 2),) * 65),
    "nack of an empty range": lambda: with_field(Nack, ranges=(TickRange(2, 2),)),
    "nack for a reader of 33 bits": lambda: with_field(Nack, reader=ReaderId("h", 2**32)),
    "filter of epoch 2^64": lambda: with_field(FilterRequest, epoch=2**64),
    "filter_ack at no tick": lambda: with_field(FilterAck, tick=2**64 - 1),
    "reader of no host": lambda: with_field(ReaderRequest, reader=ReaderId("", 1)),
    "hold by nobody": lambda: with_field(Hold, host=""),
    "hold in life 2^64": lambda: with_field(Hold, serial=Serial(2**64, 1)),
    "hold number 2^32": lambda: with_field(Hold, serial=Serial(1, 2**32)),
    "hold of a long name": lambda: with_field(Hold, durable="é" * 33),
    "hold from a number": lambda: with_field(Hold, start=Start(1)),  # type: ignore[arg-type]
    "hold from now and 1": lambda: with_field(Hold, start=Start(StartKind.NOW, 1)),
    "hold from no tick": lambda: with_field(Hold, start=Start(StartKind.TICK, 2**64 - 1)),
    "hold from time 2^64": lambda: with_field(Hold, start=Start(StartKind.TIME, 2**64)),
    "hold that keeps 1": lambda: with_field(Hold, keep=1),
    "held at no tick": lambda: with_field(Held, tick=2**64 - 1),
    "held for a long other": lambda: with_field(Held, other_host="x" * 65),
    "lag of nobody": lambda: with_field(LagRequest, host=""),
    "lag behind no tick": lambda: with_field(LagRequest, tick=2**64 - 1),
    "lag of 2^64 messages": lambda: with_field(LagAnswer, messages=2**64),
    "lag of less than nothing": lambda: with_field(LagAnswer, age_us=-1),
    "live that is 1": lambda: with_field(Live, is_on=1),
    "query 2^64": lambda: with_field(CongestionQuery, seq=2**64),
    "query at no tick": lambda: with_field(CongestionQuery, newest=2**64 - 1),
    "alert of no rate": lambda: with_field(CongestionAlert, normal_rate=float("nan")),
    "alert below zero": lambda: with_field(CongestionAlert, recovering_rate=-0.5),
    "alert at no tick": lambda: with_field(CongestionAlert, position=2**64 - 1),
    "report backwards": lambda: with_field(
        CongestionReport, normal=Progress(host="h", start=2, stop=1, elapsed_ns=1)
    ),
    "report of nobody": lambda: with_field(
        CongestionReport, normal=Progress(host="", start=1, stop=2, elapsed_ns=1)
    ),
    "report of a long name": lambda: with_field(
        CongestionReport, recovering=Progress(host="x" * 65, start=1, stop=2, elapsed_ns=1)
    ),
    "report in less than no time": lambda: with_field(
        CongestionReport, recovering=Progress(host="h", start=1, stop=2, elapsed_ns=-1)
    ),
    "held in life 2^64": lambda: with_field(Held, serial=Serial(2**64, 1)),
    "ack of 65": lambda: with_field(Ack, entries=(HostAck("h", SERIAL, 1),) * 65),
    "ack of nobody": lambda: with_field(Ack, entries=(HostAck("", SERIAL, 1),)),
    "ack in life 2^64": lambda: with_field(Ack, entries=(HostAck("h", Serial(2**64, 1), 1),)),
    "ack up to 2^64": lambda: with_field(Ack, entries=(HostAck("h", SERIAL, 2**64),)),
    "hello from a long name": lambda: with_field(Hello, broker="x" * 65),
    "hello from half a character": lambda: with_field(Hello, broker="\ud800"),
    "hello of role 16": lambda: with_field(Hello, roles=16),
    "hello of no life": lambda: with_field(Hello, life=-1),
    "hello of too many": lambda: with_field(Hello, pubends=(announcement(),) * 1025),
    "pubend of a dead range of nothing": lambda: announcement(dead_ranges=(TickRange(1, 1),)),
    "pubend of 17 dead ranges": lambda: announcement(dead_ranges=(TickRange(1, 2),) * 17),
    "pubend at distance 256": lambda: announcement(distance=256),
    "pubend of no stream": lambda: announcement(stream=""),
    "pubend at a long address": lambda: announcement(address="a" * 256),
    "pubend with no lease": lambda: announcement(lease=2**64 - 1),
    "connect by nobody": lambda: with_field(Connect, publisher=""),
    "publish to nothing": lambda: with_field(Publish, stream=""),
    "publish of 65 bits": lambda: with_field(Publish, ids=(1, 2**64)),
    "publish of more ids": lambda: with_field(Publish, ids=(1, 2, 3)),
    "publish of nothing": lambda: with_field(Publish, ids=(), bodies=()),
    "publish of too many": lambda: with_field(Publish, ids=(1,) * 1001, bodies=(b"",) * 1001),
    "publish of more than a mebibyte": lambda: with_field(Publish, bodies=(bytes(1 << 20), b"x")),
    "poison of 17 reasons": lambda: with_field(Poison, reasons=("",) * 17),
    "poison of a long reason": lambda: with_field(Poison, reasons=("x" * 4097,)),
    "poison of 33 bits": lambda: with_field(Poison, attempts=2**32),
    "confirm of nothing": lambda: with_field(Confirm, runs=(StoredRun(1, 0, 1, 1, False),)),
    "confirm of 65 bits": lambda: with_field(Confirm, runs=(StoredRun(2**64, 1, 1, 1, False),)),
    "confirm up to 65 bits": lambda: with_field(
        Confirm, runs=(StoredRun(2**64 - 1, 2, 1, 1, False),)
    ),
    "confirm at no tick": lambda: with_field(Confirm, runs=(StoredRun(1, 1, 1, 2**64 - 1, False),)),
    "confirm up to no tick": lambda: with_field(
        Confirm, runs=(StoredRun(1, 2, 1, 2**64 - 2, False),)
    ),
    "confirm below zero": lambda: with_field(Confirm, runs=(StoredRun(1, 1, -1, 1, False),)),
    "confirm of two that are long past": lambda: with_field(
        Confirm, runs=(StoredRun(1, 2, 1, 0, True),)
    ),
    "confirm of too many": lambda: with_field(
        Confirm, runs=(StoredRun(1, 4000, 1, 1, False), StoredRun(1, 97, 1, 1, False))
    ),
    "credit of a number": lambda: with_field(Credit, kind=1),
    "credit for 33 bits": lambda: with_field(Credit, number=2**32),
    "attach to 65 streams": lambda: with_field(Attach, streams=("s",) * 65),
    "attach to no stream's name": lambda: with_field(Attach, streams=("",)),
    "attach under a long name": lambda: with_field(Attach, durable="x" * 65),
    "attach from now and 1": lambda: with_field(Attach, start=Start(StartKind.NOW, 1)),
    "attach with flag 8": lambda: with_field(Attach, flags=8),
    "attach at no tick": lambda: with_field(Attach, positions=(Position(1, 2**64 - 1),)),
    "attach at too many": lambda: with_field(Attach, positions=(Position(1, 1),) * 4097),
    "attached and resumed 1": lambda: with_field(Attached, resumed=1),
    "attached below zero": lambda: with_field(Attached, positions=(Position(-1, 1),)),
    "message for 33 bits": lambda: with_field(HandOut, subscription=2**32),
    "message tried 2^32 times": lambda: with_field(HandOut, attempt=2**32),
    "message at no tick": lambda: with_field(HandOut, ticks=(1, 2**64 - 1)),
    "message before the last": lambda: with_field(HandOut, ticks=(2, 1)),
    "message at the last tick": lambda: with_field(HandOut, ticks=(2, 2)),
    "message without a tick": lambda: with_field(HandOut, ticks=(2,)),
    "message published at 2^64": lambda: with_field(HandOut, published_ns=(1, 2**64)),
    "message from 65 bits": lambda: with_field(HandOut, pubend=2**64),
    "message of more than a mebibyte": lambda: with_field(HandOut, bodies=(bytes(1 << 20), b"x")),
    "gap to a client for a number": lambda: with_field(GapNotice, reason=1),
    "gap to a client of nothing": lambda: with_field(GapNotice, start=3, stop=3),
    "ack of a client at too many": lambda: with_field(
        ClientAck, positions=(Position(1, 1),) * 4097
    ),
    "fail at no tick": lambda: with_field(Fail, tick=2**64 - 1),
    "fail with a long reason": lambda: with_field(Fail, reason="é" * 2049),
    "fail with half a character": lambda: with_field(Fail, reason="\ud800"),
    "forget nothing": lambda: with_field(Forget, durable=""),
    "request of no verb": lambda: with_field(Ask, verb=""),
    "request of long arguments": lambda: with_field(Ask, arguments=bytes(65_537)),
    "result of more than a mebibyte": lambda: with_field(Answer, result=bytes((1 << 20) + 1)),
    "refusal of a number": lambda: with_field(Refused, kind=1),
    "refusal with a long text": lambda: with_field(Refused, text="x" * 4097),
    "refusal with a long address": lambda: with_field(Refused, address="x" * 256),
}

BODY = bytes(1 << 20)
BODIES = (*(bytes(1 << 10),) * 999, bytes(25 << 10))
LARGEST: list[Any] = [
    with_field(
        Hello,
        broker=NAME,
        pubends=(
            announcement(
                stream=NAME, address="a" * 255, dead_ranges=(TickRange(1, STOP_MAX),) * 16
            ),
        )
        * 1024,
    ),
    with_field(Data, body=BODY, reader=LONGEST_READER),
    with_field(Silence, reader=LONGEST_READER),
    with_field(Gap, reader=LONGEST_READER),
    with_field(Nack, ranges=(TickRange(1, STOP_MAX),) * 64, reader=LONGEST_READER),
    with_field(Hold, host=NAME, durable=NAME),
    with_field(Held, host=NAME, other_host=NAME),
    with_field(LagRequest, host=NAME),
    with_field(LagAnswer, host=NAME),
    with_field(Ack, entries=(HostAck(NAME, SERIAL, WITHDRAWN),) * 64),
    with_field(Publish, stream=NAME, ids=(1,) * 1000, bodies=BODIES),
    with_field(Confirm, stream=NAME, runs=(StoredRun(1, 1, 2**64 - 1, 1, True),) * 4096),
    with_field(Attached, positions=(Position(2**64 - 1, 1),) * 4096),
    with_field(ClientAck, positions=(Position(2**64 - 1, 1),) * 4096),
    with_field(HandOut, ticks=tuple(range(1000)), published_ns=(2**64 - 1,) * 1000, bodies=BODIES),
    with_field(Fail, reason="x" * 4096),
    with_field(Poison, reasons=("x" * 4096,) * 16, body=BODY),
    with_field(PublishWithReceipt, stream=NAME, ids=(1,) * 1000, bodies=BODIES),
    with_field(Forget, durable=NAME),
    with_field(Ask, verb=NAME, arguments=bytes(65_536)),
    with_field(Answer, result=BODY),
    with_field(Refused, reason=NAME, text="x" * 4096, address="x" * 255),
]


@pytest.mark.parametrize("build", [pytest.param(b, id=name) for name, b in IMPOSSIBLE.items()])
def test_refused_when_built(build: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match=r"^[^\n]+$"):
        build()


@pytest.mark.parametrize("frame", [pytest.param(f, id=type(f).__name__) for f in LARGEST])
def test_the_largest_frames_just_fit(frame: Any) -> None:
    table = table_of(frame)
    written = table.encode(frame)
    (bytes_max,) = [row.bytes_max for row in table.rows if row.frame_class is type(frame)]
    assert len(written) == table.size_of(frame) == bytes_max
    assert table.decode(written) == frame


@pytest.mark.parametrize("kind", [FilterRequest, ReaderRequest, Attach])
def test_large_filters_are_taken_and_larger_ones_refused(kind: type) -> None:
    largest = predicate_of(PREDICATE_BYTES_MAX)
    assert len(largest.filters) == 64
    assert len(filter_codec.write_predicate(largest)) > PREDICATE_BYTES_MAX * 0.9
    fits = with_field(kind, predicate=largest)
    table = table_of(fits)
    assert table.decode(table.encode(fits)) == fits
    too_large = with_field(kind, predicate=TOO_LARGE)
    for ask in (table.encode, table.size_of):
        with pytest.raises(UsageError, match=r"a filter of 8\d{4} bytes: at most 65536 fit"):
            ask(too_large)


def test_a_filter_that_would_not_fit_other_frames_is_refused() -> None:
    # ATTACH has room for positions, which a larger filter could take.
    attach = with_field(Attach, predicate=predicate_of(1000))
    written = CLIENT_FRAMES.encode(attach)
    predicate = filter_codec.write_predicate(attach.predicate)
    assert written.endswith(predicate)
    larger = written[: -len(predicate)] + filter_codec.write_predicate(TOO_LARGE)
    with pytest.raises(PeerError, match=r"ATTACH: a filter of 8\d{4} bytes is larger than 65536"):
        CLIENT_FRAMES.decode(larger)


def test_a_withdrawal_is_no_tick_but_may_be_acknowledged() -> None:
    assert with_field(Ack, entries=(HostAck("h", SERIAL, WITHDRAWN),)).entries[0].tick == STOP_MAX
    assert with_field(Silence, stop=STOP_MAX).stop == STOP_MAX
    assert with_field(Data, reader=READER).reader == READER


def test_no_frame_is_larger_than_this() -> None:
    assert frame_bytes_max(CLIENT_FRAMES) == (1 << 20) + 65_603
    assert frame_bytes_max(BROKER_FRAMES) == (1 << 20) + 103
