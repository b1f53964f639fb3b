"""Tests whether lateness follows the delay law, and corrects probabilities if it does not.

When a missing message arrives after all, the law gives the probability u of arriving
that late or later. If the law holds, u is uniform on [0, 1]. If the last 1 000 values
of u are not uniform (several paths, links that vary but keep order), their empirical
quantile at p replaces p: the law is then evaluated at the u that only a share p of the
messages fall below. The latch still follows the gap and the scale, and the observed
share of late messages converges to p.

1. The first test needs 300 values; it is repeated every 100 arrivals.
2. Lateness is bursty, so n values count as n/2 independent ones.

Does not know gaps, scales or latches.
"""

from __future__ import annotations

from collections import deque
from math import sqrt
from typing import Final

_SAMPLES_MAX: Final = 1_000
_SAMPLES_MIN: Final = 300
_TEST_EVERY: Final = 100
# A correct law exceeds this Kolmogorov statistic with probability 0.001.
_CRITICAL: Final = 1.95
_P_VALUE_MIN: Final = 1e-250


class Calibration:
    """Tests and corrects the delay law for one stream."""

    __slots__ = ("_p_values", "_since_test", "_sorted_p_values")

    def __init__(self) -> None:
        self._p_values: deque[float] = deque(maxlen=_SAMPLES_MAX)
        self._since_test = 0
        # In ascending order while the law is rejected; empty otherwise.
        self._sorted_p_values: list[float] = []

    @property
    def law_is_rejected(self) -> bool:
        """Whether observed lateness contradicts the delay law."""
        return bool(self._sorted_p_values)

    def on_arrival(self, p_value: float) -> None:
        """Add the probability that the law gave to an arrival this late or later."""
        self._p_values.append(max(p_value, _P_VALUE_MIN))
        self._since_test += 1
        if self._since_test >= _TEST_EVERY and len(self._p_values) >= _SAMPLES_MIN:
            self._since_test = 0
            sorted_p_values = sorted(self._p_values)
            self._sorted_p_values = (
                sorted_p_values
                if _ks_distance(sorted_p_values) > _critical_distance(len(sorted_p_values))
                else []
            )

    def corrected_probability(self, probability: float) -> float:
        """Return the law's probability for which a share `probability` really arrives later."""
        p_values = self._sorted_p_values
        if not p_values:
            return probability
        rank = probability * (len(p_values) + 1)
        if rank < 1:
            # Below the smallest sample, extrapolate as the law does.
            return max(p_values[0] * rank, _P_VALUE_MIN)
        return p_values[min(int(rank), len(p_values)) - 1]


def _ks_distance(sorted_p_values: list[float]) -> float:
    """Return the Kolmogorov-Smirnov distance from the uniform distribution."""
    n = len(sorted_p_values)
    return max(max((i + 1) / n - u, u - i / n) for i, u in enumerate(sorted_p_values))


def _critical_distance(n: int) -> float:
    return _CRITICAL * sqrt(2 / n)
