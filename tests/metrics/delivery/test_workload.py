"""Receivers of messages, and how often pairs match."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.metrics.delivery.workload import Workload
from tests.metrics.delivery.made import arrival, expected, publication
from tests.metrics.measured import TEN_SECONDS, measure_rows, values_of

ALL = [("p-1", "s-1"), ("p-1", "s-2"), ("p-1", "s-3")]
# One message for three, one for one, one for nobody, and one that never left.
ROWS = [
    *(publication(seq) for seq in range(3)),
    publication(None),
    *(expected(0, who=who) for who in ALL),
    expected(1),
]


def test_messages_without_receivers_count_and_those_that_never_left_do_not() -> None:
    found = values_of(measure_rows(ROWS, [Workload]))
    assert found["messages_with_2_or_fewer"] == 2 / 3
    assert found["receivers_mean"] == 4 / 3
    assert found["receivers_max"] == 3
    assert found["pair_match_max"] == 2 / 3


def test_pairs_that_never_match_count() -> None:
    run = replace(TEN_SECONDS, subscribers=30)
    found = values_of(measure_rows(ROWS, [Workload], run=run))
    assert (found["pair_match_p80"], found["pair_match_max"]) == (0, 2 / 3)
    silent = publication(0, publisher="p-2")
    found = values_of(measure_rows([silent, *ROWS], [Workload]))
    assert found["pair_match_p80"] == pytest.approx(1 / 3)


def test_receivers_of_a_number_in_two_epochs_are_of_two_messages() -> None:
    rows = [publication(0), publication(0), *(expected(0, epoch=epoch) for epoch in (0, 1))]
    assert values_of(measure_rows(rows, [Workload]))["receivers_max"] == 1


def test_subscribers_that_other_tables_name_do_not_change_it() -> None:
    others = [arrival(seq, 1, ("p-1", f"x-{seq}")) for seq in range(9)]
    assert values_of(measure_rows([*others, *ROWS], [Workload])) == values_of(
        measure_rows(ROWS, [Workload])
    )


def test_nothing_is_said_of_messages_that_nobody_sent_or_whose_receivers_are_unknown() -> None:
    assert not measure_rows([publication(None), expected(0)], [Workload]).values
    assert not measure_rows([publication(0)], [Workload]).values
    found = values_of(measure_rows([publication(0)], [Workload], recorded=["expected"]))
    assert found["messages_with_2_or_fewer"] == 1
    assert (found["receivers_max"], found["pair_match_max"]) == (0, 0)
