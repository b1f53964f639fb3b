"""Finds runs below directories, quarantines unusable ones, and reads the others into Spark.

A run that is damaged, unfinished, of another major version or a duplicate is listed
with the reason and left out of the analysis. Nothing is moved or deleted. `tracefile`
decides whether a trace is readable; only Spark's stricter requirements are checked
here.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.pipeline.schemas import QUARANTINE, RUN, SCHEMAS, TYPES
from penstock.trace.records import Run
from penstock.trace.schema import TABLES, ColumnType, Table
from penstock.tracefile import arrow
from penstock.tracefile.layout import check_run_id, table_path
from penstock.tracefile.reader import TraceReader
from penstock.tracefile.writer import RUN_KEY

_PREFIX: Final = "run="
_UNFINISHED: Final = ".run="
# 31 days.
_DURATION_NS_MAX: Final = 31 * 24 * 3600 * SECOND
# Spark interprets these characters as glob patterns.
_PATTERNS: Final = str.maketrans({mark: f"\\{mark}" for mark in "{}[]*?\\"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A usable run; `missing_columns` has each recorded table with the columns that it lacks."""

    id: str
    path: Path
    row: Run
    missing_columns: Mapping[str, tuple[str, ...]]

    @property
    def directory(self) -> Path:
        """The directory that holds this run and others."""
        return self.path.parent

    def file(self, table: str) -> Path | None:
        """The file of a table; None if the table was not recorded."""
        return table_path(self.path, table) if table in self.missing_columns else None


class QuarantinedRun(msgspec.Struct, frozen=True):
    """An unusable run, with the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """Runs to analyse, runs in quarantine, and notes on the former."""

    runs: tuple[FoundRun, ...]
    quarantine: tuple[QuarantinedRun, ...]
    notes: tuple[str, ...] = ()

    def raise_if_quarantined(self) -> None:
        """Raises a UsageError if any run is in quarantine."""
        if self.quarantine:
            first, *others = self.quarantine
            more = f" (and {len(others)} more)" if others else ""
            raise UsageError(f"{first.path}: {first.reason}{more}")

    def quarantine_json(self) -> str:
        """The quarantine as JSON, for a file beside the results."""
        return json.dumps({"quarantine": msgspec.to_builtins(self.quarantine)}, indent=1)

    def quarantine_table(self, spark: SparkSession) -> DataFrame:
        """The quarantine as a Spark table."""
        return spark.createDataFrame([(q.path, q.reason) for q in self.quarantine], QUARANTINE)


def find_runs(
    directories: Iterable[Path], *, is_strict: bool = False, checks_hashes: bool = False
) -> FoundRuns:
    """Finds runs in and below the directories; `checks_hashes` reads every row of them.

    Finding no usable run is an error; with `is_strict`, so is finding an unusable one.
    """
    searched = list(directories)
    found: dict[str, FoundRun] = {}
    quarantined: list[QuarantinedRun] = []
    notes: list[str] = []
    for path in _candidates(searched):
        try:
            run = _check_run(path, notes, checks_hashes=checks_hashes)
            if (duplicate := found.get(run.id)) is not None:
                raise UsageError(_duplicate_text(run, duplicate))
            found[run.id] = run
        except UsageError as error:
            quarantined.append(QuarantinedRun(str(path), str(error)))
        except (ValueError, KeyError, OverflowError) as error:
            # Damage that the reader does not check for, such as text that is not UTF-8.
            first = str(error).partition("\n")[0]
            quarantined.append(QuarantinedRun(str(path), f"damaged ({first}): run it again"))
    intake = FoundRuns(tuple(found.values()), tuple(quarantined), tuple(dict.fromkeys(notes)))
    if is_strict:
        intake.raise_if_quarantined()
    if not found:
        where = ", ".join(map(str, searched))
        why = f": {quarantined[0].path}: {quarantined[0].reason}" if quarantined else ""
        raise UsageError(
            f"no run to be read in or below {where}{why or ': write some with --keep'}"
        )
    return intake


def trace_views(spark: SparkSession, runs: Sequence[FoundRun]) -> list[str]:
    """Registers every trace table as a SQL view of its name; returns the names."""
    for name in TABLES:
        read_table(spark, runs, name).createOrReplaceTempView(name)
    return list(TABLES)


def read_table(spark: SparkSession, runs: Sequence[FoundRun], table: str) -> DataFrame:
    """A table over all runs that recorded it, with `run` as first column; empty if none did.

    Rows of a run keep their order until the first shuffle.
    """
    alike: dict[tuple[Path, tuple[str, ...]], list[FoundRun]] = defaultdict(list)
    for run in runs:
        if table in run.missing_columns:
            alike[run.directory, run.missing_columns[table]].append(run)
    parts = [_read(spark, TABLES[table], *key, group) for key, group in alike.items()]
    if not parts:
        return spark.createDataFrame([], SCHEMAS[table])
    return reduce(DataFrame.unionByName, parts)


def _read(
    spark: SparkSession,
    table: Table,
    directory: Path,
    missing_columns: Sequence[str],
    runs: Sequence[FoundRun],
) -> DataFrame:
    # basePath makes Spark derive the column `run`, and none from directories above it.
    reader = spark.read.schema(SCHEMAS[table.name]).option("basePath", str(directory))
    rows = reader.parquet(*(_literal(table_path(run.path, table.name)) for run in runs))
    for column in table.columns:
        if column.name in missing_columns:
            default = lit(column.default).cast(TYPES[column.kind])
            rows = rows.withColumn(column.name, default)
    return rows.select(RUN, *(column.name for column in table.columns))


def _literal(path: Path) -> str:
    return str(path).translate(_PATTERNS)


def _candidates(directories: Iterable[Path]) -> Iterator[Path]:
    """Directories of finished and unfinished runs, each once."""
    seen = set()
    for directory in directories:
        if not directory.is_dir():
            raise UsageError(f"{directory} is no directory: name one that holds traces (run=…)")
        for path in _below(directory.absolute()):
            if (real := path.resolve()) not in seen:
                seen.add(real)
                yield path


def _below(directory: Path) -> Iterator[Path]:
    if directory.name.startswith(_PREFIX):
        yield directory
        return
    for parent, names, _ in os.walk(directory):
        deeper = []
        for name in sorted(names):
            if name.startswith((_PREFIX, _UNFINISHED)):
                yield Path(parent, name)
            elif not name.startswith("."):
                deeper.append(name)
        names[:] = deeper


def _check_run(path: Path, notes: list[str], *, checks_hashes: bool) -> FoundRun:
    if path.name.startswith(_UNFINISHED):
        raise UsageError("unfinished: it is being written, or was killed; run it again")
    id_ = check_run_id(path.name.removeprefix(_PREFIX))
    reader = TraceReader(path.parent)
    if not reader.has(Run, id_):
        raise UsageError(f"it has no {Run.TABLE}.parquet, which is written last: run it again")
    row = reader.run(id_)
    _check_row(row)
    recorded = [table for table in TABLES.values() if reader.has(table.record, id_)]
    missing_columns = {table.name: _missing_columns(reader, path, table, id_) for table in recorded}
    if checks_hashes and reader.trace_hash(id_) != row.trace_hash:
        raise UsageError("its rows are not those that were written: their hash is another")
    notes += reader.notes
    return FoundRun(id=id_, path=path, row=row, missing_columns=missing_columns)


def _check_row(row: Run) -> None:
    """Checks the duration and the parameters of a run, on which all metrics depend."""
    if not 0 <= row.duration_ns <= _DURATION_NS_MAX:
        raise UsageError(f"it lasted {row.duration_ns} ns, which no run does: run it again")
    try:
        parameters = json.loads(row.parameters)
    except ValueError:
        parameters = None
    if not isinstance(parameters, dict):
        raise UsageError("its parameters are no JSON object: run it again")


def _missing_columns(reader: TraceReader, path: Path, table: Table, run: str) -> tuple[str, ...]:
    """Checks a file, and returns the columns that it lacks."""
    file_path = table_path(path, table.name)
    try:
        # One row is enough to check version, columns and types.
        next(reader.pieces(table.record, run, rows=1), None)
    except KeyError:
        raise UsageError(f"{file_path} has a column twice: run it again") from None
    with arrow.open_parquet(file_path) as file:
        stated = arrow.metadata_of(file).get(RUN_KEY, run)
        if stated != run:
            raise UsageError(f"{file_path} is of run {stated}: rename it back")
        types = _types(file)
    for column in table.columns:
        if column.name in types and types[column.name] != column.kind:
            kind = types[column.name] or "of a type that no trace has"
            raise UsageError(f"{file_path}: {column.name} is {kind}, not {column.kind}")
    return tuple(column.name for column in table.columns if column.name not in types)


def _types(file: Any) -> dict[str, ColumnType | None]:
    """The trace type of each column in a file; None if no trace has it. Spark widens none."""
    kinds = {kind: name for name, kind in arrow.TYPES.items()}
    texts = {"string": ColumnType.NAME, "large_string": ColumnType.NAME}
    return {
        field.name: kinds.get(field.type) or texts.get(str(field.type))
        for field in file.schema_arrow
    }


def _duplicate_text(run: FoundRun, duplicate: FoundRun) -> str:
    same = "the same trace" if run.row.trace_hash == duplicate.row.trace_hash else "another trace"
    return f"run {run.id} is in {duplicate.directory} too, with {same}: only that one is used"
