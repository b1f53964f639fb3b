"""CUBIC's window: a cubic curve around the window at the last loss (RFC 9438).

Time since the last loss, not the number of rounds, drives the increase. Where the curve lies
below the window NewReno would have reached, the window follows NewReno.
"""

from __future__ import annotations

from math import inf
from typing import Final

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.sim.tcp.newreno import INITIAL_SEGMENTS

_SCALE: Final = 0.4
_BETA: Final = 0.7
_SEGMENTS_MIN: Final = 2.0
# The additive increase that, with this decrease, has the mean window of NewReno.
_RENO_STEP: Final = 3 * (1 - _BETA) / (1 + _BETA)


class Cubic:
    """The curve starts at `_epoch`, reaches `_plateau` after `_rise_s` and then steepens."""

    __slots__ = ("_epoch", "_last_peak", "_plateau", "_reno_size", "_rise_s", "size", "threshold")

    def __init__(self) -> None:
        self.size = INITIAL_SEGMENTS
        self.threshold = inf
        self._plateau = 0.0
        self._last_peak = 0.0
        self._rise_s = 0.0
        self._reno_size = 0.0
        self._epoch: Instant | None = None

    def on_progress(self, segments: int, *, srtt: Duration, now: Instant) -> None:
        """Slow start up to the threshold, then the cubic curve."""
        if self.size < self.threshold:
            self.size += segments
            return
        if self._epoch is None:
            self._begin(now)
        assert self._epoch is not None
        elapsed_s = (now - self._epoch) / SECOND
        self._reno_size += _RENO_STEP * segments / self.size
        if self._on_curve(elapsed_s) < self._reno_size:
            self.size = max(self.size, self._reno_size)
            return
        # The target is one round ahead; the window grows by at most half in a round.
        target = self._on_curve(elapsed_s + srtt / SECOND)
        target = min(max(target, self.size), 1.5 * self.size)
        self.size += segments * (target - self.size) / self.size

    def on_loss(self, flight: int, *, now: Instant) -> None:  # noqa: ARG002
        """Reduces the window to 0.7 of the flight and starts a new curve."""
        peak = self.size
        # Fast convergence: a loss below the last peak means that a new flow needs room.
        self._plateau = peak * (1 + _BETA) / 2 if peak < self._last_peak else peak
        self._last_peak = peak
        self.threshold = max(flight * _BETA, _SEGMENTS_MIN)
        self.size = self.threshold
        self._epoch = None

    def on_timeout(self, flight: int, *, now: Instant) -> None:
        """Reduces as on a loss, then restarts slow start from one segment."""
        self.on_loss(flight, now=now)
        self.size = 1.0

    def _begin(self, now: Instant) -> None:
        self._epoch = now
        self._reno_size = self.size
        if self._plateau > self.size:
            self._rise_s = ((self._plateau - self.size) / _SCALE) ** (1 / 3)
        else:
            self._plateau, self._rise_s = self.size, 0.0

    def _on_curve(self, elapsed_s: float) -> float:
        return _SCALE * (elapsed_s - self._rise_s) ** 3 + self._plateau
