"""Writes one run: batches of columns in, one Parquet file per table out.

Batches are combined into large row groups, since the cost of opening a group does not depend on
its size. A run is not visible before `commit`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.trace.batch import Batch, Packer
from penstock.trace.records import Host, Run
from penstock.trace.schema import EVENTS, HOSTS, RUNS, SCHEMA_VERSION, Table
from penstock.tracefile.arrow import ParquetFile
from penstock.tracefile.layout import (
    lock_run,
    remove_run,
    run_directory,
    table_path,
    unfinished_directory,
)

ROW_GROUP_ROWS: Final = 1 << 18

VERSION_KEY: Final = "penstock.schema"
TABLE_KEY: Final = "penstock.table"
RUN_KEY: Final = "penstock.run"


class RunWriter:
    """The files of one run; every recorded table has a file, even without rows."""

    __slots__ = ("_directory", "_files", "_lock", "_pending", "_replace", "_run", "_tables")

    def __init__(
        self,
        directory: Path,
        run: str,
        *,
        tables: Iterable[Table] = EVENTS,
        replace: bool = False,
    ) -> None:
        final = run_directory(directory, run)
        if final.exists() and not replace:
            raise UsageError(f"{final} exists already: choose another directory, or replace it")
        self._directory, self._run, self._replace = directory, run, replace
        self._tables = {table.name: table for table in (*tables, HOSTS, RUNS)}
        self._pending: dict[str, list[Batch]] = {name: [] for name in self._tables}
        self._files: dict[str, ParquetFile] = {}
        staging = unfinished_directory(directory, run)
        with _disk_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = lock_run(directory, run)
            # Leftovers of a killed run of this name would mix with the new files.
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            for name, table in self._tables.items():
                metadata = {VERSION_KEY: SCHEMA_VERSION, TABLE_KEY: name, RUN_KEY: run}
                self._files[name] = ParquetFile(table_path(staging, name), table, metadata)

    def add(self, batch: Batch) -> None:
        """Adds the next rows of a table."""
        name = batch.table.name
        pending = self._pending[name]
        pending.append(batch)
        if sum(each.rows for each in pending) >= ROW_GROUP_ROWS:
            self._write(name)

    def commit(self, run: Run, hosts: Sequence[Host] = ()) -> None:
        """Finishes the files and makes the run visible."""
        self.add(Packer(RUNS).pack([run]))
        if hosts:
            self.add(Packer(HOSTS).pack(hosts))
        for name in self._tables:
            self._write(name)
        with _disk_errors(self._directory):
            self._close()
            if self._replace:
                remove_run(self._directory, self._run)
            final = run_directory(self._directory, self._run)
            unfinished_directory(self._directory, self._run).rename(final)
            self._release_lock()

    def abandon(self) -> None:
        """Removes all files of the run."""
        self._close()
        shutil.rmtree(unfinished_directory(self._directory, self._run), ignore_errors=True)
        self._release_lock()

    def _release_lock(self) -> None:
        Path(self._lock.name).unlink(missing_ok=True)
        self._lock.close()

    def _write(self, name: str) -> None:
        pending = self._pending[name]
        if pending:
            with _disk_errors(self._directory):
                self._files[name].write(self._tables[name], pending)
            pending.clear()

    def _close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()


@contextmanager
def _disk_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"cannot write traces into {directory}: {reason}") from error
