"""Pipeline jobs: compute metrics of runs and write the gold tables, all or none.

One Spark task measures one run. A run too large for the memory of a worker is split by
subscriber into parts: each task tallies one part, and the tallies of a run are merged before
its metrics report. Splitting saves memory, not time.
"""

from __future__ import annotations

import pickle
import shutil
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.kernel.errors import UsageError
from penstock.metrics.base import AdditiveMetric, MetricType
from penstock.metrics.catalogue import DEFAULT_METRICS, find_metrics
from penstock.metrics.results import Results
from penstock.pipeline.gold import WIDE, from_wide
from penstock.pipeline.gold_files import (
    PARTITIONED,
    check_output_directory,
    remove_unfinished,
    unfinished_directory,
)
from penstock.pipeline.ingest import FoundRun
from penstock.pipeline.summary import summary
from penstock.pipeline.wide_table import COLUMNS, TROUBLE, trouble, wide_batches
from penstock.pipeline.wide_table import WIDE as WIDE_ARROW
from penstock.tracefile.measure import Part, measure, merge_parts, tally_part
from penstock.tracefile.reader import TraceReader

# Expected rows of a part: the ledger of as many takes 9 GB at its peak.
PART_ROWS: Final = 50_000_000
_PARTS: Final = "run string, directory string, tallies binary, trouble string"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineJob:
    """The runs and metrics to compute, and the output directory.

    `parts` says into how many parts each run is split; None splits those that are too large.
    """

    runs: Sequence[FoundRun]
    out: Path
    metrics: Sequence[str] = DEFAULT_METRICS
    parts: int | None = None


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """The directory of the gold tables, the rows of each, and notes for the user."""

    out: Path
    rows: dict[str, int]
    notes: tuple[str, ...]


class _Task(NamedTuple):
    """One run, or one part of it, for one Spark task."""

    directory: str
    run: str
    metrics: tuple[str, ...]
    part: Part = Part()


def run_pipeline(spark: SparkSession, job: PipelineJob) -> PipelineResult:
    """Computes and writes the gold tables; replaces existing ones at the end."""
    out = check_output_directory(job.out)
    found = findings(spark, job).persist()
    try:
        _raise_trouble(found)
        tables = {name: from_wide(found, name) for name in COLUMNS}
        tables["summary"] = summary(spark, job.runs, tables["figures"])
        rows = _write(tables, out)
        return PipelineResult(job.out, rows, tuple(_notes(tables["figures"])))
    finally:
        found.unpersist()


def findings(spark: SparkSession, job: PipelineJob) -> DataFrame:
    """The values of all metrics of all runs, as one wide table."""
    chosen = find_metrics(job.metrics)
    additive = tuple(name for name, metric in chosen.items() if _is_additive(metric))
    others = tuple(name for name in chosen if name not in additive)
    # The largest runs first, so that none is left running alone at the end.
    runs = sorted(job.runs, key=_size_bytes, reverse=True)
    whole, split = [], []
    for run in runs:
        parts = job.parts or -(-_expected_rows(run) // PART_ROWS)
        place = (str(run.directory), run.id)
        if parts <= 1 or not additive:
            whole.append(_Task(*place, tuple(chosen)))
            continue
        split += [_Task(*place, additive, Part(number, parts)) for number in range(parts)]
        whole += [_Task(*place, others)] if others else []
    frames = [_spread(spark, whole).mapInArrow(_over(whole, _measure), WIDE)]
    if split:
        tallies = _spread(spark, split).mapInArrow(_over(split, _tally), _PARTS)
        frames.append(tallies.groupBy("run").applyInArrow(_merger(additive), WIDE))
    return reduce(DataFrame.union, frames)


def _is_additive(metric: MetricType) -> bool:
    return issubclass(metric, AdditiveMetric)


def _spread(spark: SparkSession, tasks: Sequence[_Task]) -> DataFrame:
    return spark.range(0, len(tasks), 1, max(1, len(tasks)))


def _over(
    tasks: Sequence[_Task], work: Callable[[_Task], Iterator[Any]]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def worker(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from work(tasks[index])

    return worker


def _measure(task: _Task) -> Iterator[Any]:
    """Measures one run; an error becomes a row, because Spark would bury it in a traceback."""
    try:
        metrics = [*find_metrics(task.metrics).values()]
        yield from wide_batches(measure(Path(task.directory), task.run, metrics))
    except Exception as error:
        yield trouble(task.run, _error_text(error))


def _error_text(error: Exception) -> str:
    """One line; where the code failed, if the fault is that of a metric and not of the trace."""
    if isinstance(error, UsageError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"a metric failed: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"


def _tally(task: _Task) -> Iterator[Any]:
    tallies, error = b"", ""
    try:
        metrics = [*find_metrics(task.metrics).values()]
        tallies = pickle.dumps(tally_part(Path(task.directory), task.run, metrics, task.part))
    except Exception as failure:
        error = _error_text(failure)
    columns = {
        "run": pa.array([task.run], pa.string()),
        "directory": pa.array([task.directory], pa.string()),
        "tallies": pa.array([tallies], pa.binary()),
        "trouble": pa.array([error], pa.string()),
    }
    yield pa.RecordBatch.from_pydict(columns)


def _merger(names: Sequence[str]) -> Callable[[Any], Any]:
    def merge(parts: Any) -> Any:
        rows = parts.to_pylist()
        run, directory = rows[0]["run"], Path(rows[0]["directory"])
        errors = [row["trouble"] for row in rows if row["trouble"]]
        if errors:
            return pa.Table.from_batches([trouble(run, errors[0])])
        try:
            metrics = [*find_metrics(names).values()]
            tallies = [pickle.loads(row["tallies"]) for row in rows]
            results: Results = merge_parts(directory, run, metrics, tallies)
            # A run may have nothing to report, and so no batch to take the schema from.
            return pa.Table.from_batches(wide_batches(results), schema=WIDE_ARROW)
        except Exception as error:
            return pa.Table.from_batches([trouble(run, _error_text(error))])

    return merge


def _expected_rows(run: FoundRun) -> int:
    return TraceReader(run.directory).row_count("expected", run.id)


def _size_bytes(run: FoundRun) -> int:
    return sum(path.stat().st_size for path in run.path.glob("*.parquet"))


def _raise_trouble(found: DataFrame) -> None:
    bad = found.where(sf.col("table") == TROUBLE).select("run", "metric").collect()
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise UsageError(f"run {bad[0]['run']}: {bad[0]['metric']}{more}")


def _notes(figures: DataFrame) -> Iterator[str]:
    is_unsorted = (sf.col("metric") == "unsorted_rows") & (sf.col("value") > 0)
    for row in figures.where(is_unsorted).orderBy("run", "ordering").collect():
        where = f"ordering {row['ordering']}" if row["ordering"] else "arrivals"
        yield (
            f"run {row['run']}: {row['value']:.0f} rows of {where} came after later ones;"
            " they were put in order of time"
        )
    is_not_judged = (sf.col("metric") == "effairness_judged") & (sf.col("value") == 0)
    # Runs of an experiment share a network, so one note is enough.
    not_judged = figures.where(is_not_judged).orderBy("run").collect()
    if not_judged:
        others = f" and {len(not_judged) - 1} more" if len(not_judged) > 1 else ""
        yield (
            f"run {not_judged[0]['run']}{others}: no effairness: links carry data both ways in a"
            " circle, or lead not to all subscribers"
        )


def _write(tables: dict[str, DataFrame], out: Path) -> dict[str, int]:
    """Writes the tables under another name and renames them, so that none is seen partial."""
    remove_unfinished(out)
    draft = unfinished_directory(out)
    shutil.rmtree(draft, ignore_errors=True)
    rows = {}
    for name, table in tables.items():
        path = str(draft / name)
        if name in PARTITIONED:
            # One file per metric, because readers select by metric.
            keys = [column for column in table.columns if column != "value"]
            sorted_ = table.repartition("metric").sortWithinPartitions("metric", *keys)
            sorted_.write.partitionBy("metric").parquet(path, compression="zstd")
        else:
            table.coalesce(1).sort("metric").write.parquet(path, compression="zstd")
        rows[name] = table.count()
    old = out.with_name(f".{out.name}.removed")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    draft.rename(out)
    shutil.rmtree(old, ignore_errors=True)
    return rows
