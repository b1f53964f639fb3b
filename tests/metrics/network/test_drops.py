"""Drops by reason, counted by hand."""

from __future__ import annotations

from dataclasses import replace

from penstock.kernel.instant import SECOND, Instant
from penstock.metrics.network.drops import Drops
from penstock.metrics.results import Results
from penstock.metrics.tally import Tally
from penstock.trace.fates import DropReason
from penstock.trace.records import Drop, Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, measurement_of, series_of, values_of

THREE_SECONDS = replace(TEN_SECONDS, duration=3 * SECOND)


def drop(at: Instant, reason: DropReason, publisher: str | None = "p") -> Drop:
    return Drop(at, "B1-B2", reason, "data", 100, publisher=publisher)


ROWS: list[Row] = [
    drop(-SECOND, DropReason.LOSS),
    drop(0, DropReason.LOSS),
    drop(0, DropReason.DUPLICATE),
    drop(1, DropReason.QUEUE_FULL, None),
    drop(2 * SECOND, DropReason.LOSS),
    drop(2 * SECOND, DropReason.TTL),
]


def test_packets_count_by_reason_and_messages_are_lost_unless_they_are_duplicates() -> None:
    told = values_of(measure_rows(ROWS, [Drops], run=THREE_SECONDS))
    counts = {reason: told[f"drops.{reason}"] for reason in DropReason}
    assert {reason for reason, count in counts.items() if not count} == {
        *(DropReason.NO_ROUTE, DropReason.DOWN, DropReason.CORRUPT)
    }
    assert counts[DropReason.LOSS] == 3
    assert told["lost.loss"] == 3
    assert told["lost.ttl"] == 1
    assert told["lost.queue_full"] == 0
    assert "lost.duplicate" not in told
    assert told["lost"] == 4


def test_series_are_of_the_experiment_and_of_reasons_that_occurred() -> None:
    results = measure_rows(ROWS, [Drops], run=THREE_SECONDS)
    assert series_of(results, "lost") == [1, 0, 2]
    assert series_of(results, "lost.loss") == [1, 0, 1]
    assert {key.entity for key in results.series} == {"", "loss", "ttl"}


def test_a_table_without_rows_has_no_drops() -> None:
    results = measure_rows([], [Drops], run=THREE_SECONDS, recorded=["drops"])
    assert not any(results.values.values())
    assert series_of(results, "lost") == [0, 0, 0]
    assert not measure_rows([], [Drops]).values


def test_parts_add_up() -> None:
    whole = measure_rows(ROWS, [Drops], run=THREE_SECONDS)
    parts = [measurement_of(part, [Drops], run=THREE_SECONDS) for part in (ROWS[:2], ROWS[2:])]
    tally = Tally()
    for part in parts:
        tally.merge(*part.tallies())
    out = Results("test", Drops.OUTPUTS)
    Drops.report(tally, parts[0].run, out)
    assert out.values == whole.values
    assert series_of(out, "lost") == series_of(whole, "lost")
