"""Reads traces, as Arrow tables or as records.

Only finished runs are visible. Files of another minor version are read: unknown columns are
left out, and `notes` lists them; absent columns get their defaults. Another major version, a
damaged file or a column of another type is a `UsageError` that names the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from penstock.kernel.errors import UsageError
from penstock.trace.batch import Packer
from penstock.trace.hash import TraceHash
from penstock.trace.records import Row, Run
from penstock.trace.schema import EVENTS, SCHEMA_MAJOR, SCHEMA_VERSION, TABLES, Column, Table
from penstock.tracefile import arrow
from penstock.tracefile.layout import finished_runs, run_directory, table_path
from penstock.tracefile.row_search import RowFilter, distinct_names, find_rows
from penstock.tracefile.writer import TABLE_KEY, VERSION_KEY

R = TypeVar("R", bound=Row)

READ_ROWS: Final = 1 << 16
_ALL_ROWS: Final[Mapping[str, str | int]] = MappingProxyType({})


class TraceReader:
    """Reads the traces of one directory."""

    __slots__ = ("_directory", "_tables", "notes")

    def __init__(self, directory: Path, *, tables: Mapping[str, Table] = TABLES) -> None:
        if not directory.is_dir():
            raise UsageError(f"{directory} is no directory: name one that holds traces (run=…)")
        self._directory = directory
        self._tables = tables
        # Columns that were left out, each reported once.
        self.notes: list[str] = []

    def run_ids(self) -> list[str]:
        """The names of the finished runs."""
        return finished_runs(self._directory)

    def run(self, run: str) -> Run:
        """The `runs` row of a run."""
        rows = list(self.records(Run, run))
        if len(rows) != 1:
            raise UsageError(f"{self._path(Run.TABLE, run)} has {len(rows)} rows instead of 1")
        return rows[0]

    def has(self, record: type[Row], run: str) -> bool:
        """Whether such records were collected in a run."""
        return self._path(record.TABLE, run).exists()

    def row_count(self, table: str, run: str) -> int:
        """How many rows a table of a run has; 0 if it was not recorded."""
        path = self._path(table, run)
        if not path.exists():
            return 0
        with arrow.open_parquet(path) as file:
            return arrow.row_count(file)

    def table(
        self, record: type[Row], run: str, *, where: Mapping[str, str | int] = _ALL_ROWS
    ) -> arrow.ArrowTable:
        """All rows that have the values of `where`, as one Arrow table."""
        pieces = list(self.pieces(record, run, where=where))
        return arrow.concatenate(self._tables[record.TABLE], pieces)

    def pieces(
        self,
        record: type[Row],
        run: str,
        *,
        where: Mapping[str, str | int] = _ALL_ROWS,
        rows: int = READ_ROWS,
    ) -> Iterator[arrow.ArrowTable]:
        """The rows as Arrow tables of bounded size, for tables larger than memory."""
        table = self._tables[record.TABLE]
        with self._open_table(table, run) as (file, path, columns):
            left = arrow.row_count(file)
            for piece in arrow.tables_in(file, columns, rows):
                left -= piece.num_rows
                yield arrow.filter_rows(_conform(table, path, piece), where)
            # Checksums cover pages, but not the headers with the number of pages.
            if left:
                raise EOFError("rows are missing")

    def records(
        self, record: type[R], run: str, *, where: Mapping[str, str | int] = _ALL_ROWS
    ) -> Iterator[R]:
        """The rows as records; convenient, but slow."""
        return self._records(record, run, self.pieces(record, run, where=where))

    def select(self, record: type[R], run: str, *, where: RowFilter) -> list[R]:
        """The rows that have these values, as records; reads little else."""
        return list(self._records(record, run, self.select_pieces(record, run, where=where)))

    def select_pieces(
        self, record: type[Row], run: str, *, where: RowFilter
    ) -> Iterator[arrow.ArrowTable]:
        """The same as Arrow tables; none if the file lacks a column of `where`."""
        table = self._tables[record.TABLE]
        with self._open_table(table, run) as (file, path, columns):
            if set(where) <= set(columns):
                for piece in find_rows(file, columns, where):
                    yield _conform(table, path, piece)

    def names(self, record: type[Row], column: str, run: str) -> list[str]:
        """The names that occur in one column of a run, sorted."""
        with self._open_table(self._tables[record.TABLE], run) as (file, _, columns):
            return distinct_names(file, column) if column in columns else []

    def trace_hash(self, run: str) -> str:
        """Computes the hash from the rows, for comparison with the one in the `runs` row."""
        whole = TraceHash()
        for table in EVENTS:
            if not self.has(table.record, run):
                continue
            packer = Packer(table)
            for piece in self.pieces(table.record, run):
                if piece.num_rows:
                    whole.add(packer.pack_columns([c.to_pylist() for c in piece.columns]))
        return whole.hexdigest()

    def _records(
        self, record: type[R], run: str, pieces: Iterable[arrow.ArrowTable]
    ) -> Iterator[R]:
        columns = self._tables[record.TABLE].columns
        names = [column.name for column in columns]
        enums = [(column.name, _enum_members(column)) for column in columns if column.enums]
        for piece in pieces:
            for row in arrow.rows_of(piece):
                values = dict(zip(names, row, strict=True))
                for name, members in enums:
                    if values[name] not in members:
                        path = self._path(record.TABLE, run)
                        raise UsageError(f"{path}: {name} cannot be {values[name]!r}")
                    values[name] = members[values[name]]
                yield record(**values)

    @contextmanager
    def _open_table(self, table: Table, run: str) -> Iterator[tuple[Any, Path, list[str]]]:
        """Opens the file of a table; yields it with its path and the columns to read."""
        path = self._path(table.name, run)
        if not path.exists():
            raise UsageError(self._missing_table_text(table, run))
        try:
            with arrow.open_parquet(path) as file:
                yield file, path, self._check_schema(table, path, file)
        except arrow.FileErrors as error:
            raise UsageError(
                f"{path} is damaged or no Parquet file ({_first_line(error)}): run it again"
            ) from error

    def _path(self, table: str, run: str) -> Path:
        return table_path(run_directory(self._directory, run), table)

    def _missing_table_text(self, table: Table, run: str) -> str:
        runs = self.run_ids()
        if run in runs:
            return f"run {run} in {self._directory} did not record {table.name}"
        known = ", ".join(runs[:5]) + (", …" if len(runs) > 5 else "")
        return f"no run {run} in {self._directory}; there are: {known or 'none'}"

    def _check_schema(self, table: Table, path: Path, file: Any) -> list[str]:
        """Checks version and columns; returns the columns to read."""
        metadata = arrow.metadata_of(file)
        version = metadata.get(VERSION_KEY, "")
        major = version.partition(".")[0]
        if not major:
            raise UsageError(f"{path} is no trace of ours: it states no {VERSION_KEY}")
        if major != str(SCHEMA_MAJOR):
            raise UsageError(
                f"{path} has schema version {version} and this program reads {SCHEMA_VERSION}:"
                f" read it with a program of version {major}.x, or run it again"
            )
        if metadata.get(TABLE_KEY, table.name) != table.name:
            raise UsageError(
                f"{path} holds {metadata[TABLE_KEY]}, not {table.name}: rename it back"
            )
        present = arrow.column_names(file)
        missing = [c.name for c in table.columns if c.required and c.name not in present]
        if missing:
            raise UsageError(f"{path} (schema {version}) lacks column {', '.join(missing)}")
        known = {column.name for column in table.columns}
        extra = [name for name in present if name not in known]
        if extra:
            note = f"{path} (schema {version}): ignored column {', '.join(extra)}"
            if note not in self.notes:
                self.notes.append(note)
        return [name for name in present if name in known]


def _conform(table: Table, path: Path, piece: arrow.ArrowTable) -> arrow.ArrowTable:
    try:
        conformed = arrow.conform(table, piece)
    except arrow.CastErrors as error:
        raise UsageError(f"{path} has a column of another type: {_first_line(error)}") from error
    if nulls := arrow.null_columns(table, conformed):
        raise UsageError(f"{path} has no value in some rows of column {', '.join(nulls)}")
    return conformed


def _enum_members(column: Column) -> dict[str | None, Any]:
    known: dict[str | None, Any] = {
        member.value: member for enum in column.enums for member in enum
    }
    return {**known, None: None} if column.nullable else known


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
