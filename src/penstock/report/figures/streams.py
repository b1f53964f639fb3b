"""Rates of guaranteed streams over time: what is published, and what each host delivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.curve_style import INK
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import (
    PUBLISHED,
    format_thousands,
    reference_line,
    second_midpoints,
)
from penstock.report.figures.stream_panels import (
    draw_each,
    panel_by_variant,
    published,
    stream_figures,
    things,
    variants_with,
)
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_PUBLISHED: Final = "publish_rate"
_READING: Final = "reading_rate."


def figures(facts: ReportData) -> list[Figure]:
    """One panel for each variant."""
    names = [name for name in variants_with(facts, _READING) if facts.series(name, _PUBLISHED)]
    return stream_figures(
        facts,
        names,
        name="stream-rates",
        title=_title,
        caption="Messages a second, means over seeds: those that pubends confirm to"
        " publishers, and those that applications get at each host.",
        draw=_rates,
    )


def _rates(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    recovered_s = published(facts, published_values.RECOVERED_AT_S)

    def draw(axes: Axes, name: str) -> None:
        sent = facts.series(name, _PUBLISHED)
        draw_each(axes, facts, name, _READING)
        # Above the hosts, which mostly get what is published.
        axes.plot(
            second_midpoints(sent),
            sent,
            color=INK,
            linestyle="--",
            linewidth=1.2,
            label="published",
        )
        if recovered_s is not None:
            reference_line(axes, x=recovered_s, label=f"{PUBLISHED}: recovered")
        format_thousands(axes.yaxis)

    panel_by_variant(canvas, names, "messages/s", draw)


def _title(facts: ReportData, names: Sequence[str]) -> str:
    """The host that is worst off in the last tenth of the run."""
    found = []
    for name in names:
        ends = []
        for host in things(facts, name, _READING):
            values = facts.series(name, f"{_READING}{host}")
            tail = values[-max(1, len(values) // 10) :]
            ends.append((sum(tail) / len(tail), host))
        rate, host = min(ends)
        found.append(f"{name} {format_number(round(rate, 1))} at {host}")
    return f"Messages a second that the slowest host delivers at the end: {', '.join(found)}"
