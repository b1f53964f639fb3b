"""The session of a receiver with one publisher: the allowed rate and the quota of each filter.

    state        begins with                  allowed rate
    JOIN         the first message            not reported: the round trip is unknown
    SLOWSTART    the round trip               twice the received rate
    CONTROL      the first loss event         T(s, R, p): see `tfrc/throughput_equation.py`
    IDLE         ten round trips of silence   not reported; the loss history is cleared

The session is updated once per round trip. If the allowed rate is below the received rate, the
filters share it; if it is above, the flows that this receiver limits may grow, by a share of
their received rate. Does not know when or how quotas are reported: see `feedback_sender`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from math import inf
from typing import Final

from penstock.fairness.single_link import max_min_shares
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.sequence import SEQ
from penstock.tfrc.loss_events import LossEvents, detection_probability, literal_message_weight
from penstock.tfrc.rate_meter import RateMeter
from penstock.tfrc.round_trip import INITIAL_ROUND_TRIP_NS, RoundTrip
from penstock.tfrc.throughput_equation import loss_event_rate_for
from penstock.transport.congestion.receiver.allowed_rate import equation_rate, startup_rate
from penstock.transport.congestion.receiver.flow_view import FlowView
from penstock.transport.congestion.settings import CongestionSettings
from penstock.wire.frames.data import Data

# One message in eight seconds is always allowed.
_RATE_MIN_MPS: Final = 1 / 8
_IDLE_RTTS: Final = 10
# A flow that uses less than this share of its quota would not use a higher one either.
_USED_SHARE_MIN: Final = 0.8
# RFC 5348 §4.2: messages in the first round trip.
_INITIAL_WINDOW: Final = 4
_SIZE_SMOOTHING: Final = 0.95
# A round trip above twice the minimum plus 50 ms means that a queue has filled.
_QUEUE_RATIO: Final = 2
_QUEUE_DELAY_NS: Final = 50 * MILLISECOND


class SessionState(Enum):
    """The state of a session: see the module."""

    JOIN = "join"
    SLOWSTART = "slowstart"
    CONTROL = "control"
    IDLE = "idle"


class CongestionSession:
    """What one receiver measures and allows for one epoch of a publisher."""

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
        # The allowed rate X and the received rate, in messages per second.
        self.allowed_mps = inf
        self.rate_mps = 0.0
        self._last_heard_ns = now
        self._last_seq: int | None = None
        self._send_rate_mps = first.send_rate_mps
        self._record_entries = first.record.count
        self._detection_probability = 1.0
        self._mean_size_bytes: float | None = None

    # Measuring.

    def on_data(
        self, frame: Data, matching: Iterable[FlowView], size_bytes: int, now: Instant
    ) -> None:
        """Count a message that arrives for the first time, for the filters that it matches."""
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
        """Record a loss; return whether it begins a loss event."""
        if self.loss_events.has_events:
            return self.loss_events.on_loss(expected_ns, self.rtt.mean_ns)
        self.loss_events.on_loss(expected_ns, self.rtt.mean_ns)
        self._begin_control(now)
        return True

    def on_mark(self, now: Instant) -> bool:
        """Record a congestion mark; return whether it begins a loss event."""
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
            # Choose the first interval so that the equation yields the received rate, but at
            # least the initial window: a low received rate does not show what is possible.
            rate_mps = max(self.meter.rate(now), _INITIAL_WINDOW / self._rtt_s)
            self.loss_events.begin(1 / loss_event_rate_for(1, self._rtt_s, rate_mps), now)
        self.state = SessionState.CONTROL

    def on_round_trip_measured(self, previous_ns: Duration) -> None:
        """Correct the loss history, which assumed another round trip, at the first echo."""
        if self.loss_events.has_events:
            self.loss_events.intervals.scale((self.rtt.mean_ns / previous_ns) ** 2)
        elif self.state is SessionState.JOIN:
            self.state = SessionState.SLOWSTART

    # Allowed rate and quotas.

    def update(self, now: Instant) -> None:
        """Compute rates and quotas: once per round trip and at each loss event."""
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
        for view in self.flow_views:
            view.rate_mps = view.meter.rate(now)
        self._detection_probability = self._compute_detection_probability()
        if self.state is SessionState.SLOWSTART and not self._is_literal and self._has_queue():
            # Do not wait for the first loss, which occurs only when the queue overflows.
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
        """Loss events per message."""
        return self.loss_events.loss_event_rate

    @property
    def sees_every_loss(self) -> bool:
        """Whether flow sequence numbers reveal every loss of all active filters."""
        active = [view for view in self.flow_views if view.rate_mps > 0]
        return bool(active) and all(view.flow_id is not None for view in active)

    @property
    def is_limiting(self) -> bool:
        """Whether this receiver limits any flow."""
        return any(view.is_limiting for view in self.flow_views)

    def over_quota(self) -> Sequence[FlowView]:
        """The filters whose received rate exceeds their quota."""
        return [view for view in self.flow_views if view.quota_mps < view.rate_mps]

    def _allowed_rate(self) -> float:
        if self.state is not SessionState.CONTROL:
            return startup_rate(self.rate_mps, self._rtt_s)
        nominal = self._settings.nominal_bytes
        size_ratio = 1.0
        if nominal is not None and self._mean_size_bytes:
            size_ratio = nominal / self._mean_size_bytes
        return equation_rate(
            self.rtt,
            self._rtt_s,
            self.loss_event_rate,
            size_ratio=size_ratio,
            is_literal=self._is_literal,
        )

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
        """Window law: report the share of each filter in the rate of a TCP connection."""
        for view in self.flow_views:
            if self.rate_mps > 0:
                view.quota_mps = self.allowed_mps * view.rate_mps / self.rate_mps

    def _grow_quotas(self, unused_mps: float) -> None:
        """Divide the unused rate among the flows that this receiver limits."""
        limited = [view for view in self.flow_views if view.is_limiting]
        for view in self.flow_views:
            if not view.is_limiting:
                view.quota_mps = max(view.quota_mps, view.rate_mps)
        for view in limited:
            growth_max_mps = self._settings.increase * view.rate_mps
            if not self._is_literal:
                growth_max_mps = max(growth_max_mps, 1 / self._rtt_s)
            quota_mps = view.rate_mps + min(growth_max_mps, unused_mps / len(limited))
            if not self._is_literal and view.rate_mps < _USED_SHARE_MIN * view.quota_mps:
                # The publisher has no more to send, or the network sustains no more.
                quota_mps = min(max(quota_mps, view.quota_mps), view.rate_mps + unused_mps)
            view.quota_mps = quota_mps

    # Inputs of the computation.

    @property
    def _rtt_s(self) -> float:
        # The dissertation updates R with every message.
        return (self.rtt.current_ns if self._is_literal else self.rtt.mean_ns) / SECOND

    def _compute_detection_probability(self) -> float:
        """The probability that a loss is noticed here."""
        if self.sees_every_loss:
            return 1.0
        return detection_probability(self._match_share(self.rate_mps), self._record_entries)

    def _match_share(self, received_mps: float) -> float:
        """The received share of the publisher's announced send rate."""
        return received_mps / self._send_rate_mps if self._send_rate_mps else 1.0

    def _literal_message_weight(self, seq: int, now: Instant) -> float:
        gap = 0
        if self._last_seq is not None:
            gap = max(0, SEQ.distance(seq, self._last_seq) - 1)
        self._last_seq = seq
        return literal_message_weight(
            gap, self._record_entries, min(1.0, self._match_share(self.meter.rate(now)))
        )
