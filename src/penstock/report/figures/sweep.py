"""Metrics against the parameter that a sweep varies, with confidence intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.metrics.statistics import Estimate
from penstock.report.curve_style import CurveStyle, curve_style, curve_styles
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import error_bars, format_thousands, legend_below
from penstock.report.report_data import ReportData
from penstock.report.sweep import Sweep, numeric

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_FIGURES_MAX: Final = 8
_CURVES_MAX: Final = 14
# The axis is logarithmic if the ratio of the largest to the smallest value reaches this.
_WIDE: Final = 50
_TICKS_MAX: Final = 12


def figures(sweep: Sweep) -> list[Figure]:
    """One figure per metric that distinguishes the points."""
    return [
        Figure(
            name=f"sweep-{index + 1}",
            title=f"{metric} by {', '.join(sweep.keys)}",
            caption="Means over seeds, with 95 % intervals where there are several.",
            draw=partial(_draw, sweep=sweep, metric=metric),
            height_in=4.2,
        )
        for index, metric in enumerate(sweep.metrics()[:_FIGURES_MAX])
    ]


def _draw(canvas: Canvas, *, sweep: Sweep, metric: str) -> None:
    axes = canvas.subplots()
    key, *others = sweep.keys
    values = list(dict.fromkeys(sweep.setting(point, key) for point in sweep.points))
    positions = _positions(values)
    curves = _curves(sweep, metric, others)
    styles = _curve_styles(sweep.points[0], [name for name, _ in curves], len(curves))
    for ((name, rest), points), style in zip(curves.items(), styles, strict=True):
        axes.errorbar(
            [positions[sweep.setting(point, key)] for point, _ in points],
            [estimate.mean for _, estimate in points],
            yerr=error_bars([estimate for _, estimate in points]),
            color=style.colour,
            linestyle=style.line,
            linewidth=style.width,
            marker=style.marker,
            elinewidth=1,
            capsize=3,
            label=", ".join(part for part in (name, rest) if part),
        )
    low, high = min(positions.values()), max(positions.values())
    if low > 0 and high / low >= _WIDE:
        axes.set_xscale("log")
    if len(values) <= _TICKS_MAX:
        axes.set_xticks(list(positions.values()), values)
        axes.minorticks_off()
    unit = sweep.points[0].metrics().get(metric)
    axes.set(xlabel=key, ylabel=f"{metric} ({unit})" if unit else metric)
    format_thousands(axes.yaxis)
    legend_below(canvas, [axes])


def _positions(values: Sequence[str]) -> dict[str, float]:
    """Positions on the axis: numbers at their value, other values one after another."""
    numbers = {value: number for value in values if (number := numeric(value)) is not None}
    if len(numbers) == len(values):
        return numbers
    return {value: float(index) for index, value in enumerate(values)}


def _curves(
    sweep: Sweep, metric: str, others: Sequence[str]
) -> dict[tuple[str, str], list[tuple[ReportData, Estimate]]]:
    """Curves by result name and by the setting of all parameters but the first."""
    found: dict[tuple[str, str], list[tuple[ReportData, Estimate]]] = defaultdict(list)
    for point in sweep.points:
        for name in point.names_with(metric):
            estimate = point.figure(name, metric)
            assert estimate is not None
            found[name, sweep.label(point, others)].append((point, estimate))
    return dict(list(found.items())[:_CURVES_MAX])


def _curve_styles(point: ReportData, names: Sequence[str], count: int) -> list[CurveStyle]:
    """The styles of a single result's page if each name has one curve."""
    if len({*names}) == count and all(name in point.names for name in names):
        return list(curve_styles(point, names).values())
    return [curve_style(index) for index in range(count)]
