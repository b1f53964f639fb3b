"""Traces made up for the benchmark: the same numbers always, as many as are wanted.

Each run has ten publishers and fifty subscribers, all of whom want everything. One
message in a hundred is lost on the way to a subscriber, delays vary enough for
some to overtake others, and an ordering holds one in ten up for a while.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.trace.batch import Batch, PackedColumn
from penstock.trace.fates import PublisherFate, ReceiverFate
from penstock.trace.records import Run
from penstock.trace.schema import TABLES
from penstock.tracefile.layout import finished_runs
from penstock.tracefile.writer import ROW_GROUP_ROWS, RunWriter

DELIVERIES_PER_RUN: Final = 1_000_000
PUBLISHERS: Final = 10
SUBSCRIBERS: Final = 50
INTERVAL_NS: Final = 20 * MILLISECOND
LOSS: Final = 0.01
HELD: Final = 0.1


def make_runs(directory: Path, deliveries: int, *, per_run: int = DELIVERIES_PER_RUN) -> list[str]:
    """About so many deliveries, in runs of a million; those that are there already serve."""
    runs = [f"bench.{number:03}" for number in range(-(-deliveries // per_run))]
    there = {*finished_runs(directory)} if directory.is_dir() else set()
    for number, run in enumerate(runs):
        if run not in there:
            _write(directory, run, number, per_run)
    return runs


def make_tables(seed: int, deliveries: int) -> dict[str, Batch]:
    """The tables of one run of about so many deliveries, and its arrivals."""
    columns = _columns(seed, deliveries)
    columns["arrivals"] = _arrivals(columns["deliveries"])
    return {name: _batch(name, own) for name, own in columns.items()}


def duration_ns(deliveries: int) -> Duration:
    """How long a run of about so many deliveries is."""
    return _messages(deliveries) * INTERVAL_NS


def cut(batch: Batch, start: int, stop: int) -> Batch:
    """Some consecutive rows of a batch; their columns are views."""
    stop = min(stop, batch.rows)
    columns = {name: _cut(column, slice(start, stop)) for name, column in batch.columns.items()}
    return Batch(batch.table, stop - start, columns)


def _write(directory: Path, run: str, seed: int, deliveries: int) -> None:
    tables = {name: _batch(name, own) for name, own in _columns(seed, deliveries).items()}
    writer = RunWriter(directory, run, tables=[TABLES[name] for name in tables], replace=True)
    for batch in tables.values():
        for start in range(0, batch.rows, ROW_GROUP_ROWS):
            writer.add(cut(batch, start, start + ROW_GROUP_ROWS))
    writer.commit(
        Run(
            experiment="bench",
            profile="bench",
            variant="off",
            seed=seed,
            parameters="{}",
            # Whole seconds, and the last message has time to arrive.
            duration_ns=(duration_ns(deliveries) // SECOND + 2) * SECOND,
            code_version="bench",
        )
    )


def _columns(seed: int, deliveries: int) -> dict[str, dict[str, Any]]:
    """Without arrivals: deliveries say when each message arrived."""
    draw = np.random.default_rng(seed)
    publications = _publications(draw, _messages(deliveries))
    expected = _crossed(publications)
    return {
        "publications": publications,
        "expected": expected,
        "deliveries": _deliveries(draw, expected),
    }


def _messages(deliveries: int) -> int:
    """Of each publisher."""
    return -(-deliveries // round(PUBLISHERS * SUBSCRIBERS * (1 - LOSS)))


def _publications(draw: np.random.Generator, messages: int) -> dict[str, Any]:
    """Every publisher sends one message in each interval."""
    count = messages * PUBLISHERS
    seq = np.repeat(np.arange(messages), PUBLISHERS)
    at = seq * INTERVAL_NS + draw.integers(0, INTERVAL_NS, count)
    order = np.argsort(at, kind="stable")
    at = at[order]
    return {
        "publisher": _names("publisher", np.tile(np.arange(PUBLISHERS), messages)[order]),
        "epoch": np.zeros(count, np.int64),
        "seq": seq[order],
        "offered_ns": at,
        "published_ns": at,
        "size_bytes": np.full(count, 200),
        "fate": PackedColumn(np.zeros(count, np.int32), names=[PublisherFate.SENT.value]),
        "traffic_class": PackedColumn(np.zeros(count, np.int32), names=["data"]),
        "header_bytes": np.full(count, 60),
    }


def _crossed(publications: dict[str, Any]) -> dict[str, Any]:
    """Each message for each subscriber."""
    count = len(publications["seq"])
    publisher = publications["publisher"].values
    return {
        "publisher": _names("publisher", np.repeat(publisher, SUBSCRIBERS)),
        "epoch": np.zeros(count * SUBSCRIBERS, np.int64),
        "seq": np.repeat(publications["seq"], SUBSCRIBERS),
        "subscriber": _names("subscriber", np.tile(np.arange(SUBSCRIBERS), count)),
        "published_ns": np.repeat(publications["published_ns"], SUBSCRIBERS),
    }


def _deliveries(draw: np.random.Generator, expected: dict[str, Any]) -> dict[str, Any]:
    delivered_rows = np.flatnonzero(draw.random(len(expected["seq"])) >= LOSS)
    publisher, subscriber = (
        expected[who].values[delivered_rows] for who in ("publisher", "subscriber")
    )
    # Some pairs are further apart than others.
    base_ms = draw.uniform(5, 100, (PUBLISHERS, SUBSCRIBERS))[publisher, subscriber]
    delay_ns = (base_ms + draw.exponential(10, len(delivered_rows))) * MILLISECOND
    arrived = expected["published_ns"][delivered_rows] + delay_ns.astype(np.int64)
    is_held = draw.random(len(delivered_rows)) < HELD
    held_ns = draw.exponential(5 * MILLISECOND, len(delivered_rows)).astype(np.int64)
    delivered = arrived + np.where(is_held, held_ns, 0)
    order = np.argsort(delivered, kind="stable")
    return {
        "ordering": PackedColumn(np.zeros(len(delivered_rows), np.int32), names=["default"]),
        "subscriber": _names("subscriber", subscriber[order]),
        "publisher": _names("publisher", publisher[order]),
        "epoch": np.zeros(len(delivered_rows), np.int64),
        "seq": expected["seq"][delivered_rows][order],
        "published_ns": expected["published_ns"][delivered_rows][order],
        "arrived_ns": arrived[order],
        "delivered_ns": delivered[order],
        "latch_ns": PackedColumn(np.where(is_held, held_ns, 0)[order], is_held[order]),
        "fate": PackedColumn(
            np.zeros(len(delivered_rows), np.int32), names=[ReceiverFate.DELIVERED.value]
        ),
    }


def _arrivals(delivered: dict[str, Any]) -> dict[str, Any]:
    """What was delivered, as it arrived."""
    order = np.argsort(delivered["arrived_ns"], kind="stable")
    count = len(order)
    same = ("epoch", "seq", "published_ns", "arrived_ns")
    return {
        **{who: _names(who, delivered[who].values[order]) for who in ("subscriber", "publisher")},
        **{name: delivered[name][order] for name in same},
        "brokers": np.ones(count, np.int64),
        "is_repair": np.zeros(count, np.bool_),
    }


def _names(kind: str, codes: NDArray[Any]) -> PackedColumn:
    return PackedColumn(
        codes.astype(np.int32), names=[f"{kind}-{i}" for i in range(int(codes.max()) + 1)]
    )


def _batch(table: str, columns: dict[str, Any]) -> Batch:
    packed = {n: c if isinstance(c, PackedColumn) else PackedColumn(c) for n, c in columns.items()}
    return Batch(TABLES[table], len(packed["seq"].values), packed)


def _cut(column: PackedColumn, part: slice) -> PackedColumn:
    valid = None if column.valid is None else column.valid[part]
    return PackedColumn(column.values[part], valid, column.names)
