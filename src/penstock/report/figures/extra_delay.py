"""The cost of ordering: cumulative distribution of the mean extra delay of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.report import published_values
from penstock.report.curve_style import curve_styles
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import PUBLISHED, legend_below
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_METRIC: Final = "extra_delay_pairs_ms"
_CURVES_MAX: Final = 14
# As many as there are recovery variants: one left out of the title would seem free of cost.
_NAMES_SHOWN_MAX: Final = 6
# Below this the axis is linear, so that it can show 0 beside 1 s.
_LINEAR_MS: Final = 1.0


def figures(facts: ReportData) -> list[Figure]:
    """One figure of all orderings but "off", which adds no delay."""
    names = [n for n in facts.names_with_distribution(_METRIC) if facts.kind(n) != "off"]
    names = [n for n in names if facts.distribution(n, _METRIC)[-1] > 0][:_CURVES_MAX]
    if not names or not _has_pairs(facts, names):
        return []
    return [
        Figure(
            name="extra-delay",
            title=_title(facts, names),
            caption="Of all pairs of publisher and subscriber, how many have at most so much mean"
            " extra delay (delivered − arrived). Further left is cheaper. Up to 1 ms the axis is"
            " linear, beyond it logarithmic."
            f" {published_values.redrawn_figure(facts.id, 'extra-delay')}",
            draw=partial(_draw, facts=facts, names=names),
            height_in=4.4,
        )
    ]


def _has_pairs(facts: ReportData, names: Sequence[str]) -> bool:
    """Tells whether there is more than one pair: a single one has no distribution."""
    every = [facts.distribution(name, _METRIC) for name in names]
    return any(values[0] != values[-1] for values in every)


def _draw(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    shares = np.linspace(0, 1, 101)
    for index, (name, style) in enumerate(curve_styles(facts, names).items()):
        values = facts.distribution(name, _METRIC)
        axes.plot(
            values,
            shares[: len(values)],
            color=style.colour,
            linestyle=style.line,
            linewidth=style.width,
            marker=style.marker,
            # Markers at different points, so that coinciding curves can be told apart.
            markevery=(5 + 2 * index % 20, 20),
            label=name,
        )
    _mark_published(axes, facts, names)
    axes.set_xscale("symlog", linthresh=_LINEAR_MS)
    axes.set(xlabel="mean extra delay of a pair (ms)", ylabel="share of pairs")
    axes.set_ylim(0, 1.01)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlim(-0.02, None)
    legend_below(canvas, [axes])


def _mark_published(axes: Axes, facts: ReportData, names: Sequence[str]) -> None:
    known = published_values.EXTRA_DELAY.get(facts.id, {})
    for name, style in curve_styles(facts, names).items():
        point = known.get(facts.setting(name, "record"))
        if point is not None and facts.kind(name) == "literal":
            axes.plot(
                *point, color=style.colour, marker="*", markersize=13, linestyle="",
                label=f"{PUBLISHED}, {name}: {format_number(point[0])} ms",
            )  # fmt: skip


def _title(facts: ReportData, names: Sequence[str]) -> str:
    text = [
        f"{name} {format_number(cost.mean)} ms"
        for name in names
        if facts.kind(name) == "default" or name == "literal" or name.startswith("CST-")
        if (cost := facts.figure(name, "extra_delay_pairs_p90")) is not None
    ]
    if not text:
        return "What order costs the pairs"
    return f"90 % of pairs wait less than this: {', '.join(text[:_NAMES_SHOWN_MAX])}"
