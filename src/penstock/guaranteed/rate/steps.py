"""The paper's steps up and down: equations 1 to 3.

An increase is small near the rate of the last decrease, a first decrease gives back three quarters
of what was gained since then, and one that follows at once halves the rate.
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.rate.base import RateSettings

# Of publishers that want nothing just now, and after many decreases: nobody stands still for ever.
_LOWEST: Final = 1.0


class Steps:
    """A rate that moves in steps; None while nobody is held up."""

    def __init__(self, settings: RateSettings) -> None:
        self.rate: float | None = None
        # [G3] The rate after the last decrease, else it never equals the present one.
        self._after_decrease = 0.0
        self._settings: Final = settings

    def increase(self, demand: float, *, is_drained: bool = True) -> None:
        """One step up; what publishers want is the end of throttling, if nothing waits."""
        if self.rate is None:
            return
        settings, rate = self._settings, self.rate
        gain = settings.increase_share * (rate - self._after_decrease)
        self.rate = rate + max(settings.increase_min, gain)
        if self.rate >= demand and is_drained:
            self.rate, self._after_decrease = None, 0.0

    def decrease(self, demand: float) -> None:
        """One step down, at first from what publishers want."""
        settings, before = self._settings, self._after_decrease
        rate = max(demand, _LOWEST) if self.rate is None else self.rate
        lower = settings.decrease_share * rate
        if rate != before:
            lower = max(lower, before + settings.rise_kept_share * (rate - before))
        self.rate = self._after_decrease = max(lower, _LOWEST)
