"""The pipeline's metrics over millions of deliveries, beside Polars and DuckDB.

All answer the same question (`queries`) on the same files (`traces`), one after
the other in one run, and must agree. Kernels run on Spark as a job does, one task
for each run of a million deliveries, in a session that is warm.

`PENSTOCK_BENCH_MILLIONS` says how many millions, as in `1,5`; 100 shows the whole
range and takes 1.2 GB of disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Final

from bench.pipeline.queries import METRICS, QueryResult, result_from_wide
from bench.pipeline.subprocess_case import run_in_subprocess
from bench.pipeline.traces import make_runs
from bench.result import Case, Note, Result
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline.jobs import Form

MILLIONS: Final = (1, 5, 20)
MILLIONS_VARIABLE: Final = "PENSTOCK_BENCH_MILLIONS"
ROUNDS: Final = 3
# Where all are compared. Beyond it only growth is of interest.
COMPARED_MAX: Final = 20
# Minutes, at 20 million: once is enough to see that it is no match.
TWIN_ROUNDS: Final = 1

SPARK: Final = "kernels on Spark"
TWIN: Final = "DataFrame steps"
_TASK_MB_MAX: Final = 1000


def run(note: Note, millions: Sequence[int] | None = None) -> Result:
    """Each size in turn; all alternatives at one of them."""
    from penstock.pipeline.session import open_session

    sizes = sorted(millions or _chosen_sizes())
    compared = max((size for size in sizes if size <= COMPARED_MAX), default=sizes[0])
    cases: list[Case] = []
    best: dict[tuple[str, int], float] = {}
    with TemporaryDirectory(prefix="penstock-bench-") as place, open_session() as spark:
        for size in sizes:
            note(f"making {size} million deliveries")
            runs = make_runs(Path(place), size * 1_000_000)
            peaks: dict[str, float] = {}
            ways = _alternatives(spark, Path(place), runs, peaks, with_twin=size == compared)
            for name, seconds in _timed(ways, f"{size} million", note).items():
                best[name, size] = seconds
                cases.append(Case(f"{name}, {size} million", "time", seconds, "s"))
            cases += [
                Case(
                    f"{name}, {size} million", "peak memory", peak_mb, "MB",
                    f"<= {_TASK_MB_MAX}" if name == "kernels" else "",
                )
                for name, peak_mb in peaks.items()
            ]  # fmt: skip
    first, last = sizes[0], sizes[-1]
    ratios = {
        f"{SPARK} / {name}, {compared} million": best[SPARK, compared] / best[name, compared]
        for name in ("Polars", "DuckDB", TWIN)
    }
    growth = f"{SPARK}: time per delivery, {last} / {first} million"
    ratios[growth] = best[SPARK, last] / last / (best[SPARK, first] / first)
    goals = {f"{SPARK} / Polars, {compared} million": "<= 1.0", growth: "<= 1.2"}
    return Result("pipeline", cases, ratios, goals)


def _chosen_sizes() -> Sequence[int]:
    setting = os.environ.get(MILLIONS_VARIABLE)
    if setting is None:
        return MILLIONS
    try:
        sizes = [int(part) for part in setting.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise UsageError(f"{MILLIONS_VARIABLE} is a list of whole numbers as 1,5, not {setting!r}")
    return sizes


def _alternatives(
    spark: SparkSession,
    directory: Path,
    runs: Sequence[str],
    peaks: dict[str, float],
    *,
    with_twin: bool,
) -> dict[str, Callable[[], tuple[QueryResult, float]]]:
    """Each alternative as a call that says what it found and how long it took."""

    def alone(name: str) -> Callable[[], tuple[QueryResult, float]]:
        def call() -> tuple[QueryResult, float]:
            took = run_in_subprocess(name, directory, runs)
            peaks[name] = max(took.peak_mb, peaks.get(name, 0))
            return took.result, took.wall_s

        return call

    ways = {name: alone(name) for name in ("kernels", "Polars", "DuckDB")}
    ways[SPARK] = lambda: _on_spark(spark, directory, runs, "kernel")
    if with_twin:
        ways[TWIN] = lambda: _on_spark(spark, directory, runs, "dataframe")
    return ways


def _on_spark(
    spark: SparkSession, directory: Path, runs: Sequence[str], form: Form
) -> tuple[QueryResult, float]:
    from penstock.pipeline.ingest import find_runs
    from penstock.pipeline.jobs import PipelineJob, findings

    chosen = [run for run in find_runs([directory]).runs if run.id in {*runs}]
    job = PipelineJob(runs=chosen, out=directory, metrics=METRICS, form=form)
    began = perf_counter()
    found = findings(spark, job).toArrow()
    took_s = perf_counter() - began
    return result_from_wide(found.to_pylist()), took_s


def _timed(
    ways: dict[str, Callable[[], tuple[QueryResult, float]]], what: str, note: Note
) -> dict[str, float]:
    """The quickest of several rounds in turn; what they found must be the same."""
    best: dict[str, float] = {}
    answers: dict[str, QueryResult] = {}
    for number in range(ROUNDS):
        for name, way in ways.items():
            if name == TWIN and number >= TWIN_ROUNDS:
                continue
            note(f"{what}: {name}, round {number + 1} of {ROUNDS}")
            answers[name], took_s = way()
            best[name] = min(took_s, best.get(name, took_s))
    for name, answer in answers.items():
        assert answer.agrees_with(answers["kernels"]), f"{name} and kernels disagree at {what}"
    return best
