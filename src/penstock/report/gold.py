"""Report data from the pipeline's gold tables, by the lab's result names.

The tables are keyed by run and ordering. The experiment, variant, seed and parameters
of a run are read from its trace; without traces, from the table `summary` and the
run's name. Estimates and verdicts are computed by the lab's own functions.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import nan
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc  # type: ignore[import-untyped]

from penstock import __version__
from penstock.kernel.errors import UsageError
from penstock.lab.expectations import judge_expectation
from penstock.lab.experiment_files import catalogue
from penstock.lab.findings import Findings
from penstock.lab.result import Result, estimates, means
from penstock.lab.result_names import only_orderings
from penstock.metrics.histogram import BIN_MS
from penstock.pipeline.gold_files import read_gold
from penstock.report.report_data import Histogram, ReportData, flatten
from penstock.tracefile.reader import TraceReader

_LISTS: Final = {
    "pairs": ("subscriber", "publisher", "value"),
    "seconds": ("second", "value"),
    "histograms": ("bin", "count"),
}
# The lab's name of the distribution of a figure over pairs.
_DISTRIBUTIONS: Final = {"extra_delay_mean": "extra_delay_pairs_ms"}
# Metrics of which the value of each pair is kept.
_OF_PAIRS: Final = ("effairness", "received_mps")
_SHARES: Final = np.linspace(0, 1, 101)
# Histograms are cut at this bin.
_BINS_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The identity and parameters of one run."""

    name: str
    experiment: str
    profile: str
    variant: str
    seed: int
    parameters: str
    trace_hash: str = ""
    code_version: str = __version__


def report_data_of_gold(gold: Path, traces: Path | None = None) -> list[ReportData]:
    """One per experiment, profile and setting of the parameters that a sweep varies."""
    tables = {name: _rows(table, name) for name, table in read_gold(gold).items()}
    names = dict.fromkeys(row["run"] for row in tables["figures"])
    runs = _from_traces(traces, names) if traces else _from_summary(tables["summary"], names)
    if not runs:
        raise UsageError(f"{gold} has no figures: are there finished runs in the traces?")
    return [_facts(group, tables) for group in _grouped(runs)]


def _rows(table: Any, name: str) -> list[Mapping[str, Any]]:
    """The rows of a table; tables with many rows per metric become one row of lists each."""
    if name not in _LISTS:
        return list(table.to_pylist())
    if name == "pairs":
        table = table.filter(pc.field("metric").isin([*_DISTRIBUTIONS, *_OF_PAIRS]))
    lists = [(column, "list") for column in _LISTS[name]]
    grouped = table.group_by(["run", "ordering", "metric"], use_threads=False).aggregate(lists)
    return [
        {key.removesuffix("_list"): value for key, value in row.items()}
        for row in grouped.to_pylist()
    ]


def _from_traces(traces: Path, names: Iterable[str]) -> list[_Run]:
    reader = TraceReader(traces)
    present = {*reader.run_ids()}
    rows = [(name, reader.run(name)) for name in names if name in present]
    return [
        _Run(
            name=name,
            experiment=row.experiment,
            profile=row.profile,
            variant=row.variant,
            seed=row.seed,
            parameters=row.parameters,
            trace_hash=row.trace_hash or "",
            code_version=row.code_version,
        )
        for name, row in rows
    ]


def _from_summary(summary: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[_Run]:
    """Identifies runs by their names, which are EXPERIMENT.PROFILE.VARIANT.SEED."""
    kinds: dict[tuple[str, str, str], str] = {}
    for row in summary:
        kind = (row["experiment"], row["profile"], row["variant"])
        if kinds.setdefault(kind, row["parameters"]) != row["parameters"]:
            raise UsageError(
                f"{kind[0]} was run with several settings, and only its traces say which run had"
                " which: name the directory that holds them"
            )
    found = []
    for name in names:
        for (experiment, profile, variant), parameters in kinds.items():
            safe = re.sub(r"[^A-Za-z0-9._+-]", "-", experiment)
            seed = name.removeprefix(f"{safe}.{profile}.{variant}.")
            if seed.isdecimal():
                found.append(
                    _Run(
                        name=name,
                        experiment=experiment,
                        profile=profile,
                        variant=variant,
                        seed=int(seed),
                        parameters=parameters,
                    )
                )
    return found


def _grouped(runs: Sequence[_Run]) -> list[list[_Run]]:
    """Groups runs by page: same experiment, profile and point of a sweep."""
    by_variant: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    trees = {run.name: flatten(json.loads(run.parameters or "{}")) for run in runs}
    for run in runs:
        by_variant[run.experiment, run.profile, run.variant].append(trees[run.name])
    varied = {key for own in by_variant.values() for key in _differing(own)}
    groups: dict[tuple[str, ...], list[_Run]] = defaultdict(list)
    for run in runs:
        setting = [trees[run.name].get(key, "") for key in sorted(varied)]
        groups[run.experiment, run.profile, *setting].append(run)
    return list(groups.values())


def _differing(trees: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for key in dict.fromkeys(key for tree in trees for key in tree):
        if len({tree.get(key) for tree in trees}) > 1:
            yield key


def _facts(runs: Sequence[_Run], tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> ReportData:
    first = runs[0]
    naming = _ResultNaming(runs)
    found = naming.findings(tables)
    source = catalogue().get(first.experiment)
    only = {} if source is None else only_orderings(source.experiment)
    # Metrics that only the lab computes have no value here.
    verdicts = [
        judge_expectation(expectation, found, only)
        for expectation in ([] if source is None else source.experiment.expect)
        if first.profile in expectation.profiles
        and found.keys() >= {expectation.variant, expectation.ratio_to} - {None}
    ]
    hashes = {f"{run.variant}.{run.seed}": run.trace_hash for run in runs if run.trace_hash}
    result = Result(
        id=first.experiment,
        profile=first.profile,
        seeds=sorted({run.seed for run in runs}),
        trace_hash=_combined(hashes),
        variants={name: estimates(own) for name, own in found.items()},
        expect=[verdict for verdict in verdicts if verdict.value is not None],
        parameters={run.variant: json.loads(run.parameters or "{}") for run in runs},
        trace_hashes=hashes,
        series={name: means([f.series for f in own]) for name, own in found.items()},
        quantiles={name: means([f.quantiles for f in own]) for name, own in found.items()},
        code_version=first.code_version,
    )
    about = "" if source is None else source.experiment.about
    return ReportData(
        result,
        histograms=naming.histograms(tables["histograms"]),
        pairs=naming.pairs(tables["pairs"]),
        about=about,
    )


class _ResultNaming:
    """Maps rows, which are keyed by run and ordering, to result names."""

    def __init__(self, runs: Sequence[_Run]) -> None:
        self._runs = {run.name: run for run in runs}
        self._is_alone = len({run.variant for run in runs}) == 1
        trees = {run.name: json.loads(run.parameters or "{}") for run in runs}
        # Rows of runs without a transport have an ordering too, which the experiment lacks.
        self._orderings = {name: tree.get("orderings") for name, tree in trees.items()}

    def name_of(self, row: Mapping[str, Any]) -> str | None:
        """The result name of a row; None for other runs and for unknown orderings."""
        run = self._runs.get(row["run"])
        if run is None:
            return None
        ordering, known = row["ordering"], self._orderings[row["run"]]
        if not ordering:
            return run.variant
        if known is not None and ordering not in known:
            return None
        return str(ordering) if self._is_alone else f"{run.variant}.{ordering}"

    def findings(
        self, tables: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> dict[str, list[Findings]]:
        """Findings by name, one per seed; the network comes before its orderings."""
        found: dict[tuple[str, str], Findings] = {}
        for row, metric, own in self._by_name(tables["figures"], found):
            own.figures[metric] = (row["value"], row["unit"])
        for row, metric, own in self._by_name(tables["seconds"], found):
            own.series[metric] = _laid_out(row["second"], row["value"])
        for row, metric, own in self._by_name(tables["pairs"], found):
            if metric in _DISTRIBUTIONS:
                quantiles = np.quantile(row["value"], _SHARES).tolist()
                own.quantiles[_DISTRIBUTIONS[metric]] = quantiles
        by_name: dict[str, list[Findings]] = defaultdict(list)
        for (name, _), own in found.items():
            by_name[name].append(own)
        return {name: by_name[name] for name in [*self._in_order(), *by_name] if name in by_name}

    def _in_order(self) -> Iterator[str]:
        """Result names in the order of the experiment file; tables are sorted by name."""
        for run, orderings in self._orderings.items():
            for ordering in ("", *(orderings or ())):
                yield str(self.name_of({"run": run, "ordering": ordering}))

    def _by_name(
        self, rows: Iterable[Mapping[str, Any]], found: dict[tuple[str, str], Findings]
    ) -> Iterator[tuple[Mapping[str, Any], str, Findings]]:
        for row in sorted(rows, key=_network_first):
            name = self.name_of(row)
            if name is not None:
                key = (name, row["run"])
                # Not Findings(): all instances share the default dicts of the class.
                if key not in found:
                    found[key] = Findings(figures={}, series={}, quantiles={})
                yield row, row["metric"], found[key]

    def pairs(
        self, rows: Iterable[Mapping[str, Any]]
    ) -> dict[str, dict[str, dict[tuple[str, str], float]]]:
        """Means per pair over the seeds that have it, by name and metric."""
        values: dict[tuple[str, str, tuple[str, str]], list[float]] = defaultdict(list)
        for row in rows:
            name = self.name_of(row)
            if name is not None and row["metric"] in _OF_PAIRS:
                columns = (row[column] for column in _LISTS["pairs"])
                for subscriber, publisher, value in zip(*columns, strict=True):
                    values[name, row["metric"], (subscriber, publisher)].append(value)
        found: dict[str, dict[str, dict[tuple[str, str], float]]] = {}
        for (name, metric, pair), own in sorted(values.items()):
            found.setdefault(name, {}).setdefault(metric, {})[pair] = fmean(own)
        return found

    def histograms(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Histogram]]:
        """Histograms summed over all seeds, by name and metric."""
        counts: dict[str, dict[str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
        for row in rows:
            name = self.name_of(row)
            if name is not None:
                own = dict(zip(row["bin"], row["count"], strict=True))
                counts[name][row["metric"]].update(own)
        return {
            name: {metric: _dense(bins) for metric, bins in own.items()}
            for name, own in counts.items()
        }


def _network_first(row: Mapping[str, Any]) -> bool:
    return bool(row["ordering"])


def _laid_out(seconds: Sequence[int], values: Sequence[float]) -> list[float]:
    """A dense series from second 0 to the last; seconds without a sample are NaN."""
    series = [nan] * (max(seconds) + 1)
    for second, value in zip(seconds, values, strict=True):
        series[second] = value
    return series


def _dense(bins: Mapping[int, int]) -> Histogram:
    """A dense histogram without out-of-range bins; clock offsets can make delays negative."""
    inside = {index: count for index, count in bins.items() if 0 <= index < _BINS_MAX}
    counts = [0] * (max(inside, default=-1) + 1)
    for index, count in inside.items():
        counts[index] = count
    return Histogram(counts=tuple(counts), width=BIN_MS)


def _combined(hashes: Mapping[str, str]) -> str:
    """One hash for all runs, computed as the lab does."""
    lines = sorted(
        f"{name.rpartition('.')[0]} {name.rpartition('.')[2]} {hash_}\n"
        for name, hash_ in hashes.items()
    )
    return sha256("".join(lines).encode()).hexdigest() if lines else ""
