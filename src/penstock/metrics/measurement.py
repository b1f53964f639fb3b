"""One run through the chosen metrics: each batch is prepared once for all of them.

Whoever measures asks `reads` what to read, passes on batches of those tables, and takes the
results at the end. Rows of a table must come in order of its time.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from penstock.kernel.errors import PenstockError, UsageError
from penstock.metrics.base import AdditiveMetric, Metric, MetricType, Output
from penstock.metrics.codes import SEQ_BITS
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.metrics.views import ledger as ledger_view
from penstock.metrics.views import receipts as receipts_view
from penstock.metrics.views.ledger import Ledger
from penstock.metrics.views.receipts import HighestNumbers, Receipts
from penstock.trace.batch import Batch
from penstock.trace.schema import TABLES


class Measurement:
    """The metrics of one run in progress."""

    def __init__(self, run: RunInfo, metrics: Sequence[MetricType]) -> None:
        self.run: Final = run
        self.reads: Final = columns_read(metrics)
        self._metrics: Final[list[Metric[Any]]] = []
        for metric in metrics:
            with blamed(metric):
                self._metrics.append(metric(run))
        self._by_source: Final = {
            source: [metric for metric in self._metrics if source in metric.READS]
            for source in (*TABLES, receipts_view.NAME, ledger_view.NAME)
        }
        self._ledger: Final = Ledger(run.codes) if self._by_source[ledger_view.NAME] else None
        self._highest: Final = HighestNumbers()

    def update(self, batch: Batch) -> None:
        """Passes the next rows of a table to the metrics that read it."""
        if not batch.rows:
            return
        table = batch.table.name
        if "ordering" in batch.columns and "" in batch.names("ordering"):
            raise _names_nobody(table, "ordering")
        batch = self.run.codes.recoded(batch)
        _check_seq(batch)
        for column in ("publisher", "subscriber"):
            # Asked of the codes: there may be many names, and few are new.
            if column in batch.columns and self.run.codes.has_name(column, ""):
                raise _names_nobody(table, column)
        for metric in self._by_source[table]:
            with blamed(type(metric)):
                # No more than it declares: a file would not have more for it either.
                metric.update(batch.only(metric.READS[table]))
        if self._ledger is not None and table == "expected":
            self._ledger.expect(batch)
        if table in receipts_view.TABLES:
            self._receive(batch)

    def finish(self) -> Results:
        """Reports what all metrics found; call it once, after the last batch."""
        self._close_ledger()
        results = Results(self.run.id, outputs_of(type(metric) for metric in self._metrics))
        for metric in self._metrics:
            with blamed(type(metric)):
                metric.finish(results)
        return results

    def tallies(self) -> list[Tally]:
        """The tally of each metric, for a part of a run; all must be additive."""
        self._close_ledger()
        found = []
        for metric in self._metrics:
            assert isinstance(metric, AdditiveMetric), f"{metric} needs whole runs"
            found.append(Tally())
            with blamed(type(metric)):
                metric.tally(found[-1])
        return found

    def _receive(self, batch: Batch) -> None:
        readers = self._by_source[receipts_view.NAME]
        if not readers and self._ledger is None:
            return
        receipts = Receipts(batch, self.run.codes, self._highest)
        if self._ledger is not None:
            self._ledger.receive(receipts)
        for metric in readers:
            with blamed(type(metric)):
                metric.update(receipts)

    def _close_ledger(self) -> None:
        for metric in self._by_source[ledger_view.NAME]:
            with blamed(type(metric)):
                metric.update(self._ledger)


@contextmanager
def blamed(metric: MetricType) -> Iterator[None]:
    """Says in one line which metric of a user's failed, and where; a fault of ours stays one."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        name = f"{metric.__module__}:{metric.__qualname__}"
        if name.startswith("penstock."):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        is_column = isinstance(error, KeyError) and any(
            column in error.args for source in metric.READS for column in _columns(source)
        )
        hint = ": add it to READS" if is_column else ""
        raise UsageError(
            f"the metric {name!r} failed with {type(error).__name__}: {error}{hint}"
            f" ({last.filename}:{last.lineno})"
        ) from error


def _columns(source: str) -> set[str]:
    table = TABLES.get(source)
    return set() if table is None else {column.name for column in table.columns}


def outputs_of(metrics: Iterable[MetricType]) -> list[Output]:
    """What these metrics declare."""
    return [output for metric in metrics for output in metric.OUTPUTS]


def columns_read(metrics: Iterable[MetricType]) -> dict[str, frozenset[str]]:
    """The tables to read, in their order in the schema, with the columns of each."""
    wanted: dict[str, set[str]] = {name: set() for name in TABLES}
    for metric in metrics:
        for source, columns in metric.READS.items():
            for table, own in _columns_of(source, columns).items():
                wanted[table] |= {*own}
    return {name: frozenset(columns) for name, columns in wanted.items() if columns}


def _columns_of(source: str, columns: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    if source == receipts_view.NAME:
        return receipts_view.columns_of(columns)
    if source == ledger_view.NAME:
        return {"expected": ledger_view.EXPECTED_COLUMNS, **receipts_view.columns_of(())}
    # Without any column, there would be no rows to count either.
    table = TABLES[source]
    return {source: columns or (table.time or table.columns[0].name,)}


def _names_nobody(table: str, column: str) -> UsageError:
    """Values are reported under names, and "" is the whole run or the network."""
    return UsageError(f"{table} has a row whose {column} is empty: it names nobody")


def _check_seq(batch: Batch) -> None:
    if "seq" not in batch.columns:
        return
    numbers = batch.integers("seq")
    if numbers.min() < 0 or int(numbers.max()) >> SEQ_BITS:
        raise UsageError(
            f"{batch.table.name} has a seq below 0 or of more than {SEQ_BITS} bits: it is no"
            " number of a message"
        )
