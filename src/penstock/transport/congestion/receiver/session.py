"""What a receiver thinks of one publisher: how much may come, and of which filters.

    state        begins with                  allows
    JOIN         the first message            nothing is said yet: the round trip is not known
    SLOWSTART    the round trip               twice what comes
    CONTROL      the first loss               T(s, R, p): see `response`
    IDLE         ten round trips of silence   nothing is said; the losses are forgotten

Once a round trip it is reckoned what may come. If less may come than does, every filter
gets its share; if more, those flows that we limit may grow, by a part of what comes.
Knows nothing of how that is said, or when: see `reporter`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from math import inf, sqrt
from typing import Final

from penstock.fairness.single_link import max_min_shares
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.sequence import SEQ
from penstock.tfrc.loss_events import LossEvents, detection_probability, literal_message_weight
from penstock.tfrc.rate_meter import RateMeter
from penstock.tfrc.round_trip import INITIAL_ROUND_TRIP_NS, RoundTrip
from penstock.tfrc.throughput_equation import loss_event_rate_for, tcp_throughput
from penstock.transport.congestion.receiver.flow_view import FlowView
from penstock.transport.congestion.settings import CongestionSettings
from penstock.wire.frames.data import Data

# One message in so many seconds is always allowed.
_RATE_MIN_MPS: Final = 1 / 8
_IDLE_RTTS: Final = 10
# Less than this share of a quota is used: more would not be either.
_USED_SHARE_MIN: Final = 0.8
# RFC 5348 §4.2: messages in the first round trip.
_INITIAL_WINDOW: Final = 4
_SIZE_SMOOTHING: Final = 0.95
# A round trip so much longer than the shortest means that a queue has filled.
_QUEUE_RATIO: Final = 2
_QUEUE_DELAY_NS: Final = 50 * MILLISECOND


class SessionState(Enum):
    """How far a session is."""

    JOIN = "join"
    SLOWSTART = "slowstart"
    CONTROL = "control"
    IDLE = "idle"


class CongestionSession:
    """Of one publisher's epoch and one receiver with these filters."""

    def __init__(self, settings: CongestionSettings, first: Data, now: Instant) -> None:
        self._settings: Final = settings
        self._is_literal: Final = settings.law == "literal"
        self.publisher: Final = first.pub
        self.epoch: Final = first.epoch
        self.rtt: Final = RoundTrip()
        self.meter: Final = RateMeter()
        self.loss_events: Final = LossEvents(is_literal=self._is_literal)
        self.flow_views: list[FlowView] = []
        self.state = SessionState.JOIN
        # X: messages a second; and what comes.
        self.allowed_mps = inf
        self.rate_mps = 0.0
        self._last_heard_ns = now
        self._last_seq: int | None = None
        self._send_rate_mps = first.send_rate_mps
        self._record_entries = first.record.count
        self._detection_probability = 1.0
        self._mean_size_bytes: float | None = None

    # What comes.

    def on_data(
        self, frame: Data, matching: Iterable[FlowView], size_bytes: int, now: Instant
    ) -> None:
        """A message that came for the first time, and the filters that it matches."""
        if self.state is SessionState.IDLE:
            self.state = SessionState.SLOWSTART if self.rtt.is_measured else SessionState.JOIN
        self._last_heard_ns = now
        self._send_rate_mps, self._record_entries = frame.send_rate_mps, frame.record.count
        size = size_bytes if self._mean_size_bytes is None else self._mean_size_bytes
        self._mean_size_bytes = _SIZE_SMOOTHING * size + (1 - _SIZE_SMOOTHING) * size_bytes
        self.meter.count(now)
        for view in matching:
            view.meter.count(now)
        self.loss_events.on_received(
            self._literal_message_weight(frame.seq, now)
            if self._is_literal
            else self._detection_probability
        )

    def on_loss(self, expected_ns: Instant, now: Instant) -> bool:
        """One did not come; whether it was the first of an event."""
        if self.loss_events.has_events:
            return self.loss_events.on_loss(expected_ns, self.rtt.mean_ns)
        self.loss_events.on_loss(expected_ns, self.rtt.mean_ns)
        self._begin_control(now)
        return True

    def on_mark(self, now: Instant) -> bool:
        """One comes that the network has marked; whether that was the first of an event."""
        if self._is_literal:
            return False
        if self.loss_events.has_events:
            return self.loss_events.on_mark(now, self.rtt.mean_ns)
        self.loss_events.on_mark(now, self.rtt.mean_ns)
        self._begin_control(now)
        return True

    def _begin_control(self, now: Instant) -> None:
        if self._is_literal:
            self.loss_events.begin(max(1.0, self.loss_events.intervals.current), now)
        else:
            # What went before is as if a connection had got just what came, or the window that
            # it begins with: who wants little does not know what it might get.
            rate_mps = max(self.meter.rate(now), _INITIAL_WINDOW / self._rtt_s)
            self.loss_events.begin(1 / loss_event_rate_for(1, self._rtt_s, rate_mps), now)
        self.state = SessionState.CONTROL

    def on_round_trip_measured(self, previous_ns: Duration) -> None:
        """The round trip is known: what was reckoned with another is put right."""
        if self.loss_events.has_events:
            self.loss_events.intervals.scale((self.rtt.mean_ns / previous_ns) ** 2)
        elif self.state is SessionState.JOIN:
            self.state = SessionState.SLOWSTART

    # What may come.

    def update(self, now: Instant) -> None:
        """Once a round trip, and when something was lost."""
        if now - self._last_heard_ns > _IDLE_RTTS * max(
            self.rtt.mean_ns, INITIAL_ROUND_TRIP_NS // 10
        ):
            self.state = SessionState.IDLE
            self.loss_events.clear()
            return
        interval_ns = 2 * self.rtt.mean_ns
        for meter in (self.meter, *(view.meter for view in self.flow_views)):
            meter.set_interval(interval_ns)
        self.rate_mps = self.meter.rate(now)
        for entry in self.flow_views:
            entry.rate_mps = entry.meter.rate(now)
        self._detection_probability = self._compute_detection_probability()
        if self.state is SessionState.SLOWSTART and not self._is_literal and self._has_queue():
            # Before the first loss, which comes when all of the queue is full.
            self._begin_control(now)
        self.allowed_mps = max(_RATE_MIN_MPS, self._allowed_rate())
        if self._settings.law == "window":
            self._assign_tcp_quotas()
        elif self.allowed_mps < self.rate_mps:
            self._share_quotas(self.allowed_mps)
        elif self.allowed_mps > self.rate_mps:
            self._grow_quotas(self.allowed_mps - self.rate_mps)

    @property
    def loss_event_rate(self) -> float:
        """The rate of loss events."""
        return self.loss_events.loss_event_rate

    @property
    def sees_every_loss(self) -> bool:
        """Whether numbers tell of every loss of what comes."""
        active = [view for view in self.flow_views if view.rate_mps > 0]
        return bool(active) and all(entry.flow_id is not None for entry in active)

    @property
    def is_limiting(self) -> bool:
        """Whether we limit any flow."""
        return any(view.is_limiting for view in self.flow_views)

    def over_quota(self) -> Sequence[FlowView]:
        """The filters that get more than they may."""
        return [view for view in self.flow_views if view.quota_mps < view.rate_mps]

    def _allowed_rate(self) -> float:
        if self.state is not SessionState.CONTROL:
            return 2 * max(self.rate_mps, 1 / self._rtt_s)
        # In messages, whatever their size: T is proportional to it.
        allowed = tcp_throughput(1, self._rtt_s, self.loss_event_rate)
        nominal = self._settings.nominal_bytes
        if nominal is not None and self._mean_size_bytes:
            allowed *= nominal / self._mean_size_bytes
        if self._is_literal or not self.rtt.is_measured:
            return allowed
        # RFC 5348 §4.5: less while the queue grows, more while it shrinks.
        return allowed * sqrt(self.rtt.mean_ns / self.rtt.current_ns)

    def _has_queue(self) -> bool:
        return self.rtt.current_ns > _QUEUE_RATIO * self.rtt.min_ns + _QUEUE_DELAY_NS

    def _share_quotas(self, allowed_mps: float) -> None:
        shares = max_min_shares(
            [view.rate_mps for view in self.flow_views],
            allowed_mps,
            [view.weight for view in self.flow_views],
        )
        for view, share in zip(self.flow_views, shares, strict=True):
            view.quota_mps = share

    def _assign_tcp_quotas(self) -> None:
        """With windows no rate is asked for, but told what a connection would get of each."""
        for view in self.flow_views:
            if self.rate_mps > 0:
                view.quota_mps = self.allowed_mps * view.rate_mps / self.rate_mps

    def _grow_quotas(self, unused_mps: float) -> None:
        """Of what is not used, those flows get a part that we limit."""
        limited = [view for view in self.flow_views if view.is_limiting]
        for entry in self.flow_views:
            if not entry.is_limiting:
                entry.quota_mps = max(entry.quota_mps, entry.rate_mps)
        for entry in limited:
            growth_max_mps = self._settings.increase * entry.rate_mps
            if not self._is_literal:
                growth_max_mps = max(growth_max_mps, 1 / self._rtt_s)
            quota_mps = entry.rate_mps + min(growth_max_mps, unused_mps / len(limited))
            if not self._is_literal and entry.rate_mps < _USED_SHARE_MIN * entry.quota_mps:
                # The publisher has no more to send, or the network bears no more.
                quota_mps = min(max(quota_mps, entry.quota_mps), entry.rate_mps + unused_mps)
            entry.quota_mps = quota_mps

    # What it is reckoned with.

    @property
    def _rtt_s(self) -> float:
        # The dissertation's changes with every message.
        return (self.rtt.current_ns if self._is_literal else self.rtt.mean_ns) / SECOND

    def _compute_detection_probability(self) -> float:
        """Of so many losses we are told."""
        if self.sees_every_loss:
            return 1.0
        return detection_probability(self._match_share(self.rate_mps), self._record_entries)

    def _match_share(self, received_mps: float) -> float:
        """Of all that the publisher says it sends."""
        return received_mps / self._send_rate_mps if self._send_rate_mps else 1.0

    def _literal_message_weight(self, seq: int, now: Instant) -> float:
        gap = 0
        if self._last_seq is not None:
            gap = max(0, SEQ.distance(seq, self._last_seq) - 1)
        self._last_seq = seq
        return literal_message_weight(
            gap, self._record_entries, min(1.0, self._match_share(self.meter.rate(now)))
        )
