"""Measures a run in parts, as Spark does with a run that is too large for one worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.metrics.base import AdditiveMetric
from penstock.metrics.measurement import outputs_of
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.records import Row
from tests.metrics.measured import TEN_SECONDS, measurement_of

FIRST_PART = "s-1"


def measure_in_two_parts(
    records: Sequence[Row],
    metric: type[AdditiveMetric[Any]],
    *,
    run: RunInfo = TEN_SECONDS,
) -> Results:
    """One part has the subscriber s-1 and all tables without subscribers, the other the rest."""
    recorded = {record.TABLE for record in records}
    first = [row for row in records if getattr(row, "subscriber", FIRST_PART) == FIRST_PART]
    rest = [row for row in records if row not in first]
    one, other = (
        measurement_of(part, [metric], run=run, recorded=recorded) for part in (first, rest)
    )
    (tally,) = one.tallies()
    (second,) = other.tallies()
    tally.merge(second)
    results = Results(run.id, outputs_of([metric]))
    metric.report(tally, one.run, results)
    return results


def same(one: Results, other: Results) -> bool:
    """Whether two results have equal values, series and histograms."""
    return (
        one.values == other.values
        and _listed(one.series) == _listed(other.series)
        and _listed(one.histograms) == _listed(other.histograms)
    )


def _listed(columns: Mapping[Any, tuple[Any, ...]]) -> dict[Any, list[list[float]]]:
    return {key: [column.tolist() for column in row[:2]] for key, row in columns.items()}
