"""Links to other brokers: which of them work, both ways.

A link is up when each end says that it hears the other. Whose turn it is to
say so, and when silence has lasted too long, is the broker's business.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.kernel.errors import UsageError
from penstock.kernel.machine import Port
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.lsa import Neighbour


class Link:
    """One link; `broker` is who was heard on it, None for nobody yet."""

    __slots__ = ("broker", "cost", "epoch", "is_up")

    def __init__(self, cost: int) -> None:
        self.cost = cost
        self.broker: int | None = None
        self.epoch = 0
        self.is_up = False


class LinkChange(NamedTuple):
    """What one HELLO did to a link. A neighbour that restarted is lost and gained at once."""

    lost: bool
    gained: bool


class Neighbours:
    """The links by port, in the order in which they were added."""

    def __init__(self, links_max: int) -> None:
        self._links_max = links_max
        # Open to the broker, which looks a port up for every frame.
        self.links: dict[Port, Link] = {}

    def __contains__(self, port: Port) -> bool:
        return port in self.links

    def __len__(self) -> int:
        return len(self.links)

    def add(self, port: Port, cost: int) -> bool:
        """Puts a link under watch, or gives it another cost; whether that one is up."""
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
        """Takes a link away; whether it was up."""
        link = self.links.pop(port, None)
        return link is not None and link.is_up

    def on_hello(self, port: Port, hello: Hello) -> LinkChange:
        """Takes a neighbour's word."""
        link = self.links[port]
        is_new = (link.broker, link.epoch) != (hello.broker, hello.epoch)
        was_up = link.is_up
        link.broker, link.epoch, link.is_up = hello.broker, hello.epoch, hello.heard
        return LinkChange(
            lost=was_up and (is_new or not hello.heard),
            gained=hello.heard and (is_new or not was_up),
        )

    def on_dead(self, port: Port) -> bool:
        """Nobody is heard there any more; whether the link was up."""
        link = self.links[port]
        was_up = link.is_up
        link.broker, link.is_up = None, False
        return was_up

    def is_heard(self, port: Port) -> bool:
        """Whether somebody is heard there, be it up or not."""
        link = self.links.get(port)
        return link is not None and link.broker is not None

    def ports(self) -> list[Port]:
        """Every link."""
        return list(self.links)

    def up_ports(self) -> list[Port]:
        """The links that work."""
        return [port for port, link in self.links.items() if link.is_up]

    def best_ports(self) -> dict[int, Port]:
        """The best port to each neighbour: of several the cheapest, then the first by name."""
        best: dict[int, tuple[int, Port]] = {}
        for port, link in self.links.items():
            if link.is_up and link.broker is not None:
                candidate = (link.cost, port)
                best[link.broker] = min(candidate, best.get(link.broker, candidate))
        return {broker: port for broker, (_, port) in best.items()}

    def lsa_neighbours(self) -> tuple[Neighbour, ...]:
        """The neighbours as an LSA names them."""
        return tuple(
            [
                Neighbour(broker, self.links[port].cost)
                for broker, port in sorted(self.best_ports().items())
            ]
        )
