"""Measures a run in parts, as Spark does with a run that is too large for one worker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.metrics.base import AdditiveMetric
from penstock.metrics.measurement import outputs_of
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.records import Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, measurement_of


def measure_parts(
    parts: Sequence[Sequence[Row]],
    metric: type[AdditiveMetric[Any]],
    *,
    run: RunInfo = TEN_SECONDS,
) -> Results:
    """Measures parts of a run apart, and reports the sum of their tallies."""
    recorded = {row.TABLE for part in parts for row in part}
    total, info = Tally(), run
    for part in parts:
        measurement = measurement_of(part, [metric], run=run, recorded=recorded)
        info = measurement.run
        (tally,) = measurement.tallies()
        total.merge(tally)
    results = Results(run.id, outputs_of([metric]))
    metric.report(total, info, results)
    return results


def by_subscriber(records: Iterable[Row]) -> list[list[Row]]:
    """A part for each subscriber; the first also has all rows that belong to none."""
    rows = list(records)
    owners = [getattr(row, "subscriber", None) for row in rows]
    subscribers = sorted({owner for owner in owners if owner is not None})
    first = subscribers[0] if subscribers else None
    return [
        [row for row, owner in zip(rows, owners, strict=True) if (owner or first) == subscriber]
        for subscriber in subscribers or [None]
    ]


def assert_parts_add_up(
    records: Iterable[Row], metric: type[AdditiveMetric[Any]], *, run: RunInfo = TEN_SECONDS
) -> None:
    """Parts of a run must give what the whole run gives."""
    rows = list(records)
    whole = contents(measure_rows(rows, [metric], run=run))
    assert contents(measure_parts([*by_subscriber(rows), []], metric, run=run)) == whole
    assert any(whole.values())


def contents(results: Results) -> dict[str, object]:
    """All that results hold, to be compared."""
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
