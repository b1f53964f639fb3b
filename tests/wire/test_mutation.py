"""Damaged frames: each is refused with a `PeerError` or is some frame's only spelling.

A seeded loop flips, cuts, inserts, splices and attacks length fields of genuine
frames of every kind.
"""

import random
import tracemalloc
from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.kernel.errors import PeerError
from penstock.kernel.seeds import Seeds
from penstock.wire import FRAMES, Frame, decode, encode
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.sub import Sub
from tests.wire.codec.test_data import FRAME
from tests.wire.codec.test_overlay import GOLDEN, packet
from tests.wire.codec.test_transport import GOLDEN as GOLDEN_TRANSPORT
from tests.wire.codec.test_transport import REPAIR, TRACK
from tests.wire.test_round_trip import unremembered

RICH = Message(
    {
        "symbol": "IBM",
        "price": 101.5,
        "size": 70_000,
        "open": True,
        "a name of more than thirty-two bytes": "é" * 20,
        "low": -(2**63),
        "high": 2**63 - 1,
    },
    b"payload",
)
PREDICATE = Predicate(
    [
        Filter([Constraint("symbol", Op.IN, ("IBM", "AMD", 7)), Constraint("price", Op.LT, 0.5)]),
        Filter([Constraint("a", Op.ABSENT), Constraint("b", Op.CONTAINS, "é")]),
    ]
)
RICH_DATA: Data = msgspec.structs.replace(FRAME, message=RICH)
FRAMES_HERE: list[Frame] = [
    FRAME,
    RICH_DATA,
    Notify(carried=CarriedFrame(RICH_DATA)),
    packet(*range(20, 60, 3)),
    Sub(subscription=9, traffic=TrafficClass.REQUEST, predicate=PREDICATE),
    Notify(carried=CarriedFrame(REPAIR)),
    msgspec.structs.replace(TRACK, predicate=PREDICATE),
    *(frame for frame, _ in GOLDEN),
    *(frame for frame, _ in GOLDEN_TRANSPORT),
]
CORPUS = [encode(frame) for frame in FRAMES_HERE]
LENGTHS = [b"\0", b"\x7f", b"\x80", b"\xff", b"\0\0", b"\x7f\xff", b"\xff\xff", b"\xff\xff\xff\xff"]


def flip(data: bytearray, rng: random.Random) -> None:
    """A few bits turn over."""
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def cut(data: bytearray, rng: random.Random) -> None:
    """Some bytes are lost, at the end or within."""
    start = rng.randrange(len(data))
    del data[start : start + rng.randint(1, 8) if rng.random() < 0.5 else None]


def insert(data: bytearray, rng: random.Random) -> None:
    """Some bytes come in."""
    at = rng.randint(0, len(data))
    data[at:at] = rng.randbytes(rng.randint(1, 8))


def splice(data: bytearray, rng: random.Random) -> None:
    """The rest is another frame's."""
    other = rng.choice(CORPUS)
    data[rng.randrange(len(data)) :] = other[rng.randrange(len(other)) :]


def lengthen(data: bytearray, rng: random.Random) -> None:
    """What may be a length becomes an extreme one."""
    at = rng.randrange(len(data))
    length = rng.choice(LENGTHS)
    data[at : at + len(length)] = length


MUTATIONS: list[Callable[[bytearray, random.Random], None]] = [flip, cut, insert, splice, lengthen]


def attack(rounds: int, seed: int) -> Counter[str]:
    """How many damaged frames were refused, and how many were frames after all."""
    rng = Seeds(seed).rng("wire", "mutation")
    outcomes: Counter[str] = Counter()
    for _ in range(rounds):
        data = bytearray(rng.choice(CORPUS))
        prefix = bytes(data[:2])
        for _ in range(rng.choice((1, 1, 2, 3))):
            if data:
                rng.choice(MUTATIONS)(data, rng)
        if rng.random() < 0.8:
            # Most keep their version and type: what lies behind them is to be tried.
            data[:2] = prefix
        outcomes[outcome(bytes(data))] += 1
    return outcomes


def outcome(data: bytes) -> str:
    """`refused`, or the kind of frame that these bytes are the only spelling of."""
    refusal = ""
    try:
        frame = decode(data)
    except PeerError as error:
        refusal = str(error)
    if refusal:
        assert "\n" not in refusal
        return "refused"
    assert encode(unremembered(frame)) == data
    return type(frame).__name__


def check(outcomes: Counter[str]) -> None:
    """Both ends were reached by frames of every kind."""
    assert outcomes["refused"] > sum(outcomes.values()) / 4
    assert set(outcomes) == {"refused", *(row.frame_class.__name__ for row in FRAMES.rows)}


def test_damaged_frames_are_refused_or_canonical() -> None:
    check(attack(100_000, seed=1))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_damaged_frames_are_refused_or_canonical(seed: int) -> None:
    check(attack(100_000, seed))


def test_noise_is_refused_or_canonical() -> None:
    rng = Seeds(1).rng("wire", "noise")
    for i in range(20_000):
        row = FRAMES.rows[i % len(FRAMES.rows)]
        outcome(bytes((1, row.type_code)) + rng.randbytes(rng.randint(0, 120)))


def test_extreme_lengths_take_no_memory() -> None:
    damaged = [
        data[:at] + length + data[at + len(length) :]
        for data in CORPUS
        for at in range(2, len(data))
        for length in (
            b"\xff",
            b"\xff\xff\xff\xff",
            b"\xdf\xff\xff\xff\xff",
            b"\xdb\xff\xff\xff\xff",
        )
    ]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for data in damaged:
            outcome(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < 1_000_000
