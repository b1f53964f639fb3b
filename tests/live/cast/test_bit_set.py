"""The set in bits beside an ordinary one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.live.cast.bit_set import BitSet

SIZE = 30
RANGES = st.tuples(st.booleans(), st.integers(0, SIZE), st.integers(0, SIZE)).map(
    lambda each: (each[0], min(each[1:]), max(each[1:]))
)


@given(st.lists(RANGES))
def test_it_is_a_set(changes: list[tuple[bool, int, int]]) -> None:
    bits, naive = BitSet(SIZE), set[int]()
    for is_added, start, stop in changes:
        if is_added:
            assert bits.add(start, stop) == len(set(range(start, stop)) - naive)
            naive |= set(range(start, stop))
        else:
            bits.remove(start, stop)
            naive -= set(range(start, stop))
    assert len(bits) == len(naive)
    assert {number for number in range(SIZE) if number in bits} == naive
    assert [n for start, stop in bits.runs() for n in range(start, stop)] == sorted(naive)
    runs = [*bits.runs(), *bits.missing_runs()]
    assert sorted(n for start, stop in runs for n in range(start, stop)) == list(range(SIZE))
    assert all(start < stop for start, stop in runs)
    again = BitSet(SIZE, bits.data())
    assert list(again.runs()) == list(bits.runs())
    assert b"".join(bits.byte(index) for index in range(4)) == bits.data()


def test_bits_behind_the_end_are_none() -> None:
    assert list(BitSet(3, b"\xff").runs()) == [(0, 3)]
    assert list(BitSet(0, b"").missing_runs()) == []
