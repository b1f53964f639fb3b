"""How much of what receivers of a cast report never comes to its publisher."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.curve_style import BLUE, GREEN, ORANGE
from penstock.report.figure import Figure
from penstock.report.figures.cast_bars import (
    INTERVALS,
    Bar,
    compared,
    draw_rows,
    fit_axis,
    height_of,
    main_variant,
    means,
    percent,
    published,
)
from penstock.report.figures.plot_helpers import PUBLISHED, legend_below, reference_line
from penstock.report.figures.recovered import figure_mean
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_BARS: Final = (
    Bar(metric="aggregation.messages", label="reports", colour=BLUE),
    Bar(metric="aggregation.bytes", label="their bytes", colour=ORANGE, hatch="//"),
    Bar(metric="aggregation.packets", label="packets they ask for", colour=GREEN, hatch=".."),
)
_RELAYS: Final = "cast_relays"


def figures(facts: ReportData) -> list[Figure]:
    """One figure, where subscribers reported anything."""
    names = compared(facts, _BARS[0].metric)
    if not names:
        return []
    stated = facts.id in published_values.CAST_RELAYS
    paper = " The paper finds more in the larger network, and about 5 % less in bytes." * stated
    return [
        Figure(
            name="cast-aggregation",
            title=_title(facts, names),
            caption="Of what subscribers report, the share that does not come to the publisher: of"
            " reports of needs and of done, of their bytes, and of the packets that they ask for."
            f" Below each variant, its relays. {INTERVALS}{paper}"
            f" {published_values.redrawn_figure(facts.id, 'cast-aggregation')}",
            draw=partial(_draw, facts=facts, names=names),
            height_in=height_of(names, _BARS, lines=3),
        )
    ]


def _draw(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    draw_rows(axes, facts, names, _BARS, percent)
    labels = [_with_relays(facts, name) for name in names]
    axes.set_yticks(range(len(names)), labels)
    values = means(facts, names, _BARS)
    reference_line(axes, x=1, label="bound: nothing comes to the publisher")
    fit_axis(axes, [], "share that never comes to the publisher")
    axes.set_xlim(min(0.0, *values), 1.02)
    legend_below(canvas, [axes])


def _with_relays(facts: ReportData, name: str) -> str:
    relays = figure_mean(facts, name, _RELAYS)
    if relays is None:
        return name
    stated = published(facts, name, published_values.CAST_RELAYS)
    told = "" if stated is None else f"\n({PUBLISHED}: {stated:g})"
    return f"{name}\n{format_number(round(relays, 1))} relays{told}"


def _title(facts: ReportData, names: Sequence[str]) -> str:
    name = main_variant(names)
    told = ", ".join(
        f"{percent(mean)} of {bar.label}"
        for bar in _BARS
        if (mean := figure_mean(facts, name, bar.metric)) is not None
    )
    return f"Never comes to the publisher with {name}: {told}"
