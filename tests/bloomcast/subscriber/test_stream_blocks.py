"""Blocks of a stream at a receiver, beside a list that says the same naively."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.bloomcast.facts import Verdict
from penstock.bloomcast.subscriber.stream_blocks import Passed, StreamBlocks
from penstock.wire.frames.cast.base import STREAM_BLOCKS_MAX

BLOCKS = 40


class NaiveBlocks:
    """Remembers everything: which blocks are complete, and how far it has told."""

    def __init__(self, begins: int) -> None:
        self.next = begins
        self.complete: set[int] = set()
        self.told: list[tuple[int, bool]] = []

    def over_before(self, block: int) -> None:
        while self.next < block or self.next in self.complete:
            self.told.append((self.next, self.next in self.complete))
            self.next += 1


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["reach", "complete", "over"]), st.integers(0, BLOCKS)), max_size=60
)


@given(st.integers(0, 5), OPERATIONS)
def test_every_block_is_told_once_in_order(begins: int, operations: list[tuple[str, int]]) -> None:
    blocks, naive = StreamBlocks(begins), NaiveBlocks(begins)
    told: list[tuple[int, bool]] = []
    for kind, block in operations:
        passed: list[Passed] = []
        if kind == "over":
            passed += blocks.pass_before(block)
            naive.over_before(block)
        else:
            passed += blocks.reach(block)
            naive.over_before(block + 1 - STREAM_BLOCKS_MAX)
        if kind == "complete" and blocks.needs(block):
            blocks.end(block, 1)
            assert blocks.decoded(block, Verdict.COMPLETE)
            naive.complete.add(block)
            passed += blocks.pass_ready()
            naive.over_before(naive.next)
        told += [
            (number, each.is_ready) for each in passed for number in range(each.start, each.stop)
        ]
        assert told == naive.told
        assert blocks.next == naive.next
        assert blocks.needs(block) == (block >= naive.next and block not in naive.complete)
        assert len(blocks._begun) + len(blocks._complete) <= STREAM_BLOCKS_MAX


def test_an_end_that_names_a_block_far_away_takes_no_longer() -> None:
    [gone] = StreamBlocks(3).pass_before(1 << 23)
    assert (gone.start, gone.stop, gone.is_ready) == (3, 1 << 23, False)


def test_symbols_beyond_the_end_of_a_block_do_not_count() -> None:
    blocks = StreamBlocks(0)
    assert blocks.state(0, 10).add((0, 1, 7)) == (0, 1, 7)
    state = blocks.end(0, 5)
    assert (state.symbols, state.sources, state.need) == (5, 2, 3)
