"""Knowledge of a pubend against the naive twin: a dictionary from tick to state."""

from __future__ import annotations

from itertools import groupby
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from penstock.guaranteed.knowledge_stream import (
    INTERVAL_BYTES,
    RISES,
    KnowledgeStream,
    TickState,
)

TOP = 30
TICKS = range(TOP)
Fact = tuple[TickState, int, int]

ticks = st.integers(0, TOP - 1)
ends = st.integers(0, TOP)
rising = [TickState.SILENCE, TickState.DATA, TickState.FINAL]
facts = st.tuples(st.sampled_from(rising), ticks, ends)


def message(tick: int) -> bytes:
    """The one message that can stand at a tick."""
    return bytes(tick)


def new_stream() -> KnowledgeStream[bytes]:
    return KnowledgeStream(size_of=len)


def tell(stream: KnowledgeStream[bytes], fact: Fact) -> None:
    state, start, stop = fact
    if state is TickState.DATA:
        stream.add_data(start, message(start))
    elif state is TickState.FINAL:
        stream.add_final(start, stop)
    else:
        stream.add_silence(start, stop)


def states(stream: KnowledgeStream[bytes]) -> list[TickState]:
    return [stream.state(tick) for tick in TICKS]


def ranges(members: list[int]) -> list[tuple[int, int]]:
    runs = groupby(enumerate(members), lambda pair: pair[1] - pair[0])
    found = [[tick for _, tick in run] for _, run in runs]
    return [(run[0], run[-1] + 1) for run in found]


class StreamAndTwin(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stream = new_stream()
        self.naive = dict.fromkeys(TICKS, TickState.UNKNOWN)

    def raise_to(self, state: TickState, start: int, stop: int) -> None:
        for tick in range(start, stop):
            if state in RISES[self.naive[tick]]:
                self.naive[tick] = state

    def lower(self, start: int, stop: int) -> None:
        for tick in range(start, stop):
            self.naive[tick] = TickState.UNKNOWN

    def of(self, *wanted: TickState) -> list[int]:
        return [tick for tick in TICKS if self.naive[tick] in wanted]

    @rule(start=ticks, stop=ends)
    def add_silence(self, start: int, stop: int) -> None:
        self.stream.add_silence(start, stop)
        self.raise_to(TickState.SILENCE, start, stop)

    @rule(tick=ticks)
    def add_data(self, tick: int) -> None:
        is_new = TickState.DATA in RISES[self.naive[tick]]
        assert self.stream.add_data(tick, message(tick)) is is_new
        self.raise_to(TickState.DATA, tick, tick + 1)

    @rule(members=st.sets(ticks))
    def add_much_data(self, members: set[int]) -> None:
        for tick in sorted(members):
            self.add_data(tick)

    @rule(start=ticks, stop=ends)
    def add_final(self, start: int, stop: int) -> None:
        self.stream.add_final(start, stop)
        self.raise_to(TickState.FINAL, start, stop)

    @rule(start=ticks, stop=ends)
    def forget(self, start: int, stop: int) -> None:
        self.stream.forget(start, stop)
        self.lower(start, stop)

    @rule(tick=ends)
    def forget_below(self, tick: int) -> None:
        self.stream.forget_below(tick)
        self.lower(0, tick)

    @rule(tick=ends)
    def forget_silence_below(self, tick: int) -> None:
        self.stream.forget_silence_below(tick)
        for each in self.of(TickState.SILENCE):
            if each < tick:
                self.naive[each] = TickState.UNKNOWN

    @rule(bytes_max=st.integers(0, 600))
    def evict(self, bytes_max: int) -> None:
        needed = self.stream.size_bytes > bytes_max
        below = self.stream.evict(bytes_max)
        assert (below is not None) is needed
        assert self.stream.size_bytes <= bytes_max or not needed
        self.lower(0, below or 0)

    @rule(start=ticks, stop=ends)
    def ask(self, start: int, stop: int) -> None:
        stream, asked = self.stream, range(start, stop)
        unknown = [tick for tick in self.of(TickState.UNKNOWN) if tick in asked]
        known = [tick for tick in self.of(*rising) if tick in asked]
        final = [tick for tick in self.of(TickState.FINAL) if tick in asked]
        data = [tick for tick in self.of(TickState.DATA) if tick in asked]
        assert stream.unknown(start, stop) == ranges(unknown)
        assert stream.known(start, stop) == ranges(known)
        pieces = [(*each, True) for each in ranges(known)]
        pieces += [(*each, False) for each in ranges(unknown)]
        assert [*stream.pieces(start, stop)] == sorted(pieces)
        assert stream.final(start, stop) == ranges(final)
        assert stream.is_known(start, stop) == (not unknown)
        assert stream.data_between(start, stop) == [(tick, message(tick)) for tick in data]
        assert stream.messages_between(start, stop) == len(data)
        newest = [message(tick) for tick in self.of(TickState.DATA)]
        assert stream.newest(stop) == newest[max(0, len(newest) - stop) :]
        later = (tick for tick in self.of(TickState.UNKNOWN) if tick >= start)
        assert stream.known_end(start) == next(later, TOP)

    @invariant()
    def both_know_the_same(self) -> None:
        stream = self.stream
        assert states(stream) == list(self.naive.values())
        data = self.of(TickState.DATA)
        intervals = len(stream.known(0, TOP)) + len(stream.final(0, TOP))
        assert stream.messages == len(data)
        assert stream.size_bytes == sum(data) + INTERVAL_BYTES * intervals


StreamAndTwin.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestStreamAndTwin = StreamAndTwin.TestCase


@given(st.lists(facts, max_size=12), st.randoms(use_true_random=False))
def test_facts_may_come_in_any_order_and_repeatedly(told: list[Fact], rng: Random) -> None:
    one, other = new_stream(), new_stream()
    again = told * 2
    rng.shuffle(again)
    for fact in told:
        tell(one, fact)
    for fact in again:
        tell(other, fact)
    assert states(one) == states(other)
    assert one.data_between(0, TOP) == other.data_between(0, TOP)
    assert one.size_bytes == other.size_bytes


@given(st.lists(facts, max_size=12))
def test_no_fact_lowers_what_is_known(told: list[Fact]) -> None:
    stream = new_stream()
    for fact in told:
        before = states(stream)
        tell(stream, fact)
        assert all(old <= new for old, new in zip(before, states(stream), strict=True))


@pytest.mark.parametrize("old", TickState)
@pytest.mark.parametrize("new", rising)
def test_a_tick_becomes_what_the_table_says(old: TickState, new: TickState) -> None:
    stream = new_stream()
    if old is not TickState.UNKNOWN:
        tell(stream, (old, 3, 4))
    tell(stream, (new, 3, 4))
    assert stream.state(3) is (new if new in RISES[old] else old)
    # The table is nothing but the order of states.
    assert (new in RISES[old]) == (new > old)


def test_silence_that_a_filter_made_becomes_data() -> None:
    stream = new_stream()
    stream.add_silence(0, 10)
    assert stream.add_data(5, b"late")
    assert not stream.add_data(5, b"again")
    assert stream.data_between(0, 10) == [(5, b"late")]
    assert stream.known_end(0) == 10


def test_a_wider_filter_forgets_silence_and_keeps_messages() -> None:
    stream = new_stream()
    stream.add_silence(0, 20)
    stream.add_final(0, 3)
    stream.add_data(8, b"a")
    stream.add_data(9, b"b")
    stream.forget_silence_below(12)
    assert stream.unknown(0, 20) == [(3, 8), (10, 12)]
    assert stream.data_between(0, 20) == [(8, b"a"), (9, b"b")]


def test_a_bounded_cache_gives_up_the_oldest_ticks() -> None:
    stream = new_stream()
    for tick in range(10_000):
        stream.add_silence(10 * tick, 10 * tick + 9)
        stream.add_data(10 * tick + 9, bytes(100))
        stream.evict(1_000 + INTERVAL_BYTES)
        assert stream.messages == min(tick + 1, 10)
    assert stream.known(0, 100_000) == [(99_900, 100_000)]
    # Entries that are gone are moved out of memory before long.
    assert len(stream._ticks) <= 128


def test_what_is_empty_knows_nothing() -> None:
    stream = new_stream()
    stream.forget_below(5)
    stream.forget_silence_below(5)
    assert stream.evict(0) is None
    assert stream.unknown(0, 5) == [(0, 5)]
    assert (stream.known_end(3), stream.size_bytes, stream.messages) == (3, 0, 0)
