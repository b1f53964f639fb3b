"""The laws of delays and of delay differences: measured against fitted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.metrics.laws import two_laplace
from penstock.metrics.sketches import Bins
from penstock.report import published_values
from penstock.report.curve_style import BLUE, GREEN, INK, SKY, VERMILION, curve_style
from penstock.report.figure import Figure
from penstock.report.figures.one_pair import bins_by_brokers, density, edges, origin
from penstock.report.figures.plot_helpers import format_thousands, legend_below, panels
from penstock.report.number_format import format_number
from penstock.report.report_data import Histogram, ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_DELAYS: Final = "delay"
_BINS_MAX: Final = 150
# Label and colour of the fitted laws' Kolmogorov–Smirnov distances, by metric.
_FITS: Final = {
    "delay_ks": ("delays: hypoexponential", GREEN),
    "delay_gamma_ks": ("delays: gamma", SKY),
    "difference_ks": ("differences: two Laplacians", VERMILION),
}
_TAILS: Final = (0.05, 0.01)


def figures(facts: ReportData) -> list[Figure]:
    """Delays if there are traces; laws if any were fitted."""
    found = []
    name = next((n for n in facts.names if facts.histogram(n, _DELAYS)), None)
    if name is not None:
        found.append(
            Figure(
                name="delays",
                title=_delays_title(facts, name),
                caption="End-to-end delays of everything that arrived. One cluster for every"
                " number of links on the way."
                f" {published_values.redrawn_figure(facts.id, 'delays')}",
                draw=partial(_draw_delays, facts=facts, name=name),
                height_in=3.6,
            )
        )
    name = next((n for n in facts.names if _brokers(facts, n)), None)
    if name is not None:
        found += _fitted(facts, name)
    return found


def _fitted(facts: ReportData, name: str) -> list[Figure]:
    brokers = _brokers(facts, name)
    histograms = bins_by_brokers(facts, name, "differences")
    left = (
        "the difference of consecutive delays as measured between the pair that is"
        f" {max(histograms)} brokers apart, and as fitted by"
        if histograms
        else "the density of the difference of consecutive delays as fitted,"
    )
    return [
        Figure(
            name="delay-differences",
            title="The tail of two Laplacians bounds the tail of delay differences",
            caption=f"Left: {left} the sum of two Laplacians with the scale b that was"
            f" estimated. {origin(facts, name) if histograms else ''} Right: how often a"
            " difference is larger than the fitted law's quantile, against how often it"
            f" should be. {published_values.redrawn_figure(facts.id, 'delay-differences')}",
            draw=partial(
                _draw_differences, facts=facts, name=name, brokers=brokers, histograms=histograms
            ),
            height_in=3.8,
        ),
        Figure(
            name="fits",
            title=_fits_title(facts, name, brokers),
            caption="Kolmogorov–Smirnov distance between what was measured and the law that fits"
            " best: the largest gap between the two cumulative distributions. Shorter is better.",
            draw=partial(_draw_fits, facts=facts, name=name, brokers=brokers),
            height_in=1.8 + 0.55 * len(brokers),
        ),
    ]


def _draw_delays(canvas: Canvas, *, facts: ReportData, name: str) -> None:
    axes = canvas.subplots()
    histogram = facts.histogram(name, _DELAYS)
    assert histogram is not None
    shown = _coarse(histogram)
    axes.stairs(shown.counts, shown.edges, fill=True, color=BLUE)
    axes.set(xlabel="end-to-end delay (ms)", ylabel=f"messages per {shown.width:g} ms")
    format_thousands(axes.yaxis)


def _draw_differences(
    canvas: Canvas,
    *,
    facts: ReportData,
    name: str,
    brokers: Sequence[int],
    histograms: Mapping[int, Bins],
) -> None:
    law, tails = panels(canvas, 1, 2)
    scales = {n: e.mean for n in brokers if (e := facts.figure(name, f"difference_scale.{n}"))}
    # With a histogram, show the law that was fitted to it, not the mean over seeds.
    scales |= {n: bins.law[0] for n, bins in histograms.items() if n in scales}
    # One histogram only, as in the source: two overlapping ones are unreadable.
    shown = {n: bins for n, bins in histograms.items() if n == max(histograms)}
    reach = [np.abs(edges(bins)).max() for bins in shown.values()]
    ends = max([6 * max(scales.values(), default=1.0), *reach])
    x = np.linspace(-ends, ends, 401)
    for index, (count, scale) in enumerate(scales.items()):
        style = curve_style(index)
        label = f"{count} brokers, b = {format_number(scale)} ms"
        if count in shown:
            law.stairs(density(shown[count]), edges(shown[count]), fill=True, alpha=0.3,
                       color=style.colour, label="measured")  # fmt: skip
        law.plot(x, two_laplace.density(x, scale), color=style.colour, linestyle=style.line,
                 label=label)  # fmt: skip
        _points(tails, facts, name, count, style.colour, style.marker)
    law.set(xlabel="difference of consecutive delays (ms)", ylabel="density (1/ms)")
    law.set_ylim(0, None)
    corners = (min(_TAILS) / 2, max(_TAILS) * 2)
    tails.plot(corners, corners, color=INK, linewidth=1, linestyle="--", label="as the law says")
    tails.set(xscale="log", yscale="log", xlabel="by the law", ylabel="measured")
    tails.set_xticks(_TAILS, [f"{chance:g}" for chance in _TAILS])
    tails.set_yticks(_TAILS, [f"{chance:g}" for chance in _TAILS])
    tails.minorticks_off()
    legend_below(canvas, [law, tails])


def _points(
    axes: Axes, facts: ReportData, name: str, brokers: int, colour: str, marker: str
) -> None:
    points = [
        (chance, found.mean)
        for chance in _TAILS
        if (found := facts.figure(name, f"tail_{chance:g}.{brokers}")) and found.mean > 0
    ]
    if points:
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, linestyle="")


def _draw_fits(canvas: Canvas, *, facts: ReportData, name: str, brokers: Sequence[int]) -> None:
    axes = canvas.subplots()
    for index, (metric, (label, colour)) in enumerate(_FITS.items()):
        rows = np.arange(len(brokers)) + 0.27 * (index - 1)
        found = [facts.figure(name, f"{metric}.{count}") for count in brokers]
        axes.barh(
            rows, [0.0 if e is None else e.mean for e in found], height=0.24, color=colour,
            label=label,
        )  # fmt: skip
    axes.set_yticks(range(len(brokers)), [f"{count} brokers" for count in brokers])
    axes.invert_yaxis()
    axes.set_xlabel("Kolmogorov–Smirnov distance")
    axes.grid(visible=False, axis="y")
    legend_below(canvas, [axes])


def _coarse(histogram: Histogram) -> Histogram:
    """Merges bins to a visible number, and cuts the histogram at its 99.9 % quantile."""
    counts = np.array(histogram.counts)
    reach = int(np.searchsorted(counts.cumsum(), 0.999 * counts.sum())) + 1
    first = int(np.flatnonzero(counts)[0]) if counts.any() else 0
    step = max(1, -(-(reach - first) // _BINS_MAX))
    kept = counts[first:reach]
    kept = np.append(kept, np.zeros(-len(kept) % step, kept.dtype)).reshape(-1, step).sum(axis=1)
    return Histogram(
        counts=tuple(kept.tolist()),
        width=histogram.width * step,
        start=histogram.start + first * histogram.width,
    )


def _brokers(facts: ReportData, name: str) -> list[int]:
    """The distances, in brokers, of the pairs that laws were fitted to."""
    found = (re.fullmatch(r"difference_scale\.(\d+)", m) for m in facts.result.variants[name])
    return sorted(int(match[1]) for match in found if match)


def _delays_title(facts: ReportData, name: str) -> str:
    clusters = facts.figure(name, "delay_clusters")
    if clusters is None:
        return "How long messages take"
    return f"How long messages take: {format_number(clusters.mean)} clusters"


def _fits_title(facts: ReportData, name: str, brokers: Sequence[int]) -> str:
    worst = [e.mean for n in brokers if (e := facts.figure(name, f"delay_ks.{n}")) is not None]
    if not worst:
        return "How far the fitted laws are from what was measured"
    return f"The hypoexponential law is off by {format_number(max(worst))} at most"
