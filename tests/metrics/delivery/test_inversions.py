"""Messages that were received the wrong way round."""

from __future__ import annotations

from random import Random

import pytest

from penstock.metrics.delivery.inversions import WINDOW, Inversions
from tests.metrics.delivery.made import arrival, delivery
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import assert_parts_add_up

OTHER = ("p-1", "s-2")


def test_inversions_are_counted_in_what_arrived_and_in_each_ordering() -> None:
    came = [(0, 1), (2, 2), (3, 3), (1, 4), (4, 5)]
    rows = [arrival(seq, at) for seq, at in came]
    off = [delivery("off", seq, at, at) for seq, at in came]
    on = [delivery("on", seq, 1, 5) for seq in range(5)]
    results = measure_rows([*rows, *off, *on], [Inversions])
    assert values_of(results) == {"inversions": 2}
    assert values_of(results, ordering="off") == {"inversions": 2}
    assert values_of(results, ordering="on") == {"inversions": 0}


def test_a_restarted_publisher_inverts_nothing() -> None:
    rows = [arrival(5, 1), arrival(0, 2, epoch=1), arrival(1, 3, epoch=1)]
    assert values_of(measure_rows(rows, [Inversions])) == {"inversions": 0}


def test_what_is_further_back_than_the_window_is_forgotten() -> None:
    rows = [arrival(100, 1), *(arrival(seq, 2) for seq in range(WINDOW)), arrival(WINDOW, 3)]
    assert values_of(measure_rows(rows, [Inversions])) == {"inversions": WINDOW}


def test_an_ordering_whose_application_got_nothing_inverted_nothing() -> None:
    results = measure_rows([delivery("on", 0, 1, None)], [Inversions])
    assert values_of(results, ordering="on") == {"inversions": 0}


@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_every_pair_is_counted_whatever_the_batches(batch_rows: int) -> None:
    rng = Random(1)
    subscribers = ["s-1", "s-2", "s-3"]
    rows = [arrival(rng.randrange(40), at, ("p-1", rng.choice(subscribers))) for at in range(150)]
    by_stream = [[row.seq for row in rows if row.subscriber == name] for name in subscribers]
    wrong = sum(
        earlier > seq
        for seqs in by_stream
        for place, seq in enumerate(seqs)
        for earlier in seqs[max(0, place - WINDOW) : place]
    )
    results = measure_rows(rows, [Inversions], batch_rows=batch_rows)
    assert values_of(results) == {"inversions": wrong}


def test_parts_add_up() -> None:
    rows = [arrival(1, 1), arrival(0, 2), arrival(1, 3, OTHER), arrival(0, 4, OTHER)]
    assert_parts_add_up(rows, Inversions)
