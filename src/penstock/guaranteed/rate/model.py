"""Our law: what hosts have got says what the bottleneck carries, so the rate goes there at once.

A host that keeps up gets what it wants, or shows how much the way to it takes. One that recovers
needs what publishers want and more; what it lacks is what publishers have to leave.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.guaranteed.rate.base import Logged, RateSettings
from penstock.kernel.instant import SECOND, Instant
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionReport,
    Progress,
)

# A host that lags by this much more than its slack is given half of what it got.
_LAG_HALVES_NS: Final = 2 * SECOND
_CUT_MIN: Final = 0.5
# The step up, in full where nothing lags.
_GROWTH: Final = 0.25
_GROWTH_MIN: Final = 1.0
# Of how many measurements the largest counts, and how much of it.
_REMEMBERED: Final = 8
_REMEMBERED_SHARE: Final = 0.5
# What is left over in a recovery is given back in halves.
_GIVEN_BACK: Final = 0.5
_FLOOR: Final = 1.0
# After so many queries without a report nobody is there that could be behind.
_UNANSWERED_MAX: Final = 8


class ModelRate:
    """Follows reports; without them nothing changes."""

    def __init__(self, settings: RateSettings, *, waits_for_recovery: bool = True) -> None:
        self._settings: Final = settings
        # Whether publishers are slowed down for hosts that recover.
        self._waits_for_recovery: Final = waits_for_recovery
        self.rate: float | None = None
        self.limited_by: str | None = None
        self._newest = self._cut_at = 0
        self._answered_seq = 0
        self._unanswered = 0
        self._got: Final[deque[float]] = deque(maxlen=_REMEMBERED)

    def on_query(self, seq: int, tick: int) -> None:  # noqa: ARG002
        """See `RateLaw`."""
        self._newest = tick
        self._unanswered += 1
        if self.rate is not None and self._unanswered > _UNANSWERED_MAX:
            self.rate = self.rate * (1 + _GROWTH) + _GROWTH_MIN

    def on_alert(self, alert: CongestionAlert, *, demand: float, now: Instant) -> None:
        """See `RateLaw`: this one knows reports only."""

    def on_report(
        self, report: CongestionReport, *, demand: float, logged: Logged, is_drained: bool
    ) -> None:
        """See `RateLaw`: the tighter of both kinds of hosts counts."""
        if report.seq <= self._answered_seq:
            return
        self._answered_seq = report.seq
        self._unanswered = 0
        rate = demand if self.rate is None else self.rate
        # With the host that each is for.
        wanted: list[tuple[float, str]] = []
        if (host := report.normal) is not None:
            wanted.append((self._for_normal(host, rate, logged), host.host))
        if (host := report.recovering) is not None and self._waits_for_recovery:
            wanted.append((self._for_recovering(host, rate, demand, logged), host.host))
        if not wanted:
            if self.rate is not None and report.recovering is not None:
                # Those that count do not lag; nobody waits for the others.
                self.rate = self.rate * (1 + _GROWTH) + _GROWTH_MIN
            return
        before = rate
        lowest, limited_by = min(wanted)
        rate = max(lowest, _FLOOR, self._settings.floor_share * demand)
        # At the floor it goes no lower, whoever keeps it there.
        if rate < demand and rate <= before:
            self.limited_by = limited_by
        self.rate = None if rate >= demand and is_drained else rate

    def wake(self, *, demand: float, now: Instant, is_drained: bool) -> None:  # noqa: ARG002
        """See `RateLaw`: publishers that want less than they may have end throttling."""
        if self.rate is not None and self.rate >= demand and is_drained:
            self.rate = None

    def _for_normal(self, host: Progress, rate: float, logged: Logged) -> float:
        slack_ns = self._settings.lag_slack_ns
        over_ns = host.over_lag_ns - slack_ns
        got = _messages_per_s(host, logged)
        if over_ns <= 0:
            self._got.append(got)
            return rate * (1 + _GROWTH * min(1, -over_ns / slack_ns)) + _GROWTH_MIN
        cap = got
        if host.stop >= self._cut_at and self._got:
            # What it got since the last cut may be little because little was sent.
            cap = max(got, _REMEMBERED_SHARE * max(self._got))
        self._got.append(got)
        self._cut_at = self._newest
        return cap * max(_CUT_MIN, 1 - over_ns / _LAG_HALVES_NS)

    def _for_recovering(self, host: Progress, rate: float, demand: float, logged: Logged) -> float:
        lacks = (1 + self._settings.recovery_gain) * demand - _messages_per_s(host, logged)
        return rate - lacks if lacks > 0 else rate - _GIVEN_BACK * lacks


def _messages_per_s(host: Progress, logged: Logged) -> float:
    if not host.elapsed_ns:
        return 0.0
    return logged(host.start, host.stop) * SECOND / host.elapsed_ns
