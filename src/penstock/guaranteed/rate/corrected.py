"""The paper's law, corrected where it reacts to what it has caused itself.

A query overtakes the data that waits in queues: until a host has read past the tick of the last
decrease, its alert says nothing of it. And a shortfall of long ago is no measure of a new one.
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.rate.alert_steps import AlertSteps
from penstock.guaranteed.rate.base import Logged, RateSettings
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.congestion import CongestionAlert, CongestionReport


class CorrectedRate:
    """As `LiteralRate`, but a decrease waits until the last one has arrived."""

    def __init__(self, settings: RateSettings) -> None:
        self._holds_decreases: Final = settings.holds_decreases
        # Alerts name nobody.
        self.limited_by: Final = None
        self._steps: Final = AlertSteps(settings)
        # The newest tick at the last query, and at the last decrease.
        self._newest = 0
        self._lowered_at = 0

    @property
    def rate(self) -> float | None:
        """See `RateLaw`."""
        return self._steps.rate

    def on_query(self, seq: int, tick: int) -> None:  # noqa: ARG002
        """See `RateLaw`."""
        self._newest = tick

    def on_alert(self, alert: CongestionAlert, *, demand: float, now: Instant) -> None:
        """See `RateLaw`."""
        if self._steps.is_quiet(now):
            self._steps.forget_shortfall()
        self._steps.hear(now=now)
        if self._holds_decreases and alert.position < self._lowered_at:
            return
        if self._steps.lower(alert, demand=demand):
            self._lowered_at = self._newest

    def on_report(
        self, report: CongestionReport, *, demand: float, logged: Logged, is_drained: bool
    ) -> None:
        """See `RateLaw`: this one knows alerts only."""

    def wake(self, *, demand: float, now: Instant, is_drained: bool) -> None:
        """See `RateLaw`."""
        if self._steps.rise(demand=demand, now=now, is_drained=is_drained):
            self._steps.forget_shortfall()
