"""What is asked of every alternative, and how each answers it.

Of each run: violations of order, false negatives, deliveries in each second,
quantiles of the delay; and the mean extra delay of each pair.

Polars and DuckDB are used as their manuals advise: lazily, only the columns that
are needed, all questions at once; in Polars one grouping answers two of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.metrics.catalogue import find_metrics
from penstock.metrics.codes import NETWORK
from penstock.metrics.results import Results
from penstock.trace.fates import RECEIVED
from penstock.tracefile.measure import measure

METRICS: Final = ("received", "false_negatives", "fifo_order", "delays")
SHARES: Final = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
# Names of metrics, and ours.
_FIGURES: Final = {
    "violations": "violations",
    "false_negatives": "false_negatives",
    **{f"delay_{share}": share for share in SHARES},
}
_SERIES: Final = "deliveries"
_PAIRS: Final = "extra_delay_mean"
_RECEIVED_FATES: Final = sorted(fate.value for fate in RECEIVED)
_STREAM: Final = ("run", "ordering", "subscriber", "publisher", "epoch")
_MESSAGE: Final = ("run", "subscriber", "publisher", "epoch", "seq")


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Figures by run and name; how many seconds and pairs there are, and their sums."""

    figures: dict[str, dict[str, float]]
    seconds: int
    deliveries: int
    pairs: int
    pairs_ms: float

    def agrees_with(self, other: QueryResult) -> bool:
        """Quantiles from bins are off by half a bin at most."""
        if self.figures.keys() != other.figures.keys():
            return False
        figures_agree = all(
            abs(value - other.figures[run][name]) <= (0.051 if name in SHARES else 1e-9)
            for run, own in self.figures.items()
            for name, value in own.items()
        )
        counts = (self.seconds, self.deliveries, self.pairs)
        counts_agree = counts == (other.seconds, other.deliveries, other.pairs)
        return (
            figures_agree
            and counts_agree
            and abs(self.pairs_ms - other.pairs_ms) < 1e-6 * self.pairs
        )


def result_from_wide(rows: Sequence[dict[str, Any]]) -> QueryResult:
    """The answer in what a job on Spark finds, which is more."""
    figures: dict[str, dict[str, float]] = defaultdict(dict)
    series, pairs = [], []
    for row in rows:
        metric, ordering = row["metric"], row["ordering"]
        if row["table"] == "figures" and ordering and metric in _FIGURES:
            figures[row["run"]][_FIGURES[metric]] = row["value"]
        elif row["table"] == "seconds" and ordering and metric == _SERIES and row["value"]:
            series.append(row["value"])
        elif row["table"] == "pairs" and metric == _PAIRS:
            pairs.append(row["value"])
    return QueryResult(dict(figures), len(series), round(sum(series)), len(pairs), sum(pairs))


def by_metrics(directory: Path, runs: Sequence[str]) -> QueryResult:
    """One run after another, without Spark."""
    metrics = [*find_metrics(METRICS).values()]
    figures: dict[str, dict[str, float]] = {}
    series: list[float] = []
    pairs: list[float] = []
    for run in runs:
        found = measure(directory, run, metrics)
        figures[run] = {
            _FIGURES[key.flat]: value
            for key, value in found.values.items()
            if key.ordering != NETWORK and key.flat in _FIGURES
        }
        series += _seconds(found)
        pairs += [value for p in found.pairs if p.metric == _PAIRS for value in p.values.tolist()]
    return QueryResult(figures, len(series), round(sum(series)), len(pairs), sum(pairs))


def _seconds(found: Results) -> list[float]:
    """Deliveries in each second that has any."""
    return [
        value
        for key, series in found.series.items()
        if key.ordering != NETWORK and key.flat == _SERIES
        for value in series.values[series.values > 0].tolist()
    ]


def by_polars(directory: Path, runs: Sequence[str]) -> QueryResult:
    """Lazily, on all cores."""
    import polars as pl

    def scanned(table: str) -> Any:
        files = [directory / f"run={run}" / f"{table}.parquet" for run in runs]
        return pl.scan_parquet(files, hive_partitioning=True)

    received = scanned("deliveries").filter(
        pl.col("fate").cast(pl.String).is_in(_RECEIVED_FATES) & pl.col("delivered_ns").is_not_null()
    )
    delay_ms = (pl.col("delivered_ns") - pl.col("published_ns")) / MILLISECOND
    seq, extra_ns = pl.col("seq"), pl.col("delivered_ns") - pl.col("arrived_ns")
    streams = received.group_by(_STREAM).agg(
        late=(seq < seq.cum_max()).sum(), count=pl.len(), extra_ns=extra_ns.sum()
    )
    seconds = received.group_by("run", second=pl.col("delivered_ns") // SECOND).agg(count=pl.len())
    delays = received.group_by("run").agg(
        **{name: delay_ms.quantile(at, "linear") for name, at in SHARES.items()}
    )
    missed = scanned("expected").join(received, on=_MESSAGE, how="anti").group_by("run").len()
    found = pl.collect_all([streams, seconds, delays, missed], engine="streaming")
    return query_result(*(table.to_dicts() for table in found))


def by_duckdb(directory: Path, runs: Sequence[str]) -> QueryResult:
    """In SQL, on all cores."""
    import duckdb

    def files(table: str) -> str:
        paths = [str(directory / f"run={run}" / f"{table}.parquet") for run in runs]
        return f"read_parquet({paths!r}, hive_partitioning = true, file_row_number = true)"

    fates = ", ".join(f"'{fate}'" for fate in _RECEIVED_FATES)
    received = f"(from {files('deliveries')} where fate in ({fates}) and delivered_ns is not null)"
    stream, message = ", ".join(_STREAM), ", ".join(_MESSAGE)
    quantiles = ", ".join(
        f"quantile_cont((delivered_ns - published_ns) / {MILLISECOND}, {at}) as {name}"
        for name, at in SHARES.items()
    )
    queries = (
        f"""select {stream}, count_if(seq < highest) as late, count(*) as count,
                   sum(delivered_ns - arrived_ns)::bigint as extra_ns
            from (select *, max(seq) over (partition by {stream} order by file_row_number
                                           rows unbounded preceding) as highest from {received})
            group by {stream}""",
        f"""select run, delivered_ns // {SECOND} as second, count(*) as count
            from {received} group by all""",
        f"select run, {quantiles} from {received} group by run",
        f"""select run, count(*) as len
            from {files("expected")} anti join {received} using ({message}) group by run""",
    )
    with duckdb.connect() as connection:
        found = [connection.sql(query).to_arrow_table().to_pylist() for query in queries]
    return query_result(*found)


ALTERNATIVES: Final[dict[str, Callable[[Path, Sequence[str]], QueryResult]]] = {
    "metrics": by_metrics,
    "Polars": by_polars,
    "DuckDB": by_duckdb,
}


def query_result(
    streams: list[dict[str, Any]],
    seconds: list[dict[str, Any]],
    delays: list[dict[str, Any]],
    missed: list[dict[str, Any]],
    violations: list[dict[str, Any]] | None = None,
) -> QueryResult:
    """The answer in rows of each question; without `violations`, streams count them."""
    figures: dict[str, dict[str, float]] = defaultdict(lambda: {"violations": 0})
    for row in streams if violations is None else violations:
        figures[row["run"]]["violations"] += float(row["late"])
    for row in delays:
        figures[row["run"]] |= {name: float(row[name]) for name in SHARES}
        figures[row["run"]]["false_negatives"] = 0
    for row in missed:
        figures[row["run"]]["false_negatives"] = float(row["len"])
    pairs = [row["extra_ns"] / row["count"] / MILLISECOND for row in streams]
    deliveries = sum(row["count"] for row in seconds)
    return QueryResult(dict(figures), len(seconds), deliveries, len(pairs), sum(pairs))
