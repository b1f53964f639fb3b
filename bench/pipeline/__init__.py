"""The pipeline's metrics over millions of deliveries, beside Polars and DuckDB.

All answer the same question (`queries`) on the same files (`traces`), one after
the other in one run, and must agree. Metrics run on Spark as a job does, one task for
each run of a million deliveries, in a session that is warm.

`PENSTOCK_BENCH_MILLIONS` says how many millions, as in `1,5`; 100 shows the whole
range and takes 1.2 GB of disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from bench.pipeline.queries import QueryResult
from bench.pipeline.subprocess_case import run_in_subprocess
from bench.pipeline.traces import make_runs
from bench.result import Case, Note, Result
from bench.sizes import chosen_millions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MILLIONS: Final = (1, 5, 20)
ROUNDS: Final = 3
# Where all are compared. Beyond it only growth is of interest.
COMPARED_MAX: Final = 20
# Minutes, at 20 million: once is enough to see that it is no match.
FRAMES_ROUNDS: Final = 1

PLAIN: Final = "metrics"
SPARK: Final = "metrics on Spark"
FRAMES: Final = "DataFrame steps"
_TASK_MB_MAX: Final = 1000


def run(note: Note, millions: Sequence[int] | None = None) -> Result:
    """Each size in turn; all alternatives at one of them."""
    from penstock.pipeline.session import open_session

    sizes = sorted(millions or chosen_millions(MILLIONS))
    compared = max((size for size in sizes if size <= COMPARED_MAX), default=sizes[0])
    cases: list[Case] = []
    best: dict[tuple[str, int], float] = {}
    with TemporaryDirectory(prefix="penstock-bench-") as place, open_session() as spark:
        for size in sizes:
            note(f"making {size} million deliveries")
            runs = make_runs(Path(place), size * 1_000_000)
            peaks: dict[str, float] = {}
            ways = _alternatives(spark, Path(place), runs, peaks, with_frames=size == compared)
            for name, seconds in _timed(ways, f"{size} million", note).items():
                best[name, size] = seconds
                cases.append(Case(f"{name}, {size} million", "time", seconds, "s"))
            cases += [
                Case(
                    f"{name}, {size} million", "peak memory", peak_mb, "MB",
                    f"<= {_TASK_MB_MAX}" if name == PLAIN else "",
                )
                for name, peak_mb in peaks.items()
            ]  # fmt: skip
    first, last = sizes[0], sizes[-1]
    ratios = {
        f"{SPARK} / {name}, {compared} million": best[SPARK, compared] / best[name, compared]
        for name in ("Polars", "DuckDB", FRAMES)
    }
    growth = f"{SPARK}: time per delivery, {last} / {first} million"
    ratios[growth] = best[SPARK, last] / last / (best[SPARK, first] / first)
    goals = {f"{SPARK} / Polars, {compared} million": "<= 0.5", growth: "<= 1.2"}
    return Result("pipeline", cases, ratios, goals)


def _alternatives(
    spark: SparkSession,
    directory: Path,
    runs: Sequence[str],
    peaks: dict[str, float],
    *,
    with_frames: bool,
) -> dict[str, Callable[[], tuple[QueryResult, float]]]:
    """Each alternative as a call that says what it found and how long it took."""
    from bench.pipeline import on_spark

    def alone(name: str) -> Callable[[], tuple[QueryResult, float]]:
        def call() -> tuple[QueryResult, float]:
            took = run_in_subprocess(name, directory, runs)
            peaks[name] = max(took.peak_mb, peaks.get(name, 0))
            return took.result, took.wall_s

        return call

    ways = {name: alone(name) for name in (PLAIN, "Polars", "DuckDB")}
    ways[SPARK] = lambda: on_spark.by_tasks(spark, directory, runs)
    if with_frames:
        ways[FRAMES] = lambda: on_spark.by_frames(spark, directory, runs)
    return ways


def _timed(
    ways: dict[str, Callable[[], tuple[QueryResult, float]]], what: str, note: Note
) -> dict[str, float]:
    """The quickest of several rounds in turn; what they found must be the same."""
    best: dict[str, float] = {}
    answers: dict[str, QueryResult] = {}
    for number in range(ROUNDS):
        for name, way in ways.items():
            if name == FRAMES and number >= FRAMES_ROUNDS:
                continue
            note(f"{what}: {name}, round {number + 1} of {ROUNDS}")
            answers[name], took_s = way()
            best[name] = min(took_s, best.get(name, took_s))
    for name, answer in answers.items():
        assert answer.agrees_with(answers[PLAIN]), f"{name} and {PLAIN} disagree at {what}"
    return best
