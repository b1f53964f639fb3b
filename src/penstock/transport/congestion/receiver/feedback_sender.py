"""What a receiver says to one publisher, and when.

1. When it has joined it asks for the round trip, three times.
2. Who limits a flow says so once a round trip while it changes, else twice a second.
3. Who gets too much, and limits nothing, waits as `suppression` has it, and keeps silent
   if the publisher announces meanwhile that another has asked for as little; or until
   the next round of feedback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration, Instant, earliest
from penstock.transport.congestion.facts import Acknowledged, Echoed, FlowReport, Reported
from penstock.transport.congestion.receiver.acknowledger import Acker
from penstock.transport.congestion.receiver.flow_view import Entry
from penstock.transport.congestion.receiver.session import Session, State
from penstock.transport.congestion.receiver.suppression import (
    TOLERANCE,
    is_said,
    longest_ns,
    wait_ns,
)
from penstock.transport.congestion.sender.flow_table import BIAS
from penstock.transport.congestion.settings import CongestionSettings
from penstock.wire.codec.feedback import size_request
from penstock.wire.frames.data import Data, Flow
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.limits import FEEDBACK_FLOWS_MAX
from penstock.wire.quantise import (
    ECHO_STAMP_BITS,
    RATE_MAX_MPS,
    STAMP_BITS,
    quantise_rate,
    r_max_code,
    r_max_ns,
    stamp_us,
)

CLR_MASK: Final = (1 << 32) - 1
_ECHOES: Final = 3
_ECHO_NS: Final = 100 * MILLISECOND
_ECHO_AGAIN_NS: Final = 30 * SECOND
_STEADY_NS: Final = 500 * MILLISECOND
_CHANGE: Final = 0.1
# What a frame has room for, beside its head.
_REQUESTS_BYTES_MAX: Final = 1_300
# A flow that no message mentions for so many round trips is gone.
_ABSENT: Final = 2
_ABSENT_MIN_NS: Final = 200 * MILLISECOND

Said: TypeAlias = Reported | Echoed | Acknowledged


class Reporter:
    """Of one session; `send` gets what is said, `draw` gives a number from 0 to 1."""

    def __init__(
        self,
        me: int,
        session: Session,
        settings: CongestionSettings,
        *,
        bloom_bytes: int,
        draw: Callable[[], float],
        send: Callable[[Said, Instant], None],
        now: Instant,
    ) -> None:
        self._me: Final = me
        self.session: Final = session
        self._settings: Final = settings
        self._is_literal: Final = settings.law == "literal"
        self._acker: Final = (
            Acker(me, session.pub, session.epoch, send) if settings.law == "window" else None
        )
        # With a window another takes over only if it bears much less.
        self._tolerance: Final = TOLERANCE if self._acker is None else 1 - BIAS
        self._bloom_bytes: Final = bloom_bytes
        self._draw: Final = draw
        self._send: Final = send
        self._round = 0
        # As many may have the same to say, until the publisher tells how many there are.
        self._receivers = settings.receivers_max
        self._r_max_ns: Duration = session.rtt.ns
        self._echoes = 0
        self._echo_at: Instant = now
        self._reckon_at: Instant = now + session.rtt.ns
        # When we say that we get too much, unless another does; None if we do not.
        self._speak_at: Instant | None = None
        # Until then we hold our peace: what the publisher does about it is on its way.
        self._quiet_until_ns: Instant = 0
        self._said_ns: Instant = 0
        self._said_mps = 0.0

    # What comes.

    def on_data(self, frame: Data, now: Instant) -> None:
        """What a message's head says of flows and rounds."""
        if frame.r_max_code:
            self._r_max_ns = r_max_ns(frame.r_max_code)
        if frame.fb_round != self._round:
            self._round = frame.fb_round
            self._speak_at = None
        for flow in frame.flows:
            if flow.detail is not None:
                self._on_announced(flow, now)
            self._on_numbered(flow, now)
        if self._acker is not None:
            self._acker.on_data(frame, now)
        echo = frame.echo
        if echo is not None and echo.receiver == self._me:
            self.on_echo(echo.echo_ts_us, echo.hold_100us, frame.send_ts_us, now)

    def on_echo(self, echo_ts_us: int, hold_100us: int, send_ts_us: int, now: Instant) -> None:
        """Our own stamp came back."""
        session = self.session
        sample_us = (stamp_us(now, ECHO_STAMP_BITS) - echo_ts_us) & ((1 << ECHO_STAMP_BITS) - 1)
        sample_ns = sample_us * 1_000 - hold_100us * 100_000
        if not 0 <= sample_ns <= 10 * SECOND:
            # Of another life of ours, or made up.
            return
        was_ns, was_measured = session.rtt.ns, session.rtt.is_measured
        session.rtt.on_echo(sample_ns, way_of(send_ts_us, now), is_limiting=session.is_limiting)
        if not was_measured:
            session.on_measured(was_ns)
            self._reckon_at = min(self._reckon_at, now + session.rtt.ns)

    def on_receivers(self, receivers: int) -> None:
        """The publisher says how many it knows of."""
        if receivers:
            self._receivers = min(receivers, self._settings.receivers_max)

    def on_lost(self, due_ns: Instant, now: Instant) -> None:
        """A message did not come."""
        if self.session.on_lost(due_ns, now):
            self._reckon(now)

    def on_marked(self, now: Instant) -> None:
        """A message comes next that the network has marked."""
        if self._acker is not None:
            self._acker.on_marked()
        if self.session.on_marked(now):
            self._reckon(now)

    def drop(self, entries: Sequence[Entry], now: Instant) -> None:
        """These filters are not wanted any more: those that we limited are for others to."""
        ours = [entry for entry in entries if entry.is_limiting]
        if ours:
            self._say(ours, now, is_leave=True)
        for entry in entries:
            self.session.entries.remove(entry)

    # What is due.

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        if self.session.state is State.IDLE:
            return None
        return earliest(self._echo_at, self._reckon_at, self._speak_at)

    def wake(self, now: Instant) -> None:
        """Asks, reckons and speaks."""
        if now >= self._echo_at:
            self._ask_echo(now)
        if now >= self._reckon_at:
            self._reckon(now)
        if self._speak_at is not None and now >= self._speak_at:
            self._speak_at = None
            wanting = self.session.wanting()
            if wanting:
                self._say(wanting, now)

    def _ask_echo(self, now: Instant) -> None:
        rtt = self.session.rtt
        self._echoes += 1
        self._echo_at = now + (_ECHO_NS if self._echoes < _ECHOES else _ECHO_AGAIN_NS)
        if not rtt.is_measured:
            self._echo_at = min(self._echo_at, now + SECOND)
        request = EchoRequest(
            subscriber=self._me,
            pub=self.session.pub,
            send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
            r_code=r_max_code(rtt.ns) if rtt.is_measured else None,
        )
        self._send(Echoed(request), now)

    def _reckon(self, now: Instant) -> None:
        session = self.session
        self._reckon_at = now + session.rtt.ns
        absent_ns = max(_ABSENT * session.rtt.ns, _ABSENT_MIN_NS)
        for entry in session.entries:
            if (
                entry.flow_id is not None
                and entry.rate_mps > 0
                and now - entry.heard_ns > absent_ns
            ):
                entry.forget_flow()
        session.reckon(now)
        if session.state in (State.JOIN, State.IDLE):
            return
        limited = [entry for entry in session.entries if entry.is_limiting]
        if limited:
            if self._is_due(limited, now):
                self._say([*limited, *(e for e in session.wanting() if not e.is_limiting)], now)
        elif session.wanting():
            self._plan(now)
        else:
            self._speak_at = None

    def _plan(self, now: Instant) -> None:
        """Somebody must say it: perhaps we."""
        if self._is_literal:
            self._say(self.session.wanting(), now)
        elif self._speak_at is None and now >= self._quiet_until_ns:
            # A queue that has just filled makes what others say come later than it used to.
            rtt = self.session.rtt
            longest = longest_ns(max(self._r_max_ns, rtt.ns, round(rtt.now_ns)), self._receivers)
            self._speak_at = now + wait_ns(longest, self._receivers, self._draw())

    def _is_due(self, limited: list[Entry], now: Instant) -> bool:
        if self._is_literal:
            return True
        quota_mps = sum(entry.quota_mps for entry in limited)
        if abs(quota_mps - self._said_mps) > _CHANGE * self._said_mps:
            return True
        return now - self._said_ns >= max(_STEADY_NS, self.session.rtt.ns)

    def _say(self, entries: Sequence[Entry], now: Instant, *, is_leave: bool = False) -> None:
        self._said_ns = now
        self._said_mps = sum(entry.quota_mps for entry in entries if entry.is_limiting)
        self._speak_at = None
        asked: list[tuple[Entry, FlowRequest]] = []
        room_bytes = _REQUESTS_BYTES_MAX
        for entry in entries:
            request = self._request(entry)
            size_bytes = size_request(request)
            if asked and (size_bytes > room_bytes or len(asked) == FEEDBACK_FLOWS_MAX):
                self._send_feedback(asked, now, is_leave=is_leave)
                asked, room_bytes = [], _REQUESTS_BYTES_MAX
            # One that fits no frame has a filter that no broker would take either.
            if size_bytes <= room_bytes:
                asked.append((entry, request))
                room_bytes -= size_bytes
        if asked:
            self._send_feedback(asked, now, is_leave=is_leave)

    def _send_feedback(
        self, asked: Sequence[tuple[Entry, FlowRequest]], now: Instant, *, is_leave: bool
    ) -> None:
        session = self.session
        frame = Feedback(
            subscriber=self._me,
            pub=session.pub,
            send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
            fb_round=self._round,
            r_code=r_max_code(session.rtt.ns) if session.rtt.is_measured else None,
            has_loss=session.losses.has_any,
            is_leave=is_leave,
            requests=tuple([request for _, request in asked]),
        )
        flows = tuple(
            [
                FlowReport(entry.name, entry.rate_mps, entry.quota_mps, entry.is_limiting)
                for entry, _ in asked
            ]
        )
        report = Reported(
            frame, session.rtt.ns, session.p, session.rate_mps, session.allowed_mps, flows
        )
        self._send(report, now)

    def _request(self, entry: Entry) -> FlowRequest:
        quota_mps = quantise_rate(min(entry.quota_mps, RATE_MAX_MPS))
        if self._is_literal:
            return FlowRequest(quota_mps=quota_mps, bloom=entry.bits, bloom_bytes=self._bloom_bytes)
        if entry.flow_id is not None and entry.is_limiting:
            return FlowRequest(quota_mps=quota_mps, flow_id=entry.flow_id)
        return FlowRequest(quota_mps=quota_mps, filter=entry.filter)

    # Flows.

    def _on_announced(self, flow: Flow, now: Instant) -> None:
        """Somebody limits a flow: perhaps ours, perhaps a wider one."""
        detail = flow.detail
        assert detail is not None
        is_ours = detail.clr == self._me & CLR_MASK
        for entry in self.session.entries:
            if detail.bloom == entry.bits:
                entry.on_flow(flow.flow_id, is_limiting=is_ours, now=now)
            elif entry.flow_id == flow.flow_id:
                entry.forget_flow()
            if (
                self._speak_at is not None
                and not is_ours
                and not detail.bloom & ~entry.bits
                and is_said(flow.quota_mps, max(entry.quota_mps, 1e-9), self._tolerance)
                and self.session.rtt.ns <= self._r_max_ns
            ):
                self._speak_at = None

    def _on_numbered(self, flow: Flow, now: Instant) -> None:
        for entry in self.session.entries:
            if entry.flow_id != flow.flow_id:
                continue
            entry.heard_ns = now
            if not entry.is_limiting and flow.quota_mps < entry.rate_mps:
                # It is slower already than what we have measured: let us see what comes of it.
                self._speak_at = None
                self._quiet_until_ns = now + round(self.session.rtt.now_ns)
            for due_ns in entry.numbers.on_came(flow.flow_seq, self.session.rtt.ns, now):
                self.on_lost(due_ns, now)


def way_of(send_ts_us: int, now: Instant) -> Duration:
    """From a publisher's stamp to now: the way here, and what the clocks are apart."""
    half = 1 << STAMP_BITS - 1
    return ((stamp_us(now) - send_ts_us + half) % (2 * half) - half) * MICROSECOND
