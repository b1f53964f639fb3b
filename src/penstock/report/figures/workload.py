"""The workload: distributions of receivers per message and match probability per pair.

A result has only those points of the distributions that the source states.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock.report import published_values
from penstock.report.curve_style import INK, CurveStyle, curve_style
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import PUBLISHED, legend_below, panels
from penstock.report.number_format import format_percent
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_CURVES_MAX: Final = 7


def figures(facts: ReportData) -> list[Figure]:
    """One figure, if receivers were counted."""
    names = facts.names_with("messages_with_2_or_fewer")[:_CURVES_MAX]
    if not names:
        return []
    return [
        Figure(
            name="workload",
            title=_title(facts, names),
            caption="Left: how many of the messages have at most so many receivers. Right: how"
            " many of the pairs match at most so often. Points are measured; between them"
            f" nothing is known. {published_values.redrawn_figure(facts.id, 'workload')}",
            draw=partial(_draw, facts=facts, names=names),
            height_in=4.0,
        )
    ]


def _draw(canvas: Canvas, *, facts: ReportData, names: list[str]) -> None:
    receivers, match = panels(canvas, 1, 2)
    for index, name in enumerate(names):
        _draw_points(receivers, _receivers(facts, name), name, curve_style(index))
        _draw_points(match, _matches(facts, name), name, curve_style(index))
    mark: dict[str, Any] = {"color": INK, "marker": "*", "linestyle": "", "markersize": 13}
    two_receivers_share = published_values.TWO_RECEIVERS_SHARE.get(facts.id)
    if two_receivers_share is not None:
        receivers.plot(2, two_receivers_share, label=PUBLISHED, **mark)
    for point in published_values.PAIR_MATCH.get(facts.id, ()):
        match.plot(*point, label=PUBLISHED, **mark)
    receivers.set(xlabel="receivers of a message", ylabel="share of messages", ylim=(0, 1.05))
    match.set(xlabel="match probability", ylabel="share of pairs", ylim=(0, 1.05))
    for axes in (receivers, match):
        axes.set_xlim(0, None)
    legend_below(canvas, [receivers, match])


def _draw_points(
    axes: Axes, points: list[tuple[float, float]], name: str, style: CurveStyle
) -> None:
    if points:
        axes.plot(
            *zip(*points, strict=True), color=style.colour, marker=style.marker, linestyle=":",
            label=name,
        )  # fmt: skip


def _receivers(facts: ReportData, name: str) -> list[tuple[float, float]]:
    share, most = (facts.figure(name, m) for m in ("messages_with_2_or_fewer", "receivers_max"))
    points = [] if share is None else [(2.0, share.mean)]
    return points if most is None else [*points, (most.mean, 1.0)]


def _matches(facts: ReportData, name: str) -> list[tuple[float, float]]:
    known = (("pair_match_p80", 0.8), ("pair_match_max", 1.0))
    return [(e.mean, share) for m, share in known if (e := facts.figure(name, m)) is not None]


def _title(facts: ReportData, names: list[str]) -> str:
    shares = [facts.figure(name, "messages_with_2_or_fewer") for name in names]
    text = ", ".join(
        f"{name} {format_percent(share.mean)}"
        for name, share in zip(names, shares, strict=True)
        if share is not None
    )
    return f"Messages with at most two receivers: {text}"
