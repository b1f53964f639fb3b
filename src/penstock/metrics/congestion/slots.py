"""Slots: periods of 50 ms, in which rates are counted whose changes take less than a second."""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND

SLOT_NS: Final = 50 * MILLISECOND
SLOTS_PER_S: Final = SECOND // SLOT_NS


def slots_of(low_s: float, high_s: float) -> slice:
    """The slots between two seconds of the experiment."""
    return slice(round(low_s * SLOTS_PER_S), round(high_s * SLOTS_PER_S))
