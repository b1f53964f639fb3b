"""The links that each session's data take: the streams of 001, for all sessions.

A *use* is a link as one session uses it. The uses of a session form a tree that starts at its
sender's host. Only the links show which path data took, so there must be exactly one path from
a sender to a receiver.

In a network without any cycle, as large networks are, the path is found by climbing from
receiver and sender to where they meet. In others, unused links may close cycles, and each
session searches.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Protocol

from penstock.fairness.network import Network, Receiver, Session
from penstock.kernel.errors import UsageError

NONE: Final = -1


@dataclass(frozen=True, slots=True)
class Streams:
    """All uses, session by session; a use follows the one that feeds it."""

    # Of each use: its link, and the use that feeds it, `NONE` at the sender's host.
    link: list[int] = field(default_factory=list)
    above: list[int] = field(default_factory=list)
    session: list[int] = field(default_factory=list)
    # Of each receiver: the use that ends at its host, `NONE` at the sender's own host.
    last: list[int] = field(default_factory=list)


class Plan:
    """Hosts and links by index; hosts are numbered in the order of appearance."""

    def __init__(self, network: Network) -> None:
        self.names: Final[list[str]] = []
        self._number: Final[dict[str, int]] = {}
        self.link_at: Final[dict[tuple[int, int], int]] = {}
        for number, link in enumerate(network.links):
            self.link_at[self.host(link.start), self.host(link.end)] = number
        for session in network.sessions:
            self.host(session.sender.host)
            for receiver in session.receivers:
                self.host(receiver.host)
        self.onward: Final[list[list[int]]] = [[] for _ in self.names]
        for start, end in self.link_at:
            self.onward[start].append(end)

    def host(self, name: str) -> int:
        """The index of a host."""
        number = self._number.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


class _PathFinder(Protocol):
    """Finds paths to hosts, for one session."""

    def path(self, host: int, reached: dict[int, int]) -> list[int] | None:
        """A path from a reached host to one that is not; None if there is none."""


def streams_of(network: Network, plan: Plan) -> Streams:
    """The uses of all sessions; a `UsageError` names a receiver with no path or with two."""
    streams = Streams()
    forest = _Forest.of(plan)
    for number, session in enumerate(network.sessions):
        sender = plan.host(session.sender.host)
        finder = _ForestPaths(forest, sender) if forest else _SearchedPaths(plan, sender)
        _add_uses(streams, number, session, finder, plan)
    return streams


def _add_uses(
    streams: Streams, number: int, session: Session, finder: _PathFinder, plan: Plan
) -> None:
    # The use that ends at each host so far.
    reached = {plan.host(session.sender.host): NONE}
    for receiver in session.receivers:
        host = plan.host(receiver.host)
        if host not in reached:
            path = finder.path(host, reached)
            if path is None:
                raise _unreachable(session, receiver)
            for start, end in pairwise(path):
                link = plan.link_at.get((start, end))
                if link is None:
                    raise _unreachable(session, receiver)
                reached[end] = len(streams.link)
                streams.link.append(link)
                streams.above.append(reached[start])
                streams.session.append(number)
        streams.last.append(reached[host])


@dataclass(frozen=True, slots=True)
class _Forest:
    """The parent of each host, under an arbitrary root; both directions of a link are one edge."""

    up: list[int]
    depth: list[int]

    @staticmethod
    def of(plan: Plan) -> _Forest | None:
        """The forest of the plan; None if it has a cycle."""
        adjacent: list[list[int]] = [[] for _ in plan.names]
        for start, end in plan.link_at:
            if (end, start) not in plan.link_at or start < end:
                adjacent[start].append(end)
                adjacent[end].append(start)
        up = [NONE] * len(adjacent)
        depth = [NONE] * len(adjacent)
        for root in range(len(adjacent)):
            if depth[root] != NONE:
                continue
            depth[root] = 0
            frontier = [root]
            while frontier:
                host = frontier.pop()
                for other in adjacent[host]:
                    if other == up[host]:
                        continue
                    if depth[other] != NONE:
                        return None
                    up[other], depth[other] = host, depth[host] + 1
                    frontier.append(other)
        return _Forest(up, depth)


class _ForestPaths:
    """Finds a path in a forest, in time proportional to its length."""

    def __init__(self, forest: _Forest, sender: int) -> None:
        self._forest: Final = forest
        # The highest host that was reached; all others that were lie below it.
        self._top = sender

    def path(self, host: int, reached: dict[int, int]) -> list[int] | None:
        """Climbs on the lower side until both sides meet."""
        up, depth = self._forest.up, self._forest.depth
        rising, falling = [self._top], [host]
        while falling[-1] not in reached and falling[-1] != rising[-1]:
            lower = falling if depth[falling[-1]] > depth[rising[-1]] else rising
            if up[lower[-1]] == NONE:
                return None
            lower.append(up[lower[-1]])
        self._top = rising[-1]
        return rising[:-1] + falling[::-1] if falling[-1] == rising[-1] else falling[::-1]


class _SearchedPaths:
    """Finds a path in a network with cycles, and checks that it is the only one."""

    def __init__(self, plan: Plan, sender: int) -> None:
        self._plan: Final = plan
        self._before: Final = {sender: NONE}
        frontier = deque([sender])
        while frontier:
            host = frontier.popleft()
            for other in plan.onward[host]:
                if other not in self._before:
                    self._before[other] = host
                    frontier.append(other)

    def path(self, host: int, reached: dict[int, int]) -> list[int] | None:
        """The shortest path, which must be the only one."""
        if host not in self._before:
            return None
        whole = [host]
        while self._before[whole[-1]] != NONE:
            whole.append(self._before[whole[-1]])
        whole.reverse()
        detour = _detour(whole, self._plan.onward)
        if detour:
            straight = whole[whole.index(detour[0]) : whole.index(detour[-1]) + 1]
            raise _ambiguous_paths(
                *([self._plan.names[n] for n in path] for path in (straight, detour))
            )
        first = next(at for at in reversed(range(len(whole))) if whole[at] in reached)
        return whole[first:]


def _detour(path: list[int], onward: list[list[int]]) -> list[int]:
    """Another path from some host on the path to a later one, if there is any.

    Any second path leaves the first somewhere, and the next host of the first that it meets
    lies further on. Hosts searched from an earlier host without meeting a later one need not be
    searched again.
    """
    position = {host: at for at, host in enumerate(path)}
    before: dict[int, int] = {}
    for at, host in enumerate(path):
        frontier = [host]
        while frontier:
            here = frontier.pop()
            for other in onward[here]:
                if position.get(other, NONE) > at + (here == host):
                    return _trace_back(before, host, here, other)
                if other not in position and other not in before:
                    before[other] = here
                    frontier.append(other)
    return []


def _trace_back(before: dict[int, int], first: int, here: int, last: int) -> list[int]:
    back = [last]
    while here != first:
        back.append(here)
        here = before[here]
    return [first, *reversed(back)]


def _ambiguous_paths(straight: list[str], detour: list[str]) -> UsageError:
    return UsageError(
        f"the links form a cycle: two ways lead from {straight[0]} to {straight[-1]},"
        f" {' → '.join(straight)} and {' → '.join(detour)};"
        " leave out the links that were not used"
    )


def _unreachable(session: Session, receiver: Receiver) -> UsageError:
    return UsageError(
        f"receiver {receiver.id!r} of session {session.id!r} cannot be reached: no links lead from"
        f" {session.sender.host} to {receiver.host}; add them, or leave it out"
    )
