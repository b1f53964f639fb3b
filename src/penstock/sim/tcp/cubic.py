"""CUBIC's window: a cubic curve around where the last loss was (RFC 9438).

Time since the last loss, not the number of rounds, drives the increase. Below
what NewReno would have reached by then, it follows NewReno.
"""

from __future__ import annotations

from math import inf
from typing import Final

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.sim.tcp.newreno import INITIAL_SEGMENTS

_SCALE: Final = 0.4
_KEPT: Final = 0.7
_LEAST: Final = 2.0
# What makes additive increase with this decrease as friendly as NewReno's.
_FRIENDLY_STEP: Final = 3 * (1 - _KEPT) / (1 + _KEPT)


class Cubic:
    """The curve starts at `_epoch`, meets `_plateau` at `_rise_s` after it and then steepens."""

    __slots__ = ("_epoch", "_friendly", "_last_peak", "_plateau", "_rise_s", "size", "threshold")

    def __init__(self) -> None:
        self.size = INITIAL_SEGMENTS
        self.threshold = inf
        self._plateau = 0.0
        self._last_peak = 0.0
        self._rise_s = 0.0
        self._friendly = 0.0
        self._epoch: Instant | None = None

    def on_progress(self, segments: int, *, srtt: Duration, now: Instant) -> None:
        """Slow start up to the threshold, then along the curve."""
        if self.size < self.threshold:
            self.size += segments
            return
        if self._epoch is None:
            self._begin(now)
        assert self._epoch is not None
        elapsed_s = (now - self._epoch) / SECOND
        self._friendly += _FRIENDLY_STEP * segments / self.size
        if self._on_curve(elapsed_s) < self._friendly:
            self.size = max(self.size, self._friendly)
            return
        # One round ahead, but never faster than half as much again in a round.
        target = self._on_curve(elapsed_s + srtt / SECOND)
        target = min(max(target, self.size), 1.5 * self.size)
        self.size += segments * (target - self.size) / self.size

    def on_loss(self, flight: int, *, now: Instant) -> None:  # noqa: ARG002
        """Keep seven tenths, and remember where this happened."""
        peak = self.size
        # Fast convergence: a flow that lost below its last peak has company, and gives way.
        self._plateau = peak * (1 + _KEPT) / 2 if peak < self._last_peak else peak
        self._last_peak = peak
        self.threshold = max(flight * _KEPT, _LEAST)
        self.size = self.threshold
        self._epoch = None

    def on_timeout(self, flight: int, *, now: Instant) -> None:
        """As on a loss, but begin anew, slowly."""
        self.on_loss(flight, now=now)
        self.size = 1.0

    def _begin(self, now: Instant) -> None:
        self._epoch = now
        self._friendly = self.size
        if self._plateau > self.size:
            self._rise_s = ((self._plateau - self.size) / _SCALE) ** (1 / 3)
        else:
            self._plateau, self._rise_s = self.size, 0.0

    def _on_curve(self, elapsed_s: float) -> float:
        return _SCALE * (elapsed_s - self._rise_s) ** 3 + self._plateau
