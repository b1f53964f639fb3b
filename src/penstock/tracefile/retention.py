"""What is kept of a run: always its metrics and trace hash, on request its rows.

A run records into a `Recording`. It always computes the hash and feeds the metrics; with `keep`
it also writes files. The records and the hash are the same either way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

from msgspec.structs import replace as changed

from penstock.trace.collector import Collector, Consumer
from penstock.trace.records import Host, Run
from penstock.trace.schema import EVENTS, SCHEMA_VERSION, Table
from penstock.tracefile.writer import RunWriter


class Recording:
    """Records one run into `keep`, a directory of traces; with None, writes no files.

    A context manager: a run that ends without `finish` leaves no files.
    """

    __slots__ = ("_collector", "_writer", "add", "collects")

    def __init__(
        self,
        run: str,
        *,
        keep: Path | None,
        replace: bool = False,
        tables: Iterable[Table] = EVENTS,
        metrics: Sequence[Consumer] = (),
    ) -> None:
        chosen = tuple(tables)
        self._writer = (
            None if keep is None else RunWriter(keep, run, tables=chosen, replace=replace)
        )
        files = [] if self._writer is None else [self._writer.add]
        self._collector = Collector([*metrics, *files], tables=chosen)
        # Bound here, since a run calls them once per record.
        self.add = self._collector.add
        self.collects = self._collector.collects

    def finish(self, run: Run, hosts: Sequence[Host] = ()) -> Run:
        """Ends the recording; returns the run with its hash."""
        done = changed(run, schema_version=SCHEMA_VERSION, trace_hash=self._collector.close())
        if self._writer is not None:
            self._writer.commit(done, hosts)
            self._writer = None
        return done

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None
