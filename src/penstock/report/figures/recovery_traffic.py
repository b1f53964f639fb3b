"""Requests and repairs over time, duplicates among them, hit ratio and limits of caches."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.report import published_values
from penstock.report.curve_style import BLUE, GREEN, INK, ORANGE, VERMILION, variant_styles
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
from penstock.report.figures.recovered import (
    beside,
    figure_mean,
    means_of,
    recovering,
    smooth,
    stated,
)
from penstock.report.number_format import format_number, format_percent
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_CURVES: Final = (
    ("sent", "messages sent", INK, "--"),
    ("requests", "requests", VERMILION, "-"),
    ("repairs", "repairs", GREEN, ":"),
    ("signals", "digests and the like", ORANGE, "-."),
)
_DUPLICATES: Final = (
    ("requests_not_duplicated", "requests", VERMILION, ""),
    ("repairs_not_duplicated", "repairs", GREEN, "//"),
)
_LIMITS: Final = (("max", VERMILION, "--"), ("mean", BLUE, "-"), ("min", GREEN, ":"))


def figures(facts: ReportData) -> list[Figure]:
    """Each figure whose series exist; those of caches come from traces only."""
    found = []
    names = recovering(facts)
    asking = [name for name in names if facts.series(name, "requests")]
    if asking:
        found.append(
            Figure(
                name="recovery-rates",
                title="Requests and repairs beside messages sent, second by second",
                caption="Messages a second of the whole network, means over seeds. Logarithmic"
                f" above 1. {published_values.redrawn_figure(facts.id, 'recovery-rates')}",
                draw=partial(_rates, facts=facts, names=asking),
                height_in=1.2 + 1.7 * len(asking),
            )
        )
    judged = [name for name in names if facts.figure(name, "requests_not_duplicated")]
    if judged:
        found.append(
            Figure(
                name="duplicates",
                title=_title(facts, judged),
                caption="A request is a duplicate if another had asked for the same message"
                " before, and this one for the first time; a repair, if there are more of a"
                " message than requests for it. What the source says of its figure 4.8.",
                draw=partial(_duplicates, facts=facts, names=judged),
                height_in=1.5 + 0.6 * len(judged),
            )
        )
    known = [name for name in names if facts.series(name, "messages_answered")]
    requesting = [name for name in known if any(facts.series(name, "messages_asked_for"))]
    if requesting:
        found.append(
            Figure(
                name="hit-ratio",
                title=_hits_title(facts, requesting),
                caption="Of the messages that anyone asked for, how many anyone sent, by the second"
                " of the first request; where nobody asked there is no point."
                f"{_without_requests(set(known) - set(requesting), names)}"
                f" {published_values.redrawn_figure(facts.id, 'hit-ratio')}",
                draw=partial(_hits, facts=facts, names=requesting),
                height_in=3.6,
            )
        )
    keeping = [name for name in names if facts.series(name, "cache_limit_mean")]
    if keeping:
        found.append(
            Figure(
                name="cache-limits",
                title=_limits_title(facts, keeping),
                caption="The least, the mean and the largest limit of subscribers' caches."
                " Logarithmic scale."
                f" {published_values.redrawn_figure(facts.id, 'cache-limits')}",
                draw=partial(_limits, facts=facts, names=keeping),
                height_in=1.2 + 1.7 * len(keeping),
            )
        )
    return found


def _rates(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    frames = panels(canvas, len(names), sharex=True, sharey=True)
    for axes, name in zip(frames, names, strict=True):
        for metric, label, colour, line in _CURVES:
            values = facts.series(name, metric)
            if any(values):
                axes.plot(*smooth(values), color=colour, linestyle=line, label=label)
        axes.set_yscale("symlog", linthresh=1)
        axes.set(ylabel="messages/s", ylim=(0, None), xlim=(0, None))
        axes.set_title(name, fontsize=9, pad=2)
        format_thousands(axes.yaxis)
    frames[-1].set_xlabel("time (s)")
    legend_below(canvas, frames)


def _duplicates(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    rows = np.arange(len(names))
    for index, (metric, label, colour, hatch) in enumerate(_DUPLICATES):
        values = [figure_mean(facts, name, metric) or 0.0 for name in names]
        at = rows + 0.32 * (index - 0.5)
        axes.barh(at, values, height=0.28, color=colour, hatch=hatch, edgecolor="white",
                  label=label)  # fmt: skip
        beside(axes, at.tolist(), [format_percent(value) for value in values])
    both = stated(facts, names[0], published_values.NOT_DUPLICATED)
    for (_, label, colour, _), share in zip(_DUPLICATES, both or (), strict=False):
        axes.axvline(share, color=colour, linewidth=1.4, linestyle=(0, (4, 3)),
                     label=f"{PUBLISHED}: more than {share:.0%} of {label}")  # fmt: skip
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set(xlabel="share that is not duplicated", xlim=(0, 1))
    axes.grid(visible=False, axis="y")
    legend_below(canvas, [axes])


def _hits(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    styles = variant_styles(names)
    for name in names:
        times, requests = smooth(facts.series(name, "messages_asked_for"))
        _, repairs = smooth(facts.series(name, "messages_answered"))
        requested = requests > 0
        axes.plot(
            times[requested], repairs[requested] / requests[requested], color=styles[name].colour,
            linestyle=styles[name].line, marker=marker_for(times.tolist(), styles[name].marker),
            label=name,
        )  # fmt: skip
    goal = published_values.HIT_RATIO.get(facts.id)
    if goal is not None:
        reference_line(axes, y=goal, label=f"{PUBLISHED}: what caches aim for, {goal:g}")
    axes.set(xlabel="time (s)", ylabel="hit ratio", ylim=(0, 1.06), xlim=(0, None))
    legend_below(canvas, [axes])


def _limits(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    frames = panels(canvas, len(names), sharex=True, sharey=True)
    for axes, name in zip(frames, names, strict=True):
        for which, colour, line in _LIMITS:
            values = np.array(facts.series(name, f"cache_limit_{which}"), np.float64)
            # Some seconds may have no sample.
            sampled = np.isfinite(values)
            times = second_midpoints(values.tolist())
            axes.plot(times[sampled], values[sampled], color=colour, linestyle=line, label=which)
        for limit in published_values.CACHE_LIMITS.get(facts.id, ()):
            low, high = published_values.CACHE_LIMITS[facts.id]
            reference_line(axes, y=limit, label=f"{PUBLISHED}: between {low} and {high}")
        axes.set_yscale("log")
        axes.set(ylabel="messages", xlim=(0, None))
        axes.set_title(name, fontsize=9, pad=2)
        format_thousands(axes.yaxis)
    frames[-1].set_xlabel("time (s)")
    legend_below(canvas, frames)


def _title(facts: ReportData, names: Sequence[str]) -> str:
    least = [e for n in names for m, *_ in _DUPLICATES if (e := figure_mean(facts, n, m))]
    return (
        f"Not duplicated: {format_percent(min(least))} or more of the requests and of the repairs"
    )


def _hits_title(facts: ReportData, names: Sequence[str]) -> str:
    return f"Somebody had what was asked for: {means_of(facts, names, 'hit_ratio', format_percent)}"


def _without_requests(without_requests: AbstractSet[str], names: Sequence[str]) -> str:
    """A sentence for the caption that names the variants without a curve."""
    text = ", ".join(name for name in names if name in without_requests)
    return f" No curve: {text}, where nobody sends requests (a RECALL is a signal)." if text else ""


def _limits_title(facts: ReportData, names: Sequence[str]) -> str:
    limits = means_of(facts, names, "cache_limit_mean", format_number)
    return f"How many messages a cache may hold, on average: {limits}"
