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

from penstock.kernel.instant import MILLISECOND
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

_TABLES: Final = ("publications", "expected", "deliveries")


def make_runs(directory: Path, deliveries: int, *, per_run: int = DELIVERIES_PER_RUN) -> list[str]:
    """About so many deliveries, in runs of a million; those that are there already serve."""
    runs = [f"bench.{number:03}" for number in range(-(-deliveries // per_run))]
    there = {*finished_runs(directory)} if directory.is_dir() else set()
    for number, run in enumerate(runs):
        if run not in there:
            _write(directory, run, number, per_run)
    return runs


def _write(directory: Path, run: str, seed: int, deliveries: int) -> None:
    draw = np.random.default_rng(seed)
    messages = -(-deliveries // round(PUBLISHERS * SUBSCRIBERS * (1 - LOSS)))
    publications = _publications(draw, messages)
    expected = _crossed(publications)
    writer = RunWriter(directory, run, tables=[TABLES[name] for name in _TABLES], replace=True)
    _add(writer, "publications", publications)
    _add(writer, "expected", expected)
    _add(writer, "deliveries", _deliveries(draw, expected))
    writer.commit(
        Run(
            experiment="bench",
            profile="bench",
            variant="off",
            seed=seed,
            parameters="{}",
            duration_ns=messages * INTERVAL_NS,
            code_version="bench",
        )
    )


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


def _names(kind: str, codes: NDArray[Any]) -> PackedColumn:
    return PackedColumn(
        codes.astype(np.int32), names=[f"{kind}-{i}" for i in range(int(codes.max()) + 1)]
    )


def _add(writer: RunWriter, table: str, columns: dict[str, Any]) -> None:
    packed = {n: c if isinstance(c, PackedColumn) else PackedColumn(c) for n, c in columns.items()}
    rows = len(packed["seq"].values)
    for start in range(0, rows, ROW_GROUP_ROWS):
        part = slice(start, min(rows, start + ROW_GROUP_ROWS))
        cut = {n: _cut(column, part) for n, column in packed.items()}
        writer.add(Batch(TABLES[table], part.stop - start, cut))


def _cut(column: PackedColumn, part: slice) -> PackedColumn:
    valid = None if column.valid is None else column.valid[part]
    return PackedColumn(column.values[part], valid, column.names)
