"""Figures of experiments that no family fits: metrics with expectations, and all series."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report.curve_style import curve_style, curve_styles
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import (
    error_bars,
    format_thousands,
    legend_below,
    marker_for,
    panels,
    second_midpoints,
)
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_FIGURES_MAX: Final = 8
_ROWS_MAX: Final = 40
_CURVES_MAX: Final = 7


def figures(facts: ReportData) -> list[Figure]:
    """Bars of the metrics that have expectations, then lines of the series."""
    return [*_bars(facts), *_lines(facts)]


def _bars(facts: ReportData) -> list[Figure]:
    metrics = dict.fromkeys(v.metric for v in facts.result.expect if facts.names_with(v.metric))
    chosen = list(metrics or facts.metrics())[:_FIGURES_MAX]
    found = []
    for index, metric in enumerate(chosen):
        names = facts.names_with(metric)
        shown = names[:_ROWS_MAX]
        more = f" The first {len(shown)} of {len(names)}." if len(shown) < len(names) else ""
        found.append(
            Figure(
                name=f"figure-{index + 1}",
                title=f"{metric}, side by side",
                caption=f"Means over seeds, with 95 % intervals.{more}",
                draw=partial(_draw_bars, facts=facts, metric=metric, names=shown),
                height_in=1.0 + 0.3 * len(shown),
            )
        )
    return found


def _lines(facts: ReportData) -> list[Figure]:
    every = dict.fromkeys(metric for own in facts.result.series.values() for metric in own)
    return [
        Figure(
            name=f"series-{index + 1}",
            title=f"{metric}, second by second",
            caption="Means over seeds.",
            draw=partial(_draw_lines, facts=facts, metric=metric),
            height_in=3.2,
        )
        for index, metric in enumerate(every)
        if index < _FIGURES_MAX and facts.names_with_series(metric)
    ]


def _draw_bars(canvas: Canvas, *, facts: ReportData, metric: str, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    styles = curve_styles(facts, names)
    estimates = [e for name in names if (e := facts.figure(name, metric)) is not None]
    axes.barh(
        range(len(names)),
        [e.mean for e in estimates],
        xerr=error_bars(estimates),
        color=[styles[name].colour for name in names],
        height=0.66,
        capsize=3,
    )
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    unit = estimates[0].unit
    axes.set_xlabel(f"{metric} ({unit})" if unit else metric)
    axes.grid(visible=False, axis="y")
    format_thousands(axes.xaxis)


def _draw_lines(canvas: Canvas, *, facts: ReportData, metric: str) -> None:
    (axes,) = panels(canvas, 1)
    for index, name in enumerate(facts.names_with_series(metric)[:_CURVES_MAX]):
        values, style = facts.series(name, metric), curve_style(index)
        axes.plot(
            second_midpoints(values), values, color=style.colour, linestyle=style.line, label=name,
            marker=marker_for(values, style.marker),
        )  # fmt: skip
    axes.set(xlabel="time (s)", ylabel=metric)
    format_thousands(axes.yaxis)
    legend_below(canvas, [axes])
