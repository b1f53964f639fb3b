"""Records for tests of deliveries, and measuring a run in parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.metrics.base import AdditiveMetric
from penstock.metrics.measurement import outputs_of
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.fates import PublisherFate, ReceiverFate
from penstock.trace.records import Arrival, Delivery, Expected, Publication, Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, measurement_of

# Publisher and subscriber.
Pair: TypeAlias = tuple[str, str]
PAIR: Final = ("p-1", "s-1")

# Ten seconds after a warm-up of five, with a phase of four.
WITH_PHASE: Final = RunInfo(
    id="test",
    origin=5 * SECOND,
    duration=10 * SECOND,
    measure={"phases": {"late": (6, 10)}},
)


def publication(seq: int | None, at_s: float = 0, publisher: str = "p-1") -> Publication:
    """A message; without a number, it never left."""
    at, has_left = round(at_s * SECOND), seq is not None
    fate = PublisherFate.SENT if has_left else PublisherFate.DROPPED_AT_SOURCE
    return Publication(publisher, 0, seq, at, at if has_left else None, 100, fate, "data")


def expected(seq: int, at_s: float = 0, who: Pair = PAIR, *, epoch: int = 0) -> Expected:
    return Expected(who[0], epoch, seq, who[1], round(at_s * SECOND))


def arrival(
    seq: int, at_ms: float, who: Pair = PAIR, *, published_ms: float = 0, epoch: int = 0
) -> Arrival:
    times = round(published_ms * MILLISECOND), round(at_ms * MILLISECOND)
    return Arrival(who[1], who[0], epoch, seq, *times, 1, False)


def delivery(
    ordering: str,
    seq: int,
    arrived_ms: float | None,
    delivered_ms: float | None,
    *,
    who: Pair = PAIR,
    published_ms: float = 0,
    fate: ReceiverFate = ReceiverFate.DELIVERED,
) -> Delivery:
    return Delivery(
        ordering,
        who[1],
        who[0],
        0,
        seq,
        round(published_ms * MILLISECOND),
        None if arrived_ms is None else round(arrived_ms * MILLISECOND),
        None if delivered_ms is None else round(delivered_ms * MILLISECOND),
        None,
        fate,
    )


def measured_in_parts(
    records: Iterable[Row],
    metric: type[AdditiveMetric[Any]],
    *,
    run: RunInfo = TEN_SECONDS,
) -> Results:
    """Measures each subscriber apart, and everything else with the first; adds up the tallies."""
    rows = list(records)
    recorded = {row.TABLE for row in rows}
    owners = [getattr(row, "subscriber", None) for row in rows]
    subscribers = sorted({owner for owner in owners if owner is not None})
    total, info = Tally(), run
    for subscriber in subscribers:
        own = {subscriber, None} if subscriber == subscribers[0] else {subscriber}
        part = [row for row, owner in zip(rows, owners, strict=True) if owner in own]
        measurement = measurement_of(part, [metric], run=run, recorded=recorded)
        info = measurement.run
        (tally,) = measurement.tallies()
        total.merge(tally)
    results = Results(run.id, outputs_of([metric]))
    metric.report(total, info, results)
    return results


def assert_parts_add_up(
    records: Iterable[Row], metric: type[AdditiveMetric[Any]], *, run: RunInfo = TEN_SECONDS
) -> None:
    """Parts of a run must give what the whole run gives."""
    rows = list(records)
    whole = _comparable(measure_rows(rows, [metric], run=run))
    assert _comparable(measured_in_parts(rows, metric, run=run)) == whole
    assert any(whole.values())


def _comparable(results: Results) -> dict[str, object]:
    return {
        "values": results.values,
        "series": {key: series.values.tolist() for key, series in results.series.items()},
        "pairs": {
            (one.metric, one.ordering): sorted(
                zip(one.names, one.peers, one.values.tolist(), strict=True)
            )
            for one in results.pairs
        },
        "histograms": {
            key: (bins.tolist(), counts.tolist())
            for key, (bins, counts) in results.histograms.items()
        },
        "curves": results.curves,
    }
