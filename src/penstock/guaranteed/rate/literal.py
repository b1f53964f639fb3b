"""The paper's law, with the errata without which it cannot run."""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.rate.alert_steps import AlertSteps
from penstock.guaranteed.rate.base import Logged, RateSettings
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.congestion import CongestionAlert, CongestionReport


class LiteralRate:
    """Alerts lower the rate; without any for a while it rises."""

    def __init__(self, settings: RateSettings) -> None:
        # Alerts name nobody.
        self.limited_by: Final = None
        self._steps: Final = AlertSteps(settings)
        self._last_seq = 0
        # Alerts of earlier queries say nothing of the last decrease.
        self._first_seq = 0

    @property
    def rate(self) -> float | None:
        """See `RateLaw`."""
        return self._steps.rate

    def on_query(self, seq: int, tick: int) -> None:  # noqa: ARG002
        """See `RateLaw`."""
        self._last_seq = seq

    def on_alert(self, alert: CongestionAlert, *, demand: float, now: Instant) -> None:
        """See `RateLaw`: lowers the rate unless it was lowered just now, or things get better."""
        self._steps.hear(now=now)
        if alert.seq >= self._first_seq and self._steps.lower(alert, demand=demand):
            self._first_seq = self._last_seq + 1

    def on_report(
        self, report: CongestionReport, *, demand: float, logged: Logged, is_drained: bool
    ) -> None:
        """See `RateLaw`: this one knows alerts only."""

    def wake(self, *, demand: float, now: Instant, is_drained: bool) -> None:
        """See `RateLaw`: one step up for each stretch without alerts."""
        self._steps.rise(demand=demand, now=now, is_drained=is_drained)
