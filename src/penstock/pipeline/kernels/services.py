"""A run as effairness sees it: who was served by whom, over which links, in how much time.

A publisher serves a subscriber from the first message it expected until the last one
that it expected or got. Subscribers who expected just the same of a publisher are one
session: what they share crosses a link once. What a session could send at most is
what was sent for it, and all that its publisher was offered and did not send: what is
held back is what somebody behind a bottleneck wanted. Messages of a publisher count
alike, by the mean size of those that left.

A link whose rate changed counts with its mean, where it was sampled.

Where data go both ways over links that share traffic, clocks cannot be brought
together [001 §3], and the run is not judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf
from typing import Final, NamedTuple

from penstock.fairness.effairness import Outcome, effairness
from penstock.fairness.network import Link, Network, Receiver, Sender, Session
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.pipeline.kernels.findings import Findings


class Edge(NamedTuple):
    """One direction of a link."""

    start: str
    end: str
    capacity_bps: float | None
    delay_ns: Duration

    @property
    def link(self) -> str:
        """Its name in samples."""
        return f"{self.start}-{self.end}"

    def with_rate(self, capacity_bps: float | None) -> Edge:
        """With the mean over the experiment, where that is known."""
        return self if capacity_bps is None else self._replace(capacity_bps=capacity_bps)


class Offer(NamedTuple):
    """What a publisher was given, what of it left, and how large that was."""

    messages: int
    sent: int
    size_bytes: int

    @property
    def bits(self) -> float:
        """Of a message, on average."""
        return 8 * self.size_bytes / self.sent


class Service(NamedTuple):
    """What a subscriber expected and got of a publisher; `content` is alike where that is."""

    publisher: str
    subscriber: str
    content: int
    expected: int
    first_ns: Instant
    last_ns: Instant
    received: int
    received_last_ns: Instant | None

    @property
    def served_s(self) -> float:
        """How long it took."""
        received_ns = self.last_ns if self.received_last_ns is None else self.received_last_ns
        return (max(self.last_ns, received_ns) - self.first_ns) / SECOND

    def wanted_mps(self, held_back: int) -> float:
        """How fast it could have come, at most."""
        return (self.expected + held_back) * SECOND / (self.last_ns - self.first_ns)


# Of pairs, of publishers, and of the whole run.
NAME: Final = "effairness"
# Tables without which nothing can be judged.
NEEDED: Final = ("publications", "expected", "arrivals", "edges")


def judge(
    edges: Iterable[Edge],
    offers: Mapping[str, Offer],
    services: Iterable[Service],
    findings: Findings,
) -> None:
    """Tells how near to the ideal pairs, publishers and the run came; nothing of no service."""
    # Within no time there is no rate.
    sending = {publisher for publisher, offer in offers.items() if offer.sent}
    judged = sorted(s for s in services if s.last_ns > s.first_ns and s.publisher in sending)
    if not judged:
        return
    try:
        outcome = effairness(_network(edges, offers, judged))
    except UsageError:
        findings.figure(f"{NAME}_judged", 0)
        return
    findings.figure(f"{NAME}_judged", 1)
    _tell(outcome, findings)


def _network(
    edges: Iterable[Edge], offers: Mapping[str, Offer], services: Iterable[Service]
) -> Network:
    links = tuple(
        Link(
            start=edge.start,
            end=edge.end,
            capacity=inf if edge.capacity_bps is None else edge.capacity_bps,
            delay=edge.delay_ns / SECOND,
        )
        for edge in sorted({*edges}, key=lambda edge: (edge.start, edge.end))
    )
    alike: dict[tuple[str, int, int], list[Service]] = defaultdict(list)
    for service in services:
        alike[service.publisher, service.content, service.expected].append(service)
    sessions = (_session(number, own, offers) for number, own in enumerate(alike.values()))
    return Network(links, tuple(sessions))


def _session(number: int, services: list[Service], offers: Mapping[str, Offer]) -> Session:
    publisher = services[0].publisher
    offer = offers[publisher]
    held_back = offer.messages - offer.sent
    demand_bps = max(service.wanted_mps(held_back) for service in services) * offer.bits
    receivers = tuple(
        Receiver(
            id=f"{number} {service.subscriber}",
            host=service.subscriber,
            join=service.first_ns / SECOND,
            leave=service.first_ns / SECOND + service.served_s,
            data=service.received * offer.bits,
        )
        for service in services
    )
    return Session(
        id=f"{number} {publisher}",
        sender=Sender(host=publisher, capacity=demand_bps),
        receivers=receivers,
    )


def _tell(outcome: Outcome, findings: Findings) -> None:
    findings.figure(NAME, outcome.overall)
    by_publisher: dict[str, list[float]] = defaultdict(list)
    for session in outcome.network.sessions:
        by_publisher[session.sender.host].append(outcome.by_session[session.id])
    for publisher, indices in sorted(by_publisher.items()):
        findings.figure(f"{NAME}.{publisher}", sum(indices) / len(indices))
    pairs = [
        (receiver.host, session.sender.host)
        for session in outcome.network.sessions
        for receiver in session.receivers
    ]
    subscribers, publishers = zip(*pairs, strict=True)
    findings.pairs(NAME, subscribers, publishers, outcome.by_receiver)
