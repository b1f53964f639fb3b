"""Pipeline jobs: compute metrics of runs and write the gold tables, all or none.

kernel      one task per run, which processes its tables with numpy; much faster
dataframe   the same as DataFrame steps, which spread one run over all workers
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.kernel.errors import UsageError
from penstock.pipeline.gold_files import (
    PARTITIONED,
    check_output_directory,
    remove_unfinished,
    unfinished_directory,
)
from penstock.pipeline.ingest import FoundRun
from penstock.pipeline.kernels import METRICS
from penstock.pipeline.kernels.findings import COLUMNS, TROUBLE, trouble
from penstock.pipeline.kernels.measure import kernels_named, measure
from penstock.pipeline.kernels.services import NAME as EFFAIRNESS
from penstock.pipeline.summary import summary
from penstock.pipeline.twins import measured
from penstock.pipeline.twins.frames import Frames
from penstock.pipeline.wide_table import WIDE, from_wide

Form: TypeAlias = Literal["kernel", "dataframe"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineJob:
    """The runs, metrics and form to compute, and the output directory."""

    runs: Sequence[FoundRun]
    out: Path
    metrics: Sequence[str] = tuple(METRICS)
    form: Form = "kernel"


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """The directory of the gold tables, the rows of each, and notes for the user."""

    out: Path
    rows: dict[str, int]
    notes: tuple[str, ...]


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
    kernels_named(job.metrics)
    if job.form == "dataframe":
        return measured(Frames(spark, job.runs), job.metrics)
    # The largest runs first, so that none is left running alone at the end.
    runs = sorted(job.runs, key=_size_bytes, reverse=True)
    locations = [(str(run.directory), run.id) for run in runs]
    indices = spark.range(0, len(locations), 1, max(1, len(locations)))
    return indices.mapInArrow(_worker(locations, tuple(job.metrics)), WIDE)


def _worker(
    locations: Sequence[tuple[str, str]], metrics: Sequence[str]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                directory, run = locations[index]
                yield from _measure(directory, run, metrics)

    return work


def _measure(directory: str, run: str, metrics: Sequence[str]) -> Iterator[Any]:
    """Measures one run; an error becomes a row, because Spark would bury it in a traceback."""
    try:
        yield from measure(Path(directory), run, metrics).batches()
    except UsageError as error:
        yield trouble(run, str(error))


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
    is_not_judged = (sf.col("metric") == f"{EFFAIRNESS}_judged") & (sf.col("value") == 0)
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
