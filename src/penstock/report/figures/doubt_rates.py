"""How fast doubt horizons of hosts move over time, and when hosts recover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import PUBLISHED, reference_line
from penstock.report.figures.recovered import figure_mean
from penstock.report.figures.stream_panels import (
    colours,
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

_RATE: Final = "doubt_rate_smooth."


def figures(facts: ReportData) -> list[Figure]:
    """One panel for each variant."""
    names = variants_with(facts, _RATE)
    shaded = any(_recoveries(facts, name) for name in names)
    return stream_figures(
        facts,
        names,
        name="doubt-rate",
        title=_title,
        caption="How many seconds of the stream the doubt horizon of each host passes in a"
        " second, smoothed by the host itself; means over pubends and seeds."
        f"{' Shaded: while a host recovers what it missed.' if shaded else ''}",
        draw=_draw,
    )


def _recoveries(facts: ReportData, name: str) -> list[tuple[str, float, float]]:
    """Host, start and end of each recovery that ended, in seconds."""
    return [
        (host, start, start + after)
        for host in things(facts, name, _RATE)
        for phase, start in _phases(facts, name)
        if (after := figure_mean(facts, name, f"recovered_after.{host}.{phase}"))
    ]


def _phases(facts: ReportData, name: str) -> Iterator[tuple[str, float]]:
    for phase, (start, _) in (facts.parameter(name, "measure.phases") or {}).items():
        yield phase, float(start)


def _draw(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    colour_of = colours(facts, _RATE)
    peak = published(facts, published_values.DOUBT_RATE_PEAK)

    def draw(axes: Axes, name: str) -> None:
        if peak is not None:
            reference_line(axes, y=peak, label=f"{PUBLISHED}: up to about {format_number(peak)}")
        for host, start, end in _recoveries(facts, name):
            axes.axvspan(start, end, color=colour_of[host], alpha=0.14, linewidth=0)
        draw_each(axes, facts, name, _RATE)

    panel_by_variant(canvas, names, "stream s/s", draw)


def _title(facts: ReportData, names: Sequence[str]) -> str:
    found = []
    for name in names:
        fastest, host = max(
            (max(facts.series(name, f"{_RATE}{host}")), host) for host in things(facts, name, _RATE)
        )
        found.append(f"{name} {format_number(round(fastest, 2))} at {host}")
    return f"The fastest that a doubt horizon moves, in stream seconds a second: {', '.join(found)}"
