"""A run as effairness sees it: who served whom, over which links, in how much time.

A publisher serves a subscriber from the first message that the subscriber expected until the
last one that it expected or received. Subscribers that expected exactly the same messages of a
publisher form one session: what they share crosses a link once. A session could send at most
what was sent for it and all that its publisher was offered and did not send, since messages
held back are messages that somebody behind a bottleneck wanted. All messages of a publisher
count alike, with the mean size of those it sent.

A link whose rate changed has its mean rate, where it was sampled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from penstock.fairness.network import Link, Network, Receiver, Sender, Session
from penstock.kernel.instant import SECOND, Duration, Instant


class Edge(NamedTuple):
    """One direction of a link."""

    start: str
    end: str
    # None without a limit.
    capacity_bps: float | None
    delay_ns: Duration

    @property
    def link(self) -> str:
        """Its name in samples of links."""
        return f"{self.start}-{self.end}"

    def with_rate(self, capacity_bps: float | None) -> Edge:
        """The same edge with its mean rate, where that is known."""
        return self if capacity_bps is None else self._replace(capacity_bps=capacity_bps)


class Offer(NamedTuple):
    """How many messages a publisher was offered, how many it sent, and their bytes."""

    messages: int
    sent: int
    sent_bytes: int

    @property
    def message_bits(self) -> float:
        """The mean size of a message that was sent."""
        return 8 * self.sent_bytes / self.sent

    @property
    def held_back(self) -> int:
        """How many messages were not sent."""
        return self.messages - self.sent


class Service(NamedTuple):
    """What a subscriber expected of a publisher and received from it."""

    publisher: str
    subscriber: str
    # The same for services that expected the same messages.
    content: int
    expected: int
    first_ns: Instant
    last_ns: Instant
    received: int
    # None if nothing was received.
    received_last_ns: Instant | None

    @property
    def served_s(self) -> float:
        """How long the service took."""
        received_ns = self.last_ns if self.received_last_ns is None else self.received_last_ns
        return (max(self.last_ns, received_ns) - self.first_ns) / SECOND

    def wanted_mps(self, held_back: int) -> float:
        """The rate at which messages could have come at most."""
        return (self.expected + held_back) * SECOND / (self.last_ns - self.first_ns)


def with_rates(services: Iterable[Service], offers: Mapping[str, Offer]) -> list[Service]:
    """Services that have a rate: their publisher sent anything, and they took any time."""
    senders = {publisher for publisher, offer in offers.items() if offer.sent}
    return sorted(s for s in services if s.last_ns > s.first_ns and s.publisher in senders)


def network_of(
    edges: Iterable[Edge], offers: Mapping[str, Offer], services: Sequence[Service]
) -> Network:
    """The network with one session for each set of messages that anybody expected.

    Raises `UsageError` if there is no such network.
    """
    distinct = sorted(dict.fromkeys(edges), key=lambda edge: (edge.start, edge.end))
    links = tuple(
        Link(
            start=edge.start,
            end=edge.end,
            capacity=inf if edge.capacity_bps is None else edge.capacity_bps,
            delay=edge.delay_ns / SECOND,
        )
        for edge in distinct
    )
    alike: dict[tuple[str, int, int], list[Service]] = defaultdict(list)
    for service in services:
        alike[service.publisher, service.content, service.expected].append(service)
    sessions = (
        _session(number, own, offers[own[0].publisher]) for number, own in enumerate(alike.values())
    )
    return Network(links, tuple(sessions))


def _session(number: int, services: list[Service], offer: Offer) -> Session:
    publisher, message_bits = services[0].publisher, offer.message_bits
    demand_mps = max(service.wanted_mps(offer.held_back) for service in services)
    receivers = tuple(
        Receiver(
            id=f"{number} {service.subscriber}",
            host=service.subscriber,
            join=service.first_ns / SECOND,
            leave=service.first_ns / SECOND + service.served_s,
            data=service.received * message_bits,
        )
        for service in services
    )
    return Session(
        id=f"{number} {publisher}",
        sender=Sender(host=publisher, capacity=demand_mps * message_bits),
        receivers=receivers,
    )
