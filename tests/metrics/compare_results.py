"""`python -m tests.metrics.compare_results`: shows which metrics a change has changed.

`record DIR` runs the quick profile of every experiment, all variants, with seeds 1 and 2, and
writes `DIR/ID/result.json`. With `--keep` it also keeps the traces in `DIR/ID/traces` and writes
to `DIR/ID/gold.json` what the pipeline's metrics find in them. `compare BEFORE AFTER` prints one
line per metric name and exits with 1 if a value is different or gone that `--allow` does not name.

To record another commit, let its sources come first:
`PYTHONPATH=/path/to/it/src:. python -m tests.metrics.compare_results record DIR --keep`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import isclose, isfinite, isnan
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter
from typing import Any, Final, NamedTuple, TypeAlias

import penstock
from penstock.kernel.errors import UsageError
from penstock.lab.experiment_files import catalogue
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs, run_experiment
from penstock.lab.result import write_result

SEEDS: Final = (1, 2)
# Another order of summation is no difference.
TOLERANCE: Final = 1e-12
RESULT: Final = "result.json"
GOLD: Final = "gold.json"
_NUMBERED: Final = re.compile(r"[^.]*_\d+\.\d+(?=\.|$)")

Value: TypeAlias = float | str
# Table of the gold layout, then "run|ordering|metric", then a value, or values by item.
Gold: TypeAlias = dict[str, dict[str, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one of the two commands; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.metrics.compare_results",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    record = commands.add_parser("record", help="run all quick profiles and write their results")
    record.add_argument("directory", type=Path, metavar="DIR")
    record.add_argument("ids", nargs="*", metavar="ID", help="experiments (default: all)")
    record.add_argument("--keep", action="store_true", help="keep traces and write gold.json")
    record.add_argument("--processes", type=int, default=2, help="experiments at once (default: 2)")
    record.set_defaults(run=_record)
    compare = commands.add_parser("compare", help="compare two recorded directories")
    compare.add_argument("before", type=Path, metavar="BEFORE")
    compare.add_argument("after", type=Path, metavar="AFTER")
    compare.add_argument(
        "--allow",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME|FILE",
        help="metrics that may be different or gone: patterns such as jain, 'bottleneck_use*' or"
        " 'gold_units:*', or a file with one pattern per line",
    )
    compare.add_argument(
        "--renamed",
        nargs="+",
        action="extend",
        default=[],
        type=_renaming,
        metavar="OLD=NEW",
        help="compare OLD of BEFORE with NEW of AFTER",
    )
    compare.add_argument("--only", nargs="+", default=[], metavar="ID", help="these experiments")
    compare.add_argument(
        "--tolerance", type=float, default=TOLERANCE, help="relative, of values that are no counts"
    )
    compare.add_argument("--brief", action="store_true", help="leave out metrics that are equal")
    compare.set_defaults(run=_compare)
    chosen = parser.parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except UsageError as error:
        print(error)
        return 2
    return code


def _renaming(text: str) -> tuple[str, str]:
    old, separator, new = text.partition("=")
    if not (old and separator and new):
        raise argparse.ArgumentTypeError(f"write OLD=NEW instead of {text!r}")
    return old, new


# Recording


def _record(chosen: argparse.Namespace) -> int:
    if chosen.processes < 1:
        raise UsageError(f"--processes {chosen.processes}: write 1 or more")
    known = catalogue()
    unknown = [id_ for id_ in chosen.ids if id_ not in known]
    if unknown:
        raise UsageError(f"there is no experiment {unknown[0]!r}: choose from {', '.join(known)}")
    print(f"recording {Path(penstock.__file__).parent} in {chosen.directory}")
    started = perf_counter()
    with ProcessPoolExecutor(chosen.processes, get_context("spawn")) as pool:
        futures = [
            pool.submit(record_experiment, id_, chosen.directory / id_, keep=chosen.keep)
            for id_ in chosen.ids or known
        ]
        for count, future in enumerate(as_completed(futures), 1):
            print(f"{count} of {len(futures)}: {future.result()}", flush=True)
    usages = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    cpu_s = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    print(f"{perf_counter() - started:.0f} s, {cpu_s:.0f} s of CPU time")
    return 0


def record_experiment(
    id_: str, directory: Path, *, keep: bool, seeds: Sequence[int] = SEEDS
) -> str:
    """Runs and writes one experiment; returns a line for the terminal."""
    started = perf_counter()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / GOLD).unlink(missing_ok=True)
    traces = directory / "traces" if keep else None
    source, plan = catalogue()[id_], ExperimentPlan(seeds=seeds, processes=1, keep=traces)
    jobs = plan_jobs(source, plan)
    write_result(run_experiment(source, plan, jobs=jobs), directory / RESULT)
    simulated_s = perf_counter() - started
    if traces is None:
        return f"{id_}, {len(jobs)} runs in {simulated_s:.1f} s"
    gold = _gold_of(row for job in jobs for row in gold_rows(traces, job.run_id))
    (directory / GOLD).write_text(json.dumps(gold, indent=0))
    measured_s = perf_counter() - started - simulated_s
    return f"{id_}, {len(jobs)} runs in {simulated_s:.1f} s, measured again in {measured_s:.1f} s"


def gold_rows(traces: Path, run: str) -> Iterator[dict[str, Any]]:
    """What all of the pipeline's metrics find in one kept trace: rows of the wide table.

    The only place that knows where these metrics are.
    """
    from penstock.metrics.catalogue import DEFAULT_METRICS, find_metrics
    from penstock.pipeline.wide_table import wide_batches
    from penstock.tracefile.measure import measure

    for batch in wide_batches(measure(traces, run, [*find_metrics(DEFAULT_METRICS).values()])):
        names = batch.schema.names
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield dict(zip(names, row, strict=True))


def _gold_of(rows: Iterable[dict[str, Any]]) -> Gold:
    """Rows by table and metric; whatever other columns have a value tell the items apart."""
    gold: Gold = {}
    for row in rows:
        table, metric = row.pop("table"), "|".join(map(row.pop, ("run", "ordering", "metric")))
        value, count, unit = (row.pop(name, None) for name in ("value", "count", "unit"))
        if unit is not None:
            gold.setdefault("units", {})[metric] = unit
        item = "|".join(str(part) for part in row.values() if part is not None)
        of_table = gold.setdefault(table, {})
        # A figure has no items.
        found, key = (of_table.setdefault(metric, {}), item) if item else (of_table, metric)
        assert key not in found, (table, metric, item)
        found[key] = count if value is None else value
    return gold


# Comparing


class Place(NamedTuple):
    """Where a value was found."""

    # figures, series, quantiles, sketches, mean, ci95, expect, units, hashes; gold_figures and
    # so on.
    kind: str
    metric: str
    # Variant and seed, result name, or run and ordering.
    run: str
    # A second, a pair, a bin; "" for a figure.
    item: str


@dataclass(slots=True)
class Tally:
    """How the values of one metric name compare."""

    equal: int = 0
    different: int = 0
    gone: int = 0
    new: int = 0
    # Of the different and gone, those that are not allowed.
    refused: int = 0
    # The largest relative difference and its description; a refused one comes first.
    worst: tuple[bool, float, str] = (False, -1.0, "")
    first_gone: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.different or self.gone or self.new)

    def line(self, name: str) -> str:
        """What is printed of it."""
        parts = [f"{self.equal} equal"]
        if self.different:
            parts.append(f"{self.different} different, worst {self.worst[2]}")
        if self.gone:
            parts.append(f"{self.gone} gone, first {self.first_gone}")
        if self.new:
            parts.append(f"{self.new} new")
        is_allowed = (self.different or self.gone) and not self.refused
        return f"{name}: {'; '.join(parts)}{' (allowed)' if is_allowed else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Compares values of two directories; what is said of a name is said of all below it, too."""

    allowed: Sequence[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    tolerance: float = TOLERANCE
    tallies: dict[str, Tally] = field(default_factory=dict)

    def add(self, id_: str, before: Mapping[Place, Value], after: Mapping[Place, Value]) -> None:
        """Compares one experiment."""
        matched = set()
        for old_place, old in before.items():
            place = old_place._replace(metric=self._new_name(old_place.metric))
            matched.add(place)
            tally = self._tally(place)
            new = after.get(place)
            if new is None:
                tally.gone += 1
                tally.refused += not self._is_allowed(place)
                tally.first_gone = tally.first_gone or _described(id_, place)
            elif are_equal(old, new, self.tolerance):
                tally.equal += 1
            else:
                refused = not self._is_allowed(place)
                tally.different += 1
                tally.refused += refused
                text = f"{_described(id_, place)}: {old} -> {new}"
                tally.worst = max(tally.worst, (refused, _distance(old, new), text))
        for place in after.keys() - matched:
            self._tally(place).new += 1

    def _tally(self, place: Place) -> Tally:
        return self.tallies.setdefault(_name(place.metric), Tally())

    def _new_name(self, metric: str) -> str:
        """Entity and phase follow the name that was renamed."""
        for name in _names(metric):
            if name in self.renamed:
                return self.renamed[name] + metric[len(name) :]
        return metric

    def _is_allowed(self, place: Place) -> bool:
        plain = _names(place.metric)
        names = [*plain, *(f"{place.kind}:{name}" for name in plain)]
        return any(fnmatchcase(name, pattern) for pattern in self.allowed for name in names)


def are_equal(old: Value, new: Value, tolerance: float) -> bool:
    """Texts and counts exactly, other numbers within the relative tolerance."""
    if isinstance(old, str) or isinstance(new, str):
        return old == new
    if isnan(old) or isnan(new):
        return isnan(old) and isnan(new)
    if float(old).is_integer() and float(new).is_integer():
        return old == new
    return isclose(old, new, rel_tol=tolerance, abs_tol=0)


def _distance(old: Value, new: Value) -> float:
    if isinstance(old, str) or isinstance(new, str) or not (isfinite(old) and isfinite(new)):
        return float("inf")
    return abs(old - new) / max(abs(old), abs(new))


def _name(metric: str) -> str:
    """The name without entity and phase; a number at its end may have a dot, as in tail_0.05."""
    numbered = _NUMBERED.match(metric)
    return numbered[0] if numbered else metric.partition(".")[0]


def _names(metric: str) -> list[str]:
    """All that may stand for it, the longest first: where a name ends, only its metric knows."""
    parts = metric.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _described(id_: str, place: Place) -> str:
    return " ".join(filter(None, (id_, place.run, place.kind, place.metric, place.item)))


def _compare(chosen: argparse.Namespace) -> int:
    if not chosen.tolerance >= 0:
        raise UsageError(f"--tolerance {chosen.tolerance:g}: write 0 or more")
    comparison = Comparison(
        allowed=_patterns(chosen.allow), renamed=dict(chosen.renamed), tolerance=chosen.tolerance
    )
    before, after = (_recorded(d, chosen.only) for d in (chosen.before, chosen.after))
    lacking = [id_ for id_ in before if id_ not in after]
    without_gold = []
    for id_ in before:
        if id_ in lacking:
            continue
        has_gold = all((recorded[id_] / GOLD).exists() for recorded in (before, after))
        if not has_gold:
            without_gold.append(id_)
        comparison.add(id_, *(values(d[id_], with_gold=has_gold) for d in (before, after)))
    failures = _print_lines(comparison.tallies, brief=chosen.brief)
    if without_gold:
        print(f"gold rows not compared, recorded without --keep: {', '.join(without_gold)}")
    if lacking:
        print(f"not in {chosen.after}: {', '.join(lacking)}; see --only")
    if added := [id_ for id_ in after if id_ not in before]:
        print(f"not compared, not in {chosen.before}: {', '.join(added)}")
    if not before:
        print(f"nothing recorded in {chosen.before}")
    return 1 if failures or lacking or not before else 0


def _print_lines(tallies: Mapping[str, Tally], *, brief: bool) -> list[str]:
    """Prints equal metrics, then additions, then differences; returns names that failed."""
    named = sorted(tallies.items())
    added = [(name, t) for name, t in named if t.new and not (t.different or t.gone)]
    changed = [(name, t) for name, t in named if t.different or t.gone]
    equal = [(name, t) for name, t in named if t.is_equal]
    groups = {"equal": [] if brief else equal, "only additions": added, "different": changed}
    for title, group in groups.items():
        if group:
            print(f"--- {title}")
        for name, tally in group:
            print(tally.line(name))
    failed = [name for name, tally in changed if tally.refused]
    values_equal = sum(tally.equal for _, tally in named)
    print(
        f"--- {len(named)} names: {len(equal)} equal, {len(added)} with additions only,"
        f" {len(changed) - len(failed)} different as allowed, {len(failed)} different;"
        f" {values_equal} values are equal"
    )
    return failed


def _patterns(allow: Iterable[str]) -> list[str]:
    patterns = []
    for text in allow:
        path = Path(text)
        lines = path.read_text().splitlines() if path.is_file() else [text]
        patterns += [pattern for line in lines if (pattern := line.partition("#")[0].strip())]
    return patterns


def _recorded(directory: Path, only: Sequence[str]) -> dict[str, Path]:
    found = {path.parent.name: path.parent for path in sorted(directory.glob(f"*/{RESULT}"))}
    return {id_: path for id_, path in found.items() if not only or id_ in only}


def values(directory: Path, *, with_gold: bool) -> dict[Place, Value]:
    """All values recorded of one experiment."""
    found = _read(directory / RESULT, _values_of_result)
    if with_gold:
        found |= _read(directory / GOLD, _values_of_gold)
    return found


def _read(
    path: Path, values_of: Callable[[Any], Iterator[tuple[Place, Value]]]
) -> dict[Place, Value]:
    try:
        return dict(values_of(json.loads(path.read_bytes())))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path} is damaged ({reason}): record it again") from None


def _values_of_result(result: dict[str, Any]) -> Iterator[tuple[Place, Value]]:
    for run, text in result["trace_hashes"].items():
        yield Place("hashes", "trace_hash", run, ""), text
    for kind in ("figures", "series", "quantiles", "sketches"):
        for run, metrics in result.get(kind, {}).items():
            for metric, tree in metrics.items():
                for item, value in _leaves(tree):
                    yield Place(kind, metric, run, item), value
    for run, metrics in result["variants"].items():
        for metric, estimate in metrics.items():
            yield Place("units", metric, run, ""), estimate["unit"]
            for kind in ("mean", "ci95"):
                for item, value in _leaves(estimate.get(kind)):
                    yield Place(kind, metric, run, item), value
    yield from _verdicts(result.get("expect", []))


def _verdicts(expect: Iterable[dict[str, Any]]) -> Iterator[tuple[Place, Value]]:
    """Whether each expectation is met, whatever its goal: goals are no results."""
    seen = Counter[Place]()
    for verdict in expect:
        run = "/".join(filter(None, (verdict["variant"], verdict.get("ratio_to"))))
        place = Place("expect", verdict["metric"], run, verdict["op"])
        seen[place] += 1
        # Several expectations of one value, such as one for each profile.
        if seen[place] > 1:
            place = place._replace(item=f"{place.item} {seen[place]}")
        yield place, "met" if verdict["ok"] else "not met"


def _values_of_gold(gold: Gold) -> Iterator[tuple[Place, Value]]:
    for table, metrics in gold.items():
        for key, tree in metrics.items():
            run, ordering, metric = key.split("|", 2)
            for item, value in _leaves(tree):
                yield Place(f"gold_{table}", metric, f"{run} {ordering}".strip(), item), value


def _leaves(tree: Any, above: str = "") -> Iterator[tuple[str, Value]]:
    """Numbers and texts of a tree, each with its path."""
    if isinstance(tree, dict | list):
        below = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, branch in below:
            yield from _leaves(branch, f"{above}.{key}" if above else str(key))
    elif tree is not None:
        yield above, tree


if __name__ == "__main__":
    sys.exit(main())
