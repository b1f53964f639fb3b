"""The detailed tables of a page: figures, expectations, parameters and provenance."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from penstock.report.markup import Cell, Content, Markup, join, table, tag
from penstock.report.number_format import (
    format_estimate,
    format_goal,
    format_interval,
    format_plain,
)
from penstock.report.report_data import ReportData, flatten
from penstock.report.summary_table import verdict_word
from penstock.report.sweep import Sweep

# Parameters that the page shows elsewhere.
_SHOWN_ELSEWHERE: Final = ("id", "ids", "title", "source", "seeds")
_HASH_DIGITS: Final = 16
_HASHES_MAX: Final = 100
_METRICS_MAX: Final = 5
_NAMES_MAX: Final = 14


def expectations(facts: ReportData) -> Markup:
    """The table of expectations with goals, measured values and verdicts."""
    rows: list[list[Content]] = []
    for verdict in facts.result.expect:
        published = verdict.published
        rows.append(
            [
                verdict.metric,
                Cell(verdict.variant, class_="words"),
                format_goal(verdict),
                "–" if verdict.value is None else format_interval(verdict.value, verdict.ci95),
                Cell(outcome_word := verdict_word(verdict), class_=outcome_word.split()[0]),
                Cell(
                    format_plain(published) if isinstance(published, float) else published or "",
                    class_="words",
                ),
            ]
        )
    return table(("metric", "of", "expected", "seen", "", "the paper says"), rows, class_="expect")


def all_figures(facts: ReportData) -> Markup:
    """Every metric of every name; the longer of the two lists makes the rows."""
    names, metrics = facts.names, facts.metrics()
    if len(names) <= len(metrics):
        headings = ["", *names, "unit"]
        rows = [
            [metric, *(format_estimate(facts.figure(name, metric)) for name in names), unit]
            for metric, unit in metrics.items()
        ]
    else:
        headings = ["", *(f"{m} ({unit})" if unit else m for m, unit in metrics.items())]
        rows = [
            [name, *(format_estimate(facts.figure(name, metric)) for metric in metrics)]
            for name in names
        ]
    return table(headings, rows)


def provenance(facts: ReportData) -> Markup:
    """Everything needed to reproduce the result."""
    result = facts.result
    seeds = ", ".join(map(str, result.seeds))
    rows = [
        ("experiment", f"{result.id}, profile {result.profile}"),
        ("source", facts.source),
        ("seeds", seeds),
        ("made by", f"penstock {result.code_version}"),
        ("trace hash", tag("code", result.trace_hash)),
        ("again", tag("code", f"penstock lab run {result.id} --profile {result.profile}")),
    ]
    parts = [table(("", ""), [row for row in rows if row[1]], class_="words")]
    parts.append(_parameters(result.parameters, aside=_SHOWN_ELSEWHERE))
    if len(result.trace_hashes) > 1:
        hashes = list(result.trace_hashes.items())[:_HASHES_MAX]
        rows_of_hashes = [(run, tag("code", f"{hash_[:_HASH_DIGITS]}…")) for run, hash_ in hashes]
        parts.append(_folded("Trace hash of each run", table(("run", "hash"), rows_of_hashes)))
    return join(parts)


def by_setting(sweep: Sweep) -> Markup:
    """One table per metric: settings are rows, names are columns."""
    parts: list[str] = []
    for metric in sweep.metrics()[:_METRICS_MAX]:
        names = [n for n in sweep.names if any(p.figure(n, metric) for p in sweep.points)]
        names = names[:_NAMES_MAX]
        rows = [
            [sweep.label(point), *(format_estimate(point.figure(name, metric)) for name in names)]
            for point in sweep.points
        ]
        unit = sweep.points[0].metrics().get(metric)
        heading = f"{metric} ({unit})" if unit else metric
        parts += [tag("h3", heading), table(("", *names), rows)]
    return join(parts)


def origins(sweep: Sweep) -> Markup:
    """Everything needed to reproduce every point of a sweep."""
    first = sweep.points[0]
    rows = [
        (
            sweep.label(point),
            ", ".join(map(str, point.result.seeds)),
            point.result.code_version,
            tag("code", point.result.trace_hash[:_HASH_DIGITS]),
        )
        for point in sweep.points
    ]
    again = " ".join(f"--set {key}=…" for key in sweep.keys)
    command = f"penstock lab run {first.id} --profile {first.result.profile} {again}"
    return join(
        [
            table(("setting", "seeds", "penstock", "trace hash"), rows),
            tag("p", "Again: ", tag("code", command)),
            _parameters(first.result.parameters, aside=(*_SHOWN_ELSEWHERE, *sweep.keys)),
        ]
    )


def _parameters(parameters: Mapping[str, Any], *, aside: Collection[str]) -> Markup:
    """Parameters that all variants share listed once, the others by variant."""
    trees = {variant: flatten(tree) for variant, tree in parameters.items()}
    keys = list(dict.fromkeys(key for tree in trees.values() for key in tree))
    keys = [key for key in keys if key not in aside]
    shared = [key for key in keys if len({tree.get(key, "") for tree in trees.values()}) == 1]
    first = next(iter(trees.values()), {})
    parts = [table(("parameter", "value"), [(key, first[key]) for key in shared], class_="words")]
    differing = [key for key in keys if key not in shared]
    if differing:
        rows = [(v, *(tree.get(key, "–") for key in differing)) for v, tree in trees.items()]
        parts.insert(0, table(("variant", *differing), rows, class_="words"))
    return _folded("Parameters", join(parts))


def _folded(title: str, content: str) -> Markup:
    return tag("details", tag("summary", title), content)
