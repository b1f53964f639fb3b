"""The bytes of every frame as the pictures have them, and what is less or more than these."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.content.syntax import parse
from penstock.kernel.errors import PeerError
from penstock.wire.codec.codec_table import CodecTable
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.frames.guaranteed.acknowledgement import Acked, ClientAck
from penstock.wire.frames.guaranteed.base import (
    WITHDRAWN,
    BrokerFrame,
    ClientFrame,
    GapReason,
    ReaderId,
    Serial,
    Start,
    StartKind,
    TickRange,
)
from penstock.wire.frames.guaranteed.client import (
    Answer,
    Ask,
    ClientPing,
    Connect,
    Credit,
    CreditKind,
    Refused,
    RefusedKind,
    Welcome,
)
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
    Live,
    Progress,
)
from penstock.wire.frames.guaranteed.hello import Announcement, Hello, Ping, Role
from penstock.wire.frames.guaranteed.knowledge import Data, Gap, Horizon, Silence
from penstock.wire.frames.guaranteed.lag import LagAnswer, LagRequest
from penstock.wire.frames.guaranteed.poison import Poison
from penstock.wire.frames.guaranteed.publication import Confirm, Publish, StoredRun
from penstock.wire.frames.guaranteed.receipt import PublishWithReceipt, Receipt
from penstock.wire.frames.guaranteed.requests import (
    FilterAck,
    FilterRequest,
    Nack,
    ReaderRequest,
)
from penstock.wire.frames.guaranteed.rows import Ack, Held, Hold, HostAck
from penstock.wire.frames.guaranteed.subscription import (
    Attach,
    Attached,
    AttachFlags,
    Detach,
    Fail,
    Forget,
    GapNotice,
    HandOut,
    Position,
)

PUBEND = 0x0102030405060708
START, STOP = 0x1112131415161718, 0x2122232425262728
PUBLISHED_NS = 0x3132333435363738
READER = ReaderId("SB1", 0x41424344)
SERIAL = Serial(0x5152535455565758, 0x61626364)
# One filter of one constraint, EQ of "a" and 1.
PREDICATE, PREDICATE_HEX = parse("a = 1"), "01 01 02 01 61 11 01"
READER_HEX = "03 534231 41424344"
# Attributes {"a": 1} in 4 bytes, then the payload.
BODY = bytes.fromhex("0004 81 a161 01 eeff")

GOLDEN: list[tuple[BrokerFrame | ClientFrame, str]] = [
    (
        Hello(
            broker="PB",
            life=0x7172737475767778,
            roles=Role.PUBLISH | Role.HOST,
            token=0x8182838485868788,
            pubends=(
                Announcement(
                    pubend=PUBEND,
                    stream="orders",
                    distance=2,
                    lease=STOP,
                    dead_ranges=(TickRange(START, STOP),),
                    address="h:1",
                ),
                Announcement(pubend=1, stream="é", distance=0, lease=3),
            ),
        ),
        "01 80 7172737475767778 05 8182838485868788 0002 02 5042"
        "0102030405060708 2122232425262728 02 01 06 6f7264657273 03 683a31"
        "1112131415161718 2122232425262728"
        "0000000000000001 0000000000000003 00 00 02 c3a9 00",
    ),
    (Ping(), "01 81"),
    (
        Data(pubend=PUBEND, start=START, tick=STOP, published_ns=PUBLISHED_NS, body=BODY),
        "01 82 0102030405060708 1112131415161718 2122232425262728 3132333435363738 00"
        "0004 81 a161 01 eeff",
    ),
    (
        Data(
            pubend=PUBEND,
            start=START,
            tick=STOP,
            published_ns=PUBLISHED_NS,
            body=BODY,
            reader=READER,
        ),
        "01 82 0102030405060708 1112131415161718 2122232425262728 3132333435363738"
        f"{READER_HEX} 0004 81 a161 01 eeff",
    ),
    (
        Silence(pubend=PUBEND, start=START, stop=STOP),
        "01 83 0102030405060708 1112131415161718 2122232425262728 00",
    ),
    (
        Gap(
            pubend=PUBEND,
            start=START,
            stop=STOP,
            reason=GapReason.DAMAGED,
            messages=9,
            reader=READER,
        ),
        f"01 84 0102030405060708 1112131415161718 2122232425262728 0000000000000009 01{READER_HEX}",
    ),
    (Horizon(pubend=PUBEND, stop=STOP), "01 85 0102030405060708 2122232425262728"),
    (
        Nack(pubend=PUBEND, ranges=(TickRange(START, STOP), TickRange(1, 2)), reader=READER),
        "01 86 0102030405060708 02 1112131415161718 2122232425262728"
        f"0000000000000001 0000000000000002 {READER_HEX}",
    ),
    (
        Hold(
            pubend=PUBEND,
            host="SB1",
            serial=SERIAL,
            durable="audit",
            start=Start(StartKind.TICK, START),
            keep=True,
        ),
        "01 87 0102030405060708 5152535455565758 61626364 02 1112131415161718 01"
        "03 534231 05 6175646974",
    ),
    (
        Held(pubend=PUBEND, host="SB1", serial=SERIAL, tick=START, other_host="SB2"),
        "01 88 0102030405060708 5152535455565758 61626364 1112131415161718 03 534231 03 534232",
    ),
    (
        LagRequest(pubend=PUBEND, host="SB1", serial=SERIAL, tick=START),
        "01 8d 0102030405060708 5152535455565758 61626364 1112131415161718 03 534231",
    ),
    (
        LagAnswer(
            pubend=PUBEND,
            host="SB1",
            serial=SERIAL,
            messages=3,
            size_bytes=1_200,
            limit_bytes=10**10,
            age_us=2_000_000,
            is_upper_bound=True,
        ),
        "01 8e 0102030405060708 5152535455565758 61626364 0000000000000003 00000000000004b0"
        "00000002540be400 00000000001e8480 01 03 534231",
    ),
    (Live(pubend=PUBEND, is_on=True), "01 90 0102030405060708 01"),
    (
        CongestionQuery(pubend=PUBEND, seq=7, newest=STOP),
        "01 91 0102030405060708 0000000000000007 2122232425262728",
    ),
    (
        CongestionAlert(pubend=PUBEND, seq=7, normal_rate=0.5, position=START),
        "01 92 0102030405060708 0000000000000007 3fe0000000000000 7ff00000000000001112131415161718",
    ),
    (
        CongestionReport(
            pubend=PUBEND,
            seq=7,
            recovering=Progress(
                host="SB1", start=START, stop=STOP, elapsed_ns=10**9, over_lag_ns=5
            ),
        ),
        "01 93 0102030405060708 0000000000000007 02 1112131415161718 2122232425262728"
        "000000003b9aca00 0000000000000005 03 534231",
    ),
    (
        Ack(
            pubend=PUBEND,
            entries=(HostAck("SB1", SERIAL, STOP), HostAck("SB2", Serial(1, 2), WITHDRAWN)),
        ),
        "01 89 0102030405060708 02 5152535455565758 61626364 2122232425262728 03 534231"
        "0000000000000001 00000002 ffffffffffffffff 03 534232",
    ),
    (
        FilterRequest(pubend=PUBEND, epoch=7, predicate=PREDICATE),
        f"01 8a 0102030405060708 0000000000000007 {PREDICATE_HEX}",
    ),
    (
        FilterAck(pubend=PUBEND, epoch=7, tick=STOP),
        "01 8b 0102030405060708 0000000000000007 2122232425262728",
    ),
    (
        ReaderRequest(pubend=PUBEND, reader=READER, predicate=PREDICATE),
        f"01 8c 0102030405060708 01 {READER_HEX} {PREDICATE_HEX}",
    ),
    (
        ReaderRequest(pubend=PUBEND, reader=READER, predicate=None),
        f"01 8c 0102030405060708 00 {READER_HEX}",
    ),
    (Connect(publisher="pricer", life=3), "01 a0 0000000000000003 06 707269636572"),
    (Welcome(broker="PB", message_bytes_max=1 << 20), "01 a1 00100000 02 5042"),
    (
        Publish(stream="orders", ids=(0x9192939495969798, 5), bodies=(BODY, b"\0\0")),
        "01 a2 0002 06 6f7264657273 9192939495969798 0000000000000005 00000008 00000002"
        "0004 81 a161 01 eeff 0000",
    ),
    (
        Confirm(
            stream="orders",
            runs=(StoredRun(4, 7, PUBEND, START, False), StoredRun(2, 1, PUBEND, 0, True)),
        ),
        "01 a3 0002 06 6f7264657273 0000000000000004 0007 0102030405060708 1112131415161718 00"
        "0000000000000002 0001 0102030405060708 0000000000000000 01",
    ),
    (
        Credit(kind=CreditKind.SUBSCRIPTION, number=2, messages=1000, size_bytes=4_000_000),
        "01 a4 01 00000002 000003e8 00000000003d0900",
    ),
    (
        Attach(
            subscription=2,
            durable="audit",
            streams=("orders", "é"),
            predicate=PREDICATE,
            start=Start(StartKind.NOW),
            flags=AttachFlags.TAKEOVER | AttachFlags.PARK,
            attempts_max=5,
            expire_s=60,
            positions=(Position(PUBEND, START),),
        ),
        "01 a5 00000002 05 00000005 0000003c 01 0000000000000000 02"
        "05 6175646974 06 6f7264657273 02 c3a9 0001 0102030405060708 1112131415161718"
        f"{PREDICATE_HEX}",
    ),
    (
        Attached(subscription=2, resumed=True, positions=(Position(PUBEND, START),)),
        "01 a6 00000002 01 0001 0102030405060708 1112131415161718",
    ),
    (
        HandOut(
            subscription=2,
            pubend=PUBEND,
            attempt=1,
            ticks=(START, STOP),
            published_ns=(PUBLISHED_NS, 7),
            bodies=(BODY, b"\0\0"),
        ),
        "01 a7 00000002 0102030405060708 00000001 0002 1112131415161718 2122232425262728"
        "3132333435363738 0000000000000007 00000008 00000002 0004 81 a161 01 eeff 0000",
    ),
    (
        GapNotice(
            subscription=2,
            pubend=PUBEND,
            start=START,
            stop=STOP,
            reason=GapReason.ROLLED_BACK,
            messages=9,
        ),
        "01 a8 00000002 0102030405060708 1112131415161718 2122232425262728 0000000000000009 03",
    ),
    (
        ClientAck(subscription=2, positions=(Position(PUBEND, START),), is_awaited=True),
        "01 a9 00000002 01 0001 0102030405060708 1112131415161718",
    ),
    (Acked(subscription=2, positions=()), "01 aa 00000002 0000"),
    (
        Fail(subscription=2, pubend=PUBEND, tick=START, reason="no"),
        "01 ab 00000002 0102030405060708 1112131415161718 0002 6e6f",
    ),
    (Detach(subscription=2, is_clean=True), "01 ac 00000002 01"),
    (Forget(durable="audit"), "01 ad 05 6175646974"),
    (Ask(number=8, verb="list", arguments=b"{}"), "01 ae 00000008 04 6c697374 7b7d"),
    (Answer(number=8, result=b"[]"), "01 af 00000008 5b5d"),
    (
        Refused(
            kind=RefusedKind.PUBLICATION, number=9, reason="not_here", text="no", address="h:1"
        ),
        "01 b0 01 0000000000000009 08 6e6f745f68657265 0002 6e6f 03 683a31",
    ),
    (ClientPing(), "01 b1"),
    (
        Poison(
            subscription=2,
            pubend=PUBEND,
            tick=START,
            published_ns=PUBLISHED_NS,
            attempts=5,
            reasons=("no", ""),
            body=BODY,
        ),
        "01 b2 00000002 0102030405060708 1112131415161718 3132333435363738 00000005 02"
        "0002 6e6f 0000 0004 81 a161 01 eeff",
    ),
    (
        PublishWithReceipt(stream="orders", ids=(0x9192939495969798,), bodies=(BODY,)),
        "01 b3 0001 06 6f7264657273 9192939495969798 00000008 0004 81 a161 01 eeff",
    ),
    (
        Receipt(stream="orders", runs=(StoredRun(4, 1, PUBEND, START, False),)),
        "01 b4 0001 06 6f7264657273 0000000000000004 0001 0102030405060708 1112131415161718 00",
    ),
]
# Their last field goes up to the end of the frame.
OPEN_ENDED = (Data, Ask, Answer, Poison)
VECTORS = Path(__file__).parents[3] / "vectors" / "guaranteed_frames.json"
CASES = [
    pytest.param(frame, bytes.fromhex(written), id=f"{type(frame).__name__}-{i}")
    for i, (frame, written) in enumerate(GOLDEN)
]


def table_of(frame: BrokerFrame | ClientFrame) -> CodecTable[Any]:
    """The table that has a row for the frame."""
    return BROKER_FRAMES if isinstance(frame, BrokerFrame) else CLIENT_FRAMES


@pytest.mark.parametrize(("frame", "data"), CASES)
def test_the_bytes_are_those_of_the_pictures(frame: BrokerFrame | ClientFrame, data: bytes) -> None:
    table = table_of(frame)
    assert table.encode(frame) == data
    assert table.size_of(frame) == len(data)
    assert table.decode(data) == frame


@pytest.mark.parametrize(("frame", "data"), CASES)
def test_truncated_frames_are_refused_or_have_a_shorter_body(
    frame: BrokerFrame | ClientFrame, data: bytes
) -> None:
    table = table_of(frame)
    tails = {Data: 8, Poison: 8, Ask: 2, Answer: 2}
    tail_bytes = tails.get(type(frame), 0)
    for end in range(len(data)):
        if end < len(data) - tail_bytes:
            with pytest.raises(PeerError, match=r"^[^\n]+$"):
                table.decode(data[:end])
        else:
            assert table.encode(table.decode(data[:end])) == data[:end]


@pytest.mark.parametrize(("frame", "data"), CASES)
def test_trailing_bytes_are_refused_or_part_of_the_body(
    frame: BrokerFrame | ClientFrame, data: bytes
) -> None:
    table, longer = table_of(frame), data + b"\0"
    if isinstance(frame, OPEN_ENDED):
        assert table.encode(table.decode(longer)) == longer
    else:
        # The largest frames of some types have no room for one more byte.
        with pytest.raises(PeerError, match=r"bytes left: 1|are more than|bodies of \d+ bytes, in"):
            table.decode(longer)


def test_the_vectors_are_those_of_the_pictures() -> None:
    vectors: dict[str, str] = json.loads(VECTORS.read_text())
    assert sorted(vectors.values()) == sorted(bytes.fromhex(written).hex() for _, written in GOLDEN)
    for name, written in vectors.items():
        # Named after the frame's type number, the second byte.
        assert name.startswith(f"{bytes.fromhex(written)[1]:02x}.")


def test_every_frame_type_has_a_vector() -> None:
    types = {int(name[:2], 16) for name in json.loads(VECTORS.read_text())}
    assert types == {row.type_code for row in (*BROKER_FRAMES.rows, *CLIENT_FRAMES.rows)}


def test_frames_of_the_other_table_are_refused() -> None:
    with pytest.raises(PeerError, match="0x81 are not known here"):
        CLIENT_FRAMES.decode(b"\x01\x81")
    with pytest.raises(PeerError, match="version 2"):
        BROKER_FRAMES.decode(b"\x02\x81")
