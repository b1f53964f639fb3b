"""The clock of one host: local time as an affine function of global time.

Global time is the simulator's own; the host's machine sees only local time. Between two changes
local time runs at a fixed rate of (1 + drift), rounded down to whole nanoseconds, so it never
decreases by itself. A step moves it at once, forwards or backwards. The clock does not know
timers: after a step their owner must convert their deadlines to global time again.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Duration, Instant

_BILLION: Final = 1_000_000_000
# Real oscillators are within ±100 ppm; beyond this a clock is broken, not drifting.
DRIFT_PPM_MAX: Final = 100_000


class Clock:
    """An affine clock in exact integers."""

    __slots__ = ("_global_base", "_local_base", "_pace")

    def __init__(self, *, offset_ns: Duration = 0, drift_ppm: float = 0.0) -> None:
        self._global_base: Instant = 0
        self._local_base: Instant = offset_ns
        # Local nanoseconds per 10⁹ global nanoseconds.
        self._pace = _pace(drift_ppm)

    def local(self, at: Instant) -> Instant:
        """Local time at the global instant `at`."""
        if self._pace == _BILLION:  # true of most clocks, and saves a multiplication and a division
            return self._local_base + at - self._global_base
        return self._local_base + (at - self._global_base) * self._pace // _BILLION

    def global_at(self, local: Instant) -> Instant:
        """The first global instant at which this clock shows `local` or more."""
        return self._global_base - (local - self._local_base) * _BILLION // -self._pace

    def step(self, by_ns: Duration, *, at: Instant) -> None:
        """Adds `by_ns` to local time from the global instant `at` on."""
        self._rebase(at)
        self._local_base += by_ns

    def set_drift(self, drift_ppm: float, *, at: Instant) -> None:
        """Changes the drift from the global instant `at` on."""
        self._rebase(at)
        self._pace = _pace(drift_ppm)

    def _rebase(self, at: Instant) -> None:
        self._local_base = self.local(at)
        self._global_base = at


def _pace(drift_ppm: float) -> int:
    if not -DRIFT_PPM_MAX <= drift_ppm <= DRIFT_PPM_MAX:
        raise UsageError(
            f"a drift of {drift_ppm} ppm is no clock's: write between ±{DRIFT_PPM_MAX}"
        )
    return _BILLION + round(drift_ppm * 1000)
