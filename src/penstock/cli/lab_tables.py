"""Prints the results of `penstock lab` as curves and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Final

import typer

from penstock.cli.output import TABLE_COLUMNS_MAX, on_terminal, print_rows
from penstock.lab.expectations import ExpectationResult, is_met
from penstock.lab.result import MetricChange, Result
from penstock.metrics.statistics import Estimate

_BARS: Final = "▁▂▃▄▅▆▇█"
_PLOT_WIDTH: Final = 60
_UNSURE: Final = "unsure"
# More variants than this become rows.
_COLUMNS_MAX: Final = 14
_METRICS_SHOWN: Final = 6
# What a table puts around a cell.
_BORDER: Final = 3


def show(result: Result, title: str, overrides: Sequence[str]) -> None:
    """Prints the curves, figures and expectations of a result."""
    count = len(result.seeds)
    seeds = f"{count} seeds" if count > 1 else f"seed {result.seeds[0]}"
    typer.echo(f"{result.id}: {title} ({result.profile}, {seeds})")
    for text in overrides:
        typer.echo(f"with {text}")
    typer.echo()
    _show_curves(result)
    _show_figures(result)
    if result.expect:
        typer.echo("\nexpected")
        print_rows(
            ("", "metric", "variant", "goal", "seen", "published"),
            [_verdict_row(verdict) for verdict in result.expect],
        )
        _show_remarks(result)
        if overrides:
            typer.echo("(goals are for the file as it is, without --set)")


def _show_figures(result: Result) -> None:
    """Prints a column per variant; with too many variants, a row each and a few metrics."""
    names = list(dict.fromkeys(name for figures in result.variants.values() for name in figures))
    if len(result.variants) <= _COLUMNS_MAX:
        rows = [
            (name, *(_estimate(figures.get(name)) for figures in result.variants.values()))
            for name in names
        ]
        for columns in _columns_that_fit(("metric", *result.variants), rows):
            print_rows(
                [("metric", *result.variants)[column] for column in columns],
                [[row[column] for column in columns] for row in rows],
            )
        return
    expected = list(dict.fromkeys(verdict.metric for verdict in result.expect)) or names
    shown = expected[:_METRICS_SHOWN]
    print_rows(
        ("variant", *shown),
        [
            (variant, *(_estimate(figures.get(name)) for name in shown))
            for variant, figures in result.variants.items()
            if any(name in figures for name in shown)
        ],
    )
    if len(shown) < len(names):
        typer.echo(f"({len(names)} metrics were measured: all are in the result file)")


def _columns_that_fit(
    headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[list[int]]:
    """The columns of each table: on a terminal as many variants as fit, and always the metric."""
    if not on_terminal():
        yield [*range(len(headings))]
        return
    widths = [max(map(len, texts)) + _BORDER for texts in zip(headings, *rows, strict=True)]
    columns, width = [0], widths[0]
    for column in range(1, len(headings)):
        if len(columns) > 1 and width + widths[column] >= TABLE_COLUMNS_MAX:
            yield columns
            columns, width = [0], widths[0]
        columns.append(column)
        width += widths[column]
    yield columns


def _show_curves(result: Result) -> None:
    """Prints a sparkline of every series, by second of the experiment."""
    curves = {
        name if len(result.series) == 1 else f"{variant} {name}": values
        for variant, series in result.series.items()
        for name, values in series.items()
        if any(values)
    }
    if curves:
        width = max(map(len, curves))
        for label, values in curves.items():
            highest = f"{_number(max(values))}{_unit_of(label)}"
            typer.echo(f"{label:>{width}} {sparkline(values)} up to {highest}")
        typer.echo()


def _unit_of(curve: str) -> str:
    """The unit of a curve, from its name; by default a count per second."""
    if "_kbps" in curve:
        return " kbps"
    if curve.endswith("_ms"):
        return " ms"
    return "" if curve.endswith("_chance") else "/s"


def _show_remarks(result: Result) -> None:
    if any(_verdict_word(verdict) == _UNSURE for verdict in result.expect):
        typer.echo(f"({_UNSURE}: the mean meets the goal, its interval does not: more seeds help)")
    for verdict in result.expect:
        if verdict.value is None:
            near = get_close_matches(verdict.metric, result.variants[verdict.variant], n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            typer.echo(f"({verdict.metric} was not measured{hint})")


def sparkline(values: Sequence[float], width: int = _PLOT_WIDTH) -> str:
    """A curve as one line of text, scaled from 0 to its highest value."""
    size = min(width, len(values))
    edges = [i * len(values) // size for i in range(size + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means) or 1
    return "".join(_BARS[min(len(_BARS) - 1, int(mean / top * len(_BARS)))] for mean in means)


def _verdict_row(verdict: ExpectationResult) -> tuple[str, ...]:
    goal = verdict.goal
    goal_text = (
        f"{goal[0]:g} to {goal[1]:g}" if isinstance(goal, list) else f"{verdict.op} {goal:g}"
    )
    if verdict.ratio_to is not None:
        goal_text += f" × {verdict.ratio_to}"
    published = verdict.published
    return (
        _verdict_word(verdict),
        verdict.metric,
        verdict.variant,
        goal_text,
        "not measured" if verdict.value is None else _interval(verdict.value, verdict.ci95),
        "" if published is None else published if isinstance(published, str) else f"{published:g}",
    )


def _verdict_word(verdict: ExpectationResult) -> str:
    if verdict.ok:
        return "met"
    if verdict.value is not None and is_met(
        Estimate(verdict.value, None), verdict.op, verdict.goal
    ):
        return _UNSURE
    return "MISSED"


def change_row(change: MetricChange) -> tuple[str, ...]:
    """A table row: before, after, relative change and whether it is significant."""
    relative = change.relative
    return (
        change.variant,
        change.metric,
        _estimate(change.before),
        _estimate(change.after),
        "" if relative is None else f"{relative:+.1%}",
        {None: "not known: one seed", True: "clear", False: "within the intervals"}[
            change.is_significant
        ],
    )


def differs(change: MetricChange) -> bool:
    """Whether the means differ, or one is missing."""
    if change.before is None or change.after is None:
        return True
    return change.before.mean != change.after.mean


def _estimate(figure: Estimate | None) -> str:
    if figure is None:
        return "-"
    unit = f" {figure.unit}" if figure.unit else ""
    return _interval(figure.mean, figure.ci95) + unit


def _interval(mean: float, ci95: tuple[float, float] | None) -> str:
    if ci95 is None:
        return _number(mean)
    return f"{_number(mean)} ± {_number((ci95[1] - ci95[0]) / 2)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
