"""Which links each session's data take: the streams of 001, laid over one another.

A *use* is a link as one session uses it. The uses of a session form a tree that
begins at its sender's host. Nothing says which way data went but the links
themselves, so there must be one way only from a sender to a receiver.

Where the network has no cycle at all, which is where it is large, one climbs from
receiver and sender to where they meet. Elsewhere links that nobody uses may close
cycles, and each session searches.
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
    """All uses, session by session; what feeds one comes before it."""

    # Of each use: its link, and the use that feeds it, none at the sender's host.
    link: list[int] = field(default_factory=list)
    above: list[int] = field(default_factory=list)
    session: list[int] = field(default_factory=list)
    # Of each receiver: the use that ends at its host, none at the sender's own.
    last: list[int] = field(default_factory=list)


class Plan:
    """The links by number: hosts are numbered as they appear."""

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
        """The number of a host."""
        number = self._number.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


class _Guide(Protocol):
    """Knows the way to hosts, for one session."""

    def way(self, host: int, reached: dict[int, int]) -> list[int] | None:
        """From a host that is reached to one that is not; None where no link leads there."""


def streams_of(network: Network, plan: Plan) -> Streams:
    """The uses of all sessions; a `UsageError` names who cannot be reached, or by two ways."""
    streams = Streams()
    forest = _Forest.of(plan)
    for number, session in enumerate(network.sessions):
        sender = plan.host(session.sender.host)
        guide = _Climb(forest, sender) if forest else _Search(plan, sender)
        _lay(streams, number, session, guide, plan)
    return streams


def _lay(streams: Streams, number: int, session: Session, guide: _Guide, plan: Plan) -> None:
    # The use that ends at each host so far.
    reached = {plan.host(session.sender.host): NONE}
    for receiver in session.receivers:
        host = plan.host(receiver.host)
        if host not in reached:
            way = guide.way(host, reached)
            if way is None:
                raise _unreachable(session, receiver)
            for start, end in pairwise(way):
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
    """Hosts above one another, from a root that does not matter; both ways of a link are one."""

    up: list[int]
    depth: list[int]

    @staticmethod
    def of(plan: Plan) -> _Forest | None:
        """None where there is a cycle."""
        beside: list[list[int]] = [[] for _ in plan.names]
        for start, end in plan.link_at:
            if (end, start) not in plan.link_at or start < end:
                beside[start].append(end)
                beside[end].append(start)
        up = [NONE] * len(beside)
        depth = [NONE] * len(beside)
        for root in range(len(beside)):
            if depth[root] != NONE:
                continue
            depth[root] = 0
            frontier = [root]
            while frontier:
                host = frontier.pop()
                for other in beside[host]:
                    if other == up[host]:
                        continue
                    if depth[other] != NONE:
                        return None
                    up[other], depth[other] = host, depth[host] + 1
                    frontier.append(other)
        return _Forest(up, depth)


class _Climb:
    """Finds the way in a forest, at the cost of its length."""

    def __init__(self, forest: _Forest, sender: int) -> None:
        self._forest: Final = forest
        # The highest host that was reached; all others that were lie below it.
        self._top = sender

    def way(self, host: int, reached: dict[int, int]) -> list[int] | None:
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


class _Search:
    """Finds the way among cycles, and sees to it that there is no other."""

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

    def way(self, host: int, reached: dict[int, int]) -> list[int] | None:
        """The shortest way, which must be the only one."""
        if host not in self._before:
            return None
        whole = [host]
        while self._before[whole[-1]] != NONE:
            whole.append(self._before[whole[-1]])
        whole.reverse()
        detour = _detour(whole, self._plan.onward)
        if detour:
            straight = whole[whole.index(detour[0]) : whole.index(detour[-1]) + 1]
            raise _two_ways(*([self._plan.names[n] for n in way] for way in (straight, detour)))
        first = next(at for at in reversed(range(len(whole))) if whole[at] in reached)
        return whole[first:]


def _detour(way: list[int], onward: list[list[int]]) -> list[int]:
    """Another way from some host on the way to a later one, if there is any.

    Any second way leaves the first somewhere, and the first host of it that it then
    meets lies further on. What was searched from an earlier host without meeting a
    later one need not be searched again.
    """
    place = {host: at for at, host in enumerate(way)}
    before: dict[int, int] = {}
    for at, host in enumerate(way):
        frontier = [host]
        while frontier:
            here = frontier.pop()
            for other in onward[here]:
                if place.get(other, NONE) > at + (here == host):
                    return _traced(before, host, here, other)
                if other not in place and other not in before:
                    before[other] = here
                    frontier.append(other)
    return []


def _traced(before: dict[int, int], first: int, here: int, last: int) -> list[int]:
    back = [last]
    while here != first:
        back.append(here)
        here = before[here]
    return [first, *reversed(back)]


def _two_ways(straight: list[str], detour: list[str]) -> UsageError:
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
