"""Decides when one receiver sends feedback to one publisher, and what it contains.

1. A receiver that joins sends three echo requests to measure the round trip.
2. A limiting receiver reports once per round trip while its quota changes, otherwise twice a
   second.
3. A receiver over its quota that limits no flow waits as `suppression` computes. It cancels its
   report if the publisher announces meanwhile that another receiver has requested as low a
   rate, or if the next feedback round begins.

Does not know how quotas are computed: see `session`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration, Instant, earliest
from penstock.kernel.sequence import ECHO_STAMP, STAMP
from penstock.transport.congestion.facts import AckSent, EchoSent, FeedbackSent, FlowReport
from penstock.transport.congestion.feedback_protocol import CLR_MASK, TAKEOVER_RATIO
from penstock.transport.congestion.receiver.acknowledger import Acknowledger
from penstock.transport.congestion.receiver.flow_view import FlowView
from penstock.transport.congestion.receiver.session import CongestionSession, SessionState
from penstock.transport.congestion.receiver.suppression import (
    SUPPRESSION_TOLERANCE,
    feedback_wait_ns,
    is_already_limited,
    longest_wait_ns,
)
from penstock.transport.congestion.settings import CongestionSettings
from penstock.wire.codec.feedback import size_request
from penstock.wire.frames.data import Data, FlowTag
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.limits import FEEDBACK_FLOWS_MAX
from penstock.wire.quantise import (
    ECHO_STAMP_BITS,
    RATE_MAX_MPS,
    decode_round_trip_ns,
    encode_round_trip,
    quantise_rate,
    stamp_us,
)

_FIRST_ECHO_REQUESTS: Final = 3
_ECHO_INTERVAL_NS: Final = 100 * MILLISECOND
_ECHO_REFRESH_NS: Final = 30 * SECOND
_REPORT_INTERVAL_NS: Final = 500 * MILLISECOND
_REPORT_CHANGE_RATIO: Final = 0.1
# Room for requests in a frame, without its header.
_REQUESTS_BYTES_MAX: Final = 1_300
# A flow that no message mentions for this many round trips has ended.
_ABSENT_ROUND_TRIPS: Final = 2
_ABSENT_MIN_NS: Final = 200 * MILLISECOND

FrameSent: TypeAlias = FeedbackSent | EchoSent | AckSent


class FeedbackSender:
    """The feedback of one session; `send` gets the frames, `draw` returns 0 to 1."""

    def __init__(
        self,
        endpoint_id: int,
        session: CongestionSession,
        settings: CongestionSettings,
        *,
        bloom_bytes: int,
        draw: Callable[[], float],
        send: Callable[[FrameSent, Instant], None],
        now: Instant,
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self.session: Final = session
        self._settings: Final = settings
        self._is_literal: Final = settings.law == "literal"
        self._acknowledger: Final = (
            Acknowledger(endpoint_id, session.publisher, session.epoch, send)
            if settings.law == "window"
            else None
        )
        # With the window law a receiver takes a flow over only at a much lower rate.
        self._tolerance: Final = (
            SUPPRESSION_TOLERANCE if self._acknowledger is None else 1 - TAKEOVER_RATIO
        )
        self._bloom_bytes: Final = bloom_bytes
        self._draw: Final = draw
        self._send: Final = send
        self._feedback_round = 0
        # The assumed number of receivers until the publisher sends its own count.
        self._receiver_count = settings.receivers_max
        self._max_round_trip_ns: Duration = session.rtt.mean_ns
        self._echo_requests = 0
        self._echo_request_at: Instant = now
        self._update_at: Instant = now + session.rtt.mean_ns
        # When a report is due unless another receiver suppresses it; None if none is planned.
        self._report_at: Instant | None = None
        # No report is planned before this time: the flow has just been slowed down.
        self._hold_until_ns: Instant = 0
        self._reported_ns: Instant = 0
        self._reported_mps = 0.0

    # Receiving.

    def on_data(self, frame: Data, now: Instant) -> None:
        """Read the flows, the feedback round and the echo in a message header."""
        if frame.max_round_trip_code:
            self._max_round_trip_ns = decode_round_trip_ns(frame.max_round_trip_code)
        if frame.feedback_round != self._feedback_round:
            self._feedback_round = frame.feedback_round
            self._report_at = None
        for flow in frame.flows:
            if flow.announcement is not None:
                self._on_announced(flow, now)
            self._on_flow_seq(flow, now)
        if self._acknowledger is not None:
            self._acknowledger.on_data(frame, now)
        echo = frame.echo
        if echo is not None and echo.receiver == self._endpoint_id:
            self.on_echo(echo.echo_ts_us, echo.hold_100us, frame.send_ts_us, now)

    def on_echo(self, echo_ts_us: int, hold_100us: int, send_ts_us: int, now: Instant) -> None:
        """Measure the round trip by the echo of this receiver's own timestamp."""
        session = self.session
        sample_us = (stamp_us(now, ECHO_STAMP_BITS) - echo_ts_us) & ECHO_STAMP.mask
        sample_ns = sample_us * 1_000 - hold_100us * 100_000
        if not 0 <= sample_ns <= 10 * SECOND:
            # The timestamp is from before a restart, or forged.
            return
        previous_ns, was_measured = session.rtt.mean_ns, session.rtt.is_measured
        session.rtt.on_echo(sample_ns, one_way_ns(send_ts_us, now), is_limiting=session.is_limiting)
        if not was_measured:
            session.on_round_trip_measured(previous_ns)
            self._update_at = min(self._update_at, now + session.rtt.mean_ns)

    def on_receiver_count(self, receiver_count: int) -> None:
        """Use the publisher's count of receivers, capped by the settings; 0 is ignored."""
        if receiver_count:
            self._receiver_count = min(receiver_count, self._settings.receivers_max)

    def on_loss(self, expected_ns: Instant, now: Instant) -> None:
        """Record a loss; update the quotas if it begins a loss event."""
        if self.session.on_loss(expected_ns, now):
            self._update(now)

    def on_mark(self, now: Instant) -> None:
        """Record a congestion mark on the next message."""
        if self._acknowledger is not None:
            self._acknowledger.on_mark()
        if self.session.on_mark(now):
            self._update(now)

    def release(self, views: Sequence[FlowView], now: Instant) -> None:
        """Remove filters without subscriptions; release the flows that they limited."""
        limiting = [view for view in views if view.is_limiting]
        if limiting:
            self._send_report(limiting, now, is_leave=True)
        for view in views:
            self.session.flow_views.remove(view)

    # Timers.

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        if self.session.state is SessionState.IDLE:
            return None
        return earliest(self._echo_request_at, self._update_at, self._report_at)

    def wake(self, now: Instant) -> None:
        """Run what is due: echo requests, updates and reports."""
        if now >= self._echo_request_at:
            self._request_echo(now)
        if now >= self._update_at:
            self._update(now)
        if self._report_at is not None and now >= self._report_at:
            self._report_at = None
            over_quota = self.session.over_quota()
            if over_quota:
                self._send_report(over_quota, now)

    def _request_echo(self, now: Instant) -> None:
        rtt = self.session.rtt
        self._echo_requests += 1
        self._echo_request_at = now + (
            _ECHO_INTERVAL_NS if self._echo_requests < _FIRST_ECHO_REQUESTS else _ECHO_REFRESH_NS
        )
        if not rtt.is_measured:
            self._echo_request_at = min(self._echo_request_at, now + SECOND)
        request = EchoRequest(
            subscriber=self._endpoint_id,
            pub=self.session.publisher,
            send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
            round_trip_code=encode_round_trip(rtt.mean_ns) if rtt.is_measured else None,
        )
        self._send(EchoSent(request), now)

    def _update(self, now: Instant) -> None:
        session = self.session
        self._update_at = now + session.rtt.mean_ns
        absent_ns = max(_ABSENT_ROUND_TRIPS * session.rtt.mean_ns, _ABSENT_MIN_NS)
        for view in session.flow_views:
            if (
                view.flow_id is not None
                and view.rate_mps > 0
                and now - view.last_seen_ns > absent_ns
            ):
                view.clear_flow()
        session.update(now)
        if session.state in (SessionState.JOIN, SessionState.IDLE):
            return
        limited = [view for view in session.flow_views if view.is_limiting]
        if limited:
            if self._is_report_due(limited, now):
                self._send_report(
                    [*limited, *(view for view in session.over_quota() if not view.is_limiting)],
                    now,
                )
        elif session.over_quota():
            self._schedule_report(now)
        else:
            self._report_at = None

    def _schedule_report(self, now: Instant) -> None:
        """Plan a report after a random wait; with the literal law, report at once."""
        if self._is_literal:
            self._send_report(self.session.over_quota(), now)
        elif self._report_at is None and now >= self._hold_until_ns:
            # Use the current round trip, too: a new queue delays the reports of others.
            rtt = self.session.rtt
            longest = longest_wait_ns(
                max(self._max_round_trip_ns, rtt.mean_ns, round(rtt.current_ns)),
                self._receiver_count,
            )
            self._report_at = now + feedback_wait_ns(longest, self._receiver_count, self._draw())

    def _is_report_due(self, limited: list[FlowView], now: Instant) -> bool:
        if self._is_literal:
            return True
        quota_mps = sum(view.quota_mps for view in limited)
        if abs(quota_mps - self._reported_mps) > _REPORT_CHANGE_RATIO * self._reported_mps:
            return True
        return now - self._reported_ns >= max(_REPORT_INTERVAL_NS, self.session.rtt.mean_ns)

    def _send_report(
        self, views: Sequence[FlowView], now: Instant, *, is_leave: bool = False
    ) -> None:
        self._reported_ns = now
        self._reported_mps = sum(view.quota_mps for view in views if view.is_limiting)
        self._report_at = None
        requests: list[tuple[FlowView, FlowRequest]] = []
        room_bytes = _REQUESTS_BYTES_MAX
        for view in views:
            request = self._flow_request(view)
            size_bytes = size_request(request)
            if requests and (size_bytes > room_bytes or len(requests) == FEEDBACK_FLOWS_MAX):
                self._send_feedback(requests, now, is_leave=is_leave)
                requests, room_bytes = [], _REQUESTS_BYTES_MAX
            # A filter too long for a frame would not be accepted by a broker either.
            if size_bytes <= room_bytes:
                requests.append((view, request))
                room_bytes -= size_bytes
        if requests:
            self._send_feedback(requests, now, is_leave=is_leave)

    def _send_feedback(
        self, requests: Sequence[tuple[FlowView, FlowRequest]], now: Instant, *, is_leave: bool
    ) -> None:
        session = self.session
        frame = Feedback(
            subscriber=self._endpoint_id,
            pub=session.publisher,
            send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
            feedback_round=self._feedback_round,
            round_trip_code=encode_round_trip(session.rtt.mean_ns)
            if session.rtt.is_measured
            else None,
            has_loss=session.loss_events.has_events,
            is_leave=is_leave,
            requests=tuple([request for _, request in requests]),
        )
        flows = tuple(
            [
                FlowReport(view.name, view.rate_mps, view.quota_mps, view.is_limiting)
                for view, _ in requests
            ]
        )
        report = FeedbackSent(
            frame,
            session.rtt.mean_ns,
            session.loss_event_rate,
            session.rate_mps,
            session.allowed_mps,
            flows,
        )
        self._send(report, now)

    def _flow_request(self, view: FlowView) -> FlowRequest:
        quota_mps = quantise_rate(min(view.quota_mps, RATE_MAX_MPS))
        if self._is_literal:
            return FlowRequest(quota_mps=quota_mps, bloom=view.bits, bloom_bytes=self._bloom_bytes)
        if view.flow_id is not None and view.is_limiting:
            return FlowRequest(quota_mps=quota_mps, flow_id=view.flow_id)
        return FlowRequest(quota_mps=quota_mps, filter=view.filter)

    # Announced flows.

    def _on_announced(self, flow: FlowTag, now: Instant) -> None:
        """Apply an announcement to the filters of this receiver; it may suppress a report."""
        detail = flow.announcement
        assert detail is not None
        is_ours = detail.clr == self._endpoint_id & CLR_MASK
        for view in self.session.flow_views:
            if detail.bloom == view.bits:
                view.on_flow(flow.flow_id, is_limiting=is_ours, now=now)
            elif view.flow_id == flow.flow_id:
                view.clear_flow()
            if (
                self._report_at is not None
                and not is_ours
                and not detail.bloom & ~view.bits
                and is_already_limited(flow.quota_mps, max(view.quota_mps, 1e-9), self._tolerance)
                and self.session.rtt.mean_ns <= self._max_round_trip_ns
            ):
                self._report_at = None

    def _on_flow_seq(self, flow: FlowTag, now: Instant) -> None:
        for view in self.session.flow_views:
            if view.flow_id != flow.flow_id:
                continue
            view.last_seen_ns = now
            if not view.is_limiting and flow.quota_mps < view.rate_mps:
                # The flow is already slower than the measured rate: wait for the effect.
                self._report_at = None
                self._hold_until_ns = now + round(self.session.rtt.current_ns)
            for expected_ns in view.loss_detector.on_received(
                flow.flow_seq, self.session.rtt.mean_ns, now
            ):
                self.on_loss(expected_ns, now)


def one_way_ns(send_ts_us: int, now: Instant) -> Duration:
    """The time since a publisher's timestamp: one-way delay plus clock offset."""
    return STAMP.distance(stamp_us(now), send_ts_us) * MICROSECOND
