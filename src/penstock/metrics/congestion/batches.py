"""Columns that metrics keep batch by batch."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=np.generic)


def joined(batches: list[NDArray[Kind]]) -> NDArray[Kind]:
    """All batches of a column as one; empty if there were none."""
    nothing: NDArray[Any] = np.zeros(0, np.int64)
    return np.concatenate(batches) if batches else nothing
