"""Messages that came too late for an ordering."""

from __future__ import annotations

from penstock.metrics.delivery.fifo_order import FifoOrder
from penstock.metrics.delivery.late_drops import LateDrops
from penstock.trace.fates import ReceiverFate
from tests.metrics.delivery.made import arrival, delivery
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import assert_parts_add_up

LATE = ReceiverFate.DROPPED_LATE
ROWS = [
    delivery("on", 1, 1, 1),
    delivery("on", 0, 2, None, fate=LATE),
    delivery("off", 1, 1, 1),
]


def test_a_late_message_that_is_dropped_violates_nothing_and_counts_as_dropped() -> None:
    rows = [arrival(1, 1), arrival(0, 2), *ROWS]
    results = measure_rows(rows, [LateDrops, FifoOrder])
    found = values_of(results, ordering="on")
    assert (found["violations"], found["late_drops"]) == (0, 1)


def test_an_ordering_that_drops_nothing_has_a_zero_and_the_network_nothing() -> None:
    results = measure_rows(ROWS, [LateDrops])
    assert values_of(results, ordering="off") == {"late_drops": 0}
    assert values_of(results) == {}


def test_a_message_that_was_given_up_was_not_dropped() -> None:
    given_up = delivery("on", 2, None, None, fate=ReceiverFate.GIVEN_UP)
    results = measure_rows([*ROWS, given_up], [LateDrops])
    assert values_of(results, ordering="on") == {"late_drops": 1}


def test_parts_add_up() -> None:
    other = delivery("on", 0, 2, None, fate=LATE, who=("p-1", "s-2"))
    assert_parts_add_up([*ROWS, other], LateDrops)
