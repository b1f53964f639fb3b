"""Slows publishers of one pubend down while hosts fall behind or catch up.

Asks hosts how they are, has a law turn what they say into a rate, and measures what publishers
want. It knows nothing of their messages: whoever has some asks whether one may be taken now.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.guaranteed.pubend.message_counts import MessageCounts
from penstock.guaranteed.rate.base import RateLaw
from penstock.guaranteed.rate.demand import PublisherDemand
from penstock.guaranteed.tick import ms_of
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.token_bucket import TokenBucket
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
)

_PERIOD_NS: Final = SECOND
_SHORT_PERIOD_NS: Final = 250 * MILLISECOND
# Hosts are asked more often for so long after publishers were last slowed down.
_AFTERMATH_NS: Final = 5 * SECOND
# What may be taken at once after a pause.
_BURST_S: Final = 0.05


class Throttle:
    """Of one pubend."""

    def __init__(
        self, pubend: int, law: RateLaw | None, *, quickens: bool, start: int, now: Instant
    ) -> None:
        self._pubend: Final = pubend
        # None: nobody is slowed down, but hosts still hear where the pubend is.
        self._law: Final = law
        # Whether hosts are asked more often while publishers are slowed down.
        self._quickens: Final = quickens
        # Of this life: relays and hosts compare it with what the last life has asked.
        self._seq = ms_of(start)
        self._asks_at: Instant = now
        self._throttled_at: Instant | None = None
        self._counts: Final = MessageCounts(start)
        self._demands: Final[dict[str, PublisherDemand]] = {}
        # Of all together: those that publish now and then do not do so at the same time.
        self._joint_demand: PublisherDemand | None = None
        # What these want was measured before publishers were slowed down, and counts until the end:
        # while messages wait, nobody knows whether the next one comes because, or although they do.
        self._measured: Final[set[str]] = set()
        self._bucket: TokenBucket | None = None
        # Publishers of which messages wait.
        self._waiting: Final[set[str]] = set()
        # For how long publishers got less than they want, and since when that has not been added.
        self._throttled_ns: Duration = 0
        self._since: Instant | None = None

    @property
    def rate(self) -> float | None:
        """How many messages a second may be taken; None for all."""
        return None if self._law is None else self._law.rate

    @property
    def limited_by(self) -> str | None:
        """The host that publishers were last slowed down for, if it is known."""
        return None if self._law is None else self._law.limited_by

    def throttled_ns(self, now: Instant) -> Duration:
        """For how long publishers might publish less than they want."""
        return self._throttled_ns + (0 if self._since is None else now - self._since)

    def demand(self, now: Instant) -> float:
        """What all connected publishers want together, in messages a second."""
        if self._joint_demand is None:
            return 0.0
        joint, demands = self._joint_demand.rate(now=now), self._demands.values()
        if any(demand.is_new for demand in demands):
            # It may have been here before: a program connects again, and at once has to wait.
            return joint
        return min(joint, sum(demand.rate(now=now) for demand in demands))

    # Publishers

    def arrived(self, publisher: str, messages: int, *, now: Instant) -> None:
        """A publisher has sent messages."""
        demand = self._demands.get(publisher)
        if demand is None:
            demand = self._demands[publisher] = PublisherDemand(now)
        demand.arrived(messages, now=now)
        if self._joint_demand is None:
            self._joint_demand = PublisherDemand(now)
        self._joint_demand.arrived(messages, now=now)

    def wait(self, publisher: str, is_waiting: bool, *, now: Instant) -> None:
        """Messages of a publisher wait from now on, or no more."""
        (self._waiting.add if is_waiting else self._waiting.discard)(publisher)
        demand = self._demands.get(publisher)
        if demand is not None and publisher not in self._measured:
            demand.wait(is_waiting, now=now)

    def gone(self, publisher: str) -> None:
        """A publisher has disconnected: it wants nothing any more."""
        self._demands.pop(publisher, None)
        self._waiting.discard(publisher)
        self._measured.discard(publisher)

    def logged(self, tick: int, messages: int) -> None:
        """Messages have been taken, the last one at this tick."""
        self._counts.add(tick, messages)

    def may_take(self, now: Instant) -> bool:
        """Whether one message may be taken now; then it counts as taken."""
        if self._bucket is None:
            return True
        if self._bucket.ready_at(now) > now:
            return False
        # Not `try_take`: at `ready_at` rounding may leave a billionth of a token missing, and a
        # broker that wakes then would wake for ever.
        self._bucket.take(now)
        return True

    def ready_at(self, now: Instant) -> Instant:
        """When one may be taken."""
        return now if self._bucket is None else self._bucket.ready_at(now)

    # Hosts

    def on_alert(self, frame: CongestionAlert, *, now: Instant) -> None:
        """UCA: hosts complain."""
        if self._law is not None:
            self._law.on_alert(frame, demand=self.demand(now), now=now)
            self._follow(now)

    def on_report(self, frame: CongestionReport, *, now: Instant) -> None:
        """REPORT: hosts have said how they are."""
        if self._law is not None:
            joint = self._joint_demand
            if self.rate is None and joint is not None and not joint.is_settled(now=now):
                # What publishers want would be measured with the little that has come so far, and
                # count until the end of the recovery, which can wait.
                frame = msgspec.structs.replace(frame, recovering=None)
            self._law.on_report(
                frame,
                demand=self.demand(now),
                logged=self._counts.between,
                is_drained=not self._waiting,
            )
            self._follow(now)

    # Time

    def wake(self, newest: int, *, now: Instant) -> CongestionQuery | None:
        """Asks hosts when it is time to; `newest` is the last decided tick."""
        if now < self._asks_at:
            return None
        if self._law is not None:
            # Not whenever a message may be taken: what all publishers want takes time to add up.
            is_drained = not self._waiting
            self._law.wake(demand=self.demand(now), now=now, is_drained=is_drained)
            self._follow(now)
        self._asks_at = now + self._period_ns(now)
        self._seq += 1
        if self._law is not None:
            self._law.on_query(self._seq, newest)
        return CongestionQuery(pubend=self._pubend, seq=self._seq, newest=newest)

    def next_wakeup(self) -> Instant:
        """The next query."""
        return self._asks_at

    def _period_ns(self, now: Instant) -> Duration:
        at = self._throttled_at
        is_short = self._quickens and at is not None and now <= at + _AFTERMATH_NS
        return _SHORT_PERIOD_NS if is_short else _PERIOD_NS

    def _follow(self, now: Instant) -> None:
        """Has the bucket fill at the rate of the law."""
        rate = self.rate
        self._count_time(rate, now)
        if rate is None:
            self._bucket = None
            for publisher in self._measured:
                self._demands[publisher].wait(False, now=now)
            self._measured.clear()
            if self._joint_demand is not None:
                self._joint_demand.wait(False, now=now)
            return
        if self._quickens:
            # Hosts are asked soon, when they are asked more often from now on.
            self._asks_at = min(self._asks_at, now + _SHORT_PERIOD_NS)
        self._throttled_at = now
        depth = max(1.0, rate * _BURST_S)
        if self._bucket is None:
            self._bucket = TokenBucket(rate, depth=depth, tokens=0.0, now=now)
            if self._joint_demand is not None:
                self._joint_demand.wait(True, now=now)
            for publisher, demand in self._demands.items():
                if publisher not in self._waiting:
                    self._measured.add(publisher)
                    demand.wait(True, now=now)
        elif self._bucket.rate_per_s != rate:
            self._bucket.set_rate(rate, now, depth=depth)

    def _count_time(self, rate: float | None, now: Instant) -> None:
        """Adds the time since the last look, if publishers were slowed down in it."""
        self._throttled_ns = self.throttled_ns(now)
        # Above what they want, what has waited goes out: that slows nobody down.
        self._since = now if rate is not None and rate < self.demand(now) else None
