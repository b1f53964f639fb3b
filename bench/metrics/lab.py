"""What metrics cost a run of the lab: CPU beside that of recording, and memory that stays.

Records are fed as the lab feeds them, Collector to Gather to Measurement. They are made a
batch at a time, which is not counted, so that they are in the processor's cache as in a run.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import process_time_ns
from typing import Any, Final

from bench.pipeline.traces import cut, duration_ns, make_tables
from penstock.metrics.base import MetricType
from penstock.metrics.gather import GATHER_ROWS, Gather
from penstock.metrics.measurement import Measurement
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, PackedColumn
from penstock.trace.collector import BATCH_ROWS, Collector
from penstock.trace.records import Row
from penstock.trace.schema import Column

# What is repeated to make a long run: nothing waits to be gathered at its end.
_PERIOD_ROWS: Final = 4 * GATHER_ROWS
# About as many are made, and some are lost.
_PERIOD_DELIVERIES: Final = _PERIOD_ROWS * 11 // 10


@dataclass(frozen=True, slots=True)
class LabCost:
    """CPU nanoseconds for each message."""

    recording_ns: float
    metrics_ns: float


class _CpuClock:
    """CPU time of this process within `with`, added up."""

    __slots__ = ("_began_ns", "spent_ns")

    def __init__(self) -> None:
        self.spent_ns = 0
        self._began_ns = 0

    def __enter__(self) -> None:
        self._began_ns = process_time_ns()

    def __exit__(self, *_: object) -> None:
        self.spent_ns += process_time_ns() - self._began_ns


def lab_cost(
    tables: Sequence[Batch], metrics: Sequence[MetricType], *, gather_rows: int = GATHER_ROWS
) -> LabCost:
    """Records a run of these tables, and measures it on the way."""
    messages = min(batch.rows for batch in tables)
    measurement = Measurement(_run_info(tables, messages), metrics)
    gather = Gather(measurement.reads, rows=gather_rows)
    gather.connect(measurement.update)
    whole, measuring = _CpuClock(), _CpuClock()

    def measure(batch: Batch) -> None:
        with measuring:
            gather.add(batch)

    collector = Collector([measure], tables=[batch.table for batch in tables])
    add = collector.add
    for records in _records(tables):
        with whole:
            for record in records:
                add(record)
    with whole:
        collector.close()
        with measuring:
            gather.close()
            measurement.finish()
    recording_ns = whole.spent_ns - measuring.spent_ns
    return LabCost(recording_ns / messages, measuring.spent_ns / messages)


def kept_bytes(
    tables: Sequence[str], metrics: Sequence[MetricType], *, messages: tuple[int, int]
) -> float:
    """Bytes that metrics keep of each message, between two lengths of a run."""
    few, many = (count // _PERIOD_ROWS for count in messages)
    made = make_tables(0, _PERIOD_DELIVERIES)
    period = [cut(made[name], 0, _PERIOD_ROWS) for name in tables]
    measurement = Measurement(_run_info(period, many * _PERIOD_ROWS), metrics)
    gather = Gather(measurement.reads)
    gather.connect(measurement.update)
    kept = {}
    tracemalloc.start()
    try:
        for number in range(1, many + 1):
            for batch in period:
                for start in range(0, _PERIOD_ROWS, BATCH_ROWS):
                    gather.add(_later(cut(batch, start, start + BATCH_ROWS), number))
            kept[number] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return (kept[many] - kept[few]) / ((many - few) * _PERIOD_ROWS)


def _run_info(tables: Sequence[Batch], messages: int) -> RunInfo:
    recorded = frozenset(batch.table.name for batch in tables)
    return RunInfo(id="bench", origin=0, duration=duration_ns(messages), recorded=recorded)


def _later(batch: Batch, periods: int) -> Batch:
    """The same rows so many periods later: numbers and times follow those of the last one."""
    columns = dict(batch.columns)
    span_ns = duration_ns(_PERIOD_DELIVERIES)
    for name, column in columns.items():
        step = span_ns if name.endswith("_ns") else _PERIOD_ROWS if name == "seq" else 0
        if step:
            columns[name] = PackedColumn(column.values + step * periods, column.valid)
    return Batch(batch.table, batch.rows, columns)


def _records(tables: Sequence[Batch]) -> Iterator[list[Row]]:
    """The rows as records, a batch of each table in turn."""
    for start in range(0, max(batch.rows for batch in tables), BATCH_ROWS):
        for batch in tables:
            if start < batch.rows:
                yield _records_of(cut(batch, start, start + BATCH_ROWS))


def _records_of(batch: Batch) -> list[Row]:
    columns = [_values(column, batch.columns) for column in batch.table.columns]
    return [*map(batch.table.record, *columns)]


def _values(column: Column, columns: Mapping[str, PackedColumn]) -> Iterator[Any]:
    packed = columns[column.name]
    values = packed.values.tolist()
    if packed.names is not None:
        # Names are shared objects in a run, too.
        names: list[Any] = list(packed.names)
        for enum in column.enums:
            names = [enum(name) for name in names]
        return map(names.__getitem__, values)
    if packed.valid is None:
        return iter(values)
    return (v if has else None for v, has in zip(values, packed.valid.tolist(), strict=True))
