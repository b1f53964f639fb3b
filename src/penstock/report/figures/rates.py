"""Publications, deliveries, false negatives and order violations over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.curve_style import BLUE, GREEN, VERMILION
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import (
    PUBLISHED,
    format_thousands,
    legend_below,
    marker_for,
    panels,
    reference_line,
    second_midpoints,
)
from penstock.report.number_format import format_number, format_percent
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_PANELS_MAX: Final = 4
_CURVES: Final = (
    ("sent", "sent", BLUE, "--", "s"),
    ("deliveries", "deliveries", GREEN, "-", "o"),
    ("false_negatives", "false negatives", VERMILION, ":", "^"),
)


def figures(facts: ReportData) -> list[Figure]:
    """Rates of each network, and its violations of order if they were counted."""
    found = []
    names = _networks(facts, "deliveries")
    # With congestion control, the bottleneck figure shows the same curves and more.
    if names and not facts.controlled:
        found.append(
            Figure(
                name="rates",
                title=_title(facts, names[0]),
                caption="Messages a second of the whole network, means over seeds. A false"
                " negative is a message that somebody wanted and never got, in the second in"
                f" which it was published. {published_values.redrawn_figure(facts.id, 'rates')}",
                draw=partial(_rates, facts=facts, names=names),
                height_in=1.2 + 2.4 * len(names),
            )
        )
    names = _networks(facts, "violations")
    if any(any(facts.series(name, "violations")) for name in names):
        found.append(
            Figure(
                name="violations-over-time",
                title=_violations_title(facts, names[0]),
                caption="Messages a second that arrive after a higher number of the same"
                f" publisher. {published_values.redrawn_figure(facts.id, 'violations-over-time')}",
                draw=partial(_violations, facts=facts, names=names),
                height_in=1.0 + 2.0 * len(names),
            )
        )
    return found


def _networks(facts: ReportData, metric: str) -> list[str]:
    """Orderings have such series too, of the same network."""
    every = facts.names_with_series(metric)
    return ([name for name in every if name in facts.networks] or every)[:_PANELS_MAX]


def _rates(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    all_axes = panels(canvas, len(names), sharex=False)
    limit = published_values.DELIVERY_LIMIT.get(facts.id)
    for axes, name in zip(all_axes, names, strict=True):
        for metric, label, colour, line, marker in _CURVES:
            values = facts.series(name, metric)
            axes.plot(
                second_midpoints(values),
                values,
                color=colour,
                linestyle=line,
                marker=marker_for(values, marker),
                label=label,
            )
        if limit is not None:
            reference_line(axes, y=limit, label=f"{PUBLISHED}: a limit of {format_number(limit)}/s")
        axes.set(ylabel="messages/s", ylim=(0, None), xlim=(0, None))
        axes.set_title(name if len(names) > 1 else "")
        format_thousands(axes.yaxis)
    all_axes[-1].set_xlabel("time (s)")
    legend_below(canvas, all_axes)


def _violations(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    all_axes = panels(canvas, len(names))
    for axes, name in zip(all_axes, names, strict=True):
        values = facts.series(name, "violations")
        axes.plot(second_midpoints(values), values, color=VERMILION, marker=marker_for(values, "o"))
        axes.set(ylabel="violations/s", ylim=(0, None), xlim=(0, None))
        axes.set_title(name if len(names) > 1 else "")
        format_thousands(axes.yaxis)
    all_axes[-1].set_xlabel("time (s)")


def _title(facts: ReportData, name: str) -> str:
    top = max(facts.series(name, "deliveries"))
    missed = facts.figure(name, "false_negative_ratio")
    text = f"Up to {format_number(round(top))} deliveries a second"
    if missed is None:
        return text
    if not missed.mean:
        return f"{text}, and nothing is lost"
    return f"{text}; {format_percent(missed.mean)} of what was wanted never comes"


def _violations_title(facts: ReportData, name: str) -> str:
    correlation = facts.figure(name, "violations_with_deliveries")
    if correlation is None or correlation.mean < 0.9:
        return "What arrives out of order"
    return f"Violations of order follow the deliveries (correlation {correlation.mean:.2f})"
