"""The real library, and the law that stands for it in simulations."""

from __future__ import annotations

from random import Random

import pytest
from raptorq import Encoder

from penstock.bloomcast.coding.block_layout import BLOCK_BYTES_MAX, block_symbols_max
from penstock.bloomcast.coding.counting import CountedBlock
from penstock.bloomcast.coding.raptor import RaptorDecoder, RaptorEncoder

SYMBOL_BYTES = 8


class Block:
    """A coded block, and all symbols of it that may arrive."""

    def __init__(self, block_symbols: int, *, repairs: int = 0, symbol_bytes: int = 8) -> None:
        self.block_symbols = block_symbols
        self.data = Random(block_symbols).randbytes(block_symbols * symbol_bytes)
        self.encoder = RaptorEncoder(self.data, symbol_bytes=symbol_bytes)
        self.decoder = RaptorDecoder(block_symbols, symbol_bytes=symbol_bytes)
        self.symbols = {
            number: self.data[number * symbol_bytes : (number + 1) * symbol_bytes]
            for number in range(block_symbols)
        }
        repair = self.encoder.symbols(block_symbols, block_symbols + repairs)
        self.symbols.update(enumerate(repair, block_symbols))

    def decoded(self, *numbers: int) -> bytes | None:
        return self.decoder.decode({number: self.symbols[number] for number in numbers})


@pytest.mark.parametrize("block_symbols", [20, 100])
def test_the_library_obeys_the_law(block_symbols: int) -> None:
    random = Random(7)
    block = Block(block_symbols, repairs=4 * block_symbols)
    numbers = list(block.symbols)
    failed = [0, 0, 0]
    for _ in range(1_000):
        chosen = random.sample(numbers, block_symbols + 2)
        for excess in range(3):
            data = block.decoded(*chosen[: block_symbols + excess])
            if data is not None:
                assert data == block.data
                break
            failed[excess] += 1
    # Four are expected; with three times the law's probability, twelve.
    assert failed[0] <= 11
    assert failed[1] <= 1
    assert failed[2] == 0


def test_the_law_fails_once_in_256_and_never_gets_worse() -> None:
    random = Random(7)
    needed = []
    for _ in range(100_000):
        block = CountedBlock(20, random)
        needed.append(next(n for n in range(10) if block.is_decodable(source=10, repair=10 + n)))
        assert block.is_decodable(source=20, repair=0)
        assert not block.is_decodable(source=10, repair=9)
    more = [sum(each > excess for each in needed) for excess in range(3)]
    assert 300 < more[0] < 490
    assert more[1] <= 8
    assert more[2] <= 1


@pytest.mark.parametrize("block_symbols", [1, 2, 10, 57])
def test_a_block_is_decoded_from_repair_symbols_alone(block_symbols: int) -> None:
    block = Block(block_symbols, repairs=block_symbols + 4)
    repair = range(block_symbols, 2 * block_symbols + 4)
    assert block.decoded(*repair) == block.data
    assert block.decoded(*repair[: block_symbols - 1]) is None


@pytest.mark.parametrize("symbol_bytes", [1_024, 1_280, 8_192])
def test_source_symbols_of_the_largest_blocks_are_the_bytes_of_the_file(symbol_bytes: int) -> None:
    block_symbols = block_symbols_max(symbol_bytes)
    assert 0 <= BLOCK_BYTES_MAX - block_symbols * symbol_bytes < symbol_bytes
    data = Random(7).randbytes(block_symbols * symbol_bytes)
    packets = Encoder.with_defaults(data, symbol_bytes).get_encoded_packets(1)
    # One source block, number 0; repair symbols are numbered from K on.
    assert [packet[:4] for packet in packets] == [n.to_bytes(4, "big") for n in range(len(packets))]
    assert b"".join(packet[4:] for packet in packets[:block_symbols]) == data
    assert len(packets) == block_symbols + 1


def test_repair_symbols_do_not_depend_on_how_many_are_taken_at_once() -> None:
    one, other = Block(50), Block(50)
    all_at_once = one.encoder.symbols(50, 50 + 1_000)
    assert len(set(all_at_once)) == 1_000
    in_pieces = []
    for start, stop in [(50, 51), (51, 60), (60, 200), (200, 1_050)]:
        in_pieces += other.encoder.symbols(start, stop)
    assert in_pieces == all_at_once
    assert other.encoder.symbols(60, 62) == all_at_once[10:12]


def test_zeros_pad_the_last_symbol() -> None:
    short = RaptorEncoder(b"abc", symbol_bytes=SYMBOL_BYTES)
    padded = RaptorEncoder(b"abc\0\0\0\0\0", symbol_bytes=SYMBOL_BYTES)
    assert short.symbols(1, 9) == padded.symbols(1, 9)
    decoder = RaptorDecoder(1, symbol_bytes=SYMBOL_BYTES)
    assert decoder.decode({3: short.symbols(3, 4)[0]}) == b"abc\0\0\0\0\0"
