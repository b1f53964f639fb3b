"""The records of a trace, one class per table: their only definition.

A field has a type and a description; its unit is the end of its name; a field that may be None
is a nullable column; a default is the value that a reader uses when an older file lacks the
column. `schema` derives everything else from here. The run of a record is not a field: the
location of the file gives it.

Times are nanoseconds of one clock per run (the simulator's own, not that of a simulated host).
Records are made in the order of events.
"""

from typing import Annotated, ClassVar, TypeAlias

import msgspec

from penstock.kernel.instant import Duration, Instant
from penstock.trace.alert_kind import AlertKind
from penstock.trace.cast_words import CastKind, CastPart, Direction, Yardstick
from penstock.trace.fates import (
    DropReason,
    HopDecision,
    MissingOutcome,
    MissingState,
    PublisherFate,
    ReceiverFate,
)
from penstock.trace.host_role import HostRole

Publisher: TypeAlias = Annotated[str, "name of the publisher"]
Subscriber: TypeAlias = Annotated[str, "name of the subscriber"]
Epoch: TypeAlias = Annotated[int, "how often the publisher had restarted"]
Seq: TypeAlias = Annotated[int, "number given by the publisher, within its epoch"]
SizeBytes: TypeAlias = Annotated[int, "size on the wire"]
Published: TypeAlias = Annotated[Instant, "when the message left its publisher"]
Ordering: TypeAlias = Annotated[str, "name of the ordering variant, of several on one arrival"]
Sampled: TypeAlias = Annotated[Instant, "when the sample was taken"]


class Row(msgspec.Struct, frozen=True, gc=False):
    """A record: its table, the column that orders its rows, and the column that groups them."""

    TABLE: ClassVar[str]
    TIME: ClassVar[str | None] = None
    WITHIN: ClassVar[str | None] = None


class Run(Row, frozen=True, gc=False, kw_only=True):
    """One run of one variant; written last, and not part of the trace hash."""

    TABLE: ClassVar[str] = "runs"

    experiment: Annotated[str, "id of the experiment"]
    profile: Annotated[str, "its profile: quick, paper"]
    variant: Annotated[str, "what is compared: off, literal, default"]
    seed: Annotated[int, "root of the seed tree"]
    parameters: Annotated[str, "all parameters as a JSON object"]
    duration_ns: Annotated[Duration, "length of the experiment, without warm-up and drain"]
    code_version: Annotated[str, "version of the program"]
    schema_version: Annotated[str, "version of these tables; filled in by the writer"] = ""
    trace_hash: Annotated[str, "hash of all other rows; filled in by the writer"] = ""


class Host(Row, frozen=True, gc=False):
    """A host of the network; written last, and not part of the trace hash."""

    TABLE: ClassVar[str] = "hosts"

    host: Annotated[str, "name of the host"]
    group: Annotated[str, "group of clients in the experiment file; empty for a broker"]
    role: Annotated[HostRole, "what it does"]
    broker: Annotated[str | None, "the broker that it is connected to, if there are brokers"] = None


class Publication(Row, frozen=True, gc=False):
    """A message that an application gave to its publisher, sent or not."""

    TABLE: ClassVar[str] = "publications"
    TIME: ClassVar[str | None] = "published_ns"

    publisher: Publisher
    epoch: Epoch
    seq: Annotated[int | None, "number within the epoch; null when it never left"]
    offered_ns: Annotated[Instant, "when the application gave it"]
    published_ns: Annotated[Instant | None, "when it left; null when it never did"]
    size_bytes: SizeBytes
    fate: Annotated[PublisherFate, "what became of it"]
    traffic_class: Annotated[str, "class of the message: data, request, …"]
    header_bytes: Annotated[int, "of the size, what is not the message itself; 0 if unknown"] = 0


class Expected(Row, frozen=True, gc=False):
    """Ground truth: this subscriber's exact predicate matches this message."""

    TABLE: ClassVar[str] = "expected"
    TIME: ClassVar[str | None] = "published_ns"

    publisher: Publisher
    epoch: Epoch
    seq: Seq
    subscriber: Subscriber
    published_ns: Published


class Arrival(Row, frozen=True, gc=False):
    """A message came to an endpoint, before any ordering."""

    TABLE: ClassVar[str] = "arrivals"
    TIME: ClassVar[str | None] = "arrived_ns"

    subscriber: Subscriber
    publisher: Publisher
    epoch: Epoch
    seq: Seq
    published_ns: Published
    arrived_ns: Annotated[Instant, "when it came"]
    brokers: Annotated[int, "how many brokers it crossed"]
    is_repair: Annotated[bool, "whether it is a repair, not the original"]


class Delivery(Row, frozen=True, gc=False):
    """The fate of a message at a receiver. Violations are counted in row order."""

    TABLE: ClassVar[str] = "deliveries"
    TIME: ClassVar[str | None] = "delivered_ns"
    WITHIN: ClassVar[str | None] = "ordering"

    ordering: Ordering
    subscriber: Subscriber
    publisher: Publisher
    epoch: Epoch
    seq: Seq
    published_ns: Published
    arrived_ns: Annotated[Instant | None, "when it came to the endpoint; null when it never did"]
    delivered_ns: Annotated[Instant | None, "when the application got it; null when it did not"]
    latch_ns: Annotated[Duration | None, "the latch it waited under; null when it did not wait"]
    fate: Annotated[ReceiverFate, "what became of it"]


class Loss(Row, frozen=True, gc=False):
    """The whole life of a missing number, written when it ends or the run does."""

    TABLE: ClassVar[str] = "losses"
    TIME: ClassVar[str | None] = "resolved_ns"
    WITHIN: ClassVar[str | None] = "ordering"

    ordering: Ordering
    subscriber: Subscriber
    publisher: Publisher
    epoch: Epoch
    seq: Seq
    detected_ns: Annotated[Instant, "when it was first known to be missing"]
    found_by: Annotated[str, "what told: gap, record, digest, flow_seq"]
    lost_ns: Annotated[Instant | None, "when it was declared lost; null when it never was"]
    state: Annotated[MissingState, "the last state before its end"]
    resolved_ns: Annotated[Instant | None, "when it ended; null when the run ended first"]
    resolution: Annotated[MissingOutcome, "the fate it ended in"]


class Request(Row, frozen=True, gc=False):
    """A receiver asked for a lost message."""

    TABLE: ClassVar[str] = "requests"
    TIME: ClassVar[str | None] = "sent_ns"

    requester: Annotated[str, "name of who asked"]
    publisher: Publisher
    epoch: Epoch
    seq: Seq
    sent_ns: Annotated[Instant, "when the request left"]
    round: Annotated[int, "how often this requester had asked for it before"]
    size_bytes: SizeBytes


class Repair(Row, frozen=True, gc=False):
    """Someone answered a request."""

    TABLE: ClassVar[str] = "repairs"
    TIME: ClassVar[str | None] = "sent_ns"

    repairer: Annotated[str, "name of who answered"]
    requester: Annotated[str, "name of who asked first"]
    publisher: Publisher
    epoch: Epoch
    seq: Seq
    requested_ns: Annotated[Instant, "when the request came to the repairer"]
    sent_ns: Annotated[Instant, "when the repair left"]
    is_unicast: Annotated[bool, "whether it went to the requester alone"]
    size_bytes: SizeBytes


class Signal(Row, frozen=True, gc=False):
    """What else endpoints say to one another so that losses are found and repaired."""

    TABLE: ClassVar[str] = "signals"
    TIME: ClassVar[str | None] = "sent_ns"

    sender: Annotated[str, "name of who says it"]
    publisher: Annotated[str, "name of whose messages it is about"]
    kind: Annotated[str, "what is said: digest, track, tracked, recall, echoes, ack"]
    sent_ns: Annotated[Instant, "when it left"]
    size_bytes: SizeBytes


class Feedback(Row, frozen=True, gc=False):
    """A receiver told a publisher what it can take of one flow."""

    TABLE: ClassVar[str] = "feedback"
    TIME: ClassVar[str | None] = "sent_ns"

    subscriber: Subscriber
    publisher: Publisher
    flow: Annotated[str, "name of the flow"]
    sent_ns: Annotated[Instant, "when it left"]
    rtt_ns: Annotated[Duration, "round-trip time as the receiver knows it"]
    loss_event_rate: Annotated[float, "loss events per message, 0 before the first"]
    received_mps: Annotated[float, "rate of reception"]
    allowed_mps: Annotated[float, "rate the receiver allows"]
    quota_mps: Annotated[float, "the flow's share of it"]
    is_limiting: Annotated[bool, "whether this receiver limits the flow"]
    size_bytes: SizeBytes


class FlowSample(Row, frozen=True, gc=False):
    """One entry of a publisher's flow table."""

    TABLE: ClassVar[str] = "flows"
    TIME: ClassVar[str | None] = "sampled_ns"

    sampled_ns: Sampled
    publisher: Publisher
    flow: Annotated[str, "name of the flow"]
    limited_by: Annotated[str | None, "the receiver that limits it; null for an orphan"]
    quota_mps: Annotated[float, "rate allowed"]
    sent_mps: Annotated[float, "rate sent since the sample before"]
    queued_messages: Annotated[int, "messages that wait for its tokens"]


class CacheSample(Row, frozen=True, gc=False):
    """One repair cache; counts are since the sample before."""

    TABLE: ClassVar[str] = "caches"
    TIME: ClassVar[str | None] = "sampled_ns"

    sampled_ns: Sampled
    node: Annotated[str, "whose cache"]
    publisher: Publisher
    held_messages: Annotated[int, "messages in it"]
    limit_messages: Annotated[int, "messages it may hold now"]
    held_bytes: Annotated[int, "bytes in it"]
    hits: Annotated[int, "requests it could answer"]
    misses: Annotated[int, "requests it could not"]


class Edge(Row, frozen=True, gc=False):
    """One direction of a link of the network, as it was when the run began."""

    TABLE: ClassVar[str] = "edges"

    start: Annotated[str, "the host that sends"]
    end: Annotated[str, "the host that receives"]
    capacity_bps: Annotated[int | None, "rate of the link; null when unlimited"]
    delay_ns: Annotated[Duration, "how long a bit takes, on average, when nothing waits"]


class LinkSample(Row, frozen=True, gc=False):
    """One direction of one link; counts are since the sample before."""

    TABLE: ClassVar[str] = "links"
    TIME: ClassVar[str | None] = "sampled_ns"

    sampled_ns: Sampled
    link: Annotated[str, "name of the link, with its direction"]
    period_ns: Annotated[Duration, "time since the sample before"]
    capacity_bps: Annotated[
        int | None, "rate of the link when the period began; null when unlimited"
    ]
    sent_bytes: Annotated[int, "bytes put on the link"]
    sent_packets: Annotated[int, "packets put on the link"]
    queue_full_packets: Annotated[int, "dropped: no room in the queue"]
    loss_packets: Annotated[int, "dropped: lost on the way"]
    down_packets: Annotated[int, "dropped: the link was down"]
    corrupt_packets: Annotated[int, "dropped: arrived and could not be read"]


class TcpSample(Row, frozen=True, gc=False):
    """One TCP connection beside the messages; counts are since the sample before."""

    TABLE: ClassVar[str] = "tcp"
    TIME: ClassVar[str | None] = "sampled_ns"

    sampled_ns: Sampled
    connection: Annotated[str, "name of the connection"]
    link: Annotated[str, "name of the link that its segments cross, with its direction"]
    arrived_bytes: Annotated[int, "bytes of segments that came out of the link, headers included"]
    new_bytes: Annotated[int, "of these, segments that had not come before"]
    resent_packets: Annotated[int, "segments sent again"]
    timeouts: Annotated[int, "how often the retransmission timer expired"]
    window_packets: Annotated[float, "segments that may be in flight now"]
    rtt_ns: Annotated[Duration | None, "smoothed round-trip time; null before the first"]


class QueueSample(Row, frozen=True, gc=False):
    """One queue."""

    TABLE: ClassVar[str] = "queues"
    TIME: ClassVar[str | None] = "sampled_ns"

    sampled_ns: Sampled
    queue: Annotated[str, "name of the queue"]
    held_packets: Annotated[int, "packets in it"]
    held_bytes: Annotated[int, "bytes in it"]
    peak_bytes: Annotated[int | None, "most bytes since the sample before; null if not watched"]


class StreamSample(Row, frozen=True, gc=False):
    """One pubend at one broker; counts are since the sample before."""

    TABLE: ClassVar[str] = "streams"
    TIME: ClassVar[str | None] = "sampled_ns"

    sampled_ns: Sampled
    broker: Annotated[str, "name of the broker"]
    pubend: Annotated[str, "name of the pubend"]
    period_ns: Annotated[Duration, "time since the sample before"]
    published_messages: Annotated[int, "messages confirmed to their publishers here"]
    wanted_messages: Annotated[int, "messages confirmed anywhere that are wanted here"]
    delivered_messages: Annotated[int, "messages that applications got here"]
    behind_ns: Annotated[
        Duration | None, "how far the doubt horizon is behind the clock; null where nobody reads"
    ]
    nack_window_ns: Annotated[
        Duration | None, "how far ahead of it repairs are asked for; null where nobody reads"
    ]
    is_recovering: Annotated[bool, "whether the host recovers what it missed"]
    rate_limit_mps: Annotated[float | None, "rate allowed to publishers; null for any"] = None
    demanded_messages: Annotated[
        int | None, "messages that publishers here would have published; null where nobody does"
    ] = None
    doubt_rate: Annotated[
        float | None,
        "smoothed seconds of the stream that the doubt horizon passes in a second; null where"
        " nobody reads",
    ] = None


class CrossingSample(Row, frozen=True, gc=False):
    """Messages of one pubend that came out of a link; counts are since the sample before."""

    TABLE: ClassVar[str] = "crossings"
    TIME: ClassVar[str | None] = "sampled_ns"

    sampled_ns: Sampled
    link: Annotated[str, "name of the link, with its direction"]
    pubend: Annotated[str, "name of the pubend"]
    first_messages: Annotated[int, "messages that had not come out of it before"]
    repair_messages: Annotated[
        int, "of the others, first repairs of what the cache behind it lacked when it was asked"
    ]
    repeat_messages: Annotated[int, "all others"]
    necessary_bytes: Annotated[int, "bytes of the first ones and of the repairs"] = 0


class StreamAlert(Row, frozen=True, gc=False):
    """The slowest hosts of one kind, as the broker that has the pubend is told of them."""

    TABLE: ClassVar[str] = "alerts"
    TIME: ClassVar[str | None] = "arrived_ns"

    arrived_ns: Annotated[Instant, "when it came"]
    broker: Annotated[str, "name of the broker that has the pubend"]
    pubend: Annotated[str, "name of the pubend"]
    seq: Annotated[int, "number of the query that it answers"]
    kind: Annotated[AlertKind, "whether these hosts keep up or recover what they missed"]
    doubt_rate: Annotated[
        float, "seconds of the stream that the doubt horizon of the slowest passes in a second"
    ]


class CastTransfer(Row, frozen=True, gc=False):
    """One receiver of a cast; written when the run is over."""

    TABLE: ClassVar[str] = "cast_transfers"

    subscriber: Subscriber
    publisher: Publisher
    asked_ns: Annotated[Instant, "when it asked to take part"]
    began_ns: Annotated[Instant, "when the first packet of data left the publisher"]
    ended_ns: Annotated[Instant, "when the last packet of the first distribution left"]
    sent_packets: Annotated[int, "packets of the first distribution"]
    missed_packets: Annotated[int, "of these, those that did not come to it"]
    bound_ns: Annotated[
        Duration,
        "shortest time from `began_ns` until it can have everything, given what it missed",
    ]
    completed_ns: Annotated[Instant | None, "when it had everything; null when it never did"]


class CastCrossing(Row, frozen=True, gc=False):
    """What crossed one direction of a link in a cast; written when the run is over."""

    TABLE: ClassVar[str] = "cast_crossings"

    link: Annotated[str, "name of the link, with its direction"]
    kind: Annotated[CastKind, "what crossed it"]
    generation: Annotated[int, "of the transfer: 0 is the first distribution"]
    is_planned: Annotated[bool, "whether the tree of the transfer has the link, either way"]
    crossed_packets: Annotated[int, "packets, each as often as it crossed the link"]
    crossed_bytes: Annotated[int, "their bytes"]


class CastNodeTotal(Row, frozen=True, gc=False):
    """One node of a cast; written when the run is over."""

    TABLE: ClassVar[str] = "cast_nodes"

    node: Annotated[str, "name of the node"]
    part: Annotated[CastPart, "what it does"]
    filters: Annotated[int, "filters that it sends with; 0 for a node that only passes packets on"]
    repair_packets: Annotated[int, "repair packets that it sent, by however many links"]


class CastReport(Row, frozen=True, gc=False):
    """Reports of one kind at one node of a cast, sent or received; written when the run is over."""

    TABLE: ClassVar[str] = "cast_reports"

    node: Annotated[str, "name of the node"]
    part: Annotated[CastPart, "what it does"]
    direction: Annotated[Direction, "whether it made them or was their addressee"]
    kind: Annotated[CastKind, "what they say: ready, needs, done"]
    reported_messages: Annotated[int, "how many reports"]
    reported_bytes: Annotated[int, "their bytes"]
    reported_packets: Annotated[int, "packets that they ask for"]


class CastYardstick(Row, frozen=True, gc=False):
    """What others would take for the same losses; bounds are expectations."""

    TABLE: ClassVar[str] = "cast_yardsticks"

    yardstick: Annotated[Yardstick, "other ways to recover, and bounds"]
    report_crossings: Annotated[
        float | None, "reports, or NAKs, times links that they cross; null for a bound of repairs"
    ]
    repair_crossings: Annotated[float | None, "repairs times links; null where only NAKs are known"]
    repair_packets: Annotated[
        float | None, "repairs times nodes that send them; null where only NAKs are known"
    ]


class Drop(Row, frozen=True, gc=False):
    """The network dropped a packet; whose message it was, when that is known."""

    TABLE: ClassVar[str] = "drops"
    TIME: ClassVar[str | None] = "dropped_ns"

    dropped_ns: Annotated[Instant, "when"]
    where: Annotated[str, "link, queue or broker"]
    reason: Annotated[DropReason, "why"]
    traffic_class: Annotated[str, "class of the packet"]
    size_bytes: SizeBytes
    packet_origin: Annotated[int | None, "packet id: first broker"] = None
    packet_epoch: Annotated[int | None, "packet id: restarts of that broker"] = None
    packet_counter: Annotated[int | None, "packet id: number"] = None
    publisher: Annotated[str | None, "name of the publisher"] = None
    epoch: Annotated[int | None, "epoch of the message"] = None
    seq: Annotated[int | None, "number of the message"] = None


class Hop(Row, frozen=True, gc=False):
    """What one broker decided about one message."""

    TABLE: ClassVar[str] = "hops"
    TIME: ClassVar[str | None] = "decided_ns"

    decided_ns: Annotated[Instant, "when"]
    broker: Annotated[str, "name of the broker"]
    publisher: Publisher
    epoch: Epoch
    seq: Seq
    decision: Annotated[HopDecision, "what it did"]
    towards: Annotated[str | None, "the neighbour or client concerned"] = None
    reason: Annotated[DropReason | None, "why it was dropped"] = None
    packet_origin: Annotated[int | None, "packet id: first broker"] = None
    packet_epoch: Annotated[int | None, "packet id: restarts of that broker"] = None
    packet_counter: Annotated[int | None, "packet id: number"] = None
