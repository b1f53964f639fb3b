"""What hosts tell pubends over time: how fast the doubt horizon of the slowest moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from penstock.report.curve_style import BLUE, VERMILION
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import reference_line, second_midpoints
from penstock.report.figures.stream_panels import PANELS_MAX, panel_by_variant, stream_figures
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Kinds of hosts, as they are drawn.
_KINDS: Final = {
    "normal": ("hosts that keep up", BLUE, "o"),
    "recovering": ("hosts that recover", VERMILION, "s"),
}


def figures(facts: ReportData) -> list[Figure]:
    """One panel for each variant in which hosts tell anything."""
    names = [name for name in facts.names if any(_told(facts, name, kind) for kind in _KINDS)]
    names = names[:PANELS_MAX]
    return stream_figures(
        facts,
        names,
        name="stream-alerts",
        title=_title,
        caption="How many seconds of the stream the doubt horizon of the slowest host passes"
        " in a second, by alerts and reports that come to pubends; a point is the mean of a"
        " second, over seeds too. A host that keeps up with the clock is at 1.",
        draw=_draw,
    )


def _told(facts: ReportData, name: str, kind: str) -> bool:
    return any(facts.series(name, f"alerts_{kind}"))


def _rates(
    facts: ReportData, name: str, kind: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and rates, of seconds with any alert or report."""
    counts = np.array(facts.series(name, f"alerts_{kind}"), np.float64)
    sums = np.array(facts.series(name, f"alert_rate_sum_{kind}"), np.float64)
    told = counts > 0
    return second_midpoints(counts.tolist())[told], sums[told] / counts[told]


def _draw(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    def draw(axes: Axes, name: str) -> None:
        for kind, (label, colour, marker) in _KINDS.items():
            if _told(facts, name, kind):
                axes.plot(*_rates(facts, name, kind), color=colour, marker=marker, markersize=2.5,
                          linestyle="none", label=label)  # fmt: skip
        reference_line(axes, y=1, label="keeps up with the clock")

    panel_by_variant(canvas, names, "stream s/s", draw)


def _title(facts: ReportData, names: Sequence[str]) -> str:
    found = []
    for name in names:
        kind = "recovering" if _told(facts, name, "recovering") else "normal"
        rates = _rates(facts, name, kind)[1]
        median = format_number(round(float(np.median(rates)), 2))
        found.append(f"{name} {median}{'' if kind == 'recovering' else ' (none recovers)'}")
    return f"How fast the slowest host that recovers moves, median over time: {', '.join(found)}"
