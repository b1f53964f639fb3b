"""Messages that were received after a later one of their publisher."""

from __future__ import annotations

from penstock.metrics.delivery.fifo_order import FifoOrder
from tests.metrics.delivery.made import WITH_PHASE, arrival, delivery
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import assert_parts_add_up

OTHER = ("p-2", "s-1")
THIRD = ("p-1", "s-2")


def test_violations_are_counted_against_what_arrived() -> None:
    came = [(0, 1), (2, 2), (3, 3), (1, 4), (4, 5)]
    rows = [arrival(seq, at) for seq, at in came]
    unordered = [delivery("off", seq, at, at) for seq, at in came]
    in_order = [(0, 1, 1), (1, 4, 4), (2, 2, 4), (3, 3, 4), (4, 5, 5)]
    ordered = [delivery("on", *row) for row in in_order]
    results = measure_rows([*rows, *unordered, *ordered], [FifoOrder])
    off, on = (values_of(results, ordering=name) for name in ("off", "on"))
    assert (off["violations"], off["descents"], off["violations_removed"]) == (1, 1, 0)
    assert (on["violations"], on["descents"], on["violations_removed"]) == (0, 0, 1)


def test_orderings_and_pairs_are_kept_apart_in_one_table() -> None:
    rows = [
        delivery("b", 5, 1, 1),
        delivery("a", 4, 1, 1),
        delivery("a", 3, 1, 1, who=OTHER),
        delivery("b", 6, 1, 2),
        delivery("a", 5, 1, 2),
        delivery("a", 4, 1, 2, who=OTHER),
        delivery("a", 2, 3, 3),
    ]
    results = measure_rows(rows, [FifoOrder], batch_rows=2)
    found = {name: values_of(results, ordering=name) for name in "ab"}
    assert [found[name]["violations"] for name in "ab"] == [1, 0]
    assert found["a"]["violation_ratio"] == 1 / 5


def test_a_restarted_publisher_counts_anew_and_violates_nothing() -> None:
    before = [arrival(seq, seq) for seq in range(100)]
    after = [arrival(seq, 100 + seq, epoch=1) for seq in range(50)]
    found = values_of(measure_rows([*before, *after], [FifoOrder], batch_rows=64))
    assert (found["violations"], found["descents"]) == (0, 0)


def test_violations_belong_to_the_second_and_phase_in_which_they_are_received() -> None:
    rows = [arrival(1, 6000), arrival(0, 6500), arrival(3, 12_000), arrival(2, 13_000)]
    results = measure_rows(rows, [FifoOrder], run=WITH_PHASE)
    assert series_of(results, "violations") == [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    found = values_of(results)
    assert (found["violations"], found["violations.late"]) == (2, 1)
    assert found["violation_ratio.late"] == 1 / 2


def test_where_nothing_was_out_of_order_no_share_of_it_was_removed() -> None:
    results = measure_rows([arrival(0, 1), delivery("on", 0, 1, 1)], [FifoOrder])
    assert "violations_removed" not in values_of(results, ordering="on")
    assert values_of(results, ordering="silent") == {}


def test_parts_add_up() -> None:
    rows = [
        arrival(1, 6000),
        arrival(1, 6000, THIRD),
        arrival(0, 12_000),
        arrival(0, 13_000, THIRD),
    ]
    on = [delivery("on", seq, 1, 13_000, who=THIRD) for seq in (0, 1)]
    assert_parts_add_up([*rows, *on], FifoOrder, run=WITH_PHASE)
