"""Joins small batches of a table into larger ones.

A run packs its rows 2 048 at a time, while they are in the processor's cache. Metrics make tens
of numpy calls per batch, whose fixed cost is small only for larger batches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from penstock.trace.batch import Batch, Flags, PackedColumn
from penstock.trace.collector import Consumer

GATHER_ROWS: Final = 16_384


class Gather:
    """Keeps the wanted columns of a run's batches, and passes them on when there are enough.

    Batches of a table must share their name codes, as those of one run do.
    """

    def __init__(self, reads: Mapping[str, Collection[str]], *, rows: int = GATHER_ROWS) -> None:
        self._consume: Consumer | None = None
        self._reads: Final = reads
        self._rows: Final = rows
        self._waiting: Final[dict[str, list[Batch]]] = {table: [] for table in reads}

    def connect(self, consume: Consumer) -> None:
        """Says who gets the batches; until then they wait."""
        self._consume = consume

    def add(self, batch: Batch) -> None:
        """Adds the next rows of a table."""
        waiting = self._waiting.get(batch.table.name)
        if waiting is None:
            return
        waiting.append(batch)
        if self._consume is not None and sum(each.rows for each in waiting) >= self._rows:
            self._pass_on(batch.table.name, self._consume)

    def close(self) -> None:
        """Passes on what is left."""
        assert self._consume is not None, "connect it first"
        for table in self._waiting:
            self._pass_on(table, self._consume)

    def _pass_on(self, table: str, consume: Consumer) -> None:
        waiting = self._waiting[table]
        if not waiting:
            return
        last = waiting[-1]
        columns = {
            name: _joined([batch.columns[name] for batch in waiting])
            for name in last.columns
            if name in self._reads[table]
        }
        rows = sum(batch.rows for batch in waiting)
        waiting.clear()
        consume(Batch(last.table, rows, columns))


def _joined(parts: list[PackedColumn]) -> PackedColumn:
    if len(parts) == 1:
        return parts[0]
    valid: Flags | None = None
    if any(part.valid is not None for part in parts):
        flags = (np.ones(len(p.values), np.bool_) if p.valid is None else p.valid for p in parts)
        valid = np.concatenate(list(flags))
    # The names of the last batch include those of all batches before it.
    return PackedColumn(np.concatenate([p.values for p in parts]), valid, parts[-1].names)
