"""Calibration of the latch: the measured share of late messages against the requested chance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.metrics.statistics import Estimate
from penstock.report.curve_style import INK, CurveStyle, curve_style
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import error_bars, legend_below
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_ROWS_MAX: Final = 40


def figures(facts: ReportData) -> list[Figure]:
    """Figures if orderings have different chances, or one chance is used in many variants."""
    names = [n for n in facts.names_with("residual") if facts.setting(n, "chance") is not None]
    names = [n for n in names if facts.kind(n) == "default"]
    if len({facts.setting(name, "chance") for name in names}) < 2:
        return []
    variants = list(dict.fromkeys(facts.variant(name) for name in names))[:_ROWS_MAX]
    return [
        Figure(
            name="residual",
            title="What comes late is what was asked for, where points lie on the line",
            caption="Of messages known to be missing that did come, the share that came after"
            " others had been handed over, against the chance that was asked for; one"
            " point for every variant, logarithmic scales. Below the line is a longer wait than"
            " needed.",
            draw=partial(_identity, facts=facts, names=names),
            height_in=4.4,
        ),
        Figure(
            name="residual-by-variant",
            title=_title(facts, names),
            caption="The same, divided by what was asked for: 1 is the claim. Logarithmic scale,"
            " 95 % intervals where there are several seeds.",
            draw=partial(_ratios, facts=facts, names=names, variants=variants),
            height_in=1.6 + 0.3 * len(variants),
        ),
    ]


def _identity(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    axes = canvas.subplots()
    for ordering, style in _curve_styles(facts, names).items():
        own = [n for n in names if facts.ordering(n) == ordering and _mean(facts, n) > 0]
        # Spread sideways, because many points have the same chance.
        spread = np.geomspace(0.85, 1.18, len(own)) if len(own) > 1 else np.ones(len(own))
        requested = [
            facts.setting(name, "chance") * by for name, by in zip(own, spread, strict=True)
        ]
        estimates = _estimates(facts, own)
        axes.errorbar(
            requested, [e.mean for e in estimates], yerr=error_bars(estimates), linestyle="",
            marker=style.marker, color=style.colour, label=ordering, alpha=0.85, capsize=2,
        )  # fmt: skip
    chances = [facts.setting(name, "chance") for name in names]
    ends = (min(chances) / 3, min(1.0, max(chances) * 3))
    axes.plot(ends, ends, color=INK, linewidth=1, linestyle="--", label="as asked for")
    axes.set(xscale="log", yscale="log", xlabel="asked for: chance", ylabel="measured: residual")
    axes.set_xticks(sorted({*chances}), [f"{chance:g}" for chance in sorted({*chances})])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    legend_below(canvas, [axes])


def _ratios(
    canvas: Canvas, *, facts: ReportData, names: Sequence[str], variants: Sequence[str]
) -> None:
    axes = canvas.subplots()
    styles = _curve_styles(facts, names)
    for index, (ordering, style) in enumerate(styles.items()):
        own = [n for n in names if facts.ordering(n) == ordering and facts.variant(n) in variants]
        own = [n for n in own if _mean(facts, n) > 0]
        rows = [variants.index(facts.variant(name)) for name in own]
        requested = np.array([facts.setting(name, "chance") for name in own])
        estimates = _estimates(facts, own)
        bars = error_bars(estimates)
        axes.errorbar(
            np.array([e.mean for e in estimates]) / requested,
            np.array(rows) + 0.16 * (index - (len(styles) - 1) / 2),
            xerr=None if bars is None else bars / requested,
            linestyle="", marker=style.marker, color=style.colour, label=ordering, capsize=2,
        )  # fmt: skip
    axes.axvline(1, color=INK, linewidth=1, linestyle="--", label="as asked for")
    axes.set_xscale("log")
    axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    axes.minorticks_off()
    axes.set_xlabel("came late, divided by what was asked for")
    axes.set_yticks(range(len(variants)), variants)
    axes.set_ylim(len(variants) - 0.4, -0.6)
    legend_below(canvas, [axes])


def _curve_styles(facts: ReportData, names: Sequence[str]) -> dict[str, CurveStyle]:
    orderings = dict.fromkeys(str(facts.ordering(name)) for name in names)
    return {ordering: curve_style(index) for index, ordering in enumerate(orderings)}


def _estimates(facts: ReportData, names: Sequence[str]) -> list[Estimate]:
    return [e for name in names if (e := facts.figure(name, "residual")) is not None]


def _mean(facts: ReportData, name: str) -> float:
    found = facts.figure(name, "residual")
    return 0.0 if found is None else found.mean


def _title(facts: ReportData, names: Sequence[str]) -> str:
    ratios = [_mean(facts, name) / facts.setting(name, "chance") for name in names]
    near = sum(0.8 <= ratio <= 1.25 for ratio in ratios)
    return f"{near} of {len(ratios)} are within a quarter of what was asked for"
