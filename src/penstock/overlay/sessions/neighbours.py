"""Links to other brokers, and whether each works in both directions.

A link is up when each end reports that it hears the other. When to send HELLO, and how long a
silence may last, is decided by the broker.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.kernel.errors import UsageError
from penstock.kernel.machine import Port
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.lsa import Neighbour


class Link:
    """One link; `broker` is the neighbour heard on it, None while there is none."""

    __slots__ = ("broker", "cost", "epoch", "is_up")

    def __init__(self, cost: int) -> None:
        self.cost = cost
        self.broker: int | None = None
        self.epoch = 0
        self.is_up = False


class LinkChange(NamedTuple):
    """The effect of one HELLO on a link. A neighbour that restarted is both lost and gained."""

    lost: bool
    gained: bool


class Neighbours:
    """Links by port, in insertion order."""

    def __init__(self, links_max: int) -> None:
        self._links_max = links_max
        # Public because the broker looks up a port for every frame.
        self.links: dict[Port, Link] = {}

    def __contains__(self, port: Port) -> bool:
        return port in self.links

    def __len__(self) -> int:
        return len(self.links)

    def add(self, port: Port, cost: int) -> bool:
        """Adds a link or changes its cost; returns whether an existing link is up."""
        Neighbour(0, cost)  # checks the cost
        link = self.links.get(port)
        if link is not None:
            link.cost = cost
            return link.is_up
        if len(self.links) >= self._links_max:
            raise UsageError(f"a broker has at most {self._links_max} links: spread them over more")
        self.links[port] = Link(cost)
        return False

    def remove(self, port: Port) -> bool:
        """Removes a link; returns whether it was up."""
        link = self.links.pop(port, None)
        return link is not None and link.is_up

    def on_hello(self, port: Port, hello: Hello) -> LinkChange:
        """Updates the link on which a neighbour sent HELLO."""
        link = self.links[port]
        is_new = (link.broker, link.epoch) != (hello.broker, hello.epoch)
        was_up = link.is_up
        link.broker, link.epoch, link.is_up = hello.broker, hello.epoch, hello.heard
        return LinkChange(
            lost=was_up and (is_new or not hello.heard),
            gained=hello.heard and (is_new or not was_up),
        )

    def on_dead(self, port: Port) -> bool:
        """Marks a link as silent; returns whether it was up."""
        link = self.links[port]
        was_up = link.is_up
        link.broker, link.is_up = None, False
        return was_up

    def is_heard(self, port: Port) -> bool:
        """Whether a neighbour is heard on this port, even if the link is not up."""
        link = self.links.get(port)
        return link is not None and link.broker is not None

    def ports(self) -> list[Port]:
        """The ports of all links."""
        return list(self.links)

    def up_ports(self) -> list[Port]:
        """The ports of the links that are up."""
        return [port for port, link in self.links.items() if link.is_up]

    def best_ports(self) -> dict[int, Port]:
        """The port to each neighbour: the cheapest, of equally cheap ones the first by name."""
        best: dict[int, tuple[int, Port]] = {}
        for port, link in self.links.items():
            if link.is_up and link.broker is not None:
                candidate = (link.cost, port)
                best[link.broker] = min(candidate, best.get(link.broker, candidate))
        return {broker: port for broker, (_, port) in best.items()}

    def lsa_neighbours(self) -> tuple[Neighbour, ...]:
        """The neighbours as listed in an LSA."""
        return tuple(
            [
                Neighbour(broker, self.links[port].cost)
                for broker, port in sorted(self.best_ports().items())
            ]
        )
