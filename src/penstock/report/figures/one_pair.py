"""The delays of one pair: their law, consecutive delays, and differences at long queues.

All data is of one run, that of the first seed. Results of earlier versions and gold
tables alone do not have it; these figures are then left out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.metrics.laws import hypoexponential, two_laplace
from penstock.metrics.sketches import Bins, Points, Sketch
from penstock.report import published_values
from penstock.report.curve_style import BLUE, INK, SKY, VERMILION
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import format_thousands, legend_below, panels
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_MEASURED: Final = "measured"
# Odd, so that the peak of a law that is symmetric around zero is one of the points.
_STEPS: Final = 601
_LAW: Final[dict[str, Any]] = {"color": VERMILION, "linewidth": 2.2}
_DIFFERENCES: Final = ("pair_differences.low", "pair_differences.high")


def figures(facts: ReportData) -> list[Figure]:
    """Each figure, if the first run of some name recorded the sketches that it needs."""
    return [*_laws(facts), *_consecutive(facts), *_by_delay(facts)]


def bins_by_brokers(facts: ReportData, name: str, what: str) -> dict[int, Bins]:
    """Histograms of `delays` or `differences`, by the distance of the pair in brokers."""
    found = {}
    for key, sketch in _sketches(facts, name).items():
        head, _, brokers = key.rpartition(".")
        if head == what and brokers.isdecimal() and isinstance(sketch, Bins) and sketch.law:
            found[int(brokers)] = sketch
    return dict(sorted(found.items()))


def edges(bins: Bins) -> NDArray[np.float64]:
    """The bin edges, one more than there are bins."""
    return bins.start + bins.width * np.arange(len(bins.counts) + 1, dtype=np.float64)


def density(bins: Bins) -> NDArray[np.float64]:
    """The density, with an area of 1 over all bins and the values beyond them."""
    return np.array(bins.counts) / (max(1, bins.total) * bins.width)


def origin(facts: ReportData, name: str) -> str:
    """A sentence for captions that names the run shown."""
    which = f"Variant {name}, seed" if len(facts.networks) > 1 else "Seed"
    return f"{which} {facts.result.seeds[0]}." if facts.result.seeds else ""


def _sketches(facts: ReportData, name: str) -> dict[str, Sketch]:
    return facts.result.sketches.get(name, {})


def _laws(facts: ReportData) -> list[Figure]:
    name = next((n for n in facts.names if bins_by_brokers(facts, n, "delays")), None)
    if name is None:
        return []
    bins = bins_by_brokers(facts, name, "delays")
    near, far = min(bins), max(bins)
    return [
        Figure(
            name="pair-delays",
            title="One pair's delays, and the hypoexponential law that fits them best",
            caption=f"(a) How many messages took how long, between a publisher and a subscriber"
            f" {near} brokers apart. (b) The share of messages that took at most so long,"
            f" {far} brokers apart. Lines: the links' constant delay and one exponential time"
            f" for each broker, fitted to these messages. {origin(facts, name)}"
            f" {published_values.redrawn_figure(facts.id, 'pair-delays')}",
            draw=partial(_draw_laws, near=(near, bins[near]), far=(far, bins[far])),
        )
    ]


def _draw_laws(canvas: Canvas, *, near: tuple[int, Bins], far: tuple[int, Bins]) -> None:
    histogram, cumulative = panels(canvas, 1, 2)
    brokers, bins = near
    constant, *rates = bins.law
    x = _along(bins)
    messages = bins.total * bins.width
    histogram.stairs(bins.counts, edges(bins), fill=True, color=SKY, label=_MEASURED)
    law = messages * hypoexponential.density(x - constant, rates)
    histogram.plot(x, law, label="fitted law", **_LAW)
    histogram.set(ylabel=f"messages per {bins.width:g} ms", ylim=(0, None))
    histogram.set_title(f"(a) {brokers} brokers apart")
    format_thousands(histogram.yaxis)
    brokers, bins = far
    constant, *rates = bins.law
    x = _along(bins)
    shares = (bins.below + np.cumsum([0, *bins.counts])) / max(1, bins.total)
    # A narrow curve over a wide one: both stay visible where they coincide.
    cumulative.plot(edges(bins), shares, color=SKY, linewidth=6)
    cumulative.plot(x, hypoexponential.cdf(x - constant, rates), **_LAW | {"linewidth": 1.4})
    cumulative.set(ylabel="share of messages", ylim=(0, 1.02))
    cumulative.set_title(f"(b) {brokers} brokers apart, cumulative")
    for axes in (histogram, cumulative):
        axes.set_xlabel("end-to-end delay (ms)")
    legend_below(canvas, [histogram])


def _consecutive(facts: ReportData) -> list[Figure]:
    name = next((n for n in facts.names if "pair_delays" in _sketches(facts, n)), None)
    points = None if name is None else _sketches(facts, name)["pair_delays"]
    if name is None or not isinstance(points, Points) or not points.x:
        return []
    split_ms = facts.parameter(name, "measure.delay_split_ms")
    some = "Each point is" if len(points.x) == points.total else (
        f"{len(points.x):,} of {points.total:,} points, evenly spread over the run; each is"
    )  # fmt: skip
    line = "" if split_ms is None else (
        f" A delay of more than {format_number(split_ms)} ms (dotted line) counts as high."
    )  # fmt: skip
    return [
        Figure(
            name="consecutive-delays",
            title=_consecutive_title(facts, name),
            caption=f"{some} a message and the next one of the same publisher to the same"
            f" subscriber, a pair that saw congestion.{line} {origin(facts, name)}"
            f" {published_values.redrawn_figure(facts.id, 'consecutive-delays')}",
            draw=partial(_draw_consecutive, points=points, split_ms=split_ms),
            height_in=4.8,
        )
    ]


def _draw_consecutive(canvas: Canvas, *, points: Points, split_ms: float | None) -> None:
    axes = canvas.subplots()
    axes.plot(
        points.x, points.y, color=BLUE, linestyle="", marker="o", markersize=3, alpha=0.45,
        markeredgewidth=0,
    )  # fmt: skip
    both = [*points.x, *points.y]
    margin = 0.04 * (max(both) - min(both)) or 1.0
    ends = (min(both) - margin, max(both) + margin)
    if split_ms is not None and ends[0] < split_ms < ends[1]:
        axes.axhline(split_ms, color=INK, linewidth=1.2, linestyle=":")
    # One scale for both axes, so that equal delays lie on the diagonal.
    axes.set(
        xlabel="delay of a message (ms)", ylabel="delay of the next (ms)", xlim=ends, ylim=ends,
        aspect="equal",
    )  # fmt: skip
    for axis in (axes.xaxis, axes.yaxis):
        format_thousands(axis)


def _by_delay(facts: ReportData) -> list[Figure]:
    for name in facts.names:
        low, high = (_sketches(facts, name).get(key) for key in _DIFFERENCES)
        if isinstance(low, Bins) and isinstance(high, Bins):
            split_ms = facts.parameter(name, "measure.delay_split_ms")
            where = ("low", "high") if split_ms is None else (
                f"≤ {format_number(split_ms)} ms", f"> {format_number(split_ms)} ms",
            )  # fmt: skip
            return [
                Figure(
                    name="differences-by-delay",
                    title=_by_delay_title(facts, name),
                    caption="How much longer a message took than the one before it, (a) where"
                    f" the delay was {where[0]} and (b) where it was {where[1]}; the same pair,"
                    " the same bins. Lines: the sum of two Laplacians with the scale of these"
                    f" differences. {origin(facts, name)}"
                    f" {published_values.redrawn_figure(facts.id, 'differences-by-delay')}",
                    draw=partial(_draw_by_delay, bins=(low, high), where=where),
                )
            ]
    return []


def _draw_by_delay(canvas: Canvas, *, bins: tuple[Bins, Bins], where: tuple[str, str]) -> None:
    both = panels(canvas, 1, 2, sharex=True, sharey=True)
    for axes, letter, own, text in zip(both, "ab", bins, where, strict=True):
        axes.stairs(density(own), edges(own), fill=True, color=SKY, label=_MEASURED)
        _draw_two_laplace(axes, own)
        axes.set_title(f"({letter}) delay {text}: {own.total:,} messages")
        axes.set_xlabel("difference of consecutive delays (ms)")
    both[0].set(ylabel="density (1/ms)", ylim=(0, None))
    legend_below(canvas, both)


def _draw_two_laplace(axes: Axes, bins: Bins) -> None:
    if bins.law:
        x = _along(bins)
        axes.plot(x, two_laplace.density(x, bins.law[0]), label="two Laplacians", **_LAW)


def _along(bins: Bins) -> NDArray[np.float64]:
    first, *_, last = edges(bins)
    return np.linspace(first, last, _STEPS)


def _consecutive_title(facts: ReportData, name: str) -> str:
    correlation = facts.figure(name, "pair_correlation")
    if correlation is None or correlation.mean < 0.9:
        return "The delay of each message of one pair against that of the next"
    return f"Consecutive delays of one pair go together (correlation {correlation.mean:.2f})"


def _by_delay_title(facts: ReportData, name: str) -> str:
    ratio = facts.figure(name, "difference_scale_ratio")
    if ratio is None:
        return "Differences of consecutive delays, at low delay and at high"
    return f"At high delay, delays differ {format_number(ratio.mean)} times as much as at low"
