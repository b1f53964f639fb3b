"""What rate a subscriber allows the publisher, and when it says so.

The receiver's part of TFMCC (RFC 4654), in generation 0 only: in repair rounds a subscriber cannot
tell symbols that were lost from those that were not meant for it.

1. Before its first loss event it allows twice what arrives; then what the equation says of its
   round trip and loss events; never more than its disk writes, if that is known. A queue that
   grows by 50 ms counts as the first event: it would overflow next.
2. The slowest receiver, whom the publisher names, reports once per round trip.
3. Another one reports only if it allows less than the rate in force, after a random wait (see
   `report_wait_ns`), unless the publisher meanwhile obeys somebody who allows about as little.

The publisher measures round trips, by the stamp that a report echoes, and says them in RATE.
"""

from __future__ import annotations

from math import log
from typing import Final

from penstock.bloomcast.loss_event_rate import encode_loss_event_rate
from penstock.bloomcast.settings import RateSettings
from penstock.bloomcast.stamps import since_ns
from penstock.bloomcast.subscriber.symbol_gaps import SymbolGaps
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.seeds import Seeds
from penstock.tfrc.loss_events import LossEvents
from penstock.tfrc.throughput_equation import loss_event_rate_for, tcp_throughput
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce
from penstock.wire.quantise import hold_100us

_RATE_MAX: Final = 0xFFFF_FFFF
_ROUND_TRIP_MIN_NS: Final = 100 * MICROSECOND
# A round trip above twice the least plus 50 ms means that a queue has filled.
_QUEUE_RATIO: Final = 2
_QUEUE_DELAY_NS: Final = 50 * MILLISECOND
# A round trip does not fall below this part of what was measured last.
_FALL_MAX: Final = 4
# The time constant of one-way delays, in round trips.
_DELAY_ROUND_TRIPS: Final = 2
# RFC 5348 §4.2: symbols in the first round trip.
_INITIAL_WINDOW: Final = 4
# Losses are spread over the time in which they were sent; one gap is no more events than this.
_EVENTS_A_GAP_MAX: Final = 4
# A rate in force up to this share above the own rate suppresses a report.
_TOLERANCE: Final = 0.1
# The longest wait, in round trips; down to half of it for those who allow much less than the rate
# in force. A publisher that begins doubles its rate in each; but with less too many would report.
_WAIT_ROUND_TRIPS: Final = 6
_WAIT_SHARE_MIN: Final = 0.5


def report_wait_ns(
    round_trip_ns: Duration, receivers: int, draw: float, *, allowed_share: float = 1.0
) -> Duration:
    """Most wait long and only a few report early; `draw` is uniform from 0 up to 1."""
    share = max(_WAIT_SHARE_MIN, min(allowed_share, 1.0))
    longest_ns = _WAIT_ROUND_TRIPS * round_trip_ns * share
    return max(0, round(longest_ns * (1 + log(max(draw, 1e-9)) / log(max(2, receivers)))))


class RateReporter:
    """Of one subscriber."""

    def __init__(self, seeds: Seeds, settings: RateSettings, *, node: int) -> None:
        self._rng: Final = seeds.rng("rate")
        self._settings: Final = settings
        self._node: Final = node
        self._gaps: Final = SymbolGaps()
        self._loss_events: Final = LossEvents()
        # As the publisher measured it, and as one-way delays have changed since. Until its own is
        # known a subscriber takes that of the slowest.
        self._round_trip_ns: Duration = settings.round_trip_ns
        self._is_measured = False
        # Of the way here, smoothed, with the difference of the clocks; and what is to be added.
        self._one_way_ns = 0.0
        self._return_ns: float | None = None
        # The least round trip before the first loss event.
        self._least_ns: Duration = settings.round_trip_ns
        # The mean that was measured may lag behind: delays may fall by more than there was.
        self._round_trip_min_ns: Duration = _ROUND_TRIP_MIN_NS
        # What the publisher said last.
        self._in_force_bps = 0
        self._slowest = 0
        self._disk_bps: int | None = None
        # What arrives: measured over intervals of a round trip or more.
        self._interval_at: Instant | None = None
        self._interval_bytes = 0
        self._received_bps = 0.0
        # The last symbol: its stamp, and when it came. Stamps are unwrapped to a clock that begins
        # with the first.
        self._stamp_us: int | None = None
        self._arrived_at: Instant = 0
        self._clock_ns: Instant = 0
        self._symbol_bytes = 0
        self._reported_at: Instant | None = None
        # When to report, unless somebody else does.
        self._due_at: Instant | None = None

    # What happens.

    def arrived(
        self,
        header: Header,
        numbers: tuple[int, ...],
        *,
        symbols: int,
        symbol_bytes: int,
        now: Instant,
    ) -> None:
        """Symbols of generation 0, of a block that has `symbols` of them."""
        self._symbol_bytes = symbol_bytes
        before_ns = self._clock_ns
        if self._stamp_us is not None:
            ahead_ns = since_ns(header.stamp_us, self._stamp_us)
            if ahead_ns >= 0:
                self._clock_ns += ahead_ns
                self._stamp_us, self._arrived_at = header.stamp_us, now
                self._follow_delay(ahead_ns, now)
        else:
            self._stamp_us, self._arrived_at = header.stamp_us, now
            self._one_way_ns = float(now - self._clock_ns)
        self._measure(len(numbers) * symbol_bytes, now)
        lost = self._gaps.arrived(header.block, symbols, numbers)
        is_event = (bool(lost) and self._on_lost(lost, before_ns)) or self._on_queue()
        self._loss_events.on_received(len(numbers))
        self._plan(is_event, now)

    def on_rate(self, body: RateInForce) -> None:
        """What the publisher says."""
        self._in_force_bps, self._slowest = body.rate_bps, body.slowest
        is_own = body.child == self._node
        if is_own or (not self._is_measured and body.child == body.slowest != 0):
            self._set_round_trip(body.round_trip_us * MICROSECOND)
            self._is_measured |= is_own

    def disk_rate(self, rate_bps: int | None) -> None:
        """No more is allowed than the disk writes; None: it keeps up."""
        self._disk_bps = rate_bps

    def ended(self) -> None:
        """Generation 0 is over: nothing is reported any more."""
        self._due_at = None

    # What to say.

    def due(self, now: Instant) -> AllowedRate | None:
        """The report to send now, if there is one: another may have made it superfluous."""
        if self._due_at is None or self._due_at > now:
            return None
        self._due_at = None
        if self._stamp_us is None or not (self._is_slowest or self._is_too_fast()):
            return None
        self._reported_at = now
        allowed_bps = self._allowed_bps()
        return AllowedRate(
            child=self._node,
            echo_us=self._stamp_us,
            hold_100us=hold_100us(now - self._arrived_at),
            loss_events=0
            if allowed_bps == self._disk_bps
            else encode_loss_event_rate(self._loss_events.loss_event_rate),
            received_bps=min(round(self._received_bps), _RATE_MAX),
            allowed_bps=min(round(allowed_bps), _RATE_MAX),
        )

    def next_wakeup(self) -> Instant | None:
        """When a report is due."""
        return self._due_at

    # Parts of the above.

    @property
    def _is_slowest(self) -> bool:
        return self._slowest == self._node

    def _interval_ns(self) -> Duration:
        return max(self._round_trip_ns, self._settings.interval_min_ns)

    def _allowed_bps(self) -> float:
        if self._loss_events.has_events:
            allowed_bps = tcp_throughput(
                self._symbol_bytes, self._round_trip_ns / SECOND, self._loss_events.loss_event_rate
            )
        else:
            allowed_bps = 2 * self._received_bps or _RATE_MAX
        return allowed_bps if self._disk_bps is None else min(allowed_bps, self._disk_bps)

    def _is_too_fast(self) -> bool:
        """Whether the rate in force is above what is allowed here, and nobody was named slowest."""
        if not self._slowest:
            return True
        return self._in_force_bps * (1 - _TOLERANCE) > self._allowed_bps()

    def _measure(self, size_bytes: int, now: Instant) -> None:
        if self._interval_at is None:
            # The first train came at once, in no time that is known.
            self._interval_at = now
            return
        self._interval_bytes += size_bytes
        elapsed_ns = now - self._interval_at
        if elapsed_ns >= self._interval_ns():
            self._received_bps = self._interval_bytes * SECOND / elapsed_ns
            self._interval_at, self._interval_bytes = now, 0

    def _on_lost(self, lost: int, before_ns: Instant) -> bool:
        """Notes losses between two stamps; whether any of them begins a loss event."""
        events, trip_ns = self._loss_events, self._round_trip_ns
        if not events.has_events:
            self._begin_events()
            return True
        step_ns = (self._clock_ns - before_ns) // (lost + 1)
        at_ns, begun = before_ns + step_ns, events.events
        for place in range(_EVENTS_A_GAP_MAX):
            is_last = place == _EVENTS_A_GAP_MAX - 1
            symbols = lost if is_last or not step_ns else min(lost, trip_ns // step_ns + 1)
            events.on_loss(at_ns, trip_ns)
            events.intervals.count(symbols - 1)
            lost -= symbols
            at_ns += symbols * step_ns
            if not lost:
                break
        return events.events > begun

    def _on_queue(self) -> bool:
        """A queue that fills will overflow: counts as the first loss event, if there was none."""
        if self._loss_events.has_events or self._return_ns is None:
            return False
        self._least_ns = min(self._least_ns, self._round_trip_ns)
        if self._round_trip_ns <= _QUEUE_RATIO * self._least_ns + _QUEUE_DELAY_NS:
            return False
        self._begin_events()
        return True

    def _begin_events(self) -> None:
        """The first interval is chosen so that the equation yields what arrives."""
        trip_s = self._round_trip_ns / SECOND
        rate = max(self._received_bps / self._symbol_bytes, _INITIAL_WINDOW / trip_s)
        self._loss_events.on_loss(self._clock_ns, self._round_trip_ns)
        self._loss_events.begin(1 / loss_event_rate_for(1, trip_s, rate), self._clock_ns)

    def _follow_delay(self, elapsed_ns: Duration, now: Instant) -> None:
        """The stamp of a symbol says how long it took, but for the difference of the clocks."""
        one_way_ns = now - self._clock_ns
        share = min(1.0, elapsed_ns / (_DELAY_ROUND_TRIPS * self._round_trip_ns))
        self._one_way_ns += share * (one_way_ns - self._one_way_ns)
        if self._return_ns is not None:
            self._round_trip_ns = max(
                round(self._return_ns + self._one_way_ns), self._round_trip_min_ns
            )

    def _set_round_trip(self, round_trip_ns: Duration) -> None:
        round_trip_ns = max(round_trip_ns, _ROUND_TRIP_MIN_NS)
        if self._stamp_us is not None:
            self._return_ns = round_trip_ns - self._one_way_ns
            self._round_trip_min_ns = max(round_trip_ns // _FALL_MAX, _ROUND_TRIP_MIN_NS)
        intervals = self._loss_events.intervals
        if len(intervals) == 1 and not self._is_measured:
            # The first interval was not observed, but computed for another round trip.
            intervals.scale((round_trip_ns / self._round_trip_ns) ** 2)
        self._round_trip_ns = round_trip_ns

    def _plan(self, is_event: bool, now: Instant) -> None:
        """A symbol has come: decides whether there is something to say, and when."""
        if self._is_slowest:
            at = now
            if self._reported_at is not None:
                # A loss event is said earlier than in a round trip, if that is long.
                wait_ns = self._settings.interval_min_ns if is_event else self._interval_ns()
                at = max(now, self._reported_at + wait_ns)
            self._due_at = at if self._due_at is None else min(self._due_at, at)
        elif self._due_at is None and self._is_too_fast():
            settings = self._settings
            wait_ns = report_wait_ns(
                self._interval_ns(),
                settings.receivers_assumed,
                self._rng.random(),
                allowed_share=self._allowed_bps() / max(self._in_force_bps, 1),
            )
            if self._reported_at is not None:
                wait_ns = max(wait_ns, self._reported_at + self._interval_ns() - now)
            self._due_at = now + wait_ns
