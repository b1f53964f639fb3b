"""The order violations that each ordering leaves, as bars on a logarithmic scale."""

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

# More names do not fit side by side, and are drawn as horizontal bars.
_VERTICAL_MAX: Final = 14
_ROWS_MAX: Final = 60


def figures(facts: ReportData) -> list[Figure]:
    """One figure, if there are orderings to compare."""
    names = [n for n in facts.names_with("violations_removed") if facts.kind(n)][:_ROWS_MAX]
    if len(names) < 2:
        return []
    is_vertical = len(names) <= _VERTICAL_MAX
    return [
        Figure(
            name="violations",
            title=_title(facts, names),
            caption="Messages delivered after a higher number of the same publisher, in all;"
            " above each bar how many, and what share of those among arrivals is gone"
            f" (−) or new (+). Logarithmic scale.{_repairs_note(facts, names)}"
            f" {published_values.redrawn_figure(facts.id, 'violations')}",
            draw=partial(
                _draw_vertical if is_vertical else _draw_horizontal, facts=facts, names=names
            ),
            height_in=4.2 if is_vertical else 1.2 + 0.24 * len(names),
        )
    ]


def _draw_vertical(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
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
    for index, (name, count) in enumerate(zip(names, counts, strict=True)):
        top = count.ci95[1] if count.ci95 else count.mean
        axes.annotate(
            f"{format_number(count.mean)}\n{_removed_text(facts, name)}",
            (index, max(top, 0.6)),
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


def _draw_horizontal(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
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
    """Marks the violations that would be left if the published share were removed."""
    removed = published_values.VIOLATIONS_REMOVED.get(facts.id, {})
    off = next((e for n in names if facts.kind(n) == "off" for e in [_count(facts, n)]), None)
    for index, name in enumerate(names):
        share = removed.get(facts.setting(name, "chance"))
        if off is None or share is None or facts.kind(name) != "literal":
            continue
        left = off * (1 - share)
        axes.hlines(
            left, index - 0.45, index + 0.45, color=INK, linewidth=2, linestyle=(0, (2, 1)),
            label=f"{PUBLISHED}: what this P would leave of the violations here",
        )  # fmt: skip


def _count(facts: ReportData, name: str) -> float | None:
    found = facts.figure(name, "violations")
    return None if found is None else found.mean


def _removed_text(facts: ReportData, name: str) -> str:
    removed = facts.figure(name, "violations_removed")
    if facts.kind(name) == "off" or removed is None:
        return ""
    # Repairs may arrive out of order too, so that there can be more violations than without.
    sign = "−" if removed.mean >= 0 else "+"
    return f"{sign}{format_percent(abs(removed.mean))}"


def _repairs_note(facts: ReportData, names: Sequence[str]) -> str:
    """A sentence for the caption: repairs count as violations, so more recovery looks worse."""
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
