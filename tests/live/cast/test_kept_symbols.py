"""Symbols in memory, and behind a bound in a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.live.cast.kept_symbols import KeptSymbols

BLOCKS = st.integers(0, 2)
# A block and a number; without a number all of the block are discarded, with a negative one those
# are taken whose numbers are below it.
CHANGES = st.lists(st.tuples(BLOCKS, st.none() | st.integers(-5, 5)))


@given(CHANGES, st.integers(0, 4))
def test_it_is_a_dictionary_whose_file_has_no_more_than_it_must(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int | None]], in_memory: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "symbols"
    kept = KeptSymbols(str(path), symbol_bytes=8, memory_bytes_max=8 * in_memory + 7)
    naive: dict[int, dict[int, bytes]] = {0: {}, 1: {}, 2: {}}
    most = 0
    for index, (block, number) in enumerate(changes):
        if number is None:
            kept.discard(block)
            naive[block].clear()
        elif number < 0:
            below = [each for each in naive[block] if each < -number]
            taken = {each: naive[block].pop(each) for each in below}
            assert kept.take(block, -number) == taken
        else:
            payload = index.to_bytes(8, "big")
            assert kept.add(block, number, payload) == (number not in naive[block])
            naive[block].setdefault(number, payload)
        assert kept.count(block) == len(naive[block])
        most = max(most, sum(map(len, naive.values())))
    assert {block: kept.of_block(block) for block in naive} == naive
    assert not path.exists() or 0 < path.stat().st_size <= 8 * most
    assert path.exists() == (most > in_memory)
    kept.close()
    assert not path.exists()
