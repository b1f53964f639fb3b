"""One pair over time: violations of order, publication rate, violation probability, latches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.curve_style import BLUE, INK, VERMILION, curve_styles
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import panels, second_midpoints
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_NETWORK: Final = (
    ("pair_out_of_order", "out of order\n(messages/s)", VERMILION),
    ("pair_publications", "published\n(messages/s)", INK),
    ("pair_violation_chance", "violation\nprobability", BLUE),
)
_LATCHES_MAX: Final = 6


def figures(facts: ReportData) -> list[Figure]:
    """One figure with the paper's panels, and a panel per ordering that waits."""
    networks = facts.names_with_series("pair_publications")
    if not networks:
        return []
    waiting = [n for n in facts.names_with_series("pair_latch_mean_ms") if facts.kind(n) != "off"]
    waiting = sorted(waiting, key=partial(_rank, facts))[:_LATCHES_MAX]
    return [
        Figure(
            name="latch",
            title=_title(facts, waiting),
            caption="One publisher and one subscriber, by second of publication. From top to"
            " bottom: arrivals out of order, publication rate, probability of a violation as"
            " the transport estimates it, then for each ordering the mean latch of messages"
            " that were held, the longest one shaded."
            f" {published_values.redrawn_figure(facts.id, 'latch')}",
            draw=partial(_draw, facts=facts, network=networks[0], waiting=waiting),
            height_in=1.0 + 1.25 * (len(_NETWORK) + len(waiting)),
        )
    ]


def _rank(facts: ReportData, name: str) -> tuple[bool, int]:
    """The paper's order: enhanced mode, then basic; orderings not in the paper come last."""
    return facts.kind(name) != "literal", -int(facts.setting(name, "record") or 0)


def _draw(canvas: Canvas, *, facts: ReportData, network: str, waiting: Sequence[str]) -> None:
    frames = panels(canvas, len(_NETWORK) + len(waiting), sharex=True)
    for axes, (metric, label, colour) in zip(frames, _NETWORK, strict=False):
        values = facts.series(network, metric)
        axes.plot(second_midpoints(values), values, color=colour)
        axes.set(ylabel=label, ylim=(0, None))
    # All latches on one scale, because they are compared.
    top = max((max(facts.series(n, "pair_latch_max_ms"), default=0) for n in waiting), default=0)
    styles = curve_styles(facts, [*facts.names])
    for axes, name in zip(frames[len(_NETWORK) :], waiting, strict=True):
        mean, longest = (facts.series(name, f"pair_latch_{m}_ms") for m in ("mean", "max"))
        colour = styles[name].colour
        axes.fill_between(second_midpoints(longest), longest, color=colour, alpha=0.25, linewidth=0)
        axes.plot(second_midpoints(mean), mean, color=colour)
        axes.set(ylabel="latch (ms)", ylim=(0, 1.05 * top or 1))
        axes.set_title(name, fontsize=9, pad=2)
    for axes in frames:
        axes.yaxis.set_label_coords(-0.075, 0.5)
        axes.yaxis.label.set_fontsize(8)
    frames[-1].set(xlabel="time (s)", xlim=(0, None))


def _title(facts: ReportData, waiting: Sequence[str]) -> str:
    follows = [facts.figure(name, "latch_with_rate") for name in waiting]
    known = [figure.mean for figure in follows if figure is not None]
    if known and min(known) >= 0.9:
        return (
            "Latch time for each message published follows the rate"
            f" (correlation {min(known):.2f} or more)"
        )
    return "Rate, probability of a violation, and latch, second by second"
