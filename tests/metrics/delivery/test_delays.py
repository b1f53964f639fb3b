"""Delays of messages and of pairs."""

from __future__ import annotations

import pytest

from penstock.metrics.delivery.delays import Delays
from tests.metrics.delivery.made import (
    PAIR,
    WITH_PHASE,
    arrival,
    delivery,
)
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import assert_parts_add_up

OTHER = ("p-2", "s-1")
THIRD = ("p-1", "s-2")


def test_the_delay_ends_with_the_arrival_or_with_the_delivery() -> None:
    rows = [arrival(0, 30, published_ms=10), delivery("on", 0, 30, 50, published_ms=10)]
    results = measure_rows(rows, [Delays])
    assert values_of(results)["delay_mean"] == 20
    found = values_of(results, ordering="on")
    assert (found["delay_mean"], found["extra_delay_mean"], found["held_share"]) == (40, 20, 1)
    assert "extra_delay_mean" not in values_of(results)


def test_what_an_ordering_holds_back_adds_delay() -> None:
    in_order = [(0, 1, 1), (1, 4, 4), (2, 2, 4), (3, 3, 4), (4, 5, 5)]
    results = measure_rows([delivery("on", *row) for row in in_order], [Delays])
    found = values_of(results, ordering="on")
    assert found["held_share"] == 2 / 5
    assert found["extra_delay_mean"] == pytest.approx(3 / 5)


def test_a_message_without_a_time_of_arrival_has_no_extra_delay() -> None:
    rows = [delivery("on", 0, 1000, 1000), delivery("on", 1, None, 2000)]
    found = values_of(measure_rows(rows, [Delays]), ordering="on")
    assert (found["extra_delay_mean"], found["extra_delay_max"], found["held_share"]) == (0, 0, 0)
    assert found["delay_mean"] == 1500


def test_quantiles_are_over_pairs_whatever_their_messages() -> None:
    rows = [delivery("on", seq, seq, seq) for seq in range(8)]
    rows += [delivery("on", 0, 0, 10, who=OTHER), delivery("on", 1, 20, 50, who=OTHER)]
    results = measure_rows(rows, [Delays])
    found = values_of(results, ordering="on")
    assert found["extra_delay_mean"] == pytest.approx(40 / 10)
    assert found["extra_delay_pairs_max"] == 20
    assert found["extra_delay_pairs_p50"] == 10
    assert found["pairs_below_1ms"] == 0.5
    (curve,) = results.curves.values()
    assert (len(curve), curve[0], curve[50], curve[100]) == (101, 0, 10, 20)


def test_a_pair_is_one_across_the_restarts_of_its_publisher() -> None:
    rows = [arrival(0, 10), arrival(0, 30, epoch=1)]
    results = measure_rows(rows, [Delays])
    (means,) = results.pairs
    assert (means.names, means.peers, means.values.tolist()) == (["s-1"], ["p-1"], [20])


def test_quantiles_over_messages_are_off_by_half_a_bin_at_most() -> None:
    rows = [arrival(seq, 1.234 * (seq + 1)) for seq in range(101)]
    found = values_of(measure_rows(rows, [Delays]))
    assert found["delay_max"] == pytest.approx(1.234 * 101)
    assert found["delay_p50"] == pytest.approx(1.234 * 51, abs=0.05)
    assert found["delay_p99"] == pytest.approx(1.234 * 100, abs=0.05)


def test_a_phase_has_what_ended_in_it() -> None:
    times = [(10, 5500), (1000, 11_000), (3000, 14_999), (9000, 15_000)]
    rows = [arrival(seq, at, published_ms=at - delay) for seq, (delay, at) in enumerate(times)]
    found = values_of(measure_rows(rows, [Delays], run=WITH_PHASE))
    assert found["delay_max"] == 9000
    assert found["delay_max.late"] == 3000
    assert found["delay_p50.late"] == pytest.approx(2000, abs=0.1)


def test_an_ordering_whose_application_got_nothing_has_no_delay() -> None:
    assert not measure_rows([delivery("on", 0, 1, None)], [Delays]).values


def test_parts_add_up() -> None:
    rows = [arrival(seq, 11_000 + seq, who) for seq in range(3) for who in (PAIR, OTHER, THIRD)]
    rows.sort(key=lambda row: row.arrived_ns)
    held = [delivery("on", seq, 1, 12_000 + seq, who=THIRD) for seq in range(3)]
    assert_parts_add_up([*rows, *held], Delays, run=WITH_PHASE)
