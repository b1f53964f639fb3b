"""Adapts a network without a traffic class for requests, as in the papers [R7].

It sits between an endpoint and any network that routes messages by their attributes. A
request is sent as an ordinary message with an attribute for each bit of its Bloom set
(`wire.frames.control_routing`); an endpoint that repairs subscribes to requests that have
all bits of its filters. Brokers do not know about requests.
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

# With one attribute per bit, more sets would not fit in one datagram.
_SETS_MAX: Final = 2


class RequestsAsMessages(Generic[Carried]):
    """Implements `Network` over `network`; `subscription_ids` yields ids for the one below."""

    def __init__(
        self,
        network: Network[Carried],
        encoder: Encoder,
        subscription_ids: Iterator[int] | None = None,
    ) -> None:
        self._network: Final = network
        self._encoder: Final = encoder
        self._subscription_ids: Final = count(1) if subscription_ids is None else subscription_ids
        # Ids in the network below by subscription: one for requests may need several.
        self._network_ids: Final[dict[int, list[int]]] = {}

    # Transport interface

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        """Send a frame, routed by its message whatever its class."""
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
        """Subscribe to messages, or in class REQUEST to the bits of requests for them."""
        self.unsubscribe(subscription, now=now)
        parts = [predicate] if traffic is TrafficClass.DATA else self._request_filters(predicate)
        network_ids = self._network_ids[subscription] = [
            next(self._subscription_ids) for _ in parts
        ]
        for network_id, part in zip(network_ids, parts, strict=True):
            self._network.subscribe(network_id, part, now=now)

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """End all subscriptions of the network below that belong to this one."""
        for network_id in self._network_ids.pop(subscription, ()):
            self._network.unsubscribe(network_id, now=now)

    def _request_filters(self, predicate: Predicate) -> list[Predicate]:
        sets = _minimal_sets(map(self._encoder.filter_bits, predicate.filters))
        return [request_filter(sets[i : i + _SETS_MAX]) for i in range(0, len(sets), _SETS_MAX)]

    # Driver interface

    def receive(self, frame: Carried, *, via: Port, now: Instant) -> None:
        """Forward to the network below."""
        self._network.receive(frame, via=via, now=now)

    def wake(self, *, now: Instant) -> None:
        """Forward to the network below."""
        self._network.wake(now=now)

    def next_wakeup(self) -> Instant | None:
        """Forward to the network below."""
        return self._network.next_wakeup()

    def poll(self) -> Output[Carried] | None:
        """Forward to the network below."""
        return self._network.poll()


def _minimal_sets(sets: Iterable[int]) -> list[int]:
    """Drop the sets that contain another one: its subscription covers their requests."""
    minimal: list[int] = []
    for candidate in sorted(sets, key=int.bit_count):
        if not any(subset(other, candidate) for other in minimal):
            minimal.append(candidate)
    return minimal
