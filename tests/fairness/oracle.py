"""The effair ideal by brute force: fractions, sets and definitions, and no cleverness at all.

Written from 001 alone. It looks for ways by trying them all, sums shifts along
paths between receivers, and raises rates link by link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import TypeAlias

from penstock.fairness.network import Network

# An edge of the stream superposition: a link, or what joins a sender or receiver to its host.
Edge: TypeAlias = tuple[str, str]
Rates: TypeAlias = dict[str, Fraction]
Allocate: TypeAlias = Callable[[list[str]], Rates]


class Oracle:
    """One network, taken apart."""

    def __init__(self, network: Network) -> None:
        self.capacity: dict[Edge, Fraction | None] = {}
        self.delay: dict[Edge, Fraction] = {}
        self.path: dict[str, list[Edge]] = {}
        self.session: dict[str, str] = {}
        self.join: dict[str, Fraction] = {}
        self.data: dict[str, Fraction] = {}
        for link in network.links:
            self._edge((f"host {link.start}", f"host {link.end}"), link.capacity, link.delay)
        links = list(self.capacity)
        for session in network.sessions:
            sender = session.sender
            first = f"sender {session.id}", f"host {sender.host}"
            self._edge(first, sender.capacity, sender.delay)
            for receiver in session.receivers:
                last = f"host {receiver.host}", receiver.id
                self._edge(last, receiver.capacity, receiver.delay)
                (way,) = ways(links, first[1], last[0])
                self.path[receiver.id] = [first, *way, last]
                self.session[receiver.id] = session.id
                self.join[receiver.id] = Fraction(receiver.join)
                self.data[receiver.id] = Fraction(receiver.data)

    def _edge(self, edge: Edge, capacity: float, delay: float) -> None:
        self.capacity[edge] = None if capacity == inf else Fraction(capacity)
        self.delay[edge] = Fraction(delay)

    def components(self) -> list[list[str]]:
        """Receivers whose sessions share edges, by whatever chain."""
        found: list[list[str]] = []
        for receiver, path in self.path.items():
            near = [c for c in found if any({*path} & {*self.path[other]} for other in c)]
            found = [c for c in found if c not in near]
            found.append([other for c in near for other in c] + [receiver])
        return found

    def shift(self, one: str, other: str) -> Fraction:
        """[001, definition 1] Along the path between two nodes, whichever way edges point."""
        edges = {edge for path in self.path.values() for edge in path}
        both = [*edges, *((end, start) for start, end in edges)]
        (way,) = ways(both, one, other)
        return sum(
            (self.delay[e] if e in edges else -self.delay[e[1], e[0]] for e in way), Fraction(0)
        )

    def anchor(self, component: list[str]) -> str:
        """[001, definition 3] Who joins no later than anyone, seen from its own place."""
        earliest = [
            n
            for n in component
            if all(self.join[k] >= self.join[n] + self.shift(n, k) for k in component)
        ]
        return min(earliest, key=lambda n: self.join[n])

    def finish(
        self, allocate: Allocate
    ) -> tuple[Rates, dict[str, list[tuple[Fraction, Fraction]]]]:
        """[001, figure 3] When each has its data by its own clock, and how its rate changes."""
        finish: Rates = {}
        steps: dict[str, list[tuple[Fraction, Fraction]]] = {k: [] for k in self.path}
        for component in self.components():
            anchor = self.anchor(component)
            shift = {k: self.shift(anchor, k) for k in component}
            for k, at, rate in self._events(component, shift, allocate):
                steps[k].append((at + shift[k], rate))
                if not rate:
                    finish[k] = at + shift[k]
        return finish, steps

    def _events(
        self, component: list[str], shift: Rates, allocate: Allocate
    ) -> Iterable[tuple[str, Fraction, Fraction]]:
        arrival = {k: self.join[k] - shift[k] for k in component}
        left = {k: self.data[k] for k in component}
        coming = sorted(component, key=lambda k: arrival[k])
        active: list[str] = []
        before: Rates = {}
        now = arrival[coming[0]]
        while coming or active:
            while coming and arrival[coming[0]] <= now:
                k = coming.pop(0)
                # Nothing wanted, or nothing in the way.
                if not left[k] or all(self.capacity[e] is None for e in self.path[k]):
                    yield k, now, Fraction(0)
                else:
                    active.append(k)
            rates = allocate(active) if active else {}
            for k in active:
                if before.get(k) != rates[k]:
                    yield k, now, rates[k]
            before = rates
            ends = [now + left[k] / rates[k] for k in active]
            then = min([*ends, *(arrival[k] for k in coming[:1])], default=now)
            for k in active:
                left[k] -= rates[k] * (then - now)
            now = then
            for k in [k for k in active if not left[k]]:
                active.remove(k)
                yield k, now, Fraction(0)

    def max_min(self, active: list[str]) -> Rates:
        """All rise together; when an edge is full, those below it stop."""
        rates: Rates = {}
        while len(rates) < len(active):
            rising = [k for k in active if k not in rates]
            levels = {}
            for edge, capacity in self.capacity.items():
                if capacity is not None and any(edge in self.path[k] for k in rising):
                    levels[edge] = self._full_at(edge, capacity, active, rising, rates)
            level = min(levels.values())
            for edge in [e for e, at in levels.items() if at == level]:
                rates |= {k: level for k in rising if edge in self.path[k]}
        return rates

    def _full_at(
        self,
        edge: Edge,
        capacity: Fraction,
        active: list[str],
        rising: list[str],
        rates: Rates,
    ) -> Fraction:
        below = [k for k in active if edge in self.path[k]]
        still = {self.session[k] for k in below if k in rising}
        stopped: Rates = {}
        for k in below:
            if self.session[k] not in still:
                stopped[self.session[k]] = max(stopped.get(self.session[k], Fraction(0)), rates[k])
        return (capacity - sum(stopped.values())) / len(still)


def ways(edges: Iterable[Edge], start: str, end: str) -> list[list[Edge]]:
    """All that visit no node twice."""
    onward: dict[str, list[str]] = {}
    for one, other in edges:
        onward.setdefault(one, []).append(other)
    found: list[list[Edge]] = []

    def walk(nodes: list[str]) -> None:
        if nodes[-1] == end:
            found.append(list(pairwise(nodes)))
            return
        for node in onward.get(nodes[-1], []):
            if node not in nodes:
                walk([*nodes, node])

    walk([start])
    return found
