"""The layout of gold tables on disk, and their reading without Spark.

    DIR/figures/, DIR/summary/                         a few rows per run
    DIR/pairs/, DIR/seconds/, DIR/histograms/          one directory `metric=…` per metric
    .DIR.unfinished-PID/                               being written, or left by a killed job

All are Parquet with zstd. One rename makes them visible together.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from glob import escape
from pathlib import Path
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]

from penstock.kernel.errors import UsageError
from penstock.pipeline.wide_table import COLUMNS, WIDE

PARTITIONED: Final = ("pairs", "seconds", "histograms")

_TEXT: Final = pa.string()
_SUMMARY: Final = {
    **dict.fromkeys(("experiment", "profile", "variant", "ordering", "parameters"), _TEXT),
    "metric": _TEXT,
    "unit": _TEXT,
    "seeds": pa.int64(),
    "mean": pa.float64(),
    "ci95": pa.float64(),
}
SCHEMAS: Final = {
    **{
        name: pa.schema([(column, WIDE.field(column).type) for column in columns])
        for name, columns in COLUMNS.items()
    },
    "summary": pa.schema(list(_SUMMARY.items())),
}
_BY_METRIC: Final = ds.partitioning(pa.schema([("metric", _TEXT)]), flavor="hive")


def unfinished_directory(directory: Path) -> Path:
    """Where tables are written until all are complete; readers skip names with a dot."""
    return directory.with_name(f"{_unfinished_prefix(directory)}{os.getpid()}")


def remove_unfinished(directory: Path) -> None:
    """Deletes directories of killed jobs, but not those of running processes."""
    prefix = _unfinished_prefix(directory)
    for unfinished in directory.parent.glob(f"{escape(prefix)}*"):
        if not Path("/proc", unfinished.name.removeprefix(prefix)).exists():
            shutil.rmtree(unfinished, ignore_errors=True)


def _unfinished_prefix(directory: Path) -> str:
    return f".{directory.name}.unfinished-"


def check_output_directory(directory: Path) -> Path:
    """The absolute output directory; refuses one that holds anything but gold tables."""
    path = directory.absolute()
    if not path.exists():
        return path
    if not path.is_dir():
        raise UsageError(f"{directory} is a file: name a directory for the tables")
    others = sorted(child.name for child in path.iterdir() if child.name not in SCHEMAS)
    if others:
        raise UsageError(
            f"{directory} holds {others[0]}, which is no gold table: name a new directory,"
            " such as gold/ in it"
        )
    return path


def read_gold(directory: Path | str, *, metrics: Iterable[str] | None = None) -> dict[str, Any]:
    """Reads all tables as Arrow tables, with the given metrics or with all."""
    chosen = None if metrics is None else ds.field("metric").isin(list(metrics))
    return {name: _read(Path(directory, name), name, chosen) for name in SCHEMAS}


def _read(path: Path, name: str, chosen: Any) -> Any:
    if not path.is_dir():
        raise UsageError(
            f"{path.parent} has no table {name}: let 'penstock pipeline' write it again"
        )
    partitioning = _BY_METRIC if name in PARTITIONED else None
    try:
        data = ds.dataset(path, schema=SCHEMAS[name], format="parquet", partitioning=partitioning)
        return data.to_table(filter=chosen)
    except (OSError, pa.ArrowException) as error:
        first = str(error).splitlines()[0]
        raise UsageError(f"{path} cannot be read ({first}): write it again") from None
