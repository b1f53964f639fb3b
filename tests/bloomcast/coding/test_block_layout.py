"""Blocks of equal size, whatever the length."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bloomcast.coding.block_layout import (
    BLOCK_BYTES_MAX,
    BlockLayout,
    announced_layout,
    block_symbols_max,
    cut_into_blocks,
    manifest_layout,
)
from penstock.bloomcast.coding.symbol_runs import consecutive_runs
from penstock.kernel.errors import PeerError, UsageError

LAYOUTS = st.builds(
    lambda length, words, symbols: cut_into_blocks(
        length, symbol_bytes=8 * words, block_symbols=symbols
    ),
    st.integers(0, 5_000) | st.integers(0, 10**8),
    st.integers(1, 1_024),
    st.none() | st.integers(1, 12),
)


@given(st.integers(0, 3_000), st.integers(1, 3), st.integers(1, 7))
def test_blocks_cover_an_object_and_are_equal_but_for_the_last(
    length: int, words: int, symbols_max: int
) -> None:
    layout = cut_into_blocks(length, symbol_bytes=8 * words, block_symbols=symbols_max)
    blocks = range(layout.blocks)
    sizes = [layout.bytes_of(block) for block in blocks]
    assert sum(sizes) == length
    assert [layout.offset_of(block) for block in blocks] == [sum(sizes[:block]) for block in blocks]
    symbols = [layout.symbols_of(block) for block in blocks]
    assert sum(symbols) == layout.symbols
    assert set(symbols[:-1]) <= {layout.block_symbols}
    assert all(
        0 < count <= symbols_max and count == -(-size // layout.symbol_bytes)
        for count, size in zip(symbols, sizes, strict=True)
    )
    assert layout.blocks == -(-layout.symbols // symbols_max), "no more blocks than needed"


@given(LAYOUTS)
def test_blocks_are_within_the_bounds_of_the_library(layout: BlockLayout) -> None:
    assert layout.block_symbols <= block_symbols_max(layout.symbol_bytes)
    assert layout.block_symbols * layout.symbol_bytes <= BLOCK_BYTES_MAX


@given(LAYOUTS)
def test_what_is_announced_is_what_was_cut(layout: BlockLayout) -> None:
    def announce(*, length_off: int = 0, blocks_off: int = 0) -> BlockLayout:
        return announced_layout(
            layout.length_bytes + length_off,
            symbol_bytes=layout.symbol_bytes,
            blocks=layout.blocks + blocks_off,
            block_symbols=layout.block_symbols,
        )

    assert announce() == layout
    with pytest.raises(PeerError, match="blocks of"):
        announce(blocks_off=1)
    with pytest.raises(PeerError, match="blocks of"):
        announce(length_off=max(1, layout.block_symbols) * layout.symbol_bytes)


@pytest.mark.parametrize("symbol_bytes", [0, 12, 8_200])
def test_only_sizes_that_the_library_takes_are_symbol_sizes(symbol_bytes: int) -> None:
    with pytest.raises(UsageError, match="multiple of 8 up to 8,192"):
        cut_into_blocks(100, symbol_bytes=symbol_bytes)
    with pytest.raises(PeerError, match="announced"):
        announced_layout(100, symbol_bytes=symbol_bytes, blocks=1, block_symbols=10)


def test_blocks_are_numbered_in_24_bits_and_the_last_number_is_the_manifest() -> None:
    most = (2**24 - 1) * 8
    assert cut_into_blocks(most, symbol_bytes=8, block_symbols=1).blocks == 2**24 - 1
    with pytest.raises(UsageError, match="cut them into parts"):
        cut_into_blocks(most + 1, symbol_bytes=8, block_symbols=1)


def test_a_manifest_is_one_block() -> None:
    layout = manifest_layout(100, 16)
    assert (layout.blocks, layout.block_symbols, layout.bytes_of(0)) == (1, 7, 100)


@given(st.lists(st.integers(0, 12), unique=True))
def test_runs_are_the_numbers_in_their_order(numbers: list[int]) -> None:
    runs = list(consecutive_runs(numbers))
    assert [number for start, stop in runs for number in range(start, stop)] == numbers
    assert all(stop != start for (_, stop), (start, _) in pairwise(runs))
