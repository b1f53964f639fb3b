"""The sending end: what to send when, and loss detection and recovery without SACK.

RFC 6582 (NewReno's recovery), RFC 6298 (the retransmission timer) and, as an option, RFC 3042
(limited transmit). The response function of TCP-friendly protocols does not model the latter,
which raises throughput above it by a fifth or more where windows are small. Segments are
numbered from 0; `_unacked` is the oldest unacknowledged one, `_next` the next to send.

1. On three duplicate acknowledgements, the oldest segment is sent again and the window halved;
   recovery lasts until all segments in flight at that time are acknowledged.
2. During recovery each further duplicate means that a segment has left the network, and lets
   one more be sent. A partial acknowledgement means that the next gap is lost too: that
   segment is sent again at once.
3. When the timer expires, all segments from the oldest on count as lost, and are sent again
   from there, in slow start.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.machine import Port, Send
from penstock.sim.tcp.segments import SEGMENT_BYTES, Ack, Segment
from penstock.sim.tcp.window import Window

RTO_MIN_NS: Final[Duration] = 200 * MILLISECOND
RTO_MAX_NS: Final[Duration] = 60 * SECOND
_RTO_INITIAL_NS: Final[Duration] = SECOND
_DUPLICATES: Final = 3


class TcpSender:
    """A machine that always has data to send on `port`."""

    def __init__(
        self,
        port: Port,
        window: Window,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        rto_min_ns: Duration = RTO_MIN_NS,
        limited_transmit: bool = False,
        window_max: int = 100_000,
    ) -> None:
        self.window = window
        self.sent = 0
        self.resent = 0
        self.timeouts = 0
        self._port = port
        self._segment_bytes = segment_bytes
        self._rto_min_ns = rto_min_ns
        self._limited_transmit = limited_transmit
        self._window_max = window_max
        self._unacked = 0
        self._next = 0
        self._highest = 0  # one above the highest segment ever sent
        self._duplicates = 0
        self._recover: int | None = None  # recovery ends when this is acknowledged
        self._inflation = 0
        self._srtt_ns: Duration | None = None
        self._rttvar_ns: Duration = 0
        self._backoff = 0
        self._deadline: Instant | None = None
        self._out: deque[Send[Segment | Ack]] = deque()

    @property
    def acknowledged(self) -> int:
        """Segments known to have arrived."""
        return self._unacked

    @property
    def srtt_ns(self) -> Duration | None:
        """The smoothed round-trip time; None before the first acknowledgement."""
        return self._srtt_ns

    @property
    def flight(self) -> int:
        """Segments sent and not acknowledged."""
        return self._next - self._unacked

    def start(self, *, now: Instant) -> None:
        """Sends the first window."""
        self._fill(now)

    def receive(self, frame: Segment | Ack, *, via: Port, now: Instant) -> None:  # noqa: ARG002
        """Handles an acknowledgement."""
        assert isinstance(frame, Ack)
        if frame.expected > self._unacked:
            self._sample(now - frame.echo)
            self._on_progress(frame.expected, now)
        elif frame.expected == self._unacked and self.flight:
            self._on_duplicate(now)
        self._fill(now)

    def wake(self, *, now: Instant) -> None:
        """Handles an expired retransmission timer."""
        if self._deadline is None or now < self._deadline:
            return
        self.timeouts += 1
        self.window.on_timeout(self._in_network(), now=now)
        self._backoff = min(self._backoff + 1, 6)
        self._recover = None
        self._duplicates = 0
        self._inflation = 0
        self._next = self._unacked
        self._arm(now)
        self._fill(now)

    def next_wakeup(self) -> Instant | None:
        """When the retransmission timer expires."""
        return self._deadline

    def poll(self) -> Send[Segment | Ack] | None:
        """The next segment."""
        return self._out.popleft() if self._out else None

    def _on_progress(self, expected: int, now: Instant) -> None:
        segments = expected - self._unacked
        self._unacked = expected
        self._next = max(self._next, expected)
        self._backoff = 0
        if self._recover is None:
            self._duplicates = 0
            self.window.on_progress(segments, srtt=self._srtt_ns or 0, now=now)
        elif expected >= self._recover:
            self._recover = None
            self._duplicates = 0
            self._inflation = 0
        else:  # partial acknowledgement: the next gap is lost too
            self._inflation = max(0, self._inflation - segments + 1)
            self._send(self._unacked, now)
        self._arm(now)

    def _on_duplicate(self, now: Instant) -> None:
        self._duplicates += 1
        if self._recover is not None:
            self._inflation += 1
        elif self._duplicates == _DUPLICATES:
            self._recover = self._highest
            self.window.on_loss(self._in_network(), now=now)
            self._inflation = _DUPLICATES
            self._send(self._unacked, now)
            self._arm(now)

    def _in_network(self) -> int:
        """Segments in flight, less an estimate of those that arrived behind a gap."""
        return max(1, min(self.flight, int(self.window.size)))

    def _fill(self, now: Instant) -> None:
        allowance = int(min(self.window.size, self._window_max)) + self._inflation
        if self._limited_transmit and self._recover is None and self._duplicates < _DUPLICATES:
            allowance += self._duplicates
        while self.flight < allowance:
            self._send(self._next, now)
            self._next += 1
            if self._deadline is None:
                self._arm(now)

    def _send(self, number: int, now: Instant) -> None:
        self.sent += 1
        self.resent += number < self._highest
        self._highest = max(self._highest, number + 1)
        self._out.append(Send(self._port, Segment(number, now, self._segment_bytes)))

    def _sample(self, rtt_ns: Duration) -> None:
        if self._srtt_ns is None:
            self._srtt_ns = rtt_ns
            self._rttvar_ns = rtt_ns // 2
        else:
            self._rttvar_ns += (abs(self._srtt_ns - rtt_ns) - self._rttvar_ns) // 4
            self._srtt_ns += (rtt_ns - self._srtt_ns) // 8

    def _arm(self, now: Instant) -> None:
        if self._srtt_ns is None:
            rto_ns = _RTO_INITIAL_NS
        else:
            rto_ns = max(self._rto_min_ns, self._srtt_ns + 4 * self._rttvar_ns)
        self._deadline = now + min(rto_ns << self._backoff, RTO_MAX_NS)
