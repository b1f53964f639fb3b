"""The delay of repairs, and the delay that recovery adds to originals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock.report import published_values
from penstock.report.curve_style import BLUE, GREEN, INK, VERMILION, CurveStyle, variant_styles
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import PUBLISHED, legend_below, panels
from penstock.report.figures.recovered import (
    cumulative,
    figure_mean,
    is_whole,
    means_of,
    networks,
    recovering,
    stated,
    without,
)
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_CURVES: Final = (
    ("delivery_delay", "originals, end to end", CurveStyle(BLUE, "--", "s")),
    ("repaired_delay", "repairs, end to end", CurveStyle(GREEN, "-", "o")),
    ("request_to_repair", "request to repair", CurveStyle(VERMILION, ":", "^", 2.2)),
)
_COLUMNS: Final = 2
# Shorter delays are between clients of one broker, and would only stretch the scale.
_LEAST_MS: Final = 10.0
_STAR: Final[dict[str, Any]] = {"marker": "*", "markersize": 13, "linestyle": "", "zorder": 5}


def figures(facts: ReportData) -> list[Figure]:
    """Delays of repairs if there are any; delays of originals if there is a baseline."""
    found = []
    names = [n for n in recovering(facts) if facts.figure(n, "repaired_delay_p80")]
    if names:
        rows = -(-len(names) // _COLUMNS)
        found.append(
            Figure(
                name="recovery-delays",
                title=_title(facts, names),
                caption="Originals and repairs: from publication to delivery. Request to repair:"
                " from the first request for a message to the first repair of it. Logarithmic"
                f" scale, from {_LEAST_MS:g} ms. {is_whole(facts, names, 'delivery_delay')}"
                f" {published_values.redrawn_figure(facts.id, 'recovery-delays')}",
                draw=partial(_repairs, facts=facts, names=names),
                height_in=1.1 + 2.3 * rows,
            )
        )
    every, off = networks(facts), without(facts)
    if len(every) > 1 and off is not None and facts.figure(off, "delivery_delay_mean"):
        found.append(
            Figure(
                name="delivery-delay",
                title=_added_title(facts, off, recovering(facts)),
                caption="End-to-end delay of originals, up to the longest 1 %. Curves on top of"
                " each other are the aim: recovery that nobody else notices."
                f" {is_whole(facts, every, 'delivery_delay')}"
                f" {published_values.redrawn_figure(facts.id, 'delivery-delay')}",
                draw=partial(_originals, facts=facts, names=every, off=off),
                height_in=4.0,
            )
        )
    return found


def _repairs(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    columns = min(_COLUMNS, len(names))
    frames = panels(canvas, -(-len(names) // columns), columns, sharex=True, sharey=True)
    for axes, name in zip(frames, names, strict=False):
        for metric, label, style in _CURVES:
            cumulative(axes, facts, name, metric, style, label)
        point = stated(facts, name, published_values.REQUEST_TO_REPAIR)
        # Some kinds of recovery send no requests.
        if point is not None and facts.figure(name, "request_to_repair_p80"):
            label = f"{PUBLISHED}: request to repair below {point[0]:g} ms for {point[1]:.0%}"
            axes.plot(*point, color=INK, label=label, **_STAR)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.10g}")
        axes.set_ylim(0, 1.03)
        axes.set_title(name, fontsize=9, pad=2)
    # All panels share this axis; setting a limit also stops autoscaling.
    frames[0].set_xlim(_LEAST_MS, None)
    for axes in frames[len(names) :]:
        axes.set_visible(False)
    for axes in frames[::columns]:
        axes.set_ylabel("share of messages")
    for axes in frames[max(0, len(names) - columns) : len(names)]:
        # Matplotlib hides the labels of shared axes above the last row.
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("delay (ms)")
    legend_below(canvas, frames)


def _originals(canvas: Canvas, *, facts: ReportData, names: Sequence[str], off: str) -> None:
    axes = canvas.subplots()
    styles = variant_styles(names)
    for name in names:
        cumulative(axes, facts, name, "delivery_delay", styles[name], name)
    _mark_added(axes, facts, off)
    reach = [e for name in names if (e := figure_mean(facts, name, "delivery_delay_p99"))]
    axes.set(xlabel="end-to-end delay (ms)", ylabel="share of messages", ylim=(0, 1.01))
    axes.set_xlim(0, 1.15 * max(reach) if reach else None)
    legend_below(canvas, [axes])


def _mark_added(axes: Axes, facts: ReportData, off: str) -> None:
    more = published_values.ADDED_DELAY.get(facts.id)
    if more is not None:
        label = f"{PUBLISHED}: {off} and {more:g} ms more"
        style = CurveStyle(INK, (0, (1, 2)), "*")
        cumulative(axes, facts, off, "delivery_delay", style, label, more_ms=more)


def _title(facts: ReportData, names: Sequence[str]) -> str:
    times = means_of(
        facts, names, "request_to_repair_p80", lambda at: f"{format_number(round(at))} ms"
    )
    if not times:
        return "How long it takes to make a loss good"
    return f"From request to repair, 80 % within: {times}"


def _added_title(facts: ReportData, off: str, names: Sequence[str]) -> str:
    before = figure_mean(facts, off, "delivery_delay_mean") or 0.0
    text = [
        f"{name} {at - before:+.1f} ms".replace("-", "\N{MINUS SIGN}")
        for name in names
        if (at := figure_mean(facts, name, "delivery_delay_mean")) is not None
    ]
    return f"What recovery adds to the mean delay of everything else: {', '.join(text)}"
