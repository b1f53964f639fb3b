"""The paper's law, corrected where it reacts to what it has caused itself.

A query overtakes the data that waits in queues: until a host has read past the tick of the last
decrease, its alert says nothing of it. And a shortfall of long ago is no measure of a new one.
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.rate.base import Logged, RateSettings
from penstock.guaranteed.rate.literal import shortfall
from penstock.guaranteed.rate.steps import Steps
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.congestion import CongestionAlert, CongestionReport


class CorrectedRate:
    """As `LiteralRate`, but a decrease waits until the last one has arrived."""

    def __init__(self, settings: RateSettings) -> None:
        self._settings: Final = settings
        self._steps: Final = Steps(settings)
        # The newest tick at the last query, and at the last decrease.
        self._newest = 0
        self._lowered_at = 0
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
        self._newest = tick

    def on_alert(self, alert: CongestionAlert, *, demand: float, now: Instant) -> None:
        """See `RateLaw`."""
        if now >= self._quiet_since + self._settings.no_alert_ns:
            self._shortfall = None
        self._quiet_since = now
        if self._settings.holds_decreases and alert.position < self._lowered_at:
            return
        before, self._shortfall = self._shortfall, shortfall(alert, self._settings)
        if before is None or self._shortfall <= before:
            self._steps.decrease(demand)
            self._lowered_at = self._newest

    def on_report(
        self, report: CongestionReport, *, demand: float, logged: Logged, is_drained: bool
    ) -> None:
        """See `RateLaw`: this one knows alerts only."""

    def wake(self, *, demand: float, now: Instant, is_drained: bool) -> None:
        """See `RateLaw`."""
        if self.rate is not None and now >= self._quiet_since + self._settings.no_alert_ns:
            self._quiet_since = now
            self._shortfall = None
            self._steps.increase(demand, is_drained=is_drained)
