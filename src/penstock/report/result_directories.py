"""Finds the results, gold tables and traces in a directory that a report can be made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from penstock.kernel.errors import UsageError
from penstock.tracefile.layout import finished_runs

RESULT: Final = "result.json"
GOLD: Final = "gold"
TRACES: Final = "traces"
SWEEP: Final = "sweep.json"
# Levels of subdirectories searched, as in out/lab/ID/PROFILE.
_DEPTH: Final = 2
_DIRECTORIES_MAX: Final = 2_000


@dataclass(frozen=True, slots=True)
class ResultDirectory:
    """A directory with a result, with gold tables, with traces, or with several of them."""

    directory: Path
    result: Path | None = None
    gold: Path | None = None
    traces: Path | None = None

    @property
    def is_stale(self) -> bool:
        """Whether there are traces newer than the gold tables, or traces without gold tables."""
        if self.traces is None:
            return False
        if self.gold is None:
            return True
        newest = max(run.stat().st_mtime_ns for run in self.traces.glob("run=*"))
        return newest > max(path.stat().st_mtime_ns for path in self.gold.iterdir())


def result_directories(path: Path) -> list[ResultDirectory]:
    """Finds what is in a directory or below it; raises a UsageError if that is nothing."""
    if not path.exists():
        raise UsageError(f"there is no {path}: name a directory that 'penstock lab run' wrote")
    if path.is_file():
        return [ResultDirectory(path.parent, result=path)]
    found = _find_below(path, _DEPTH)
    if not found:
        raise UsageError(
            f"{path} has no {RESULT}, no {GOLD}/ and no traces (run=…):"
            " name a directory that 'penstock lab run' wrote"
        )
    return found


def _find_below(path: Path, depth: int) -> list[ResultDirectory]:
    if (path / SWEEP).is_file():
        # All points share one traces directory; each has its own result. Only the listed files
        # are read, because results of an earlier sweep's points may still be there.
        files = [path / file for file in _files_of_points(path / SWEEP)]
        return [ResultDirectory(file.parent, result=file) for file in files if file.is_file()]
    found = _inspect(path)
    if found.result or found.gold or found.traces:
        return [found]
    if not depth or not path.is_dir():
        return []
    below = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    return [item for child in below[:_DIRECTORIES_MAX] for item in _find_below(child, depth - 1)]


class _Point(msgspec.Struct):
    file: str = ""


class _Sweep(msgspec.Struct):
    points: list[_Point]


def _files_of_points(sweep: Path) -> list[str]:
    """The result files of a sweep's points, without those that failed."""
    try:
        found = msgspec.json.decode(sweep.read_bytes(), type=_Sweep)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{sweep} cannot be read ({error}): run the sweep again") from None
    return [point.file for point in found.points if point.file]


def _inspect(path: Path) -> ResultDirectory:
    result, gold = path / RESULT, path / GOLD
    traces = next((p for p in (path, path / TRACES) if p.is_dir() and finished_runs(p)), None)
    if _is_gold(path):
        gold = path
    return ResultDirectory(
        path,
        result if result.is_file() else None,
        gold if _is_gold(gold) else None,
        traces,
    )


def _is_gold(path: Path) -> bool:
    # One table is not enough: a page's own figures lie in a directory `figures` too.
    return all(
        any((path / f"{table}{ending}").exists() for ending in ("", ".parquet"))
        for table in ("figures", "summary")
    )
