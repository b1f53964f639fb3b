"""The interface of the network below the transport; it does not prescribe an implementation.

It is a best-effort publish/subscribe network: frames may be lost, duplicated or reordered.
It is a machine like all others; frames for the endpoint above come out of `poll` as
`Deliver`, whose item is a transport frame.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from penstock.content.filter import Predicate
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Machine
from penstock.wire.frames.base import TrafficClass, TransportFrame

# The frames that the network itself sends and receives; the transport never reads them.
Carried = TypeVar("Carried")


class Network(Machine[Carried], Protocol[Carried]):
    """A best-effort publish/subscribe network."""

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        """Send a frame to its subscribers, matched by message, or in class REQUEST by its bits."""

    def subscribe(
        self,
        subscription: int,
        predicate: Predicate,
        *,
        traffic: TrafficClass = TrafficClass.DATA,
        now: Instant,
    ) -> None:
        """Subscribe to frames; an id already in use gets the new predicate."""

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """End a subscription."""
