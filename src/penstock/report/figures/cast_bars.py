"""Helpers of the figures of casts: a row of bars for each variant, with bounds marked on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, Final, TypeVar

from penstock.report import published_values
from penstock.report.curve_style import INK, VERMILION
from penstock.report.figures.plot_helpers import (
    PUBLISHED,
    error_bars,
    format_thousands,
    legend_below,
    reference_line,
)
from penstock.report.figures.recovered import beside, figure_mean
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Value = TypeVar("Value")

_VARIANTS_MAX: Final = 12
# How much of a row its bars take, and how much of that each of them.
_ROW: Final = 0.8
_BAR: Final = 0.86
# The axis is logarithmic if the ratio of the largest to the smallest value reaches this.
_WIDE: Final = 30
# For captions.
INTERVALS: Final = (
    "Means over seeds, with 95 % intervals where there are several; long ones leave the frame."
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across a bar, at a figure of the same variant."""

    metric: str
    label: str
    line: Any = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar of each row."""

    metric: str
    label: str
    colour: str
    hatch: str = ""
    marks: tuple[Mark, ...] = ()


def compared(facts: ReportData, metric: str) -> list[str]:
    """The first variants that have this metric."""
    return [name for name in facts.networks if facts.figure(name, metric)][:_VARIANTS_MAX]


def main_variant(names: Sequence[str]) -> str:
    """The variant that titles speak of."""
    return "default" if "default" in names else names[0]


def height_of(names: Sequence[str], bars: Sequence[Bar], *, lines: int = 1) -> float:
    """The height in inches of rows with so many bars, and lines of text to their left."""
    return 1.5 + len(names) * max(0.42, 0.2 * len(bars), 0.12 + 0.17 * lines)


def percent(share: float) -> str:
    """A share of something that may be more than all of it."""
    return f"{format_number(100 * share)} %"


def draw_rows(
    axes: Axes,
    facts: ReportData,
    names: Sequence[str],
    bars: Sequence[Bar],
    say: Callable[[float], str],
) -> None:
    """The bars of each variant, one row below the other, with their values to the right."""
    height = _ROW / len(bars)
    for index, bar in enumerate(bars):
        at = height * (index - (len(bars) - 1) / 2)
        known = {row: e for row, name in enumerate(names) if (e := facts.figure(name, bar.metric))}
        rows, values = [row + at for row in known], list(known.values())
        axes.barh(
            rows, [e.mean for e in values], xerr=error_bars(values), ecolor=INK, capsize=2,
            height=_BAR * height, color=bar.colour, hatch=bar.hatch, edgecolor="white",
            label=bar.label,
        )  # fmt: skip
        beside(axes, rows, [say(e.mean) for e in values])
        for mark in bar.marks:
            edges = (at - height / 2, at + height / 2)
            _draw_mark(axes, mark, _means_by_row(facts, names, mark.metric), edges)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def _draw_mark(
    axes: Axes, mark: Mark, wheres: Mapping[int, float], edges: tuple[float, float]
) -> None:
    """One curve with a gap after each row."""
    xs = [x for where in wheres.values() for x in (where, where, nan)]
    ys = [y for row in wheres for y in (row + edges[0], row + edges[1], nan)]
    if xs:
        axes.plot(xs, ys, color=INK, linestyle=mark.line, linewidth=1.8, label=mark.label, zorder=4)


def _means_by_row(facts: ReportData, names: Sequence[str], metric: str) -> dict[int, float]:
    found = {row: figure_mean(facts, name, metric) for row, name in enumerate(names)}
    return {row: mean for row, mean in found.items() if mean is not None}


def mark_published(
    axes: Axes,
    facts: ReportData,
    names: Sequence[str],
    known: Mapping[str, Mapping[int, float]],
) -> None:
    """A star in the row of each variant of the published size, at what the paper states of it."""
    stars = {row: x for row, n in enumerate(names) if (x := published(facts, n, known)) is not None}
    if stars:
        told = " and ".join(dict.fromkeys(percent(x) for x in stars.values()))
        axes.plot(
            list(stars.values()), list(stars), marker="*", markersize=12, color=VERMILION,
            markeredgecolor="white", linestyle="", zorder=5, label=f"{PUBLISHED}: {told}",
        )  # fmt: skip


def published(
    facts: ReportData, name: str, known: Mapping[str, Mapping[int, Value]]
) -> Value | None:
    """The published value for as many routers as a variant has; None at another scale."""
    if facts.parameter(name, "casts.packets") != published_values.CAST_PACKETS:
        return None
    return known.get(facts.id, {}).get(facts.parameter(name, "casts.routers"))


def fit_axis(axes: Axes, values: Sequence[float], label: str, *, in_percent: bool = True) -> None:
    """Shows these values, on a logarithmic axis if they differ much; intervals may go beyond."""
    positive = [value for value in values if value > 0]
    if positive and max(positive) >= _WIDE * min(positive):
        axes.set_xscale("log")
        axes.set_xlim(min(positive) / 2, max(positive) * 1.5)
    elif values:
        axes.set_xlim(min(0.0, *values), 1.15 * max(values))
    if in_percent:
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    else:
        format_thousands(axes.xaxis)
    axes.set_xlabel(label)


def means(
    facts: ReportData, names: Sequence[str], bars: Sequence[Bar], *, with_marks: bool = False
) -> list[float]:
    """What is drawn of all variants."""
    metrics = [bar.metric for bar in bars]
    if with_marks:
        metrics += [mark.metric for bar in bars for mark in bar.marks]
    return [mean for metric in metrics for mean in _means_by_row(facts, names, metric).values()]


def draw_of_unicast(
    canvas: Canvas,
    *,
    facts: ReportData,
    names: Sequence[str],
    bars: Sequence[Bar],
    published: Mapping[str, Mapping[int, float]],
) -> None:
    """Rows of shares of what unicast recovery takes, with what is published of them."""
    axes = canvas.subplots()
    draw_rows(axes, facts, names, bars, percent)
    mark_published(axes, facts, names, published)
    reference_line(axes, x=1, label="unicast recovery")
    values = means(facts, names, bars, with_marks=True)
    fit_axis(axes, [*values, 1], "of unicast recovery")
    legend_below(canvas, [axes])
