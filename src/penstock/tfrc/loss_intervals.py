"""The history of loss intervals: messages between consecutive loss events (RFC 5348 §5).

1. The mean covers the last eight intervals, with smaller weights for older ones. The open
   interval counts only if it raises the mean, because it is still growing.
2. If the open interval exceeds twice the mean, all closed ones are discounted: conditions are
   better than the history shows.
3. If two consecutive intervals are much shorter than the earlier ones, the earlier ones are
   discounted, too. This rule is an addition to the RFC: when another flow joins the bottleneck,
   waiting for eight events would take too long.

Does not know which losses form an event: see `loss_events`.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from penstock.kernel.errors import UsageError

WEIGHTS: Final = (1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2)
_DISCOUNT_FROM: Final = 2.0
_DISCOUNT_MIN: Final = 0.25
# Rule 3: two intervals, both shorter than this ratio of the mean of the earlier ones.
_SHORT_RATIO: Final = 0.4
_SHORT_INTERVALS: Final = 2
_SHORT_DISCOUNT: Final = 0.4


class _ClosedInterval:
    __slots__ = ("discount", "length")

    def __init__(self, length: float) -> None:
        self.length: Final = length
        self.discount = 1.0


class LossIntervals:
    """The loss intervals of one session; the mean is undefined before the first event."""

    __slots__ = ("_closed", "_is_discounting", "current")

    def __init__(self, *, discounts: bool = True) -> None:
        self._is_discounting: Final = discounts
        # Newest first.
        self._closed: Final[deque[_ClosedInterval]] = deque(maxlen=len(WEIGHTS))
        # Messages since the last event, including the first lost one.
        self.current = 0.0

    def __len__(self) -> int:
        return len(self._closed)

    @property
    def lengths(self) -> list[float]:
        """The lengths of the closed intervals, newest first."""
        return [closed.length for closed in self._closed]

    def begin(self, first_length: float) -> None:
        """Replace the history by one closed interval of `first_length` messages."""
        if first_length <= 0:
            raise UsageError(f"a loss interval is longer than nothing, not {first_length}")
        self._closed.clear()
        self._closed.append(_ClosedInterval(first_length))
        self.current = 1.0

    def scale(self, factor: float) -> None:
        """Multiply all closed intervals by `factor`, after a correction of the round trip."""
        lengths = [(closed.length * factor, closed.discount) for closed in self._closed]
        self._closed.clear()
        for length, discount in lengths:
            closed = _ClosedInterval(max(1.0, length))
            closed.discount = discount
            self._closed.append(closed)

    def count(self, messages: float = 1.0) -> None:
        """Add messages to the open interval: received, or lost in its event."""
        self.current += messages

    def close(self) -> None:
        """Close the open interval at a new loss event."""
        discount = self._discount()
        for closed in self._closed:
            closed.discount *= discount
        self._closed.appendleft(_ClosedInterval(max(1.0, self.current)))
        self.current = 1.0
        if self._is_discounting and self._has_shortened():
            for closed in islice(self._closed, _SHORT_INTERVALS, None):
                closed.discount *= _SHORT_DISCOUNT

    def clear(self) -> None:
        """Forget all intervals."""
        self._closed.clear()
        self.current = 0.0

    @property
    def mean(self) -> float | None:
        """The weighted mean interval in messages; None before the first event."""
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
        """Loss events per message; 0 before the first event."""
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
        """Whether the last two intervals are much shorter than the earlier ones."""
        lengths = self.lengths
        before = lengths[_SHORT_INTERVALS:]
        return bool(before) and max(lengths[:_SHORT_INTERVALS]) < _SHORT_RATIO * sum(before) / len(
            before
        )

    def _discount(self) -> float:
        """The factor for the weights of closed intervals while the open one is long."""
        if not self._is_discounting or not self._closed:
            return 1.0
        threshold = _DISCOUNT_FROM * self._mean_closed()
        return 1.0 if self.current <= threshold else max(threshold / self.current, _DISCOUNT_MIN)
