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

_REMEMBERED: Final = 1_000
_ENOUGH: Final = 300
_JUDGED_EVERY: Final = 100
# Kolmogorov's statistic that one right model in a thousand exceeds.
_CRITICAL: Final = 1.95
_TINY: Final = 1e-250


class Calibration:
    """For one stream of messages."""

    __slots__ = ("_since", "_sorted", "_us")

    def __init__(self) -> None:
        self._us: deque[float] = deque(maxlen=_REMEMBERED)
        self._since = 0
        # In rising order, while the model is rejected; empty while it is not.
        self._sorted: list[float] = []

    @property
    def is_rejected(self) -> bool:
        """Whether lateness does not follow the model."""
        return bool(self._sorted)

    def came(self, u: float) -> None:
        """A missing message came; the model gave it the chance `u` to come so late or later."""
        self._us.append(max(u, _TINY))
        self._since += 1
        if self._since >= _JUDGED_EVERY and len(self._us) >= _ENOUGH:
            self._since = 0
            in_order = sorted(self._us)
            self._sorted = in_order if _distance(in_order) > _limit(len(in_order)) else []

    def corrected(self, chance: float) -> float:
        """What to ask of the model so that `chance` of the missing come later."""
        us = self._sorted
        if not us:
            return chance
        rank = chance * (len(us) + 1)
        if rank < 1:
            # Below all that was seen it is thought to go on as the model does.
            return max(us[0] * rank, _TINY)
        return us[min(int(rank), len(us)) - 1]


def _distance(in_order: list[float]) -> float:
    """Of the empirical law from the even one."""
    n = len(in_order)
    return max(max((i + 1) / n - u, u - i / n) for i, u in enumerate(in_order))


def _limit(n: int) -> float:
    return _CRITICAL * sqrt(2 / n)
