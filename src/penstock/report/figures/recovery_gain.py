"""How long a recovery takes by how much faster than time a host has to be: variants of a sweep.

Variants of a sweep have the same name up to a number, as `model-0.6`, and each a recovery gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.metrics.statistics import Estimate
from penstock.report import published_values
from penstock.report.curve_style import curve_style
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import (
    PUBLISHED,
    draw_means,
    format_thousands,
    legend_below,
    panels,
    reference_line,
)
from penstock.report.figures.stream_panels import HEADROOM, published
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData
from penstock.report.sweep import numeric

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_GAIN: Final = "streams.control.recovery_gain"
_AFTER: Final = "recovered_after."
_PUBLISHED: Final = "recovery_publish_rate."
# With fewer values there is no curve.
_VALUES_MIN: Final = 3
# Gain and variant, in order of gain.
Curves = Mapping[str, Sequence[tuple[float, str]]]


def figures(facts: ReportData) -> list[Figure]:
    """Time of recovery and what is published meanwhile, of the host that takes longest."""
    curves = _curves(facts)
    where = _slowest(facts, curves)
    if where is None or max(map(len, curves.values())) < _VALUES_MIN:
        return []
    return [
        Figure(
            name="recovery-time",
            title=_title(facts, curves, where),
            caption="Time until a host has recovered, and what all publishers together get"
            " confirmed meanwhile, by how much faster than time it has to be (Δ_rec). Means over"
            " seeds, with 95 % intervals where there are several."
            f" {published_values.redrawn_figure(facts.id, 'recovery-time')}",
            draw=partial(_draw, facts=facts, curves=curves, where=where),
            height_in=5.2,
        )
    ]


def _curves(facts: ReportData) -> Curves:
    """Variants by the part of their names before the number."""
    found: dict[str, list[tuple[float, str]]] = {}
    for name in facts.networks:
        family, _, value = name.rpartition("-")
        gain = facts.parameter(name, _GAIN)
        if family and numeric(value) is not None and gain is not None:
            found.setdefault(family, []).append((float(gain), name))
    return {family: sorted(own) for family, own in found.items()}


def _slowest(facts: ReportData, curves: Curves) -> str | None:
    """Host and phase of the longest recovery, as `SB2.back`; None if nobody recovers."""
    longest = {
        metric.removeprefix(_AFTER): figure.mean
        for own in curves.values()
        for _, name in own
        for metric, figure in facts.result.variants[name].items()
        if metric.startswith(_AFTER) and figure.mean > 0
    }
    return max(longest, key=longest.__getitem__, default=None)


def _points(
    facts: ReportData, own: Sequence[tuple[float, str]], metric: str
) -> list[tuple[float, Estimate]]:
    return [(gain, found) for gain, name in own if (found := facts.figure(name, metric))]


def _draw(canvas: Canvas, *, facts: ReportData, curves: Curves, where: str) -> None:
    rows = {"recovery (s)": _AFTER, "published (messages/s)": _PUBLISHED}
    all_axes = panels(canvas, len(rows), sharex=True)
    for axes, (label, prefix) in zip(all_axes, rows.items(), strict=True):
        for index, (family, own) in enumerate(curves.items()):
            points, style = _points(facts, own, f"{prefix}{where}"), curve_style(index)
            if points:
                draw_means(axes, points, style, family)
        knees = published(facts, published_values.RECOVERY_KNEES) or ()
        for knee in knees:
            told = " and ".join(map(str, knees))
            reference_line(axes, x=knee, label=f"{PUBLISHED}: knees at {told}")
        top = axes.dataLim.ymax
        axes.set(ylabel=label, xlim=(0, None), ylim=(0, HEADROOM * top if top > 0 else None))
        format_thousands(axes.yaxis)
    all_axes[-1].set_xlabel("how much faster than time a host has to be (the paper's Δ_rec)")
    canvas.align_ylabels()
    legend_below(canvas, all_axes)


def _title(facts: ReportData, curves: Curves, where: str) -> str:
    longest = max(curves, key=lambda family: len(curves[family]))
    points = _points(facts, curves[longest], f"{_AFTER}{where}")
    host = where.partition(".")[0]
    ends = [points[0], points[-1]]
    told = " and ".join(f"{format_number(round(e.mean, 1))} s at {gain:g}" for gain, e in ends)
    return f"{host} recovers with {longest} in {told}"
