"""What kernels found in one run, gathered as rows of the gold tables.

All tables travel as one, `WIDE`, so that one pass over a run fills them all;
`COLUMNS` says which columns of it are whose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import ArrayLike

FIGURES: Final = "figures"
PAIRS: Final = "pairs"
SECONDS: Final = "seconds"
HISTOGRAMS: Final = "histograms"
# What was wrong with a run, in place of a figure's name; no gold table.
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


class Findings:
    """Rows of one run."""

    def __init__(self, run: str) -> None:
        self._run: Final = run
        self._figures: dict[tuple[str, str], tuple[float, str]] = {}
        self._batches: list[Any] = []

    def figure(self, metric: str, value: float, unit: str = "", *, ordering: str = "") -> None:
        """One number; one that could not be computed is left out."""
        if isfinite(value):
            self._figures[ordering, metric] = (float(value), unit)

    def pairs(
        self,
        metric: str,
        subscribers: Sequence[str],
        publishers: Sequence[str],
        values: ArrayLike,
        *,
        ordering: str = "",
    ) -> None:
        """One number of each pair."""
        self._add(
            PAIRS, ordering, metric, subscriber=subscribers, publisher=publishers, value=values
        )

    def seconds(
        self, metric: str, values: ArrayLike, *, at: ArrayLike | None = None, ordering: str = ""
    ) -> None:
        """One number of each second, from the first on, or of those that are named."""
        series = np.asarray(values, np.float64)
        which = np.arange(len(series)) if at is None else at
        self._add(SECONDS, ordering, metric, second=which, value=series)

    def histogram(
        self, metric: str, bins: ArrayLike, counts: ArrayLike, *, ordering: str = ""
    ) -> None:
        """How many fell into each bin."""
        self._add(HISTOGRAMS, ordering, metric, bin=bins, count=counts)

    def batches(self) -> Iterator[Any]:
        """All of it, as Arrow record batches of `WIDE`."""
        if self._figures:
            values, units = zip(*self._figures.values(), strict=True)
            orderings, metrics = zip(*self._figures, strict=True)
            yield _batch(
                FIGURES, self._run, list(orderings), list(metrics), value=values, unit=units
            )
        yield from self._batches

    def _add(self, table: str, ordering: str, metric: str, **columns: Any) -> None:
        count = len(next(iter(columns.values())))
        if count:
            names = [ordering] * count, [metric] * count
            self._batches.append(_batch(table, self._run, *names, **columns))


def trouble(run: str, message: str) -> Any:
    """Says that a run could not be measured, and why."""
    return _batch(TROUBLE, run, [""], [message])


def _batch(
    table: str, run: str, orderings: list[str], metrics: list[str], **columns: Any
) -> Any:  # fmt: skip
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
