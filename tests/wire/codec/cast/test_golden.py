"""The bytes of every frame as the pictures have them, and the MACs behind them."""

from __future__ import annotations

from hashlib import blake2b

import msgspec
import pytest

from penstock.kernel.errors import PeerError
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.codec.cast.symbols import write_symbol
from penstock.wire.frames.cast.base import CastBody, CastFrame, Item, Origin
from penstock.wire.frames.cast.control import ControlAck, Down, Up
from penstock.wire.frames.cast.header import Flag, Header
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

KEY = b"domain key"
CODEC = CastCodec(Blake2Sealer(KEY))
SIMULATED = CastCodec(Blake2Sealer(KEY), has_trains=True)

ORIGIN = Origin(0xA1A2A3A4, 0xB1B2B3B4, 0xC1C2C3C4)
ORIGIN_HEX = "a1a2a3a4 b1b2b3b4 c1c2c3c4"
HEADER = Header(
    ttl=9,
    choice=3,
    links=int.from_bytes(range(1, 32), "big"),
    item=Item(0x3132333435363738, 0x4142434445464748),
    flags=Flag.TAG_EPOCH | Flag.REPAIR,
    segment=0x5152,
    plan=0x6162,
    generation=0x71,
    block=0x818283,
    symbol=0x91929394,
    stamp_us=0xD1D2D3D4,
)
# From the flags to the stamp.
HEADER_HEX = (
    "05 09 03 0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    "3132333435363738 4142434445464748 5152 6162 71 818283 91929394 d1d2d3d4"
)
LINKS = 0x0F << 240 | 1
LINKS_HEX = "0f" + "00" * 29 + "01"
DOMAIN = bytes.fromhex("1112131415161718")
OBJECT_ID = bytes(range(16))
OBJECT_ID_HEX = "000102030405060708090a0b0c0d0e0f"
CONTROL_ACK = ControlAck(boot=0x01020304, number=0x05060708)
SEGMENT = SegmentFilter(
    segment=2, plan=3, choice=4, links=LINKS, depth=5, up_choice=6, up_links=1 << 247
)
SEGMENT_HEX = "0002 0003 04" + LINKS_HEX + "05 06 80" + "00" * 30
SEGMENT_END = SegmentEnd(segment=2, node=0x0A0B0C0D, path=LINKS)
SEGMENT_END_HEX = "0002 0a0b0c0d" + LINKS_HEX
FIRST = First(
    up_choice=7,
    up_links=LINKS,
    up_ttl=8,
    epoch=0x01020304,
    object_id=OBJECT_ID,
    kind=ObjectKind.STREAM,
    repair=RepairChoice.CODED,
    length_bytes=0x1112131415161718,
    symbol_bytes=1_280,
    blocks=0x212223,
    block_symbols=8_000,
    manifest_bytes=0x31323334,
    hold_100us=0x4142,
)
FIRST_HEX = (
    "07" + LINKS_HEX + "08 01020304" + OBJECT_ID_HEX + "01 02 1112131415161718 0500 212223 1f40"
    "31323334 4142"
)
REPORT = Report(
    child=0x01020304,
    part=1,
    parts=2,
    hold_100us=0x1112,
    loss=0x2122,
    done=3,
    total=4,
    failed=(0x0A0B0C0D,),
)
REPORT_HEX = "01020304 01 02 1112 2122 00000003 00000004 01 0a0b0c0d"

NEIGHBOUR_GOLDEN: list[tuple[CastFrame, str]] = [
    (
        Hello(origin=ORIGIN, domain=DOMAIN, heard=0x01020304, hears_multicast=True),
        "01 c0 00 1112131415161718 01020304 01 00",
    ),
    (
        Beacon(
            origin=ORIGIN,
            controller=0x01020304,
            domain=DOMAIN,
            tag_epoch=5,
            number=6,
            hops=7,
            roles=CastRole.TOPOLOGY,
            address="h:1",
            scopes=(0x3132333435363738, 1),
        ),
        "01 c1 00 01020304 1112131415161718 00000005 00000006 07 04 03 683a31"
        "02 3132333435363738 0000000000000001",
    ),
    (Probe(origin=ORIGIN, size_bytes=37), "01 d8 00 0025 0000 0000"),
    (
        ProbeAnswer(
            origin=ORIGIN,
            name="é",
            heard=HeardSize(multicast_bytes=0x0102, unicast_bytes=0x0304),
            buffer_bytes=0x11121314,
            has_segmentation=True,
        ),
        "01 d9 00 02 c3a9 0102 0304 11121314 01",
    ),
]
# Of bodies their type, then what stands between the header and the origin.
BODY_GOLDEN: list[tuple[CastBody, str, str]] = [
    (
        LinkState(
            node=0x01020304,
            name="r1",
            roles=CastRole.ROUTER | CastRole.TOPOLOGY,
            number=7,
            page=1,
            pages=2,
            ports=(
                PortState(
                    port=3, kind=PortKind.LAN, neighbour=0x0A0B0C0D, secret=OBJECT_ID, cost=258
                ),
            ),
        ),
        "c2",
        "01020304 02 7231 05 00000007 01 02 01 0003 01 0a0b0c0d" + OBJECT_ID_HEX + "0102",
    ),
    (Up(to=0x0A0B0C0D, body=CONTROL_ACK), "c3", "0a0b0c0d c5 01020304 05060708"),
    (
        Up(to=1, body=Down(to=2, body=CONTROL_ACK)),
        "c3",
        "00000001 c4 00000002 c5 01020304 05060708",
    ),
    (Down(to=0x0A0B0C0D, body=CONTROL_ACK), "c4", "0a0b0c0d c5 01020304 05060708"),
    (CONTROL_ACK, "c5", "01020304 05060708"),
    (
        Advertise(
            publisher=1,
            epoch=2,
            object_id=OBJECT_ID,
            kind=ObjectKind.FILE,
            length_bytes=3,
            receivers=4,
            wait_ms=5,
        ),
        "c6",
        "00000001 00000002" + OBJECT_ID_HEX + "00 0000000000000003 00000004 00000005",
    ),
    (Subscribe(subscriber=1, name="é"), "c7", "00000001 02 c3a9 00"),
    (
        Subscribe(subscriber=1, name="", object_id=OBJECT_ID),
        "c7",
        "00000001 00 01" + OBJECT_ID_HEX,
    ),
    (Unsubscribe(subscriber=1, reason="bye"), "c8", "00000001 0003 627965"),
    (
        RelayConfig(
            controller=0x0A0B0C0D,
            version=0x01020304,
            page=1,
            pages=2,
            levels=3,
            segments=(SEGMENT,),
            ends=(SEGMENT_END, SEGMENT_END),
            parent_segment=0x1112,
        ),
        "cb",
        "1112 0a0b0c0d 01020304 01 02 03 01 02" + SEGMENT_HEX + SEGMENT_END_HEX + SEGMENT_END_HEX,
    ),
    (
        PlanRequest(
            version=1,
            page=1,
            pages=2,
            publisher=3,
            publisher_boot=4,
            epoch=5,
            subscribers=(Origin(6, 7, 8), Origin(9, 10, 11)),
        ),
        "c9",
        "00000001 01 02 00000003 00000004 00000005 02"
        "00000006 00000007 00000008 00000009 0000000a 0000000b",
    ),
    (
        PlanReply(version=1, is_publisher_cut_off=True, void=(VoidBefore(2, 3),)),
        "ca",
        "00000001 01 01 00000002 00000003",
    ),
    (
        Start(version=1, page=0, pages=1, levels=2, segments=(SEGMENT,), ends=(SEGMENT_END,)),
        "cc",
        "00000000 00000001 00 01 02 01 01" + SEGMENT_HEX + SEGMENT_END_HEX,
    ),
    (FIRST, "cd", FIRST_HEX + "00"),
    (
        msgspec.structs.replace(FIRST, public_key=b"k" * 32, signature=b"s" * 64),
        "cd",
        FIRST_HEX + "01" + "6b" * 32 + "73" * 64,
    ),
    (End(first_block=1, last_block=0x010203, hold_100us=4), "cf", "000001 010203 0004 00"),
    (
        End(
            first_block=5,
            last_block=6,
            hold_100us=4,
            closed=(
                ClosedBlock(block=5, symbols=4_000, digest=b"d" * 32),
                ClosedBlock(block=6, symbols=3, digest=b"e" * 32, signature=b"s" * 64),
            ),
        ),
        "cf",
        "000005 000006 0004 02 000005 0fa0" + "64" * 32 + "00"
        "000006 0003" + "65" * 32 + "01" + "73" * 64,
    ),
    (
        msgspec.structs.replace(REPORT, needs=(BlockNeed(0x010203, 0x0405), BlockNeed(1, 1))),
        "d0",
        REPORT_HEX + "02 00 010203 0405 000001 0001",
    ),
    (
        msgspec.structs.replace(
            REPORT,
            ranges=(BlockRanges(0x010203, (SymbolRange(0, 1), SymbolRange(0x0400, 0x0502))),),
        ),
        "d0",
        REPORT_HEX + "00 01 010203 02 0000 0001 0400 0102",
    ),
    (
        AllowedRate(child=1, echo_us=2, hold_100us=3, loss_events=4, received_bps=5, allowed_bps=6),
        "d1",
        "00000001 00000002 0003 0004 00000005 00000006",
    ),
    (
        RateInForce(child=1, round_trip_us=2, rate_bps=3, slowest=4),
        "d2",
        "00000001 00000002 00000003 00000004",
    ),
    (FirstRequest(child=0x01020304), "d3", "01020304"),
    (
        Status(
            node=1,
            name="a",
            blocks_done=0x010203,
            rate_bps=5,
            state=ReceiverState.SILENT,
            error="é",
        ),
        "d4",
        "00000001 01 61 010203 00000005 06 0002 c3a9",
    ),
    (Stop(reason="no", done=2, failed=(3, 4)), "d5", "0002 6e6f 00000002 02 00000003 00000004"),
    (Query(kind=QueryKind.STATUS, serial=0x01020304), "d6", "02 01020304"),
    (
        QueryAnswer(serial=0x01020304, page=0, pages=1, rows=("{}", "")),
        "d7",
        "01020304 00 01 02 0002 7b7d 0000",
    ),
]

# Frames, and their bytes up to the MAC.
GOLDEN: list[tuple[CastFrame, bytes]] = [
    *((frame, bytes.fromhex(f"{text} {ORIGIN_HEX}")) for frame, text in NEIGHBOUR_GOLDEN),
    *(
        (
            Packet(header=HEADER, body=body, origin=ORIGIN),
            bytes.fromhex(f"01 {code} {HEADER_HEX} {text} {ORIGIN_HEX}"),
        )
        for body, code, text in BODY_GOLDEN
    ),
]


def mac_of(data: bytes, *, key: bytes = KEY) -> bytes:
    """The MAC of a frame, computed from what the documents say."""
    covered = data if data[1] in (0xC0, 0xC1, 0xD8, 0xD9) else data[:3] + data[4:]
    return blake2b(covered, digest_size=16, key=key).digest()


def sealed(data: bytes) -> bytes:
    """A frame with a MAC that is right."""
    return data + mac_of(data)


def name_of(frame: CastFrame) -> str:
    return type(frame.body if isinstance(frame, Packet) else frame).__name__


@pytest.mark.parametrize(
    ("frame", "written"), [pytest.param(*each, id=name_of(each[0])) for each in GOLDEN]
)
def test_the_bytes_of_a_frame(frame: CastFrame, written: bytes) -> None:
    assert CODEC.encode(frame).hex(" ") == sealed(written).hex(" ")
    assert CODEC.decode(sealed(written)) == frame
    assert CODEC.size_of(frame) == len(written) + 16


def test_the_header_has_68_bytes() -> None:
    assert len(bytes.fromhex(f"01 ce {HEADER_HEX}")) == 68


def test_the_bytes_of_a_symbol() -> None:
    header = bytes.fromhex(f"01 ce {HEADER_HEX}")
    tag = bytes(range(16))
    assert write_symbol(HEADER, b"symbol", tag) == header + b"symbol" + tag
    plain = msgspec.structs.replace(HEADER, flags=Flag.PLAIN)
    assert write_symbol(plain, b"", b"crc.")[2:4] == b"\x10\x09"


def test_the_bytes_of_a_simulated_train() -> None:
    numbers = (0x91929394, 0x91929396)
    packet = Packet(header=HEADER, body=Symbols(numbers=numbers), origin=None)
    one = f"01 ce {HEADER_HEX}"
    assert SIMULATED.encode(packet) == bytes.fromhex(one + one.replace("91929394", "91929396"))


def test_macs_are_those_of_other_implementations() -> None:
    hello = Hello(origin=ORIGIN, domain=DOMAIN)
    assert CODEC.encode(hello)[-16:].hex() == "334d90ca628c87ec9ae34f30f30ffaba"
    packet = Packet(header=HEADER, body=FirstRequest(child=1), origin=ORIGIN)
    assert CODEC.encode(packet)[-16:].hex() == "a2c9144b98b168ca5787b504b70685d3"
    unkeyed = CastCodec(Blake2Sealer(b""))
    assert unkeyed.encode(packet)[-16:].hex() == "668c6c4f2905ca411b7684a73ec4cb95"


def test_a_router_lowers_the_ttl_without_the_key() -> None:
    packet = Packet(header=HEADER, body=CONTROL_ACK, origin=ORIGIN)
    written = bytearray(CODEC.encode(packet))
    written[3] -= 1
    lowered = msgspec.structs.replace(packet, header=msgspec.structs.replace(HEADER, ttl=8))
    assert CODEC.decode(bytes(written)) == lowered
    assert CODEC.encode(lowered) == bytes(written)


@pytest.mark.parametrize("key", [b"", b"another key"])
def test_a_frame_under_another_key_is_refused(key: bytes) -> None:
    other = CastCodec(Blake2Sealer(key))
    for frame, written in GOLDEN:
        with pytest.raises(PeerError, match="the MAC is wrong"):
            other.decode(sealed(written))
        with pytest.raises(PeerError, match="the MAC is wrong"):
            CODEC.decode(other.encode(frame))
