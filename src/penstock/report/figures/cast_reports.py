"""Reports of casts by who makes and who receives them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.curve_style import BLUE, ORANGE, SKY, VERMILION
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
)
from penstock.report.figures.plot_helpers import legend_below, reference_line
from penstock.report.figures.recovered import figure_mean
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# On their way.
_BARS: Final = (
    Bar(metric="reports_sent.subscriber", label="subscribers send", colour=BLUE),
    Bar(metric="reports_received.relay", label="relays receive", colour=SKY, hatch="//"),
    Bar(metric="reports_sent.relay", label="relays send", colour=ORANGE, hatch=".."),
    Bar(metric="reports_received.publisher", label="the publisher receives", colour=VERMILION),
)
_SENT: Final = _BARS[0].metric
_RECEIVED: Final = _BARS[-1].metric


def figures(facts: ReportData) -> list[Figure]:
    """One figure, where reports were counted."""
    names = [name for name in compared(facts, _SENT) if figure_mean(facts, name, _SENT)]
    if not names:
        return []
    return [
        Figure(
            name="cast-reports",
            title=_title(facts, names),
            caption="Reports of needs and of done, of the whole transfer. Subscribers without a"
            " relay above them reach the publisher directly. The publisher learns of no loss"
            f" with less than one report. {INTERVALS}"
            f" {published_values.redrawn_figure(facts.id, 'cast-reports')}",
            draw=partial(_draw, facts=facts, names=names),
            height_in=height_of(names, _BARS),
        )
    ]


def _draw(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    draw_rows(axes, facts, names, _BARS, lambda count: format_number(round(count, 1)))
    values = means(facts, names, _BARS)
    reference_line(axes, x=1, label="bound for the publisher: one report")
    fit_axis(axes, [*values, 1], "reports", in_percent=False)
    legend_below(canvas, [axes])


def _title(facts: ReportData, names: Sequence[str]) -> str:
    name = main_variant(names)
    sent, came = (figure_mean(facts, name, metric) or 0.0 for metric in (_SENT, _RECEIVED))
    return (
        f"With {name} the publisher receives {format_number(round(came, 1))} reports of"
        f" {format_number(round(sent, 1))} that subscribers send"
    )
