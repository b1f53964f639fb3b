"""One run through kernels: each table is read once, piece by piece, for all of them.

Rows of arrivals and deliveries must stand in order of time. Where they do not, the
run is begun anew with that table put in order first (`pieces` does it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from penstock.kernel.errors import UsageError
from penstock.pipeline.kernels import METRICS
from penstock.pipeline.kernels.base import Facts, Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.ledger import EXPECTED_COLUMNS
from penstock.pipeline.kernels.pieces import Pieces, UnsortedError, order_columns
from penstock.pipeline.kernels.receipts import RECEIPTS, Receipts
from penstock.trace.schema import TABLES, Table
from penstock.tracefile.reader import READ_ROWS, TraceReader


def measure(
    directory: Path, run: str, metrics: Iterable[str] = METRICS, *, piece_rows: int = READ_ROWS
) -> Findings:
    """What the named metrics find in a run."""
    chosen = kernels_named(metrics)
    facts = Facts.of(run, TraceReader(directory).run(run))
    reads = _columns(chosen)
    reader = TraceReader(directory, tables=_narrowed(reads))
    recorded = frozenset(name for name in reads if reader.has(TABLES[name].record, run))
    unsorted: set[str] = set()
    while True:
        subject = Subject(facts, recorded)
        kernels = [kernel(subject) for kernel in chosen]
        try:
            for name in reads:
                if name in recorded:
                    pieces = Pieces(reader, name, run, piece_rows, is_sorted=name not in unsorted)
                    _feed(pieces, kernels, subject)
        except UnsortedError:
            unsorted.add(name)
            continue
        findings = Findings(run)
        for kernel in kernels:
            kernel.tell(findings)
        return findings


def kernels_named(metrics: Iterable[str]) -> list[type[Kernel]]:
    """Metrics by the names that jobs use."""
    # One that is named twice would count twice.
    chosen = list(dict.fromkeys(metrics))
    for name in chosen:
        if name not in METRICS:
            raise UsageError(f"there is no metric {name!r}: choose from {', '.join(METRICS)}")
    return [METRICS[name] for name in chosen]


def _columns(kernels: Iterable[type[Kernel]]) -> dict[str, set[str]]:
    """The tables to read, in their order in the schema, and the columns of each."""
    wanted: dict[str, set[str]] = {name: set() for name in TABLES}
    for kernel in kernels:
        reads = dict(kernel.READS)
        shared: dict[str, tuple[str, ...]] = {}
        if kernel.USES_LEDGER:
            shared["expected"] = EXPECTED_COLUMNS
        if kernel.USES_LEDGER or kernel.SEES_RECEIPTS:
            shared |= RECEIPTS
        for table, columns in (*reads.items(), *shared.items()):
            wanted[table] |= {*columns}
    for table in RECEIPTS:
        if wanted[table]:
            wanted[table] |= order_columns(table)
    return {name: columns for name, columns in wanted.items() if columns}


def _narrowed(reads: Mapping[str, set[str]]) -> dict[str, Table]:
    """The tables as if they had no other columns: those are not even decoded."""
    return {
        name: replace(
            TABLES[name], columns=tuple(c for c in TABLES[name].columns if c.name in columns)
        )
        for name, columns in reads.items()
    }


def _feed(pieces: Pieces, kernels: Sequence[Kernel], subject: Subject) -> None:
    table = pieces.table
    takers = [kernel for kernel in kernels if table in kernel.READS]
    seers = [kernel for kernel in kernels if kernel.SEES_RECEIPTS and table in RECEIPTS]
    keeps = any(kernel.USES_LEDGER for kernel in kernels)
    for rows in pieces.rows(subject.books):
        for kernel in takers:
            kernel.take(rows)
        if keeps and table == "expected":
            subject.ledger.expect(rows)
        if table in RECEIPTS and (keeps or seers):
            receipts = Receipts(rows, subject.books)
            subject.named.update(receipts.named.tolist())
            if receipts.count:
                if keeps:
                    subject.ledger.receive(receipts)
                for kernel in seers:
                    kernel.see(receipts)
    subject.unsorted.update(pieces.unsorted)
