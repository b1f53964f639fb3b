"""The file layout of traces: one directory per run, one file per table.

    DIR/run=<run>/<table>.parquet     a finished run
    DIR/.run=<run>.unfinished/        one that is being written, or was killed

A run becomes visible when its directory is renamed, all tables at once. The run comes first in
the path, so that finding, resuming and deleting runs needs no access to tables; Spark still
sees a partition column `run`, and skips names that start with a dot.
"""

from __future__ import annotations

import re
import shutil
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import IO, Final

from penstock.kernel.errors import UsageError

# A leading letter keeps Spark and others from reading the partition as a number or a date.
_RUN_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9._+-]{0,119}")
_PREFIX: Final = "run="
_UNFINISHED: Final = ".unfinished"
_LOCK: Final = ".lock"
_REMOVED: Final = ".removed"


def check_run_id(run: str) -> str:
    """Raises `UsageError` for a name that is not one plain directory."""
    if not _RUN_ID.fullmatch(run):
        raise UsageError(
            f"a run is named by a letter, then up to 119 letters, digits and . _ + -, not {run!r}"
        )
    return run


def run_directory(directory: Path, run: str) -> Path:
    """The directory of a finished run."""
    return directory / f"{_PREFIX}{check_run_id(run)}"


def unfinished_directory(directory: Path, run: str) -> Path:
    """The directory of a run until it is finished."""
    return directory / f".{_PREFIX}{check_run_id(run)}{_UNFINISHED}"


def lock_run(directory: Path, run: str) -> IO[str]:
    """Locks this run against other writers; the lock of a killed process is released."""
    lock = (directory / f".{_PREFIX}{check_run_id(run)}{_LOCK}").open("w")
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except OSError:
        lock.close()
        raise UsageError(
            f"another process is writing run {run} into {directory}: choose another directory"
        ) from None
    return lock


def table_path(run_path: Path, table: str) -> Path:
    """The file of a table."""
    return run_path / f"{table}.parquet"


def finished_runs(directory: Path) -> list[str]:
    """Names of the finished runs, sorted."""
    names = (path.name.removeprefix(_PREFIX) for path in directory.glob(f"{_PREFIX}*/"))
    return sorted(name for name in names if _RUN_ID.fullmatch(name))


def unfinished_runs(directory: Path) -> list[str]:
    """Names of the runs that are being written or were killed, sorted."""
    found = directory.glob(f".{_PREFIX}*{_UNFINISHED}")
    return sorted(p.name.removeprefix(f".{_PREFIX}").removesuffix(_UNFINISHED) for p in found)


def remove_run(directory: Path, run: str) -> None:
    """Deletes a finished run, if it exists."""
    final = run_directory(directory, run)
    if final.exists():
        # Renamed first: a run with half of its tables deleted would look complete.
        doomed = directory / f".{final.name}{_REMOVED}"
        shutil.rmtree(doomed, ignore_errors=True)
        final.rename(doomed)
        shutil.rmtree(doomed)


def remove_unfinished(directory: Path) -> list[str]:
    """Deletes leftovers of killed runs, returns their names; safe only while nobody writes."""
    unfinished = unfinished_runs(directory)
    for run in unfinished:
        shutil.rmtree(unfinished_directory(directory, run))
    for doomed in directory.glob(f".{_PREFIX}*{_REMOVED}"):
        shutil.rmtree(doomed)
    for lock in directory.glob(f".{_PREFIX}*{_LOCK}"):
        lock.unlink()
    return unfinished
