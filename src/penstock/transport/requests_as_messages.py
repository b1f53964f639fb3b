"""A network without a class for requests, as one that has it: the papers' own way [R7].

Stands between an endpoint and any network that routes messages by their attributes.
A request leaves as an ordinary message with an attribute for each bit of its Bloom set
(`wire.frames.addresses`); whoever offers to answer subscribes to those that have all
bits of its filters. Brokers need to know nothing of either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final, Generic

from penstock.content.bloom import subset
from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Output, Port
from penstock.transport.network import Carried, Network
from penstock.wire.frames.base import TrafficClass, TransportFrame
from penstock.wire.frames.control_routing import request_filter

# Written with an attribute for each bit, more would not fit one datagram.
_SETS_MAX: Final = 2


class RequestsAsMessages(Generic[Carried]):
    """Implements `Network` over `network`, of whose subscriptions `numbers` names new ones."""

    def __init__(
        self,
        network: Network[Carried],
        encoder: Encoder,
        subscription_ids: Iterator[int] | None = None,
    ) -> None:
        self._network: Final = network
        self._encoder: Final = encoder
        self._subscription_ids: Final = count(1) if subscription_ids is None else subscription_ids
        # By the number of one here, those of the network below: one offer may take several.
        self._network_ids: Final[dict[int, list[int]]] = {}

    # What the transport does.

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        """Sends it by its message, of whatever class it is."""
        del traffic
        self._network.publish(frame, now=now)

    def subscribe(
        self,
        subscription: int,
        predicate: Predicate,
        *,
        traffic: TrafficClass = TrafficClass.DATA,
        now: Instant,
    ) -> None:
        """Asks for messages, or for the bits of requests for them."""
        self.unsubscribe(subscription, now=now)
        parts = [predicate] if traffic is TrafficClass.DATA else self._request_filters(predicate)
        network_ids = self._network_ids[subscription] = [
            next(self._subscription_ids) for _ in parts
        ]
        for network_id, part in zip(network_ids, parts, strict=True):
            self._network.subscribe(network_id, part, now=now)

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """Takes all of it back."""
        for network_id in self._network_ids.pop(subscription, ()):
            self._network.unsubscribe(network_id, now=now)

    def _request_filters(self, predicate: Predicate) -> list[Predicate]:
        sets = _minimal_sets(map(self._encoder.filter_bits, predicate.filters))
        return [request_filter(sets[i : i + _SETS_MAX]) for i in range(0, len(sets), _SETS_MAX)]

    # What the driver does.

    def receive(self, frame: Carried, *, via: Port, now: Instant) -> None:
        """As the network below."""
        self._network.receive(frame, via=via, now=now)

    def wake(self, *, now: Instant) -> None:
        """As the network below."""
        self._network.wake(now=now)

    def next_wakeup(self) -> Instant | None:
        """As the network below."""
        return self._network.next_wakeup()

    def poll(self) -> Output[Carried] | None:
        """As the network below."""
        return self._network.poll()


def _minimal_sets(sets: Iterable[int]) -> list[int]:
    """Without those that others lie within: who hears the others' requests hears theirs."""
    minimal: list[int] = []
    for candidate in sorted(sets, key=int.bit_count):
        if not any(subset(other, candidate) for other in minimal):
            minimal.append(candidate)
    return minimal
