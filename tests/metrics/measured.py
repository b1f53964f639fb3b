"""Measures records made by a test, in small batches, without a file or a hash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from penstock.kernel.instant import SECOND
from penstock.metrics.base import MetricType
from penstock.metrics.codes import RunCodes
from penstock.metrics.measurement import Measurement
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Packer
from penstock.trace.records import Row
from penstock.trace.schema import TABLES, table_of

# An experiment of ten seconds without a warm-up.
TEN_SECONDS: Final = RunInfo(id="test", origin=0, duration=10 * SECOND)


def measure_rows(
    records: Iterable[Row],
    metrics: Sequence[MetricType],
    *,
    batch_rows: int = 3,
    run: RunInfo = TEN_SECONDS,
    recorded: Iterable[str] = (),
) -> Results:
    """What metrics find in these records; tables count as recorded that have any, or are named."""
    return measurement_of(
        records, metrics, batch_rows=batch_rows, run=run, recorded=recorded
    ).finish()


def measurement_of(
    records: Iterable[Row],
    metrics: Sequence[MetricType],
    *,
    batch_rows: int = 3,
    run: RunInfo = TEN_SECONDS,
    recorded: Iterable[str] = (),
) -> Measurement:
    """The measurement after the last record; each table is fed in batches of `batch_rows`."""
    tables: dict[str, list[Row]] = {}
    for record in records:
        tables.setdefault(record.TABLE, []).append(record)
    known = frozenset({*tables, *recorded, *run.recorded})
    info = replace(run, recorded=known, codes=RunCodes())
    measurement = Measurement(info, metrics)
    for name in TABLES:
        rows = tables.get(name, [])
        packer = Packer(table_of(TABLES[name].record))
        for start in range(0, len(rows), batch_rows):
            measurement.update(packer.pack(rows[start : start + batch_rows]))
    return measurement


def values_of(results: Results, *, ordering: str = "") -> dict[str, float]:
    """Values by flat name."""
    return {key.flat: value for key, value in results.values.items() if key.ordering == ordering}


def series_of(results: Results, name: str, *, ordering: str = "") -> list[float]:
    """A series by flat name."""
    found = {key.flat: series for key, series in results.series.items() if key.ordering == ordering}
    return [float(value) for value in found[name].values]
