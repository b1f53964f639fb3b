"""Gold tables on disk, for readers that need no Spark.

    DIR/figures/, DIR/summary/                         a few rows for each run
    DIR/pairs/, DIR/seconds/, DIR/histograms/          one directory `metric=…` for each metric
    .DIR.unfinished-PID/                               being written, or left by a killed job

All are Parquet with zstd, and appear together by one rename.
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
from penstock.pipeline.kernels.findings import COLUMNS, WIDE

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
    """Where gold tables lie until all are there; Spark and others skip names with a dot."""
    return directory.with_name(f"{_unfinished_prefix(directory)}{os.getpid()}")


def remove_unfinished(directory: Path) -> None:
    """Deletes what jobs left that were killed; others may be writing."""
    prefix = _unfinished_prefix(directory)
    for left in directory.parent.glob(f"{escape(prefix)}*"):
        if not Path("/proc", left.name.removeprefix(prefix)).exists():
            shutil.rmtree(left, ignore_errors=True)


def _unfinished_prefix(directory: Path) -> str:
    return f".{directory.name}.unfinished-"


def check_output_directory(directory: Path) -> Path:
    """Where gold tables are to go, made absolute; refuses to replace anything but such tables."""
    place = directory.absolute()
    if not place.exists():
        return place
    if not place.is_dir():
        raise UsageError(f"{directory} is a file: name a directory for the tables")
    others = sorted(path.name for path in place.iterdir() if path.name not in SCHEMAS)
    if others:
        raise UsageError(
            f"{directory} holds {others[0]}, which is no gold table: name a new directory,"
            " such as gold/ in it"
        )
    return place


def read_gold(directory: Path | str, *, metrics: Iterable[str] | None = None) -> dict[str, Any]:
    """All tables, as Arrow tables; of the chosen metrics, or of all."""
    chosen = None if metrics is None else ds.field("metric").isin(list(metrics))
    return {name: _read(Path(directory, name), name, chosen) for name in SCHEMAS}


def _read(place: Path, name: str, chosen: Any) -> Any:
    if not place.is_dir():
        raise UsageError(
            f"{place.parent} has no table {name}: let 'penstock pipeline' write it again"
        )
    partitioning = _BY_METRIC if name in PARTITIONED else None
    try:
        data = ds.dataset(place, schema=SCHEMAS[name], format="parquet", partitioning=partitioning)
        return data.to_table(filter=chosen)
    except (OSError, pa.ArrowException) as error:
        first = str(error).splitlines()[0]
        raise UsageError(f"{place} cannot be read ({first}): write it again") from None
