"""Messages that applications never got, with and without recovery, and the bytes it costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.report import published_values
from penstock.report.curve_style import BLUE, INK, ORANGE, variant_styles
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import (
    PUBLISHED,
    error_bars,
    format_thousands,
    legend_below,
    panels,
    reference_line,
)
from penstock.report.figures.recovered import (
    beside,
    figure_mean,
    networks,
    recovering,
    smooth,
    stated,
    without,
)
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_COSTS: Final = (
    ("header_bytes", "headers, and what else is said to find losses", BLUE, ""),
    ("recovery_bytes", "requests and repairs", ORANGE, "//"),
)
# Means of loss detection besides records, by the setting that enables them.
_DETECTION: Final = {
    "transport.recovery.digests": "digests",
    "transport.recovery.tracks": "tracked",
}


def figures(facts: ReportData) -> list[Figure]:
    """False negatives in total and over time, and the bytes per message."""
    names = networks(facts)
    if len(names) < 2:
        return []
    found = [
        Figure(
            name="false-negatives",
            title=_title(facts, names),
            caption="Messages that a subscriber's predicate matches and that its application never"
            " got, in all; below each bar how many, by what recovery divides them, and how losses"
            " are found."
            f" {published_values.redrawn_figure(facts.id, 'false-negatives')}",
            draw=partial(_bars, facts=facts, names=names),
            height_in=4.5,
        )
    ]
    off, others = without(facts), recovering(facts)
    if off is not None and others and facts.never_delivered_by_second(off):
        found.append(
            Figure(
                name="false-negatives-over-time",
                title="False negatives second by second, with recovery and without",
                caption="By the second in which the message was published, means over seeds; of"
                " runs longer than two minutes, means over some seconds. Grey is without"
                " recovery."
                f" {published_values.redrawn_figure(facts.id, 'false-negatives-over-time')}",
                draw=partial(_over_time, facts=facts, off=off, names=others),
                height_in=1.1 + 1.5 * len(others),
            )
        )
    if facts.names_with("header_bytes"):
        found.append(
            Figure(
                name="recovery-bytes",
                title="What finding losses and making them good costs, in bytes a message",
                caption="Bytes for each message that was published: of its own header, of digests"
                " and the like, and of requests and repairs.",
                draw=partial(_costs, facts=facts, names=names),
                height_in=1.5 + 0.42 * len(names),
            )
        )
    return found


def _bars(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    counts = [e for name in names if (e := facts.never_delivered(name)) is not None]
    styles, off = variant_styles(names), without(facts)
    axes.bar(
        range(len(names)), [e.mean for e in counts], yerr=error_bars(counts), ecolor=INK, capsize=3,
        color=[styles[name].colour for name in names], width=0.62,
    )  # fmt: skip
    whole = None if off is None else _missed_mean(facts, off)
    by = stated(facts, names[0], published_values.FALSE_NEGATIVES_DIVISOR)
    if whole and by:
        label = f"{PUBLISHED}: {off} ÷{by:g}, with a record of 10"
        reference_line(axes, y=whole / by, label=label)
    # Counts stand below the bars, because the published line may cross text above them.
    labels = [
        "\n".join(
            [
                name,
                _count(count.mean, None if name == off else whole),
                *_detection_lines(facts, name),
            ]
        )
        for name, count in zip(names, counts, strict=True)
    ]
    axes.set_xticks(range(len(names)), labels)
    axes.set(ylabel="false negatives (deliveries)")
    axes.grid(visible=False, axis="x")
    format_thousands(axes.yaxis)
    legend_below(canvas, [axes])


def _over_time(canvas: Canvas, *, facts: ReportData, off: str, names: Sequence[str]) -> None:
    frames = panels(canvas, len(names), sharex=True, sharey=True)
    styles = variant_styles([off, *names])
    times, before = smooth(facts.never_delivered_by_second(off))
    by = stated(facts, off, published_values.FALSE_NEGATIVES_DIVISOR)
    for axes, name in zip(frames, names, strict=True):
        axes.fill_between(times, before, color=INK, alpha=0.18, linewidth=0, label=off)
        own_times, values = smooth(facts.never_delivered_by_second(name))
        axes.plot(own_times, values, color=styles[name].colour, linewidth=1.8)
        if by:
            axes.plot(times, before / by, color=INK, linewidth=0.9, linestyle=(0, (4, 3)),
                      label=f"{PUBLISHED}: {off} ÷{by:g}")  # fmt: skip
        axes.set(ylabel="missed/s", ylim=(0, None), xlim=(0, None))
        axes.set_title(name, fontsize=9, pad=2)
    frames[-1].set_xlabel("time (s)")
    legend_below(canvas, frames)


def _costs(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    rows = np.arange(len(names))
    left = np.zeros(len(names))
    for metric, label, colour, hatch in _COSTS:
        values = np.array([figure_mean(facts, name, metric) or 0.0 for name in names])
        axes.barh(rows, values, left=left, height=0.6, color=colour, hatch=hatch, label=label,
                  edgecolor="white")  # fmt: skip
        left += values
    beside(axes, rows.tolist(), [f"{format_number(round(total))} B" for total in left.tolist()])
    if facts.id in published_values.RECORD_BYTES:
        record = published_values.RECORD_BYTES[facts.id]
        reference_line(axes, x=record, label=f"{PUBLISHED}: a record of 10 alone, {record:g} B")
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.5, -0.6)
    axes.set_xlabel("bytes for each message published")
    axes.grid(visible=False, axis="y")
    legend_below(canvas, [axes])


def _missed_mean(facts: ReportData, name: str) -> float:
    missed = facts.never_delivered(name)
    return 0.0 if missed is None else missed.mean


def _count(left: float, whole: float | None) -> str:
    """The count, and the factor by which recovery reduced it."""
    return (
        f"{format_number(left)} (÷{format_number(round(whole / left, 1))})"
        if whole and left
        else format_number(left)
    )


def _detection_lines(facts: ReportData, name: str) -> list[str]:
    """How losses are detected, which is what the source varies; one line per part."""
    if facts.parameter(name, "transport.recovery.kind") == "off":
        return ["no recovery"]
    record = facts.parameter(name, "transport.record")
    also = [word for key, word in _DETECTION.items() if facts.parameter(name, key)]
    return [] if record is None else [f"record {record}", *also]


def _title(facts: ReportData, names: Sequence[str]) -> str:
    off = without(facts)
    whole = None if off is None else _missed_mean(facts, off)
    left = {n: _missed_mean(facts, n) for n in names if n != off}
    if not whole or not left:
        return "What applications never got"
    best = min(left, key=lambda name: left[name])
    return f"{best} leaves {format_number(left[best])} of {format_number(whole)} false negatives"
