"""Losses of what comes once a period, and for how long its sender may be silent.

Who has missed nothing lately takes three silent periods for the end of a sender. Where frames are
lost that happens by chance, so each one that was missed adds two periods.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Duration

# Periods that losses are remembered for.
_REMEMBERED: Final = 32
_MASK: Final = (1 << _REMEMBERED) - 1
_PERIODS_A_LOSS: Final = 2
# The longest silence is so many times the shortest; what lasts longer is an outage.
SILENCE_FACTOR_MAX: Final = 4


class Heartbeats:
    """Of one sender."""

    __slots__ = ("_longest", "_missed", "_period_ns", "_shortest_ns")

    def __init__(self, period_ns: Duration, silence_ns: Duration) -> None:
        self._period_ns: Final = period_ns
        self._shortest_ns: Final = silence_ns
        self._longest: Final = SILENCE_FACTOR_MAX * silence_ns // period_ns
        # A bit for each period, the latest one first.
        self._missed = 0

    def on_heard(self, periods: int) -> None:
        """The next one has come, so many periods after the last: all between were missed."""
        if periods > self._longest:
            self._missed = 0
        elif periods > 0:
            self._missed = (self._missed << periods | (1 << periods) - 2) & _MASK

    @property
    def missed(self) -> int:
        """Of the last 32."""
        return self._missed.bit_count()

    @property
    def silence_ns(self) -> Duration:
        """Who was not heard for so long is gone."""
        more_ns = _PERIODS_A_LOSS * self.missed * self._period_ns
        return min(self._shortest_ns + more_ns, self.silence_max_ns)

    @property
    def silence_max_ns(self) -> Duration:
        """It is never longer."""
        return SILENCE_FACTOR_MAX * self._shortest_ns
