"""Two slots of NAKs."""

from __future__ import annotations

from penstock.bloomcast.literal.nak_table import NakTable


def test_naks_of_the_last_generation_stay_while_those_of_this_one_come() -> None:
    """[P1] One slot that FIRST clears would leave nothing to forward repairs by."""
    table = NakTable()
    assert table.begin(0)
    assert table.add(0, 4, [10, 11])
    assert table.begin(1)
    assert not table.begin(1)
    assert table.add(1, 4, [11])
    # [P3] A late one for the generation before.
    assert table.add(0, 5, [9, 10])
    assert list(table.asked(0, 4)) == [10, 11]
    assert table.asked_by_anyone(0) == [9, 10, 11]
    assert table.asked_by_anyone(1) == [11]


def test_a_generation_takes_the_older_slot() -> None:
    table = NakTable()
    for generation in range(3):
        table.begin(generation)
        table.add(generation, 4, [generation])
    assert not table.has(0)
    assert not table.add(0, 4, [7])
    assert not table.add(3, 4, [7])
    assert table.asked_by_anyone(0) == []
    assert table.asked_by_anyone(1) == [1]
    assert not table.asked(2, 9)
