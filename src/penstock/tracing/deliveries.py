"""Rows about the fate of messages that arrived, one for each ordering of a receiver.

Knows no missing messages; see `losses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from penstock.kernel.instant import Instant
from penstock.trace.fates import ReceiverFate
from penstock.trace.records import Arrival
from penstock.trace.records import Delivery as DeliveryRow
from penstock.tracing.names import Names
from penstock.tracing.publication_times import PublicationTimes
from penstock.tracing.row_sink import AddRow
from penstock.transport.facts import Delivery

# For each node, the name of the ordering of each subscription, by subscription id.
Orderings: TypeAlias = Mapping[str, Mapping[int, str]]

# The ordering of a node without a transport: messages are delivered as they arrive.
UNORDERED: Final = "off"

# Module constants, because an attribute lookup on an enum costs as much as making a row.
_DELIVERED: Final = ReceiverFate.DELIVERED
_DROPPED_LATE: Final = ReceiverFate.DROPPED_LATE


class Deliveries:
    """Adds a `Delivery` row for each message and each ordering that resolved it."""

    __slots__ = ("_add", "_names", "_orderings", "_published_ns")

    def __init__(
        self, add: AddRow, names: Names, times: PublicationTimes, orderings: Orderings
    ) -> None:
        self._add: Final = add
        self._names: Final = names
        self._published_ns: Final = times.published_ns
        self._orderings: Final = orderings

    def on_delivery(self, subscriber: str, delivery: Delivery, now: Instant) -> None:
        """Adds a delivery of the transport."""
        frame, fate = delivery.frame, delivery.fate
        row = DeliveryRow(
            self._orderings[subscriber][delivery.subscription],
            subscriber,
            self._names[frame.pub],
            frame.epoch,
            frame.seq,
            self._published_ns(frame, now),
            now - delivery.resolved_ns + delivery.arrived_ns,
            None if fate is _DROPPED_LATE else now,
            delivery.latch_ns,
            fate,
        )
        self._add(row)

    def on_unordered(self, a: Arrival) -> None:
        """Adds the delivery of a message on arrival, since nothing orders it."""
        now = a.arrived_ns
        row = DeliveryRow(
            UNORDERED, a.subscriber, a.publisher, a.epoch, a.seq,
            a.published_ns, now, now, None, _DELIVERED,
        )  # fmt: skip
        self._add(row)
