"""What time a host believes it is.

Global time is the simulator's own; local time is what the host's machine sees.
Between two changes local time runs at a fixed pace of (1 + drift), rounded down
to whole nanoseconds, so it never goes back by itself. A step moves it at once,
forwards or backwards. Knows nothing of timers: whoever set one in local time
asks again, after a step, when it is due.
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
        # Local nanoseconds per thousand million global ones.
        self._pace = _pace(drift_ppm)

    def local(self, at: Instant) -> Instant:
        """What this clock shows at the global instant `at`."""
        if self._pace == _BILLION:  # most clocks: no need to multiply and divide
            return self._local_base + at - self._global_base
        return self._local_base + (at - self._global_base) * self._pace // _BILLION

    def global_at(self, local: Instant) -> Instant:
        """The first global instant at which this clock shows `local` or more."""
        return self._global_base - (local - self._local_base) * _BILLION // -self._pace

    def step(self, by_ns: Duration, *, at: Instant) -> None:
        """From the global instant `at` on the clock shows `by_ns` more."""
        self._rebase(at)
        self._local_base += by_ns

    def set_drift(self, drift_ppm: float, *, at: Instant) -> None:
        """From the global instant `at` on the clock runs at another pace."""
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
