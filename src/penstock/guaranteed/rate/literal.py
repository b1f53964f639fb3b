"""The paper's law, with the errata without which it cannot run."""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.rate.base import Logged, RateSettings
from penstock.guaranteed.rate.steps import Steps
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.congestion import CongestionAlert, CongestionReport


class LiteralRate:
    """Alerts lower the rate; without any for a while it rises."""

    def __init__(self, settings: RateSettings) -> None:
        self._settings: Final = settings
        self._steps: Final = Steps(settings)
        self._last_seq = 0
        # Alerts of earlier queries say nothing of the last decrease.
        self._first_seq = 0
        self._shortfall: float | None = None
        self._quiet_since: Instant = 0

    @property
    def rate(self) -> float | None:
        """See `RateLaw`."""
        return self._steps.rate

    @property
    def limited_by(self) -> str | None:
        """See `RateLaw`: alerts name nobody."""
        return None

    def on_query(self, seq: int, tick: int) -> None:  # noqa: ARG002
        """See `RateLaw`."""
        self._last_seq = seq

    def on_alert(self, alert: CongestionAlert, *, demand: float, now: Instant) -> None:
        """See `RateLaw`: lowers the rate unless it was lowered just now, or things get better."""
        self._quiet_since = now
        if alert.seq < self._first_seq:
            return
        before, self._shortfall = self._shortfall, shortfall(alert, self._settings)
        if before is None or self._shortfall <= before:
            self._steps.decrease(demand)
            self._first_seq = self._last_seq + 1

    def on_report(
        self, report: CongestionReport, *, demand: float, logged: Logged, is_drained: bool
    ) -> None:
        """See `RateLaw`: this one knows alerts only."""

    def wake(self, *, demand: float, now: Instant, is_drained: bool) -> None:
        """See `RateLaw`: one step up for each stretch without alerts."""
        if self.rate is not None and now >= self._quiet_since + self._settings.no_alert_ns:
            self._quiet_since = now
            self._steps.increase(demand, is_drained=is_drained)


def shortfall(alert: CongestionAlert, settings: RateSettings) -> float:
    """How far the worst host is from what it should do; below zero, the less the worse. [G9]"""
    return min(
        alert.normal_rate - (1 - settings.normal_slack),
        alert.recovering_rate - (1 + settings.recovery_gain),
    )
