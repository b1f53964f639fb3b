"""How large a benchmark is: an environment variable changes it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from penstock.kernel.errors import UsageError

MILLIONS_VARIABLE: Final = "PENSTOCK_BENCH_MILLIONS"


def chosen_millions(default: Sequence[int]) -> list[int]:
    """The sizes in millions that the variable lists, in rising order."""
    setting = os.environ.get(MILLIONS_VARIABLE)
    if setting is None:
        return sorted(default)
    try:
        sizes = [int(part) for part in setting.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise UsageError(f"{MILLIONS_VARIABLE} is a list of whole numbers as 1,5, not {setting!r}")
    return sorted(sizes)
