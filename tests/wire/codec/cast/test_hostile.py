"""Damaged frames and noise: each is a `PeerError` or some frame's only spelling."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter

import pytest

from penstock.kernel.errors import PeerError, VersionError
from penstock.kernel.seeds import Seeds
from penstock.wire.codec.cast.symbols import DATA_BYTES_MAX, read_symbol, write_symbol
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols
from tests.wire.codec.cast.test_golden import (
    BODY_GOLDEN,
    CODEC,
    GOLDEN,
    HEADER,
    HEADER_HEX,
    ORIGIN_HEX,
    SIMULATED,
    mac_of,
    name_of,
    sealed,
)
from tests.wire.test_mutation import cut, flip, insert, lengthen

CORPUS = [written for _, written in GOLDEN]
TRAIN = SIMULATED.encode(
    Packet(
        header=HEADER,
        body=Symbols(numbers=tuple(range(HEADER.symbol, HEADER.symbol + 5))),
        origin=None,
    )
)
MUTATIONS = [flip, flip, cut, insert, lengthen]
TTL = 3


def outcome(data: bytes) -> str:
    """`refused`, or the kind of frame that these bytes are the only spelling of."""
    refusal = ""
    try:
        frame: CastFrame = SIMULATED.decode(data)
    except PeerError as error:
        refusal = str(error)
    if refusal:
        assert "\n" not in refusal
        return "refused"
    assert SIMULATED.encode(frame) == data
    assert SIMULATED.size_of(frame) == len(data)
    return name_of(frame)


def attack(rounds: int, rng: random.Random) -> Counter[str]:
    """How many damaged frames with the right MAC were refused, and how many were frames."""
    outcomes: Counter[str] = Counter()
    corpus = [*CORPUS, TRAIN]
    for i in range(rounds):
        intact = corpus[i % len(corpus)]
        data = bytearray(intact)
        for _ in range(rng.choice((1, 1, 2, 3))):
            if data:
                rng.choice(MUTATIONS)(data, rng)
        if rng.random() < 0.8:
            # Most keep their version and type: what lies behind them is to be tried.
            data[:2] = intact[:2]
        is_train = intact is TRAIN or len(data) < 2
        outcomes[outcome(bytes(data) if is_train else sealed(bytes(data)))] += 1
    return outcomes


def test_damaged_frames_are_refused_or_canonical() -> None:
    outcomes = attack(9_000, Seeds(1).rng("wire", "cast", "mutation"))
    assert outcomes["refused"] > sum(outcomes.values()) / 4
    assert set(outcomes) == {"refused", "Symbols", *(name_of(frame) for frame, _ in GOLDEN)}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_damaged_frames_are_refused_or_canonical(seed: int) -> None:
    assert attack(100_000, Seeds(seed).rng("wire", "cast", "mutation"))["refused"]


def test_noise_under_a_right_mac_is_refused_or_canonical() -> None:
    rng = Seeds(1).rng("wire", "cast", "noise")
    for i in range(4_000):
        noise = rng.randbytes(rng.randint(0, 180))
        outcome(sealed(bytes((1, 0xC0 + i % 32)) + noise))


def test_noise_is_refused() -> None:
    rng = Seeds(1).rng("wire", "cast", "more noise")
    for i in range(2_000):
        noise = rng.randbytes(rng.randint(0, 180))
        with pytest.raises(PeerError):
            CODEC.decode(noise if i % 2 else bytes((1, 0xC0 + i % 32)) + noise)


@pytest.mark.parametrize("frame", [pytest.param(f, id=name_of(f)) for f, _ in GOLDEN])
def test_frames_that_are_cut_are_refused(frame: CastFrame) -> None:
    written = CODEC.encode(frame)
    for size_bytes in range(len(written)):
        with pytest.raises(PeerError):
            CODEC.decode(written[:size_bytes])
    for size_bytes in range(2, len(written) - 16):
        with pytest.raises(PeerError, match=r"^[A-Z_]+: "):
            CODEC.decode(sealed(written[:size_bytes]))
    with pytest.raises(PeerError):
        CODEC.decode(written + b"\0")
    with pytest.raises(PeerError, match=r"bytes left: 1$|are more than"):
        CODEC.decode(sealed(written[:-16] + b"\0"))


@pytest.mark.parametrize("frame", [pytest.param(f, id=name_of(f)) for f, _ in GOLDEN])
def test_every_flipped_bit_but_those_of_the_ttl_is_seen(frame: CastFrame) -> None:
    written = CODEC.encode(frame)
    for bit in range(8 * len(written)):
        if isinstance(frame, Packet) and bit >> 3 == TTL:
            continue
        data = bytearray(written)
        data[bit >> 3] ^= 1 << (bit & 7)
        with pytest.raises(PeerError):
            CODEC.decode(bytes(data))


def test_every_flipped_bit_under_a_right_mac_is_refused_or_canonical() -> None:
    for intact in CORPUS:
        for bit in range(8 * len(intact)):
            data = bytearray(intact)
            data[bit >> 3] ^= 1 << (bit & 7)
            outcome(sealed(bytes(data)))


def packet_of(code: str, body: str, header: str = HEADER_HEX) -> bytes:
    """A packet under a right MAC, from hexadecimal digits."""
    return sealed(bytes.fromhex(f"01 {code} {header} {body} {ORIGIN_HEX}"))


INNER_UP = "00000001 c3 00000001 c5 01020304 05060708"
REPORT_START = "00000001 00 01 0000 0000 00000001"
MALFORMED = {
    "tag 8": (packet_of("d3", "00000001", HEADER_HEX.replace("05 09 03", "05 09 08")), "choice"),
    "flag 128": (packet_of("d3", "00000001", HEADER_HEX.replace("05 09", "80 09")), "flags 0x80"),
    "up in up": (packet_of("c3", INNER_UP), "UP: frames of type 0xc3 are not carried"),
    "data in down": (packet_of("c4", "00000001 ce"), "DOWN: frames of type 0xce"),
    "hello in up": (packet_of("c3", "00000001 c0"), "UP: frames of type 0xc0"),
    "no type in up": (packet_of("c3", "00000001"), "UP: frames of type 0xa1"),
    "cut in up": (packet_of("c3", "00000001 d6 00"), "UP: the frame ends in the middle of a field"),
    "wrong in up": (packet_of("c3", "00000001 d6 07 00000001"), "UP: QUERY: 7 names no QueryKind"),
    "role 8": (packet_of("c2", "00000001 00 08 00000001 00 01 00"), "flags 0x08"),
    "page 1 of 1": (packet_of("c2", "00000001 00 01 00000001 01 01 00"), "page 1 of 1"),
    "49 ports": (
        packet_of("c2", "00000001 00 01 00000001 00 01 31" + "00" * 49 * 25),
        "most 48 ports",
    ),
    "no utf-8": (packet_of("c7", "00000001 01 ff 00"), "not UTF-8"),
    "object id 2": (packet_of("c7", "00000001 01 61 02" + "00" * 16), "must be 0 or 1"),
    "more done than all": (packet_of("d0", REPORT_START + "00000000 00 00 00"), "cannot be done"),
    "need of nothing": (
        packet_of("d0", REPORT_START + "00000001 00 01 00 000001 0000"),
        "needs 1 to",
    ),
    "needs and ranges": (
        packet_of("d0", REPORT_START + "00000001 00 01 01 000001 0001 000001 01 0000 0001"),
        "not both",
    ),
    "empty range": (
        packet_of("d0", REPORT_START + "00000001 00 00 01 000001 01 0005 0000"),
        "ranges ascend",
    ),
    "range beyond 16 bits": (
        packet_of("d0", REPORT_START + "00000001 00 00 01 000001 01 ffff 0001"),
        "ranges ascend",
    ),
    "block without ranges": (
        packet_of("d0", REPORT_START + "00000001 00 00 01 000001 00"),
        "has 1 to 32 ranges",
    ),
    "state 7": (packet_of("d4", "00000001 00 000001 00000001 07 0000"), "ReceiverState"),
    "17 rows": (packet_of("d7", "00000001 00 01 11" + "0000" * 17), "at most 16 rows"),
    "probe of another size": (
        sealed(bytes.fromhex("01 d8 00 0024 0000 0000" + ORIGIN_HEX)),
        "bytes left",
    ),
    "probe that is no padding": (
        sealed(bytes.fromhex("01 d8 00 0025 0000 0001" + ORIGIN_HEX)),
        "padding",
    ),
    "probe of nothing": (sealed(bytes.fromhex("01 d8 00 0020" + ORIGIN_HEX)), "less than a probe"),
    "flags between neighbours": (
        sealed(bytes.fromhex("01 c0 01 1112131415161718 01020304 01 00" + ORIGIN_HEX)),
        "HELLO: flags 0x01",
    ),
    "unknown": (packet_of("df", ""), "0xdf are not known"),
}


@pytest.mark.parametrize(
    ("data", "refusal"), [pytest.param(*each, id=name) for name, each in MALFORMED.items()]
)
def test_what_cannot_be_built_is_not_accepted(data: bytes, refusal: str) -> None:
    with pytest.raises(PeerError, match=refusal):
        CODEC.decode(data)


def test_another_version_is_another_error() -> None:
    with pytest.raises(VersionError):
        CODEC.decode(b"\2" + CORPUS[0][1:])
    with pytest.raises(VersionError):
        read_symbol(b"\2" + TRAIN[1:])


def test_trains_that_are_none_are_refused() -> None:
    # Symbols ascend, and the rest of the headers is one.
    swapped = TRAIN[68:136] + TRAIN[:68]
    other_stamp = TRAIN[:-1] + bytes([TRAIN[-1] ^ 1])
    for data in (swapped, TRAIN[:68] * 2, other_stamp, TRAIN[:-1], TRAIN[:68] * 47, TRAIN[:60]):
        with pytest.raises(PeerError, match="DATA"):
            SIMULATED.decode(data)


def test_symbols_that_are_damaged_are_refused_or_canonical() -> None:
    rng = Seeds(1).rng("wire", "cast", "symbols")
    intact = write_symbol(HEADER, b"payload", bytes(16))
    accepted = 0
    for _ in range(2_000):
        data = bytearray(intact)
        rng.choice(MUTATIONS)(data, rng)
        try:
            header, payload, tag = read_symbol(memoryview(bytes(data)))
        except PeerError:
            continue
        assert write_symbol(header, payload, bytes(tag)) == bytes(data)
        accepted += 1
    assert accepted > 500
    for wrong in (b"", b"\1", intact[:83], intact + bytes(DATA_BYTES_MAX)):
        with pytest.raises(PeerError):
            read_symbol(wrong)
    with pytest.raises(PeerError, match="is no DATA"):
        read_symbol(CORPUS[-1])


def test_extreme_lengths_take_no_memory() -> None:
    damaged = [
        data[:at] + length + data[at + len(length) :]
        for data in CORPUS[-len(BODY_GOLDEN) :]
        for at in range(68, len(data))
        for length in (b"\xff", b"\xff\xff")
    ]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for data in damaged:
            outcome(data + mac_of(data))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < 1_000_000
