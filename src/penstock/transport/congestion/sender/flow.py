"""One controlled flow: its quota, tokens, window and sequence numbers.

Does not know which receiver may change it: see `flow_table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.content.filter import Filter
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.sequence import FLOW_SEQ
from penstock.kernel.token_bucket import TokenBucket
from penstock.tfrc.rate_meter import RateMeter
from penstock.transport.congestion.laws.ack_window import AckWindow
from penstock.transport.congestion.repair_allowance import REPAIRS_SHARE, burst_depth
from penstock.wire.quantise import quantise_rate

# With an active window the token rate is this multiple of the quota: a receiver that claims to
# be the slowest, but acknowledges messages it never received, is held near its claim.
_HEADROOM: Final = 2.0
# For one second after a change of limiting receiver, the quota may grow by at most 25 %: the
# previous limiting receiver needs that long to notice and to report again.
_PREVIOUS_LIMIT_NS: Final = SECOND
_PREVIOUS_LIMIT_GROWTH_MAX: Final = 1.25
# Within this interval a quota grows at most fourfold, or by 10 messages per second.
_GROWTH_INTERVAL_NS: Final = 100 * MILLISECOND
_GROWTH_MIN_MPS: Final = 10.0


class ControlledFlow:
    """One flow of a publisher and its limiting receiver (`clr`)."""

    __slots__ = (
        "_growth_base_mps",
        "_growth_base_ns",
        "advertised_mps",
        "announced_round",
        "bits",
        "bucket",
        "clr",
        "filter",
        "id",
        "is_orphan",
        "last_adjusted_ns",
        "last_feedback_ns",
        "last_seq",
        "limiting_since_ns",
        "narrower",
        "offered",
        "previous_limit_mps",
        "previous_limit_until",
        "quota_mps",
        "repair_bucket",
        "rtt_ns",
        "wider",
        "window",
    )

    def __init__(
        self, id_: int, filter_: Filter | None, bits: int, clr: int, quota_mps: float, now: Instant
    ) -> None:
        self.id: Final = id_
        # None: the flow is defined by its Bloom set only.
        self.filter: Final = filter_
        self.bits: Final = bits
        self.clr = clr
        self.quota_mps = quota_mps
        # Only with the window law.
        self.window: AckWindow | None = None
        self.bucket: Final = _flow_bucket(quota_mps, now)
        # The rate of submitted messages, sent or not.
        self.offered: Final = RateMeter()
        # Tokens of repairs: a tenth of the quota.
        self.repair_bucket: Final = _flow_bucket(REPAIRS_SHARE * quota_mps, now)
        self.rtt_ns: Duration = 0
        self.last_feedback_ns = self.limiting_since_ns = self.last_adjusted_ns = now
        self.is_orphan = False
        # The quota of the previous limiting receiver, and until when it bounds growth.
        self.previous_limit_mps = quota_mps
        self.previous_limit_until: Instant = now
        # The quota and time from which the fourfold growth limit counts.
        self._growth_base_mps = quota_mps
        self._growth_base_ns = now
        # The last flow sequence number, and the round of the last announcement.
        self.last_seq = 0
        self.announced_round: int | None = None
        # The flows that cover this one, and those that it covers.
        self.wider: Final[dict[int, ControlledFlow]] = {}
        self.narrower: Final[dict[int, ControlledFlow]] = {}
        # The quota as rounded in the DATA header.
        self.advertised_mps = quantise_rate(quota_mps)

    def set_quota(self, quota_mps: float, now: Instant) -> None:
        """Set the quota and the token rates; an active window gets twice the token rate."""
        self.quota_mps = quota_mps
        rate_mps = quota_mps * (_HEADROOM if self._has_window else 1)
        self.bucket.set_rate(rate_mps, now, depth=burst_depth(rate_mps))
        repairs_mps = REPAIRS_SHARE * quota_mps
        self.repair_bucket.set_rate(repairs_mps, now, depth=burst_depth(repairs_mps))
        self.advertised_mps = quantise_rate(quota_mps)

    def change_limiting_receiver(self, previous_quotas_mps: Sequence[float], now: Instant) -> None:
        """Bound growth by the lowest quota of the flows that this one replaces, if any."""
        if previous_quotas_mps:
            self.previous_limit_mps = min(previous_quotas_mps)
            self.previous_limit_until = now + _PREVIOUS_LIMIT_NS

    def accepted_quota(self, quota_mps: float, now: Instant) -> float:
        """The part of a requested quota that the growth limits allow."""
        if (
            not 0 <= now - self._growth_base_ns < _GROWTH_INTERVAL_NS
            or quota_mps < self._growth_base_mps
        ):
            self._growth_base_mps, self._growth_base_ns = min(self.quota_mps, quota_mps), now
        max_mps = max(4 * self._growth_base_mps, self._growth_base_mps + _GROWTH_MIN_MPS)
        if 0 <= self.previous_limit_until - now <= _PREVIOUS_LIMIT_NS:
            max_mps = min(max_mps, _PREVIOUS_LIMIT_GROWTH_MAX * self.previous_limit_mps)
        return min(quota_mps, max_mps)

    @property
    def _has_window(self) -> bool:
        return self.window is not None and self.window.is_active and not self.is_orphan

    def is_open(self, now: Instant) -> bool:
        """Whether a message may leave now; also expires the window's time-out."""
        if self.window is not None and self._has_window:
            if self.window.on_timeout(now):
                # Announce again: the limiting receiver may not know that it should acknowledge.
                self.announced_round = None
            if not self.window.has_room:
                return False
        return self.bucket.ready_at(now) <= now

    def ready_ns(self, now: Instant) -> Instant:
        """When the next message may leave; in the past if it already may."""
        at = self.bucket.ready_at(now)
        if self.window is not None and self._has_window:
            at = max(at, now + self.window.wait_ns(now))
        return at

    def next_seq(self, now: Instant) -> None:
        """Assign the next sequence number to a message that leaves."""
        self.last_seq = (self.last_seq + 1) & FLOW_SEQ.mask
        if self.window is not None:
            self.window.on_sent(self.last_seq, now)


def _flow_bucket(rate_mps: float, now: Instant) -> TokenBucket:
    """A bucket with one token, for the first message of the flow."""
    return TokenBucket(rate_mps, depth=burst_depth(rate_mps), tokens=1.0, now=now)
