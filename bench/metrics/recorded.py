"""What metrics cost over a trace file, beside reading and decoding it, whole and in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

from penstock.metrics.base import MetricType
from penstock.metrics.measurement import columns_read
from penstock.metrics.results import Results
from penstock.trace.schema import TABLES
from penstock.tracefile.arrow import batch_of
from penstock.tracefile.measure import measure
from penstock.tracefile.reader import TraceReader


@dataclass(frozen=True, slots=True)
class FileCost:
    """CPU seconds, and rows of all tables that the metrics read."""

    rows: int
    reading_s: float
    measuring_s: float


def file_cost(directory: Path, run: str, metrics: Sequence[MetricType], *, rounds: int) -> FileCost:
    """The least of several rounds in turn."""
    reading, measuring = [], []
    for _ in range(rounds):
        reading.append(_cpu_s(lambda: read_tables(directory, run, metrics)))
        measuring.append(_cpu_s(lambda: measure(directory, run, metrics)))
    return FileCost(read_tables(directory, run, metrics), min(reading), min(measuring))


def same_results(one: Results, other: Results) -> bool:
    """Whether two measurements of a run found the same; pairs may be in another order."""
    return _comparable(one) == _comparable(other)


def read_tables(directory: Path, run: str, metrics: Sequence[MetricType]) -> int:
    """Decodes what these metrics read, as `measure` does; returns how many rows there were."""
    tables = {
        name: replace(
            TABLES[name], columns=tuple(c for c in TABLES[name].columns if c.name in columns)
        )
        for name, columns in columns_read(metrics).items()
    }
    reader, rows = TraceReader(directory, tables=tables), 0
    for table in tables.values():
        if reader.has(table.record, run):
            rows += sum(batch_of(table, piece).rows for piece in reader.pieces(table.record, run))
    return rows


def _cpu_s(call: Callable[[], object]) -> float:
    began = process_time()
    call()
    return process_time() - began


def _comparable(found: Results) -> dict[Any, Any]:
    return {
        **found.values,
        **{("series", key): series.values.tolist() for key, series in found.series.items()},
        **{
            ("histogram", key): [part.tolist() for part in histogram]
            for key, histogram in found.histograms.items()
        },
        **{("curve", key): curve for key, curve in found.curves.items()},
        **{
            (pairs.metric, pairs.ordering, name, peer): value
            for pairs in found.pairs
            for name, peer, value in zip(
                pairs.names, pairs.peers, pairs.values.tolist(), strict=True
            )
        },
    }
