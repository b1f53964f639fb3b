"""Narrows the candidates down: the one loop that is worth compiling.

Two forms of the same function. `narrow_arrays` needs numpy alone; if numba is installed (`pip
install penstock[fast]`), the loop is compiled on first use. Both split the result in two: slots of
which the checks decide all constraints, and slots that must still be tested.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.content.index.pool import Slots

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
# Column, low and high of each check; one row of several checks for each slot.
Checks: TypeAlias = NDArray[np.float64]
Narrow: TypeAlias = Callable[
    [Slots, Slots, Floats, Slots, Floats, Checks, Flags], tuple[Slots, Slots]
]


def narrow_arrays(
    pool: Slots,
    spans: Slots,
    x: Floats,
    where: Slots,
    entries: Floats,
    checks: Checks,
    unsure: Flags,
) -> tuple[Slots, Slots]:
    """The slots of `pool` within `spans` whose checks all hold: the sure and the unsure ones.

    The checks run on `x` with `entries` written at `where`, which are cleared again afterwards.
    """
    x[where] = entries
    pairs = spans.reshape(-1, 2).tolist()
    slots = np.concatenate([pool[start : start + count] for start, count in pairs])
    for depth in range(0, checks.shape[1], 3):
        entry = x.take(checks[:, depth].take(slots).astype(np.intp))
        holds = entry >= checks[:, depth + 1].take(slots)
        holds &= entry <= checks[:, depth + 2].take(slots)
        slots = slots.compress(holds)
        if not len(slots):
            break
    x[where] = np.nan
    doubt = unsure.take(slots)
    return slots.compress(~doubt), slots.compress(doubt)


def _narrow_loop(
    pool: Slots,
    spans: Slots,
    x: Floats,
    where: Slots,
    entries: Floats,
    checks: Checks,
    unsure: Flags,
) -> tuple[Slots, Slots]:
    for place in range(len(where)):
        x[where[place]] = entries[place]
    candidates = 0
    for run in range(1, len(spans), 2):
        candidates += spans[run]
    # The sure slots fill one array from the front, the unsure ones from the back.
    kept = np.empty(candidates, np.int32)
    front, back = 0, candidates
    for run in range(0, len(spans), 2):
        for place in range(spans[run], spans[run] + spans[run + 1]):
            slot = pool[place]
            holds = True
            for depth in range(0, checks.shape[1], 3):
                entry = x[int(checks[slot, depth])]
                if not checks[slot, depth + 1] <= entry <= checks[slot, depth + 2]:
                    holds = False
                    break
            if holds and unsure[slot]:
                back -= 1
                kept[back] = slot
            elif holds:
                kept[front] = slot
                front += 1
    for place in range(len(where)):
        x[where[place]] = np.nan
    return kept[:front], kept[back:][::-1]


@cache
def compiled_narrow() -> Narrow | None:
    """The compiled loop; None if numba is not installed."""
    try:
        import numba
    except ImportError:
        return None
    compiled: Any = numba.njit(_narrow_loop)
    return compiled  # type: ignore[no-any-return]


def best_narrow() -> Narrow:
    """The fastest form available."""
    return compiled_narrow() or narrow_arrays
