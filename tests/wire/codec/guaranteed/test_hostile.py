"""Damaged frames and noise: each is a `PeerError` or some frame's only spelling."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from typing import Any

import pytest

from penstock.kernel.errors import PeerError
from penstock.kernel.seeds import Seeds
from penstock.wire.codec.codec_table import CodecTable
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from tests.wire.codec.guaranteed.test_golden import GOLDEN, table_of
from tests.wire.test_mutation import cut, flip, insert, lengthen

CORPUS: list[tuple[CodecTable[Any], bytes]] = [
    (table_of(frame), bytes.fromhex(written)) for frame, written in GOLDEN
]
MUTATIONS = [flip, flip, cut, insert, lengthen]


def outcome(table: CodecTable[Any], data: bytes) -> str:
    """`refused`, or the kind of frame that these bytes are the only spelling of."""
    refusal = ""
    try:
        frame = table.decode(data)
    except PeerError as error:
        refusal = str(error)
    if refusal:
        assert "\n" not in refusal
        return "refused"
    assert table.encode(frame) == data
    assert table.size_of(frame) == len(data)
    return type(frame).__name__


def attack(rounds: int, rng: random.Random) -> Counter[str]:
    """How many damaged frames were refused, and how many were frames after all."""
    outcomes: Counter[str] = Counter()
    for i in range(rounds):
        table, intact = CORPUS[i % len(CORPUS)]
        data = bytearray(intact)
        for _ in range(rng.choice((1, 1, 2, 3))):
            if data:
                rng.choice(MUTATIONS)(data, rng)
        if rng.random() < 0.8:
            # Most keep their version and type: what lies behind them is to be tried.
            data[:2] = intact[:2]
        outcomes[outcome(table, bytes(data))] += 1
    return outcomes


def test_damaged_frames_are_refused_or_canonical() -> None:
    outcomes = attack(20_000, Seeds(1).rng("wire", "guaranteed", "mutation"))
    assert outcomes["refused"] > sum(outcomes.values()) / 4
    classes = {type(frame).__name__ for frame, _ in GOLDEN}
    assert set(outcomes) == {"refused", *classes}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_damaged_frames_are_refused_or_canonical(seed: int) -> None:
    assert attack(100_000, Seeds(seed).rng("wire", "guaranteed", "mutation"))["refused"]


def test_noise_is_refused_or_canonical() -> None:
    rng = Seeds(1).rng("wire", "guaranteed", "noise")
    tables: list[CodecTable[Any]] = [BROKER_FRAMES, CLIENT_FRAMES]
    for i in range(6_000):
        table = tables[i % 2]
        row = table.rows[i // 2 % len(table.rows)]
        outcome(table, bytes((1, row.type_code)) + rng.randbytes(rng.randint(0, 120)))


def test_every_flipped_bit_is_refused_or_canonical() -> None:
    for table, intact in CORPUS:
        for bit in range(8 * len(intact)):
            data = bytearray(intact)
            data[bit >> 3] ^= 1 << (bit & 7)
            outcome(table, bytes(data))


def test_extreme_lengths_take_no_memory() -> None:
    damaged = [
        (table, data[:at] + length + data[at + len(length) :])
        for table, data in CORPUS
        for at in range(2, len(data))
        for length in (b"\xff", b"\xff\xff")
    ]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for table, data in damaged:
            outcome(table, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < 1_000_000
