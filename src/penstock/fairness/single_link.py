"""Fair shares of one link, where max-min and proportional fairness agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import inf

from penstock.fairness.network import check_number
from penstock.kernel.errors import UsageError


def fair_shares(
    demands: Sequence[float], capacity: float, weights: Sequence[float] | None = None
) -> list[float]:
    """No share exceeds its demand, and shares below their demands are the largest, by weight.

    A demand may be infinite. What small demands leave is shared by the others.
    """
    weight_list = [1.0] * len(demands) if weights is None else [float(weight) for weight in weights]
    _check(demands, capacity, weight_list)
    return max_min_shares([float(demand) for demand in demands], float(capacity), weight_list)


def max_min_shares(
    demands: Sequence[float], capacity: float, weights: Sequence[float]
) -> list[float]:
    """The same without checks, for values known to be valid; the capacity may be infinite."""
    shares = [0.0] * len(demands)
    # The smallest demand per weight is served first.
    order = sorted(range(len(demands)), key=lambda i: demands[i] / weights[i])
    # Summed from the end: a difference of sums would lose small weights.
    weights_left = list(accumulate([weights[i] for i in reversed(order)]))
    left = max(0.0, capacity)
    for i in order:
        share = left * weights[i] / weights_left.pop()
        share = shares[i] = demands[i] if demands[i] < share else share
        left = left - share if share < left else 0.0
    return shares


def _check(demands: Sequence[float], capacity: float, weights: Sequence[float]) -> None:
    check_number(capacity, "the capacity")
    if len(weights) != len(demands):
        raise UsageError(f"{len(demands)} demands need as many weights, not {len(weights)}")
    for demand in demands:
        if demand != inf:
            check_number(demand, "a demand")
    for weight in weights:
        check_number(weight, "a weight")
        if weight == 0:
            raise UsageError("a weight is above 0: leave out who is to have nothing")
