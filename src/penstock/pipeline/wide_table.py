"""All gold tables as one wide Arrow table, so that one pass over a run fills them all.

`COLUMNS` says which of its columns each gold table has. A run that could not be measured has
one row of the table `trouble`, with the error in place of a metric's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.metrics.results import Results

FIGURES: Final = "figures"
PAIRS: Final = "pairs"
SECONDS: Final = "seconds"
HISTOGRAMS: Final = "histograms"
TROUBLE: Final = "trouble"

_KEY: Final = ("run", "ordering", "metric")
COLUMNS: Final = {
    FIGURES: (*_KEY, "value", "unit"),
    PAIRS: (*_KEY, "subscriber", "publisher", "value"),
    SECONDS: (*_KEY, "second", "value"),
    HISTOGRAMS: (*_KEY, "bin", "count"),
}
WIDE: Final = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        pa.field("run", pa.string(), nullable=False),
        pa.field("ordering", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("subscriber", pa.string()),
        pa.field("publisher", pa.string()),
        pa.field("second", pa.int64()),
        pa.field("bin", pa.int64()),
        pa.field("count", pa.int64()),
        pa.field("value", pa.float64()),
        pa.field("unit", pa.string()),
    ]
)


def wide_batches(results: Results) -> Iterator[Any]:
    """What metrics reported of a run, as record batches; curves and sketches have no table."""
    run = results.run_id
    if results.values:
        keys = list(results.values)
        yield _batch(
            FIGURES,
            run,
            [key.ordering for key in keys],
            [key.flat for key in keys],
            value=list(results.values.values()),
            unit=[results.unit(key.metric, key.entity_kind) for key in keys],
        )
    for pairs in results.pairs:
        names = _repeated(pairs.ordering, pairs.metric, len(pairs.names))
        yield _batch(
            PAIRS, run, *names, subscriber=pairs.names, publisher=pairs.peers, value=pairs.values
        )
    for key, series in results.series.items():
        names = _repeated(key.ordering, key.flat, len(series.values))
        yield _batch(SECONDS, run, *names, second=series.seconds, value=series.values)
    for key, (bins, counts) in results.histograms.items():
        names = _repeated(key.ordering, key.flat, len(bins))
        yield _batch(HISTOGRAMS, run, *names, bin=bins, count=counts)


def trouble(run: str, message: str) -> Any:
    """Says that a run could not be measured, and why."""
    return _batch(TROUBLE, run, [""], [message])


def _repeated(ordering: str, metric: str, count: int) -> tuple[list[str], list[str]]:
    return [ordering] * count, [metric] * count


def _batch(
    table: str, run: str, orderings: Sequence[str], metrics: Sequence[str], **columns: Any
) -> Any:
    count = len(orderings)
    given = columns | {
        "table": [table] * count,
        "run": [run] * count,
        "ordering": orderings,
        "metric": metrics,
    }
    arrays = [
        pa.array(given[field.name], field.type)
        if field.name in given
        else pa.nulls(count, field.type)
        for field in WIDE
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=WIDE)
