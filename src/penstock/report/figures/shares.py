"""The rate of each receiver with its fair share, and of messages beside TCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.report import published_values
from penstock.report.curve_style import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION
from penstock.report.figure import Figure
from penstock.report.figures.controlled import (
    bottlenecks,
    capacity_of,
    compared,
    height_of,
    kbps_of,
    one_scale,
    side_by_side,
)
from penstock.report.figures.plot_helpers import format_thousands, legend_below, second_midpoints
from penstock.report.figures.recovered import means_of
from penstock.report.number_format import format_number, format_percent
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_RECEIVED: Final = "received."
_RECEIVERS_MAX: Final = 6
_CONTENT: Final = "content_kbps"
_TCP: Final = "tcp_kbps."
# Relative difference below which two rates of a link count as equal.
_SAME: Final = 0.02
# Colours that variants do not have come first.
_COLOURS: Final = (BLUE, ORANGE, PURPLE, SKY, VERMILION, GREEN)
_DOTS: Final[Any] = (0, (1, 1.6))


def figures(facts: ReportData) -> list[Figure]:
    """Rates of receivers if they are few, and rates beside TCP if there is a connection."""
    names = compared(facts)
    found = []
    receivers = _receivers(facts, names)
    if 1 < len(receivers) <= _RECEIVERS_MAX:
        shares = {name: fair_shares(facts, name, receivers) for name in names}
        dotted = (
            " Dotted: the fair share (max-min) of the bottleneck, from what the link bears, what"
            " each receiver wants and how large messages are."
            if any(shares.values())
            else ""
        )
        found.append(
            Figure(
                name="receivers",
                title=_title(facts, names, shares),
                caption=f"Messages a second that reach each receiver, means over seeds.{dotted}"
                f" {published_values.redrawn_figure(facts.id, 'receivers')}",
                draw=partial(_rates, facts=facts, names=names, shares=shares),
                height_in=height_of(names, 1, each=2.6),
            )
        )
    beside = [name for name in facts.networks if _connections(facts, name)]
    if beside:
        found.append(
            Figure(
                name="beside-tcp",
                title=_tcp_title(facts, beside),
                caption="Kilobits a second that come out of the bottleneck, means over seeds."
                f"{_dotted(facts, beside)}"
                f" {published_values.redrawn_figure(facts.id, 'beside-tcp')}",
                draw=partial(_draw_beside_tcp, facts=facts, names=beside[:_RECEIVERS_MAX]),
                height_in=height_of(beside[:_RECEIVERS_MAX], 1, each=2.6),
            )
        )
    return found


def fair_shares(
    facts: ReportData, name: str, receivers: Sequence[str]
) -> dict[str, NDArray[np.float64]]:  # fmt: skip
    """Max-min fair shares by second; empty if receivers share several links, or messages."""
    links, pairs = bottlenecks(facts, [name]), facts.pairs(name, "received_mps")
    publishers = [publisher for _, publisher in pairs]
    # Receivers with a publisher each share nothing but the link.
    if len(links) != 1 or len({*publishers}) < len(publishers) or len(pairs) != len(receivers):
        return {}
    kbps, capacity = kbps_of(facts, name, links[0]), capacity_of(facts, name, links[0])
    received = sum(np.nansum(facts.series(name, f"{_RECEIVED}{r}")) for r in receivers)
    demand_series = _demands(facts, receivers)
    if not received or len(demand_series) != len(receivers):
        return {}
    kbits = float(np.nansum(kbps) / received)
    shares = {receiver: np.full(len(capacity), np.nan) for receiver in receivers}
    for interval in _constant_intervals(capacity):
        demands = {r: float(np.nanmean(own[interval])) for r, own in demand_series.items()}
        rates = max_min(float(np.nanmean(capacity[interval])) / kbits, demands)
        for receiver, rate in rates.items():
            shares[receiver][interval] = rate
    return shares


def max_min(capacity: float, demands: Mapping[str, float]) -> dict[str, float]:
    """Max-min fair shares: demands below an even share are met, the others share the rest."""
    found: dict[str, float] = {}
    for index, receiver in enumerate(sorted(demands, key=lambda receiver: demands[receiver])):
        even = max(0.0, capacity - sum(found.values())) / (len(demands) - index)
        found[receiver] = min(demands[receiver], even)
    return found


def _demands(facts: ReportData, receivers: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Demand by receiver: the matching messages sent in the variant that sent most of them."""
    series = {
        name: {r: np.array(v) for r in receivers if (v := facts.series(name, f"wanted.{r}"))}
        for name in facts.networks
    }
    known = [own for own in series.values() if len(own) == len(receivers)]
    return max(known, key=lambda own: sum(v.sum() for v in own.values()), default={})


def _constant_intervals(capacity: NDArray[np.float64]) -> list[slice]:
    """Intervals of seconds in which the capacity of the link is constant."""
    known = np.nan_to_num(capacity, nan=0.0)
    steps = np.abs(np.diff(known)) > _SAME * np.maximum(known[1:], known[:-1])
    ends = [0, *(np.flatnonzero(steps) + 1).tolist(), len(capacity)]
    return [slice(low, high) for low, high in pairwise(ends) if low < high]


def _receivers(facts: ReportData, names: Sequence[str]) -> list[str]:
    every = [metric for name in names for metric in facts.result.series.get(name, {})]
    return list(dict.fromkeys(m.removeprefix(_RECEIVED) for m in every if m.startswith(_RECEIVED)))


def _rates(
    canvas: Canvas,
    *,
    facts: ReportData,
    names: Sequence[str],
    shares: Mapping[str, Mapping[str, NDArray[np.float64]]],
) -> None:
    receivers = _receivers(facts, names)
    every = side_by_side(canvas, names, 1)
    for name, (axes,) in every:
        for index, receiver in enumerate(receivers):
            colour, values = _COLOURS[index], facts.series(name, f"{_RECEIVED}{receiver}")
            axes.plot(second_midpoints(values), values, color=colour, linewidth=1.3, label=receiver)
            share = shares[name].get(receiver)
            if share is not None:
                # Drawn as steps, because a link's rate changes at once.
                axes.step(np.arange(len(share) + 1), [*share, *share[-1:]], where="post",
                          color=colour, linewidth=1.8, linestyle=_DOTS)  # fmt: skip
        axes.set_ylabel("received (messages/s)")
        format_thousands(axes.yaxis)
    if any(shares.values()):
        every[0][1][0].plot([], [], color=INK, linewidth=1.8, linestyle=_DOTS, label="fair share")
    one_scale([axes for _, axes in every])
    legend_below(canvas, [axes for _, own in every for axes in own])


def _connections(facts: ReportData, name: str) -> list[str]:
    return [m for m in facts.result.series.get(name, {}) if m.startswith(_TCP)]


def _even_kbps(facts: ReportData, name: str) -> NDArray[np.float64]:
    """An even share of the link's capacity by second, from traces or from a constant rate."""
    own = _connections(facts, name)
    for link in bottlenecks(facts, [name])[:1]:
        return capacity_of(facts, name, link) / (1 + len(own))
    rate_mbps = facts.parameter(name, "network.link.rate_mbps")
    if rate_mbps is None or facts.parameter(name, "network.changes"):
        return np.zeros(0)
    return np.full(len(facts.series(name, own[0])), 1000 * float(rate_mbps) / (1 + len(own)))


def _dotted(facts: ReportData, names: Sequence[str]) -> str:
    if not any(_even_kbps(facts, name).size for name in names):
        return ""
    return " Dotted: an even share of what the link bears, from when all are there."


def _all_started_at(facts: ReportData, name: str) -> int:
    """The first second in which every connection has received data."""
    series = (facts.series(name, metric) for metric in _connections(facts, name))
    return max((int(np.flatnonzero(own)[0]) for own in series if any(own)), default=0)


def ahead(facts: ReportData, name: str) -> float | None:
    """The lead of a TCP connection over messages, as a share of the link, once all run."""
    even, start = _even_kbps(facts, name), _all_started_at(facts, name)
    content = facts.series(name, _CONTENT)[start:]
    if not even[start:].size or not content:
        return None
    own = _connections(facts, name)
    tcp_kbps = np.mean([facts.series(name, metric)[start:] for metric in own])
    capacity_kbps = np.nanmean(even[start:]) * (1 + len(own))
    return float((tcp_kbps - np.mean(content)) / capacity_kbps)


def _tcp_title(facts: ReportData, names: Sequence[str]) -> str:
    text = [
        f"{name} {100 * share:+.0f} %".replace("-", "\N{MINUS SIGN}")
        for name in names
        if (share := ahead(facts, name)) is not None
    ]
    if not text:
        return "What messages and TCP get of the link"
    return f"By how much of the link TCP is ahead of messages: {', '.join(text)}"


def _draw_beside_tcp(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    every = side_by_side(canvas, names, 1)
    for name, (axes,) in every:
        own = _connections(facts, name)
        content = facts.series(name, _CONTENT)
        if content:
            axes.plot(
                second_midpoints(content), content, color=BLUE, linewidth=1.4, label="messages"
            )
        for index, metric in enumerate(own):
            values = facts.series(name, metric)
            label = "TCP" if len(own) == 1 else f"TCP {metric.removeprefix(_TCP)}"
            axes.plot(second_midpoints(values), values, color=_COLOURS[1 + index % 5],
                      linewidth=1.2,
                      label=label)  # fmt: skip
        even, start = _even_kbps(facts, name), _all_started_at(facts, name)
        if even.size:
            even = even[start:]
            axes.plot(second_midpoints(even.tolist()) + start, even, color=INK, linewidth=1.6,
                      linestyle=_DOTS, label="even share")  # fmt: skip
        axes.set_ylabel("kbit/s")
        format_thousands(axes.yaxis)
    one_scale([axes for _, axes in every])
    legend_below(canvas, [axes for _, own in every for axes in own])


def distance(
    facts: ReportData, name: str, shares: Mapping[str, NDArray[np.float64]]
) -> float:  # fmt: skip
    """The mean relative distance of receivers from their fair shares, over all seconds."""
    errors = [
        np.abs(np.array(facts.series(name, f"{_RECEIVED}{receiver}"))[: len(share)] - share) / share
        for receiver, share in shares.items()
    ]
    return float(np.nanmean(errors))


def _title(
    facts: ReportData, names: Sequence[str], shares: Mapping[str, Mapping[str, NDArray[np.float64]]]
) -> str:
    if all(shares.values()):
        text = [f"{name} {format_percent(distance(facts, name, shares[name]))}" for name in names]
        return f"How far from its fair share a receiver is, on average: {', '.join(text)}"
    indices = means_of(facts, names, "jain", lambda index: format_number(round(index, 3)))
    if not indices:
        return "What each receiver gets"
    return f"How evenly receivers are served, by Jain's index: {indices}"
