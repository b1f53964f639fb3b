"""A TCP-like window over the sequence numbers of one flow.

After pgmcc (Rizzo 2000): the limiting receiver acknowledges every message of the flow.

1. An acknowledged message is no longer outstanding and enlarges the window: by one in slow
   start, otherwise by 1/W. Messages sent while the window had room do not enlarge it, because
   it did not limit the flow then; nor do messages sent before the last halving.
2. A message is lost when three later ones have arrived. A loss halves the window, once for all
   messages sent before that: at most once per round trip.
3. After a time-out without acknowledgements (RFC 6298) the window is one and slow start begins.

The window is inactive before the first acknowledgement, and again after six time-outs in a row:
the limiting receiver may be one that sends no acknowledgements. Does not know rates or tokens.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.sequence import FLOW_SEQ
from penstock.wire.frames.ack import RECEIVED_BITMAP_BITS, FlowAck

_LATER_ARRIVALS: Final = 3
_SIZE_MIN: Final = 1.0
# Bounds on the outstanding messages remembered: while the window is active, and while not.
SIZE_MAX: Final = 4_096
_UNACKED_MAX: Final = 256
_THRESHOLD_MIN: Final = 2.0
_TIMEOUT_FIRST_NS: Final = SECOND
_TIMEOUT_MIN_NS: Final = 200 * MILLISECOND
# After this many consecutive time-outs the window becomes inactive.
_TIMEOUTS_MAX: Final = 6


class AckWindow:
    """The window of one flow; no time-out is longer than `timeout_max_ns`."""

    __slots__ = (
        "_highest_received",
        "_last_ack_ns",
        "_last_extended_seq",
        "_last_full",
        "_outstanding",
        "_recovery_point",
        "_threshold",
        "_timeout_max_ns",
        "_timeouts",
        "_variation_ns",
        "is_active",
        "rtt_ns",
        "size",
    )

    def __init__(self, timeout_max_ns: Duration) -> None:
        self._timeout_max_ns: Final = max(_TIMEOUT_MIN_NS, timeout_max_ns)
        self.is_active = False
        self.size = _THRESHOLD_MIN
        self._threshold = _THRESHOLD_MIN
        # Send time of each outstanding message by extended sequence number, in sending order.
        self._outstanding: Final[BoundedDict[int, Instant]] = BoundedDict(_UNACKED_MAX)
        self._last_extended_seq = 0
        # The last message that filled the window.
        self._last_full = 0
        # The three highest acknowledged sequence numbers.
        self._highest_received: list[int] = []
        # Losses up to this sequence number belong to an earlier halving.
        self._recovery_point = 0
        self._last_ack_ns: Instant = 0
        self._timeouts = 0
        # None before the first measurement.
        self.rtt_ns: float | None = None
        self._variation_ns = 0.0

    def __len__(self) -> int:
        return len(self._outstanding)

    # Sending.

    def on_sent(self, flow_seq: int, now: Instant) -> None:
        """Record a message as outstanding."""
        self._last_extended_seq = FLOW_SEQ.unwrap(flow_seq, self._last_extended_seq)
        self._outstanding[self._last_extended_seq] = now
        if not self.has_room:
            self._last_full = self._last_extended_seq

    @property
    def has_room(self) -> bool:
        """Whether another message may leave."""
        return not self.is_active or self.size - len(self._outstanding) >= 1

    def wait_ns(self, now: Instant) -> Duration:
        """The time until the window has room even if nothing is acknowledged."""
        if self.has_room:
            return 0
        return max(0, self._timeout_at(now) - now)

    # Acknowledgements and time-outs.

    def on_ack(self, ack: FlowAck, fair_mps: float, now: Instant) -> bool:
        """Apply an acknowledgement; return False if its sequence number was never sent.

        `fair_mps`, the quota of the flow, sets the slow-start threshold of a new window.
        """
        latest = FLOW_SEQ.unwrap(ack.flow_seq, self._last_extended_seq)
        if latest > self._last_extended_seq or latest < 1:
            return False
        received = self._newly_received(latest, ack.received_bitmap)
        if not received:
            # All of it was acknowledged before, or is no longer remembered.
            return True
        flight = len(self._outstanding)
        sent_ns = self._outstanding.get(latest)
        if sent_ns is not None:
            self._measure(now - sent_ns)
        for extended_seq in received:
            del self._outstanding[extended_seq]
        self._highest_received = sorted([*self._highest_received, *received])[-_LATER_ARRIVALS:]
        self._last_ack_ns, self._timeouts = now, 0
        if not self.is_active:
            self._activate(flight, fair_mps)
        else:
            self._grow(sum(self._recovery_point < seq <= self._last_full for seq in received))
        is_lost = self._remove_lost()
        if (
            is_lost or (ack.congestion_experienced and latest > self._recovery_point)
        ) and self.is_active:
            self._halve()
        return True

    def on_receiver_changed(self) -> None:
        """Another receiver acknowledges from now on: ignore losses of the previous one."""
        self._recovery_point = self._last_extended_seq

    def on_timeout(self, now: Instant) -> bool:
        """Reset the window if the time-out has expired; return whether it had."""
        if not self.is_active or not self._outstanding or now < self._timeout_at(now):
            return False
        self._threshold = max(_THRESHOLD_MIN, self.size / 2)
        self.size = _SIZE_MIN
        self._outstanding.clear()
        self._recovery_point = self._last_extended_seq
        self._timeouts += 1
        if self._timeouts >= _TIMEOUTS_MAX:
            self.is_active, self._timeouts = False, 0
            self._outstanding.resize(_UNACKED_MAX)
        return True

    # Internals.

    def _newly_received(self, latest: int, received_bits: int) -> list[int]:
        """Outstanding messages that an acknowledgement covers."""
        received = []
        for extended_seq in self._outstanding:
            back = latest - extended_seq
            if back < 0:
                break
            if back == 0 or (back <= RECEIVED_BITMAP_BITS and received_bits >> back - 1 & 1):
                received.append(extended_seq)
        return received

    def _activate(self, flight: int, fair_mps: float) -> None:
        """Start with the messages in flight as the size, and slow start up to the fair rate."""
        assert self.rtt_ns is not None or flight
        self.is_active = True
        self._outstanding.resize(SIZE_MAX)
        self.size = max(_THRESHOLD_MIN, float(flight))
        fair = fair_mps * (self.rtt_ns or 0) / SECOND
        self._threshold = max(_THRESHOLD_MIN, min(fair, SIZE_MAX))

    def _grow(self, count: int) -> None:
        for _ in range(count):
            self.size += 1 if self.size < self._threshold else 1 / self.size
        self.size = min(self.size, SIZE_MAX)

    def _halve(self) -> None:
        self.size = max(_SIZE_MIN, self.size / 2)
        self._threshold = max(_THRESHOLD_MIN, self.size)
        self._recovery_point = self._last_extended_seq

    def _remove_lost(self) -> bool:
        """Remove lost messages; return whether any of them calls for another halving."""
        if len(self._highest_received) < _LATER_ARRIVALS:
            return False
        is_new = False
        while self._outstanding:
            extended_seq = next(iter(self._outstanding))
            if extended_seq >= self._highest_received[0]:
                break
            del self._outstanding[extended_seq]
            is_new |= extended_seq > self._recovery_point
        return is_new

    def _measure(self, sample_ns: Duration) -> None:
        if self.rtt_ns is None:
            self.rtt_ns, self._variation_ns = sample_ns, sample_ns / 2
            return
        self._variation_ns += (abs(sample_ns - self.rtt_ns) - self._variation_ns) / 4
        self.rtt_ns += (sample_ns - self.rtt_ns) / 8

    def _timeout_at(self, now: Instant) -> Instant:
        timeout_ns: float = _TIMEOUT_FIRST_NS
        if self.rtt_ns is not None:
            timeout_ns = max(_TIMEOUT_MIN_NS, self.rtt_ns + 4 * self._variation_ns)
        timeout_ns = min(timeout_ns * 2**self._timeouts, self._timeout_max_ns)
        since_ns = max(next(iter(self._outstanding.values())), self._last_ack_ns)
        if now < since_ns:
            # The clock was set back: treat all outstanding messages as sent now.
            since_ns = self._last_ack_ns = now
            for extended_seq in self._outstanding:
                self._outstanding[extended_seq] = now
        return since_ns + round(timeout_ns)
