"""Violations of order that each ordering leaves: bars on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.curve_style import INK, curve_styles
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import (
    PUBLISHED,
    error_bars,
    format_thousands,
    legend_below,
)
from penstock.report.number_format import format_number, format_percent
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# More names than this do not fit beside each other.
_UPRIGHT_MAX: Final = 14
_ROWS_MAX: Final = 60


def figures(facts: ReportData) -> list[Figure]:
    """Only where there are orderings to be compared."""
    names = [n for n in facts.names_with("violations_removed") if facts.kind(n)][:_ROWS_MAX]
    if len(names) < 2:
        return []
    is_upright = len(names) <= _UPRIGHT_MAX
    return [
        Figure(
            name="violations",
            title=_title(facts, names),
            caption="Messages delivered after a higher number of the same publisher, in all;"
            " above each bar how many, and what share of those among arrivals is gone"
            f" (−) or new (+). Logarithmic scale.{_of_repairs(facts, names)}"
            f" {published_values.redrawn_figure(facts.id, 'violations')}",
            draw=partial(_upright if is_upright else _lying, facts=facts, names=names),
            height_in=4.2 if is_upright else 1.2 + 0.24 * len(names),
        )
    ]


def _upright(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    counts = [e for name in names if (e := facts.figure(name, "violations")) is not None]
    styles = curve_styles(facts, names)
    axes.bar(
        range(len(names)),
        [e.mean for e in counts],
        color=[styles[name].colour for name in names],
        yerr=error_bars(counts),
        ecolor=INK,
        capsize=3,
        width=0.66,
    )
    for place, (name, count) in enumerate(zip(names, counts, strict=True)):
        top = count.ci95[1] if count.ci95 else count.mean
        axes.annotate(
            f"{format_number(count.mean)}\n{_gone(facts, name)}",
            (place, max(top, 0.6)),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8,
        )
    _mark_published(axes, facts, names)
    axes.set_yscale("symlog", linthresh=1)
    format_thousands(axes.yaxis)
    axes.set_ylim(0, 12 * max(1.0, *(e.mean for e in counts)))
    axes.set_ylabel("violations of order (messages)")
    axes.set_xticks(range(len(names)), names, rotation=35 if len(names) > 6 else 0)
    if len(names) > 6:
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axes.grid(visible=False, axis="x")
    legend_below(canvas, [axes])


def _lying(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    counts = [e for name in names if (e := facts.figure(name, "violations")) is not None]
    styles = curve_styles(facts, names)
    colours = [styles[name].colour for name in names]
    axes.barh(range(len(names)), [e.mean for e in counts], color=colours, xerr=error_bars(counts))
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xscale("symlog", linthresh=1)
    format_thousands(axes.xaxis)
    axes.set_xlabel("violations of order (messages)")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _mark_published(axes: Axes, facts: ReportData, names: Sequence[str]) -> None:
    """What would be left if as many were removed as is published."""
    removed = published_values.VIOLATIONS_REMOVED.get(facts.id, {})
    off = next((e for n in names if facts.kind(n) == "off" for e in [_count(facts, n)]), None)
    for place, name in enumerate(names):
        share = removed.get(facts.setting(name, "chance"))
        if off is None or share is None or facts.kind(name) != "literal":
            continue
        left = off * (1 - share)
        axes.hlines(
            left, place - 0.45, place + 0.45, color=INK, linewidth=2, linestyle=(0, (2, 1)),
            label=f"{PUBLISHED}: what this P would leave of the violations here",
        )  # fmt: skip


def _count(facts: ReportData, name: str) -> float | None:
    found = facts.figure(name, "violations")
    return None if found is None else found.mean


def _gone(facts: ReportData, name: str) -> str:
    removed = facts.figure(name, "violations_removed")
    if facts.kind(name) == "off" or removed is None:
        return ""
    # Repairs may come in another order than anything arrived in: then there are more than before.
    sign = "−" if removed.mean >= 0 else "+"
    return f"{sign}{format_percent(abs(removed.mean))}"


def _of_repairs(facts: ReportData, names: Sequence[str]) -> str:
    """Else who recovers most looks worst."""
    repaired = [n for n in names if (e := facts.figure(facts.variant(n), "repairs")) and e.mean]
    if not repaired:
        return ""
    return (
        " A repair that comes after later messages counts as one, where without recovery nothing"
        " would have come: who recovers more has more of them."
    )


def _title(facts: ReportData, names: Sequence[str]) -> str:
    removed = facts.figure("default", "violations_removed") if "default" in names else None
    if removed is None:
        return "What each ordering leaves out of order"
    others = [
        f"{name} {format_percent(found.mean)}"
        for name in ("literal",)
        if name in names and (found := facts.figure(name, "violations_removed")) is not None
    ]
    beside = f", {', '.join(others)}" if others else ""
    return f"default removes {format_percent(removed.mean)} of the violations{beside}"
