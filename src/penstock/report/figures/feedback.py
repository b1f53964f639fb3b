"""The load of congestion control on a publisher: feedback frames and size of the flow table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from penstock.report import published_values
from penstock.report.curve_style import variant_styles
from penstock.report.figure import Figure
from penstock.report.figures.controlled import compared
from penstock.report.figures.plot_helpers import legend_below, panels, second_midpoints
from penstock.report.figures.recovered import figure_mean
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_ROWS: Final = (
    ("feedback.", "feedback\n(frames/s)"),
    ("ack.", "acknowledged\n(frames/s)"),
    ("flow_table.", "flow table\n(flows)"),
)


def figures(facts: ReportData) -> list[Figure]:
    """One figure of the series by publisher."""
    names = [name for name in compared(facts) if facts.has_control(name)]
    # Only rows with data: most laws send no acknowledgements.
    rows = [row for row in _ROWS if any(_at_publishers(facts, n, row[0]).size for n in names)]
    if not rows:
        return []
    return [
        Figure(
            name="feedback",
            title=_title(facts, names),
            caption="At one publisher, on average; the band is from the publisher with least to"
            " the one with most. A frame is what one receiver tells at once; a flow is a filter"
            f" whose rate is limited. {published_values.redrawn_figure(facts.id, 'feedback')}",
            draw=partial(_draw, facts=facts, names=names, rows=rows),
            height_in=1.0 + 1.6 * len(rows),
        )
    ]


def _draw(
    canvas: Canvas, *, facts: ReportData, names: Sequence[str], rows: Sequence[tuple[str, str]]
) -> None:
    frames = panels(canvas, len(rows), sharex=True)
    # Variants without control count too, so that colours are the same as in other figures.
    styles = variant_styles(compared(facts))
    for axes, (prefix, label) in zip(frames, rows, strict=True):
        for name in names:
            values = _at_publishers(facts, name, prefix)
            if not values.size:
                continue
            times, style = second_midpoints(values[0].tolist()), styles[name]
            axes.plot(times, np.nanmean(values, axis=0), color=style.colour, label=name,
                      linestyle=style.line)  # fmt: skip
            if len(values) > 1:
                least, most = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
                axes.fill_between(times, least, most, color=style.colour, alpha=0.15, linewidth=0)
        axes.set(ylabel=label, ylim=(0, None), xlim=(0, None))
        # Flows and frames are whole numbers.
        axes.locator_params(axis="y", integer=True)
    frames[-1].set_xlabel("time (s)")
    canvas.align_ylabels()
    legend_below(canvas, frames)


def _at_publishers(facts: ReportData, name: str, prefix: str) -> NDArray[np.float64]:
    """The series with this prefix, one row per publisher."""
    series = facts.result.series.get(name, {})
    own = [values for metric, values in series.items() if metric.startswith(prefix)]
    return np.array(own, np.float64)


def _title(facts: ReportData, names: Sequence[str]) -> str:
    text = [
        f"{name} {format_number(rate)}/s"
        for name in names
        if (rate := figure_mean(facts, name, "feedback_rate")) is not None
    ]
    return f"What a publisher hears: {', '.join(text)}" if text else "What a publisher hears"
