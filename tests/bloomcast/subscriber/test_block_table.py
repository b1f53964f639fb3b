"""What a subscriber has of each block, and what it says of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bloomcast.coding.block_layout import BlockLayout
from penstock.bloomcast.facts import Verdict
from penstock.bloomcast.segment.missing import Missing, exact_max
from penstock.bloomcast.subscriber.block_state import BlockState
from penstock.bloomcast.subscriber.block_table import BlockTable
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.wire.frames.cast.transfer import RepairChoice

SYMBOLS = 400
SHAPE = ObjectShape(BlockLayout(2 * SYMBOLS * 8, 8, SYMBOLS), BlockLayout(0, 8, 0))


@given(st.sets(st.integers(0, 99)), st.integers(0, 60))
def test_missing_symbols_are_found_as_runs(there: set[int], runs_max: int) -> None:
    state = BlockState(100)
    state.add(sorted(there))
    runs = list(state.missing(1_000))
    assert {n for start, stop in runs for n in range(start, stop)} == set(range(100)) - there
    assert list(state.missing(runs_max)) == runs[:runs_max]


@given(
    st.sets(st.integers(0, SYMBOLS - 1), max_size=50),
    st.integers(0, 5),
    st.sampled_from(RepairChoice),
)
def test_as_many_symbols_are_listed_as_are_needed_or_none(
    lost: set[int], repairs: int, choice: RepairChoice
) -> None:
    table = BlockTable(SHAPE)
    table.hold([1])
    numbers = [number for number in range(SYMBOLS + repairs) if number not in lost]
    table.add(0, tuple(numbers))
    need = max(0, len(lost) - repairs)
    said = table.missing(choice)
    assert said.exact == {}
    assert len(said.counted) + len(said.listed) == (need > 0)
    assert table.counted() == (Missing({0: need}) if need else Missing())
    if 0 in said.listed:
        listed = [n for start, stop in said.listed[0].ranges for n in range(start, stop)]
        assert len(listed) == said.listed[0].need == need <= exact_max(SYMBOLS, choice)
        assert set(listed) <= lost
    elif need:
        assert said.counted == {0: need}
        runs = sum(number - 1 not in lost for number in lost)
        assert need > exact_max(SYMBOLS, choice) or runs > 32


def test_a_whole_block_is_one_range_for_a_publisher_that_repairs_exactly() -> None:
    table = BlockTable(SHAPE)
    assert table.missing(RepairChoice.AUTO).counted == {0: SYMBOLS, 1: SYMBOLS}
    listed = table.missing(RepairChoice.EXACT).listed
    assert {block: list(each.ranges) for block, each in listed.items()} == {
        0: [(0, SYMBOLS)],
        1: [(0, SYMBOLS)],
    }


@pytest.mark.parametrize("choice", RepairChoice)
def test_a_poisoned_block_wants_its_own_symbols(choice: RepairChoice) -> None:
    table = BlockTable(SHAPE)
    table.hold([1])
    table.add(0, (*range(10, SYMBOLS), *range(SYMBOLS, SYMBOLS + 10)))
    assert table.begin_decoding(0)
    assert table.decoded(0, Verdict.POISONED)
    # What comes of repair symbols is not even stored.
    assert table.add(0, (SYMBOLS + 1, SYMBOLS + 20)) == ()
    said = table.missing(choice)
    assert (said.counted, said.listed) == ({}, {})
    assert list(said.exact[0]) == [(0, 10)]
    # Before generation 0 it is counted: all of it will come.
    assert table.counted() == Missing({0: 10})
    assert table.add(0, tuple(range(10))) == tuple(range(10))
    assert table.begin_decoding(0)
    # No repair symbol was among them this time.
    table.decoded(0, Verdict.POISONED)
    assert list(table.missing(choice).exact[0]) == [(0, SYMBOLS)]


def test_symbols_that_come_while_a_poisoned_block_is_decoded_are_kept() -> None:
    table = BlockTable(SHAPE)
    table.hold([1])
    table.add(0, (*range(10, SYMBOLS), *range(SYMBOLS, SYMBOLS + 10)))
    assert table.begin_decoding(0)
    table.add(0, tuple(range(10)))
    table.decoded(0, Verdict.POISONED)
    # All its own symbols are there: it is tried again.
    assert table.missing(RepairChoice.AUTO) == Missing()
    assert table.begin_decoding(0)
    table.decoded(0, Verdict.COMPLETE)
    assert table.is_complete


def test_blocks_that_are_held_are_complete() -> None:
    table = BlockTable(SHAPE)
    assert table.is_empty
    table.hold([0, 1, 7])
    assert table.complete == {0, 1}
    assert table.is_complete
    assert table.add(0, (1,)) == ()
