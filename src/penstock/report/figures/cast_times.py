"""How long casts take, by the shortest time that their losses allow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report.curve_style import BLUE, PURPLE
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

_WHOLE: Final = Bar(metric="cast_time_over_bound", label="the whole cast", colour=BLUE)
_LATE: Final = Bar(
    metric="late_over_copy",
    label="late receivers, by one more copy of what they missed",
    colour=PURPLE,
    hatch="//",
)
_UNFINISHED: Final = "cast_unfinished"


def figures(facts: ReportData) -> list[Figure]:
    """One figure, where the times of casts were measured."""
    names = compared(facts, _UNFINISHED)
    bars = [bar for bar in (_WHOLE, _LATE) if means(facts, names, [bar])]
    if not bars:
        return []
    late = (
        " Of the late receiver that takes longest, the time from the end of the first distribution,"
        " by the time that as many packets as it missed took in that distribution."
    )
    return [
        Figure(
            name="cast-time",
            title=_title(facts, names),
            caption="From the first packet of data until the last receiver has everything, by the"
            " time that the publisher's rate, what receivers missed and the delay of links allow."
            f"{late * (_LATE in bars)} Below each variant, its time and bound, and the set-up"
            f" before. {INTERVALS}",
            draw=partial(_draw, facts=facts, names=names, bars=bars),
            height_in=height_of(names, bars, lines=3),
        )
    ]


def _draw(canvas: Canvas, *, facts: ReportData, names: Sequence[str], bars: Sequence[Bar]) -> None:
    axes = canvas.subplots()
    draw_rows(axes, facts, names, bars, "{:.3g}".format)
    axes.set_yticks(range(len(names)), [_with_times(facts, name) for name in names])
    reference_line(axes, x=1, label="bound")
    values = means(facts, names, bars)
    fit_axis(axes, [*values, 1], "time over its bound", in_percent=False)
    legend_below(canvas, [axes])


def _with_times(facts: ReportData, name: str) -> str:
    """The variant with its times, or how many receivers never have everything."""
    time, bound, setup = (
        _seconds(facts, name, metric) for metric in ("cast_time", "cast_time_bound", "cast_setup")
    )
    unfinished = figure_mean(facts, name, _UNFINISHED)
    ending = f"{format_number(round(unfinished, 1))} never finish" if unfinished else time
    return f"{name}\n{ending}, bound {bound}\nset-up {setup}"


def _seconds(facts: ReportData, name: str, metric: str) -> str:
    mean = figure_mean(facts, name, metric)
    return "not known" if mean is None else f"{format_number(round(mean, 2))} s"


def _title(facts: ReportData, names: Sequence[str]) -> str:
    name = main_variant(names)
    over = figure_mean(facts, name, _WHOLE.metric)
    if over is None:
        return "How long casts take, by their bound"
    return f"{name} takes {over:.3g} times as long as the bound"
