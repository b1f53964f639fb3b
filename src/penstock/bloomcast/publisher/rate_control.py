"""The rate of a publisher: what its slowest receiver allows (the sender's part of TFMCC, RFC 4654).

1. It begins low and doubles with each report of the slowest receiver, though never beyond twice
   what arrives there, until somebody has a loss event.
2. A receiver that allows less than the rate in force becomes the slowest. Its round trip is
   measured here by the stamp that it echoes, so the equation is computed again with that.
3. The rate grows by a tenth of what arrives at the slowest, or one symbol, in a round trip.
4. Without a report of the slowest for four round trips the rate is halved, though not below eight
   symbols a second, and whoever answers first is the slowest.
5. It is never below `rate_min_bps`, if there is one: a receiver that allows less, and does not get
   what is sent, is slow, and goes after a while.

Controls generation 0 alone; repairs go at its mean rate, or at its last one if that is lower.
"""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.loss_event_rate import decode_loss_event_rate
from penstock.bloomcast.settings import RateSettings
from penstock.bloomcast.stamps import since_ns, stamp
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MICROSECOND, SECOND, Duration, Instant
from penstock.tfrc.throughput_equation import tcp_throughput
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce
from penstock.wire.quantise import delta_ns

_RATE_MAX: Final = 0xFFFF_FFFF
_RECEIVERS_MAX: Final = 1_024
_ROUND_TRIP_MIN_NS: Final = 100 * MICROSECOND
_ROUND_TRIP_MAX_NS: Final = 10 * SECOND
# Weight of the old mean: the slowest receiver is measured often, and must not jump. With TFRC's 0.9
# it takes seconds to forget a queue that has gone.
_SMOOTHING_SLOWEST: Final = 0.75
_SMOOTHING: Final = 0.5
_GROWTH: Final = 1.1
_SILENT_ROUND_TRIPS: Final = 4
# In the ten seconds that silence is borne, somebody must get some of them though most are lost.
_SYMBOLS_A_SECOND_MIN: Final = 8
# A receiver that gets less of what is sent has no way to the publisher that bears the rate.
_ENOUGH: Final = 0.75


class RateControl:
    """Of one transfer; rates are in bytes of symbols a second."""

    def __init__(
        self, settings: RateSettings, *, rate_max_bps: int | None, symbol_bytes: int
    ) -> None:
        self._settings: Final = settings
        self._symbol_bytes: Final = symbol_bytes
        self._rate_max_bps: Final = min(rate_max_bps or _RATE_MAX, _RATE_MAX)
        self._rate_bps = 0.0
        if settings.is_controlled:
            self._set(settings.first_bps)
        else:
            self._set(rate_max_bps or settings.uncontrolled_bps)
        # 0: nobody yet, or nobody any more.
        self.slowest = 0
        # What it allows, which may be below the minimum: others who allow more need not say so.
        self._allowed_by_slowest_bps = float(_RATE_MAX)
        self._grown_at: Instant = 0
        # Of generation 0: its beginning, and what it was allowed to send until the last change.
        self._began_at: Instant = 0
        self._changed_at: Instant = 0
        self._allowed_bytes = 0.0
        # When somebody else than the slowest was told its round trip; and all who were.
        self._answered_at: Instant = 0
        self._told: Final[BoundedDict[int, None]] = BoundedDict(_RECEIVERS_MAX)
        self._silent_at: Instant | None = None
        # When the slowest was heard last, or was named.
        self.followed_at: Instant = 0
        self._round_trips_ns: Final[BoundedDict[int, float]] = BoundedDict(
            _RECEIVERS_MAX, recent=True
        )
        # Since when a receiver has allowed less than the minimum and not got it.
        self._slow_since: Final[BoundedDict[int, Instant]] = BoundedDict(_RECEIVERS_MAX)

    @property
    def rate_bps(self) -> int:
        """The rate in force."""
        return round(self._rate_bps)

    def next_wakeup(self) -> Instant | None:
        """When the slowest receiver has been silent for too long."""
        return self._silent_at

    # Generation 0.

    @property
    def is_running(self) -> bool:
        """Whether it has begun, and is not over."""
        return self._silent_at is not None

    def begin(self, slowest: int, round_trip_ns: Duration | None, now: Instant) -> RateInForce:
        """It begins; the slowest is the farthest, as nothing else is known."""
        if round_trip_ns is not None:
            self._round_trips_ns[slowest] = max(round_trip_ns, _ROUND_TRIP_MIN_NS)
        self._follow(slowest, _RATE_MAX, now)
        self._began_at = self._changed_at = now
        self._allowed_bytes = 0.0
        return self._in_force(slowest)

    def end(self, now: Instant) -> None:
        """It is over."""
        if self._silent_at is None:
            return
        self._silent_at = None
        self._account(now)
        if now > self._began_at:
            # The last rate may have been a peak, and repairs that are lost are not noticed.
            mean_bps = self._allowed_bytes * SECOND / (now - self._began_at)
            self._set(min(self._rate_bps, mean_bps))

    def _account(self, now: Instant) -> None:
        self._allowed_bytes += self._rate_bps * (now - self._changed_at) / SECOND
        self._changed_at = now

    def on_report(self, report: AllowedRate, now: Instant) -> RateInForce | None:
        """A receiver says what it allows; returns what to say to all."""
        if self._silent_at is None:
            return None
        self._account(now)
        child = report.child
        is_new = child not in self._told
        if not self._measure(report, now):
            return None
        allowed_bps = self._allowed_bps(report)
        if child == self.slowest:
            self._follow(child, allowed_bps, now)
            if allowed_bps < self._rate_bps:
                self._set(allowed_bps)
            else:
                self._grow(report, allowed_bps, now)
        elif allowed_bps < min(self._rate_bps, self._allowed_by_slowest_bps) or not self.slowest:
            self._follow(child, allowed_bps, now)
            self._set(min(allowed_bps, self._rate_bps))
        elif not is_new or now - self._answered_at < self._settings.interval_min_ns:
            # An answer goes to all: when many report at once, few are told their round trip.
            return None
        else:
            self._answered_at = now
        return self._in_force(child)

    def wake(self, now: Instant, *, has_sent: bool = True) -> RateInForce | None:
        """Halves the rate when nothing is heard of the slowest, though something was sent."""
        if self._silent_at is None or self._silent_at > now:
            return None
        if not has_sent:
            self._follow(self.slowest, self._allowed_by_slowest_bps, now)
            return None
        self._account(now)
        least_bps = min(self._rate_bps, _SYMBOLS_A_SECOND_MIN * self._symbol_bytes)
        self._set(max(self._rate_bps / 2, least_bps))
        self._follow(0, _RATE_MAX, now)
        return self._in_force(0)

    def is_slow(self, report: AllowedRate, now: Instant) -> bool:
        """Whether a receiver has been below the minimum for so long that it is left behind."""
        settings = self._settings
        least_bps, child = settings.rate_min_bps, report.child
        if least_bps is None:
            return False
        gets_enough = not _limits_itself(report) and report.received_bps >= _ENOUGH * least_bps
        if gets_enough or self._allowed_bps(report) >= least_bps:
            self._slow_since.pop(child, None)
            return False
        since = self._slow_since.setdefault(child, now)
        return now - since >= settings.slow_ns

    def left(self, child: int, now: Instant) -> RateInForce | None:
        """A receiver is gone; if it was the slowest, anyone may be the next."""
        self._slow_since.pop(child, None)
        if child != self.slowest:
            return None
        self._follow(0, _RATE_MAX, now)
        return self._in_force(0)

    # Parts of the above.

    def _round_trip_ns(self, child: int) -> float:
        return self._round_trips_ns.get(child, self._settings.round_trip_ns)

    def _measure(self, report: AllowedRate, now: Instant) -> bool:
        """Whether the echo is one."""
        after_ns = since_ns(stamp(now), report.echo_us)
        sample_ns = max(after_ns - delta_ns(report.hold_100us), _ROUND_TRIP_MIN_NS)
        if after_ns < 0 or sample_ns > _ROUND_TRIP_MAX_NS:
            return False
        known_ns = self._round_trips_ns.get(report.child)
        if known_ns is not None:
            share = _SMOOTHING_SLOWEST if report.child == self.slowest else _SMOOTHING
            self._round_trips_ns[report.child] = share * known_ns + (1 - share) * sample_ns
        else:
            self._round_trips_ns[report.child] = sample_ns
        return True

    def _allowed_bps(self, report: AllowedRate) -> float:
        if not report.loss_events:
            if _limits_itself(report):
                return report.allowed_bps
            # What arrives in the first moments says little.
            return max(report.allowed_bps, self._settings.first_bps)
        return tcp_throughput(
            self._symbol_bytes,
            self._round_trip_ns(report.child) / SECOND,
            decode_loss_event_rate(report.loss_events),
        )

    def _grow(self, report: AllowedRate, allowed_bps: float, now: Instant) -> None:
        round_trip_ns = self._round_trip_ns(report.child)
        if not report.loss_events:
            if now - self._grown_at >= max(round_trip_ns, self._settings.interval_min_ns):
                self._grown_at = now
                self._set(min(2 * self._rate_bps, allowed_bps))
            return
        received_bps = report.received_bps
        grown_bps = max(
            _GROWTH * received_bps, received_bps + self._symbol_bytes * SECOND / round_trip_ns
        )
        self._set(min(allowed_bps, grown_bps))

    def _set(self, rate_bps: float) -> None:
        # One symbol a second: as slow as it is worth while to be.
        least_bps = self._settings.rate_min_bps or self._symbol_bytes
        self._rate_bps = max(min(rate_bps, self._rate_max_bps), least_bps)

    def _follow(self, slowest: int, allowed_bps: float, now: Instant) -> None:
        """This one is the slowest, and was heard now."""
        self.slowest, self._allowed_by_slowest_bps = slowest, allowed_bps
        silent_ns = max(
            round(_SILENT_ROUND_TRIPS * self._round_trip_ns(self.slowest)),
            self._settings.silence_min_ns,
        )
        self.followed_at, self._silent_at = now, now + silent_ns

    def _in_force(self, child: int) -> RateInForce:
        self._told[child] = None
        return RateInForce(
            child=child,
            round_trip_us=round(self._round_trip_ns(child)) // MICROSECOND,
            rate_bps=round(min(self._rate_bps, self._allowed_by_slowest_bps)),
            slowest=self.slowest,
        )


def _limits_itself(report: AllowedRate) -> bool:
    """Whether its disk is slow: otherwise it allows twice what comes, before a loss event."""
    return not report.loss_events and report.allowed_bps < 2 * report.received_bps - 1
