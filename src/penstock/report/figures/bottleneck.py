"""Rates over time: bottleneck link, publications, deliveries, losses and drops at the source."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.report import published_values
from penstock.report.curve_style import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION
from penstock.report.figure import Figure
from penstock.report.figures.controlled import (
    bottlenecks,
    capacity_of,
    compared,
    height_of,
    kbps_of,
    one_scale,
    side_by_side,
    without_control,
)
from penstock.report.figures.plot_helpers import format_thousands, legend_below, second_midpoints
from penstock.report.figures.recovered import figure_mean
from penstock.report.number_format import format_number, format_percent
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Curves of the lower panels; of several series, the first that exists is drawn.
_PUBLISHED: Final = (
    (("offered",), "published by applications", SKY, "-", 2.6),
    (("sent",), "sent", BLUE, "-", 1.1),
)
_FATES: Final = (
    (("deliveries",), "delivered", GREEN, "-", 1.6),
    (("false_negatives",), "lost in the network", VERMILION, "-", 1.1),
    (("dropped_at_source",), "dropped at source", PURPLE, "--", 1.1),
)


def figures(facts: ReportData) -> list[Figure]:
    """One figure, if some variant has congestion control and rates were measured."""
    names = [name for name in compared(facts) if facts.series(name, "deliveries")]
    if not names:
        return []
    links = bottlenecks(facts, names)
    return [
        Figure(
            name="bottleneck",
            title=_title(facts, names),
            caption=f"{_links_text(links)}Messages a second of the whole network, means over seeds."
            " Lost in the network: sent, wanted by somebody and lost on the way, by the second of"
            " its publication. Dropped at source: never sent, because too much waited there."
            f" {published_values.redrawn_figure(facts.id, 'bottleneck')}",
            draw=partial(_draw, facts=facts, names=names, links=links),
            height_in=height_of(names, 2 + len(links)),
        )
    ]


def _draw(canvas: Canvas, *, facts: ReportData, names: Sequence[str], links: Sequence[str]) -> None:
    every = side_by_side(canvas, names, 2 + len(links))
    for name, (*above, middle, below) in every:
        for axes, link in zip(above, links, strict=True):
            axes.set_ylabel(f"{link}\nkbit/s" if len(links) > 1 else "link (kbit/s)")
            kbps, capacity = kbps_of(facts, name, link), capacity_of(facts, name, link)
            if not len(capacity):
                # No series: the link was never even half full in this variant.
                continue
            times = second_midpoints(kbps.tolist())
            axes.fill_between(times, kbps, color=INK, alpha=0.18, linewidth=0)
            axes.plot(times, kbps, color=INK, linewidth=1, label="on the link")
            # Drawn as steps, because a link's rate changes at once.
            axes.step(np.arange(len(capacity) + 1), [*capacity, *capacity[-1:]], where="post",
                      color=ORANGE, linewidth=1.4, linestyle=(0, (4, 2)),
                      label="what the link bears")  # fmt: skip
        _curves(middle, facts, name, _PUBLISHED)
        middle.set_ylabel("published/s")
        _curves(below, facts, name, _FATES)
        below.set_ylabel("messages/s")
        for axes in (*above, middle, below):
            format_thousands(axes.yaxis)
    one_scale([axes for _, axes in every])
    canvas.align_ylabels()
    legend_below(canvas, [axes for _, own in every for axes in own])


def _curves(
    axes: Axes,
    facts: ReportData,
    name: str,
    curves: Sequence[tuple[Sequence[str], str, str, str, float]],
) -> None:
    for metrics, label, colour, line, width in curves:
        values = next((v for metric in metrics if (v := facts.series(name, metric))), ())
        if any(values):
            axes.plot(second_midpoints(values), values, color=colour, linestyle=line,
                      linewidth=width,
                      label=label)  # fmt: skip


def _links_text(links: Sequence[str]) -> str:
    if not links:
        return "Traces would also tell what the bottleneck carried. "
    many = len(links) > 1
    text = " and ".join(links)
    return f"Above: what the bottleneck{'s' * many} {text} carried{', each' * many}. "


def _title(facts: ReportData, names: Sequence[str]) -> str:
    """The difference that control makes to losses and deliveries."""
    off = without_control(facts)
    others = [name for name in names if name != off]
    before = None if off is None else figure_mean(facts, off, "false_negatives")
    # Beside TCP, delivering as much as without control is not a goal.
    is_alone = not any(m.startswith("tcp_kbps.") for m in facts.result.series.get(names[0], {}))
    if not others or not before or not is_alone:
        return "What is published, delivered and lost, second by second"
    best = "default" if "default" in others else others[-1]
    left = figure_mean(facts, best, "false_negatives") or 0.0
    text = (
        f"{best} loses {format_number(left)} messages in the network, {off} {format_number(before)}"
    )
    delivered, delivered_off = (figure_mean(facts, name, "deliveries") for name in (best, str(off)))
    if not delivered or not delivered_off:
        return text
    more = "more" if delivered >= delivered_off else "less"
    return f"{text}; it delivers {format_percent(abs(delivered / delivered_off - 1))} {more}"
