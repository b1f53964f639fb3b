"""Repairs and originals that applications got."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.metrics.histogram import BIN_MS
from penstock.metrics.recovery.repaired_delays import RepairedDelays
from penstock.trace.fates import ReceiverFate
from penstock.trace.records import Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, series_of, values_of
from tests.metrics.parts import assert_parts_add_up
from tests.metrics.recovery.rows import delivery

RUN = replace(TEN_SECONDS, orderings=("on", "idle"))


def originals_and_repairs() -> list[Row]:
    return [
        delivery(0, 100),
        delivery(1, 1900, ReceiverFate.REPAIRED, published_ms=1000),
        delivery(2, None, ReceiverFate.DROPPED_LATE),
        delivery(3, None, ReceiverFate.GIVEN_UP),
        delivery(0, 2500, ReceiverFate.REPAIRED, subscriber="s-2", published_ms=2000),
        delivery(4, 11_000, ReceiverFate.REPAIRED, published_ms=9900),
        delivery(0, 300, ordering="off", subscriber="s-2"),
    ]


def test_a_repair_is_no_original() -> None:
    results = measure_rows(originals_and_repairs(), [RepairedDelays], run=RUN)
    on = values_of(results, ordering="on")
    assert on["repaired"] == 3
    assert (on["delivery_delay_mean"], on["delivery_delay_max"]) == (100, 100)
    assert (on["repaired_delay_mean"], on["repaired_delay_max"]) == (2500 / 3, 1100)
    assert on["repaired_delay_p50"] == pytest.approx(900, abs=BIN_MS)
    off = values_of(results, ordering="off")
    assert (off["repaired"], off["delivery_delay_mean"]) == (0, 300)
    assert "repaired_delay_mean" not in off


def test_the_series_counts_repairs_delivered_within_the_experiment() -> None:
    results = measure_rows(originals_and_repairs(), [RepairedDelays], run=RUN)
    assert series_of(results, "repaired", ordering="on") == [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]


def test_a_declared_ordering_that_delivered_nothing_repaired_nothing() -> None:
    results = measure_rows([], [RepairedDelays], run=RUN, recorded=["deliveries"])
    assert values_of(results, ordering="idle") == {"repaired": 0}


def test_without_deliveries_there_is_nothing_to_report() -> None:
    assert not measure_rows([], [RepairedDelays], run=RUN).values


def test_parts_add_up() -> None:
    rows = originals_and_repairs()
    assert_parts_add_up(rows, RepairedDelays, run=RUN)
