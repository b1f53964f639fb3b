"""One flow that a publisher controls: when its next message may leave, and what number it gets.

Knows nothing of other flows, nor of who may ask for what: see `table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.content.filter import Filter
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.tfrc.rate_meter import Meter
from penstock.transport.congestion.bucket import Bucket
from penstock.transport.congestion.laws.ack_window import Window
from penstock.transport.congestion.repair_allowance import REPAIRS_SHARE
from penstock.wire.quantise import quantise_rate

# How much faster than it says the receiver that acknowledges may be: who claims to be the
# slowest and acknowledges what never came is held to its claim.
_HEADROOM: Final = 2.0
# For so long who has taken a flow over makes it hardly quicker than it was: whoever limited it
# before knew what it bears, and must have the time to find out that another limits it now.
_DISPLACED_NS: Final = SECOND
_QUICKER: Final = 1.25
# Nobody makes a flow more than four times as quick, or by so much, within this.
_RAISE_NS: Final = 100 * MILLISECOND
_RAISE_MIN_MPS: Final = 10.0
# Of the numbers that messages have in a flow.
SEQ_MASK: Final = (1 << 32) - 1


class ControlledFlow:
    """One flow."""

    __slots__ = (
        "_raised_from_mps",
        "_raised_ns",
        "bits",
        "bucket",
        "clr",
        "displaced_mps",
        "displaced_until",
        "filter",
        "halved_ns",
        "heard_ns",
        "id",
        "is_orphan",
        "narrower",
        "offered",
        "quota_mps",
        "repairs",
        "rtt_ns",
        "said_mps",
        "selected_ns",
        "seq",
        "told_round",
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
        self.window: Window | None = None
        self.bucket: Final = Bucket(quota_mps, now)
        # What is offered to it, sent or not.
        self.offered: Final = Meter()
        # Of repairs, a tenth of what messages have.
        self.repairs: Final = Bucket(REPAIRS_SHARE * quota_mps, now)
        self.rtt_ns: Duration = 0
        self.heard_ns = self.selected_ns = self.halved_ns = now
        self.is_orphan = False
        # What whoever limited it before bore, and until when it is not forgotten.
        self.displaced_mps = quota_mps
        self.displaced_until: Instant = now
        # What it was when it was last looked at whether it grows too quickly, and when.
        self._raised_from_mps = quota_mps
        self._raised_ns = now
        # The number of the last message, and the round in which it was last announced.
        self.seq = 0
        self.told_round: int | None = None
        # The flows that cover it, and those that it covers.
        self.wider: Final[dict[int, ControlledFlow]] = {}
        self.narrower: Final[dict[int, ControlledFlow]] = {}
        # Its quota, as messages say it.
        self.said_mps = quantise_rate(quota_mps)

    def set_quota(self, quota_mps: float, now: Instant) -> None:
        """From now on so much may leave, or about so much where a window says how much."""
        self.quota_mps = quota_mps
        self.bucket.set_rate(quota_mps * (_HEADROOM if self._has_window else 1), now)
        self.repairs.set_rate(REPAIRS_SHARE * quota_mps, now)
        self.said_mps = quantise_rate(quota_mps)

    def displace(self, quotas_mps: Sequence[float], now: Instant) -> None:
        """Another limits it from now on, instead of those who limited it, or parts of it, so."""
        if quotas_mps:
            self.displaced_mps = min(quotas_mps)
            self.displaced_until = now + _DISPLACED_NS

    def believed(self, quota_mps: float, now: Instant) -> float:
        """So much of what whoever limits it asks for."""
        if not 0 <= now - self._raised_ns < _RAISE_NS or quota_mps < self._raised_from_mps:
            self._raised_from_mps, self._raised_ns = min(self.quota_mps, quota_mps), now
        most_mps = max(4 * self._raised_from_mps, self._raised_from_mps + _RAISE_MIN_MPS)
        if 0 <= self.displaced_until - now <= _DISPLACED_NS:
            most_mps = min(most_mps, _QUICKER * self.displaced_mps)
        return min(quota_mps, most_mps)

    @property
    def _has_window(self) -> bool:
        return self.window is not None and self.window.is_on and not self.is_orphan

    def is_open(self, now: Instant) -> bool:
        """Whether a message may leave."""
        if self.window is not None and self._has_window:
            if self.window.expire(now):
                # Perhaps whoever is to acknowledge has not heard that it is.
                self.told_round = None
            if not self.window.has_room:
                return False
        return self.bucket.ready_ns(now) <= now

    def wait_ns(self, now: Instant) -> Duration:
        """How long until it may, if nothing is heard."""
        wait_ns = self.bucket.wait_ns(now)
        if self.window is not None and self._has_window:
            wait_ns = max(wait_ns, self.window.wait_ns(now))
        return wait_ns

    def ready_ns(self, now: Instant) -> Instant:
        """When it may, or since when."""
        at = self.bucket.ready_ns(now)
        if self.window is not None and self._has_window:
            at = max(at, now + self.window.wait_ns(now))
        return at

    def number(self, now: Instant) -> None:
        """Another message leaves."""
        self.seq = (self.seq + 1) & SEQ_MASK
        if self.window is not None:
            self.window.on_sent(self.seq, now)
