"""Does lateness follow the model, and if not, what does it follow?

Whenever a missing message comes after all, the model says how probable it was
to come that late or later: u. If the model is right, u is evenly spread from 0
to 1. If the u of the last thousand such messages are not (several paths, links
that vary and keep order), they say themselves what to ask of the model so that
only a share p of the messages comes later: the u that only p of them fall below.
The latch so keeps following the gap and the scale, and is right in the end.

1. Nothing is judged before there are enough u, and then again and again.
2. Lateness comes in bursts, so n of them tell as much as n/2 independent ones.
"""

from __future__ import annotations

from collections import deque
from math import sqrt
from typing import Final

_SAMPLES_MAX: Final = 1_000
_SAMPLES_MIN: Final = 300
_TEST_EVERY: Final = 100
# Kolmogorov's statistic that one right model in a thousand exceeds.
_CRITICAL: Final = 1.95
_P_VALUE_MIN: Final = 1e-250


class Calibration:
    """For one stream of messages."""

    __slots__ = ("_p_values", "_since_test", "_sorted_p_values")

    def __init__(self) -> None:
        self._p_values: deque[float] = deque(maxlen=_SAMPLES_MAX)
        self._since_test = 0
        # In rising order, while the model is rejected; empty while it is not.
        self._sorted_p_values: list[float] = []

    @property
    def law_is_rejected(self) -> bool:
        """Whether lateness does not follow the model."""
        return bool(self._sorted_p_values)

    def on_arrival(self, p_value: float) -> None:
        """A missing message came; the model gave it the chance `u` to come so late or later."""
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
        """What to ask of the model so that `chance` of the missing come later."""
        p_values = self._sorted_p_values
        if not p_values:
            return probability
        rank = probability * (len(p_values) + 1)
        if rank < 1:
            # Below all that was seen it is thought to go on as the model does.
            return max(p_values[0] * rank, _P_VALUE_MIN)
        return p_values[min(int(rank), len(p_values)) - 1]


def _ks_distance(sorted_p_values: list[float]) -> float:
    """Of the empirical law from the even one."""
    n = len(sorted_p_values)
    return max(max((i + 1) / n - u, u - i / n) for i, u in enumerate(sorted_p_values))


def _critical_distance(n: int) -> float:
    return _CRITICAL * sqrt(2 / n)
