"""Records what happens in a broker network as rows of a trace.

This is the one place where simulated machines and trace records meet. Times are global; the
machines see none of this. The recorder asks the recording once which tables it collects, and
makes no rows of any other.

For a bare client, each arrival is a delivery. For an endpoint, arrivals are recorded below the
transport (`on_arrived`), and its facts give the fate of each message in each ordering.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from penstock.content.filter import Predicate
from penstock.content.index import MatchingIndex
from penstock.content.message import Message
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.machine import Deliver, Record
from penstock.overlay.facts import RoutingDecision
from penstock.sim.host import Host, Outlets
from penstock.sim.observer import DropReason as SimDropReason
from penstock.sim.observer import Observer
from penstock.sim.samples.flows import queued_at
from penstock.sim.samples.sampler import Sampler
from penstock.sim.tcp import Passing, TcpConnection
from penstock.sim.world import World
from penstock.trace.control_kind import ControlKind
from penstock.trace.fates import DropReason, HopDecision, PublisherFate, ReceiverFate
from penstock.trace.records import (
    Arrival,
    Drop,
    Edge,
    Expected,
    Feedback,
    Hop,
    Loss,
    Publication,
    Repair,
    Request,
    Signal,
)
from penstock.trace.records import (
    Delivery as DeliveryRow,
)
from penstock.tracefile.retention import Recording
from penstock.transport.congestion.facts import AckSent, EchoSent, FeedbackSent
from penstock.transport.facts import Absence, Delivery, DroppedAtSource, Sent, Unseen
from penstock.transport.recovery.facts import ControlSent, RepairSent, RequestSent
from penstock.wire import size_of
from penstock.wire.codec.message import size_message
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.quantise import delta_ns

# Module constants, because an attribute lookup on an enum costs as much as making a record.
_SENT: Final = PublisherFate.SENT
_RATE_LIMITED: Final = PublisherFate.RATE_LIMITED
_DROPPED_AT_SOURCE: Final = PublisherFate.DROPPED_AT_SOURCE
_DELIVERED: Final = ReceiverFate.DELIVERED
_DROPPED_LATE: Final = ReceiverFate.DROPPED_LATE
_DECISIONS: Final = {decision.value: decision for decision in HopDecision}
_REASONS: Final = {reason.value: reason for reason in DropReason}
_CONTROL_KINDS: Final[Mapping[type[TransportFrame], ControlKind]] = {
    Digest: ControlKind.DIGEST,
    TrackRequest: ControlKind.TRACK_REQUEST,
    TrackReply: ControlKind.TRACK_REPLY,
    RangeRequest: ControlKind.RANGE_REQUEST,
    EchoRequest: ControlKind.ECHO_REQUEST,
    EchoReply: ControlKind.ECHO_REPLY,
    Ack: ControlKind.ACK,
}
# The ordering of a bare client: messages are delivered as they arrive.
UNORDERED: Final = "off"


class Network(Protocol):
    """A network that can be recorded: a network of brokers or a model of one."""

    @property
    def world(self) -> World[Any]:
        """The world that the network runs in."""

    @property
    def orderings(self) -> Mapping[str, Mapping[int, str]]:
        """For each endpoint, the ordering of each subscription by subscription id."""

    def brokers_between(self, one: str, other: str, /) -> int:
        """Number of brokers on the path from one client to another."""


@dataclass(slots=True)
class _Publisher:
    name: str
    # When each message left, by sequence number; and the broker count on the path to each receiver.
    published_ns: list[Instant] = field(default_factory=list)
    brokers: dict[str, int] = field(default_factory=dict)


class Recorder(Observer):
    """Records one run; pass `outlets` to the network, then `attach` the network."""

    drops_only = True

    def __init__(self, recording: Recording) -> None:
        self._add: Final = recording.add
        self._collects: Final = recording.collects
        self.outlets: Final = Outlets(deliver=self._on_deliver, record=self._on_record)
        self.records_decisions: Final = recording.collects(Hop)
        self._collects_expected: Final = recording.collects(Expected)
        self._collects_deliveries: Final = recording.collects(DeliveryRow)
        self._collects_losses: Final = recording.collects(Loss)
        self._publishers: Final[dict[int, _Publisher]] = {}
        self._endpoints: Final[dict[int, str]] = {}
        self._subscribers: Final[list[str]] = []
        self._interests: Final[MatchingIndex[int]] = MatchingIndex()
        self._sampler: Final = Sampler(recording, self._endpoints, self._publisher_name)
        self._network: Network | None = None

    @property
    def network(self) -> Network:
        """The network that is recorded."""
        assert self._network is not None, "watch a network first"
        return self._network

    def attach(self, network: Network, *, sample_every_ns: Duration | None = None) -> None:
        """Records drops from now on, and samples of links if an interval is given."""
        self._network = network
        if self._collects(Drop):
            network.world.observe(self)
        if sample_every_ns is not None:
            self._sampler.start(network.world, sample_every_ns)

    def on_built(self) -> None:
        """Records the links, once the network is complete."""
        if self._collects(Edge):
            for (start, end), link in self.network.world.links.items():
                self._add(Edge(start, end, link.rate_bps, link.delay_ns))

    def on_end(self) -> None:
        """Records the messages still queued at publishers when the run ends."""
        for host in self.network.world.hosts.values():
            for queued in queued_at(host):
                self._add_unsent(
                    host, queued.message, host.now - queued.submitted_ns, _RATE_LIMITED
                )

    def add_subscriber(self, name: str, predicate: Predicate) -> None:
        """Expects `name` to receive each later message that its predicate matches."""
        self._interests.add(len(self._subscribers), predicate)
        self._subscribers.append(name)

    def add_endpoint(self, name: str, endpoint_id: int) -> None:
        """Registers the name of an endpoint id, for requests and repairs."""
        self._endpoints[endpoint_id] = name

    def add_publisher(self, name: str, publisher: int) -> None:
        """Registers the name of a publisher id."""
        self._publishers[publisher] = _Publisher(name)

    def add_connection(self, connection: TcpConnection) -> None:
        """Samples this TCP connection whenever links are sampled."""
        self._sampler.add_connection(connection)

    def on_published(self, frame: Data, waited_ns: Duration = 0) -> None:
        """Records a message sent now; a publisher's sequence numbers start at 0."""
        now = self.network.world.events.now
        publisher = self._publishers[frame.pub]
        assert len(publisher.published_ns) == frame.seq, "publishers number from 0, without holes"
        publisher.published_ns.append(now)
        name, epoch, seq = publisher.name, frame.epoch, frame.seq
        size_bytes = size_of(frame)
        header_bytes = size_bytes - size_message(frame.message)
        fate = _RATE_LIMITED if waited_ns else _SENT
        self._add(
            Publication(
                name, epoch, seq, now - waited_ns, now, size_bytes, fate, "data", header_bytes
            )
        )
        if not self._collects_expected:
            return
        # Sorted by subscription, because the order of the index differs between machines.
        for index in sorted(self._interests.match(frame.message)):
            self._add(Expected(name, epoch, seq, self._subscribers[index], now))

    def on_arrived(self, subscriber: str, frame: Any) -> None:
        """Records a frame that the network delivers to `subscriber` now."""
        if type(frame) is Data:
            self._add(self._arrival(subscriber, frame))

    # Outputs of machines.

    def _arrival(self, subscriber: str, frame: Data) -> Arrival:
        publisher = self._publishers[frame.pub]
        brokers = publisher.brokers.get(subscriber)
        if brokers is None:
            brokers = self.network.brokers_between(publisher.name, subscriber)
            publisher.brokers[subscriber] = brokers
        now = self.network.world.events.now
        published_ns = publisher.published_ns[frame.seq]
        return Arrival(
            subscriber, publisher.name, frame.epoch, frame.seq, published_ns, now, brokers, False
        )

    def _on_deliver(self, host: Host[Any, Any], output: Deliver) -> None:
        item = output.item
        if type(item) is Delivery:
            if self._collects_deliveries:
                self._on_delivery(host.name, item)
        elif type(item) is Absence:
            if self._collects_losses:
                self._on_missing(host.name, item)
        elif type(item) is DroppedAtSource:
            self._on_dropped(host, item)
        elif type(item) is not Unseen:
            assert type(item) is Data, f"{host.name} delivered {item!r}"
            self._on_data(host.name, item)

    def _on_data(self, subscriber: str, frame: Data) -> None:
        """Records an arrival and a delivery: nothing reorders the messages of a bare client."""
        a = self._arrival(subscriber, frame)
        self._add(a)
        if not self._collects_deliveries:
            return
        now = a.arrived_ns
        delivery = DeliveryRow(
            UNORDERED, subscriber, a.publisher, a.epoch, a.seq,
            a.published_ns, now, now, None, _DELIVERED,
        )  # fmt: skip
        self._add(delivery)

    def _on_delivery(self, subscriber: str, receipt: Delivery) -> None:
        """Records a delivery; its times are local, so only their differences are used."""
        network = self._network
        assert network is not None
        now = network.world.events.now
        frame, fate = receipt.frame, receipt.fate
        publisher, seq = self._publishers[frame.pub], frame.seq
        delivery = DeliveryRow(
            network.orderings[subscriber][receipt.subscription],
            subscriber,
            publisher.name,
            frame.epoch,
            seq,
            publisher.published_ns[seq],
            now - receipt.resolved_ns + receipt.arrived_ns,
            None if fate is _DROPPED_LATE else now,
            receipt.latch_ns,
            fate,
        )
        self._add(delivery)

    def _on_missing(self, subscriber: str, absence: Absence) -> None:
        now = self.network.world.events.now
        ahead_ns = now - absence.ended_ns
        pub, epoch, seq = absence.id
        loss = Loss(
            self.network.orderings[subscriber][absence.subscription],
            subscriber,
            self._publishers[pub].name,
            epoch,
            seq,
            absence.detected_ns + ahead_ns,
            absence.found_by,
            None if absence.lost_ns is None else absence.lost_ns + ahead_ns,
            absence.state,
            now,
            absence.resolution,
        )
        self._add(loss)

    def _on_record(self, host: Host[Any, Any], output: Record) -> None:
        row = output.row
        if isinstance(row, RoutingDecision):
            self._on_decision(host, row)
        elif isinstance(row, RequestSent):
            self._on_request(host, row)
        elif isinstance(row, RepairSent):
            self._on_repair(host, row)
        elif isinstance(row, Sent):
            self.on_published(row.frame, row.waited_ns)
        elif isinstance(row, FeedbackSent):
            self._on_feedback(host, row)
        else:
            assert isinstance(row, ControlSent | EchoSent | AckSent), f"{host.name} records {row!r}"
            self._on_control_frame(host, row)

    def _on_request(self, host: Host[Any, Any], sent: RequestSent) -> None:
        now, request = self.network.world.events.now, sent.request
        publisher = self._publishers[request.pub].name
        self._add(
            Request(
                host.name, publisher, request.epoch, request.seq, now, request.round,
                size_of(request),
            )
        )  # fmt: skip

    def _on_repair(self, host: Host[Any, Any], sent: RepairSent) -> None:
        now, repair = self.network.world.events.now, sent.repair
        original = repair.original
        self._add(
            Repair(
                host.name,
                self._endpoints.get(repair.requester, str(repair.requester)),
                self._publishers[original.pub].name,
                original.epoch,
                original.seq,
                now - delta_ns(repair.hold_100us),
                now,
                repair.to is not None,
                size_of(repair),
            )
        )

    def _on_feedback(self, host: Host[Any, Any], report: FeedbackSent) -> None:
        now, publisher = self.network.world.events.now, self._publishers[report.frame.pub].name
        for flow in report.flows:
            row = Feedback(
                host.name,
                publisher,
                flow.flow,
                now,
                report.rtt_ns,
                report.loss_event_rate,
                report.received_mps,
                report.allowed_mps,
                flow.quota_mps,
                flow.is_limiting,
                size_of(report.frame),
            )
            self._add(row)

    def _on_control_frame(
        self, host: Host[Any, Any], sent: ControlSent | EchoSent | AckSent
    ) -> None:
        frame = sent.frame
        now, publisher = self.network.world.events.now, self._publishers[frame.pub].name
        kind = _CONTROL_KINDS[type(frame)]
        self._add(Signal(host.name, publisher, kind, now, size_of(frame)))

    def _on_dropped(self, host: Host[Any, Any], dropped: DroppedAtSource) -> None:
        self._add_unsent(host, dropped.message, dropped.waited_ns, _DROPPED_AT_SOURCE)

    def _add_unsent(
        self, host: Host[Any, Any], message: Message, waited_ns: Duration, fate: PublisherFate
    ) -> None:
        """Records an unsent message, which has no sequence number and no expected receivers."""
        offered_ns = self.network.world.events.now - waited_ns
        size_bytes = size_message(message)
        self._add(Publication(host.name, 0, None, offered_ns, None, size_bytes, fate, "data"))

    def _on_decision(self, host: Host[Any, Any], decision: RoutingDecision) -> None:
        frame = decision.frame
        if not isinstance(frame, Data):
            return
        self._add(
            Hop(
                self.network.world.events.now,
                host.name,
                self._publishers[frame.pub].name,
                frame.epoch,
                frame.seq,
                _DECISIONS[decision.action],
                decision.towards,
                None if decision.reason is None else _REASONS[decision.reason],
                *(decision.packet_id or (None, None, None)),
            )
        )

    # Drops in the network.

    def on_drop(self, place: str, frame: Any, reason: SimDropReason, *, now: Instant) -> None:
        """Records a drop, with the id of the message that the frame carried, if any."""
        traffic_class = "control"
        size_bytes = frame.size_bytes if type(frame) is Passing else size_of(frame)
        packet: tuple[int | None, int | None, int | None] = (None, None, None)
        message: tuple[str | None, int | None, int | None] = (None, None, None)
        if type(frame) in {Packet, Pub, Notify}:
            data = frame.carried.frame
            traffic_class = "data"
            if isinstance(data, Data) and data.pub in self._publishers:
                message = (self._publishers[data.pub].name, data.epoch, data.seq)
            if type(frame) is Packet:
                packet = frame.id
        elif type(frame) is Passing:
            traffic_class = "tcp"
        self._add(Drop(now, place, _REASONS[reason], traffic_class, size_bytes, *packet, *message))

    def _publisher_name(self, publisher_id: int) -> str | None:
        publisher = self._publishers.get(publisher_id)
        return None if publisher is None else publisher.name
