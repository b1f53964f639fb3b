"""One flow that a publisher controls: when its next message may leave, and what number it gets.

Knows nothing of other flows, nor of who may ask for what: see `table`.
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

# How much faster than it says the receiver that acknowledges may be: who claims to be the
# slowest and acknowledges what never came is held to its claim.
_HEADROOM: Final = 2.0
# For so long who has taken a flow over makes it hardly quicker than it was: whoever limited it
# before knew what it bears, and must have the time to find out that another limits it now.
_PREVIOUS_LIMIT_NS: Final = SECOND
_PREVIOUS_LIMIT_GROWTH_MAX: Final = 1.25
# Nobody makes a flow more than four times as quick, or by so much, within this.
_GROWTH_INTERVAL_NS: Final = 100 * MILLISECOND
_GROWTH_MIN_MPS: Final = 10.0


class ControlledFlow:
    """One flow."""

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
        # None: known by its Bloom set only.
        self.filter: Final = filter_
        self.bits: Final = bits
        self.clr = clr
        self.quota_mps = quota_mps
        # What is acknowledged, with that law.
        self.window: AckWindow | None = None
        self.bucket: Final = _flow_bucket(quota_mps, now)
        # What is offered to it, sent or not.
        self.offered: Final = RateMeter()
        # Of repairs, a tenth of what messages have.
        self.repair_bucket: Final = _flow_bucket(REPAIRS_SHARE * quota_mps, now)
        self.rtt_ns: Duration = 0
        self.last_feedback_ns = self.limiting_since_ns = self.last_adjusted_ns = now
        self.is_orphan = False
        # What whoever limited it before bore, and until when it is not forgotten.
        self.previous_limit_mps = quota_mps
        self.previous_limit_until: Instant = now
        # What it was when it was last looked at whether it grows too quickly, and when.
        self._growth_base_mps = quota_mps
        self._growth_base_ns = now
        # The number of the last message, and the round in which it was last announced.
        self.last_seq = 0
        self.announced_round: int | None = None
        # The flows that cover it, and those that it covers.
        self.wider: Final[dict[int, ControlledFlow]] = {}
        self.narrower: Final[dict[int, ControlledFlow]] = {}
        # Its quota, as messages say it.
        self.advertised_mps = quantise_rate(quota_mps)

    def set_quota(self, quota_mps: float, now: Instant) -> None:
        """From now on so much may leave, or about so much where a window says how much."""
        self.quota_mps = quota_mps
        rate_mps = quota_mps * (_HEADROOM if self._has_window else 1)
        self.bucket.set_rate(rate_mps, now, depth=burst_depth(rate_mps))
        repairs_mps = REPAIRS_SHARE * quota_mps
        self.repair_bucket.set_rate(repairs_mps, now, depth=burst_depth(repairs_mps))
        self.advertised_mps = quantise_rate(quota_mps)

    def change_limiting_receiver(self, previous_quotas_mps: Sequence[float], now: Instant) -> None:
        """Another limits it from now on, instead of those who limited it, or parts of it, so."""
        if previous_quotas_mps:
            self.previous_limit_mps = min(previous_quotas_mps)
            self.previous_limit_until = now + _PREVIOUS_LIMIT_NS

    def accepted_quota(self, quota_mps: float, now: Instant) -> float:
        """So much of what whoever limits it asks for."""
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
        """Whether a message may leave."""
        if self.window is not None and self._has_window:
            if self.window.on_timeout(now):
                # Perhaps whoever is to acknowledge has not heard that it is.
                self.announced_round = None
            if not self.window.has_room:
                return False
        return self.bucket.ready_at(now) <= now

    def ready_ns(self, now: Instant) -> Instant:
        """When it may, or since when."""
        at = self.bucket.ready_at(now)
        if self.window is not None and self._has_window:
            at = max(at, now + self.window.wait_ns(now))
        return at

    def next_seq(self, now: Instant) -> None:
        """Another message leaves."""
        self.last_seq = (self.last_seq + 1) & FLOW_SEQ.mask
        if self.window is not None:
            self.window.on_sent(self.last_seq, now)


def _flow_bucket(rate_mps: float, now: Instant) -> TokenBucket:
    """With a token for the message that a flow begins with."""
    return TokenBucket(rate_mps, depth=burst_depth(rate_mps), tokens=1.0, now=now)
