"""Routes the facts of machines to the parts that make rows of them.

A driver passes on whatever a machine delivers or records, with the name of its node and the time
of the trace. Publications and arrivals that no fact reports have calls of their own. The tracer
asks the sink once which tables it collects, and makes no rows of any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from penstock.content.message import Message
from penstock.kernel.instant import Duration, Instant
from penstock.overlay.facts import RoutingDecision
from penstock.trace.records import (
    Arrival,
    Expected,
    Feedback,
    Hop,
    Loss,
    Publication,
    Repair,
    Request,
    Row,
    Signal,
)
from penstock.trace.records import Delivery as DeliveryRow
from penstock.tracing.arrivals import Arrivals, BrokersBetween
from penstock.tracing.congestion import Congestion
from penstock.tracing.deliveries import Deliveries, Orderings
from penstock.tracing.expectations import Expectations
from penstock.tracing.hops import Hops
from penstock.tracing.losses import Losses
from penstock.tracing.names import Names
from penstock.tracing.publication_times import PublicationTimes
from penstock.tracing.publications import Publications
from penstock.tracing.recovery import Recovery
from penstock.tracing.row_sink import RowSink
from penstock.tracing.signals import Signals
from penstock.transport.congestion.facts import AckSent, EchoSent, FeedbackSent
from penstock.transport.facts import Absence, Delivery, DroppedAtSource, Sent, Unseen
from penstock.transport.recovery.facts import ControlSent, RepairSent, RequestSent
from penstock.wire.frames.data import Data

# Takes the name of a node, its fact, and the time.
_Handler: TypeAlias = Callable[[str, Any, Instant], None]


def _ignore(_node: str, _fact: object, _now: Instant) -> None:
    pass


class Tracer:
    """The trace of one run; `orderings` and `names` may grow while it runs."""

    def __init__(
        self,
        sink: RowSink,
        *,
        names: Names,
        times: PublicationTimes,
        orderings: Orderings,
        brokers_between: BrokersBetween,
    ) -> None:
        add = sink.add
        self._add: Final = add
        self._times: Final = times
        self._collects_publications: Final = sink.collects(Publication)
        self._collects_expected: Final = sink.collects(Expected)
        self._collects_arrivals: Final = sink.collects(Arrival)
        self._collects_deliveries: Final = sink.collects(DeliveryRow)
        self.expectations: Final = Expectations(add, names)
        self._publications: Final = Publications(add, names)
        self._arrivals: Final = Arrivals(names, times, brokers_between)
        self._deliveries: Final = Deliveries(add, names, times, orderings)
        recovery, signals = Recovery(add, names), Signals(add, names)
        handlers: Mapping[type, tuple[type[Row], _Handler]] = {
            Delivery: (DeliveryRow, self._deliveries.on_delivery),
            Absence: (Loss, Losses(add, names, orderings).on_absence),
            DroppedAtSource: (Publication, self._publications.on_dropped),
            RequestSent: (Request, recovery.on_request),
            RepairSent: (Repair, recovery.on_repair),
            FeedbackSent: (Feedback, Congestion(add, names).on_feedback),
            ControlSent: (Signal, signals.on_sent),
            EchoSent: (Signal, signals.on_sent),
            AckSent: (Signal, signals.on_sent),
            RoutingDecision: (Hop, Hops(add, names).on_decision),
        }
        self._handlers: Final[Mapping[type, _Handler]] = {
            **{
                fact: handler if sink.collects(row) else _ignore
                for fact, (row, handler) in handlers.items()
            },
            # Rows of several tables, and of none.
            Sent: self._on_sent,
            Data: self._on_data,
            Unseen: _ignore,
        }

    def on_fact(self, node: str, fact: object, *, now: Instant) -> None:
        """Adds the rows of a fact that the machine of `node` delivers or records now."""
        handler = self._handlers.get(type(fact))
        assert handler is not None, f"{node} reports {fact!r}"
        handler(node, fact, now)

    def on_published(self, frame: Data, *, now: Instant) -> None:
        """Adds a message sent now; only for messages of which no fact (`Sent`) tells."""
        self._add_published(frame, 0, now)

    def on_arrived(self, subscriber: str, frame: object, *, now: Instant) -> None:
        """Adds a message that comes to the transport of `subscriber` now; ignores other frames."""
        if type(frame) is Data and self._collects_arrivals:
            self._add(self._arrivals.row(subscriber, frame, now))

    def on_queued_at_end(
        self, publisher: str, message: Message, waited_ns: Duration, *, now: Instant
    ) -> None:
        """Adds a message that waits in the send queue when the run ends, now."""
        if self._collects_publications:
            self._publications.on_queued_at_end(publisher, message, waited_ns, now)

    def _on_sent(self, _publisher: str, sent: Sent, now: Instant) -> None:
        self._add_published(sent.frame, sent.waited_ns, now)

    def _add_published(self, frame: Data, waited_ns: Duration, now: Instant) -> None:
        self._times.on_published(frame, now)
        if self._collects_publications:
            self._publications.on_sent(frame, waited_ns, now)
        if self._collects_expected:
            self.expectations.on_published(frame, now)

    def _on_data(self, subscriber: str, frame: Data, now: Instant) -> None:
        """Adds arrival and delivery: without a transport, a message is delivered as it arrives."""
        arrival = self._arrivals.row(subscriber, frame, now)
        if self._collects_arrivals:
            self._add(arrival)
        if self._collects_deliveries:
            self._deliveries.on_unordered(arrival)
