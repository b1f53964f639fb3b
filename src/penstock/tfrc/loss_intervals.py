"""Loss intervals: how many messages lie between one loss event and the next (RFC 5348 §5).

1. The mean of the last eight counts, of which the older ones weigh less. The one that
   is not over counts only if it makes the mean larger: it may yet grow.
2. If it grows beyond twice the mean, what was before it is discounted: times are better
   than the history says.
3. If two in a row are much shorter than those before them, these are discounted, too (our
   own): somebody has joined, and eight events would take long.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from penstock.kernel.errors import UsageError

WEIGHTS: Final = (1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2)
_DISCOUNT_FROM: Final = 2.0
_DISCOUNT_MIN: Final = 0.25
# Two in a row, shorter than this part of what was before them.
_SHORT_RATIO: Final = 0.4
_SHORT_INTERVALS: Final = 2
_SHORT_DISCOUNT: Final = 0.4


class _ClosedInterval:
    __slots__ = ("discount", "length")

    def __init__(self, length: float) -> None:
        self.length: Final = length
        self.discount = 1.0


class LossIntervals:
    """Of one session; there is no mean before the first event."""

    __slots__ = ("_closed", "_is_discounting", "current")

    def __init__(self, *, discounts: bool = True) -> None:
        self._is_discounting: Final = discounts
        # The newest first.
        self._closed: Final[deque[_ClosedInterval]] = deque(maxlen=len(WEIGHTS))
        # Messages since the last event, the first one lost with them.
        self.current = 0.0

    def __len__(self) -> int:
        return len(self._closed)

    @property
    def lengths(self) -> list[float]:
        """Those that are over, the newest first."""
        return [closed.length for closed in self._closed]

    def begin(self, first_length: float) -> None:
        """The first event: what went before is taken to have been so long."""
        if first_length <= 0:
            raise UsageError(f"a loss interval is longer than nothing, not {first_length}")
        self._closed.clear()
        self._closed.append(_ClosedInterval(first_length))
        self.current = 1.0

    def scale(self, factor: float) -> None:
        """Everything so far turns out to have been measured wrongly."""
        lengths = [(closed.length * factor, closed.discount) for closed in self._closed]
        self._closed.clear()
        for length, discount in lengths:
            closed = _ClosedInterval(max(1.0, length))
            closed.discount = discount
            self._closed.append(closed)

    def count(self, messages: float = 1.0) -> None:
        """They came, or were lost in the event that is already counted."""
        self.current += messages

    def close(self) -> None:
        """Another event."""
        discount = self._discount()
        for closed in self._closed:
            closed.discount *= discount
        self._closed.appendleft(_ClosedInterval(max(1.0, self.current)))
        self.current = 1.0
        if self._is_discounting and self._has_shortened():
            for closed in islice(self._closed, _SHORT_INTERVALS, None):
                closed.discount *= _SHORT_DISCOUNT

    def clear(self) -> None:
        """Nothing is known any more."""
        self._closed.clear()
        self.current = 0.0

    @property
    def mean(self) -> float | None:
        """None before the first event."""
        if not self._closed:
            return None
        discount = self._discount()
        with_current = WEIGHTS[0] * self.current
        weight_with = WEIGHTS[0]
        for weight, closed in zip(WEIGHTS[1 : len(self._closed)], self._closed, strict=False):
            weight_with += weight * closed.discount * discount
            with_current += weight * closed.discount * discount * closed.length
        return max(with_current / weight_with, self._mean_closed())

    @property
    def loss_event_rate(self) -> float:
        """Loss events a message; 0 before the first."""
        mean = self.mean
        return 0.0 if mean is None else min(1.0, 1 / mean)

    def _mean_closed(self) -> float:
        weights = [
            weight * closed.discount for weight, closed in zip(WEIGHTS, self._closed, strict=False)
        ]
        total = sum(
            weight * closed.length for weight, closed in zip(weights, self._closed, strict=True)
        )
        return total / sum(weights)

    def _has_shortened(self) -> bool:
        """Whether the last ones are much shorter than those before them."""
        lengths = self.lengths
        before = lengths[_SHORT_INTERVALS:]
        return bool(before) and max(lengths[:_SHORT_INTERVALS]) < _SHORT_RATIO * sum(before) / len(
            before
        )

    def _discount(self) -> float:
        """By how much what is over counts less."""
        if not self._is_discounting or not self._closed:
            return 1.0
        threshold = _DISCOUNT_FROM * self._mean_closed()
        return 1.0 if self.current <= threshold else max(threshold / self.current, _DISCOUNT_MIN)
