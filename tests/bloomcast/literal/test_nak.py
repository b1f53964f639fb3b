"""NAKs: packet numbers in, packet numbers out."""

from __future__ import annotations

from random import Random

import pytest

from penstock.bloomcast.literal.nak import (
    NUMBERS_MAX,
    block_and_symbol,
    nak_bytes,
    naks,
    numbers_in,
    packet_number,
)
from penstock.wire.frames.cast.base import MANIFEST_BLOCK


@pytest.mark.parametrize("seed", range(30))
def test_naks_hold_all_numbers_in_as_few_as_fit(seed: int) -> None:
    rng = Random(seed)
    wanted = {
        packet_number(rng.choice([0, 1, 7, MANIFEST_BLOCK]), rng.randrange(1 << rng.randint(2, 16)))
        for _ in range(rng.randrange(900))
    }
    found = naks(5, wanted)
    assert [number for nak in found for number in numbers_in(nak)] == sorted(wanted)
    assert all(nak.child == 5 for nak in found)
    assert all(len(list(numbers_in(nak))) <= NUMBERS_MAX for nak in found)
    assert len(found) <= 1 + len(wanted) // 200


def test_a_nak_counts_as_its_numbers() -> None:
    [nak] = naks(5, [packet_number(0, 3)])
    assert nak_bytes(nak) == 64
    [nak] = naks(5, [packet_number(2, symbol) for symbol in range(10)])
    assert len(nak.ranges[0].ranges) == 1
    assert nak_bytes(nak) == 100


def test_a_packet_number_is_a_block_and_a_symbol() -> None:
    assert block_and_symbol(packet_number(MANIFEST_BLOCK, 65_535)) == (MANIFEST_BLOCK, 65_535)
