"""Time shifts, anchors and effair graphs: each component of a network on its own timescale.

Sessions that share no link, not even through others, are independent: each such component has
its own timescale, on which a change anywhere takes effect everywhere at once [001 §3]. An event
at a place at time t happens on it at t minus the shift from the anchor to that place. A
component must be a tree, or the shift would depend on the path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from sys import float_info
from typing import Final

import numpy as np

from penstock.fairness.arrays import Floats, Ints
from penstock.fairness.groups import joined
from penstock.fairness.network import Link, Network, Receiver
from penstock.fairness.routes import NONE, Plan, Streams
from penstock.kernel.errors import UsageError

# The error of a sum of a few delays, as a multiple of the float epsilon.
_ROUNDINGS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class EffairGraph:
    """A component on its canonical universal timescale; shifts are from the anchor."""

    anchor: str
    links: tuple[Link, ...]
    host_shift: dict[str, float]
    # By session id.
    sender_shift: dict[str, float]
    receiver_shift: dict[str, float]
    # When receivers join, on this timescale.
    arrival: dict[str, float]


@dataclass(frozen=True, slots=True)
class Timescale:
    """One component, by indices of sessions, receivers and hosts."""

    sessions: list[int]
    receivers: Ints
    links: list[int]
    anchor: int
    # The shift from the anchor to each host, and to each of `receivers`.
    host_shift: dict[int, float]
    shift: Floats
    # How long after the anchor each of `receivers` joins; differences by rounding are removed.
    waited: Floats


def effair_graphs(network: Network, plan: Plan, scales: list[Timescale]) -> list[EffairGraph]:
    """The same components, by name."""
    return [_graph(network, plan, scale) for scale in scales]


def timescales(network: Network, plan: Plan, streams: Streams) -> list[Timescale]:
    """One timescale for each component, in the order of their first sessions."""
    first = _first_receivers(network)
    found = []
    for sessions, links in _components(len(network.sessions), streams):
        origin = plan.host(network.sessions[sessions[0]].sender.host)
        times = _host_times(network, plan, links, origin)
        receivers = np.concatenate([np.arange(first[s], first[s + 1]) for s in sessions])
        found.append(_timescale(network, plan, sessions, links, times, receivers))
    return found


def _components(sessions: int, streams: Streams) -> Iterable[tuple[list[int], list[int]]]:
    """Sessions connected by shared links, and the links of each such group."""
    link, above = np.array(streams.link, np.int64), np.array(streams.above, np.int64)
    session = np.array(streams.session, np.int64)
    first = np.searchsorted(session, np.arange(sessions))
    # A session connects each of its links to the one that feeds it, and those at its sender.
    group = joined(
        int(link.max(initial=NONE)) + 1, link, link[np.where(above == NONE, first[session], above)]
    ).tolist()
    members: dict[int, tuple[list[int], list[int]]] = {}
    for number, use in enumerate(first.tolist()):
        uses_any = use < len(link) and streams.session[use] == number
        # A session without links is a component by itself.
        key = group[streams.link[use]] if uses_any else NONE - number
        members.setdefault(key, ([], []))[0].append(number)
    for used in dict.fromkeys(streams.link):
        members[group[used]][1].append(used)
    return members.values()


def _host_times(network: Network, plan: Plan, links: list[int], origin: int) -> dict[int, float]:
    """The shift from `origin` to every host of its component."""
    adjacent: dict[int, list[tuple[int, int, float]]] = {origin: []}
    for number in links:
        link = network.links[number]
        start, end = plan.host(link.start), plan.host(link.end)
        adjacent.setdefault(start, []).append((end, number, link.delay))
        adjacent.setdefault(end, []).append((start, number, -link.delay))
    times = {origin: 0.0}
    reached_by: dict[int, tuple[int, int]] = {origin: (NONE, NONE)}
    frontier = [origin]
    while frontier:
        host = frontier.pop()
        for other, number, delay in adjacent[host]:
            if number == reached_by[host][1]:
                continue
            if other in times:
                raise _cycle(plan, reached_by, host, other)
            times[other] = times[host] + delay
            reached_by[other] = host, number
            frontier.append(other)
    return times


def _timescale(
    network: Network,
    plan: Plan,
    sessions: list[int],
    links: list[int],
    times: dict[int, float],
    receivers: Ints,
) -> Timescale:
    members = [receiver for s in sessions for receiver in network.sessions[s].receivers]
    join = np.array([receiver.join for receiver in members], dtype=float)
    time = np.array([times[plan.host(r.host)] + r.delay for r in members], dtype=float)
    tolerance = _ROUNDINGS * float_info.epsilon * float(np.abs(join).max() + np.abs(time).max())
    anchor = _anchor(join, join - time, tolerance)
    shift = time - time[anchor]
    waited = _snapped((join - join[anchor]) - shift, tolerance)
    return Timescale(
        sessions,
        receivers,
        links,
        int(receivers[anchor]),
        {host: at - float(time[anchor]) for host, at in times.items()},
        shift,
        waited,
    )


def _anchor(join: Floats, arrival: Floats, tolerance: float) -> int:
    """The first to join, of those who join first on the timescale [001, definition 3]."""
    earliest = np.flatnonzero(arrival <= arrival.min() + tolerance)
    return int(earliest[np.argmin(join[earliest])])


def _snapped(waited: Floats, tolerance: float) -> Floats:
    """Makes values equal that differ by rounding only; the first is 0."""
    order = np.argsort(waited, kind="stable")
    ascending = waited[order]
    starts = np.concatenate([[True], np.diff(ascending) > tolerance])
    snapped = np.empty_like(waited)
    snapped[order] = ascending[starts][np.cumsum(starts) - 1]
    snapped[snapped <= tolerance] = 0.0
    return snapped


def _graph(network: Network, plan: Plan, scale: Timescale) -> EffairGraph:
    everybody = network.receivers()
    members = [everybody[number] for number in scale.receivers]
    anchor = everybody[scale.anchor]
    shift = scale.host_shift
    sessions = [network.sessions[number] for number in scale.sessions]
    return EffairGraph(
        anchor=anchor.id,
        links=tuple(network.links[number] for number in scale.links),
        host_shift={plan.names[host]: at for host, at in shift.items()},
        sender_shift={s.id: shift[plan.host(s.sender.host)] - s.sender.delay for s in sessions},
        receiver_shift=_by_id(members, scale.shift),
        arrival=_by_id(members, scale.waited + anchor.join),
    )


def _by_id(members: list[Receiver], values: Floats) -> dict[str, float]:
    return {receiver.id: value for receiver, value in zip(members, values.tolist(), strict=True)}


def _first_receivers(network: Network) -> list[int]:
    first = [0]
    for session in network.sessions:
        first.append(first[-1] + len(session.receivers))
    return first


def _cycle(plan: Plan, reached_by: dict[int, tuple[int, int]], host: int, other: int) -> UsageError:
    """An error that names the cycle closed by the link between these two hosts."""
    above = [other]
    while reached_by[above[-1]][0] != NONE:
        above.append(reached_by[above[-1]][0])
    here = [host]
    while here[-1] not in above:
        here.append(reached_by[here[-1]][0])
    around = [*above[: above.index(here[-1])], *reversed(here), other]
    return UsageError(
        f"sessions that share links form a cycle, {' - '.join(plan.names[n] for n in around)}:"
        " time shifts need a tree, so leave out a session or a link of it"
    )
