"""The overlay's frames, byte by byte, and what is wrong with their neighbours."""

import pytest

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire import Frame, decode, encode, size_of
from penstock.wire.codec.packet import size_destinations
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.lsa import Lsa, Neighbour
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.summary import Database, Summary, SummaryRow
from penstock.wire.frames.unsub import Unsub

DATA = Data(
    pub=1,
    epoch=2,
    seq=3,
    send_ts_us=4,
    since_previous_100us=5,
    send_rate_mps=6.0,
    max_round_trip_code=7,
    feedback_round=8,
    message=Message({"a": 1}),
)
INNER = encode(DATA)
IDENTITY = PacketId(0x01020304, 0x0506, 0x0708090A)


def packet(*destinations: int) -> Packet:
    """A packet to these brokers."""
    return Packet(
        id=IDENTITY,
        traffic=TrafficClass.REQUEST,
        destinations=destinations,
        carried=CarriedFrame(DATA),
        ttl=9,
    )


PACKET_HEAD = "0144 01 09 01020304 0506 0708090a"

GOLDEN: list[tuple[Frame, str]] = [
    (
        Hello(broker=0x01020304, epoch=0x0506, network=0x0708090A, heard=True),
        "0140 01020304 0506 0708090a 01",
    ),
    (
        Lsa(origin=1, seq=2, neighbours=(Neighbour(3, 4), Neighbour(5, 6))),
        "0141 00000001 00000002 02 00000003 0004 00000005 0006",
    ),
    (
        Adv(
            origin=1,
            seq=2,
            traffic=TrafficClass.REQUEST,
            full=False,
            bloom_bytes=2,
            added=(0x0102, 0x0304),
            removed=(0x0506,),
        ),
        "0142 00000001 00000002 01 00 0000 0001 02 02 01 0102 0304 0506",
    ),
    (
        Adv(
            origin=1,
            seq=2,
            traffic=TrafficClass.DATA,
            full=True,
            bloom_bytes=32,
            part=3,
            parts=4,
        ),
        "0142 00000001 00000002 00 01 0003 0004 20 00 00",
    ),
    (
        Summary(database=Database.DATA_ADVERTS, first=1, last=9, rows=(SummaryRow(4, 5),)),
        "0143 01 00000001 00000009 01 00000004 00000005",
    ),
    (packet(7), PACKET_HEAD + "01 00000007" + INNER.hex()),
    (
        packet(7).with_congestion_mark(),
        PACKET_HEAD.replace(" 09 ", " 89 ") + "01 00000007" + INNER.hex(),
    ),
    (packet(3, 70_000), PACKET_HEAD + "02 00000003 00011170" + INNER.hex()),
    # Brokers 9, 10 and 17: base 8, bits 1, 2 and 9.
    (packet(9, 10, 17), PACKET_HEAD + "82 00000008 0206" + INNER.hex()),
    (
        Sub(
            subscription=5,
            traffic=TrafficClass.DATA,
            predicate=Predicate([Filter([Constraint("a", Op.EQ, 1)])]),
        ),
        "0150 00000005 00 01 01 02 01 61 11 01",
    ),
    (Unsub(subscription=5), "0151 00000005"),
    (Pub(traffic=TrafficClass.DATA, carried=CarriedFrame(DATA)), "0152 00" + INNER.hex()),
    (Notify(carried=CarriedFrame(DATA)), "0153" + INNER.hex()),
]


HELLO = "0140 01020304 0506 0708090a"
ADV = "0142 00000001 00000002"
MALFORMED = {
    "nothing": "",
    "half a prefix": "01",
    "version 0": "0040",
    "version 2": "0240",
    "type 0": "0100",
    "a type that is not known": "013f",
    "hello: heard is 2": HELLO + "02",
    "lsa: neighbours out of order": "0141 00000001 00000002 02 00000005 0004 00000003 0006",
    "lsa: a neighbour twice": "0141 00000001 00000002 02 00000003 0004 00000003 0006",
    "lsa: 255 neighbours, none there": "0141 00000001 00000002 ff",
    "lsa: 201 neighbours": "0141 00000001 00000002 c9"
    + "".join(f"{broker:08x} 0001" for broker in range(201)),
    "adv: class 2": ADV + "02 00 0000 0001 02 00 00",
    "adv: full is 2": ADV + "00 02 0000 0001 02 00 00",
    "adv: part 1 of 1": ADV + "00 01 0001 0001 02 00 00",
    "adv: part 0 of 0": ADV + "00 01 0000 0000 02 00 00",
    "adv: a delta in two parts": ADV + "00 00 0000 0002 02 00 00",
    "adv: a full one that removes": ADV + "00 01 0000 0001 02 00 01 0506",
    "adv: filters of no bytes": ADV + "00 01 0000 0001 00 00 00",
    "adv: filters out of order": ADV + "00 01 0000 0001 02 02 00 0304 0102",
    "adv: a filter twice": ADV + "00 01 0000 0001 02 02 00 0102 0102",
    "adv: 255 filters, none there": ADV + "00 00 0000 0001 ff ff ff",
    "summary: database 3": "0143 03 00000001 00000009 00",
    "summary: a range backwards": "0143 01 00000009 00000001 00",
    "summary: a row before its range": "0143 01 00000005 00000009 01 00000004 00000005",
    "summary: a row after its range": "0143 01 00000001 00000003 01 00000004 00000005",
    "packet: class 2": "0144 02 09 01020304 0506 0708090a 01 00000007" + INNER.hex(),
    "packet: no destinations": PACKET_HEAD + "00" + INNER.hex(),
    "packet: destinations out of order": PACKET_HEAD + "02 00011170 00000003" + INNER.hex(),
    "packet: a destination twice": PACKET_HEAD + "02 00000003 00000003" + INNER.hex(),
    "packet: a list where a bitmap is shorter": PACKET_HEAD
    + "03 00000009 0000000a 00000011"
    + INNER.hex(),
    "packet: a bitmap where a list is shorter": PACKET_HEAD + "81 00000008 02" + INNER.hex(),
    "packet: a bitmap where a list is as short": PACKET_HEAD + "84 00000000 01000001" + INNER.hex(),
    "packet: a bitmap of no bytes": PACKET_HEAD + "80 00000008" + INNER.hex(),
    "packet: a bitmap with a zero byte first": PACKET_HEAD + "82 00000008 00ff" + INNER.hex(),
    "packet: a bitmap with a zero byte last": PACKET_HEAD + "82 00000008 ff00" + INNER.hex(),
    "packet: a bitmap off its grid": PACKET_HEAD + "82 00000009 0206" + INNER.hex(),
    "packet: a bitmap beyond the last broker": PACKET_HEAD + "82 fffffff8 0206" + INNER.hex(),
    "packet: nothing carried": PACKET_HEAD + "01 00000007",
    "packet: a packet carried": PACKET_HEAD + "01 00000007" + encode(packet(7)).hex(),
    "packet: a hello carried": PACKET_HEAD + "01 00000007" + HELLO + "01",
    "packet: a broken frame carried": PACKET_HEAD + "01 00000007" + INNER[:-1].hex(),
    "packet: another version carried": PACKET_HEAD + "01 00000007" + "02" + INNER[1:].hex(),
    "sub: class 2": "0150 00000005 02 00",
    "sub: bytes after the predicate": "0150 00000005 00 00 00",
    "pub: class 2": "0152 02" + INNER.hex(),
    "notify: a notify carried": "0153 0153" + INNER.hex(),
    "notify: more than a datagram": "0153" + "00" * 1443,
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in MALFORMED.items()])
def test_malformed_frames_are_refused(data: str) -> None:
    with pytest.raises(PeerError, match=r"^[^\n]+$"):
        decode(bytes.fromhex(data))


def test_an_error_names_the_frame_and_the_one_it_carries() -> None:
    with pytest.raises(PeerError, match=r"^PACKET: DATA: the frame ends in its attributes$"):
        decode(bytes.fromhex(PACKET_HEAD + "01 00000007" + INNER[:-1].hex()))


def test_a_parcel_is_written_once() -> None:
    parcel = CarriedFrame(DATA)
    notices = [Notify(carried=parcel), Pub(traffic=TrafficClass.DATA, carried=parcel)]
    assert [size_of(notice) for notice in notices] == [len(INNER) + 2, len(INNER) + 3]
    assert (parcel.size_bytes, parcel.encoded) == (len(INNER), None)
    encode(notices[0])
    assert (parcel.size_bytes, parcel.encoded) == (len(INNER), INNER)
    assert encode(notices[1]).endswith(INNER)


def test_a_relay_writes_back_the_bytes_it_read() -> None:
    again = decode(encode(packet(7)))
    assert isinstance(again, Packet)
    assert again.carried.encoded == INNER
    assert again.carried == CarriedFrame(DATA)
    assert hash(again.carried) == hash(CarriedFrame(DATA))


@pytest.mark.parametrize(
    ("destinations", "size_bytes"),
    [
        ((1,), 4),
        ((1, 2), 5),
        ((1, 2**32 - 1), 8),
        (tuple(range(46)), 4 + 6),
        (tuple(range(8, 1024)), 4 + 127),
        (tuple(range(0, 40 * 127, 40)), 4 * 127),
    ],
)
def test_destinations_take_the_shorter_form(destinations: tuple[int, ...], size_bytes: int) -> None:
    assert size_destinations(destinations) == size_bytes
    frame = packet(*destinations)
    assert decode(encode(frame)) == frame


def test_too_many_scattered_destinations_are_refused() -> None:
    with pytest.raises(UsageError, match="split them"):
        encode(packet(*range(0, 40 * 128, 40)))


def test_a_predicate_that_fits_no_datagram_is_refused() -> None:
    wide = Predicate([Filter([Constraint("a", Op.EQ, f"{i:0500}")]) for i in range(3)])
    frame = Sub(subscription=1, traffic=TrafficClass.DATA, predicate=wide)
    for ask in (encode, size_of):
        with pytest.raises(UsageError, match="at most 1444 fit"):
            ask(frame)
