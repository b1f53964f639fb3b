"""How many messages of one flow may be on their way: TCP's window, over the flow's numbers.

After pgmcc (Rizzo 2000): who limits the flow acknowledges every message of it.

1. What is acknowledged is not outstanding any more, and makes the window larger: by one in
   slow start, else by 1/W; but only if it was full, for else it is not what limits the flow,
   and not by what had left when it was last halved.
2. A number is lost when three later ones have come. That halves the window, once for all
   that had left by then: once a round trip.
3. If nothing is acknowledged for long (RFC 6298) the window is one, and slow start begins.

Before the first acknowledgement there is no window, and after many time-outs none again: who
limits the flow may be one who sends no acknowledgements. Knows nothing of rates or tokens.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.sequence import FLOW_SEQ
from penstock.wire.frames.ack import RECEIVED_BITMAP_BITS, FlowAck

_LATER_ARRIVALS: Final = 3
_SIZE_MIN: Final = 1.0
# What may be outstanding, and so what is remembered; and before anybody acknowledges.
SIZE_MAX: Final = 4_096
_UNACKED_MAX: Final = 256
_THRESHOLD_MIN: Final = 2.0
_TIMEOUT_FIRST_NS: Final = SECOND
_TIMEOUT_MIN_NS: Final = 200 * MILLISECOND
# Time-outs in a row: nobody acknowledges any more.
_TIMEOUTS_MAX: Final = 6


class AckWindow:
    """Of one flow; no time-out is longer than `timeout_max_ns`."""

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
        # When each left that has not come yet, in their order; numbers do not wrap here.
        self._outstanding: Final[BoundedDict[int, Instant]] = BoundedDict(_UNACKED_MAX)
        self._last_extended_seq = 0
        # The last that left when there was no room for another.
        self._last_full = 0
        # The highest three that came.
        self._highest_received: list[int] = []
        # What is lost up to here changes nothing more.
        self._recovery_point = 0
        self._last_ack_ns: Instant = 0
        self._timeouts = 0
        # None before the first is measured.
        self.rtt_ns: float | None = None
        self._variation_ns = 0.0

    def __len__(self) -> int:
        return len(self._outstanding)

    # What leaves.

    def on_sent(self, flow_seq: int, now: Instant) -> None:
        """One more is on its way."""
        self._last_extended_seq = FLOW_SEQ.unwrap(flow_seq, self._last_extended_seq)
        self._outstanding[self._last_extended_seq] = now
        if not self.has_room:
            self._last_full = self._last_extended_seq

    @property
    def has_room(self) -> bool:
        """Whether one more may leave."""
        return not self.is_active or self.size - len(self._outstanding) >= 1

    def wait_ns(self, now: Instant) -> Duration:
        """Until there is room though nothing is acknowledged."""
        if self.has_room:
            return 0
        return max(0, self._timeout_at(now) - now)

    # What is heard.

    def on_ack(self, ack: FlowAck, fair_mps: float, now: Instant) -> bool:
        """Some came; `fair_mps` is what may. False if such numbers were never sent."""
        latest = FLOW_SEQ.unwrap(ack.flow_seq, self._last_extended_seq)
        if latest > self._last_extended_seq or latest < 1:
            return False
        received = self._newly_received(latest, ack.received_bitmap)
        if not received:
            # Told before, or long ago.
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
            self._grow(sum(self._recovery_point < number <= self._last_full for number in received))
        is_lost = self._remove_lost()
        if (
            is_lost or (ack.congestion_experienced and latest > self._recovery_point)
        ) and self.is_active:
            self._halve()
        return True

    def on_receiver_changed(self) -> None:
        """Another receiver acknowledges from now on: what the last one missed is no matter."""
        self._recovery_point = self._last_extended_seq

    def on_timeout(self, now: Instant) -> bool:
        """Whether nothing was heard for too long, of what is on its way."""
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

    # How it is done.

    def _newly_received(self, latest: int, received_bits: int) -> list[int]:
        """What of these was still outstanding."""
        received = []
        for extended_seq in self._outstanding:
            back = latest - extended_seq
            if back < 0:
                break
            if back == 0 or (back <= RECEIVED_BITMAP_BITS and received_bits >> back - 1 & 1):
                received.append(extended_seq)
        return received

    def _activate(self, flight: int, fair_mps: float) -> None:
        """As many as left in the first round trip; slow start up to what is fair."""
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
        """Whether any is lost that is none of an earlier halving's."""
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
