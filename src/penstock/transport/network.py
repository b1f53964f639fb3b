"""What a transport sees of the network below it, whichever that is.

A best-effort publish/subscribe network: frames may be lost, repeated or
overtaken. It is a machine like all others; what arrives for the endpoint above
comes out of `poll` as `Deliver`, whose item is a transport frame.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from penstock.content.filter import Predicate
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Machine
from penstock.wire.frames.base import TrafficClass, TransportFrame

# What the network itself sends and receives; the transport never looks at it.
Carried = TypeVar("Carried")


class Network(Machine[Carried], Protocol[Carried]):
    """Publish, subscribe, and be told."""

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        """Sends a frame to whoever wants it: by its message, or in class REQUEST by its bits."""

    def subscribe(
        self,
        subscription: int,
        predicate: Predicate,
        *,
        traffic: TrafficClass = TrafficClass.DATA,
        now: Instant,
    ) -> None:
        """Asks for frames; a number that is in use gets the new predicate."""

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """Has enough of them."""
