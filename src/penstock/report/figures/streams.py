"""Rates of guaranteed streams over time: what is published, and what each host delivers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.curve_style import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import (
    format_thousands,
    legend_below,
    panels,
    second_midpoints,
)
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_PUBLISHED: Final = "publish_rate"
_READING: Final = "reading_rate."
_PANELS_MAX: Final = 4
_COLOURS: Final = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)


def figures(facts: ReportData) -> list[Figure]:
    """One panel for each variant."""
    names = [name for name in facts.names_with_series(_PUBLISHED) if _hosts(facts, name)]
    names = names[:_PANELS_MAX]
    if not names:
        return []
    return [
        Figure(
            name="stream-rates",
            title=_title(facts, names),
            caption="Messages a second, means over seeds: those that pubends confirm to"
            " publishers, and those that applications get at each host."
            f" {published_values.redrawn_figure(facts.id, 'stream-rates')}",
            draw=partial(_rates, facts=facts, names=names),
            height_in=1.2 + 2.4 * len(names),
        )
    ]


def _hosts(facts: ReportData, name: str) -> list[str]:
    every = facts.result.series.get(name, {})
    return [metric.removeprefix(_READING) for metric in every if metric.startswith(_READING)]


def _rates(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    all_axes = panels(canvas, len(names))
    for axes, name in zip(all_axes, names, strict=True):
        published = facts.series(name, _PUBLISHED)
        times = second_midpoints(published)
        axes.plot(times, published, color=INK, linestyle="--", linewidth=1.2, label="published")
        for index, host in enumerate(_hosts(facts, name)):
            values, colour = facts.series(name, f"{_READING}{host}"), _COLOURS[index % 6]
            axes.plot(second_midpoints(values), values, color=colour, linewidth=1.3, label=host)
        axes.set(ylabel="messages/s", ylim=(0, None), xlim=(0, None))
        axes.set_title(name if len(names) > 1 else "")
        format_thousands(axes.yaxis)
    all_axes[-1].set_xlabel("time (s)")
    legend_below(canvas, all_axes)


def _title(facts: ReportData, names: Sequence[str]) -> str:
    """The host that is worst off in the last tenth of the run."""
    found = []
    for name in names:
        ends = []
        for host in _hosts(facts, name):
            values = facts.series(name, f"{_READING}{host}")
            tail = values[-max(1, len(values) // 10) :]
            ends.append((sum(tail) / len(tail), host))
        rate, host = min(ends)
        found.append(f"{name} {format_number(round(rate, 1))} at {host}")
    return f"Messages a second that the slowest host delivers at the end: {', '.join(found)}"
