"""The paper's steps, driven by its alerts: down unless things get better, up after a while without.

Which alerts count is for each law to say.
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.rate.base import RateSettings
from penstock.guaranteed.rate.steps import Steps
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.congestion import CongestionAlert


class AlertSteps:
    """A rate that moves with alerts; None while nobody is held up."""

    def __init__(self, settings: RateSettings) -> None:
        self._settings: Final = settings
        self._steps: Final = Steps(settings)
        self._shortfall: float | None = None
        self._quiet_since: Instant = 0

    @property
    def rate(self) -> float | None:
        """See `RateLaw`."""
        return self._steps.rate

    def is_quiet(self, now: Instant) -> bool:
        """Whether no alert has come for a while, nor a step up."""
        return now >= self._quiet_since + self._settings.no_alert_ns

    def hear(self, *, now: Instant) -> None:
        """An alert has come, whether it counts or not."""
        self._quiet_since = now

    def lower(self, alert: CongestionAlert, *, demand: float) -> bool:
        """An alert counts: one step down, unless things get better; returns whether it was."""
        before, self._shortfall = self._shortfall, _shortfall(alert, self._settings)
        is_better = before is not None and self._shortfall > before
        if not is_better:
            self._steps.decrease(demand)
        return not is_better

    def rise(self, *, demand: float, now: Instant, is_drained: bool) -> bool:
        """One step up for each stretch without alerts; returns whether it was."""
        if self.rate is None or not self.is_quiet(now):
            return False
        self._quiet_since = now
        self._steps.increase(demand, is_drained=is_drained)
        return True

    def forget_shortfall(self) -> None:
        """Whatever comes next is not compared with what was."""
        self._shortfall = None


def _shortfall(alert: CongestionAlert, settings: RateSettings) -> float:
    """How far the worst host is from what it should do; below zero, the less the worse. [G9]"""
    return min(
        alert.normal_rate - (1 - settings.normal_slack),
        alert.recovering_rate - (1 + settings.recovery_gain),
    )
