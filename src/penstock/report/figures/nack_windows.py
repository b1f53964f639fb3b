"""NACK windows of hosts over time: how far ahead of their doubt horizons they ask for repairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import PUBLISHED, reference_line, second_midpoints
from penstock.report.figures.stream_panels import (
    PANELS_MAX,
    colours,
    panel_by_variant,
    published,
    stream_figures,
    things,
)
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_WINDOW: Final = "nack_window."


def figures(facts: ReportData) -> list[Figure]:
    """One panel for each variant in which a window changes."""
    names = [name for name in facts.names if _changing(facts, name)][:PANELS_MAX]
    return stream_figures(
        facts,
        names,
        name="nack-window",
        title=_title,
        caption="How far ahead of its doubt horizon a host asks for repairs, in seconds of"
        " the stream; means over pubends and seeds. Hosts and variants are left out where it"
        " never changes.",
        draw=_draw,
    )


def _changing(facts: ReportData, name: str) -> list[str]:
    """The hosts whose windows change."""
    return [
        host
        for host in things(facts, name, _WINDOW)
        if len({*facts.series(name, f"{_WINDOW}{host}")}) > 1
    ]


def _draw(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    colour_of = colours(facts, _WINDOW)
    found_s = published(facts, published_values.NACK_WINDOW_S)

    def draw(axes: Axes, name: str) -> None:
        if found_s is not None:
            reference_line(axes, y=found_s, label=f"{PUBLISHED}: about {format_number(found_s)} s")
        for host in _changing(facts, name):
            values = facts.series(name, f"{_WINDOW}{host}")
            axes.plot(second_midpoints(values), values, color=colour_of[host], label=host)

    panel_by_variant(canvas, names, "window (s)", draw)


def _title(facts: ReportData, names: Sequence[str]) -> str:
    found = []
    for name in names:
        widest = max(
            (max(facts.series(name, f"{_WINDOW}{host}")), host) for host in _changing(facts, name)
        )
        found.append(f"{name} {format_number(widest[0])} s at {widest[1]}")
    return f"How far ahead hosts ask for repairs at most: {', '.join(found)}"
