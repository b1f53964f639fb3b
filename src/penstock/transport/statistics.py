"""The size of every bounded thing in an endpoint, as frozen values.

Each part of the transport describes itself when asked, and `Endpoint.statistics` puts the
values together. Knows no limits, which are in the settings, and judges nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.content.filter import Filter
from penstock.kernel.instant import Duration, Instant
from penstock.wire.frames.data import MessageId

if TYPE_CHECKING:
    from penstock.transport.order.delay_estimator import EstimatorSettings

# What is received and ordered.


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStatistics:
    """One publisher's messages on their way to one subscription."""

    subscription_id: int
    # Messages in the reorder buffer.
    buffered: int
    # Extended sequence numbers known to be missing, and those of them that are declared lost.
    missing: tuple[int, ...]
    lost: tuple[MessageId, ...]
    # Ranges that may hold messages for the subscription, and block others.
    possible: int
    # Sequence numbers remembered one by one as given up.
    given_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayStatistics:
    """What one delay estimator knows of a publisher."""

    settings: EstimatorSettings
    samples: tuple[Duration, ...]
    last_sent_ns: Instant | None
    last_arrival_ns: Instant
    # Outliers of one sign in a row, with their sign; and all that were rejected.
    outlier_run: int
    rejected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherStatistics:
    """One remote publisher, since its present epoch began."""

    publisher: int
    epoch: int
    # Bits that say which sequence numbers arrived.
    window_bits: int
    streams: tuple[StreamStatistics, ...]
    delays: tuple[DelayStatistics, ...]


# What is repaired.


@dataclass(frozen=True, slots=True, kw_only=True)
class RequesterStatistics:
    """Requests for lost messages."""

    pending: tuple[MessageId, ...]
    timers: int
    # Publishers whose answers are remembered.
    publishers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairerStatistics:
    """Repairs for others."""

    pending: tuple[MessageId, ...]
    timers: int
    completed: int
    hold_downs: int
    designations: int
    # Messages whose requests are counted.
    counted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherCacheStatistics:
    """Cached messages of one publisher; `messages_max` is its present limit."""

    publisher: int
    messages: int
    messages_max: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatistics:
    """One repair cache; `size_bytes` is the total that the cache itself keeps."""

    size_bytes: int
    publishers: tuple[PublisherCacheStatistics, ...]

    @property
    def messages(self) -> int:
        """Cached messages of all publishers."""
        return sum(publisher.messages for publisher in self.publishers)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestPublisherStatistics:
    """Digests of our own messages."""

    subscribers: int
    # Attribute names that subscribers ask for.
    attributes: int
    # Messages that the next digest describes.
    messages: int
    recent_digests: int
    # Digests and messages whose requesters are remembered.
    requested: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestSubscriberStatistics:
    """Digests of others."""

    publishers: int
    missing_digests: int
    # Messages that no digest described.
    undescribed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowNumbersStatistics:
    """Flows that we number for subscribers."""

    flows: int
    claims: int
    # Numbers of all flows that are remembered.
    numbered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackingStatistics:
    """Flows that publishers are asked to number for us."""

    publishers: int
    batches: int
    timers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowGapStatistics:
    """Gaps in the flow numbers of one publisher."""

    publisher: int
    epoch: int
    flows: int
    # By flow id and flow sequence number.
    gaps: tuple[tuple[int, int], ...]
    # Numbers that arrived of flows not known yet.
    unclaimed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionStatistics:
    """Losses that no record shows; `tracking` is None where flows are not tracked."""

    digest_publisher: DigestPublisherStatistics
    digest_subscriber: DigestSubscriberStatistics
    flow_numbers: FlowNumbersStatistics
    tracking: TrackingStatistics | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryStatistics:
    """Recovery of one endpoint."""

    requester: RequesterStatistics
    repairer: RepairerStatistics
    # Messages of others, and our own.
    cache: CacheStatistics
    publication_cache: CacheStatistics
    detection: DetectionStatistics
    flow_gaps: tuple[FlowGapStatistics, ...]
    flow_gap_timers: int
    # Peers whose distance is remembered.
    peers: int


# What is sent, and how fast.


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledFlowStatistics:
    """One controlled flow; `outstanding` is None where there is no window."""

    flow_id: int
    limiting_receiver: int
    quota_mps: float
    outstanding: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendStatistics:
    """The publisher's half of congestion control."""

    queued: int
    # Of these, messages that are in no lane until the queue is matched with its flows again.
    unclassified: int
    lanes: int
    flows: tuple[ControlledFlowStatistics, ...]
    pending_echoes: int
    # Receivers: those with a budget for reports, those known by their echo requests, and those
    # that were refused something.
    receiver_budgets: int
    receivers: int
    refused_receivers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatistics:
    """What is measured of one publisher: the filters that its messages matched."""

    publisher: int
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiveStatistics:
    """The receiver's half of congestion control."""

    sessions: tuple[SessionStatistics, ...]
    timers: int
    request_allowances: int
    # Filters of all subscriptions.
    filters: int
    recent_losses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionStatistics:
    """Congestion control of one endpoint; `sender` is None before anything is published."""

    sender: SendStatistics | None
    receiver: ReceiveStatistics
    # Flows of others that repairs have an allowance of.
    repair_allowances: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointStatistics:
    """A whole endpoint; None stands for a part that is switched off."""

    subscriptions: int
    # Predicates that caches are open for, and predicates of either kind, each counted once.
    caches: int
    interests: int
    # The one heard last at the end.
    publishers: tuple[PublisherStatistics, ...]
    # Timers of missing and possible messages.
    timers: int
    # Outputs that nobody polled yet, and losses that were not reported yet.
    outputs: int
    pending_losses: int
    recovery: RecoveryStatistics | None
    congestion: CongestionStatistics | None
