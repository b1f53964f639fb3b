"""What every law of the publication rate does, and what it is told.

Rates are messages a second, of one pubend. Rates of hosts are stream time by time: 1 keeps up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.wire.frames.guaranteed.congestion import CongestionAlert, CongestionReport

# How many messages were logged at ticks in (after, upto].
Logged: TypeAlias = Callable[[int, int], float]


class RateSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Table 1 of the paper, and what the model needs besides."""

    no_alert_ns: Duration = 2 * SECOND
    increase_min: float = 2
    increase_share: float = 0.05
    # Of the rate; and of how far it has risen since the last decrease.
    decrease_share: float = 0.5
    rise_kept_share: float = 0.25
    # A host that keeps up may be slower by this, one that recovers has to be quicker by that.
    normal_slack: float = 0.05
    recovery_gain: float = 1.0
    # The corrected law: a decrease waits until the last one has arrived at hosts; and a host that
    # begins to recover forgets how slow it was before.
    holds_decreases: bool = True
    recovers_afresh: bool = True
    # The model never goes below this share of what publishers want.
    floor_share: float = 0.25
    # A host may lag by so much more than it ever did, before the model slows publishers down.
    lag_slack_ns: Duration = 250 * MILLISECOND


class RateLaw(Protocol):
    """One law; without throttling its rate is None."""

    @property
    def rate(self) -> float | None:
        """How many messages a second a pubend may take; None for all that come."""

    @property
    def limited_by(self) -> str | None:
        """The host that the rate was last lowered for; None if none was named so far."""

    def on_query(self, seq: int, tick: int) -> None:
        """Hosts are asked how they are; this is the newest tick."""

    def on_alert(self, alert: CongestionAlert, *, demand: float, now: Instant) -> None:
        """Hosts complain."""

    def on_report(
        self, report: CongestionReport, *, demand: float, logged: Logged, is_drained: bool
    ) -> None:
        """Hosts have said how they are."""

    def wake(self, *, demand: float, now: Instant, is_drained: bool) -> None:
        """Time has passed.

        Throttling ends when the rate is what publishers want, and not before it `is_drained`: what
        has waited would come at once.
        """
