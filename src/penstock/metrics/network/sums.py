"""Sums in arrays that are indexed by code and grow as new codes come."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.metrics.codes import grown
from penstock.trace.batch import Ints

Kind = TypeVar("Kind", bound=np.generic)


def added(sums: NDArray[Kind], codes: Ints, amounts: ArrayLike) -> NDArray[Kind]:
    """The sums with each amount added at its code; changes `sums` unless it is too short."""
    sums = grown(sums, int(codes.max(initial=-1)) + 1, 0)
    np.add.at(sums, codes, amounts)
    return sums
