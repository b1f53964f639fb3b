"""Metrics of a recorded run: each table is read once, piece by piece, for all of them.

Rows of a table must be in order of its time. Where they are not, the run is measured again with
that table sorted first, rows of equal time as they stand; of arrivals and deliveries,
`unsorted_rows` says how many rows came after a later one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np

from penstock.metrics.base import AdditiveMetric, MetricType
from penstock.metrics.codes import NETWORK, RunCodes
from penstock.metrics.measurement import Measurement, blamed, columns_read, outputs_of
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.metrics.views import receipts as receipts_view
from penstock.trace.batch import Batch, Ints
from penstock.trace.records import Host
from penstock.trace.schema import TABLES, Table
from penstock.tracefile.arrow import batch_of
from penstock.tracefile.reader import READ_ROWS, TraceReader

# Runs are split by the names in this column.
_SPLIT_BY: Final = "subscriber"


@dataclass(frozen=True, slots=True)
class Part:
    """One of several disjoint sets of subscribers; the only part has them all."""

    number: int = 0
    count: int = 1


def measure(
    directory: Path, run: str, metrics: Sequence[MetricType], *, piece_rows: int = READ_ROWS
) -> Results:
    """What these metrics find in a run of a directory of traces."""
    return _measured(directory, run, metrics, Part(), piece_rows).finish()


def tally_part(
    directory: Path,
    run: str,
    metrics: Sequence[MetricType],
    part: Part,
    *,
    piece_rows: int = READ_ROWS,
) -> list[Tally]:
    """The tallies of additive metrics over one part of a run.

    A part reads the rows of its subscribers; the first one also reads all tables that have no
    column `subscriber`.
    """
    return _measured(directory, run, metrics, part, piece_rows).tallies()


def merge_parts(
    directory: Path,
    run: str,
    metrics: Sequence[MetricType],
    parts: Iterable[Sequence[Tally]],
) -> Results:
    """What follows from the tallies of all parts of a run."""
    sums = [Tally() for _ in metrics]
    for tallies in parts:
        for total, own in zip(sums, tallies, strict=True):
            total.merge(own)
    run_info = _run_info(TraceReader(directory), run)
    results = Results(run, outputs_of(metrics))
    for metric, total in zip(metrics, sums, strict=True):
        assert issubclass(metric, AdditiveMetric), f"{metric} needs whole runs"
        with blamed(metric):
            metric.report(total, run_info, results)
    return results


def _measured(
    directory: Path, run: str, metrics: Sequence[MetricType], part: Part, piece_rows: int
) -> Measurement:
    """The measurement of a run, or of a part, after its last batch."""
    reads = _reads(metrics, part)
    whole = _run_info(TraceReader(directory), run)
    reader = TraceReader(directory, tables=_narrowed(reads))
    unsorted: dict[str, Counter[str]] = {}
    while True:
        received = (unsorted[table] for table in receipts_view.TABLES if table in unsorted)
        info = replace(whole, codes=RunCodes(), unsorted_rows=sum(received, Counter()))
        measurement = Measurement(info, metrics)
        pieces = _Pieces(reader, run, piece_rows)
        try:
            for table in reads:
                if table in whole.recorded:
                    for batch in pieces.batches(table, is_sorted=table not in unsorted):
                        measurement.update(_of_part(batch, part))
        except _UnsortedError as error:
            unsorted[error.table] = pieces.falls(error.table)
            continue
        return measurement


def _run_info(reader: TraceReader, run: str) -> RunInfo:
    recorded = frozenset(name for name in TABLES if reader.has(TABLES[name].record, run))
    # Traces before schema 1.4 have no hosts.
    hosts = list(reader.records(Host, run)) if Host.TABLE in recorded else []
    return RunInfo.of(run, reader.run(run), recorded=recorded, hosts=hosts)


def _reads(metrics: Sequence[MetricType], part: Part) -> dict[str, frozenset[str]]:
    """The columns to read of each table that concerns a part."""
    reads = columns_read(metrics)
    if part.count == 1:
        return reads
    split = {name for name in reads if any(c.name == _SPLIT_BY for c in TABLES[name].columns)}
    return {
        name: columns | {_SPLIT_BY} if name in split else columns
        for name, columns in reads.items()
        if name in split or part.number == 0
    }


def _of_part(batch: Batch, part: Part) -> Batch:
    """The rows of a part's subscribers."""
    if part.count == 1 or _SPLIT_BY not in batch.columns:
        return batch
    names = batch.names(_SPLIT_BY)
    is_ours = np.array([crc32(name.encode()) % part.count == part.number for name in names])
    return batch.select(is_ours[batch.codes(_SPLIT_BY)])


def _narrowed(reads: Mapping[str, Collection[str]]) -> dict[str, Table]:
    """The tables as if they had no other columns: those are not even decoded."""
    return {
        name: replace(
            TABLES[name], columns=tuple(c for c in TABLES[name].columns if c.name in columns)
        )
        for name, columns in reads.items()
    }


class _UnsortedError(Exception):
    """Rows are not in order of time."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table: Final = table


class _Pieces:
    """The tables of one run, a batch at a time."""

    def __init__(self, reader: TraceReader, run: str, rows: int) -> None:
        self._reader, self._run, self._rows = reader, run, rows

    def batches(self, table: str, *, is_sorted: bool) -> Iterator[Batch]:
        """All rows; raises for a table that must be sorted first and is said to be."""
        record, layout = TABLES[table].record, TABLES[table]
        if not is_sorted:
            yield from self._sorted(table)
            return
        clock = _Clock(table) if layout.time is not None else None
        for found in self._reader.pieces(record, self._run, rows=self._rows):
            batch = batch_of(layout, found)
            if clock is not None and clock.falls(batch):
                raise _UnsortedError(table)
            yield batch

    def falls(self, table: str) -> Counter[str]:
        """How many rows come after a later one, by ordering."""
        found = self._reader.table(TABLES[table].record, self._run)
        return _Clock(table).falls(batch_of(TABLES[table], found))

    def _sorted(self, table: str) -> Iterator[Batch]:
        found = self._reader.table(TABLES[table].record, self._run)
        times = batch_of(TABLES[table], found).integers(_time_of(table))
        order = np.argsort(times, kind="stable")
        for start in range(0, len(order), self._rows):
            yield batch_of(TABLES[table], found.take(order[start : start + self._rows]))


class _Clock:
    """Watches whether times fall; remembers the last of each ordering."""

    def __init__(self, table: str) -> None:
        self._time: Final = _time_of(table)
        self._within: Final = TABLES[table].within
        self._last: dict[str, int] = {}

    def falls(self, batch: Batch) -> Counter[str]:
        """How many rows come after a later one, of each ordering that has such rows."""
        found: Counter[str] = Counter()
        if self._time not in batch.columns:
            return found
        times, has_time = batch.integers(self._time), batch.present(self._time)
        if self._within is None or self._within not in batch.columns:
            groups = [(NETWORK, has_time)]
        else:
            codes, names = batch.codes(self._within), batch.names(self._within)
            used = np.flatnonzero(np.bincount(codes)).tolist() if batch.rows else []
            groups = [(names[code], (codes == code) & has_time) for code in used]
        for name, rows in groups:
            if count := self._falls_of(name, times[rows]):
                found[name] = count
        return found

    def _falls_of(self, name: str, times: Ints) -> int:
        if not times.size:
            return 0
        before = np.append(self._last.get(name, int(times[0])), times[:-1])
        self._last[name] = int(times[-1])
        return int((times < before).sum())


def _time_of(table: str) -> str:
    time = TABLES[table].time
    assert time is not None
    return time
