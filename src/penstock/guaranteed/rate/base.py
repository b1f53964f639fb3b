"""What every law of the publication rate does, and what it is told.

Rates are messages a second, of one pubend. Rates of hosts are stream time by time: 1 keeps up.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Protocol, TypeAlias

import msgspec

from penstock.kernel.instant import SECOND, Duration, Instant

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
    # The model never goes below this share of what publishers want.
    floor_share: float = 0.25
    # A host may lag by so much more than it ever did, before the model slows publishers down.
    lag_slack_s: float = 0.25


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """The slowest hosts that complain: of those that keep up, and of those that recover."""

    seq: int
    normal_rate: float = inf
    recovering_rate: float = inf
    # How far the slowest of them has got.
    position: int = 0


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """From where to where a host has got, and in which time."""

    start: int
    stop: int
    seconds: float
    # Behind the newest message, less what that host always lags.
    over_lag_s: float = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The host that lags most among those that keep up, and the one furthest behind."""

    seq: int
    normal: Progress | None = None
    recovering: Progress | None = None


class RateLaw(Protocol):
    """One law; without throttling its rate is None."""

    @property
    def rate(self) -> float | None:
        """How many messages a second a pubend may take; None for all that come."""

    def on_query(self, seq: int, tick: int) -> None:
        """Hosts are asked how they are; this is the newest tick."""

    def on_alert(self, alert: Alert, *, demand: float, now: Instant) -> None:
        """Hosts complain."""

    def on_report(self, report: Report, *, demand: float, logged: Logged) -> None:
        """Hosts have said how they are."""

    def wake(self, *, demand: float, now: Instant) -> None:
        """Time has passed."""
