"""Checkpoints of messages against a plain map that is copied for each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.live.guaranteed.read_positions import ReadPositions

PUBENDS = st.integers(1, 4)


@given(
    st.dictionaries(PUBENDS, st.integers(0, 5)),
    st.lists(st.tuples(PUBENDS, st.sampled_from(["read", "read", "read", "back"])), max_size=40),
)
def test_each_message_knows_how_far_all_had_been_read(
    begin: dict[int, int], steps: list[tuple[int, str]]
) -> None:
    positions, naive = ReadPositions(begin.items()), dict(begin)
    kept: list[tuple[dict[int, int], dict[int, int]]] = []
    for pubend, step in steps:
        if step == "back":
            before = {pubend: naive.get(pubend, 0) - 1}
            positions.go_back(before)
            if pubend in naive:
                naive[pubend] = min(naive[pubend], before[pubend])
            continue
        tick = naive.get(pubend, 0) + 1
        naive[pubend] = tick
        read = positions.advance(pubend, tick)
        kept.append(({pubend: tick, **read}, dict(naive)))
    # What was said of earlier messages has not changed since.
    assert all(said == expected for said, expected in kept)
    assert positions.all() == naive
