"""Jain's index: how evenly something is shared, as one number without time."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from penstock.kernel.errors import UsageError


def jain(rates: Iterable[float]) -> float:
    """(Σx)² / (n·Σx²): 1 when all are equal, 1/n when one has everything.

    All-zero rates count as equal.
    """
    shares = [float(rate) for rate in rates]
    if not shares:
        raise UsageError("Jain's index needs one rate at least")
    for share in shares:
        if not 0 <= share < inf:
            raise UsageError(f"a rate is 0 or more, and finite, not {share:g}")
    largest = max(shares)
    if largest == 0:
        return 1.0
    # Normalised first: squares of small rates would underflow.
    parts = [share / largest for share in shares]
    return sum(parts) ** 2 / (len(parts) * sum(part * part for part in parts))
