"""The probability of loss detection by record length: formula and measurement."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.kernel.errors import UsageError
from penstock.metrics.laws.detection import detected_by_any
from penstock.metrics.statistics import Estimate
from penstock.report import published_values
from penstock.report.curve_style import INK, curve_style
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import PUBLISHED, error_bars, legend_below, panels
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Numbers of other receivers that share a loss, as in the paper.
_OTHERS: Final = (1, 2, 4)
_LINES: Final = {1: ":", 2: "--", 4: "-"}
# The lowest match probability of the paper; drawn by the formula, even without measurements.
_RARE: Final = 0.001


def figures(facts: ReportData) -> list[Figure]:
    """One figure, if `detected.k` was measured for several record lengths."""
    names = [n for n in facts.names_with("detected.0") if _match(facts, n) is not None]
    if len({facts.record(name) for name in names}) < 2:
        return []
    return [
        Figure(
            name="detection",
            title=_title(facts, names),
            caption="Left: one receiver, by match probability P. Right: the loss is shared with k"
            " others that match half of what the first one does. Lines are the formula"
            " (equation 4.1 and its extension), points are measured, with 95 % intervals."
            f" {published_values.redrawn_figure(facts.id, 'detection')}",
            draw=partial(_draw, facts=facts, names=names),
            height_in=4.2,
        )
    ]


def _draw(canvas: Canvas, *, facts: ReportData, names: list[str]) -> None:
    one, shared = panels(canvas, 1, 2, sharey=True)
    matches = sorted({_match(facts, name) or 0 for name in names})
    loss = float(facts.parameter(names[0], "channel.loss") or 0)
    longest = max(facts.record(name) for name in names)
    if facts.id in published_values.LOSSES_DETECTED:
        matches = [_RARE, *matches]
    for index, match in enumerate(matches):
        _curve(one, index, match, loss, longest, others=0, label=f"P = {match:g}")
        _points(one, facts, names, index, match, others=0)
    for index, match in enumerate(matches):
        if any(_match(facts, n) == match for n in names):
            for others in _OTHERS:
                _curve(shared, index, match, loss, longest, others=others)
                _points(shared, facts, names, index, match, others=others)
    for (match, record), chance in published_values.LOSSES_DETECTED.get(facts.id, {}).items():
        one.plot(
            record, chance, marker="*", markersize=14, color=INK, linestyle="", zorder=5,
            label=f"{PUBLISHED}: {chance:g} at P = {match:g}, R = {record}",
        )  # fmt: skip
    for others, line in _LINES.items():
        shared.plot([], [], color=INK, linestyle=line, label=f"shared with k = {others}")
    one.set(ylabel="probability of loss detection", ylim=(0, 1.02))
    for axes, title in ((one, "(a) one receiver"), (shared, "(b) a loss that several share")):
        axes.set(xlabel="record R (messages)", xlim=(0, longest * 1.03))
        axes.set_title(title)
    legend_below(canvas, [one, shared])


def _curve(
    axes: Axes, index: int, match: float, loss: float, longest: int, *, others: int, label: str = ""
) -> None:
    records = np.arange(longest + 1)
    try:
        chances = [detected_by_any(int(r), match, loss, others=others) for r in records]
    except UsageError:
        # The formula is undefined for receivers that match nearly everything.
        return
    style = curve_style(index)
    axes.plot(
        records, chances, color=style.colour, linestyle=_LINES.get(others, "-"), linewidth=1.3,
        label=label or "_",
    )  # fmt: skip


def _points(
    axes: Axes, facts: ReportData, names: list[str], index: int, match: float, *, others: int
) -> None:
    found: list[tuple[int, Estimate]] = [
        (facts.record(name), estimate)
        for name in names
        if _match(facts, name) == match
        and (estimate := facts.figure(name, f"detected.{others}")) is not None
    ]
    if found:
        records, estimates = zip(*found, strict=True)
        style = curve_style(index)
        axes.errorbar(
            records, [e.mean for e in estimates], yerr=error_bars(estimates), linestyle="",
            color=style.colour, marker=style.marker, capsize=2,
        )  # fmt: skip


def _match(facts: ReportData, name: str) -> float | None:
    match = facts.parameter(name, "channel.match")
    return None if match is None else float(match)


def _title(facts: ReportData, names: list[str]) -> str:
    for (match, record), chance in published_values.LOSSES_DETECTED.get(facts.id, {}).items():
        for name in names:
            found = facts.figure(name, "detected.0")
            if found and _match(facts, name) == match and facts.record(name) == record:
                return (
                    f"At P = {match:g} a record of {record} shows {found.mean:.2f} of the losses"
                    f" (published: {chance:g})"
                )
    return "The longer the record, the more losses are noticed"
