"""What each filter may get of a rate, so that the least served get as much as possible.

Max-min: every filter gets what it asks for, or as much as any other that does not. With
weights, as much for its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.kernel.errors import UsageError

# Beyond these one would get nothing, or all others.
_WEIGHT_MIN: Final = 0.001
_WEIGHT_MAX: Final = 1_000


def check_weight(weight: float) -> float:
    """The weight itself, if it is one."""
    if not _WEIGHT_MIN <= weight <= _WEIGHT_MAX:
        raise UsageError(f"weight lies within {_WEIGHT_MIN} and {_WEIGHT_MAX:,}, not {weight}")
    return weight


def max_min(
    demands: Sequence[float], capacity: float, weights: Sequence[float] | None = None
) -> list[float]:
    """A share for each; together at most the capacity, and none more than was asked for."""
    weights = [1.0] * len(demands) if weights is None else weights
    shares = [0.0] * len(demands)
    left = max(0.0, capacity)
    # Those that want least for their weight are served first.
    order = sorted(range(len(demands)), key=lambda i: demands[i] / weights[i])
    weight_left = sum(weights)
    for i in order:
        shares[i] = min(demands[i], left * weights[i] / weight_left)
        left -= shares[i]
        weight_left -= weights[i]
    return shares
